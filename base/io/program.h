/** \file base/io/program.h
 * Other programs, as children.
 */
#ifndef EMP_BASE_IO_PROGRAM_H
#define EMP_BASE_IO_PROGRAM_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/** fork() of a child that does not hear Ctrl-C, which reaches the whole group and is for the parent to
 * answer. The child dies with the thread that calls, so call it from one that outlives the child. A
 * program that the child becomes is no different. */
pid_t emp_program_fork(void);

/** A program whose standard output is read. */
typedef struct {
    FILE *output; /**< NULL: none could be started */
    pid_t child;
} emp_program;

/** Starts a program, a child as above.
 * \param argument  Of the program, its name first; NULL behind the last one. */
emp_program emp_program_open(const char *const *argument);
/** Waits for its end. Whether it was started and ended with status 0. */
bool emp_program_close(emp_program *program);

/** Whether a program can be started and ends with status 0. It reads nothing, and what it prints is
 * dropped. Unlike system() this leaves the signals of the caller as they are.
 * \param argument  Of the program, its name first; NULL behind the last one. */
bool emp_program_succeeds(const char *const *argument);

#endif /* EMP_BASE_IO_PROGRAM_H */
