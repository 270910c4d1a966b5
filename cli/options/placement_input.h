/** \file cli/options/placement_input.h
 * Placements from files, placement files and the best of run records and checkpoints, and
 * from methods.
 */
#ifndef EMP_CLI_OPTIONS_PLACEMENT_INPUT_H
#define EMP_CLI_OPTIONS_PLACEMENT_INPUT_H

#include "sim/problem/problem.h"

/** What a placement was made for, as its file names it. */
typedef struct {
    char workload[256], machine[64];
} cli_placement_origin;

/** Reads \a path, a record if it ends in .h5. \retval EMP_EIO \retval EMP_EFORMAT */
emp_status cli_placement_read_origin(cli_placement_origin *origin, const char *path,
                                     emp_error *err);

/** Fills device_of_op[op_count] and makes it legal; warns if that moves ops.
 * \retval EMP_EINVAL  The file is of another graph, or of devices that are not there. */
emp_status cli_placement_load(emp_device_id *device_of_op, const char *path,
                              const emp_problem *problem, emp_error *err);

/** The best placement that the method of that name finds, with the few evaluations that
 * searches get here. Legal. */
emp_status cli_placement_by_method(emp_device_id *device_of_op, const char *method,
                                   const emp_problem *problem, emp_error *err);

#endif /* EMP_CLI_OPTIONS_PLACEMENT_INPUT_H */
