// SPDX-License-Identifier: GPL-3.0-or-later
#include <criterion/criterion.h>
#include <math.h>

#include "base/mem.h"
#include "sim/surrogate/surrogate.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/expect.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { PLACEMENTS = 20 };

Test(agreement, is_that_of_a_hand_example)
{
    const double  exact[] = {1, 2, 3, 4, 5}, estimate[] = {2, 1, 4, 3, 5};
    const double  tied[] = {1, 1, 2}, rising[] = {1, 2, 3}, equal[] = {1, 1, 1};
    emp_agreement a;

    /* 4 of 5 ranks are off by one; 2 of 10 pairs are in the wrong order */
    cr_assert_eq(emp_agreement_of(&a, estimate, exact, 5, NULL), EMP_OK);
    cr_expect_float_eq(a.spearman, 1.0 - 6.0 * 4.0 / (5.0 * 24.0), 1e-12);
    cr_expect_float_eq(a.kendall, 0.6, 1e-12);
    cr_expect_float_eq(a.mean_relative_error, (1.0 + 0.5 + 1.0 / 3.0 + 0.25 + 0.0) / 5.0,
                       1e-12);
    /* 2 of 3 pairs are in order, one is tied on one side: ranks 1.5 1.5 3 and 1 2 3 */
    cr_assert_eq(emp_agreement_of(&a, tied, rising, 3, NULL), EMP_OK);
    cr_expect_float_eq(a.spearman, 1.5 / sqrt(1.5 * 2.0), 1e-12);
    cr_expect_float_eq(a.kendall, 2.0 / sqrt(2.0 * 3.0), 1e-12);
    cr_assert_eq(emp_agreement_of(&a, equal, rising, 3, NULL), EMP_OK);
    cr_expect(isnan(a.spearman) && isnan(a.kendall));
    EXPECT_REFUSED(emp_agreement_of(&a, estimate, exact, 1, &err), EMP_EINVAL,
                   "ranks of 1 values; at least 2");
}

/* op1 waits for a copy; in topological order op2 stands behind it, but runs before. */
Test(agreement, following_the_oracle_mends_the_order)
{
    const char     ops[] = "2*10; 1<0; 1";
    emp_runtime    list = tiny_list_scheduling();
    task           t;
    emp_surrogate *s = NULL;
    double         before, after;

    task_create_ops(&t, ops, &list);
    cr_assert_eq(emp_surrogate_create(&s, t.problem, EMP_SURROGATE_FASTEST, NULL),
                 EMP_OK);
    emp_sim       *sim = task_sim(&t);
    emp_sim_result exact = task_run(&t);
    cr_assert_eq(emp_surrogate_run(s, &t.device_of_op, 1, &before, NULL), EMP_OK);
    cr_assert_eq(emp_surrogate_follow(s, sim, &t.device_of_op, 1, NULL), EMP_OK);
    cr_assert_eq(emp_surrogate_run(s, &t.device_of_op, 1, &after, NULL), EMP_OK);
    cr_expect_float_eq(before, 1e-9 * (double)exact.step_time_ns + 10e-9, 1e-15);
    cr_expect_float_eq(after, 1e-9 * (double)exact.step_time_ns, 1e-15);
    emp_sim_destroy(sim);
    emp_surrogate_destroy(s);
    task_destroy(&t);
}

/* Both the reports and the new order survive a lack of memory. */
static emp_status follow_and_compare(emp_agreement *a, emp_surrogate *s, emp_sim *sim,
                                     emp_device_id *const *placements)
{
    emp_status st = emp_surrogate_follow(s, sim, placements, PLACEMENTS / 2, NULL);

    if (st != EMP_OK) return st;
    return emp_surrogate_rank_correlation(a, s, sim, placements, PLACEMENTS, NULL);
}

Test(agreement, is_reported_or_memory_is_out)
{
    task           r;
    emp_device_id *placements[PLACEMENTS];
    emp_surrogate *s = NULL;
    emp_agreement  a;
    emp_rng        rng;

    random_problem_create(&r, 6);
    emp_rng_init(&rng, 1, 0, 0);
    size_t count = (size_t)r.graph->op_count;
    for (int k = 0; k < PLACEMENTS; k++) {
        placements[k] = EMP_NEW_ARRAY(emp_device_id, count);
        cr_assert_not_null(placements[k]);
        random_problem_place(&r, &rng);
        for (size_t op = 0; op < count; op++) placements[k][op] = r.device_of_op[op];
    }
    cr_assert_eq(emp_surrogate_create(&s, r.problem, EMP_SURROGATE_FASTEST, NULL),
                 EMP_OK);
    emp_sim *sim = task_sim(&r);
    SURVIVES_EVERY_ALLOCATION_FAILURE(follow_and_compare(&a, s, sim, placements), );
    cr_expect(a.spearman > 0.3 && a.spearman <= 1.0, "%g", a.spearman);
    cr_expect(a.kendall > 0.2 && a.kendall <= a.spearman + 0.1, "%g", a.kendall);
    cr_expect(a.mean_relative_error < 1.0, "%g", a.mean_relative_error);
    for (int k = 0; k < PLACEMENTS; k++) emp_free(placements[k]);
    emp_sim_destroy(sim);
    emp_surrogate_destroy(s);
    task_destroy(&r);
}
