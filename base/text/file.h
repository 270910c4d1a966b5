/** \file base/text/file.h
 * Brings a file into memory, unpacked if it is compressed.
 */
#ifndef EMP_BASE_TEXT_FILE_H
#define EMP_BASE_TEXT_FILE_H

#include <stddef.h>

#include "base/error.h"

/** Protobuf itself stops at 2 GiB; a file that unpacks to more is no input. */
#define EMP_FILE_BYTES_MAX ((size_t)1 << 31)

/** Reads a file; gzip is recognised by its first bytes, whatever the name is.
 * \a *bytes is the caller's, to be released by emp_free().
 *
 * \retval EMP_EIO      Missing, unreadable, no regular file.
 * \retval EMP_EFORMAT  Empty, damaged or truncated gzip, more than EMP_FILE_BYTES_MAX, or
 *                      the pointer that Git LFS leaves in place of a file. */
emp_status emp_file_load(const char *path, char **bytes, size_t *size, emp_error *err);

/** The same, where nobody else names the file: "PATH: cannot be read: ...". */
emp_status emp_file_load_named(const char *path, char **bytes, size_t *size,
                               emp_error *err);

#endif /* EMP_BASE_TEXT_FILE_H */
