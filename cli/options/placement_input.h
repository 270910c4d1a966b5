/** \file cli/options/placement_input.h
 * Placements from files, which are placement files, graph files with devices, or run records and
 * checkpoints, whose best is taken, and from methods.
 */
#ifndef EMP_CLI_OPTIONS_PLACEMENT_INPUT_H
#define EMP_CLI_OPTIONS_PLACEMENT_INPUT_H

#include "cli/options/run_options.h"
#include "sim/problem/placement.h"

/** Reads what \a path is of, a record if it ends in .h5; "" where a file with rules does not say.
 * \retval EMP_EIO \retval EMP_EFORMAT */
emp_status cli_placement_read_origin(emp_placement_origin *origin, const char *path,
                                     emp_error *err);

/** Fills device_of_op[op_count] and makes it legal; warns of ops that this moves, and of rules
 * that place nothing.
 * \retval EMP_EINVAL  The file is of another graph, or of devices that are not there. */
emp_status cli_placement_load(emp_device_id *device_of_op, const char *path,
                              const emp_problem *problem, emp_error *err);

/** Fills level_of_op[op_count] from a placement file or a record, and says whether it has an
 * order; after cli_placement_load(). */
emp_status cli_order_load(uint8_t *level_of_op, bool *has_order, const char *path,
                          const emp_problem *problem, emp_error *err);

/** Fills leader_of_op[op_count] from a placement file or a record, and says whether it has leaders;
 * after cli_placement_load(). */
emp_status cli_leaders_load(emp_op_id *leader_of_op, bool *has_fusion, const char *path,
                            const emp_problem *problem, emp_error *err);

/** The best placement that the method of that name finds. Searches get 100 evaluations unless
 * the options say more. Legal.
 * \param[in]  options     NULL: what holds when none is given.
 * \param[out] is_partial  Whether Ctrl-C has ended it; NULL is fine. */
emp_status cli_placement_by_method(emp_device_id *device_of_op, bool *is_partial,
                                   const char *method, const cli_run_options *options,
                                   const emp_problem *problem, emp_error *err);

#endif /* EMP_CLI_OPTIONS_PLACEMENT_INPUT_H */
