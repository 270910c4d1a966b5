/** \file run/store/store_internal.h
 * How a file holds a run record: shared by the formats that have one, records and checkpoints.
 */
#ifndef EMP_RUN_STORE_STORE_INTERNAL_H
#define EMP_RUN_STORE_STORE_INTERNAL_H

#include <math.h>
#include <stdbool.h>

#include "run/store/store.h"

#define EMP_H5_RECORD_FORMAT     "emplace-run-1"
#define EMP_H5_CHECKPOINT_FORMAT "emplace-checkpoint-1"

/** NULL ends the list: a run record, also of a run under way. */
extern const char *const emp_h5_record_formats[];

bool emp_h5_write_record(emp_h5_file file, const void *record);
/** The names of the ops, and the machine's text, of a record that has them. */
bool       emp_h5_write_names(emp_h5_file file, const emp_record *record);
bool       emp_h5_write_machine(emp_h5_file file, const emp_record *record);
emp_status emp_h5_read_record(const emp_h5_image *image, void *record, const char *path,
                              emp_error *err);

/** Looks whether all that was read can be said of a run: no negative counts, no times that are none.
 * O(ops + points). \retval EMP_EFORMAT  The message names the first thing that cannot. */
emp_status emp_h5_check_sense(const emp_record *record, const char *path, emp_error *err);
/** True for a finite number that is not negative, as amounts in files are; the second admits NaN, which
 * stands for none. */
static inline bool emp_h5_is_amount(double value)
{
    return isfinite(value) && value >= 0;
}
static inline bool emp_h5_is_amount_or_none(double value)
{
    return isnan(value) || emp_h5_is_amount(value);
}

/** Fails if \a there, read from \a path, and \a here are of different runs: the message
 * names the first thing that differs. \retval EMP_EINVAL */
emp_status emp_h5_check_same_run(const emp_record *there, const emp_record *here,
                                 const char *path, emp_error *err);

#endif /* EMP_RUN_STORE_STORE_INTERNAL_H */
