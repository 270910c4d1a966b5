/** \file tests/support/survive.h
 * Every allocation of a call fails in turn (base/mem.h): each failure must be reported, and
 * leave no memory behind.
 */
#ifndef EMP_TESTS_SUPPORT_SURVIVE_H
#define EMP_TESTS_SUPPORT_SURVIVE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

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

/** As a Criterion .fini, or the end of one: no memory is left. Criterion passes a test whose assertions fail
 * there; only a crash it does not. */
static inline void end_without_memory(void)
{
    if (emp_mem_live_blocks() == 0) return;
    fprintf(stderr, "%ld blocks of memory are left\n", emp_mem_live_blocks());
    abort();
}

#endif /* EMP_TESTS_SUPPORT_SURVIVE_H */
