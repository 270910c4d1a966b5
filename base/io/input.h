/** \file base/io/input.h
 * Files that are read. A pipe, a device or a folder is none: a program that waits for a pipe that
 * nobody writes to, or reads /dev/zero, does not end.
 */
#ifndef EMP_BASE_IO_INPUT_H
#define EMP_BASE_IO_INPUT_H

#include <stdio.h>

#include "base/error.h"

/** Opens a file for reading; the caller closes it. It never waits.
 * \retval EMP_EIO  It cannot be read, or is no file: "PATH cannot be read: it is a pipe, not a
 *                  file". */
emp_status emp_input_open(FILE **file, const char *path, emp_error *err);

#endif /* EMP_BASE_IO_INPUT_H */
