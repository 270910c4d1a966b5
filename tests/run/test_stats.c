// SPDX-License-Identifier: GPL-3.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "run/stats.h"

Test(stats, median_is_the_middle_one_or_halfway_and_counts_out_of_memory_as_slowest)
{
    static const struct {
        size_t count;
        double values[4], min, median, max;
    } cases[] = {{3, {3, 1, 2}, 1, 2, 3},
                 {4, {4, 1, 2, 9}, 1, 3, 9},
                 {3, {INFINITY, 1, 2}, 1, 2, INFINITY},
                 {3, {INFINITY, 1, INFINITY}, 1, INFINITY, INFINITY}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double values[4];
        memcpy(values, cases[i].values, sizeof values);
        emp_summary s = emp_summary_of(values, cases[i].count);
        cr_expect(s.median == cases[i].median && s.min == cases[i].min &&
                      s.max == cases[i].max,
                  "case %zu: %g in %g .. %g", i, s.median, s.min, s.max);
    }
    cr_expect(isnan(emp_summary_of(NULL, 0).median));
}

Test(stats, half_of_the_values_lie_between_the_quartiles)
{
    double        values[] = {5, 1, 4, 2, 3};
    emp_quartiles q = emp_quartiles_of(values, 5);

    cr_expect(q.low == 2 && q.median == 3 && q.high == 4 && q.count == 5);
    cr_expect(isnan(emp_quartiles_of(values, 0).median));
}
