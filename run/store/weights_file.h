/** \file run/store/weights_file.h
 * Weights (search/weights.h) as an HDF5 file, docs/formats.md.
 */
#ifndef EMP_RUN_STORE_WEIGHTS_FILE_H
#define EMP_RUN_STORE_WEIGHTS_FILE_H

#include "search/weights.h"

/** Writes them by a temporary file and a rename. \retval EMP_ENOMEM \retval EMP_EIO */
emp_status emp_weights_save(const char *path, const emp_weights *weights, emp_error *err);

/** Reads them; clear them afterwards, also after a failure.
 * \retval EMP_EIO      No such file, or it cannot be read.
 * \retval EMP_EFORMAT  No weights, of another version, torn or damaged; the message says so.
 * \retval EMP_ENOMEM */
emp_status emp_weights_load(emp_weights *weights, const char *path, emp_error *err);

#endif /* EMP_RUN_STORE_WEIGHTS_FILE_H */
