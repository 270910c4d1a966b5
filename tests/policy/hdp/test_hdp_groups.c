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
        PLANNER_SMALL ",noise=0,placer_gain=100,run_longest=0",
        PLANNER_SMALL ",noise=0,placer_gain=100,run_shortest=1"};
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

Test(hdp_groups, first_groups_are_ranges) { expect_ranges(PLANNER_SMALL); }

Test(hdp_groups, first_groups_may_be_random)
{
    void *state = planner_create(3, 1, PLANNER_SMALL ",ranges=0");

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

/* What must hold of fixed groups: of each in 12, and whether seeds make a difference. */
typedef struct {
    int members[12], apart, same; /* edges between groups; rows as with another seed */
    int32_t rows, edges;
    bool    is_in_order;
} fixed;

static fixed fix(const char *grouping)
{
    char  options[128];
    void *state, *other;
    fixed f = {.is_in_order = true};

    snprintf(options, sizeof options, PLANNER_SMALL ",grouping=%s", grouping);
    const emp_hdp_agent   *a = update_fixed(&state, 3, options);
    const emp_hdp_agent   *b = update_fixed(&other, 4, options);
    const emp_op_features *ops = a->learner.ops;
    const int32_t         *group = a->grouper.group_of_row;
    f.rows = ops->row_count;
    f.edges = ops->edge_count;
    for (int32_t r = 0; r < f.rows; r++) {
        f.members[group[r]]++;
        f.same += group[r] == b->grouper.group_of_row[r];
        for (int32_t s = 0; s < f.rows; s++)
            f.is_in_order = f.is_in_order && (ops->position[r] >= ops->position[s] ||
                                              group[r] <= group[s]);
    }
    for (int32_t e = 0; e < f.edges; e++)
        f.apart += group[ops->edge[e][0]] != group[ops->edge[e][1]];
    emp_method_destroy(&emp_method_hdp, state);
    emp_method_destroy(&emp_method_hdp, other);
    return f;
}

/* The chain has 100 steps of three ops, and one op before them. By names, blocks of 8 steps would be 13 groups; so 12
 * allow blocks of 16 steps, of which the last has 4. METIS and Scotch leave neighbours in one group, and no group of
 * Scotch's is much fuller than the mean. */
Test(hdp_groups, fixed_groups_are_those_of_the_option)
{
    static const int by_names[12] = {49, 48, 48, 48, 48, 48, 12};
    const fixed      random = fix("random"), chunks = fix("chunks"), names = fix("names");
    const fixed metis = fix("metis"), scotch = fix("scotch"), rules = fix("colocation");
    int         used = 0;

    for (int g = 0; g < 12; g++) {
        cr_expect_gt(random.members[g], 0);
        cr_expect_leq(abs(chunks.members[g] - chunks.rows / 12), 1);
        cr_expect_lt(scotch.members[g], 3 * scotch.rows / 12);
        used += scotch.members[g] > 0;
    }
    cr_expect_geq(used, 7);
    cr_expect_lt(random.same, random.rows / 4, "seeds give the same groups");
    cr_expect(chunks.is_in_order);
    cr_expect_lt(metis.apart, metis.edges / 4);
    cr_expect_lt(scotch.apart, scotch.edges / 4);
    cr_expect_arr_eq(names.members, by_names, sizeof by_names);
    cr_expect_eq(names.same, names.rows, "no seed");
    cr_expect_eq(rules.same, rules.rows, "no seed");
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

Test(hdp_groups, window_says_what_the_grouper_sees)
{
    static const struct {
        const char *options;
        int32_t     width;
    } cases[] = {{PLANNER_SMALL, 36},
                 {PLANNER_SMALL ",window=3", 30},
                 {PLANNER_SMALL ",window=16", 56},
                 {PLANNER_SMALL ",window=0,ranges=0", 24}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *state = planner_create(3, 1, cases[i].options);
        cr_expect_eq(((emp_hdp_agent *)state)->learner.ops->width, cases[i].width);
        for (int u = 0; u < 2; u++) planner_update(state, true);
        emp_method_destroy(&emp_method_hdp, state);
    }
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
