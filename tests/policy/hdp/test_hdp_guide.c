// SPDX-License-Identifier: GPL-3.0-or-later
/* What guides the placer: elites, heat, and stretches that are drawn. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "policy/hdp/hdp.h"
#include "tests/policy/hdp/planner.h"

enum { ROWS = 6, DEVICES = 3, STEPS = 3 };

static emp_guide create(const emp_heat_rule *heat, int32_t capacity)
{
    emp_guide guide;

    cr_assert_eq(emp_guide_init(&guide, heat, capacity, ROWS, DEVICES, STEPS, NULL),
                 EMP_OK);
    return guide;
}

static void offer(emp_guide *guide, double step_s, int32_t device)
{
    guide->candidate_s = step_s;
    for (int32_t r = 0; r < ROWS; r++) guide->candidate[r] = device;
    emp_guide_take(guide, 0);
}

Test(hdp_guide, keeps_the_best_placements_once_and_in_order)
{
    emp_guide guide = create(&(emp_heat_rule){0}, 2);

    cr_expect_eq(emp_guide_count(&guide), 0);
    offer(&guide, 3.0, 0);
    offer(&guide, 3.0, 0);
    cr_expect_eq(emp_guide_count(&guide), 1, "the same placement again");
    offer(&guide, 2.0, 1);
    cr_expect(guide.step_s[0] == 2.0 && guide.step_s[1] == 3.0);
    cr_expect(guide.device[0] == 1 && guide.device[ROWS] == 0);
    offer(&guide, 4.0, 2);
    cr_expect_eq(guide.device[ROWS], 0, "not among the best two");
    offer(&guide, 2.5, 2);
    cr_expect(guide.step_s[1] == 2.5 && guide.device[ROWS + ROWS - 1] == 2);
    offer(&guide, 0.0, 0);
    cr_expect_eq(guide.step_s[0], 2.0, "an update without any that fits");
    emp_guide_clear(&guide);
}

Test(hdp_guide, gives_a_group_the_device_of_most_of_its_ops)
{
    static const int32_t group_of_row[ROWS] = {2, 2, 2, 0, 0, 1};
    static const int32_t step_of_group[STEPS] = {1, 2, 0};
    static const int32_t device[ROWS] = {1, 2, 2, 1, 0, 1};
    emp_guide            guide = create(&(emp_heat_rule){0}, 1);
    int32_t              target[STEPS];

    guide.candidate_s = 1.0;
    memcpy(guide.candidate, device, sizeof device);
    emp_guide_take(&guide, 0);
    emp_guide_project(&guide, target, group_of_row, step_of_group, STEPS, DEVICES);
    cr_expect_eq(target[0], 2, "two of group 2's three");
    cr_expect_eq(target[1], 0, "the lowest of equals");
    cr_expect_eq(target[2], 1);
    emp_guide_clear(&guide);
}

/* 20 of 100 groups moved, then none; the share wanted falls from 0.4 to 0.1. */
Test(hdp_guide, scale_follows_the_share_that_is_wanted)
{
    emp_guide guide = create(&(emp_heat_rule){0.4, 0.1, 10, 0.5}, 0);

    guide.drawn = 100;
    guide.moved = 20;
    emp_guide_take(&guide, 0);
    cr_expect_float_eq(guide.scale, sqrt(2.0), 1e-12, "too few moved");
    guide.scale = 1.0;
    emp_guide_take(&guide, 5);
    cr_expect_float_eq(guide.scale, 1.0, 1e-12, "as many as wanted");
    emp_guide_take(&guide, 1000);
    cr_expect_float_eq(guide.scale, sqrt(0.5), 1e-12, "too many");
    guide.moved = 0;
    for (int u = 0; u < 100; u++) emp_guide_take(&guide, 1000);
    cr_expect(isfinite(guide.scale) && guide.scale > 10);
    cr_expect_eq(emp_guide_check(&guide, DEVICES, NULL), EMP_OK);
    guide.scale = NAN;
    cr_expect_eq(emp_guide_check(&guide, DEVICES, NULL), EMP_EFORMAT);
    emp_guide_clear(&guide);
}

TestSuite(hdp_guided, .init = planner_problem_create, .fini = planner_problem_destroy);

/* Without learning, so that it is the scale alone that keeps it. */
Test(hdp_guided, draws_keep_the_heat)
{
    void *state = planner_create(
        3, 1,
        PLANNER_FULL_LEARNED ",lr=0,placer_gain=300,updates_noise=0,heat=0.1,heat_last=0.1,"
                     "stretches=0,run_longest=0,elites=0");
    double moved = 0.0;

    for (int u = 0; u < 300; u++) {
        planner_update(state, true);
        if (u >= 100) moved += planner_metric(state, "moved_share") / 200;
    }
    cr_expect_float_eq(moved, 0.1, 0.04, "%g", moved);
    emp_method_destroy(&emp_method_hdp, state);
}

/* The devices of one stretch of at most half of 12 steps depart from the most probable ones. */
Test(hdp_guided, only_stretches_are_drawn)
{
    void *state =
        planner_create(3, 1,
                       PLANNER_FULL_LEARNED ",lr=0,updates_noise=0,stretches=1,stretch_longest=0.5,"
                                    "elites=0,heat=1,heat_last=1");
    const emp_hdp_agent *a = (const emp_hdp_agent *)state;
    int32_t              longest = 0, samples = 0;

    for (int u = 0; u < 60; u++) {
        planner_update(state, true);
        for (int32_t k = 0; k < PLANNER_SAMPLES; k++) {
            cr_expect_leq(a->net.moved[k], (a->used + 1) / 2);
            if (a->net.moved[k] > longest) longest = a->net.moved[k];
            samples += a->net.moved[k] > 0;
        }
    }
    cr_expect_gt(longest, 2, "%d", longest);
    cr_expect_gt(samples, 60 * PLANNER_SAMPLES / 3, "%d samples moved", samples);
    emp_method_destroy(&emp_method_hdp, state);
}

/* The best of the first updates becomes the most probable placement, though rewards are equal
 * and so teach nothing. */
Test(hdp_guided, elites_are_imitated)
{
    void *state = planner_create(3, 1,
                                 PLANNER_FULL_LEARNED ",cap=1,elites=1,lr=0.01,updates_noise=2");
    emp_hdp_agent *a = (emp_hdp_agent *)state;
    double         same = 0.0, best;

    for (int u = 0; u < 60; u++) planner_update(state, true);
    best = a->guide.step_s[0];
    emp_hdp_agent_propose(a, PLANNER_SAMPLES, NULL, NULL);
    emp_guide_project(&a->guide, a->target, a->grouper.group_of_row, a->step_of_group,
                      a->used, a->net.shape.devices);
    for (int32_t i = 0; i < PLANNER_SAMPLES * a->used; i++)
        same += (double)(a->net.device[i] == a->target[i % a->used]) /
                (PLANNER_SAMPLES * a->used);
    cr_expect_gt(best, 0.9);
    cr_expect_gt(same, 0.8, "%g of the groups as the elite has them", same);
    emp_method_destroy(&emp_method_hdp, state);
}
