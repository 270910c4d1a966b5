/** \file run/store/merge.h
 * Folders of run records (run/archive.h) joined into one, as when several computers have made parts of a
 * study.
 */
#ifndef EMP_RUN_STORE_MERGE_H
#define EMP_RUN_STORE_MERGE_H

#include <stdint.h>

#include "base/error.h"

/** The findings of a merge in the folders. */
typedef struct {
    int32_t copied;    /**< records and refusals that were not in the folder yet */
    int32_t there;     /**< that were, equal byte for byte */
    int32_t under_way; /**< runs of which there is only a checkpoint; they are left out */
} emp_merge_counts;

/** Copies all records of a folder, with their times, and weights that were trained there, into another, which is made if it is not there. A
 * file appears whole or not at all. O(bytes).
 * \param[in,out] counts  Added to.
 * \retval EMP_EFORMAT  A file is no record, or torn.
 * \retval EMP_EINVAL   Two records of one run differ; the message names both.
 * \retval EMP_EIO, EMP_ENOMEM */
emp_status emp_merge(const char *into, const char *folder, emp_merge_counts *counts,
                     emp_error *err);

/** Removes the temporary files that writers which were killed left in a folder of runs. A file that is
 * not named as one of a run's stays. O(files). */
void emp_runs_sweep(const char *folder);

#endif /* EMP_RUN_STORE_MERGE_H */
