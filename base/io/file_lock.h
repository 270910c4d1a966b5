/** \file base/io/file_lock.h
 * One program at a time writes a file that takes hours to make.
 *
 * The lock is a file beside it, PATH.lock, with the number of the process. The system releases it when
 * the process ends, however it does; a lock file that is left over is taken by the next program.
 *
 *     emp_file_lock lock = {0};
 *
 *     EMP_TRY(emp_file_lock_take(&lock, path, err));
 * cleanup:
 *     emp_file_lock_release(&lock);
 */
#ifndef EMP_BASE_IO_FILE_LOCK_H
#define EMP_BASE_IO_FILE_LOCK_H

#include <stdbool.h>

#include "base/error.h"

/** Zero-initialise before use. */
typedef struct {
    char *name;       /**< private; of the lock file; NULL = nothing is locked */
    int   descriptor; /**< private */
} emp_file_lock;

/** Locks what \a path leads to. It never waits. What is no file, as /dev/null, and file systems without
 * locks are left as they are.
 * \retval EMP_EINVAL  Another program, or another lock of this one, has it; the message names the
 *                     process.
 * \retval EMP_EIO     No file can be made beside it. \retval EMP_ENOMEM */
emp_status emp_file_lock_take(emp_file_lock *lock, const char *path, emp_error *err);

/** Likewise, where the other program is no failure: then \a is_taken is false. */
emp_status emp_file_lock_try(emp_file_lock *lock, bool *is_taken, const char *path,
                             emp_error *err);

/** Removes the lock file; nothing if nothing is locked. */
void emp_file_lock_release(emp_file_lock *lock);

#endif /* EMP_BASE_IO_FILE_LOCK_H */
