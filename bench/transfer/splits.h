/** \file bench/transfer/splits.h
 * Which tasks a learner is trained on, and which it has never seen.
 */
#ifndef EMP_BENCH_TRANSFER_SPLITS_H
#define EMP_BENCH_TRANSFER_SPLITS_H

#include "run/jobs/jobs.h"

enum { EMP_SPLIT_TASKS = 12 /* most of either side */ };

typedef struct {
    const char *name, *description;
    const char *training_runtime, *target_runtime;
    int32_t     training_count, target_count;
    emp_task    training[EMP_SPLIT_TASKS], target[EMP_SPLIT_TASKS];
} emp_split;

enum { EMP_SPLITS = 7 };
extern const emp_split emp_split_list[EMP_SPLITS];

/** \retval EMP_EINVAL  There is no such split; the message lists what there is. */
emp_status emp_split_find(const emp_split **split, const char *name, emp_error *err);

#endif /* EMP_BENCH_TRANSFER_SPLITS_H */
