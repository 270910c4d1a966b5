/** \file base/text/file.h
 * Brings a file into memory, unpacked if it is compressed.
 */
#ifndef EMP_BASE_TEXT_FILE_H
#define EMP_BASE_TEXT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/** Protobuf itself stops at 2 GiB; a file that unpacks to more is no input. */
#define EMP_FILE_BYTES_MAX ((size_t)1 << 31)

/** How much emp_file_open() reads, and what emp_file_read() takes for the rest. */
#define EMP_FILE_FIRST_BYTES ((size_t)1 << 16)
#define EMP_FILE_ALL         SIZE_MAX

struct gzFile_s;

/** A file that is open, of which the beginning is in memory. */
typedef struct {
    char  *bytes; /**< unpacked; moves when more is read */
    size_t size;
    bool   is_whole;   /**< nothing is left to read */
    size_t disk_bytes; /**< of the file as it is, which may be packed */

    size_t           capacity; /**< private */
    struct gzFile_s *stream;   /**< private */
} emp_file;

/** Opens a file and reads its first EMP_FILE_FIRST_BYTES. The caller closes it.
 * \retval EMP_EIO, EMP_EFORMAT, EMP_ENOMEM  As emp_file_load(); the file is closed. */
emp_status emp_file_open(emp_file *file, const char *path, emp_error *err);

/** Reads on until \a least bytes are there or the file ends; EMP_FILE_ALL: to its end. */
emp_status emp_file_read(emp_file *file, size_t least, emp_error *err);

/** Closes it and releases its bytes, unless they are somebody else's (no capacity); also after a failure, or twice. */
void emp_file_close(emp_file *file);

/** Reads a file; gzip is recognised by its first bytes, whatever the name is.
 * \a *bytes is the caller's, to be released by emp_free().
 *
 * \retval EMP_EIO      Missing, unreadable, no regular file.
 * \retval EMP_EFORMAT  Empty, damaged or truncated gzip, more than EMP_FILE_BYTES_MAX, or
 *                      the pointer that Git LFS leaves in place of a file. */
emp_status emp_file_load(const char *path, char **bytes, size_t *size, emp_error *err);

/** The same, where the caller does not name the file: "PATH: cannot be read: ...". */
emp_status emp_file_load_named(const char *path, char **bytes, size_t *size,
                               emp_error *err);

/* The bytes of a file, read at once. */

/** Reads all that is left of \a file; \a path is for messages. It need not be seekable. O(bytes).
 * The size of a regular file is checked before memory is taken.
 * \param text  The bytes and a zero behind them; the caller releases it by emp_free().
 * \param most  More bytes than that are refused.
 * \retval EMP_EIO      It cannot be read.
 * \retval EMP_EFORMAT  It is longer. */
emp_status emp_whole_file_read(char **text, size_t *size, FILE *file, const char *path,
                               size_t most, emp_error *err);

/** Opens the file, reads it, and closes it. */
emp_status emp_whole_file_load(char **text, size_t *size, const char *path, size_t most,
                               emp_error *err);

#endif /* EMP_BASE_TEXT_FILE_H */
