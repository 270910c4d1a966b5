/** \file baselines/single.h
 * What one GPU takes for the whole model. */
#ifndef EMP_BASELINES_SINGLE_H
#define EMP_BASELINES_SINGLE_H

#include "sim/problem/problem.h"

/** The GPU whose step is the shortest with all ops on it, but for those that must be elsewhere: of equals
 * the first, and the first of all where the model fits on none. O(GPUs) steps of the oracle.
 * \param[out] gpu     -1: the machine has none
 * \param[out] step_s  of that GPU; INFINITY where the model fits on none
 * \retval EMP_ENOMEM */
emp_status emp_fastest_gpu(emp_device_id *gpu, double *step_s, const emp_problem *problem,
                           emp_error *err);

#endif /* EMP_BASELINES_SINGLE_H */
