/** \file bench/speed/limit.h
 * How fast this machine can be at what an update consists of: large matrix products, and
 * streams of weights too large for the nearest cache.
 */
#ifndef EMP_BENCH_SPEED_LIMIT_H
#define EMP_BENCH_SPEED_LIMIT_H

#include "bench/speed/stand.h"

/** Seconds that the matrix products of \a work take on \a threads at least: large ones at
 * the rate of a BLAS product of 1024 rows and columns, measured now; others at that rate
 * or that of reading their weights, over and over, each thread its part, whichever takes
 * longer. Element-wise functions count nothing. \retval EMP_ENOMEM */
emp_status emp_limit_measure(double *limit_s, const emp_stand_work *work, int32_t threads,
                             emp_error *err);

#endif /* EMP_BENCH_SPEED_LIMIT_H */
