/** \file bench/validate/validation_file.h
 * A validation as a table in HDF5 (run/store/columns.h): a row for each device of each
 * placement; the columns are those of `emplace validate --csv`, with the workload's number in
 * place of its name. Texts: machine, runtime, backend, version, commit, and "workload 0", ...
 */
#ifndef EMP_BENCH_VALIDATE_VALIDATION_FILE_H
#define EMP_BENCH_VALIDATE_VALIDATION_FILE_H

#include "bench/validate/validate.h"

/** The placements of a workload. */
typedef struct {
    const char                *workload;
    const emp_validation_case *cases;
    int32_t                    count;
} emp_validation_part;

typedef struct {
    const char *machine, *runtime, *backend, *version, *commit;
} emp_validation_origin;

enum { EMP_VALIDATION_PARTS = 16 };

/** \retval EMP_ENOMEM \retval EMP_EIO \retval EMP_EINVAL  More than EMP_VALIDATION_PARTS, or
 * no placement at all. */
emp_status emp_validation_save(const char *path, const emp_validation_part *parts,
                               int32_t part_count, const emp_validation_origin *origin,
                               emp_error *err);

#endif /* EMP_BENCH_VALIDATE_VALIDATION_FILE_H */
