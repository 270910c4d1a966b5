/** \file cli/options/trace_devices.h
 * Where the ops of a measured trace ran, as a placement.
 */
#ifndef EMP_CLI_OPTIONS_TRACE_DEVICES_H
#define EMP_CLI_OPTIONS_TRACE_DEVICES_H

#include "sim/problem/problem.h"

/** Fills device_of_op[op_count] for a step of a trace: pieces of threads go to the first CPU. On
 * the machine that the trace states, each stream is a GPU. On others what ran on GPU i goes to
 * GPU i.
 * \retval EMP_EINVAL  The machine has too few GPUs; the message names the op. */
emp_status cli_trace_devices_load(emp_device_id *device_of_op, const emp_problem *problem,
                                  emp_error *err);

#endif /* EMP_CLI_OPTIONS_TRACE_DEVICES_H */
