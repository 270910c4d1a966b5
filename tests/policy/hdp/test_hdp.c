// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the planner have noise and failures only as long as the options say, and rewards of its objective? */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "policy/hdp/hdp.h"
#include "search/learning.h"
#include "search/partition/partition_graph.h"
#include "tests/policy/hdp/planner.h"
#include "tests/support/status.h"

TestSuite(hdp_placer, .init = planner_problem_create, .fini = planner_problem_destroy);

/* With a learning rate of 0 the weights stay. Under strong noise devices are then less
 * likely, as the policy without noise sees them, than its own. */
Test(hdp_placer, noise_explores_and_stops)
{
    void *state = planner_create(
        3, 1, PLANNER_SMALL ",lr=0,updates_noise=40,noise=9,placer_gain=300");
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
    MUST(emp_balance_init(&balance, planner_problem.problem, NULL));
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
    expect_balance(PLANNER_SMALL ",objective=balance");
    expect_balance(PLANNER_SMALL ",objective=balance,grouping=none");
}

/* Failures alone teach nothing; the first placements that ran are the first baseline. */
Test(hdp_placer, the_baseline_starts_with_placements_that_ran)
{
    void  *state = planner_create(3, 1, PLANNER_SMALL);
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
