/** \file bench/calibrate/model_file.h
 * A data file written anew with some values changed. Comments and all other values stay
 * as a person wrote them; the section `fit`, which is the last, makes room for a new one.
 */
#ifndef EMP_BENCH_CALIBRATE_MODEL_FILE_H
#define EMP_BENCH_CALIBRATE_MODEL_FILE_H

#include "base/io/atomic_file.h"

typedef struct {
    const char *key;
    char        value[48]; /**< without quotes */
} emp_model_change;

/** Opens \a file for \a path, and copies into it what \a source has before its section
 * `fit`, with the changed values. The caller writes the section and commits.
 * \retval EMP_EFORMAT  \a source has not exactly one line of a key; the message says so.
 * \retval EMP_EIO, EMP_ENOMEM */
emp_status emp_model_file_open(emp_atomic_file *file, const char *path,
                               const char *source, const emp_model_change *changes,
                               int change_count, emp_error *err);

/** Makes the folders that \a path, a file, lies in, where they are not there.
 * \retval EMP_EIO */
emp_status emp_model_file_make_folders(const char *path, emp_error *err);

#endif /* EMP_BENCH_CALIBRATE_MODEL_FILE_H */
