/** \file base/io/atomic_file.h
 * A file that appears whole or not at all: it is written under another name beside its
 * place and renamed when it is complete and on the disk. A file that was there stays
 * until then, and the new one has its permissions. Links are followed, and refused if they lead to
 * nothing. A pipe or /dev/null, which is not a file, is written to directly.
 *
 *     emp_atomic_file f = {0};
 *
 *     EMP_TRY(emp_atomic_file_open(&f, path, err));
 *     fputs("...", f.stream);
 *     EMP_TRY(emp_atomic_file_commit(&f, err));
 * cleanup:
 *     emp_atomic_file_abort(&f);
 *
 * Errors of single writes need no check: commit sees them. Messages name the path that
 * was asked for: "PATH cannot be written: No space left on device".
 */
#ifndef EMP_BASE_IO_ATOMIC_FILE_H
#define EMP_BASE_IO_ATOMIC_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/** Zero-initialise before use. */
typedef struct {
    FILE    *stream;    /**< to write to; NULL = closed */
    char    *path;      /**< private */
    char    *temporary; /**< private; NULL = there is none, or none any more */
    uint64_t absent; /**< private; names the path if no file may be there; 0 = one may */
    int      guard;  /**< private; holds the temporary file's lock; 0 = there is none */
} emp_atomic_file;

/** Opens \a file for writing; \a path is copied. After emp_atomic_file_drop_all() it never returns.
 * \retval EMP_ENOMEM \retval EMP_EIO */
emp_status emp_atomic_file_open(emp_atomic_file *file, const char *path, emp_error *err);

/** Closes what was written and puts it in its place. See emp_atomic_file_expect_none() for what else may
 * become of it.
 * \retval EMP_EIO  This, or a write before it, failed; nothing has changed at the path. */
emp_status emp_atomic_file_commit(emp_atomic_file *file, emp_error *err);

/** Drops what was written, and releases \a file; after a commit only the latter. */
void emp_atomic_file_abort(emp_atomic_file *file);

/** Writes the output of \a print for \a what as a file that appears whole, or not at all if \a print fails.
 * \retval EMP_ENOMEM \retval EMP_EIO Or the status of \a print. */
emp_status emp_atomic_file_write(const char *path,
                                 emp_status (*print)(FILE *stream, const void *what,
                                                     emp_error *err),
                                 const void *what, emp_error *err);

/** No file is at \a path: the next commit there fails if another program has put one there meanwhile.
 * The new file stays beside it, under a name that the message has: r.kept.h5 for r.h5.
 * For at most 64 paths; beyond them a file is replaced as ever. */
void emp_atomic_file_expect_none(const char *path);

/** Has emp_atomic_file_drop_all() remove a file of that name, too, which is borrowed until it is taken off the
 * list. For files that belong to a writer, as its lock does. A lock that is made or removed at that moment may stay;
 * the next program takes it over. */
void emp_atomic_file_list(char *name);
void emp_atomic_file_unlist(char *name);

/** Removes the temporary files of all writers of this program, of which there are at most 64 at a
 * time: for a signal handler that ends the program. Safe in handlers. It waits up to 300 ms for those that are
 * being made. The caller must end the process: no other thread opens or releases a file from now on. */
void emp_atomic_file_drop_all(void);

/** Removes what writers that were killed left beside \a path. A writer has its temporary file locked.
 * Where the file system has no locks all are removed, so call it only if no program writes there.
 * \retval EMP_ENOMEM */
emp_status emp_atomic_file_sweep(const char *path, emp_error *err);

/** Removes what writers that were killed left in a folder, of the paths whose names \a is_ours accepts,
 * given their length. Files whose writers may live stay, as do all where there are no locks. O(files). */
void emp_atomic_file_sweep_folder(const char *folder,
                                  bool (*is_ours)(const char *name, size_t length));

/** The length of the path that a temporary file of this name belongs to: the length of r.h5 for r.h5.tmp0.
 * 0: it is no such name. */
size_t emp_atomic_file_owner(const char *name);

/** Whether two paths are there and lead to one file. */
bool emp_file_is_same(const char *one, const char *other);

#endif /* EMP_BASE_IO_ATOMIC_FILE_H */
