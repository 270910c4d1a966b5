// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the planner keep its word: same candidates on any number of threads, noise and
 * failures only as long as the options say, and rewards that rise? */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "policy/hdp/hdp.h"
#include "search/learning.h"
#include "search/partition/partition_graph.h"
#include "tests/policy/hdp/planner.h"

TestSuite(hdp_placer, .init = planner_problem_create, .fini = planner_problem_destroy);

static void expect_threads_change_nothing(const char *preset, const char *options)
{
    static emp_device_id one_thread[5][PLANNER_SAMPLES][PLANNER_MAX_OPS];
    void                *state = planner_create_preset(7, 1, preset, options);

    for (int u = 0; u < 5; u++) {
        planner_update(state, u % 2 == 0);
        memcpy(one_thread[u], planner_storage, sizeof planner_storage);
    }
    emp_method_destroy(&emp_method_hdp, state);
    for (int32_t threads = 2; threads <= 3; threads++) {
        state = planner_create_preset(7, threads, preset, options);
        for (int u = 0; u < 5; u++) {
            planner_update(state, u % 2 == 0);
            cr_expect_eq(memcmp(one_thread[u], planner_storage, sizeof planner_storage),
                         0, "update %d on %d threads", u, threads);
        }
        emp_method_destroy(&emp_method_hdp, state);
    }
}

Test(hdp_placer, threads_do_not_change_candidates)
{
    expect_threads_change_nothing("paper", PLANNER_LEARNED);
    expect_threads_change_nothing("paper", PLANNER_FULL_LEARNED ",updates_noise=2");
    expect_threads_change_nothing("literal", PLANNER_LEARNED);
    expect_threads_change_nothing("literal", PLANNER_LEARNED ",redraw=1");
}

/* What a checkpoint saves, put into a planner that has just been created. */
static void expect_resumed(const char *preset, const char *options)
{
    static emp_device_id undisturbed[3][PLANNER_SAMPLES][PLANNER_MAX_OPS];
    emp_named_array      from[EMP_MAX_NAMED_ARRAYS], to[EMP_MAX_NAMED_ARRAYS];
    void                *state = planner_create_preset(7, 1, preset, options);
    void                *resumed = planner_create_preset(7, 2, preset, options);

    for (int u = 0; u < 3; u++) planner_update(state, u != 1);
    int32_t count = emp_method_hdp.list_state(state, from);
    cr_assert_eq(emp_method_hdp.list_state(resumed, to), count);
    for (int32_t i = 0; i < count; i++) planner_copy_array(&to[i], &from[i]);
    for (int u = 0; u < 3; u++) {
        planner_update(state, u != 1);
        memcpy(undisturbed[u], planner_storage, sizeof planner_storage);
    }
    for (int u = 0; u < 3; u++) {
        planner_update(resumed, u != 1);
        cr_expect_eq(memcmp(undisturbed[u], planner_storage, sizeof planner_storage), 0,
                     "update %d", u);
    }
    cr_expect_eq(planner_weight_sum(state), planner_weight_sum(resumed));
    cr_expect_eq(planner_metric(state, "baseline"), planner_metric(resumed, "baseline"));
    cr_expect_eq(planner_metric(state, "placer_gradient_norm"),
                 planner_metric(resumed, "placer_gradient_norm"));
    emp_method_destroy(&emp_method_hdp, state);
    emp_method_destroy(&emp_method_hdp, resumed);
}

Test(hdp_placer, listed_state_is_all_that_the_next_updates_depend_on)
{
    static const char plain[] = PLANNER_LEARNED ",updates_noise=4,updates_failures=4";

    expect_resumed("paper", plain);
    expect_resumed("literal", plain);
    expect_resumed("paper",
                   PLANNER_FULL_LEARNED ",updates_noise=1,updates_failures=4,cap=1");
}

/* Asks a rank of two; it is told what update() would say, twice. */
static void ask_rank(void *state, emp_score score[2 * PLANNER_SAMPLES])
{
    int32_t count = 0;

    cr_assert_eq(
        emp_method_hdp.ask(state, planner_candidates, PLANNER_SAMPLES, &count, NULL),
        EMP_OK);
    for (int k = 0; k < 2 * PLANNER_SAMPLES; k++) {
        int32_t elsewhere = 0;
        for (emp_op_id op = 0; op < planner_problem.graph->op_count; op++)
            elsewhere += planner_storage[k % PLANNER_SAMPLES][op] != 1;
        score[k] = (emp_score){.step_time_s = 1.0 + (double)elsewhere /
                                                        planner_problem.graph->op_count,
                               .is_feasible = true};
    }
}

static void add_gradients(void *into, void *from)
{
    emp_named_array a[EMP_MAX_NAMED_ARRAYS], b[EMP_MAX_NAMED_ARRAYS];
    int32_t         count = emp_method_hdp.learning->sharing->list_gradient(into, a);

    emp_method_hdp.learning->sharing->list_gradient(from, b);
    for (int32_t i = 0; i < count; i++) {
        for (size_t k = 0; k < a[i].count; k++) {
            if (a[i].type == EMP_ARRAY_FLOAT)
                ((float *)a[i].values)[k] += ((const float *)b[i].values)[k];
            if (a[i].type == EMP_ARRAY_DOUBLE)
                ((double *)a[i].values)[k] += ((const double *)b[i].values)[k];
            if (a[i].type == EMP_ARRAY_INT32)
                ((int32_t *)a[i].values)[k] += ((const int32_t *)b[i].values)[k];
        }
        memcpy(b[i].values, a[i].values, a[i].count * emp_array_type_bytes(a[i].type));
    }
}

/* Each has half the weight, and both make the same step. */
static void expect_ranks_learn_what_one_does(const char *options, int updates)
{
    void     *alone = planner_create(7, 1, options);
    void     *rank[2] = {planner_create(7, 1, options), planner_create(7, 1, options)};
    double    before = planner_weight_sum(alone);
    emp_score score[2 * PLANNER_SAMPLES];

    for (int u = 0; u < updates; u++) planner_update(alone, true);
    for (int u = 0; u < updates; u++) {
        for (int32_t r = 0; r < 2; r++) {
            ask_rank(rank[r], score);
            cr_assert_eq(emp_method_hdp.learning->sharing->backward(
                             rank[r], score, 2 * PLANNER_SAMPLES, r * PLANNER_SAMPLES,
                             PLANNER_SAMPLES, NULL),
                         EMP_OK);
        }
        add_gradients(rank[0], rank[1]);
        for (int r = 0; r < 2; r++) emp_method_hdp.learning->sharing->step(rank[r]);
    }
    cr_expect_eq(planner_weight_sum(rank[0]), planner_weight_sum(rank[1]));
    cr_expect_float_eq(planner_weight_sum(rank[0]) - before,
                       planner_weight_sum(alone) - before,
                       1e-4 * fabs(planner_weight_sum(alone) - before));
    emp_method_destroy(&emp_method_hdp, alone);
    for (int r = 0; r < 2; r++) emp_method_destroy(&emp_method_hdp, rank[r]);
}

/* With elites, of which one rank alone has the best, and the scale of draws. A deviation of
 * twice as many samples is another one, and half a gradient reaches a bound later, so there is
 * neither. */
Test(hdp_placer, ranks_with_the_same_samples_learn_what_one_does)
{
    expect_ranks_learn_what_one_does(PLANNER_LEARNED, 2);
    expect_ranks_learn_what_one_does(PLANNER_FULL_LEARNED ",cap=0,updates_noise=1,gradient_bound=0", 3);
}

/* The same parameters, other candidates; none of one's own is no gradient. */
Test(hdp_placer, ranks_draw_differently_and_may_have_no_samples)
{
    const emp_method_params params = {
        .seed = 7, .rank = 1, .threads = 1, .options = PLANNER_LEARNED};
    static emp_device_id other[PLANNER_SAMPLES][PLANNER_MAX_OPS];
    emp_named_array      array[EMP_MAX_NAMED_ARRAYS];
    emp_score            score[2 * PLANNER_SAMPLES];
    void                *state = planner_create(7, 1, PLANNER_LEARNED), *rank = NULL;

    cr_assert_eq(
        emp_method_create(&rank, &emp_method_hdp, planner_problem.problem, &params, NULL),
        EMP_OK);
    cr_expect_eq(planner_weight_sum(state), planner_weight_sum(rank));
    ask_rank(rank, score);
    memcpy(other, planner_storage, sizeof planner_storage);
    ask_rank(state, score);
    cr_expect_neq(memcmp(other, planner_storage, sizeof planner_storage), 0);
    cr_assert_eq(emp_method_hdp.learning->sharing->backward(state, score, PLANNER_SAMPLES,
                                                            PLANNER_SAMPLES, 0, NULL),
                 EMP_OK);
    int32_t count = emp_method_hdp.learning->sharing->list_gradient(state, array);
    for (int32_t i = 0; i < count; i++) {
        if (array[i].type != EMP_ARRAY_FLOAT) continue;
        for (size_t k = 0; k < array[i].count; k++)
            cr_assert_eq(((const float *)array[i].values)[k], 0);
    }
    emp_method_destroy(&emp_method_hdp, state);
    emp_method_destroy(&emp_method_hdp, rank);
}

Test(hdp_placer, seeds_differ)
{
    static emp_device_id other[PLANNER_SAMPLES][PLANNER_MAX_OPS];
    void                *state = planner_create(1, 1, PLANNER_LEARNED);

    planner_update(state, true);
    memcpy(other, planner_storage, sizeof other);
    emp_method_destroy(&emp_method_hdp, state);
    state = planner_create(2, 1, PLANNER_LEARNED);
    planner_update(state, true);
    cr_expect_neq(memcmp(other, planner_storage, sizeof other), 0);
    emp_method_destroy(&emp_method_hdp, state);
}

Test(hdp_placer, failures_teach_at_first_and_are_dropped_later)
{
    void  *state = planner_create(3, 1, PLANNER_LEARNED ",updates_failures=3");
    double weights, baseline;

    planner_update(state, true);
    for (int u = 1; u < 3; u++) {
        weights = planner_weight_sum(state);
        baseline = planner_metric(state, "baseline");
        planner_update(state, false);
        cr_expect_neq(planner_weight_sum(state), weights, "a failure in update %d", u);
        cr_expect_eq(planner_metric(state, "baseline"), baseline,
                     "but the baseline stays");
    }
    weights = planner_weight_sum(state);
    baseline = planner_metric(state, "baseline");
    planner_update(state, false);
    cr_expect_eq(planner_weight_sum(state), weights,
                 "only failures: nothing to learn from");
    cr_expect_eq(planner_metric(state, "baseline"), baseline);
    cr_expect_float_eq(planner_metric(state, "reward"), -10.0, 1e-12);
    planner_update(state, true);
    cr_expect_neq(planner_weight_sum(state), weights, "valid placements still teach");
    emp_method_destroy(&emp_method_hdp, state);
}

/* With a learning rate of 0 the weights stay. Under strong noise devices are then less
 * likely, as the policy without noise sees them, than its own. */
Test(hdp_placer, noise_explores_and_stops)
{
    void *state = planner_create(
        3, 1, PLANNER_LEARNED ",lr=0,updates_noise=40,noise=9,placer_gain=300");
    double placer[2] = {0.0, 0.0};

    for (int u = 0; u < 80; u++) {
        planner_update(state, true);
        placer[u / 40] += planner_metric(state, "placer_log_prob") /
                          planner_metric(state, "groups_used");
    }
    cr_expect_lt(placer[0], 1.5 * placer[1], "%g with noise, %g without", placer[0],
                 placer[1]);
    emp_method_destroy(&emp_method_hdp, state);
}

/* Rewards are of the placements themselves; what the oracle says teaches nothing. */
static void expect_balance(const char *options)
{
    static emp_device_id other[PLANNER_SAMPLES][PLANNER_MAX_OPS];
    void *state = planner_create(3, 1, options), *deaf = planner_create(3, 1, options);
    emp_balance balance;
    double      reward = 0.0;

    for (int u = 0; u < 4; u++) {
        planner_update(state, true);
        memcpy(other, planner_storage, sizeof other);
        planner_update(deaf, u % 2 == 0);
        cr_expect_eq(memcmp(other, planner_storage, sizeof other), 0, "update %d", u);
    }
    cr_assert_eq(emp_balance_init(&balance, planner_problem.problem, NULL), EMP_OK);
    for (int32_t k = 0; k < PLANNER_SAMPLES; k++) {
        emp_problem_legalize(planner_problem.problem, planner_storage[k]);
        reward -= sqrt(emp_balance_cost(emp_balance_judge(&balance, planner_storage[k])));
    }
    cr_expect_float_eq(planner_metric(state, "reward"), reward / PLANNER_SAMPLES, 1e-12);
    emp_balance_clear(&balance);
    emp_method_destroy(&emp_method_hdp, state);
    emp_method_destroy(&emp_method_hdp, deaf);
}

Test(hdp_placer, rewards_may_be_for_balance)
{
    expect_balance(PLANNER_LEARNED ",objective=balance");
    expect_balance(PLANNER_SMALL ",objective=balance,grouping=none");
}

Test(hdp_placer, rewards_may_have_other_forms)
{
    static const char *const options[] = {PLANNER_LEARNED ",reward=identity",
                                          PLANNER_LEARNED ",reward=log"};
    static const double      failure[] = {-100.0, -4.605170185988092};

    for (int i = 0; i < 2; i++) {
        void *state = planner_create(3, 1, options[i]);
        planner_update(state, false);
        cr_expect_float_eq(planner_metric(state, "reward"), failure[i], 1e-9);
        emp_method_destroy(&emp_method_hdp, state);
    }
}

/* Failures alone teach nothing; the first placements that ran are the first baseline. */
Test(hdp_placer, the_baseline_starts_with_placements_that_ran)
{
    void  *state = planner_create(3, 1, PLANNER_LEARNED);
    double weights = planner_weight_sum(state), reward;

    planner_update(state, false);
    cr_expect_eq(planner_weight_sum(state), weights, "nothing to compare with");
    cr_expect_eq(planner_metric(state, "baseline"), -10.0);
    planner_update(state, true);
    reward = planner_metric(state, "reward");
    cr_expect_float_eq(planner_metric(state, "baseline"), reward, 1e-12);
    cr_expect_neq(planner_weight_sum(state), weights);
    emp_method_destroy(&emp_method_hdp, state);
}

Test(hdp_placer, step_times_fall)
{
    void  *state = planner_create(5, 1, PLANNER_LEARNED ",lr=0.01,noise=0,epsilon=1e-8");
    double first = planner_update(state, true), last = 0.0;

    for (int u = 0; u < 200; u++) planner_update(state, true);
    for (int u = 0; u < 10; u++) last += planner_update(state, true) / 10;
    cr_expect_gt(first, 1.5, "untrained: two thirds elsewhere");
    cr_expect_lt(last, 1.1, "from %g only to %g", first, last);
    emp_method_destroy(&emp_method_hdp, state);
}

Test(hdp_placer, a_small_batch_is_filled)
{
    void     *state = planner_create(5, 1, PLANNER_LEARNED);
    int32_t   count = 0;
    emp_score score[2] = {{.step_time_s = 1.0, .is_feasible = true},
                          {.step_time_s = 2.0, .is_feasible = true}};

    cr_assert_eq(emp_method_hdp.ask(state, planner_candidates, 2, &count, NULL), EMP_OK);
    cr_expect_eq(count, 2);
    cr_expect_eq(emp_method_hdp.tell(state, score, 1, NULL), EMP_EINVAL);
    cr_expect_eq(emp_method_hdp.tell(state, score, 2, NULL), EMP_OK);
    emp_method_destroy(&emp_method_hdp, state);
}

static void survive_allocation_failures(const char *options)
{
    const emp_method_params params = {.seed = 1, .threads = 1, .options = options};
    void                   *state = NULL;
    emp_status              st = EMP_ENOMEM;
    long                    before = emp_mem_live_blocks();

    for (long allowed = 0; st != EMP_OK; allowed++) {
        emp_mem_fail_after(allowed);
        st = emp_method_create(&state, &emp_method_hdp, planner_problem.problem, &params,
                               NULL);
        emp_mem_fail_after(-1);
        if (st == EMP_OK) break;
        cr_assert_eq(st, EMP_ENOMEM, "after %ld allocations: %s", allowed,
                     emp_status_str(st));
        cr_assert_null(state);
        cr_assert_eq(emp_mem_live_blocks(), before, "leak after %ld allocations",
                     allowed);
    }
    emp_mem_fail_after(0);
    planner_update(state, true); /* ask and tell allocate nothing */
    emp_mem_fail_after(-1);
    emp_method_destroy(&emp_method_hdp, state);
}

Test(hdp_placer, survives_every_allocation_failure)
{
    survive_allocation_failures(PLANNER_LEARNED);
    survive_allocation_failures(PLANNER_FULL);
    survive_allocation_failures(PLANNER_LEARNED
                                ",noise_form=gaussian,redraw=1,empty_groups=1");
    survive_allocation_failures(PLANNER_SMALL ",grouping=chunks");
    survive_allocation_failures(PLANNER_SMALL ",grouping=metis");
    survive_allocation_failures(PLANNER_SMALL ",grouping=scotch");
    survive_allocation_failures(PLANNER_SMALL ",grouping=names");
    survive_allocation_failures(PLANNER_SMALL ",grouping=colocation");
    survive_allocation_failures(PLANNER_SMALL ",grouping=none");
    survive_allocation_failures(PLANNER_LEARNED ",objective=balance");
}
