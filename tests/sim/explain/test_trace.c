// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a trace file JSON that says what happened, when, and on which track? */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "sim/explain/trace_chrome.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

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
    cr_assert_eq(
        emp_trace_chrome_write(path, sim, t.problem, t.device_of_op, result, &err),
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

/* An arrow that no slice holds is dropped by viewers. */
Test(trace, every_arrow_binds_to_a_slice)
{
    emp_runtime    runtime = tiny_serial();
    emp_sim_result r = {0};
    json_t        *root = write_and_read(&runtime, &r);
    json_t        *events = json_object_get(root, "traceEvents");
    size_t         i, k;
    const json_t  *e, *x;

    json_array_foreach(events, i, e)
    {
        bool is_bound = false;
        if (json_object_get(e, "id") == NULL) continue;
        json_array_foreach(events, k, x)
        {
            double ts = json_real_value(json_object_get(e, "ts"));
            double begin = json_real_value(json_object_get(x, "ts"));
            double end = begin + json_real_value(json_object_get(x, "dur"));
            is_bound =
                is_bound ||
                (k < i && json_object_get(x, "dur") != NULL && ts >= begin && ts < end &&
                 json_equal(json_object_get(e, "pid"), json_object_get(x, "pid")) &&
                 json_equal(json_object_get(e, "tid"), json_object_get(x, "tid")));
        }
        cr_expect(is_bound, "event %zu", i);
    }
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
        emp_trace_chrome_write(path, sim, t.problem, t.device_of_op, &r, NULL), );
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
    cr_expect_eq(emp_trace_chrome_write("/nowhere/t.json", sim, t.problem, t.device_of_op,
                                        &r, &err),
                 EMP_EIO);
    cr_expect_not_null(strstr(err.msg, "/nowhere/t.json"), "%s", err.msg);
    emp_sim_destroy(sim);
    task_destroy(&t);
}
