// SPDX-License-Identifier: GPL-3.0-or-later
/* Arrays are zeroed, aligned when large, and freed together. */
#include <criterion/criterion.h>
#include <stdint.h>

#include "base/mem.h"

Test(arrays, are_zeroed_aligned_and_freed_together)
{
    emp_arrays arrays = {0};
    int32_t   *few = EMP_ADD_ARRAY(&arrays, int32_t, 3);
    double    *many = EMP_ADD_ARRAY(&arrays, double, 10000);
    bool      *none = EMP_ADD_ARRAY(&arrays, bool, 0);

    cr_assert(!arrays.is_short && few != NULL && many != NULL && none != NULL);
    cr_expect_eq((uintptr_t)many % 64, 0u);
    for (int32_t i = 0; i < 3; i++) cr_expect_eq(few[i], 0);
    for (int32_t i = 0; i < 10000; i++) cr_expect_eq(many[i], 0.0);
    cr_expect_eq(emp_mem_live_blocks(), 3);
    emp_arrays_clear(&arrays);
    cr_expect_eq(emp_mem_live_blocks(), 0);
    emp_arrays_clear(&arrays);
}

Test(arrays, remember_that_memory_was_out_for_one)
{
    emp_arrays arrays = {0};

    cr_expect_null(EMP_ADD_ARRAY(&arrays, double, SIZE_MAX / 8),
                   "sizes near the end overflow");
    cr_expect(arrays.is_short);
    emp_arrays_clear(&arrays);
    cr_expect(!arrays.is_short);
    cr_assert_not_null(EMP_ADD_ARRAY(&arrays, double, 1));
    emp_mem_fail_after(0);
    cr_expect_null(EMP_ADD_ARRAY(&arrays, double, 1));
    emp_mem_fail_after(-1);
    cr_expect_not_null(EMP_ADD_ARRAY(&arrays, double, 1));
    cr_expect(arrays.is_short);
    emp_arrays_clear(&arrays);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
