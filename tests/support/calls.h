/** \file tests/support/calls.h
 * Calls that end with a status (base/error.h): those that must succeed and those that must be
 * refused. Within the arguments of these macros, `why` is the error of the call.
 */
#ifndef EMP_TESTS_SUPPORT_CALLS_H
#define EMP_TESTS_SUPPORT_CALLS_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/** Ends the test unless the call succeeds. */
#define MUST(call)                                                   \
    do {                                                             \
        emp_error        why = {0};                                  \
        const emp_status status_ = (call);                           \
        cr_assert_eq(status_, EMP_OK, "%s: %s (%s)", #call, why.msg, \
                     emp_status_str(status_));                       \
    } while (0)

/** Expects that the call ends with the status and that its error has the text \a part: the
 * value, file, line or op that is wrong. */
#define MUST_FAIL(call, status, part)                                     \
    do {                                                                  \
        emp_error        why = {0};                                       \
        const emp_status status_ = (call);                                \
        cr_expect(status_ == (status) && strstr(why.msg, (part)) != NULL, \
                  "%s ends with %s: %s; no \"%s\" there", #call,          \
                  emp_status_str(status_), why.msg, (part));              \
    } while (0)

/** Lets \a text be all that a call writes to the stream `out`; release with free(). */
#define MUST_PRINT(text, call)                                 \
    do {                                                       \
        size_t printed_bytes_ = 0;                             \
        FILE  *out = open_memstream(&(text), &printed_bytes_); \
        MUST(call);                                            \
        fclose(out);                                           \
    } while (0)

#endif /* EMP_TESTS_SUPPORT_CALLS_H */
