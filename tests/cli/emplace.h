/** \file tests/cli/emplace.h
 * The program emplace in a folder of its own, with files that it takes and files that it
 * has to refuse.
 *
 * Parts of what it prints are separated by bars: "a|b" expects a and b.
 */
#ifndef EMP_TESTS_CLI_EMPLACE_H
#define EMP_TESTS_CLI_EMPLACE_H

#include <jansson.h>
#include <stdbool.h>

#include "tests/support/program.h"

/** As a Criterion .init and .fini: makes the folder with all files, removes it. */
void emplace_set_up(void);
void emplace_tear_down(void);

/** Runs "emplace ARGUMENTS"; its exit status. */
int emplace_run(const char *arguments);

/** The same, with SIGTERM on the way. */
int emplace_interrupt(const char *arguments);

/** Runs it; ends the test unless it succeeds. */
void emplace_ok(const char *arguments);
/** Likewise, and expects parts of standard output, or of standard error. */
void emplace_prints(const char *arguments, const char *parts);
void emplace_warns(const char *arguments, const char *parts);
/** Runs it; expects status 1 or 2, nothing on standard output, and one sentence with all parts. */
void emplace_refuses(const char *arguments, const char *parts);

/** Its output, kept until emplace_tear_down(). Fails the test if that is not JSON. */
json_t *emplace_json(const char *arguments);
/** The last output, or a file of the folder, likewise. */
json_t *emplace_printed(void);
json_t *emplace_load(const char *name);
/** A number of what it prints. */
double emplace_number(const char *arguments, const char *path);

/** A value by the path of its keys and indices, "rows/0/method"; NULL: there is none. */
const json_t *json_at(const json_t *object, const char *path);
double        number_at(const json_t *object, const char *path); /**< NAN: none */
const char   *text_at(const json_t *object, const char *path);   /**< "": none */
bool          is_null_at(const json_t *object, const char *path);

/** Expects all of the keys, which blanks separate. */
void emplace_expect_keys(const json_t *object, const char *keys);
/** Expects the parts in a text. */
void emplace_expect_parts(const char *text, const char *parts);

/** Writes a graph that sample_text() makes. */
void emplace_write_graph(const char *name, const char *statements);
/** Writes a text to a file of the folder; whether there is one; whether two have the same bytes. */
void emplace_write(const char *name, const char *text);
bool emplace_has_file(const char *name);
bool emplace_same_files(const char *name, const char *other);
/** Expects parts of a file. */
void emplace_expect_file(const char *name, const char *parts);

#endif /* EMP_TESTS_CLI_EMPLACE_H */
