// SPDX-License-Identifier: GPL-3.0-or-later
/* Are marks round, few and inside, and values where they belong? */
#include <criterion/criterion.h>
#include <math.h>

#include "bench/plots/axis.h"

static void expect_marks(emp_axis axis, int32_t most, const double *expected,
                         int32_t count)
{
    double mark[EMP_AXIS_MARKS];

    cr_assert_eq(emp_axis_marks(&axis, most, mark), count, "%d marks of %g to %g",
                 emp_axis_marks(&axis, most, mark), axis.low, axis.high);
    for (int32_t i = 0; i < count; i++)
        cr_expect_float_eq(mark[i], expected[i], 1e-9 * fabs(expected[i]) + 1e-12,
                           "%g, not %g", mark[i], expected[i]);
}

Test(axis, linear_marks_are_even)
{
    expect_marks((emp_axis){.low = 0, .high = 1}, 5,
                 (const double[]){0, 0.2, 0.4, 0.6, 0.8, 1}, 6);
    expect_marks((emp_axis){.low = 0.31, .high = 0.58}, 6,
                 (const double[]){0.35, 0.4, 0.45, 0.5, 0.55}, 5);
    expect_marks((emp_axis){.low = -1, .high = 1}, 4,
                 (const double[]){-1, -0.5, 0, 0.5, 1}, 5);
    expect_marks((emp_axis){.low = 2, .high = 2}, 4, NULL, 0);
}

Test(axis, logarithmic_marks_are_decades_or_finer)
{
    expect_marks((emp_axis){.low = 1, .high = 1e4, .is_log = true}, 6,
                 (const double[]){1, 10, 100, 1e3, 1e4}, 5);
    expect_marks((emp_axis){.low = 0.15, .high = 3, .is_log = true}, 8,
                 (const double[]){0.2, 0.5, 1, 2}, 4);
    expect_marks((emp_axis){.low = 3, .high = 4, .is_log = true}, 6,
                 (const double[]){3, 3.2, 3.4, 3.6, 3.8, 4}, 6);
    expect_marks((emp_axis){.low = 1e-9, .high = 1e9, .is_log = true}, 5,
                 (const double[]){1e-8, 1e-4, 1, 1e4, 1e8}, 5);
}

Test(axis, values_have_places)
{
    emp_axis linear = {0, 10, false, 100, 0}, logarithmic = {1, 100, true, 0, 200};
    emp_axis empty = emp_axis_empty();

    cr_expect_float_eq(emp_axis_place(&linear, 2.5), 75, 1e-9);
    cr_expect_float_eq(emp_axis_place(&linear, 11), 0, 1e-9,
                       "beyond the end is at the end");
    cr_expect_float_eq(emp_axis_place(&logarithmic, 10), 100, 1e-9);
    emp_axis_stretch(&empty, INFINITY);
    emp_axis_stretch(&empty, NAN);
    cr_expect_gt(empty.low, empty.high, "what is not finite is no value");
    emp_axis_stretch(&empty, 3);
    cr_expect_eq(empty.low, 3);
    emp_axis_widen(&empty, 0.1);
    cr_expect(empty.low < 3 && empty.high > 3, "equal ends, too");
}

Test(axis, numbers_are_short)
{
    char text[32];

    cr_expect_str_eq(emp_axis_number(0.25, text, sizeof text), "0.25");
    cr_expect_str_eq(emp_axis_number(5000, text, sizeof text), "5000");
    cr_expect_str_eq(emp_axis_number(20000, text, sizeof text), "20k");
    cr_expect_str_eq(emp_axis_number(1.5e6, text, sizeof text), "1.5M");
    cr_expect_str_eq(emp_axis_number(-20000, text, sizeof text), "-20k");
}
