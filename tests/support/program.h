/** \file tests/support/program.h
 * Runs the built programs in the scratch folder, as a user would.
 */
#ifndef EMP_TESTS_SUPPORT_PROGRAM_H
#define EMP_TESTS_SUPPORT_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

/** The output of the last program on standard output and standard error. */
extern char *program_out, *program_err;

/** Runs the program at \a path in the build folder through the shell; its exit status.
 * Fails the test if it does not exit by itself. */
int program_run(const char *path, const char *arguments);

/** Starts it likewise, and does not wait for it; \a before: commands of the shell that come
 * before it, or "". */
pid_t program_start(const char *before, const char *path, const char *arguments);

/** Runs it likewise, and sends SIGTERM when it has worked for 0.7 CPU seconds. Fails the test if
 * it ends before. */
int program_interrupt(const char *path, const char *arguments);

/** Releases what was written; as part of a Criterion .fini. */
void program_forget(void);

/** Whether \a text is one line that begins with \a begin. */
bool program_is_one_sentence(const char *text, const char *begin);

#endif /* EMP_TESTS_SUPPORT_PROGRAM_H */
