/** \file tests/cli/emplace.h
 * The program emplace in a folder of its own, with files that it takes and files that it
 * has to refuse.
 */
#ifndef EMP_TESTS_CLI_EMPLACE_H
#define EMP_TESTS_CLI_EMPLACE_H

#include <jansson.h>

#include "tests/support/program.h"

/** As a Criterion .init and .fini: makes the folder with all files, removes it. */
void emplace_set_up(void);
void emplace_tear_down(void);

/** Runs "emplace ARGUMENTS"; its exit status. */
int emplace_run(const char *arguments);

/** The same, with SIGTERM on the way. */
int emplace_interrupt(const char *arguments);

/** What it prints, which the caller releases. Fails the test if that is not JSON. */
json_t *emplace_json(const char *arguments);

/** Expects all of \a keys [\a count]. */
void emplace_expect_keys(const json_t *object, const char *const *keys, size_t count);

#endif /* EMP_TESTS_CLI_EMPLACE_H */
