/** \file tests/support/expect.h
 * A call that must succeed or be refused, in one line.
 *
 * The expression \a call may pass &err, an error that the macro declares.
 */
#ifndef EMP_TESTS_SUPPORT_EXPECT_H
#define EMP_TESTS_SUPPORT_EXPECT_H

#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"

/** Stops the test with the message of the error unless the status is EMP_OK. */
#define ASSERT_OK(call)                              \
    do {                                             \
        emp_error err = {0};                         \
        cr_assert_eq((call), EMP_OK, "%s", err.msg); \
    } while (0)

/** Expects the status \a want and a message that contains \a part. */
#define EXPECT_REFUSED(call, want, part)                                            \
    do {                                                                            \
        emp_error err = {0};                                                        \
        cr_expect_eq((call), (want), "with the message: %s", err.msg);              \
        cr_expect_not_null(strstr(err.msg, (part)), "\"%s\" lacks \"%s\"", err.msg, \
                           (part));                                                 \
    } while (0)

#endif /* EMP_TESTS_SUPPORT_EXPECT_H */
