// SPDX-License-Identifier: GPL-3.0-or-later
/* Steps run to their end, in the memory that the simulator says, and read only what was
 * written; broken dependencies are seen; whatever fails is one sentence and no result. No
 * test looks at how long anything takes. */
#include <jansson.h>
#include <stdatomic.h>

#include "replay/execute_internal.h"
#include "replay/result.h"
#include "sim/engine/sim.h"
#include "tests/replay/fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/status.h"
#include "tests/support/timeline.h"

enum { MIB = 1 << 20 };

TestSuite(execute, .init = scratch_create, .fini = scratch_remove);

static task               net;
static emp_replay_plan   *plan;
static emp_replay_options o;
static emp_replay_result  r;

static void choose_few_steps(void)
{
    o = emp_replay_options_default();
    o.warmup = 1;
    o.steps = 2;
    o.host_bytes = (int64_t)2048 * MIB;
}

static void open_net(const char *spec, int32_t seed)
{
    choose_few_steps();
    replay_fixture_create(&net, spec, seed);
    plan = replay_fixture_plan(&net);
}

static void close_net(void)
{
    emp_replay_result_clear(&r);
    emp_replay_plan_destroy(plan);
    task_destroy(&net);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static emp_status execute(void)
{
    emp_replay_result_clear(&r);
    return replay_fixture_execute(plan, &emp_replay_cpu, &o, &r, &why);
}

static emp_replay *execute_and_keep(void)
{
    emp_replay *replay = NULL;

    MUST(emp_replay_create(&replay, plan, &emp_replay_cpu, &o, &why));
    MUST(emp_replay_run(replay, &r, &why));
    return replay;
}

/* Links of 1 ms and 0.1 GB/s: no copy is shorter, and those from one memory to another take
 * turns. */
Test(execute, copies_keep_the_rates_of_links_if_asked_to)
{
    int64_t sum_ns[EMP_REPLAY_MAX_DEVICES][EMP_REPLAY_MAX_DEVICES] = {{0}};

    open_net(REPLAY_SMALL_NMT, 2);
    for (int32_t i = 0; i < plan->device_count * plan->device_count; i++)
        plan->route[i] = (emp_replay_route){.latency_s = 1e-3, .bytes_per_s = 1e8};
    o.is_timed = o.keeps_rates = true;
    emp_replay                *replay = execute_and_keep();
    const emp_replay_timeline *t = emp_replay_get_timeline(replay);
    cr_assert_gt(plan->copy_count, 10);
    for (int32_t i = 0; i < plan->copy_count; i++) {
        const emp_replay_copy *c = &plan->copy[i];
        int64_t                least_ns = 1000000 + 10 * c->bytes - 1; /* rounded to ns */
        cr_expect_geq(t->times.copy_end_ns[i] - t->times.copy_start_ns[i], least_ns,
                      "copy %d", i);
        sum_ns[emp_replay_memory_of_place(plan, c->tensor)][c->to] += least_ns;
    }
    for (int32_t a = 0; a < plan->device_count; a++)
        for (int32_t b = 0; b < plan->device_count; b++)
            cr_expect_leq(sum_ns[a][b], t->step_ns, "from %d to %d", a, b);
    emp_replay_destroy(replay);
    close_net();
}

static emp_sim_result simulate(void)
{
    OWN_SIM        sim = NULL;
    emp_sim_result predicted;

    MUST(emp_sim_create(&sim, net.problem, &why));
    MUST(emp_sim_run(sim, net.device_of_op, &predicted, &why));
    return predicted;
}

/* The largest need of any op in a memory: results and workspace. */
static int64_t largest_need(int32_t memory)
{
    int64_t largest = 0;

    for (int32_t op = 0; op < plan->op_count; op++) {
        const emp_replay_op *of = &plan->op[op];
        int64_t              need = 0;
        if (of->device == memory) need += emp_replay_round_up(of->workspace_bytes);
        for (int32_t t = plan->output_offset[op]; t < plan->output_offset[op + 1]; t++) {
            if (emp_replay_memory_of_place(plan, t) == memory && !of->is_alias)
                need += emp_replay_round_up(plan->tensor[t].buffer_bytes);
        }
        if (need > largest) largest = need;
    }
    return largest;
}

/* Who comes first when several devices work is not the simulator's order. In any order the
 * variables and the needs of one op are there together, and no buffer twice. */
static void expect_possible_peaks(void)
{
    for (int32_t d = 0; d < plan->device_count; d++) {
        int64_t persistent = 0, workspaces = 0, buffers = 0;
        for (int32_t op = 0; op < plan->op_count; op++) {
            if (plan->op[op].device != d) continue;
            persistent += emp_replay_round_up(plan->op[op].persistent_bytes);
            workspaces += emp_replay_round_up(plan->op[op].workspace_bytes);
        }
        for (int32_t i = 0; i < plan->tensor_count + plan->copy_count; i++) {
            if (emp_replay_memory_of_place(plan, i) != d) continue;
            buffers += emp_replay_round_up(
                i < plan->tensor_count ? plan->tensor[i].buffer_bytes
                                       : plan->copy[i - plan->tensor_count].bytes);
        }
        cr_expect_geq(r.device[d].peak_bytes, persistent + largest_need(d), "%s",
                      plan->device[d].name);
        cr_expect_leq(r.device[d].peak_bytes, persistent + workspaces + buffers, "%s",
                      plan->device[d].name);
    }
}

/* Where one device works there is one order, the simulator's. */
static void expect_right_steps(const replay_case *c)
{
    open_net(c->spec, c->seed);
    o.is_checked = true;
    MUST(execute());
    cr_expect(r.is_feasible, "%s, seed %d", c->spec, c->seed);
    cr_expect_eq(r.step_count, 2);
    cr_expect_gt(r.median_s, 0.0);
    cr_expect_gt(r.checked_reads, 3 * plan->copy_count);
    cr_expect_gt(r.verified_ops, 3);
    cr_expect_lt(r.verified_error, 1e-4);
    cr_expect_eq(r.transfer_count, plan->copy_count);
    cr_expect_eq(r.plan_hash, emp_replay_plan_hash(plan));
    expect_possible_peaks();
    const emp_sim_result predicted = simulate();
    for (int32_t d = 0; c->seed < 0 && d < r.device_count; d++)
        cr_expect_leq(llabs(r.device[d].peak_bytes - predicted.peak_bytes[d]), 16384,
                      "%s: peak %lld bytes, predicted %lld", r.device[d].name,
                      (long long)r.device[d].peak_bytes,
                      (long long)predicted.peak_bytes[d]);
    close_net();
}

Test(execute, checked_steps_are_right_and_fit_as_predicted)
{
    for (int i = 0; i < REPLAY_CASES; i++) expect_right_steps(&replay_cases[i]);
}

/* Devices of several cores run ops side by side and cut them into tasks. The same core thrice is three threads. */
Test(execute, several_cores_share_the_work)
{
    open_net("rnnlm:layers=1,units=128,batch=64,steps=2,vocab=500,sampled=64", 7);
    for (int32_t d = 0; d < plan->device_count; d++) o.core_count[d] = 3;
    o.is_checked = true;
    MUST(execute());
    cr_expect_gt(r.verified_ops, 2);
    close_net();
}

/* Three threads that take turns on a core are busy three times as long as the op takes. */
Test(execute, an_op_takes_no_longer_than_its_step)
{
    const emp_kernel product = {EMP_KERNEL_PRODUCT, 0, {768, 768, 768, 1, 0, 1}};

    choose_few_steps();
    plan = replay_fixture_kernel(&product, (int64_t)768 * 768);
    MUST(emp_replay_plan_check(plan, &why));
    o.warmup = 0;
    o.steps = 1;
    for (int32_t d = 0; d < 2; d++) o.core_count[d] = 3;
    MUST(execute());
    cr_expect_gt(r.op_s[1], 0.0f);
    cr_expect_leq((double)r.op_s[1], r.step_s[0]);
    cr_expect_leq(r.device[1].busy_s, (double)r.op_s[1] * (1 + 1e-6),
                  "core time over cores");
    close_net();
}

Test(execute, a_timed_step_is_a_trace_with_every_op_and_copy)
{
    int32_t kernels = 0, ops = 0, copies = 0, levels = 0;
    json_t *event;
    size_t  i;

    open_net(REPLAY_SMALL_NMT, 2);
    for (int32_t op = 0; op < plan->op_count; op++)
        kernels += plan->op[op].kernel.kind != EMP_KERNEL_NOTHING;
    o.is_timed = true;
    emp_replay *replay = execute_and_keep();
    MUST(emp_replay_trace_write(scratch_path("step.json"), plan,
                                emp_replay_get_timeline(replay), &why));
    json_t *root = json_load_file(scratch_path("step.json"), 0, NULL);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        const char *phase = json_string_value(json_object_get(event, "ph"));
        const char *category = json_string_value(json_object_get(event, "cat"));
        const bool  is_slice = strcmp(phase, "X") == 0;
        levels += strcmp(phase, "C") == 0;
        copies += is_slice && strcmp(category, "copy") == 0;
        ops += is_slice && strcmp(category, "copy") != 0;
    }
    timeline_expect_valid(root);
    cr_expect_eq(ops, kernels);
    cr_expect_eq(copies, plan->copy_count);
    cr_expect_gt(levels, plan->copy_count);
    json_decref(root);
    emp_replay_destroy(replay);
    close_net();
}

/* An op of one input and no control edge that comes early waits for nothing at all. */
static bool may_break(int32_t op, bool is_early)
{
    const int32_t first = plan->input_offset[op], end = plan->input_offset[op + 1];
    const int32_t place = first < end ? plan->input[first].place : -1;

    if (place < 0 || place >= plan->tensor_count) return false;
    if (plan->tensor[place].buffer_bytes == 0 || plan->op[op].is_alias ||
        plan->op[plan->tensor[place].producer].is_alias)
        return false;
    return !is_early ||
           (end - first == 1 && plan->control_offset[op + 1] == plan->control_offset[op]);
}

/* How many runs find fault. An op that comes early may still come after what it did not wait for, so that single runs
 * prove nothing. */
static int count_seen(bool is_early, int tries, const char *part, const char *or_part)
{
    int seen = 0, named = 0;

    open_net(REPLAY_SMALL_NMT, 0);
    o.warmup = 0;
    o.is_checked = true;
    for (int32_t op = plan->op_count - 1; op > 0 && tries > 0; op--) {
        if (!may_break(op, is_early)) continue;
        if (is_early)
            o.fault.early_op = op;
        else
            o.fault.lost_tensor = plan->input[plan->input_offset[op]].place;
        tries--;
        why = (emp_error){0};
        if (execute() == EMP_OK) continue;
        cr_expect_eq(why.status, EMP_EINVAL, "%s", why.msg);
        named += strstr(why.msg, part) != NULL || strstr(why.msg, or_part) != NULL;
        seen++;
    }
    cr_expect_gt(named, 0, "%s", why.msg);
    close_net();
    return seen;
}

Test(execute, broken_dependencies_are_seen)
{
    cr_expect_eq(count_seen(true, 5, "not yet written", "not yet written"), 5);
    cr_expect_geq(count_seen(false, 8, "poison", "something else"), 1);
    open_net(REPLAY_SMALL_NMT, 0);
    o.fault.lost_tensor = 0;
    cr_expect_eq(execute(), EMP_EINVAL, "faults are for checked runs");
    close_net();
}

/* ---- memory ---- */

/* Too little for a step, too little for the variables, enough. */
Test(execute, what_does_not_fit_is_a_verdict)
{
    int64_t persistent = 0;

    open_net(REPLAY_SMALL_NMT, -2);
    const int64_t peak = simulate().peak_bytes[1];
    for (int32_t op = 0; op < plan->op_count; op++)
        if (plan->op[op].device == 1)
            persistent += emp_replay_round_up(plan->op[op].persistent_bytes);
    const int64_t limit[] = {peak - 512, persistent / 2, peak * 3 / 2};
    for (int i = 0; i < 3; i++) {
        plan->device[1].memory_bytes = limit[i];
        MUST(execute());
        cr_expect_eq(r.is_feasible, i == 2, "limit %d", i);
        cr_expect_eq(r.step_count, i == 2 ? 2 : 0);
        cr_expect_eq(r.oom_device, i == 2 ? -1 : 1);
        cr_expect_eq(r.oom_bytes > 0, i != 2);
        cr_expect_eq(strlen(r.oom_op) > 0, i != 2);
        cr_expect_leq(r.device[1].peak_bytes, limit[i]);
    }
    close_net();
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
    emp_replay *replay = NULL;

    open_net(REPLAY_SMALL_NMT, -2);
    o.progress = take_all;
    o.progress_context = &replay;
    MUST(emp_replay_create(&replay, plan, &emp_replay_cpu, &o, &why));
    MUST(emp_replay_run(replay, &r, &why));
    emp_replay_destroy(replay);
    cr_expect_not(r.is_feasible);
    cr_expect_eq(r.oom_device, 1);
    cr_expect_eq(r.step_count, 0);
    cr_expect_eq(r.median_s, 0.0);
    cr_expect_eq(r.device[1].busy_s, 0.0);
    for (int32_t op = 0; op < r.op_count; op++) cr_assert_eq(r.op_s[op], -1.0f);
    close_net();
}

Test(execute, a_computer_with_too_little_memory_is_no_verdict)
{
    open_net("rnnlm:layers=1,units=256,batch=8,steps=2,vocab=2000,sampled=64", 0);
    o.host_bytes = MIB;
    MUST_FAIL(execute(), EMP_ENOMEM, "this computer's memory");
    cr_expect_null(r.step_s);
    close_net();
}

Test(execute, survives_every_allocation_failure)
{
    emp_status st = EMP_ENOMEM;

    open_net("rnnlm:layers=1,units=4,batch=2,steps=1,vocab=8,sampled=0", 0);
    const long before = emp_mem_live_blocks();
    for (long allowed = 0; st != EMP_OK; allowed++) {
        emp_mem_fail_after(allowed);
        st = execute();
        emp_mem_fail_after(-1);
        if (st == EMP_OK) cr_expect_gt(r.median_s, 0.0);
        emp_replay_result_clear(&r);
        cr_assert(st == EMP_OK || st == EMP_ENOMEM, "after %ld: %d", allowed, st);
        cr_assert_eq(emp_mem_live_blocks(), before, "leak after %ld", allowed);
    }
    close_net();
}

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
    open_net(REPLAY_SMALL_NMT, 0);
    for (int left = 0; left < plan->copy_count; left += plan->copy_count / 5) {
        atomic_store(&copies_left, left);
        MUST_FAIL(replay_fixture_execute(plan, &backend, &o, &r, &why), EMP_EEXTERNAL,
                  "gpu:1 is gone");
        cr_expect_null(r.step_s);
    }
    close_net();
}

Test(execute, maps_of_cores_and_gpus_that_make_no_sense_are_refused)
{
    static const char *const wrong[][2] = {{"gpu:7=0", "gpu:7"},
                                           {"gpu:0", "="},
                                           {"gpu:0=", "number"},
                                           {"gpu:0=x", "number"},
                                           {"gpu:0=1-", "number"},
                                           {"gpu:0=1;2", "blanks"},
                                           {"gpu:0=-1", "number"},
                                           {"gpu:0=99999", "number"},
                                           {"gpu:0=7-4", "goes up"},
                                           {"gpu:0=1,", "number"},
                                           {"gpu:0=0-3,2", "core 2 stands twice"},
                                           {"gpu:0=1 gpu:0=2", "gpu:0 stands twice"}};

    open_net(REPLAY_SMALL_NMT, 0);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        choose_few_steps();
        MUST_FAIL(emp_replay_options_cores(&o, plan, wrong[i][0], &why), EMP_EINVAL,
                  wrong[i][1]);
    }
    choose_few_steps();
    MUST(emp_replay_options_gpus(&o, plan, "gpu:0=1 gpu:1=1", &why));
    cr_expect_eq(o.physical[1], 1);
    cr_expect_eq(emp_replay_options_gpus(&o, plan, "cpu:0=1", NULL), EMP_EINVAL);
    MUST_FAIL(emp_replay_options_gpus(&o, plan, "gpu:1=0", &why), EMP_EINVAL,
              "gpu:1 stands twice");
    cr_expect_eq(emp_replay_options_check(&o, "gpu:0=1", "cpu", NULL), EMP_EINVAL);
    cr_expect_eq(emp_replay_options_check(&o, "gpu:0=1", "cuda", NULL), EMP_OK);
    o.keeps_rates = true;
    cr_expect_eq(emp_replay_options_check(&o, NULL, "cpu", NULL), EMP_OK);
    cr_expect_eq(emp_replay_options_check(&o, NULL, "cuda", NULL), EMP_EINVAL);
    choose_few_steps();
    MUST(emp_replay_options_cores(&o, plan, "gpu:1=0,1 gpu:0=1000-1001", &why));
    cr_expect(o.core_count[1] == 2 && o.core_count[2] == 2);
    MUST_FAIL(execute(), EMP_EINVAL, "core 1000 of gpu:0");
    close_net();
}

static atomic_int stop;

static void stop_in_step(void *context, int32_t done, int32_t count)
{
    (void)count;
    if (done == *(const int32_t *)context) stop = 1;
}

Test(execute, an_interrupted_run_has_no_result)
{
    open_net(REPLAY_SMALL_NMT, 0);
    for (int32_t step = 0; step < 3; step++) {
        stop = 0;
        o.stop = &stop;
        o.progress = stop_in_step;
        o.progress_context = &step;
        cr_expect_eq(execute(), EMP_EINTERRUPTED);
        cr_expect_null(r.step_s);
    }
    close_net();
}

Test(execute, a_result_comes_back_from_its_file_or_is_refused)
{
    emp_replay_result loaded = {0};
    size_t            size;

    open_net(REPLAY_SMALL_NMT, 0);
    MUST(execute());
    MUST(emp_replay_result_save(scratch_path("r.txt"), &r, &why));
    MUST(emp_replay_result_load(&loaded, scratch_path("r.txt"), &why));
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
        scratch_write("half.txt", text, cut);
        cr_assert_eq(emp_replay_result_load(&loaded, scratch_path("half.txt"), NULL),
                     EMP_EFORMAT, "cut at %zu", cut);
    }
    free(text);
    close_net();
}

Test(execute, quantiles_lie_between_neighbours)
{
    double values[] = {4, 1, 3, 2};

    cr_expect_float_eq(emp_replay_quantile(values, 4, 0.5), 2.5, 1e-12);
    cr_expect_float_eq(emp_replay_quantile(values, 4, 0.25), 1.75, 1e-12);
    cr_expect_float_eq(emp_replay_quantile(values, 4, 1.0), 4.0, 1e-12);
    cr_expect_float_eq(emp_replay_quantile(values, 1, 0.5), 1.0, 1e-12);
}
