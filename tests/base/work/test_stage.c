// SPDX-License-Identifier: GPL-3.0-or-later
#include <criterion/criterion.h>

#include "base/work.h"

Test(stage, what_is_set_is_shown_until_the_one_before_is_back)
{
    cr_expect_null(emp_stage_get());
    const char *none = emp_stage_set("outer");
    const char *outer = emp_stage_set("inner");
    cr_expect_null(none);
    cr_expect_str_eq(outer, "outer");
    cr_expect_str_eq(emp_stage_get(), "inner");
    cr_expect_str_eq(emp_stage_set(outer), "inner");
    cr_expect_str_eq(emp_stage_get(), "outer");
    (void)emp_stage_set(none);
    cr_expect_null(emp_stage_get());
}
