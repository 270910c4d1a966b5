/** \file cli/options/graph_devices.h
 * The devices that a TensorFlow graph file names, as a placement.
 */
#ifndef EMP_CLI_OPTIONS_GRAPH_DEVICES_H
#define EMP_CLI_OPTIONS_GRAPH_DEVICES_H

#include "sim/problem/problem.h"

/** Fills device_of_op[op_count] from the nodes of a graph file in memory, unpacked, by name. \a path is for
 * messages. Ops without
 * a device go where TensorFlow puts them, on the first GPU, which a warning says; nodes that the
 * step does not run are skipped. Not made legal yet.
 * \retval EMP_EINVAL  The file names no device at all, lacks an op, or names a device that the
 *                     machine does not have; the message names the op. Else as
 *                     emp_nodes_each_device(). */
emp_status cli_graph_devices_parse(emp_device_id *device_of_op, const char *bytes,
                                   size_t size, const char *path,
                                   const emp_problem *problem, emp_error *err);

#endif /* EMP_CLI_OPTIONS_GRAPH_DEVICES_H */
