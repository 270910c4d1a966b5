// SPDX-License-Identifier: GPL-3.0-or-later
/* Problems made by hand in which less work takes longer: does the engine have them, and
 * does the measurement find them? */

#include "bench/studies/anomalies.h"
#include "sim/engine/sim.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/problems.h"
#include "tests/test.h"

enum { TINY_CORES = 4, CASES = 100 };

/* Nine tasks on three processors, listed; 0-based, after his figure: the last one waits for
 * the long first one, four others for one that starts second. The CPU's pool is list
 * scheduling on its cores. His list begins with the task that is third here: of two tasks
 * that end together the one that started on the lower core comes first. */
enum { GRAHAM = 9 };
static const tiny_op graham_ops[GRAHAM] = {
    {0},                              /* 2 */
    {0},                              /* 2 */
    {0},                              /* 3: before the last one */
    {0},                              /* 2: before the four */
    {.input_count = 1, .input = {3}}, /* 4 */
    {.input_count = 1, .input = {3}}, /* 4 */
    {.input_count = 1, .input = {3}}, /* 4 */
    {.input_count = 1, .input = {3}}, /* 4 */
    {.input_count = 1, .input = {2}}, /* 9 */
};

static void create_graham(task *t, const int64_t time_ns[GRAHAM])
{
    emp_runtime runtime = tiny_list_scheduling();

    runtime.events.cpu_pool = true;
    task_create_tiny(t, graham_ops, GRAHAM, &runtime);
    t->machine->device[0].cores = 3;
    for (int op = 0; op < GRAHAM; op++) {
        t->problem->costs->task_ns[op * TINY_CORES] = time_ns[op];
        t->problem->costs->cpu[op].compute_ns = time_ns[op];
    }
}

Test(anomalies, grahams_example_takes_longer_when_all_tasks_are_shorter)
{
    static const int64_t times[GRAHAM] = {2, 2, 3, 2, 4, 4, 4, 4, 9};
    static const int64_t shorter[GRAHAM] = {1, 1, 2, 1, 3, 3, 3, 3, 8};
    task                 t;

    create_graham(&t, times);
    cr_expect_eq(task_run(&t).step_time_ns, 12);
    task_destroy(&t);
    create_graham(&t, shorter);
    cr_expect_eq(task_run(&t).step_time_ns, 13);
    task_destroy(&t);
}

/* The long task's way is free 2 ns before the four are ready: if only their first one is
 * shorter, they come first. */
static const int64_t close_race[GRAHAM] = {200, 200, 380, 200, 400, 400, 400, 400, 900};

static void measure(emp_anomaly_count counts[EMP_SHORTENINGS], const task *t,
                    int32_t cases, uint64_t seed)
{
    const emp_anomalies_params params = {.seed = seed};
    emp_device_id             *placements[CASES];

    memset(counts, 0, EMP_SHORTENINGS * sizeof *counts);
    for (int i = 0; i < CASES; i++) placements[i] = t->device_of_op;
    ASSERT_OK(
        emp_anomalies_measure(counts, t->problem, placements, cases, &params, &err));
}

Test(anomalies, faster_ops_are_drawn_anew_and_some_take_longer)
{
    OWN_TASK                 t;
    emp_anomaly_count        first[EMP_SHORTENINGS], again[EMP_SHORTENINGS];
    const emp_anomaly_count *ops = &first[EMP_SHORTEN_OPS];

    create_graham(&t, close_race);
    cr_expect_eq(task_run(&t).step_time_ns, 1280);
    t.problem->costs->task_ns[3 * TINY_CORES] = 160;
    cr_expect_eq(task_run(&t).step_time_ns, 1660);
    t.problem->costs->task_ns[3 * TINY_CORES] = 200;
    measure(first, &t, CASES, 1);
    cr_expect(ops->is_there && ops->cases == CASES);
    cr_expect(ops->longer > 0 && ops->longer < CASES / 2 && ops->shorter > 0);
    cr_expect_float_eq(ops->worst_growth, 1660.0 / 1280.0 - 1.0, 0.03);
    cr_expect_eq(first[EMP_SHORTEN_GPU].longer + first[EMP_SHORTEN_GPU].shorter, 0,
                 "no GPU is used");
    measure(again, &t, CASES, 1);
    cr_expect_eq(memcmp(first, again, sizeof first), 0);
    measure(again, &t, CASES, 2);
    cr_expect_neq(ops->shorter, again[EMP_SHORTEN_OPS].shorter);
}

/* A chain has no alternatives: what is shortened is what is saved. */
Test(anomalies, each_kind_shortens_what_it_says)
{
    enum { ISSUE = 3, GPU = 100, SEND = 2, RECEIVE = 4, POLL = 7, LATENCY = 5 };
    static const int saved[EMP_SHORTENINGS] = {
        [EMP_SHORTEN_ISSUE] = ISSUE,     [EMP_SHORTEN_SEND] = SEND,
        [EMP_SHORTEN_RECEIVE] = RECEIVE, [EMP_SHORTEN_POLL] = POLL,
        [EMP_SHORTEN_LATENCY] = LATENCY, [EMP_SHORTEN_GPU] = GPU / 10};
    const tiny_op ops[] = {
        {.device = 0}, /* its output is sent by a delay, nothing hides it */
        {.device = 1, .input_count = 1, .input = {0}, .is_kernelless = true},
        {.device = 1, .input_count = 1, .input = {1}, .weight = 10}};
    emp_runtime       runtime = tiny_serial();
    OWN_TASK          t;
    emp_anomaly_count counts[EMP_SHORTENINGS];

    task_create_tiny(&t, ops, 3, &runtime);
    t.machine->device_count = 2; /* one GPU to draw from */
    double before = (double)task_run(&t).step_time_ns;
    measure(counts, &t, 1, 1);
    for (int k = EMP_SHORTEN_GPU; k < EMP_SHORTENINGS; k++) {
        cr_expect_eq(counts[k].shorter, 1, "%s", emp_shortening_name((emp_shortening)k));
        cr_expect_float_eq(counts[k].median_change * before, -saved[k], 1e-9, "%s: %g",
                           emp_shortening_name((emp_shortening)k),
                           counts[k].median_change * before);
    }
}

/* A copy to another host takes 25 ns of its links, which are dropped, and the hop of the runtime, which stays. */
Test(anomalies, latency_is_dropped_and_hops_stay)
{
    enum { HOP = 100, LATENCY = 25 };
    const emp_runtime runtime = tiny_list_scheduling();
    OWN_TASK          t;
    emp_anomaly_count counts[EMP_SHORTENINGS];

    task_create_ops(&t, "1; 3<0", &runtime);
    task_split_hosts(&t);
    const double without = (double)task_run(&t).step_time_ns;
    t.problem->runtime.events.host_hop_s = HOP * 1e-9;
    for (int32_t a = 0; a < t.machine->device_count; a++)
        for (int32_t b = 0; b < t.machine->device_count; b++)
            t.machine->route[a][b].latency_s += emp_problem_hop_s(t.problem, a, b);
    cr_expect_eq((double)task_run(&t).step_time_ns, without + HOP);
    measure(counts, &t, 1, 1);
    cr_expect_float_eq(counts[EMP_SHORTEN_LATENCY].median_change * (without + HOP),
                       -LATENCY, 1e-9);
}

static int32_t count_differences(const task *w, const emp_device_id *a,
                                 const emp_device_id *b)
{
    int32_t count = 0;

    for (emp_op_id op = 0; op < w->graph->op_count; op++)
        count += !w->graph->op[op].is_folded && a[op] != b[op];
    return count;
}

Test(anomalies, families_are_what_they_say)
{
    task           w;
    emp_device_id *devices[3];

    task_create(&w, "nmt:layers=2,steps=2", "k40x2", "tf-r1.3");
    for (int i = 0; i < 3; i++)
        devices[i] = EMP_NEW_ARRAY(emp_device_id, (size_t)w.graph->op_count);
    for (int i = 0; i < 3; i++) {
        ASSERT_OK(emp_anomalies_place(w.problem, EMP_ANOMALIES_EXPERT, 1, i == 2,
                                      devices[i], NULL));
    }
    cr_expect_eq(count_differences(&w, devices[0], devices[1]), 0, "the same again");
    int32_t moved = count_differences(&w, devices[0], devices[2]);
    cr_expect(moved > 0 && moved < w.graph->op_count / 20, "%d ops moved", moved);
    for (int i = 0; i < 2; i++) {
        ASSERT_OK(
            emp_anomalies_place(w.problem, EMP_ANOMALIES_RANDOM, 1, i, devices[i], NULL));
    }
    cr_expect_gt(count_differences(&w, devices[0], devices[1]), w.graph->op_count / 3);
    for (int i = 0; i < 3; i++) emp_free(devices[i]);
    task_destroy(&w);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(anomalies, refuses_no_placement_and_an_illegal_one)
{
    const emp_anomalies_params params = {0};
    const tiny_op              ops[] = {{.device = 1}};
    emp_runtime                runtime = tiny_serial();
    OWN_TASK                   t;
    emp_anomaly_count          counts[EMP_SHORTENINGS];

    task_create_tiny(&t, ops, 1, &runtime);
    for (int count = 0; count < 2; count++) {
        t.device_of_op[0] = 9;
        EXPECT_REFUSED(emp_anomalies_measure(counts, t.problem, &t.device_of_op, count,
                                             &params, &err),
                       EMP_EINVAL, count == 0 ? "0 placements" : "'op0' is on device 9");
    }
}

Test(anomalies, measuring_and_placing_survive_every_allocation_failure)
{
    const emp_anomalies_params params = {.seed = 1};
    task                       r, w;
    emp_anomaly_count          counts[EMP_SHORTENINGS];

    random_problem_create(&r, 7);
    emp_device_id *placements[] = {r.device_of_op, r.device_of_op};
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_anomalies_measure(counts, r.problem, placements, 2, &params, NULL), );
    task_destroy(&r);
    task_create(&w, "nmt:layers=2,steps=2", "k40x2", "tf-r1.3");
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_anomalies_place(w.problem, EMP_ANOMALIES_EXPERT,
                                                          1, 1, w.device_of_op, NULL), );
    task_destroy(&w);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
