/** \file sim/problem/placement.h
 * Placement files: JSON that names each op and its device.
 *
 *     {"format": "emplace-placement-1", "workload": "nmt:layers=2", "machine": "k40x2",
 *      "step_time_s": 1.09, "devices": {"cpu:0": ["global_step", ...], "gpu:0": [...]}}
 */
#ifndef EMP_SIM_PROBLEM_PLACEMENT_H
#define EMP_SIM_PROBLEM_PLACEMENT_H

#include "sim/problem/problem.h"

/** Writes to a temporary file and renames it. \a step_time_s < 0: infeasible, null. */
emp_status emp_placement_save(const char *path, const emp_problem *problem,
                              const emp_device_id *device_of_op, double step_time_s,
                              emp_error *err);

/** Fills device_of_op[op_count] from a file, or from a split of an instance (split.h). Every op
 * of the step graph must be named; a split may leave out what its colour class places.
 * \retval EMP_EFORMAT  Not such a file, an unknown op or device, or an op left out; the
 *                      message names it. */
emp_status emp_placement_load(emp_device_id *device_of_op, const char *path,
                              const emp_problem *problem, emp_error *err);

#endif /* EMP_SIM_PROBLEM_PLACEMENT_H */
