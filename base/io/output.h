/** \file base/io/output.h
 * Checks outputs before the work starts, makes their folders, and locks them. A file that the
 * program reads is never replaced, other files only with --force. Each check returns one sentence
 * that names the file.
 */
#ifndef EMP_BASE_IO_OUTPUT_H
#define EMP_BASE_IO_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/** Fails now, before the work, if a file cannot be made at \a path (NULL is fine), or if it is ""
 * or "-", which does not mean standard output here. Names of locks and of temporary files are refused
 * (NAME.lock, NAME.tmp0), and a file that takes what is printed. */
emp_status emp_output_check(const char *path, emp_error *err);

/** All, each of which may be NULL, and that no two lead to the same file. */
emp_status emp_output_check_all(const char *const *paths, int32_t count, emp_error *err);

/** That none of the outputs leads to a file that one of \a inputs reads: a file, or a spec that names
 * one (layers:path=FILE), and that no input has the name of a temporary file: such are removed. Each of
 * both may be NULL. */
emp_status emp_output_check_inputs(const char *const *inputs, int32_t input_count,
                                   const char *const *outputs, int32_t output_count,
                                   emp_error *err);

/** That none of the outputs, each of which may be NULL, lies in \a folder or is a link to a file there. */
emp_status emp_output_check_outside(const char *folder, const char *const *outputs,
                                    int32_t count, emp_error *err);

/** Fails now, before the work, if one of the outputs would replace a file with something in it. If
 * another program puts one there during the work, writing the output fails.
 * Nothing is lost of an empty file, a pipe or /dev/null. Each of \a paths may be NULL.
 * \param is_forced  --force is given: every file may be replaced.
 * \retval EMP_EINVAL  The message names the file. */
emp_status emp_output_check_replaced(const char *const *paths, int32_t count,
                                     bool is_forced, emp_error *err);

/** The same of a folder of outputs: fails if it has files. \a path may be NULL. */
emp_status emp_output_check_folder(const char *path, bool is_forced, emp_error *err);

/** Makes a folder unless it is there; those above it must be.
 * \retval EMP_EIO  The message names it. */
emp_status emp_folder_make(const char *path, emp_error *err);

/* Lets one program at a time write a file that takes hours to make. The lock is a file beside it, PATH.lock,
 * with the number of the process; the system releases it when the process ends. */

/** Zero-initialise before use. */
typedef struct {
    char *name;       /**< private; of the lock file; NULL = nothing is locked */
    int   descriptor; /**< private */
} emp_file_lock;

/** Locks the file that \a path leads to, without waiting. Devices such as /dev/null and file systems without
 * locks stay unlocked.
 * \retval EMP_EINVAL  Another program, or another lock of this one, has it; the message names the
 *                     process.
 * \retval EMP_EIO     No file can be made beside it. \retval EMP_ENOMEM */
emp_status emp_file_lock_take(emp_file_lock *lock, const char *path, emp_error *err);

/** Likewise, where the other program is no failure: then \a is_taken is false. */
emp_status emp_file_lock_try(emp_file_lock *lock, bool *is_taken, const char *path,
                             emp_error *err);

/** Removes the lock file; nothing if nothing is locked. */
void emp_file_lock_release(emp_file_lock *lock);

#endif /* EMP_BASE_IO_OUTPUT_H */
