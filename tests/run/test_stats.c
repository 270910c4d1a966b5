// SPDX-License-Identifier: GPL-3.0-or-later
#include <criterion/criterion.h>
#include <math.h>

#include "run/stats.h"

Test(stats, median_of_an_odd_number_is_the_middle_one)
{
    double      values[] = {3, 1, 2};
    emp_summary s = emp_summary_of(values, 3);

    cr_expect(s.median == 2 && s.min == 1 && s.max == 3);
}

Test(stats, median_of_an_even_number_is_halfway)
{
    double values[] = {4, 1, 2, 9};

    cr_expect_eq(emp_summary_of(values, 4).median, (2.0 + 4.0) / 2);
}

Test(stats, out_of_memory_counts_as_slowest)
{
    double      values[] = {INFINITY, 1, 2};
    emp_summary s = emp_summary_of(values, 3);

    cr_expect_eq(s.median, 2);
    cr_expect(isinf(s.max));
}

Test(stats, median_is_out_of_memory_when_most_are)
{
    double values[] = {INFINITY, 1, INFINITY};

    cr_expect(isinf(emp_summary_of(values, 3).median));
}

Test(stats, nothing_has_no_median) { cr_expect(isnan(emp_summary_of(NULL, 0).median)); }

Test(stats, half_of_the_values_lie_between_the_quartiles)
{
    double        values[] = {5, 1, 4, 2, 3};
    emp_quartiles q = emp_quartiles_of(values, 5);

    cr_expect(q.low == 2 && q.median == 3 && q.high == 4 && q.count == 5);
    cr_expect(isnan(emp_quartiles_of(values, 0).median));
}
