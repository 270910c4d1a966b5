/** \file tests/support/survive.h
 * Calls that end with a status (base/error.h): those that must succeed, those that must be refused,
 * and those of which every allocation fails in turn (base/mem.h): each failure must be reported, and
 * leave no memory behind. Within the arguments of MUST... `why` is the error of the call.
 */
#ifndef EMP_TESTS_SUPPORT_SURVIVE_H
#define EMP_TESTS_SUPPORT_SURVIVE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

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

/** Evaluates \a call, an emp_status, until no allocation of it fails; \a undo is a statement
 * that releases what a failed call may leave. What the last call made is the caller's. */
#define SURVIVES_EVERY_ALLOCATION_FAILURE(call, undo)            \
    do {                                                         \
        const long before_ = emp_mem_live_blocks();              \
        emp_status status_ = EMP_ENOMEM;                         \
        for (long allowed_ = 0; status_ != EMP_OK; allowed_++) { \
            emp_mem_fail_after(allowed_);                        \
            status_ = (call);                                    \
            emp_mem_fail_after(-1);                              \
            if (status_ == EMP_OK) break;                        \
            cr_assert_eq(status_, EMP_ENOMEM);                   \
            undo;                                                \
            cr_assert_eq(emp_mem_live_blocks(), before_);        \
        }                                                        \
    } while (0)

#endif /* EMP_TESTS_SUPPORT_SURVIVE_H */
