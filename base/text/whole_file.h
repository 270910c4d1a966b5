/** \file base/text/whole_file.h
 * The bytes of a file, read at once.
 */
#ifndef EMP_BASE_TEXT_WHOLE_FILE_H
#define EMP_BASE_TEXT_WHOLE_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/** Reads all that is left of \a file; \a path is for messages. It need not be seekable. O(bytes).
 * Of a regular file the size is looked at before memory is taken.
 * \param text  The bytes and a zero behind them; the caller releases it by emp_free().
 * \param most  More bytes than that are refused.
 * \retval EMP_EIO      It cannot be read.
 * \retval EMP_EFORMAT  It is longer. */
emp_status emp_whole_file_read(char **text, size_t *size, FILE *file, const char *path,
                               size_t most, emp_error *err);

/** Opens the file, reads it, and closes it. */
emp_status emp_whole_file_load(char **text, size_t *size, const char *path, size_t most,
                               emp_error *err);

#endif /* EMP_BASE_TEXT_WHOLE_FILE_H */
