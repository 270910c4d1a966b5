// SPDX-License-Identifier: GPL-3.0-or-later
/* Does a portfolio keep to the budget, never end worse than the best of its members that propose
 * at once, and pass over members that cannot place the problem? */
#include <stdatomic.h>

#include "baselines/baselines.h"
#include "run/loop.h"
#include "run/methods.h"
#include "sim/engine/sim.h"
#include "tests/baselines/fixture.h"
#include "tests/support/problems.h"
#include "tests/test.h"

enum { BUDGET = 40, OPS = 24 };

#define SPEC "rnnlm:steps=2"

static task       model;
static atomic_int stop_flag;

static void set_up(void)
{
    emp_store_silence();
    scratch_create();
    task_create(&model, SPEC, "k40x2", "tf-r1.3");
}

static void tear_down(void)
{
    task_destroy(&model);
    scratch_remove();
    expect_all_freed();
}

TestSuite(portfolio, .init = set_up, .fini = tear_down);

static emp_run_params params_of(int64_t budget, int32_t threads)
{
    return (emp_run_params){.method = &emp_method_portfolio,
                            .placer = {.seed = 3, .threads = threads},
                            .budget_evaluations = budget,
                            .stop = &stop_flag};
}

static void run(emp_record *record, const emp_problem *problem,
                const emp_run_params *params)
{
    stop_flag = 0;
    ASSERT_OK(emp_run(record, problem, params, &err));
}

static const char *winner_of(const emp_record *record)
{
    const char *winner = emp_record_winner(record);

    return winner != NULL ? winner : "nobody";
}

static emp_score best_of(const emp_record *r)
{
    return (emp_score){.step_time_s = r->best_step_time_s, .is_feasible = r->is_feasible};
}

static int32_t count_members(void)
{
    int32_t count = 0;

    while (emp_method_portfolio.members[count] != NULL) count++;
    return count;
}

static void expect_no_worse(const emp_problem *problem, const emp_record *portfolio,
                            const emp_method *member)
{
    const emp_run_params alone = {.method = member, .placer = {.seed = 3, .threads = 1}};
    SCOPED(emp_record, emp_record_clear) record = {0};

    if (emp_run(&record, problem, &alone, NULL) == EMP_OK) {
        const emp_score own = best_of(&record), best = best_of(portfolio);
        cr_expect_not(emp_score_is_better(&own, &best), "%s on %s: %g s, not %g s",
                      member->name, problem->machine->name, own.step_time_s,
                      best.step_time_s);
    }
}

/* Methods that know only memory take part only where GPUs differ. */
static bool takes_part(const emp_problem *problem, const emp_method *member)
{
    return emp_cost_is_unlike(problem->costs) ||
           (strcmp(member->name, "memory-split") != 0 &&
            strcmp(member->name, "first-fit") != 0);
}

Test(portfolio, never_ends_worse_than_a_member_that_proposes_at_once)
{
    static const char *const tasks[][3] = {
        {SPEC, "k40x2", "tf-r1.3"},
        {SPEC, "k40x1", "tf-r1.3"},
        {SPEC, "k40x4", "ideal"},
        {SPEC, "k40x2", "placeto"},
        {"nmt:layers=1,src_steps=3,tgt_steps=3", "k40x4", "tf-r1.3"}};
    const int32_t proposers = count_members() - 1;

    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        task t;
        SCOPED(emp_record, emp_record_clear) record = {0};
        emp_run_params params = params_of(proposers, 1);
        task_create(&t, tasks[i][0], tasks[i][1], tasks[i][2]);
        run(&record, t.problem, &params);
        for (int32_t m = 0; m < proposers; m++)
            if (takes_part(t.problem, emp_method_portfolio.members[m]))
                expect_no_worse(t.problem, &record, emp_method_portfolio.members[m]);
        task_destroy(&t);
    }
}

/* A slow GPU, then two fast ones, of which the second has the better link. */
#define GPU(model, rate)                                                              \
    "  - {model: \"" model "\", at: \"socket:0\", bandwidth: \"" rate "\", latency: " \
    "\"10 us\"}\n"
#define UNLIKE                                                                  \
    "description: a test\nnodes:\n  - {name: \"socket:0\"}\ndevices:\n"         \
    "  - {model: \"ryzen-16\", at: \"socket:0\"}\n" GPU("rtx3060", "12.6 GB/s") \
        GPU("rtx4090", "6.3 GB/s") GPU("rtx4090", "25.2 GB/s")

/* Infinite where the model does not fit. */
static double step_on(const emp_problem *problem, emp_device_id gpu)
{
    const emp_sim_result result = problem_step_on(problem, gpu);

    return result.is_feasible ? (double)result.step_time_ns * 1e-9 : INFINITY;
}

Test(portfolio, tries_the_fastest_of_unlike_gpus_alone)
{
    OWN_TASK             t;
    emp_record           portfolio = {0}, alone = {0};
    const emp_run_params params = params_of(count_members() - 1, 1);
    const emp_run_params fastest = {
        .method = &emp_method_gpu,
        .placer = {.seed = 3, .threads = 1, .options = "on=fastest"}};

    task_create(&t, SPEC, scratch_file("unlike.yaml", UNLIKE), "tf-r1.3");
    const double slow_s = step_on(t.problem, 1), near_s = step_on(t.problem, 3);
    const double far_s = step_on(t.problem, 2);
    cr_assert(near_s < far_s && far_s < slow_s, "%g %g %g", near_s, far_s, slow_s);
    run(&alone, t.problem, &fastest);
    cr_expect_eq(alone.best_step_time_s, near_s);
    run(&portfolio, t.problem, &params);
    cr_expect_leq(portfolio.best_step_time_s, near_s);
    emp_record_clear(&portfolio);
    emp_record_clear(&alone);
}

/* The winner of all proposals has made the best of them, from which refine goes on. */
Test(portfolio, winner_has_made_the_best_placement)
{
    emp_record        proposed = {0}, own = {0}, refined = {0};
    emp_run_params    few = params_of(count_members() - 1, 1), many = params_of(200, 1);
    const emp_method *winner = NULL;

    run(&proposed, model.problem, &few);
    ASSERT_OK(emp_method_find(&winner, winner_of(&proposed), &err));
    const emp_run_params alone = {.method = winner, .placer = {.seed = 3, .threads = 1}};
    run(&own, model.problem, &alone);
    cr_expect_eq(own.best_step_time_s, proposed.best_step_time_s, "%s", winner->name);
    cr_expect_eq(own.fingerprint, proposed.fingerprint);
    run(&refined, model.problem, &many);
    cr_expect_str_neq(winner_of(&proposed), "refine");
    cr_expect_str_eq(winner_of(&refined), "refine");
    cr_expect_lt(refined.best_step_time_s, proposed.best_step_time_s);
    emp_record_clear(&own);
    emp_record_clear(&proposed);
    emp_record_clear(&refined);
}

/* The first records have the winner's position as a metric. */
Test(portfolio, old_records_name_the_winner_of_their_last_point)
{
    static const struct {
        double      position;
        const char *winner;
    } cases[] = {{0, "expert"},  {2, "metis"},    {13, "refine"},      {-1, "nobody"},
                 {14, "nobody"}, {NAN, "nobody"}, {INFINITY, "nobody"}};
    double     position[] = {0, 7, 2, 0};
    emp_record record = {.method = "portfolio",
                         .point_count = 2,
                         .metric_count = 2,
                         .metric_name = {"member", "winner"},
                         .metric = position};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        position[3] = cases[i].position;
        cr_expect_str_eq(winner_of(&record), cases[i].winner, "%g", cases[i].position);
    }
    position[3] = 2;
    snprintf(record.method, sizeof record.method, "anneal");
    cr_expect_str_eq(winner_of(&record), "nobody");
}

Test(portfolio, uses_its_budget_and_no_more)
{
    static const int64_t budgets[] = {1, 2, 13, 14, 20};

    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        emp_record     record = {0};
        emp_run_params params = params_of(budgets[i], 1);
        run(&record, model.problem, &params);
        cr_expect_eq(record.evaluations, budgets[i]);
        cr_expect_str_eq(record.stopped_by, "budget");
        if (budgets[i] == 1) cr_expect_str_eq(winner_of(&record), "expert");
        emp_record_clear(&record);
    }
}

Test(portfolio, any_number_of_threads_gives_the_same_placement)
{
    emp_record     one = {0}, other = {0};
    emp_run_params params = params_of(BUDGET, 1);
    const size_t   bytes = (size_t)model.graph->op_count * sizeof(emp_device_id);

    run(&one, model.problem, &params);
    for (int32_t threads = 2; threads <= 5; threads += 3) {
        params = params_of(BUDGET, threads);
        run(&other, model.problem, &params);
        cr_expect_eq(
            memcmp(one.decision.device_of_op, other.decision.device_of_op, bytes), 0);
        cr_assert_eq(one.point_count, other.point_count);
        for (int32_t p = 0; p < one.point_count; p++)
            cr_expect_eq(one.curve[p].mean_s, other.curve[p].mean_s);
        emp_record_clear(&other);
    }
    emp_record_clear(&one);
}

Test(portfolio, says_what_came_closest_where_nothing_fits)
{
    SCOPED(emp_record, emp_record_clear) record = {0};
    emp_run_params params = params_of(BUDGET, 1);

    for (int32_t d = 0; d < model.machine->device_count; d++)
        model.machine->device[d].memory_bytes = 1 << 20;
    run(&record, model.problem, &params);
    cr_expect_eq(record.evaluations, BUDGET);
    cr_expect_eq(record.feasible_count, 0);
    cr_expect_not(record.is_feasible);
    cr_expect_not_null(emp_record_winner(&record));
}

static fixture *create_chain(int32_t gpu_count)
{
    fixture *f = fixture_create(gpu_count);

    for (int32_t i = 0; i < OPS; i++) {
        fixture_op(f, NULL, 100);
        if (i > 0) fixture_edge(f, i - 1, i);
    }
    return f;
}

Test(portfolio, places_on_a_machine_without_gpus)
{
    fixture *f = create_chain(0);
    SCOPED(emp_record, emp_record_clear) record = {0};
    emp_run_params params = params_of(BUDGET, 1);

    run(&record, fixture_problem(f), &params);
    cr_expect(record.evaluations >= 1 && record.evaluations < BUDGET, "%d evaluations",
              (int)record.evaluations);
    cr_expect_str_eq(record.stopped_by, "method");
    cr_expect(record.is_feasible);
    for (emp_op_id op = 0; op < OPS; op++)
        cr_expect_eq(record.decision.device_of_op[op], 0);
    fixture_destroy(f);
}

/* All proposals, and the first batches of refine. */
static emp_status propose_all(const emp_problem        *problem,
                              const emp_owned_decision *candidate)
{
    const emp_method_params params = {
        .seed = 1, .threads = 1, .budget_evaluations = BUDGET};
    const emp_method *type = &emp_method_portfolio;
    emp_score         score[EMP_MAX_BATCH];
    void             *state = NULL;
    int32_t           count = 1;

    for (int k = 0; k < EMP_MAX_BATCH; k++)
        score[k] = (emp_score){.step_time_s = 1.0, .is_feasible = true};
    emp_status st = emp_method_create(&state, type, problem, &params, NULL);
    for (int i = 0; i < BUDGET && st == EMP_OK && count > 0; i++) {
        st = emp_method_ask(type, state, candidate, 8, &count, NULL);
        if (st == EMP_OK) st = emp_method_tell(type, state, score, count, NULL);
    }
    emp_method_destroy(type, state);
    return st;
}

Test(portfolio, survives_failing_allocations)
{
    fixture           *f = create_chain(2);
    const emp_problem *problem = fixture_problem(f);
    emp_device_id      device[8][FIXTURE_MAX_OPS];
    emp_owned_decision candidate[8];
    const long         own = emp_mem_live_blocks();
    emp_status         st = EMP_ENOMEM;
    int                failures = 0;

    for (int k = 0; k < 8; k++)
        candidate[k] = (emp_owned_decision){.device_of_op = device[k]};
    for (long allowed = 0; st != EMP_OK; allowed += 1 + allowed / 32) {
        emp_mem_fail_after(allowed);
        st = propose_all(problem, candidate);
        emp_mem_fail_after(-1);
        cr_assert(st == EMP_OK || st == EMP_ENOMEM, "after %ld: %s", allowed,
                  emp_status_str(st));
        cr_assert_eq(emp_mem_live_blocks(), own, "leaks after %ld", allowed);
        failures += st != EMP_OK;
    }
    cr_expect_gt(failures, 50);
    fixture_destroy(f);
}
