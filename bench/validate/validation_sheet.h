/** \file bench/validate/validation_sheet.h
 * Validations as tables: a line for each device of each placement, which is also the record of
 * what was measured, and a line for each workload.
 */
#ifndef EMP_BENCH_VALIDATE_VALIDATION_SHEET_H
#define EMP_BENCH_VALIDATE_VALIDATION_SHEET_H

#include "bench/validate/validate.h"
#include "run/sheet/sheet.h"

enum { EMP_VALIDATION_SPEC_BYTES = 256 };

/** Where all lines of a table come from. */
typedef struct {
    const char *machine, *runtime, *backend;
} emp_validation_origin;

/** An empty table of the placements of one workload. */
void emp_validation_sheet_init(emp_sheet *sheet, const char *workload);
/** A line a device. */
void emp_validation_sheet_add(emp_sheet *sheet, const char *workload,
                              const emp_validation_origin *origin,
                              const emp_validation_case   *c);

/** An empty table of workloads. */
void emp_validation_summary_init(emp_sheet *sheet);
void emp_validation_summary_add(emp_sheet *sheet, const char *workload,
                                const emp_validation_origin  *origin,
                                const emp_validation_summary *summary);

/** The measurements of one placement, without any prediction. */
typedef struct {
    char                workload[EMP_VALIDATION_SPEC_BYTES];
    emp_validation_case c;
} emp_validation_measured;

/** Zero-initialise; emp_validation_record_clear() releases it, also after a failure. */
typedef struct {
    int32_t                  count;
    emp_validation_measured *measured;
} emp_validation_record;

/** Reads what was measured from a table of placements, as CSV. Columns of predictions are not
 * looked at.
 * \retval EMP_EIO \retval EMP_EFORMAT  The message names the row and the column. */
emp_status emp_validation_record_load(emp_validation_record *record, const char *path,
                                      emp_error *err);
void       emp_validation_record_clear(emp_validation_record *record);

/** The measurement of a placement; NULL = there is none of that name and \a hash. */
const emp_validation_case *emp_validation_record_find(const emp_validation_record *record,
                                                      const char *workload,
                                                      const char *name, uint64_t hash);

/* A list of sheets as a table in HDF5 (run/store/columns.h). The columns are the CSV's, one
 * after the other, except the origin's, which are texts, and the first, which names the
 * sheet: it holds the sheet's number. Whole
 * numbers, flags and hashes are int64, -1 where there is none; a range is two columns more.
 * Texts: the caller's, version, commit, and the names of the sheets, "workload 0", ...
 */

enum { EMP_VALIDATION_PARTS = 16 };

/** \retval EMP_ENOMEM \retval EMP_EIO \retval EMP_EINVAL  More than EMP_VALIDATION_PARTS
 * sheets, or no line at all. */
emp_status emp_validation_save(const char *path, const emp_sheet *sheets,
                               const emp_validation_origin *origin, emp_error *err);

#endif /* EMP_BENCH_VALIDATE_VALIDATION_SHEET_H */
