/** \file tests/bench/counted.h
 * Studies whose runs are kept in the folder of the test and counted.
 */
#ifndef EMP_TESTS_BENCH_COUNTED_H
#define EMP_TESTS_BENCH_COUNTED_H

#include "run/jobs/jobs.h"
#include "tests/support/scratch.h"

extern char counted_folder[SCRATCH_PATH_BYTES];
extern int  counted_runs, counted_reads; /**< all; those that were on record */

/** As Criterion's .init; scratch_remove() is the .fini that belongs to it. */
void counted_set_up(void);

/** Counts from 0. \return how such runs are made on so many threads. */
emp_jobs_params counted_jobs(int32_t threads);

/** Likewise on one thread, and they are stopped after so many runs. */
emp_jobs_params counted_jobs_stopped(int runs);

#endif /* EMP_TESTS_BENCH_COUNTED_H */
