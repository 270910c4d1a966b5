/** \file cli/options/modules/device_map_input.h
 * A device_map of a PyTorch model (device_map_file.h) as a placement of the ops of its graph. An op goes
 * where its module is. What names no module, such as most gradients of an exported step, goes where an
 * input of it is that has one.
 */
#ifndef EMP_CLI_OPTIONS_MODULES_DEVICE_MAP_INPUT_H
#define EMP_CLI_OPTIONS_MODULES_DEVICE_MAP_INPUT_H

#include "sim/problem/problem.h"

/** Fills device_of_op[op_count], which need not be legal, and warns of how many ops name no module.
 * O(V + E + bytes).
 * \retval EMP_EFORMAT  cli_map_file_parse()'s, or no module has an op.
 * \retval EMP_EINVAL   A device is not on the machine, or the machine has several hosts.
 * \retval EMP_EIO, EMP_ENOMEM */
emp_status cli_device_map_load(emp_device_id *device_of_op, const char *path,
                               const emp_problem *problem, emp_error *err);

#endif /* EMP_CLI_OPTIONS_MODULES_DEVICE_MAP_INPUT_H */
