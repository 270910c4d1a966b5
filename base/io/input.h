/** \file base/io/input.h
 * Files that are read. A pipe, a device or a folder is none: a program that waits for a pipe
 * without a writer, or reads /dev/zero, does not end.
 */
#ifndef EMP_BASE_IO_INPUT_H
#define EMP_BASE_IO_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/** Opens a file for reading; the caller closes it. It never waits.
 * \retval EMP_EIO  It cannot be read, or is no file: "PATH cannot be read: it is a pipe, not a
 *                  file". */
emp_status emp_input_open(FILE **file, const char *path, emp_error *err);

/** From now on emp_input_keep() has files stay. For a program that runs one command; in a library
 * who calls decides what is replaced. */
void emp_input_keep_all(void);

/** Has the file stay while this process runs: no emp_atomic_file takes its place. For what is read as a
 * graph, a machine, a table, ..., also by another file's word, and never made anew. For at most 1024
 * files, and after emp_input_keep_all(); else this does nothing. */
void emp_input_keep(const char *path);

/** Has the file at \a path be replaced after all if it is that at \a source: by what makes it anew from
 * itself, as a fit does a model's constants. */
void emp_input_give_up(const char *path, const char *source);

/** A number of the file at \a path as it is now: another once it is written. 0: there is none. */
uint64_t emp_input_state(const char *path);

/** Whether \a path leads to such a file, as it was when it was read. */
bool emp_input_is_kept(const char *path);

#endif /* EMP_BASE_IO_INPUT_H */
