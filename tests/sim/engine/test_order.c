// SPDX-License-Identifier: GPL-3.0-or-later
/* Levels say who is served first: step times worked out by hand, and what is refused. An op takes
 * 10 ns on a GPU and 20 on a core, a copy 261. */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "base/mem.h"
#include "tests/support/expect.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { GPU = 10, CPU = 20, COPY = 5 + 256 };
enum { ISSUE = 3, SEND = 2, RECEIVE = 4, POLL = 7, STEP = 100, OPS = 4 };

TestSuite(order, .fini = expect_no_leak);

/* An op that others wait for, on gpu:1, behind one of five times its length on gpu:0. */
static const char behind[] = "1*5; 1; 2<1";
/* The end of the first op makes the third one ready while the long one waits. */
static const char chooses[] = "1; 1*40; 1<0; 2<2";
/* Of two that an op sets off the second goes first, though nothing else waits. */
static const char together[] = "1; 1<0*5; 1<0; 2<2";
static const char on_cores[] = "0|4*8; 0; 1<1";

static const struct {
    const char *what;
    const char *ops;
    bool        is_serial, has_levels;
    uint8_t     level[OPS];
    emp_time_ns want;
} cases[] = {
    {"first come", behind, false, false, {0}, 5 * GPU + GPU + COPY + GPU},
    {"by level", behind, false, true, {1, 0, 0}, GPU + COPY + GPU},
    {"the other way round", behind, false, true, {0, 63, 0}, 6 * GPU + COPY + GPU},
    {"ready later, first come", chooses, false, false, {0}, 42 * GPU + COPY + GPU},
    {"ready later, by level", chooses, false, true, {0, 5, 0, 0}, 42 * GPU},
    {"told together, first come", together, false, false, {0}, 7 * GPU + COPY + GPU},
    {"told together, by level", together, false, true, {0, 1}, 2 * GPU + COPY + GPU},
    {"issued first come",
     behind,
     true,
     false,
     {0},
     ISSUE + 6 * GPU + COPY + POLL + RECEIVE + ISSUE + GPU + STEP},
    {"issued by level",
     behind,
     true,
     true,
     {1, 0, 0},
     ISSUE + GPU + COPY + POLL + RECEIVE + ISSUE + GPU + STEP},
    {"on cores by level",
     on_cores,
     true,
     true,
     {1, 0, 0},
     CPU + SEND + COPY + POLL + RECEIVE + ISSUE + GPU + STEP},
};

Test(order, what_waits_at_the_least_level_is_served_first)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_runtime runtime = cases[i].is_serial ? tiny_serial() : tiny_list_scheduling();
        emp_sim_result result = {0}, traced = {0};
        task           t;
        runtime.events.cpu_slots =
            cases[i].ops == on_cores ? 1 : runtime.events.cpu_slots;
        task_create_ops(&t, cases[i].ops, &runtime);
        const emp_decision d = {.device_of_op = t.device_of_op,
                                .level_of_op =
                                    cases[i].has_levels ? cases[i].level : NULL};
        emp_sim           *sim = task_sim(&t);
        ASSERT_OK(emp_sim_run_decision(sim, &d, &result, &err));
        ASSERT_OK(emp_sim_trace_decision(sim, &d, NULL, &traced, &err));
        cr_expect_eq(traced.step_time_ns, result.step_time_ns, "%s", cases[i].what);
        cr_expect_eq(result.step_time_ns, cases[i].want,
                     "%s: %" PRId64 " ns, want %" PRId64, cases[i].what,
                     result.step_time_ns, cases[i].want);
        emp_sim_destroy(sim);
        task_destroy(&t);
    }
}

/* Also where the order in which outputs are allocated would show. */
Test(order, equal_levels_are_none)
{
    const char *const runtimes[] = {"tf-r1.3", "ideal"};

    for (int i = 0; i < 2; i++) {
        task           t;
        emp_sim_result level = {0};
        task_create(&t, "rnnlm:steps=4", "k40x2", runtimes[i]);
        const int32_t ops = t.graph->op_count;
        uint8_t      *levels = EMP_NEW_ARRAY(uint8_t, (size_t)ops);
        for (emp_op_id op = 0; op < ops; op++) {
            t.device_of_op[op] = op / 9 % 3;
            levels[op] = 17;
        }
        emp_problem_legalize(t.problem, t.device_of_op);
        emp_decision   decision = {.device_of_op = t.device_of_op, .level_of_op = levels};
        emp_sim       *sim = task_sim(&t);
        emp_sim_result plain = task_trace(&t, NULL);
        ASSERT_OK(emp_sim_trace_decision(sim, &decision, NULL, &level, &err));
        cr_expect_eq(level.fingerprint, plain.fingerprint);
        cr_expect_arr_eq(level.peak_bytes, plain.peak_bytes, sizeof plain.peak_bytes);
        emp_sim_destroy(sim);
        emp_free(levels);
        task_destroy(&t);
    }
}

static void expect_refused(const task *t, const uint8_t *level, emp_status want,
                           const char *part)
{
    const emp_decision d = {.device_of_op = t->device_of_op, .level_of_op = level};
    emp_sim           *sim = task_sim(t);
    emp_sim_result     result = {0};

    EXPECT_REFUSED(emp_sim_run_decision(sim, &d, &result, &err), want, part);
    emp_sim_destroy(sim);
}

Test(order, levels_that_mean_nothing_are_refused)
{
    const emp_runtime list = tiny_list_scheduling();
    task              t;

    task_create_ops(&t, behind, &list);
    expect_refused(&t, (const uint8_t[]){0, 64, 0}, EMP_EINVAL, "op 1 has the level 64");
    t.problem->costs->gpu_beside_ns = EMP_NEW_ARRAY(emp_time_ns, 3);
    t.machine->core_count = 3;
    for (int d = 1; d <= 2; d++) {
        t.machine->device[d].multiprocessors = 1;
        t.machine->device[d].sharing =
            (emp_sharing){.copy_bytes_per_s = 256e9, .hand_over_s = 3e-9};
    }
    expect_refused(&t, (const uint8_t[]){0, 1, 0}, EMP_EUNSUPPORTED, "share cores");
    task_destroy(&t);
    task_create(&t, "rnnlm:steps=2", "k40x2", "placeto");
    uint8_t *levels = EMP_NEW_ARRAY(uint8_t, (size_t)t.graph->op_count);
    expect_refused(&t, levels, EMP_EUNSUPPORTED, "leave the levels out");
    emp_free(levels);
    task_destroy(&t);
}
