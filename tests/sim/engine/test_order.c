// SPDX-License-Identifier: GPL-3.0-or-later
/* Levels say who is served first: step times worked out by hand, and what is refused. An op takes
 * 10 ns on a GPU and 20 on a core, a copy 261.
 * Times of a timed run are those that a trace tells. */
#include "sim/engine/sim.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { GPU = 10, CPU = 20, COPY = 5 + 256 };
enum { ISSUE = 3, SEND = 2, RECEIVE = 4, POLL = 7, STEP = 100, OPS = 4 };

TestSuite(order, .fini = expect_all_freed);

/* An op that others wait for, on gpu:1, behind one of five times its length on gpu:0. */
static const char behind[] = "1*5; 1; 2<1";
/* The end of the first op makes the third one ready while the long one waits. */
static const char chooses[] = "1; 1*40; 1<0; 2<2";
/* The second of two ops that an op sets off goes first, though nothing else waits. */
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
    for (size_t i = 0; i < COUNT(cases); i++) {
        emp_runtime runtime = cases[i].is_serial ? tiny_serial() : tiny_list_scheduling();
        emp_sim_result result = {0}, traced = {0};
        OWN_TASK       t;
        runtime.events.cpu_slots =
            cases[i].ops == on_cores ? 1 : runtime.events.cpu_slots;
        task_create_ops(&t, cases[i].ops, &runtime);
        const emp_decision d = {.device_of_op = t.device_of_op,
                                .level_of_op =
                                    cases[i].has_levels ? cases[i].level : NULL};
        OWN_SIM            sim = task_sim(&t);
        ASSERT_OK(emp_sim_run_decision(sim, &d, &result, &err));
        ASSERT_OK(emp_sim_trace_decision(sim, &d, NULL, &traced, &err));
        cr_expect_eq(traced.step_time_ns, result.step_time_ns, "%s", cases[i].what);
        cr_expect_eq(result.step_time_ns, cases[i].want,
                     "%s: %" PRId64 " ns, want %" PRId64, cases[i].what,
                     result.step_time_ns, cases[i].want);
    }
}

/* Also where the order in which outputs are allocated would show. */
Test(order, equal_levels_are_none)
{
    const char *const runtimes[] = {"tf-r1.3", "ideal"};

    for (int i = 0; i < 2; i++) {
        OWN_TASK       t;
        emp_sim_result level = {0};
        task_create(&t, "rnnlm:steps=4", "k40x2", runtimes[i]);
        const int32_t         ops = t.graph->op_count;
        OWN_EMP_FREE uint8_t *levels = EMP_NEW_ARRAY(uint8_t, (size_t)ops);
        for (emp_op_id op = 0; op < ops; op++) {
            t.device_of_op[op] = op / 9 % 3;
            levels[op] = 17;
        }
        emp_problem_legalize(t.problem, t.device_of_op);
        emp_decision   decision = {.device_of_op = t.device_of_op, .level_of_op = levels};
        OWN_SIM        sim = task_sim(&t);
        emp_sim_result plain = task_trace(&t, NULL);
        ASSERT_OK(emp_sim_trace_decision(sim, &decision, NULL, &level, &err));
        cr_expect_eq(level.fingerprint, plain.fingerprint);
        cr_expect_arr_eq(level.peak_bytes, plain.peak_bytes, sizeof plain.peak_bytes);
    }
}

static void expect_refused(const task *t, const uint8_t *level, emp_status want,
                           const char *part)
{
    const emp_decision d = {.device_of_op = t->device_of_op, .level_of_op = level};
    OWN_SIM            sim = task_sim(t);
    emp_sim_result     result = {0};

    EXPECT_REFUSED(emp_sim_run_decision(sim, &d, &result, &err), want, part);
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
    OWN_EMP_FREE uint8_t *levels = EMP_NEW_ARRAY(uint8_t, (size_t)t.graph->op_count);
    expect_refused(&t, levels, EMP_EUNSUPPORTED, "leave the levels out");
    task_destroy(&t);
}

/* ---- times of ops ---- */

enum { SEEDS = 150, UNTOLD = -7 };

TestSuite(times, .fini = expect_all_freed);

static void create_times(emp_sim_times *times, int32_t ops)
{
    times->start_ns = EMP_NEW_ARRAY(emp_time_ns, (size_t)ops);
    times->end_ns = EMP_NEW_ARRAY(emp_time_ns, (size_t)ops);
    cr_assert_not_null(times->start_ns);
    cr_assert_not_null(times->end_ns);
    for (int32_t op = 0; op < ops; op++) times->start_ns[op] = times->end_ns[op] = UNTOLD;
}

static void destroy_times(emp_sim_times *times)
{
    emp_free(times->start_ns);
    emp_free(times->end_ns);
}

/* Tasks of an op on a pool come in several parts. */
static void note_op(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                    emp_time_ns start_ns, emp_time_ns end_ns)
{
    emp_sim_times *told = (emp_sim_times *)context;

    (void)device;
    (void)lane;
    if (told->start_ns[op] == UNTOLD || start_ns < told->start_ns[op])
        told->start_ns[op] = start_ns;
    if (end_ns > told->end_ns[op]) told->end_ns[op] = end_ns;
}

static void expect_traced_times(emp_sim *sim, const emp_decision *decision, int32_t ops,
                                const char *what, uint64_t seed)
{
    emp_sim_times  told, timed;
    emp_sim_trace  trace = {.context = &told, .op = note_op};
    emp_sim_result plain = {0}, result = {0}, traced = {0};

    create_times(&told, ops);
    create_times(&timed, ops);
    ASSERT_OK(emp_sim_trace_decision(sim, decision, &trace, &traced, &err));
    ASSERT_OK(emp_sim_run_timed(sim, decision, &timed, &result, &err));
    ASSERT_OK(emp_sim_run_decision(sim, decision, &plain, &err));
    cr_expect_arr_eq(&plain, &result, sizeof plain, "%s, seed %d", what, (int)seed);
    cr_expect_eq(traced.step_time_ns, result.step_time_ns);
    cr_expect_arr_eq(told.start_ns, timed.start_ns, (size_t)ops * sizeof *told.start_ns,
                     "%s, seed %d: starts", what, (int)seed);
    cr_expect_arr_eq(told.end_ns, timed.end_ns, (size_t)ops * sizeof *told.end_ns,
                     "%s, seed %d: ends", what, (int)seed);
    destroy_times(&told);
    destroy_times(&timed);
}

static void expect_times_of(const task *t, const char *what, uint64_t seed,
                            bool has_order)
{
    const int32_t         ops = t->graph->op_count;
    OWN_SIM               sim = task_sim(t);
    OWN_EMP_FREE uint8_t *level = EMP_NEW_ARRAY(uint8_t, (size_t)ops);
    emp_decision          d = {.device_of_op = t->device_of_op};

    expect_traced_times(sim, &d, ops, what, seed);
    for (int32_t op = 0; op < ops; op++) level[op] = (uint8_t)(op * 7 % EMP_LEVELS);
    d.level_of_op = level;
    if (has_order) expect_traced_times(sim, &d, ops, what, seed);
}

Test(times, of_random_problems_are_those_of_the_trace)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        OWN_TASK t;
        if (seed % 3 == 0)
            random_problem_create_unlike(&t, seed);
        else
            random_problem_create(&t, seed);
        const bool shares = t.problem->costs->gpu_beside_ns != NULL;
        expect_times_of(&t, "random", seed, !shares);
    }
}

Test(times, of_every_runtime_are_those_of_the_trace)
{
    static const char *const runtimes[] = {"tf-r1.3", "ideal",  "replay-cpu",
                                           "placeto", "baechi", "edges"};

    for (size_t i = 0; i < COUNT(runtimes); i++) {
        OWN_TASK t;
        task_create(&t, "rnnlm:steps=3", "k40x4", runtimes[i]);
        for (int32_t op = 0; op < t.graph->op_count; op++)
            t.device_of_op[op] = op / 5 % t.machine->device_count;
        emp_problem_legalize(t.problem, t.device_of_op);
        expect_times_of(&t, runtimes[i], 0, i < 2);
    }
}

Test(times, of_a_team_are_those_of_one)
{
    enum { COUNT = 6 };
    OWN_TASK           t;
    emp_sim_team      *team = NULL;
    emp_owned_decision decision[COUNT];
    emp_sim_times      times[COUNT], one;
    emp_sim_result     result[COUNT], *results[COUNT], alone = {0};

    task_create(&t, "rnnlm:steps=3", "k40x2", "tf-r1.3");
    const int32_t ops = t.graph->op_count;
    const size_t  bytes = (size_t)ops * sizeof(emp_time_ns);
    for (int32_t i = 0; i < COUNT; i++) {
        cr_assert_eq(emp_decision_init(&decision[i], ops, 0, NULL), EMP_OK);
        for (int32_t op = 0; op < ops; op++)
            decision[i].device_of_op[op] = op / (i + 2) % 3;
        create_times(&times[i], ops);
        results[i] = &result[i];
    }
    cr_assert_eq(emp_sim_team_create(&team, t.problem, 3, NULL), EMP_OK);
    ASSERT_OK(emp_sim_team_run_batch(
        team, &(emp_sim_team_batch){.decision = decision, .times = times}, COUNT, results,
        NULL));
    OWN_SIM sim = task_sim(&t);
    for (int32_t i = 0; i < COUNT; i++) {
        create_times(&one, ops);
        const emp_decision view = emp_decision_view(&decision[i]);
        cr_assert_eq(emp_sim_run_timed(sim, &view, &one, &alone, NULL), EMP_OK);
        cr_expect_arr_eq(one.start_ns, times[i].start_ns, bytes);
        cr_expect_arr_eq(one.end_ns, times[i].end_ns, bytes);
        destroy_times(&one);
        destroy_times(&times[i]);
        emp_decision_clear(&decision[i]);
    }
    emp_sim_team_destroy(team);
}

static emp_status run_stopped(emp_sim_team *team, const emp_owned_decision *decision,
                              emp_sim_result *const *results, int stopped)
{
    const atomic_int stop = stopped;

    return emp_sim_team_run_batch(
        team, &(emp_sim_team_batch){.decision = decision, .stop = &stop}, 1, results,
        NULL);
}

Test(times, a_team_that_is_stopped_runs_nothing)
{
    OWN_TASK       t;
    emp_sim_team  *team = NULL;
    emp_sim_result result = {.step_time_ns = -1}, *results[1] = {&result};

    task_create(&t, "rnnlm:steps=2", "k40x2", "ideal");
    cr_assert_eq(emp_sim_team_create(&team, t.problem, 2, NULL), EMP_OK);
    const emp_owned_decision decision[1] = {{.device_of_op = t.device_of_op}};
    cr_expect_eq(run_stopped(team, decision, results, 1), EMP_EINTERRUPTED);
    cr_expect_eq(result.step_time_ns, -1);
    cr_expect_eq(run_stopped(team, decision, results, 0), EMP_OK);
    cr_expect_gt(result.step_time_ns, 0);
    emp_sim_team_destroy(team);
}
