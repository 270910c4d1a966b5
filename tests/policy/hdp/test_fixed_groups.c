// SPDX-License-Identifier: GPL-3.0-or-later
/* On a machine of several hosts ops that only a CPU can run have a choice of CPUs. Have they
 * a group, whoever makes the groups? */
#include "policy/hdp/hdp.h"
#include "tests/support/problems.h"
#include "tests/support/status.h"

static task             t;
static emp_graph       *graph;
static emp_problem     *problem;
static emp_op_features *ops;

static void create_problem(void)
{
    task_create(&t, "nmt:layers=1,steps=2,units=16,vocab=100", "k40x4x2", "tf-r1.3");
    graph = t.graph;
    problem = t.problem;
    MUST(emp_op_features_create(&ops, problem, &why));
}

static void destroy_problem(void)
{
    emp_op_features_destroy(ops);
    task_destroy(&t);
    expect_all_freed();
}

TestSuite(fixed_groups, .init = create_problem, .fini = destroy_problem);

static bool is_cpu_only(int32_t row)
{
    int32_t class_id = graph->op[ops->op_of_row[row]].colocation_class;

    return (problem->kinds_of_class[class_id] & EMP_KIND_GPU) == 0;
}

/* In range; with more than one group, ops that only a CPU can run have the last one for
 * themselves, and the others more than one. */
static void check_groups(emp_grouping grouping, int32_t group_count)
{
    int32_t *group = NULL, cpu_rows = 0, largest = 0;

    MUST(emp_fixed_groups_create(&group, grouping, problem, ops, &group_count, 2.0,
                                 &(emp_method_params){.seed = 1}, &why));
    for (int32_t r = 0; r < ops->row_count; r++) {
        cr_assert(group[r] >= 0 && group[r] < group_count, "grouping %d: row %d in %d",
                  (int)grouping, r, group[r]);
        cpu_rows += is_cpu_only(r);
        if (!is_cpu_only(r) && group[r] > largest) largest = group[r];
        if (group_count > 1)
            cr_assert_eq(group[r] == group_count - 1, is_cpu_only(r),
                         "grouping %d: %s in %d of %d", (int)grouping,
                         graph->name[ops->op_of_row[r]], group[r], group_count);
    }
    cr_assert_gt(cpu_rows, 0, "nothing here is for CPUs alone");
    if (group_count > 2) cr_expect_gt(largest, 0, "grouping %d", (int)grouping);
    emp_free(group);
}

/* Groups of the rules stay apart, and what only CPUs run has one of its own. */
Test(fixed_groups, of_rules_may_stay_unjoined)
{
    const emp_method_params params = {.seed = 1};
    int32_t                *all = NULL, *joined = NULL, count = 0, few = 3;
    static bool             is_used[4096];

    ASSERT_OK(emp_fixed_groups_create(&all, EMP_GROUPING_COLOCATION, problem, ops, &count,
                                      2.0, &params, NULL));
    cr_assert(count > few && count <= 4096, "%d groups", count);
    for (int32_t r = 0; r < ops->row_count; r++) {
        cr_assert(all[r] >= 0 && all[r] < count);
        cr_expect_eq(all[r] == count - 1, is_cpu_only(r));
        is_used[all[r]] = true;
    }
    for (int32_t g = 0; g < count; g++) cr_expect(is_used[g], "nothing in group %d", g);
    ASSERT_OK(emp_fixed_groups_create(&joined, EMP_GROUPING_COLOCATION, problem, ops,
                                      &few, 2.0, &params, NULL));
    cr_expect_eq(few, 3);
    for (int32_t r = 0; r < ops->row_count; r++)
        for (int32_t s = 0; s < r; s++)
            if (all[r] == all[s]) cr_expect_eq(joined[r], joined[s]);
    emp_free(all);
    emp_free(joined);
}

Test(fixed_groups, keep_the_last_for_what_only_cpus_run)
{
    static const emp_grouping grouping[] = {EMP_GROUPING_METIS, EMP_GROUPING_SCOTCH,
                                            EMP_GROUPING_COLOCATION};
    static const int32_t      count[] = {1, 2, 12, 4096};

    for (size_t g = 0; g < COUNT(grouping); g++) {
        for (size_t i = 0; i < COUNT(count); i++) check_groups(grouping[g], count[i]);
    }
}
