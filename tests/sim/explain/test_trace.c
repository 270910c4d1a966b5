// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a trace file JSON that says what happened, when, and on which track? */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "sim/explain/explain.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"
#include "tests/support/timeline.h"

enum { SEEDS = 200 };

static const tiny_op ops[] = {
    {.device = 1},
    {.device = 2, .input_count = 1, .input = {0}},
    {.device = 0, .input_count = 1, .input = {0}, .lanes = 4},
};

static json_t *trace_of(const tiny_op *traced, const emp_runtime *runtime,
                        bool has_two_hosts, emp_sim_result *result)
{
    task         t;
    emp_sim     *sim = NULL;
    emp_error    err = {0};
    json_error_t why;
    char         path[] = P_tmpdir "/emplace-trace-XXXXXX";

    close(mkstemp(path));
    task_create_tiny(&t, traced, 3, runtime);
    if (has_two_hosts) task_split_hosts(&t);
    cr_assert_eq(emp_sim_create(&sim, t.problem, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_trace_chrome_write(path, sim, t.problem,
                                        &(emp_decision){.device_of_op = t.device_of_op},
                                        result, &err),
                 EMP_OK, "%s", err.msg);
    json_t *root = json_load_file(path, 0, &why);
    cr_assert_not_null(root, "%s", why.text);
    remove(path);
    emp_sim_destroy(sim);
    task_destroy(&t);
    return root;
}

static json_t *write_and_read(const emp_runtime *runtime, emp_sim_result *result)
{
    return trace_of(ops, runtime, false, result);
}

/* Events of a phase ("X") on a track; -1 = any. */
static int count(const json_t *root, const char *phase, int pid, int tid)
{
    size_t        i;
    const json_t *e;
    int           n = 0;

    json_array_foreach(json_object_get(root, "traceEvents"), i, e)
    {
        n += strcmp(json_string_value(json_object_get(e, "ph")), phase) == 0 &&
             (pid < 0 || json_integer_value(json_object_get(e, "pid")) == pid) &&
             (tid < 0 || json_integer_value(json_object_get(e, "tid")) == tid);
    }
    return n;
}

Test(trace, tracks_hold_what_ran_there)
{
    emp_runtime    runtime = tiny_serial();
    emp_sim_result r = {0};
    json_t        *root = write_and_read(&runtime, &r);

    timeline_expect_valid(root);
    cr_expect_eq(count(root, "X", 1, 0), 1, "a kernel");
    cr_expect_eq(count(root, "X", 1, 1), 1 + 2, "its issue, two sends");
    cr_expect_eq(count(root, "X", 2, 1), 1 + 1, "a receive and an issue");
    cr_expect_eq(count(root, "X", 1, 3), 1, "a copy to the host");
    cr_expect_eq(count(root, "X", 1, 4), 1, "a copy to the other GPU");
    cr_expect_eq(count(root, "X", 2, 0), 1, "the other GPU's kernel");
    cr_expect_eq(count(root, "X", 0, -1), 4, "four rounds of tasks on four cores");
    cr_expect_eq(count(root, "X", 3, 0), 1, "the fixed cost of the step");
    cr_expect_eq(count(root, "s", -1, -1), 4, "to two copies, and from each to an op");
    cr_expect_eq(count(root, "s", 1, 0), 2, "from the kernel");
    cr_expect_eq(count(root, "f", 1, 3), 1, "to a copy");
    cr_expect_eq(count(root, "s", 1, 3), 1, "from it");
    cr_expect_eq(count(root, "f", 0, 0), 1, "to the first tasks on the CPU");
    cr_expect_gt(count(root, "C", 1, -1), 0, "memory of a GPU");
    cr_expect_eq(count(root, "M", 1, -1), 1 + 5, "names of a GPU and its tracks");
    json_decref(root);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static void expect_end(const emp_runtime *runtime)
{
    emp_sim_result r = {0};
    json_t        *root = write_and_read(runtime, &r);
    size_t         i;
    const json_t  *e;
    double         last = 0.0;

    json_array_foreach(json_object_get(root, "traceEvents"), i, e)
    {
        if (json_object_get(e, "dur") == NULL) continue;
        double end = json_real_value(json_object_get(e, "ts")) +
                     json_real_value(json_object_get(e, "dur"));
        if (end > last) last = end;
    }
    cr_expect_float_eq(last, (double)r.step_time_ns * 1e-3, 1e-6);
    json_decref(root);
}

Test(trace, every_host_has_its_tracks)
{
    static const tiny_op far[] = {
        {.device = 0, .lanes = 4},
        {.device = 2, .input_count = 1, .input = {0}, .lanes = 4},
        {.device = 1, .input_count = 1, .input = {1}},
    };
    emp_runtime    runtime = tiny_serial();
    emp_sim_result r = {0};
    json_t        *root = trace_of(far, &runtime, true, &r);

    cr_expect_eq(count(root, "X", 0, EMP_MAX_CORES), 1, "a copy to the other host");
    cr_expect_eq(count(root, "X", 2, EMP_MAX_CORES), 0);
    cr_expect_eq(count(root, "X", 2, -1), 4, "four rounds of tasks on the other CPU");
    cr_expect_eq(count(root, "X", 1, 2), 1, "a copy from another GPU's host");
    cr_expect_eq(count(root, "M", 0, EMP_MAX_CORES), 1, "the name of the track");
    cr_expect_eq(count(root, "M", 2, -1), 1 + 1, "names of a CPU and its track");
    cr_expect_eq(count(root, "M", 3, -1), 1 + 5, "names of a GPU and its tracks");
    json_decref(root);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(trace, times_are_microseconds_and_end_with_the_step)
{
    emp_runtime list = tiny_list_scheduling(), serial = tiny_serial();

    expect_end(&list);
    expect_end(&serial);
}

/* ---- on random problems ---- */

static void expect_facts(const json_t *event, bool has_path)
{
    const char   *category = json_string_value(json_object_get(event, "cat"));
    const json_t *args = json_object_get(event, "args");
    bool is_op = strcmp(category, "issue") != 0 && strcmp(category, "copy") != 0 &&
                 strcmp(category, "send") != 0 && strcmp(category, "receive") != 0;

    if (strcmp(category, "step") == 0) return;
    cr_expect_eq(json_is_boolean(json_object_get(args, "critical")), has_path, "%s",
                 category);
    if (!is_op) return;
    cr_expect_str_eq(json_string_value(json_object_get(args, "type")), category);
    cr_expect(json_is_string(json_object_get(args, "shape")));
    cr_expect(json_is_string(json_object_get(args, "scope")));
    cr_expect(json_is_integer(json_object_get(args, "flops")));
    cr_expect(json_is_integer(json_object_get(args, "bytes")));
}

/* The valid timeline of a step with its facts and its peaks. */
static void expect_timeline(const task *t, uint64_t seed)
{
    emp_sim       *sim = NULL;
    emp_sim_result r = {0};
    emp_error      err = {0};
    char           path[] = P_tmpdir "/emplace-trace-XXXXXX";
    size_t         i;
    json_t        *event;

    close(mkstemp(path));
    cr_assert_eq(emp_sim_create(&sim, t->problem, NULL), EMP_OK);
    cr_assert_eq(emp_trace_chrome_write(path, sim, t->problem,
                                        &(emp_decision){.device_of_op = t->device_of_op},
                                        &r, &err),
                 EMP_OK, "seed %" PRIu64 ": %s", seed, err.msg);
    json_error_t where;
    json_t      *root = json_load_file(path, 0, &where);
    cr_assert_not_null(root, "seed %" PRIu64 ": line %d: %s", seed, where.line,
                       where.text);
    timeline_expect_valid(root);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        if (json_object_get(event, "dur") != NULL)
            expect_facts(event, t->problem->runtime.rules == EMP_RULES_EVENTS);
    }
    for (int32_t d = 0; d < r.device_count; d++) {
        json_int_t peak = (json_int_t)r.peak_bytes[d];
        cr_expect_eq(timeline_highest(root, "peak memory", d), peak,
                     "seed %" PRIu64 ", device %d", seed, d);
        if (emp_runtime_events_of(&t->problem->runtime)->bfc_allocator)
            cr_expect_leq(timeline_highest(root, "memory", d), peak + r.oom_bytes);
        else
            cr_expect_eq(timeline_highest(root, "memory", d), peak,
                         "seed %" PRIu64 ", device %d", seed, d);
    }
    json_decref(root);
    remove(path);
    emp_sim_destroy(sim);
}

Test(trace, is_valid_on_random_problems)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        task r;
        if (seed % 2 == 0) {
            random_problem_create(&r, seed);
        } else {
            random_problem_create_hosts(&r, seed);
        }
        expect_timeline(&r, seed);
        task_destroy(&r);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(trace, is_valid_by_the_rules_of_other_simulators)
{
    static const char *const rules[] = {"placeto",  "baechi", "msr-latency",
                                        "msr-load", "edges",  "ideal"};

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        task t;
        task_create(&t, "rnnlm:steps=2,batch=8", "k40x2", rules[i]);
        expect_timeline(&t, i);
        task_destroy(&t);
    }
}

/* Op 0 and its copy to gpu:1 lie on the critical path; op 2 beside it does not. */
Test(trace, slices_say_whether_they_are_on_the_critical_path)
{
    static const tiny_op beside[] = {
        {.device = 1}, {.device = 2, .input_count = 1, .input = {0}}, {.device = 0}};
    emp_runtime    runtime = tiny_list_scheduling();
    emp_sim_result r = {0};
    json_t        *root = trace_of(beside, &runtime, false, &r);
    size_t         i;
    const json_t  *e;
    int            critical = 0, others = 0;

    json_array_foreach(json_object_get(root, "traceEvents"), i, e)
    {
        const json_t *flag = json_object_get(json_object_get(e, "args"), "critical");
        if (flag == NULL) continue;
        critical += json_is_true(flag);
        others += json_is_false(flag);
        if (json_is_false(flag))
            cr_expect_str_eq(json_string_value(json_object_get(e, "name")), "op2");
    }
    cr_expect_eq(critical, 3);
    cr_expect_eq(others, 1);
    json_decref(root);
}

Test(trace, survives_every_allocation_failure)
{
    emp_runtime    runtime = tiny_serial();
    task           t;
    emp_sim       *sim = NULL;
    emp_sim_result r;
    char           path[] = P_tmpdir "/emplace-trace-XXXXXX";

    close(mkstemp(path));
    task_create_tiny(&t, ops, 3, &runtime);
    cr_assert_eq(emp_sim_create(&sim, t.problem, NULL), EMP_OK);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_trace_chrome_write(path, sim, t.problem,
                               &(emp_decision){.device_of_op = t.device_of_op}, &r,
                               NULL), );
    remove(path);
    emp_sim_destroy(sim);
    task_destroy(&t);
}

Test(trace, a_folder_that_is_not_there_is_named)
{
    emp_runtime    runtime = tiny_serial();
    task           t;
    emp_sim       *sim = NULL;
    emp_sim_result r;
    emp_error      err = {0};

    task_create_tiny(&t, ops, 3, &runtime);
    cr_assert_eq(emp_sim_create(&sim, t.problem, NULL), EMP_OK);
    cr_expect_eq(emp_trace_chrome_write("/nowhere/t.json", sim, t.problem,
                                        &(emp_decision){.device_of_op = t.device_of_op},
                                        &r, &err),
                 EMP_EIO);
    cr_expect_not_null(strstr(err.msg, "/nowhere/t.json"), "%s", err.msg);
    emp_sim_destroy(sim);
    task_destroy(&t);
}
