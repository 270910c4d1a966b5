/** \file tests/support/survive.h
 * Calls that must succeed, be refused, or survive a lack of memory, in a line each. It brings Criterion, the
 * headers of C that tests use, errors and counted memory.
 */
#ifndef EMP_TESTS_SUPPORT_SURVIVE_H
#define EMP_TESTS_SUPPORT_SURVIVE_H

#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/** Releases the variable where its scope ends: SCOPED(emp_csv, emp_csv_clear) csv = {0}; */
#define SCOPED(type, release) __attribute__((cleanup(release))) type

static inline void own_free(void *held) { free(*(void **)held); }
static inline void own_emp_free(void *held) { emp_free(*(void **)held); }
#define OWN_FREE     __attribute__((cleanup(own_free)))
#define OWN_EMP_FREE __attribute__((cleanup(own_emp_free)))

/** Defines the function that EMP_OWNER() names for pointers to a type. */
#define EMP_OWNS(type, destroy) \
    static inline void type##_release(type **held) { destroy(*held); }
#define EMP_OWNER(type) SCOPED(type *, type##_release)

/** Stops the test with the message of the error unless the status is EMP_OK. The expression \a call
 * may pass &err, an error that the macro declares. */
#define ASSERT_OK(call)                              \
    do {                                             \
        emp_error err = {0};                         \
        cr_assert_eq((call), EMP_OK, "%s", err.msg); \
    } while (0)

/** Expects of such a call the status \a want and a message that contains \a part. */
#define EXPECT_REFUSED(call, want, part)                                            \
    do {                                                                            \
        emp_error err = {0};                                                        \
        cr_expect_eq((call), (want), "with the message: %s", err.msg);              \
        cr_expect_not_null(strstr(err.msg, (part)), "\"%s\" lacks \"%s\"", err.msg, \
                           (part));                                                 \
    } while (0)

/** Lets \a text be all that such a call writes to the stream `out`; release with free(). */
#define ASSERT_PRINTED(text, call)                             \
    do {                                                       \
        size_t printed_bytes_ = 0;                             \
        FILE  *out = open_memstream(&(text), &printed_bytes_); \
        ASSERT_OK(call);                                       \
        fclose(out);                                           \
    } while (0)

/** Lets every allocation of \a call fail in turn (base/mem.h): each failure must be reported, and
 * leave no memory behind. \a undo is a statement that releases what a failed call may leave. The
 * caller owns the result of the last call, which succeeds. */
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

/** Ends the program if memory is left; for a Criterion .fini or the end of one. There Criterion passes a test whose
 * assertions fail, but not one that crashes. */
static inline void expect_all_freed(void)
{
    if (emp_mem_live_blocks() == 0) return;
    fprintf(stderr, "%ld blocks of memory are left\n", emp_mem_live_blocks());
    abort();
}

#endif /* EMP_TESTS_SUPPORT_SURVIVE_H */
