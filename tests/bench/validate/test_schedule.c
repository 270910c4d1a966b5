// SPDX-License-Identifier: GPL-3.0-or-later
/* A step that is simulated with what its own ops took: only what the schedule adds is left of an error. Measurements are
 * made up from what a model says of every op. */
#include "bench/validate/validate.h"
#include "sim/engine/sim.h"
#include "tests/replay/fixture.h"
#include "tests/test.h"

static task              net;
static emp_replay_result r;

static bool is_group(emp_device_id d)
{
    return net.machine->device[d].kind == EMP_DEVICE_GPU;
}

static void measure(double factor)
{
    const emp_graph *g = net.graph;
    int32_t          at = 0, live = 0;

    emp_replay_result_clear(&r);
    for (emp_op_id op = 0; op < g->op_count; op++) live += !g->op[op].is_folded;
    ASSERT_OK(emp_replay_result_init(&r, 1, live, 0, &err));
    r.op_count = live;
    r.device_count = net.machine->device_count;
    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        if (g->op[op].is_folded) continue;
        emp_device_id d = net.device_of_op[op];
        double        s = 1e-9 * (double)emp_problem_op_time_ns(net.problem, op, d);
        s -= is_group(d) ? net.machine->device[d].core.op_s
                         : emp_runtime_events_of(&net.problem->runtime)->cpu_op_s;
        bool is_timed = g->op[op].cost->kernels > 0 && s > 0.0;
        r.op_s[at++] = is_timed ? (float)(factor * s) : 0.0f;
        if (is_timed) r.device[d].busy_s += (double)(float)(factor * s);
    }
}

static double predict(void)
{
    return 1e-9 * (double)problem_step(net.problem, net.device_of_op).step_time_ns;
}

static double schedule(void)
{
    double step_s;

    ASSERT_OK(emp_validation_schedule(&step_s, net.problem, net.device_of_op, &r, &err));
    return step_s;
}

static void open_net(int32_t seed)
{
    replay_fixture_create(&net, REPLAY_SMALL_NMT, seed);
    measure(1.0);
}

static void close_net(void)
{
    emp_replay_result_clear(&r);
    task_destroy(&net);
    expect_all_freed();
}

TestSuite(schedule, .fini = close_net);

Test(schedule, the_predicted_times_of_ops_give_the_predicted_step)
{
    open_net(-2); /* all on one group of cores */
    double step_s = predict();
    cr_expect_float_eq(schedule(), step_s, 0.01 * step_s, "%g, not %g", schedule(),
                       step_s);
}

/* A context of an eighth of the memory, the most there is, is taken once: the step just fits. */
Test(schedule, the_memory_of_contexts_is_taken_once)
{
    char path[SCRATCH_PATH_BYTES];

    scratch_create();
    scratch_write_text(path, sizeof path, "own.yaml",
                       "base: replay-cpu\ndescription: own\ngpu_context: 64 GiB\n");
    replay_fixture_create_on(&net, REPLAY_SMALL_NMT, -2, "cpu2", path);
    scratch_remove();
    measure(1.0);
    const emp_sim_result roomy = problem_step(net.problem, net.device_of_op);
    for (int32_t d = 0; d < net.machine->device_count; d++) {
        if (!is_group(d)) continue;
        net.machine->device[d].memory_bytes = roomy.peak_bytes[d] * 8 / 7 + 8;
        net.problem->adapted->device[d].memory_bytes = roomy.peak_bytes[d] + 7;
    }
    cr_expect(problem_step(net.problem, net.device_of_op).is_feasible);
    cr_expect_float_eq(schedule(), predict(), 0.01 * predict(), "%g", schedule());
}

Test(schedule, longer_kernels_are_no_error_of_the_schedule)
{
    open_net(-2);
    double step_s = schedule(), busy_s = r.device[1].busy_s;
    measure(3.0);
    cr_expect_float_eq(schedule(), step_s + 2.0 * busy_s, 0.02 * step_s);
    cr_expect_float_eq(predict(), step_s, 0.01 * step_s, "the problem stays as it was");
}

/* Medians of ops lack what something else took now and then; the busy time of the device has it. */
Test(schedule, ops_fill_the_time_that_their_device_was_busy)
{
    open_net(-2);
    double step_s = schedule(), busy_s = r.device[1].busy_s;
    r.device[1].busy_s *= 1.5;
    cr_expect_float_eq(schedule(), step_s + 0.5 * busy_s, 0.02 * step_s);
    r.device[1].busy_s = 0.5 * busy_s;
    cr_expect_float_eq(schedule(), step_s, 1e-9, "several cores work at once");
}

Test(schedule, what_says_nothing_of_ops_is_no_schedule)
{
    double step_s;

    open_net(2);
    r.is_feasible = false;
    cr_expect(isnan(schedule()));
    r.is_feasible = true;
    for (int32_t op = 0; op < r.op_count; op++) r.op_s[op] = -1.0f;
    cr_expect(isnan(schedule()));
    r.op_count--;
    EXPECT_REFUSED(
        emp_validation_schedule(&step_s, net.problem, net.device_of_op, &r, &err),
        EMP_EINVAL, "not of this step");
    r.op_count += 2;
    cr_expect_eq(
        emp_validation_schedule(&step_s, net.problem, net.device_of_op, &r, NULL),
        EMP_EINVAL);
    r.op_count--;
}

Test(schedule, every_allocation_may_fail)
{
    double step_s;

    open_net(1);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_validation_schedule(&step_s, net.problem, net.device_of_op, &r, NULL), );
}
