// SPDX-License-Identifier: GPL-3.0-or-later
/* Levels say who is served first: step times worked out by hand, and what is refused. An op takes
 * 10 ns on a GPU and 20 on a core, a copy 261. */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "base/mem.h"
#include "sim/engine/sim.h"
#include "tests/support/expect.h"
#include "tests/support/problems.h"

enum { GPU = 10, CPU = 20, COPY = 5 + 256 };
enum { ISSUE = 3, SEND = 2, RECEIVE = 4, POLL = 7, STEP = 100 };

static void expect_no_leak(void) { cr_expect_eq(emp_mem_live_blocks(), 0); }

TestSuite(order, .fini = expect_no_leak);

/* The step time; traced runs must agree. */
static emp_time_ns simulate(const emp_problem *problem, const emp_decision *decision)
{
    emp_sim       *sim = NULL;
    emp_sim_result result = {0}, traced = {0};

    ASSERT_OK(emp_sim_create(&sim, problem, &err));
    ASSERT_OK(emp_sim_run_decision(sim, decision, &result, &err));
    ASSERT_OK(emp_sim_trace_decision(sim, decision, NULL, &traced, &err));
    cr_expect_eq(traced.step_time_ns, result.step_time_ns);
    emp_sim_destroy(sim);
    return result.step_time_ns;
}

static void expect_time(const char *what, const tiny_op *ops, int count,
                        const emp_runtime *runtime, const uint8_t *level,
                        emp_time_ns want)
{
    task t;

    task_create_tiny(&t, ops, count, runtime);
    emp_time_ns got = simulate(
        t.problem, &(emp_decision){.device_of_op = t.device_of_op, .level_of_op = level});
    cr_expect_eq(got, want, "%s: %" PRId64 " ns, want %" PRId64, what, got, want);
    task_destroy(&t);
}

/* An op that others wait for, on gpu:1, behind one of five times its length on gpu:0. */
static const tiny_op behind[] = {{.device = 1, .weight = 5},
                                 {.device = 1},
                                 {.device = 2, .input_count = 1, .input = {1}}};

Test(order, what_waits_at_the_least_level_is_served_first)
{
    const emp_runtime list = tiny_list_scheduling();

    expect_time("first come", behind, 3, &list, NULL, 5 * GPU + GPU + COPY + GPU);
    expect_time("by level", behind, 3, &list, (const uint8_t[]){1, 0, 0},
                GPU + COPY + GPU);
    expect_time("the other way round", behind, 3, &list, (const uint8_t[]){0, 63, 0},
                5 * GPU + GPU + COPY + GPU);
}

/* The end of the first op makes the last one ready while the long one waits. */
Test(order, a_server_chooses_when_all_have_been_told)
{
    const emp_runtime    list = tiny_list_scheduling();
    static const tiny_op ops[] = {{.device = 1},
                                  {.device = 1, .weight = 40},
                                  {.device = 1, .input_count = 1, .input = {0}},
                                  {.device = 2, .input_count = 1, .input = {2}}};

    expect_time("first come", ops, 4, &list, NULL, 42 * GPU + COPY + GPU);
    expect_time("by level", ops, 4, &list, (const uint8_t[]){0, 5, 0, 0}, 42 * GPU);
}

/* Of two that an op sets off the second goes first, though nothing else waits. */
Test(order, those_that_are_told_together_go_by_level)
{
    const emp_runtime    list = tiny_list_scheduling();
    static const tiny_op ops[] = {
        {.device = 1},
        {.device = 1, .input_count = 1, .input = {0}, .weight = 5},
        {.device = 1, .input_count = 1, .input = {0}},
        {.device = 2, .input_count = 1, .input = {2}}};

    expect_time("first come", ops, 4, &list, NULL, 7 * GPU + COPY + GPU);
    expect_time("by level", ops, 4, &list, (const uint8_t[]){0, 1, 0, 0},
                2 * GPU + COPY + GPU);
}

Test(order, host_threads_and_pools_go_by_level)
{
    emp_runtime          serial = tiny_serial();
    static const tiny_op on_cores[] = {{.device = 0, .lanes = 4, .weight = 8},
                                       {.device = 0},
                                       {.device = 1, .input_count = 1, .input = {1}}};

    expect_time("issued first come", behind, 3, &serial, NULL,
                ISSUE + 6 * GPU + COPY + POLL + RECEIVE + ISSUE + GPU + STEP);
    expect_time("issued by level", behind, 3, &serial, (const uint8_t[]){1, 0, 0},
                ISSUE + GPU + COPY + POLL + RECEIVE + ISSUE + GPU + STEP);
    serial.events.cpu_slots = 1;
    expect_time("on cores by level", on_cores, 3, &serial, (const uint8_t[]){1, 0, 0},
                CPU + SEND + COPY + POLL + RECEIVE + ISSUE + GPU + STEP);
}

/* Also where the order in which outputs are allocated would show. */
Test(order, equal_levels_are_none)
{
    const char *const runtimes[] = {"tf-r1.3", "ideal"};

    for (int i = 0; i < 2; i++) {
        task           t;
        emp_sim       *sim = NULL;
        emp_sim_result plain = {0}, level = {0};
        task_create(&t, "rnnlm:steps=4", "k40x2", runtimes[i]);
        const int32_t ops = t.graph->op_count;
        uint8_t      *levels = EMP_NEW_ARRAY(uint8_t, (size_t)ops);
        for (emp_op_id op = 0; op < ops; op++) {
            t.device_of_op[op] = op / 9 % 3;
            levels[op] = 17;
        }
        emp_problem_legalize(t.problem, t.device_of_op);
        emp_decision decision = {.device_of_op = t.device_of_op, .level_of_op = levels};
        cr_assert_eq(emp_sim_create(&sim, t.problem, NULL), EMP_OK);
        cr_assert_eq(emp_sim_run_traced(sim, t.device_of_op, NULL, &plain, NULL), EMP_OK);
        cr_assert_eq(emp_sim_trace_decision(sim, &decision, NULL, &level, NULL), EMP_OK);
        cr_expect_eq(level.fingerprint, plain.fingerprint);
        cr_expect_arr_eq(level.peak_bytes, plain.peak_bytes, sizeof plain.peak_bytes);
        emp_sim_destroy(sim);
        emp_free(levels);
        task_destroy(&t);
    }
}

static void expect_refused(const emp_problem *problem, const emp_decision *decision,
                           emp_status want, const char *text)
{
    emp_sim       *sim = NULL;
    emp_sim_result result = {0};
    emp_error      err = {0};

    cr_assert_eq(emp_sim_create(&sim, problem, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(emp_sim_run_decision(sim, decision, &result, &err), want);
    cr_expect_str_eq(err.msg, text);
    emp_sim_destroy(sim);
}

Test(order, levels_that_mean_nothing_are_refused)
{
    task        t;
    emp_runtime list = tiny_list_scheduling();

    task_create_tiny(&t, behind, 3, &list);
    expect_refused(t.problem,
                   &(emp_decision){.device_of_op = t.device_of_op,
                                   .level_of_op = (const uint8_t[]){0, 64, 0}},
                   EMP_EINVAL, "op 1 has the level 64; the last is 63");
    t.problem->costs->gpu_beside_ns = EMP_NEW_ARRAY(emp_time_ns, 3);
    t.machine->core_count = 3;
    for (int d = 1; d <= 2; d++) {
        t.machine->device[d].multiprocessors = 1;
        t.machine->device[d].sharing =
            (emp_sharing){.copy_bytes_per_s = 256e9, .hand_over_s = 3e-9};
    }
    expect_refused(t.problem,
                   &(emp_decision){.device_of_op = t.device_of_op,
                                   .level_of_op = (const uint8_t[]){0, 1, 0}},
                   EMP_EUNSUPPORTED,
                   "devices that share cores serve ops as they come, in no other order");
    task_destroy(&t);
    task_create(&t, "rnnlm:steps=2", "k40x2", "placeto");
    uint8_t *levels = EMP_NEW_ARRAY(uint8_t, (size_t)t.graph->op_count);
    expect_refused(t.problem,
                   &(emp_decision){.device_of_op = t.device_of_op, .level_of_op = levels},
                   EMP_EUNSUPPORTED,
                   "the rules of this runtime order ops by themselves; leave the levels "
                   "out");
    emp_free(levels);
    task_destroy(&t);
}
