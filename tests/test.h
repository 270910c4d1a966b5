/** \file tests/test.h
 * Includes what nearly every test needs: Criterion, the headers of C, a folder for files, and
 * expectations of calls.
 */
#ifndef EMP_TESTS_TEST_H
#define EMP_TESTS_TEST_H

#include "tests/support/scratch.h"
#include "tests/support/survive.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/** Removes the folder and expects that no memory is left; as a Criterion .fini. */
static inline void scratch_tear_down(void)
{
    scratch_remove();
    expect_all_freed();
}

/** Expects that \a call fails, with any status and a message that contains \a part, as
 * EXPECT_REFUSED() does with a given status. */
#define EXPECT_FAILS(call, part)                                                    \
    do {                                                                            \
        emp_error err = {0};                                                        \
        cr_expect_neq((call), EMP_OK, "no \"%s\"", (part));                         \
        cr_expect_not_null(strstr(err.msg, (part)), "\"%s\" lacks \"%s\"", err.msg, \
                           (part));                                                 \
    } while (0)

/** All that \a call writes to the stream `out`, kept until the test ends. */
#define PRINTED(call)                \
    __extension__({                  \
        char *text_ = NULL;          \
        ASSERT_PRINTED(text_, call); \
        scratch_keep(text_);         \
    })

#endif /* EMP_TESTS_TEST_H */
