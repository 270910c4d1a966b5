// SPDX-License-Identifier: GPL-3.0-or-later
/* Does dyna keep its word: a first batch of starts, then walks that end where the oracle was not yet; a parent that
 * never gets worse; weights that serve another graph; and better placements than chance finds, also where nothing
 * can be estimated? */
#include "base/rng.h"
#include "policy/dyna/dyna.h"
#include "sim/engine/sim.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { SAMPLES = 8, ASKS = 8 };

#define SMALL "groups=metis,coarsest=4,finest=32,cuts=2"

static task               t;
static emp_sim           *sim;
static emp_owned_decision candidate[SAMPLES];
static size_t             bytes;

static void create_task(const char *source, const char *machine)
{

    task_create(&t, source, machine, "tf-r1.3");
    bytes = (size_t)t.graph->op_count * sizeof(emp_device_id);
    for (int k = 0; k < SAMPLES; k++)
        candidate[k].device_of_op = EMP_NEW_ARRAY(emp_device_id, bytes);
    ASSERT_OK(emp_sim_create(&sim, t.problem, &err));
}

static void create_small(void) { create_task("rnnlm:layers=1,steps=3", "k40x2"); }

static void destroy_task(void)
{
    for (int k = 0; k < SAMPLES; k++) emp_free(candidate[k].device_of_op);
    emp_sim_destroy(sim);
    task_destroy(&t);
}

static void destroy_all(void)
{
    destroy_task();
    expect_all_freed();
}

TestSuite(dyna, .init = create_small, .fini = destroy_all);

static void *create(const char *options, const emp_weights *weights)
{
    const emp_method_params params = {
        .seed = 3, .threads = 1, .options = options, .weights = weights};
    void *state = NULL;

    ASSERT_OK(emp_method_create(&state, &emp_method_dyna, t.problem, &params, &err));
    return state;
}

static double metric(const void *state, const char *name)
{
    int32_t                  count;
    const emp_method_metric *m = emp_method_dyna.metrics(state, &count);

    for (int32_t i = 0; i < count; i++)
        if (strcmp(m[i].name, name) == 0) return m[i].value;
    cr_assert_fail("no metric %s", name);
    return NAN;
}

/* One batch, scored by the oracle; returns the best step time of it. */
static double step(void *state)
{
    emp_score score[SAMPLES] = {{0}};
    emp_error err = {0};
    int32_t   count = 0;
    double    best = INFINITY;

    cr_assert_eq(emp_method_dyna.ask(state, candidate, SAMPLES, &count, &err), EMP_OK,
                 "%s", err.msg);
    cr_assert_eq(count, SAMPLES);
    for (int32_t k = 0; k < count; k++) {
        emp_sim_result result;
        emp_problem_legalize(t.problem, candidate[k].device_of_op);
        cr_assert_eq(emp_sim_run(sim, candidate[k].device_of_op, &result, &err), EMP_OK);
        score[k] = (emp_score){.step_time_s = 1e-9 * (double)result.step_time_ns,
                               .is_feasible = true};
        best = fmin(best, score[k].step_time_s);
    }
    cr_assert_eq(emp_method_dyna.tell(state, score, count, &err), EMP_OK, "%s", err.msg);
    return best;
}

/* ---- walks ---- */

Test(dyna, nothing_is_proposed_twice_and_the_parent_is_the_best_so_far)
{
    enum { ALL = ASKS * SAMPLES };
    OWN_EMP_FREE emp_device_id *seen = EMP_NEW_ARRAY(emp_device_id, ALL * bytes);
    void                       *state = create(SMALL, NULL);
    double                      best = INFINITY;
    int                         count = 0;

    for (int i = 0; i < ASKS; i++) {
        best = fmin(best, step(state));
        if (i > 0) cr_expect_float_eq(metric(state, "here_s"), best, 1e-12);
        for (int k = 0; k < SAMPLES; k++) {
            for (int j = 0; i > 0 && j < i * SAMPLES; j++)
                cr_expect_neq(memcmp(seen + (size_t)j * bytes / sizeof *seen,
                                     candidate[k].device_of_op, bytes),
                              0, "batch %d proposes number %d again", i, j);
            memcpy(seen + (size_t)count++ * bytes / sizeof *seen,
                   candidate[k].device_of_op, bytes);
        }
    }
    emp_method_destroy(&emp_method_dyna, state);
}

/* A walk of length 0 is one move by the policy; others have as many as the option allows. */
Test(dyna, walks_are_no_longer_than_the_option_says)
{
    void *state = create(SMALL ",longest=0", NULL);

    for (int i = 0; i < 4; i++) step(state);
    cr_expect_eq(metric(state, "walk_moves"), 1.0);
    cr_expect(isnan(metric(state, "insight")), "nothing was estimated");
    emp_method_destroy(&emp_method_dyna, state);

    state = create(SMALL ",longest=4", NULL);
    double most = 0.0;
    for (int i = 0; i < ASKS; i++) {
        step(state);
        if (i > 0) most = fmax(most, metric(state, "walk_moves"));
    }
    cr_expect_gt(most, 1.0);
    cr_expect_leq(most, 4.0);
    emp_method_destroy(&emp_method_dyna, state);
}

static double best_after(const char *options, const emp_weights *weights)
{
    void  *state = create(options, weights);
    double best = INFINITY;

    for (int i = 0; i < 40; i++) best = fmin(best, step(state));
    emp_method_destroy(&emp_method_dyna, state);
    return best;
}

static double best_of_chance(void)
{
    double  best = INFINITY;
    emp_rng rng;

    emp_rng_init(&rng, 1, 0, 0);
    for (int i = 0; i < 40 * SAMPLES; i++) {
        emp_sim_result result;
        for (emp_op_id op = 0; op < t.graph->op_count; op++)
            t.device_of_op[op] = (emp_device_id)emp_rng_below(
                &rng, (uint32_t)t.problem->machine->device_count);
        emp_problem_legalize(t.problem, t.device_of_op);
        cr_assert_eq(emp_sim_run(sim, t.device_of_op, &result, NULL), EMP_OK);
        best = fmin(best, 1e-9 * (double)result.step_time_ns);
    }
    return best;
}

Test(dyna, each_part_finds_more_than_chance)
{
    static const char *const parts[] = {SMALL,
                                        SMALL ",judge=0",
                                        SMALL ",lr=0",
                                        SMALL ",lr=0,judge=0",
                                        SMALL ",longest=0",
                                        SMALL ",blame=0"};
    const double             chance = best_of_chance();

    for (size_t i = 0; i < COUNT(parts); i++)
        cr_expect_lt(best_after(parts[i], NULL), chance, "%s", parts[i]);
}

/* Several hosts: the surrogate knows none, so that walks are judged or blind. */
Test(dyna, where_nothing_can_be_estimated_the_oracle_teaches_alone)
{
    destroy_task();
    create_task("rnnlm:layers=1,steps=3", "k40x4x2");
    cr_expect_lt(best_after(SMALL, NULL), best_of_chance());
}

static double late_insight(const char *options)
{
    double insight = 0.0;
    void  *state = create(options, NULL);
    int    blocks = 0;

    for (int i = 0; i < 40; i++) {
        step(state);
        if (i < 20 || isnan(metric(state, "insight"))) continue;
        insight += metric(state, "insight");
        blocks++;
    }
    emp_method_destroy(&emp_method_dyna, state);
    cr_assert_gt(blocks, 0);
    return insight / blocks;
}

/* The policy's order of moves agrees with the surrogate's estimates more than chance does, also where the policy only
 * imitates the best walks, which most often made the moves of least estimate. */
Test(dyna, the_policy_learns_what_the_surrogate_estimates)
{
    cr_expect_gt(late_insight(SMALL), 0.1);
    cr_expect_gt(late_insight(SMALL ",real=0,estimate=0"), 0.1);
}

Test(dyna, weights_serve_another_graph)
{
    SCOPED(emp_weights, emp_weights_clear) weights = {0};
    void *state = create(SMALL, NULL);

    for (int i = 0; i < 10; i++) step(state);
    ASSERT_OK(emp_method_take_weights(&weights, &emp_method_dyna, state, &err));
    emp_method_destroy(&emp_method_dyna, state);
    destroy_task();
    create_task("nmt:layers=1,steps=2", "k40x4");
    state = create(SMALL, &weights);
    step(state);
    step(state);
    emp_method_destroy(&emp_method_dyna, state);
}
