/** \file base/io/process.h
 * Children: other programs, and processes under a watcher.
 */
#ifndef EMP_BASE_IO_PROCESS_H
#define EMP_BASE_IO_PROCESS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"

/** fork() of a child that does not hear Ctrl-C, SIGTERM, SIGHUP and SIGUSR1. They reach the whole group and are
 * for the parent to answer. The child dies with the thread that calls, so call it from one that outlives
 * the child. A program that the child becomes is no different. */
pid_t emp_program_fork(void);

/** A program whose standard output is read. */
typedef struct {
    FILE *output; /**< NULL: it could not be started */
    pid_t child;
} emp_program;

/** Starts a program by emp_program_fork(). Files that are open without O_CLOEXEC are open there, too. To
 * be closed in any case. errno says why output is NULL.
 * \param argument  Of the program, its name first; NULL behind the last one, of 15 at most. */
emp_program emp_program_open(const char *const *argument);
/** Waits for its end. Whether it was started and ended with status 0. A program that is not done with its
 * output may end by SIGPIPE. */
bool emp_program_close(emp_program *program);

enum { EMP_PROGRAM_PATH_BYTES = 32 };

/** A file in $TMPDIR, else /tmp, whose name is gone at once, so that nothing of it is left. \retval EMP_EIO */
emp_status emp_program_create_input(FILE **file, emp_error *err);
/** Writes what is buffered. The path is the file's in programs that are started while it is open.
 * \retval EMP_EIO  Something could not be written. */
emp_status emp_program_finish_input(FILE *file, char path[EMP_PROGRAM_PATH_BYTES],
                                    emp_error *err);

/** Whether a program can be started and ends with status 0. It reads nothing, and what it prints is
 * dropped. Unlike system() this leaves the signals of the caller as they are.
 * \param argument  Of the program, its name first; NULL behind the last one. */
bool emp_program_succeeds(const char *const *argument);

/* Children that may not clean up after themselves. A watcher, a small process between the child and this one,
 * adopts all that the child starts, also in sessions of its own. It kills them when emp_watcher_end() says so or
 * when this process ends. */

/** fork() of a child in a group of its own, which does not hear Ctrl-C and other signals for the group of this
 * process. Watchers are listed for emp_watcher_end_all(), 64 at a time; others end with this process.
 * All end with the thread that calls, so call it from one that outlives the child.
 * \return  0 in the child; its watcher in this process, which ends as the child does when the child and all
 *          that it has started have ended; -1 with errno. */
pid_t emp_watcher_fork(void);

/** Ends the child and all that it has started, and waits for that, for a few seconds at most.
 * \return  How the child has ended, as waitpid() says it. */
int emp_watcher_end(pid_t watcher);

/** Tells all listed watchers to end their children, without waiting: for a signal handler that ends the
 * program. Safe in handlers. */
void emp_watcher_end_all(void);

#endif /* EMP_BASE_IO_PROCESS_H */
