// SPDX-License-Identifier: GPL-3.0-or-later
/* Rewards and advantages by closed form. */
#include <criterion/criterion.h>
#include <math.h>

#include "policy/reinforce/learner.h"

Test(reinforce, rewards_have_the_form_that_is_asked_for)
{
    cr_expect_float_eq(emp_reward(EMP_REWARD_SQRT, 4.0), -2.0, 1e-15);
    cr_expect_float_eq(emp_reward(EMP_REWARD_IDENTITY, 4.0), -4.0, 1e-15);
    cr_expect_float_eq(emp_reward(EMP_REWARD_LOG, 4.0), -log(4.0), 1e-15);
    cr_expect_float_eq(emp_reward(EMP_REWARD_LOG, 0.5), log(2.0), 1e-15);
    cr_expect(isfinite(emp_reward(EMP_REWARD_LOG, 0.0)));
}

/* In every form a failure counts as a step of failure^2 seconds, and a baseline that does
 * not start at the first placements that ran starts there. */
Test(reinforce, failures_count_as_a_step_of_100_s)
{
    static const double failure[] = {-10.0, -100.0, -4.605170185988092};
    static const double ran[] = {-2.0, -4.0, -1.3862943611198906};
    const emp_score     scores[2] = {{.step_time_s = 4.0, .is_feasible = true},
                                     {.step_time_s = 1.0, .is_feasible = false}};

    for (int form = EMP_REWARD_SQRT; form <= EMP_REWARD_LOG; form++) {
        const emp_reinforce_rules rules = {.failure = 10,
                                           .form = (emp_reward_form)form,
                                           .updates_failures = 1,
                                           .baseline_decay = 0.9};
        emp_baseline              b = {0};
        emp_judgement             j = emp_reinforce_judge(&rules, &b, 0, scores, 2);
        cr_expect_float_eq(j.weight[0], (ran[form] - failure[form]) / 2, 1e-12);
        cr_expect_float_eq(j.weight[1], 0.0, 1e-12, "as bad as the baseline");
        cr_expect_float_eq(j.reward, (ran[form] + failure[form]) / 2, 1e-12);
        cr_expect_float_eq(b.value, 0.9 * failure[form] + 0.1 * ran[form], 1e-12);
        j = emp_reinforce_judge(&rules, &b, 1, scores, 2);
        cr_expect_eq(j.count, 1, "failures take part no longer");
        cr_expect_eq(j.weight[1], 0.0);
    }
}

/* As long as failures take part they enter an average of all; then it is of those that ran. */
Test(reinforce, the_baseline_may_average_failures)
{
    const emp_score           scores[2] = {{.step_time_s = 4.0, .is_feasible = true},
                                           {.step_time_s = 1.0, .is_feasible = false}};
    const emp_reinforce_rules rules = {.failure = 10,
                                       .updates_failures = 1,
                                       .baseline_decay = 0.9,
                                       .baseline_failures = true};
    emp_baseline              b = {0};
    emp_judgement             j = emp_reinforce_judge(&rules, &b, 0, scores, 2);

    cr_expect_float_eq(j.weight[0], (-2.0 + 10.0) / 2, 1e-12, "it begins at a failure");
    cr_expect_float_eq(b.value, 0.9 * -10.0 + 0.1 * -6.0, 1e-12);
    emp_reinforce_judge(&rules, &b, 1, &scores[1], 1);
    cr_expect_float_eq(b.value, -9.6, 1e-12, "nothing ran");
    emp_reinforce_judge(&rules, &b, 1, scores, 2);
    cr_expect_float_eq(b.value, 0.9 * -9.6 + 0.1 * -2.0, 1e-12);
}

/* Deviation 1 between -2 and -4 has the root of 2: (-2 + 3) / 1.41 and (-4 + 3) / 1.41, and a
 * failure, 5 deviations below, no more than the cap. */
Test(reinforce, advantages_are_capped_in_deviations)
{
    const emp_score           scores[3] = {{.step_time_s = 4.0, .is_feasible = true},
                                           {.step_time_s = 16.0, .is_feasible = true},
                                           {.step_time_s = 1.0, .is_feasible = false}};
    const emp_reinforce_rules rules = {.failure = 10,
                                       .updates_failures = 9,
                                       .baseline_decay = 0.9,
                                       .baseline_first = true,
                                       .cap = 1.5};
    emp_baseline              b = {0};
    emp_judgement             j = emp_reinforce_judge(&rules, &b, 0, scores, 3);

    cr_expect_float_eq(j.weight[0], sqrt(0.5) / 3, 1e-12);
    cr_expect_float_eq(j.weight[1], -sqrt(0.5) / 3, 1e-12);
    cr_expect_float_eq(j.weight[2], -1.5 / 3, 1e-12);
    cr_expect_float_eq(b.square, 2.0, 1e-12);
    j = emp_reinforce_judge(&rules, &b, 1, scores, 1);
    cr_expect_float_eq(j.weight[0], sqrt(0.5), 1e-12, "one alone has no deviation");
    cr_expect_float_eq(b.square, 2.0, 1e-12);
    b.value = -2.9;
    emp_reinforce_judge(&rules, &b, 2, scores, 2);
    cr_expect_float_eq(b.square, 2.0, 1e-12, "a moving average of 2 and 2");
}

/* After the updates in which failures take part they still do where most of an update failed. */
Test(reinforce, failures_teach_where_most_fail)
{
    const emp_score           scores[4] = {{.step_time_s = 4.0, .is_feasible = true},
                                           {.step_time_s = 1.0, .is_feasible = false},
                                           {.step_time_s = 1.0, .is_feasible = false},
                                           {.step_time_s = 1.0, .is_feasible = false}};
    const emp_reinforce_rules rules = {.failure = 10,
                                       .updates_failures = 1,
                                       .baseline_decay = 0.9,
                                       .cap = 1.0,
                                       .failures_share = 0.5};
    const emp_baseline        before = {.value = -2.0, .ran = 9, .square = 0.25};
    emp_baseline              b = before;

    cr_expect_eq(emp_reinforce_judge(&rules, &b, 7, scores, 1).count, 1);
    b = before;
    cr_expect_eq(emp_reinforce_judge(&rules, &b, 7, scores, 2).count, 2, "half");
    b = before;
    cr_expect_eq(emp_reinforce_judge(&rules, &b, 7, scores, 4).count, 4);
    b = before;
    emp_judgement j = emp_reinforce_judge(&rules, &b, 7, &scores[1], 3);
    cr_expect_eq(j.count, 3, "all of an update");
    cr_expect_float_eq(j.advantage, -1.0, 1e-12);
    cr_expect_eq(b.value, -2.0);
}
