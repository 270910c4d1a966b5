// SPDX-License-Identifier: GPL-3.0-or-later
/* First groups, groups that are not learned, none, and how devices of groups are drawn. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "policy/hdp/hdp.h"
#include "tests/policy/hdp/planner.h"

TestSuite(hdp_groups, .init = planner_problem_create, .fini = planner_problem_destroy);

/* What an untrained policy that prefers some devices draws in 400 updates. */
typedef struct {
    double changes;                  /* of device, per pair of neighbouring groups */
    double share[3], probability[3]; /* of devices at the first group */
} draws;

static draws draw_devices(const char *options)
{
    enum { UPDATES = 400 };
    void                 *state = planner_create(3, 1, options);
    emp_hdp_agent        *agent = (emp_hdp_agent *)state;
    const emp_device_net *net = &agent->net;
    draws                 d = {.changes = 0.0};

    for (int u = 0; u < UPDATES; u++) {
        agent->learner.update = u;
        emp_hdp_agent_propose(agent, PLANNER_SAMPLES, NULL, NULL);
        for (int32_t k = 0; k < PLANNER_SAMPLES; k++) {
            const int32_t *device = &net->device[k * net->steps];
            d.share[device[0]] += 1.0 / (UPDATES * PLANNER_SAMPLES);
            for (int i = 0; i < 3; i++)
                d.probability[i] += (double)net->p[(int64_t)k * net->steps * 3 + i] /
                                    (UPDATES * PLANNER_SAMPLES);
            for (int32_t t = 1; t < net->steps; t++)
                d.changes += (device[t] != device[t - 1]) /
                             (double)(UPDATES * PLANNER_SAMPLES * (net->steps - 1));
        }
    }
    emp_method_destroy(&emp_method_hdp, state);
    return d;
}

/* Without noise a first device has the policy's probability, and runs of groups that share
 * their draws change it less often. */
Test(hdp_groups, runs_share_draws_and_follow_the_policy)
{
    static const char *const options[] = {
        PLANNER_LEARNED ",noise=0,placer_gain=100,run_longest=0",
        PLANNER_LEARNED ",noise=0,placer_gain=100,run_shortest=1"};
    draws d[2];

    for (int r = 0; r < 2; r++) {
        double largest = 0.0;
        d[r] = draw_devices(options[r]);
        for (int i = 0; i < 3; i++) {
            cr_expect_float_eq(d[r].share[i], d[r].probability[i], 0.04,
                               "device %d: %g, policy %g", i, d[r].share[i],
                               d[r].probability[i]);
            largest = fmax(largest, d[r].probability[i]);
        }
        cr_expect_gt(largest, 0.45, "the policy prefers no device: %g", largest);
    }
    cr_expect_lt(d[1].changes, 0.8 * d[0].changes, "%g changes, %g alone", d[1].changes,
                 d[0].changes);
}

/* The mean of an op's 12 positions. */
static double place(const emp_hdp_agent *agent, int32_t row)
{
    double sum = 0.0;

    for (int32_t c = EMP_FEATURE_OUTPUTS * EMP_FEATURE_DIMS; c < EMP_OP_FEATURES; c++)
        sum += (double)agent->learner.ops->value[row * EMP_OP_FEATURES + c];
    return sum / (2 * EMP_FEATURE_NEIGHBOURS);
}

/* Equally full, and one after the other but for ops at their borders. */
static void expect_ranges(const char *options)
{
    enum { GROUPS = 12 };
    void                *state = planner_create(3, 1, options);
    const emp_hdp_agent *agent = (const emp_hdp_agent *)state;
    const int32_t       *group = agent->grouper.group_of_row;
    int32_t              members[GROUPS] = {0}, rows = agent->learner.ops->row_count;
    int32_t              misplaced = 0;

    planner_update(state, true);
    for (int32_t r = 0; r < rows; r++) {
        members[group[r]]++;
        for (int32_t s = 0; s < rows; s++)
            misplaced += group[r] > group[s] && place(agent, r) < place(agent, s);
    }
    cr_expect_lt(misplaced, rows * rows / 500, "%d of %d pairs", misplaced, rows * rows);
    for (int g = 0; g < GROUPS; g++)
        cr_expect(abs(members[g] - rows / GROUPS) < rows / GROUPS / 2,
                  "group %d has %d of %d", g, members[g], rows);
    emp_method_destroy(&emp_method_hdp, state);
}

Test(hdp_groups, first_groups_are_ranges) { expect_ranges(PLANNER_LEARNED); }

Test(hdp_groups, first_groups_may_be_random)
{
    void *state = planner_create(3, 1, PLANNER_LEARNED ",ranges=0");

    planner_update(state, true);
    cr_expect_gt(planner_metric(state, "grouper_entropy"), 0.5 * log(12));
    emp_method_destroy(&emp_method_hdp, state);
}

/* Groups that are not learned stay; the placer learns nevertheless. */
static const emp_hdp_agent *update_fixed(void **state, uint64_t seed, const char *options)
{
    const emp_hdp_agent *agent = *state = planner_create(seed, 1, options);
    double               before = planner_weight_sum(agent);
    emp_real             grouper = agent->grouper.params.value[0];
    int32_t              rows = agent->learner.ops->row_count, group[PLANNER_MAX_OPS];

    planner_update(*state, true);
    memcpy(group, agent->grouper.group_of_row, (size_t)rows * sizeof *group);
    planner_update(*state, true);
    cr_expect_arr_eq(group, agent->grouper.group_of_row, (size_t)rows * sizeof *group);
    cr_expect_eq(grouper, agent->grouper.params.value[0]);
    cr_expect_eq(agent->grouper.params.step, 0, "the grouper learns");
    cr_expect_neq(planner_weight_sum(agent), before, "the placer does not");
    for (int32_t r = 0; r < rows; r++)
        cr_assert(group[r] >= 0 && group[r] < 12, "row %d in group %d", r, group[r]);
    return agent;
}

Test(hdp_groups, fixed_groups_may_be_random)
{
    void                *state, *other;
    const emp_hdp_agent *a = update_fixed(&state, 3, PLANNER_SMALL ",grouping=random");
    const emp_hdp_agent *b = update_fixed(&other, 4, PLANNER_SMALL ",grouping=random");
    int                  members[12] = {0}, same = 0, rows = a->learner.ops->row_count;

    for (int r = 0; r < rows; r++) {
        members[a->grouper.group_of_row[r]]++;
        same += a->grouper.group_of_row[r] == b->grouper.group_of_row[r];
    }
    for (int g = 0; g < 12; g++) cr_expect_gt(members[g], 0);
    cr_expect_lt(same, rows / 4, "seeds give the same groups");
    emp_method_destroy(&emp_method_hdp, state);
    emp_method_destroy(&emp_method_hdp, other);
}

Test(hdp_groups, fixed_groups_may_be_chunks)
{
    void                *state;
    const emp_hdp_agent *a = update_fixed(&state, 3, PLANNER_SMALL ",grouping=chunks");
    int                  members[12] = {0}, rows = a->learner.ops->row_count;

    for (int r = 0; r < rows; r++) {
        members[a->grouper.group_of_row[r]]++;
        for (int s = 0; s < rows; s++) {
            if (a->learner.ops->position[r] < a->learner.ops->position[s])
                cr_assert_leq(a->grouper.group_of_row[r], a->grouper.group_of_row[s]);
        }
    }
    for (int g = 0; g < 12; g++) cr_expect(abs(members[g] - rows / 12) <= 1);
    emp_method_destroy(&emp_method_hdp, state);
}

/* Neighbours in the chain are mostly in one group. */
static void expect_cut(const char *options)
{
    void                *state;
    const emp_hdp_agent *a = update_fixed(&state, 3, options);
    int                  apart = 0;

    for (int e = 0; e < a->learner.ops->edge_count; e++)
        apart += a->grouper.group_of_row[a->learner.ops->edge[e][0]] !=
                 a->grouper.group_of_row[a->learner.ops->edge[e][1]];
    cr_expect_lt(apart, a->learner.ops->edge_count / 4, "%d of %d edges", apart,
                 a->learner.ops->edge_count);
    emp_method_destroy(&emp_method_hdp, state);
}

Test(hdp_groups, fixed_groups_may_be_those_of_partitioners)
{
    expect_cut(PLANNER_SMALL ",grouping=metis");
    expect_cut(PLANNER_SMALL ",grouping=scotch");
}

/* No group is much fuller than the mean; few are empty. */
Test(hdp_groups, groups_of_scotch_are_balanced)
{
    void                *state;
    const emp_hdp_agent *a = update_fixed(&state, 3, PLANNER_SMALL ",grouping=scotch");
    int                  members[12] = {0}, rows = a->learner.ops->row_count, used = 0;

    for (int r = 0; r < rows; r++) members[a->grouper.group_of_row[r]]++;
    for (int g = 0; g < 12; g++) {
        used += members[g] > 0;
        cr_expect_lt(members[g], 3 * rows / 12, "%d of %d", members[g], rows);
    }
    cr_expect_geq(used, 7);
    emp_method_destroy(&emp_method_hdp, state);
}

/* In range, however many groups the rules give, and the same for every seed. */
Test(hdp_groups, fixed_groups_may_be_those_of_colocation_rules)
{
    void                *state;
    const emp_hdp_agent *a =
        update_fixed(&state, 3, PLANNER_SMALL ",grouping=colocation");
    const emp_hdp_agent *b;
    void                *other;

    b = update_fixed(&other, 4, PLANNER_SMALL ",grouping=colocation");
    cr_expect_arr_eq(a->grouper.group_of_row, b->grouper.group_of_row,
                     (size_t)a->learner.ops->row_count * sizeof(int32_t), "no seed");
    emp_method_destroy(&emp_method_hdp, state);
    emp_method_destroy(&emp_method_hdp, other);
}

/* The chain has 100 steps of three ops, and one op before them. Blocks of 8 steps would be 13
 * groups; so 12 allow blocks of 16 steps, of which the last has 4. No seed plays a part. */
Test(hdp_groups, fixed_groups_may_be_those_of_names)
{
    static const int     want[12] = {49, 48, 48, 48, 48, 48, 12};
    void                *state, *other;
    const emp_hdp_agent *a = update_fixed(&state, 3, PLANNER_SMALL ",grouping=names");
    const emp_hdp_agent *b = update_fixed(&other, 4, PLANNER_SMALL ",grouping=names");
    int                  members[12] = {0};

    for (int r = 0; r < a->learner.ops->row_count; r++) {
        int32_t group = a->grouper.group_of_row[r];
        cr_assert(group >= 0 && group < 12);
        cr_expect_eq(group, b->grouper.group_of_row[r]);
        members[group]++;
    }
    cr_expect_arr_eq(members, want, sizeof want);
    emp_method_destroy(&emp_method_hdp, state);
    emp_method_destroy(&emp_method_hdp, other);
}

/* Without groups ops of one placement are drawn one by one, and each placement anew. */
Test(hdp_groups, without_groups_every_op_has_a_device_of_its_own)
{
    void *state = planner_create(3, 1, PLANNER_SMALL ",grouping=none");
    int   ops = planner_problem.graph->op_count, same = 0, at[3] = {0};

    planner_update(state, true);
    for (int op = 0; op < ops; op++) {
        same += planner_storage[0][op] == planner_storage[1][op];
        at[planner_storage[0][op]]++;
    }
    for (int d = 0; d < 3; d++) cr_expect_gt(at[d], ops / 10, "device %d: %d", d, at[d]);
    cr_expect_lt(same, 3 * ops / 4, "samples are alike");
    emp_method_destroy(&emp_method_hdp, state);
}

Test(hdp_groups, without_groups_step_times_fall)
{
    void *state =
        planner_create(5, 2, PLANNER_SMALL ",grouping=none,lr=0.05,epsilon=1e-8");
    double first = planner_update(state, true), last = 0.0;

    for (int u = 0; u < 200; u++) planner_update(state, true);
    for (int u = 0; u < 10; u++) last += planner_update(state, true) / 10;
    cr_expect_gt(first, 1.5, "untrained: two thirds elsewhere");
    cr_expect_lt(last, 1.1, "from %g only to %g", first, last);
    emp_method_destroy(&emp_method_hdp, state);
}

Test(hdp_groups, without_groups_threads_and_resuming_change_nothing)
{
    static emp_device_id undisturbed[3][PLANNER_SAMPLES][PLANNER_MAX_OPS];
    emp_named_array      from[EMP_MAX_NAMED_ARRAYS], to[EMP_MAX_NAMED_ARRAYS];
    const char          *options = PLANNER_SMALL ",grouping=none";
    void *state = planner_create(7, 1, options), *resumed = planner_create(7, 3, options);

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
    emp_method_destroy(&emp_method_hdp, state);
    emp_method_destroy(&emp_method_hdp, resumed);
}

Test(hdp_groups, window_says_what_the_grouper_sees)
{
    static const struct {
        const char *options;
        int32_t     width;
    } cases[] = {{PLANNER_LEARNED, 36},
                 {PLANNER_LEARNED ",window=3", 30},
                 {PLANNER_LEARNED ",window=16", 56},
                 {PLANNER_LEARNED ",window=0,ranges=0", 24}};
    const emp_method_params params = {.seed = 1, .options = PLANNER_LEARNED ",window=0"};
    emp_error               err = {0};
    void                   *state = NULL;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        state = planner_create(3, 1, cases[i].options);
        cr_expect_eq(((emp_hdp_agent *)state)->learner.ops->width, cases[i].width);
        planner_update(state, true);
        planner_update(state, true);
        emp_method_destroy(&emp_method_hdp, state);
    }
    cr_expect_eq(emp_method_create(&state, &emp_method_hdp, planner_problem.problem,
                                   &params, &err),
                 EMP_EINVAL);
    cr_expect_str_eq(err.msg,
                     "the first groups cannot be ranges of positions that ops do not "
                     "have; give ranges=0 with window=0");
}

Test(hdp_groups, empty_groups_may_be_given_to_the_placer)
{
    const char *const options[] = {"groups=900,hidden=6",
                                   "groups=900,hidden=6,empty_groups=1"};

    for (int i = 0; i < 2; i++) {
        void *state = planner_create(3, 1, options[i]);
        planner_update(state, true);
        cr_expect_eq(planner_metric(state, "groups_used") == 900.0, i == 1);
        planner_update(state, true);
        emp_method_destroy(&emp_method_hdp, state);
    }
}
