/** \file bench/validate/schedule.h
 * Whether a step was predicted wrong because of its kernels or because of their schedule.
 *
 *     EMP_TRY(emp_validation_schedule(&c.scheduled_s, problem, device_of_op, measured, err));
 *
 * The step is simulated once more with what its own ops took. Its difference from the first prediction is due to the
 * times of kernels, and its difference from the measured step to all else: order, overlap, copies, the host's work.
 */
#ifndef EMP_BENCH_VALIDATE_SCHEDULE_H
#define EMP_BENCH_VALIDATE_SCHEDULE_H

#include "replay/result.h"
#include "sim/problem/problem.h"

/** \param step_s  NaN: the step does not fit, by either word, or no op was timed.
 * \retval EMP_EINVAL  The result has another number of ops. \retval EMP_ENOMEM */
emp_status emp_validation_schedule(double *step_s, const emp_problem *problem,
                                   const emp_device_id     *device_of_op,
                                   const emp_replay_result *measured, emp_error *err);

#endif /* EMP_BENCH_VALIDATE_SCHEDULE_H */
