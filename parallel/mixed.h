/** \file parallel/mixed.h
 * Plans for GPUs of several models: on those of one model only, as a pipeline whose stages have layers by the speed and memory of
 * their GPUs, or as replicas that take micro-batches by their speed.
 *
 * The ranks of a stage, and the stages of a replica in the last case, have GPUs of one model. Experts are not shared out, and a
 * stage has one part of the model.
 */
#ifndef EMP_PARALLEL_MIXED_H
#define EMP_PARALLEL_MIXED_H

#include "parallel/plan.h"

/** Makes the plan. O(ways layers^2).
 * \retval EMP_EINVAL  No degrees fit; the message says why.
 * \retval EMP_EUNSUPPORTED, EMP_ENOMEM  As emp_parallel_predict(). */
emp_status emp_ways_find_mixed(emp_ways *out, const emp_parallel_spec *spec,
                               const emp_fleet *fleet, emp_error *err);

#endif /* EMP_PARALLEL_MIXED_H */
