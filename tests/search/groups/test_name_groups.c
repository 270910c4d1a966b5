// SPDX-License-Identifier: GPL-3.0-or-later
/* Do groups by name keep scopes together, and are there as many as can be? */
#include <criterion/criterion.h>

#include "base/mem.h"
#include "search/groups/name_groups.h"

enum { NAMES = 9 };

/* Not in order. "a-b" sorts between "a" and "a/..." by bytes. */
static const char *const names[NAMES] = {"b/x",   "a/y/p", "a-b", "a/x",  "a/y/q",
                                         "b/x_1", "a/y/r", "c",   "b/x_2"};
static int32_t           group[NAMES];

static void make(int32_t count)
{
    emp_error err = {0};

    cr_assert_eq(emp_name_groups(group, names, NAMES, count, &err), EMP_OK, "%s",
                 err.msg);
    for (int i = 0; i < NAMES; i++)
        cr_assert(group[i] >= 0 && group[i] < count, "%s in group %d", names[i],
                  group[i]);
}

/* Equal digits: one group. */
static void expect_groups(const char *digits)
{
    for (int i = 0; i < NAMES; i++) {
        for (int j = 0; j < i; j++)
            cr_expect_eq(group[i] == group[j], digits[i] == digits[j],
                         "%s in group %d, %s in %d", names[i], group[i], names[j],
                         group[j]);
    }
}

Test(name_groups, the_largest_scope_is_split_first)
{
    make(1);
    expect_groups("000000000");
    make(3); /* four scopes at the top: too many */
    expect_groups("000000000");
    make(4);
    expect_groups("102001031");
    make(5);
    expect_groups("102401031");
    make(6); /* both scopes of three would give seven */
    expect_groups("102401031");
    make(7);
    expect_groups("102451631");
    make(9);
    expect_groups("012345678");
}

Test(name_groups, an_op_named_as_a_scope_stays_with_it)
{
    static const char *const own[] = {"a", "a/b", "a/c", "a/c/d"};
    int32_t                  of[4];

    cr_assert_eq(emp_name_groups(of, own, 4, 4, NULL), EMP_OK);
    for (int i = 1; i < 4; i++) cr_expect_eq(of[i], of[0]);
}

Test(name_groups, equal_names_and_one_long_scope)
{
    static const char *const own[] = {"s/t/u/a", "s/t/u/b", "s/t/u/b", "s/t/u/c"};
    int32_t                  of[4];

    cr_assert_eq(emp_name_groups(of, own, 4, 3, NULL), EMP_OK);
    cr_expect(of[0] == 0 && of[1] == 1 && of[2] == 1 && of[3] == 2);
}

Test(name_groups, survives_every_allocation_failure)
{
    for (long allowed = 0;; allowed++) {
        emp_mem_fail_after(allowed);
        emp_status st = emp_name_groups(group, names, NAMES, 4, NULL);
        emp_mem_fail_after(-1);
        cr_assert_eq(emp_mem_live_blocks(), 0);
        if (st == EMP_OK) break;
        cr_assert_eq(st, EMP_ENOMEM);
    }
}
