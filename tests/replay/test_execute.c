// SPDX-License-Identifier: GPL-3.0-or-later
/* Steps run to their end, in the memory that the simulator says, and read only what was
 * written; broken dependencies are seen; whatever fails is one sentence and no result. No
 * test looks at how long anything takes. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/execute.h"
#include "replay/execute_internal.h"
#include "replay/result.h"
#include "sim/engine/sim.h"
#include "tests/replay/fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/timeline.h"

enum { MIB = 1 << 20 };

TestSuite(execute, .init = scratch_create, .fini = scratch_remove);

static emp_replay_options few_steps(void)
{
    emp_replay_options o = emp_replay_options_default();

    o.warmup = 1;
    o.steps = 2;
    o.host_bytes = (int64_t)2048 * MIB;
    return o;
}

/* Creates, runs, destroys. */
static emp_status execute(const emp_replay_plan *plan, const emp_replay_backend *backend,
                          const emp_replay_options *options, emp_replay_result *result,
                          emp_error *err)
{
    emp_replay *replay = NULL;
    emp_status  st = emp_replay_create(&replay, plan, backend, options, err);

    if (st == EMP_OK) st = emp_replay_run(replay, result, err);
    emp_replay_destroy(replay);
    return st;
}

/* The small NMT on the devices that a seed deals. */
static task             small;
static emp_replay_plan *small_plan;

static void open_small(int32_t seed)
{
    replay_fixture_create(&small, REPLAY_SMALL_NMT, seed);
    small_plan = replay_fixture_plan(&small);
}

static void close_small(void)
{
    emp_replay_plan_destroy(small_plan);
    task_destroy(&small);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Links of 1 ms and 0.1 GB/s: no copy is shorter, and those from one memory to another take
 * turns. */
Test(execute, copies_keep_the_rates_of_links_if_asked_to)
{
    emp_replay_options o = few_steps();
    emp_replay_result  r = {0};
    emp_replay        *replay = NULL;
    emp_error          err = {0};
    int64_t            sum_ns[EMP_REPLAY_MAX_DEVICES][EMP_REPLAY_MAX_DEVICES] = {{0}};

    open_small(2);
    for (int32_t i = 0; i < small_plan->device_count * small_plan->device_count; i++)
        small_plan->route[i] = (emp_replay_route){.latency_s = 1e-3, .bytes_per_s = 1e8};
    o.is_timed = o.keeps_rates = true;
    cr_assert_eq(emp_replay_create(&replay, small_plan, &emp_replay_cpu, &o, &err),
                 EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_replay_run(replay, &r, &err), EMP_OK, "%s", err.msg);
    const emp_replay_timeline *t = emp_replay_get_timeline(replay);
    cr_assert_gt(small_plan->copy_count, 10);
    for (int32_t i = 0; i < small_plan->copy_count; i++) {
        const emp_replay_copy *c = &small_plan->copy[i];
        int64_t                least_ns = 1000000 + 10 * c->bytes - 1; /* rounded to ns */
        cr_expect_geq(t->times.copy_end_ns[i] - t->times.copy_start_ns[i], least_ns,
                      "copy %d", i);
        sum_ns[emp_replay_memory_of_place(small_plan, c->tensor)][c->to] += least_ns;
    }
    for (int32_t a = 0; a < small_plan->device_count; a++)
        for (int32_t b = 0; b < small_plan->device_count; b++)
            cr_expect_leq(sum_ns[a][b], t->step_ns, "from %d to %d", a, b);
    emp_replay_destroy(replay);
    emp_replay_result_clear(&r);
    close_small();
}

/* ---- what it should do ---- */

struct step_case {
    char    spec[80];
    int32_t seed;
};

static struct step_case step_cases[] = {
    {REPLAY_SMALL_NMT, 0},
    {REPLAY_SMALL_NMT, 1},
    {REPLAY_SMALL_NMT, -1}, /* all on the CPU */
    {REPLAY_SMALL_NMT, -2}, /* all on a GPU, but for what has no kernel there */
    {"nmt:layers=1,units=16,batch=4,steps=3,vocab=100,dropout=1,per_step_softmax=0", 3},
    {"rnnlm:layers=1,units=32,batch=4,steps=3,vocab=200,sampled=64", 4},
    {"rnnlm:layers=1,units=32,batch=4,steps=3,vocab=200,sampled=0,dropout=1", 5},
};

ParameterizedTestParameters(execute, checked_steps_are_right_and_fit_as_predicted)
{
    return cr_make_param_array(struct step_case, step_cases,
                               sizeof step_cases / sizeof step_cases[0]);
}

static void simulate(const task *f, emp_sim_result *r)
{
    emp_sim  *sim = NULL;
    emp_error err = {0};

    cr_assert_eq(emp_sim_create(&sim, f->problem, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_sim_run(sim, f->device_of_op, r, &err), EMP_OK, "%s", err.msg);
    emp_sim_destroy(sim);
}

/* Where one device works there is one order, the simulator's. */
static void expect_predicted_peaks(const task *f, const emp_replay_result *r)
{
    emp_sim_result predicted;

    simulate(f, &predicted);
    for (int32_t d = 0; d < r->device_count; d++) {
        int64_t difference = r->device[d].peak_bytes - predicted.peak_bytes[d];
        cr_expect(difference <= 16384 && difference >= -16384,
                  "%s: peak %lld bytes, predicted %lld", r->device[d].name,
                  (long long)r->device[d].peak_bytes, (long long)predicted.peak_bytes[d]);
    }
}

/* What the op that needs most needs of a memory: results and workspace. */
static int64_t largest_need(const emp_replay_plan *p, int32_t memory)
{
    int64_t largest = 0;

    for (int32_t op = 0; op < p->op_count; op++) {
        const emp_replay_op *o = &p->op[op];
        int64_t              need = 0;
        if (o->device == memory) need += emp_replay_round_up(o->workspace_bytes);
        for (int32_t t = p->output_offset[op]; t < p->output_offset[op + 1]; t++) {
            if (emp_replay_memory_of_place(p, t) == memory && !o->is_alias)
                need += emp_replay_round_up(p->tensor[t].buffer_bytes);
        }
        if (need > largest) largest = need;
    }
    return largest;
}

/* Who comes first when several devices work is not the simulator's order. In any order the
 * variables and the needs of one op are there together, and no buffer twice. */
static void expect_possible_peaks(const emp_replay_plan *p, const emp_replay_result *r)
{
    for (int32_t d = 0; d < p->device_count; d++) {
        int64_t persistent = 0, workspaces = 0, buffers = 0;
        for (int32_t op = 0; op < p->op_count; op++) {
            if (p->op[op].device != d) continue;
            persistent += emp_replay_round_up(p->op[op].persistent_bytes);
            workspaces += emp_replay_round_up(p->op[op].workspace_bytes);
        }
        for (int32_t i = 0; i < p->tensor_count + p->copy_count; i++) {
            if (emp_replay_memory_of_place(p, i) != d) continue;
            buffers += emp_replay_round_up(i < p->tensor_count
                                               ? p->tensor[i].buffer_bytes
                                               : p->copy[i - p->tensor_count].bytes);
        }
        cr_expect_geq(r->device[d].peak_bytes, persistent + largest_need(p, d), "%s",
                      p->device[d].name);
        cr_expect_leq(r->device[d].peak_bytes, persistent + workspaces + buffers, "%s",
                      p->device[d].name);
    }
}

ParameterizedTest(struct step_case *c, execute,
                  checked_steps_are_right_and_fit_as_predicted)
{
    task               f;
    emp_replay_options o = few_steps();
    emp_replay_result  r = {0};
    emp_error          err = {0};

    replay_fixture_create(&f, c->spec, c->seed);
    emp_replay_plan *plan = replay_fixture_plan(&f);
    o.is_checked = true;
    cr_assert_eq(execute(plan, &emp_replay_cpu, &o, &r, &err), EMP_OK, "%s", err.msg);
    cr_expect(r.is_feasible);
    cr_expect_eq(r.step_count, 2);
    cr_expect_gt(r.median_s, 0.0);
    cr_expect_gt(r.checked_reads, 3 * plan->copy_count);
    cr_expect_gt(r.verified_ops, 3);
    cr_expect_lt(r.verified_error, 1e-4);
    cr_expect_eq(r.transfer_count, plan->copy_count);
    cr_expect_eq(r.plan_hash, emp_replay_plan_hash(plan));
    expect_possible_peaks(plan, &r);
    if (c->seed < 0) expect_predicted_peaks(&f, &r);
    emp_replay_result_clear(&r);
    emp_replay_plan_destroy(plan);
    task_destroy(&f);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Devices of several cores run ops side by side and cut them into tasks. */
Test(execute, several_cores_share_the_work)
{
    task               f;
    emp_replay_options o = few_steps();
    emp_replay_result  r = {0};
    emp_error          err = {0};

    replay_fixture_create(
        &f, "rnnlm:layers=1,units=128,batch=64,steps=2,vocab=500,sampled=64", 7);
    emp_replay_plan *plan = replay_fixture_plan(&f);
    for (int32_t d = 0; d < plan->device_count; d++) {
        o.core_count[d] = 3; /* the same core thrice is three threads */
        for (int i = 0; i < 3; i++) o.core[d][i] = 0;
    }
    o.is_checked = true;
    cr_assert_eq(execute(plan, &emp_replay_cpu, &o, &r, &err), EMP_OK, "%s", err.msg);
    cr_expect_gt(r.verified_ops, 2);
    emp_replay_result_clear(&r);
    emp_replay_plan_destroy(plan);
    task_destroy(&f);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Three threads that take turns on a core are busy three times as long as the op takes. */
Test(execute, an_op_takes_no_longer_than_its_step)
{
    const emp_kernel   product = {EMP_KERNEL_PRODUCT, 0, {768, 768, 768, 1, 0, 1}};
    emp_replay_plan   *plan = replay_fixture_kernel(&product, (int64_t)768 * 768);
    emp_replay_options o = few_steps();
    emp_replay_result  r = {0};
    emp_error          err = {0};

    cr_assert_eq(emp_replay_plan_check(plan, &err), EMP_OK, "%s", err.msg);
    o.warmup = 0;
    o.steps = 1;
    for (int32_t d = 0; d < 2; d++) o.core_count[d] = 3;
    cr_assert_eq(execute(plan, &emp_replay_cpu, &o, &r, &err), EMP_OK, "%s", err.msg);
    cr_expect_gt(r.op_s[1], 0.0f);
    cr_expect_leq((double)r.op_s[1], r.step_s[0]);
    cr_expect_leq(r.device[1].busy_s, (double)r.op_s[1] * (1 + 1e-6),
                  "core time over cores");
    emp_replay_result_clear(&r);
    emp_replay_plan_destroy(plan);
}

Test(execute, a_timed_step_is_a_trace_with_every_op_and_copy)
{
    emp_replay_options o = few_steps();
    emp_replay_result  r = {0};
    emp_replay        *replay = NULL;
    emp_error          err = {0};
    json_error_t       where;
    int32_t            kernels = 0, ops = 0, copies = 0, levels = 0;

    open_small(2);
    for (int32_t op = 0; op < small_plan->op_count; op++)
        kernels += small_plan->op[op].kernel.kind != EMP_KERNEL_NOTHING;
    o.is_timed = true;
    cr_assert_eq(emp_replay_create(&replay, small_plan, &emp_replay_cpu, &o, &err),
                 EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_replay_run(replay, &r, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_replay_trace_write(scratch_path("step.json"), small_plan,
                                        emp_replay_get_timeline(replay), &err),
                 EMP_OK, "%s", err.msg);
    json_t *root = json_load_file(scratch_path("step.json"), 0, &where);
    cr_assert_not_null(root, "%s", where.text);
    json_t *events = json_object_get(root, "traceEvents"), *event;
    size_t  i;
    json_array_foreach(events, i, event)
    {
        const char *phase = json_string_value(json_object_get(event, "ph"));
        const char *category = json_string_value(json_object_get(event, "cat"));
        if (strcmp(phase, "C") == 0) levels++;
        if (strcmp(phase, "X") != 0) continue;
        if (strcmp(category, "copy") == 0)
            copies++;
        else
            ops++;
    }
    timeline_expect_valid(root);
    cr_expect_eq(ops, kernels);
    cr_expect_eq(copies, small_plan->copy_count);
    cr_expect_gt(levels, small_plan->copy_count);
    json_decref(root);
    emp_replay_destroy(replay);
    emp_replay_result_clear(&r);
    close_small();
}

/* ---- broken dependencies ---- */

/* Whether some run of some of the ops finds fault. An op that comes early may still come
 * after what it did not wait for, so that single runs prove nothing. */
static int count_seen(const emp_replay_plan *plan, bool is_early, int tries,
                      char *message, size_t size)
{
    int seen = 0;

    for (int32_t op = plan->op_count - 1; op > 0 && tries > 0; op--) {
        int32_t            input = plan->input_offset[op];
        emp_replay_options o = few_steps();
        emp_replay_result  r = {0};
        emp_error          err = {0};
        if (input == plan->input_offset[op + 1] || plan->input[input].place < 0 ||
            plan->input[input].place >= plan->tensor_count)
            continue;
        int32_t tensor = plan->input[input].place;
        if (plan->tensor[tensor].buffer_bytes == 0 || plan->op[op].is_alias ||
            plan->op[plan->tensor[tensor].producer].is_alias)
            continue;
        o.warmup = 0;
        o.is_checked = true;
        if (is_early) {
            /* waits for nothing at all: the only input it has */
            if (plan->input_offset[op + 1] - input != 1 ||
                plan->control_offset[op + 1] != plan->control_offset[op])
                continue;
            o.fault.early_op = op;
        } else {
            o.fault.lost_tensor = tensor;
        }
        tries--;
        if (execute(plan, &emp_replay_cpu, &o, &r, &err) == EMP_OK) {
            emp_replay_result_clear(&r);
            continue;
        }
        cr_expect_eq(err.status, EMP_EINVAL, "%s", err.msg);
        snprintf(message, size, "%s", err.msg);
        seen++;
    }
    return seen;
}

Test(execute, an_op_that_does_not_wait_is_seen)
{
    char message[512] = "";

    open_small(0);
    cr_expect_eq(count_seen(small_plan, true, 5, message, sizeof message), 5);
    cr_expect_not_null(strstr(message, "has not yet written in this step"), "%s",
                       message);
    close_small();
}

Test(execute, a_buffer_that_is_freed_too_soon_is_seen)
{
    char message[512] = "";

    open_small(0);
    int seen = count_seen(small_plan, false, 8, message, sizeof message);
    cr_expect_geq(seen, 1, "of 8 buffers");
    cr_expect(strstr(message, "poison") != NULL ||
                  strstr(message, "something else") != NULL,
              "%s", message);
    close_small();
}

Test(execute, faults_are_for_checked_runs)
{
    emp_replay_options o = few_steps();
    emp_replay_result  r = {0};
    emp_error          err = {0};

    open_small(0);
    o.fault.lost_tensor = 0;
    cr_expect_eq(execute(small_plan, &emp_replay_cpu, &o, &r, &err), EMP_EINVAL);
    close_small();
}

/* ---- memory ---- */

Test(execute, what_does_not_fit_is_a_verdict)
{
    emp_sim_result predicted;

    open_small(-2);
    simulate(&small, &predicted);
    int64_t persistent = 0;
    for (int32_t op = 0; op < small_plan->op_count; op++) {
        if (small_plan->op[op].device == 1)
            persistent += emp_replay_round_up(small_plan->op[op].persistent_bytes);
    }
    /* too little for a step, too little for the variables, enough */
    const int64_t limit[] = {predicted.peak_bytes[1] - 512, persistent / 2,
                             predicted.peak_bytes[1] * 3 / 2};
    for (int i = 0; i < 3; i++) {
        emp_replay_options o = few_steps();
        emp_replay_result  r = {0};
        emp_error          err = {0};
        small_plan->device[1].memory_bytes = limit[i];
        cr_assert_eq(execute(small_plan, &emp_replay_cpu, &o, &r, &err), EMP_OK, "%s",
                     err.msg);
        cr_expect_eq(r.is_feasible, i == 2, "limit %d", i);
        cr_expect_eq(r.step_count, i == 2 ? 2 : 0);
        cr_expect_eq(r.oom_device, i == 2 ? -1 : 1);
        cr_expect_eq(r.oom_bytes > 0, i != 2);
        cr_expect_eq(strlen(r.oom_op) > 0, i != 2);
        cr_expect_leq(r.device[1].peak_bytes, limit[i]);
        emp_replay_result_clear(&r);
    }
    close_small();
}

/* Before the last step all that is free of a memory is taken. */
static void take_all(void *context, int32_t done, int32_t count)
{
    emp_replay *const *replay = (emp_replay *const *)context;
    emp_pool          *pool = (*replay)->memory[1].pool;

    if (done + 1 < count) return;
    for (int64_t bytes = INT64_C(1) << 30; bytes >= EMP_REPLAY_ALIGNMENT; bytes /= 2)
        while (emp_pool_allocate(pool, bytes) >= 0) continue;
}

Test(execute, a_later_step_that_does_not_fit_leaves_no_times)
{
    emp_replay_options o = few_steps();
    emp_replay_result  r = {0};
    emp_replay        *replay = NULL;
    emp_error          err = {0};

    open_small(-2);
    o.progress = take_all;
    o.progress_context = &replay;
    cr_assert_eq(emp_replay_create(&replay, small_plan, &emp_replay_cpu, &o, &err),
                 EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_replay_run(replay, &r, &err), EMP_OK, "%s", err.msg);
    emp_replay_destroy(replay);
    cr_expect_not(r.is_feasible);
    cr_expect_eq(r.oom_device, 1);
    cr_expect_eq(r.step_count, 0);
    cr_expect_eq(r.median_s, 0.0);
    cr_expect_eq(r.device[1].busy_s, 0.0);
    for (int32_t op = 0; op < r.op_count; op++) cr_assert_eq(r.op_s[op], -1.0f);
    emp_replay_result_clear(&r);
    close_small();
}

Test(execute, a_computer_with_too_little_memory_is_no_verdict)
{
    task               f;
    emp_replay_options o = few_steps();
    emp_replay_result  r = {0};
    emp_error          err = {0};

    replay_fixture_create(
        &f, "rnnlm:layers=1,units=256,batch=8,steps=2,vocab=2000,sampled=64", 0);
    emp_replay_plan *plan = replay_fixture_plan(&f);
    o.host_bytes = MIB;
    cr_expect_eq(execute(plan, &emp_replay_cpu, &o, &r, &err), EMP_ENOMEM);
    cr_expect_not_null(strstr(err.msg, "this computer's memory"), "%s", err.msg);
    cr_expect_null(r.step_s);
    emp_replay_plan_destroy(plan);
    task_destroy(&f);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(execute, survives_every_allocation_failure)
{
    task       f;
    emp_status st = EMP_ENOMEM;

    replay_fixture_create(&f, "rnnlm:layers=1,units=4,batch=2,steps=1,vocab=8,sampled=0",
                          0);
    emp_replay_plan *plan = replay_fixture_plan(&f);
    long             before = emp_mem_live_blocks();
    for (long allowed = 0; st != EMP_OK; allowed++) {
        emp_replay_options o = few_steps();
        emp_replay_result  r = {0};
        emp_mem_fail_after(allowed);
        st = execute(plan, &emp_replay_cpu, &o, &r, NULL);
        emp_mem_fail_after(-1);
        if (st == EMP_OK) cr_expect_gt(r.median_s, 0.0);
        emp_replay_result_clear(&r);
        cr_assert(st == EMP_OK || st == EMP_ENOMEM, "after %ld: %d", allowed, st);
        cr_assert_eq(emp_mem_live_blocks(), before, "leak after %ld", allowed);
    }
    emp_replay_plan_destroy(plan);
    task_destroy(&f);
}

/* ---- a backend that fails ---- */

static atomic_int copies_left;

/* The CPU's, whose last device is pulled out after some copies. */
static emp_status copy_until_it_is_gone(void *state, int32_t copy, const void *from,
                                        void *to, emp_error *err)
{
    if (atomic_fetch_sub(&copies_left, 1) <= 0)
        return emp_error_set(err, EMP_EEXTERNAL, __FILE__, __LINE__,
                             "gpu:1 is gone: device lost");
    return emp_replay_cpu.copy(state, copy, from, to, err);
}

Test(execute, a_device_that_vanishes_is_one_sentence_and_no_result)
{
    emp_replay_backend backend = emp_replay_cpu;

    backend.copy = copy_until_it_is_gone;
    open_small(0);
    for (int left = 0; left < small_plan->copy_count;
         left += small_plan->copy_count / 5) {
        emp_replay_options o = few_steps();
        emp_replay_result  r = {0};
        emp_error          err = {0};
        atomic_store(&copies_left, left);
        cr_assert_eq(execute(small_plan, &backend, &o, &r, &err), EMP_EEXTERNAL);
        cr_expect_str_eq(err.msg, "gpu:1 is gone: device lost");
        cr_expect_null(r.step_s);
    }
    close_small();
}

Test(execute, a_core_that_is_not_there_is_named)
{
    emp_replay_options o = few_steps();
    emp_replay_result  r = {0};
    emp_error          err = {0};

    open_small(0);
    cr_assert_eq(
        emp_replay_options_cores(&o, small_plan, "gpu:1=0,1 gpu:0=1000-1001", &err),
        EMP_OK, "%s", err.msg);
    cr_expect_eq(o.core_count[1], 2);
    cr_expect_eq(o.core_count[2], 2);
    cr_expect_eq(execute(small_plan, &emp_replay_cpu, &o, &r, &err), EMP_EINVAL);
    cr_expect_not_null(strstr(err.msg, "core 1000 of gpu:0"), "%s", err.msg);
    close_small();
}

struct map_case {
    char text[40], mentions[24];
};

static struct map_case map_cases[] = {{"gpu:7=0", "gpu:7"},   {"gpu:0", "="},
                                      {"gpu:0=", "number"},   {"gpu:0=x", "number"},
                                      {"gpu:0=1-", "number"}, {"gpu:0=1;2", "blanks"},
                                      {"gpu:0=-1", "number"}, {"gpu:0=99999", "number"}};

Test(execute, maps_of_cores_and_gpus_that_make_no_sense_are_refused)
{
    open_small(0);
    for (size_t i = 0; i < sizeof map_cases / sizeof map_cases[0]; i++) {
        emp_replay_options o = emp_replay_options_default();
        emp_error          err = {0};
        cr_expect_eq(emp_replay_options_cores(&o, small_plan, map_cases[i].text, &err),
                     EMP_EINVAL, "%s", map_cases[i].text);
        cr_expect_not_null(strstr(err.msg, map_cases[i].mentions), "%s", err.msg);
    }
    emp_replay_options o = emp_replay_options_default();
    emp_error          err = {0};
    cr_expect_eq(emp_replay_options_gpus(&o, small_plan, "gpu:0=1 gpu:1=1", &err),
                 EMP_OK);
    cr_expect_eq(o.physical[1], 1);
    cr_expect_eq(emp_replay_options_gpus(&o, small_plan, "cpu:0=1", &err), EMP_EINVAL);
    close_small();
}

/* ---- the end before the end ---- */

static atomic_int stop;

static void stop_in_step(void *context, int32_t done, int32_t count)
{
    (void)count;
    if (done == *(const int32_t *)context) stop = 1;
}

Test(execute, an_interrupted_run_has_no_result)
{
    open_small(0);
    for (int32_t step = 0; step < 3; step++) {
        emp_replay_options o = few_steps();
        emp_replay_result  r = {0};
        emp_error          err = {0};
        stop = 0;
        o.stop = &stop;
        o.progress = stop_in_step;
        o.progress_context = &step;
        cr_expect_eq(execute(small_plan, &emp_replay_cpu, &o, &r, &err),
                     EMP_EINTERRUPTED);
        cr_expect_null(r.step_s);
    }
    close_small();
}

/* ---- results ---- */

Test(execute, a_result_comes_back_from_its_file_or_is_refused)
{
    emp_replay_options o = few_steps();
    emp_replay_result  r = {0}, loaded = {0};
    emp_error          err = {0};
    size_t             size;

    open_small(0);
    cr_assert_eq(execute(small_plan, &emp_replay_cpu, &o, &r, &err), EMP_OK, "%s",
                 err.msg);
    cr_assert_eq(emp_replay_result_save(scratch_path("r.txt"), &r, &err), EMP_OK, "%s",
                 err.msg);
    cr_assert_eq(emp_replay_result_load(&loaded, scratch_path("r.txt"), &err), EMP_OK,
                 "%s", err.msg);
    cr_expect_eq(loaded.plan_hash, r.plan_hash);
    cr_expect_eq(loaded.step_count, r.step_count);
    cr_expect_float_eq(loaded.median_s / r.median_s, 1.0, 1e-8);
    cr_expect_eq(loaded.device[2].peak_bytes, r.device[2].peak_bytes);
    cr_expect_str_eq(loaded.device[1].runs_on, r.device[1].runs_on);
    for (int32_t op = 0; op < r.op_count; op++)
        cr_assert_float_eq((double)loaded.op_s[op], (double)r.op_s[op],
                           1e-5 * (double)r.op_s[op]);
    emp_replay_result_clear(&loaded);
    char *text = scratch_read("r.txt", &size);
    for (size_t cut = 0; cut < size; cut += size / 53) {
        emp_error why = {0};
        scratch_write("half.txt", text, cut);
        cr_assert_eq(emp_replay_result_load(&loaded, scratch_path("half.txt"), &why),
                     EMP_EFORMAT, "cut at %zu", cut);
    }
    free(text);
    emp_replay_result_clear(&r);
    close_small();
}

Test(execute, quantiles_lie_between_neighbours)
{
    double values[] = {4, 1, 3, 2};

    cr_expect_float_eq(emp_replay_quantile(values, 4, 0.5), 2.5, 1e-12);
    cr_expect_float_eq(emp_replay_quantile(values, 4, 0.25), 1.75, 1e-12);
    cr_expect_float_eq(emp_replay_quantile(values, 4, 1.0), 4.0, 1e-12);
    cr_expect_float_eq(emp_replay_quantile(values, 1, 0.5), 1.0, 1e-12);
}
