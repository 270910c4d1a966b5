// SPDX-License-Identifier: GPL-3.0-or-later
/* The first failure is the one that is kept, and messages never overflow. */
#include "tests/support/survive.h"

static emp_status inner(emp_error *err)
{
    return EMP_ERROR(EMP_EFORMAT, "size %d of \"%s\"", 7, "x");
}

static emp_status outer(emp_error *err)
{
    if (inner(err) != EMP_OK) return EMP_ERROR(EMP_EIO, "the outer layer knows less");
    return EMP_OK;
}

static emp_status trying(emp_error *err, bool *reached_end)
{
    EMP_CHECK(inner(err));
    *reached_end = true;
    return EMP_OK;
}

Test(error, keeps_the_first_failure_with_its_place)
{
    emp_error err = {0};

    cr_assert_eq(outer(&err), EMP_EIO);
    cr_expect_eq(err.status, EMP_EFORMAT);
    cr_expect_str_eq(err.msg, "size 7 of \"x\"");
    cr_expect_not_null(strstr(err.file, "test_error.c"));
    cr_expect_gt(err.line, 0);
}

Test(error, may_be_null_and_is_left_at_by_a_check)
{
    emp_error err = {0};
    bool      reached_end = false;

    cr_expect_eq(inner(NULL), EMP_EFORMAT);
    cr_expect_eq(trying(&err, &reached_end), EMP_EFORMAT);
    cr_expect_not(reached_end);
}

Test(error, of_a_long_message_both_ends_stay)
{
    emp_error err = {0};
    char      path[4000];

    for (size_t i = 0; i + 1 < sizeof path; i++) path[i] = "\xc3\xa9"[i % 2];
    path[sizeof path - 2] = path[sizeof path - 1] = '\0';
    emp_error_set(&err, EMP_EIO, "file.c", 1, "%s cannot be written: a reason", path);
    cr_expect_eq(strncmp(err.msg, "\xc3\xa9\xc3", 3), 0);
    cr_expect_not_null(strstr(err.msg, "\xa9...\xc3"), "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, " cannot be written: a reason"), "%s", err.msg);
    cr_expect_lt(strlen(err.msg), (size_t)EMP_ERROR_MSG_BYTES);
}

Test(error, every_status_has_its_own_text)
{
    static const emp_status all[] = {
#define X(name, value, text) name,
        EMP_STATUS_LIST(X)
#undef X
    };

    for (size_t i = 0; i < COUNT(all); i++) {
        cr_expect_str_neq(emp_status_str(all[i]), "unknown status");
        for (size_t k = 0; k < i; k++)
            cr_expect_str_neq(emp_status_str(all[i]), emp_status_str(all[k]));
    }
    cr_expect_str_eq(emp_status_str((emp_status)77), "unknown status");
}
