// SPDX-License-Identifier: GPL-3.0-or-later
/* Are the numbers those of NumPy and Python? Theirs are written out here. */
#include <criterion/criterion.h>

#include "base/random.h"

Test(mt19937, draws_as_numpy_does)
{
    static const uint32_t below_5[] = {4, 0, 3, 3, 3, 1, 3, 2, 4, 0};
    emp_mt19937           mt;

    emp_mt19937_seed_numpy(&mt, 0);
    cr_expect_eq(emp_mt19937_uniform(&mt), 0.5488135039273248);
    emp_mt19937_seed_numpy(&mt, 42);
    cr_expect_eq(emp_mt19937_uniform(&mt), 0.3745401188473625);
    emp_mt19937_seed_numpy(&mt, 0);
    for (int i = 0; i < 10; i++)
        cr_expect_eq(emp_mt19937_below_numpy(&mt, 5), below_5[i], "%d", i);
    emp_mt19937_seed_numpy(&mt, 0);
    cr_expect_eq(emp_mt19937_below_numpy(&mt, 1), 0);
    cr_expect_eq(emp_mt19937_between(&mt, 10.0, 12.0), 10.0 + 2.0 * 0.5488135039273248);
}

Test(mt19937, draws_as_python_does)
{
    static const uint32_t below_10[] = {5, 2, 6, 0, 1, 8, 1, 5, 9, 0};
    emp_mt19937           mt;

    emp_mt19937_seed_python(&mt, 7);
    for (int i = 0; i < 10; i++)
        cr_expect_eq(emp_mt19937_below_python(&mt, 10), below_10[i], "%d", i);
    cr_expect_eq(emp_mt19937_uniform(&mt), 0.9097040631431023);
}
