/** \file bench/validate/validation_file.h
 * A list of sheets as a table in HDF5 (run/store/checkpoint.h). The columns are those of its CSV,
 * one after the other, but those of the origin, which are texts, and the first, which names the
 * sheet: it holds the sheet's number. Whole
 * numbers, flags and hashes are int64, -1 where there is none; a range is two columns more.
 * Texts: those of the caller, version, commit, and the names of the sheets, "workload 0", ...
 */
#ifndef EMP_BENCH_VALIDATE_VALIDATION_FILE_H
#define EMP_BENCH_VALIDATE_VALIDATION_FILE_H

#include "bench/validate/validation_sheet.h"

enum { EMP_VALIDATION_PARTS = 16 };

/** \retval EMP_ENOMEM \retval EMP_EIO \retval EMP_EINVAL  More than EMP_VALIDATION_PARTS
 * sheets, or no line at all. */
emp_status emp_validation_save(const char *path, const emp_sheet *sheets,
                               const emp_validation_origin *origin, emp_error *err);

#endif /* EMP_BENCH_VALIDATE_VALIDATION_FILE_H */
