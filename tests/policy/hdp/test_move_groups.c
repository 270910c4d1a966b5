// SPDX-License-Identifier: GPL-3.0-or-later
/* Does every grouping have every row once, with seeds of its own, and are groups drawn by the
 * weight of their rows? */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/mem.h"
#include "policy/hdp/fixed_groups.h"
#include "policy/hdp/move_groups.h"
#include "tests/policy/hdp/small_problem.h"

enum { LAYERS = 60 };

/* Sizes 3, 6, 12 and 24, as 48 would be above refine_largest; each twice. */
#define SMALL "grouping=metis,refine_smallest=3,refine_largest=40,refine_cuts=2"

static small_problem    problem;
static emp_op_features *ops;

static void create_problem(void)
{
    small_problem_init(&problem, LAYERS);
    cr_assert_eq(emp_op_features_create(&ops, problem.problem, NULL), EMP_OK);
}

static void destroy_problem(void)
{
    emp_op_features_destroy(ops);
    small_problem_clear(&problem);
    cr_expect_eq(emp_mem_live_blocks(), 0, "leaked");
}

TestSuite(move_groups, .init = create_problem, .fini = destroy_problem);

static emp_move_groups create(const char *text, uint64_t seed, emp_hdp_options *options)
{
    emp_move_groups groups;
    emp_error       err = {0};

    cr_assert_eq(emp_hdp_options_parse(options, "emplace", text, &err), EMP_OK, "%s",
                 err.msg);
    cr_assert_eq(emp_move_groups_init(&groups, problem.problem, ops, options, seed, &err),
                 EMP_OK, "%s", err.msg);
    return groups;
}

Test(move_groups, every_row_is_in_every_grouping_once)
{
    static const int32_t asked[] = {3, 3, 6, 6, 12, 12, 24, 24};
    emp_hdp_options      options;
    emp_move_groups      m = create(SMALL, 1, &options);

    cr_assert_eq(m.count, 8);
    for (int32_t i = 0; i < m.count; i++) {
        const emp_members *g = &m.grouping[i].rows;
        int32_t           *times = calloc((size_t)ops->row_count, sizeof *times);
        cr_expect(g->group_count >= asked[i] / 2 && g->group_count <= asked[i],
                  "%d groups of %d", g->group_count, asked[i]);
        cr_expect_eq(g->first[0], 0);
        cr_expect_eq(g->first[g->group_count], ops->row_count);
        for (int32_t k = 0; k < g->group_count; k++)
            cr_expect_lt(g->first[k], g->first[k + 1], "group %d is empty", k);
        for (int32_t k = 0; k < ops->row_count; k++) times[g->member[k]]++;
        for (int32_t r = 0; r < ops->row_count; r++)
            cr_expect_eq(times[r], 1, "row %d", r);
        free(times);
    }
    emp_move_groups_clear(&m);
}

/* The groups are those of fixed_groups.h, in their order. */
Test(move_groups, groupings_are_fixed_groups_of_seeds_of_their_own)
{
    emp_hdp_options o;
    emp_move_groups m = create(SMALL, 5, &o);

    for (int32_t i = 0; i < m.count; i++) {
        const emp_members *g = &m.grouping[i].rows;
        int32_t           *group, before = -1;
        cr_assert_eq(emp_fixed_groups_create(&group, EMP_GROUPING_METIS, problem.problem,
                                             ops, 3 << i / 2, o.refine_imbalance,
                                             5 + (uint64_t)i, NULL),
                     EMP_OK);
        for (int32_t k = 0; k < g->group_count; k++) {
            int32_t of_first = group[g->member[g->first[k]]];
            cr_expect_gt(of_first, before);
            before = of_first;
            for (int32_t r = g->first[k]; r < g->first[k + 1]; r++)
                cr_expect_eq(group[g->member[r]], of_first);
        }
        emp_free(group);
    }
    emp_move_groups_clear(&m);
}

/* Random groups of far more than there are rows: most are empty. */
Test(move_groups, empty_groups_are_dropped)
{
    emp_hdp_options options;
    emp_move_groups m = create("grouping=random,refine_smallest=4096,"
                               "refine_largest=4096,refine_cuts=1",
                               1, &options);

    cr_assert_eq(m.count, 1);
    cr_expect_leq(m.grouping[0].rows.group_count, ops->row_count);
    cr_expect_gt(m.grouping[0].rows.group_count, ops->row_count / 2);
    for (int32_t g = 0; g < m.grouping[0].rows.group_count; g++)
        cr_expect_lt(m.grouping[0].rows.first[g], m.grouping[0].rows.first[g + 1]);
    emp_move_groups_clear(&m);
}

enum { DRAWS = 20000, GROUPS = 3 };

/* Of one grouping into three, how often each is drawn. */
static void expect_shares(emp_move_groups *m, const double share[GROUPS])
{
    int     times[GROUPS] = {0};
    emp_rng rng;

    emp_rng_init(&rng, 3, 0, 0);
    for (int i = 0; i < DRAWS; i++) {
        int32_t group = -1;
        cr_assert_eq(emp_move_groups_draw(m, &rng, &group), &m->grouping[0]);
        times[group]++;
    }
    for (int g = 0; g < GROUPS; g++)
        cr_expect_float_eq((double)times[g] / DRAWS, share[g], 0.015, "group %d: %d", g,
                           times[g]);
}

Test(move_groups, groups_are_drawn_by_the_weight_of_their_rows)
{
    emp_hdp_options options;
    emp_move_groups m = create("grouping=chunks,refine_smallest=3,refine_largest=3,"
                               "refine_cuts=1",
                               1, &options);
    double         *weight = EMP_NEW_ARRAY(double, (size_t)ops->row_count);

    cr_assert_eq(m.grouping[0].rows.group_count, GROUPS);
    expect_shares(&m, (double[]){1.0 / 3, 1.0 / 3, 1.0 / 3});
    for (int32_t g = 0; g < GROUPS; g++)
        weight[m.grouping[0].rows.member[m.grouping[0].rows.first[g]]] = g; /* 0, 1, 2 */
    emp_move_groups_weigh(&m, weight, 0.0);
    expect_shares(&m, (double[]){0.0, 1.0 / 3, 2.0 / 3});
    emp_move_groups_weigh(&m, weight, 0.6);
    expect_shares(&m, (double[]){0.2, 0.2 + 0.4 / 3, 0.2 + 0.8 / 3});
    emp_free(weight);
    weight = EMP_NEW_ARRAY(double, (size_t)ops->row_count);
    emp_move_groups_weigh(&m, weight, 0.0); /* nothing has any weight */
    expect_shares(&m, (double[]){1.0 / 3, 1.0 / 3, 1.0 / 3});
    emp_free(weight);
    emp_move_groups_clear(&m);
}

Test(move_groups, survives_every_allocation_failure)
{
    emp_hdp_options options;
    emp_move_groups m = create("grouping=chunks,refine_largest=48", 1, &options);
    emp_status      st = EMP_ENOMEM;

    emp_move_groups_clear(&m);
    long before = emp_mem_live_blocks();
    for (long allowed = 0; st != EMP_OK; allowed++) {
        emp_mem_fail_after(allowed);
        st = emp_move_groups_init(&m, problem.problem, ops, &options, 1, NULL);
        emp_mem_fail_after(-1);
        if (st == EMP_OK) break;
        cr_assert_eq(st, EMP_ENOMEM, "after %ld allocations: %s", allowed,
                     emp_status_str(st));
        cr_assert_eq(emp_mem_live_blocks(), before, "leak after %ld allocations",
                     allowed);
        emp_move_groups_clear(&m); /* legal after a failure */
    }
    emp_move_groups_clear(&m);
}
