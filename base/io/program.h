/** \file base/io/program.h
 * Other programs, as children.
 */
#ifndef EMP_BASE_IO_PROGRAM_H
#define EMP_BASE_IO_PROGRAM_H

#include <stdbool.h>

/** Whether a program can be started and ends with status 0. It reads nothing, and what it prints is
 * dropped. Unlike system() this leaves signals as they are.
 * \param argument  Of the program, its name first; NULL behind the last one. */
bool emp_program_succeeds(const char *const *argument);

#endif /* EMP_BASE_IO_PROGRAM_H */
