/** \file tests/support/status.h
 * Expectations of calls that return an emp_status. Calls record their failure in `why`, so that the
 * message of a test that fails has the sentence.
 */
#ifndef EMP_TESTS_SUPPORT_STATUS_H
#define EMP_TESTS_SUPPORT_STATUS_H

#include "tests/support/survive.h"

static emp_error why __attribute__((unused));

/** Ends the test unless \a call succeeds. */
#define MUST(call) cr_assert_eq((call), EMP_OK, "%s", why.msg)

/** Expects that \a call fails with \a status and a sentence that has \a part. */
#define MUST_FAIL(call, status, part)                                               \
    do {                                                                            \
        why = (emp_error){0};                                                       \
        cr_expect_eq((call), (status), "%s", why.msg);                              \
        cr_expect_not_null(strstr(why.msg, (part)), "%s, not %s", why.msg, (part)); \
    } while (0)

#endif /* EMP_TESTS_SUPPORT_STATUS_H */
