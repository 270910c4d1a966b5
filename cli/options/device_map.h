/** \file cli/options/device_map.h
 * A placement of a PyTorch graph as a device_map: a device for each module, by its path. An op has the path
 * of its module in its name, before the last "/". Parameters of a Hugging Face model have it before the last ".".
 */
#ifndef EMP_CLI_OPTIONS_DEVICE_MAP_H
#define EMP_CLI_OPTIONS_DEVICE_MAP_H

#include "sim/graph/graph.h"
#include "sim/problem/placement.h"

/* The layers of a PyTorch model in the names of its ops: "model.layers.3" of "model.layers.3.mlp.up_proj".
 * A layer is a module whose own name is a number. Experts are parts of their layer.
 */

/** How many of the first bytes of an op's name are the path of its module; 0 = it names none. An op of
 * \a spec, a config, begins with it. An op of PyTorch has a "/" behind it. */
size_t cli_path_length(const char *op_name, const char *spec);

/** How many of the first bytes of a path of \a length bytes are its layer; 0 = it is in none. */
size_t cli_layer_length(const char *path, size_t length);

/** Marks the classes [class count] with an op that only a CPU can run, which are false before. Such a class would
 * take a whole layer to the CPU. O(ops). */
void cli_layers_mark_cpu(bool *is_cpu_class, const emp_graph *graph);

/** Has the ops of each layer share a device (sim/problem/problem.h), but for those that only a CPU
 * can run.
 * \retval EMP_EINVAL  No op names a layer.
 * \retval EMP_ENOMEM */
emp_status cli_layers_join(emp_graph *graph, const char *spec, emp_error *err);

/** Whether \a spec names a graph file of PyTorch, or is a spec of a Hugging Face model. */
bool cli_device_map_is_for(const char *spec);

/** How many of the first bytes of an op's name are the path of its module; 0 = it names none. */
size_t cli_module_length(const char *op_name, const char *spec);

/** Fails now, before the work, if no placement of these ops has a map. Looks only at the names. O(ops).
 * \retval EMP_EINVAL  No op has a path, or the machine has several hosts. */
emp_status cli_device_map_check(const emp_named_placement *placement, const char *spec,
                                emp_error *err);

/** Writes a module of Python with the map, or the map as JSON if \a path ends in .json, whole or not at all. Parts that are all on one device are
 * written as the module that holds them. Warns of layers that are not on one device, and of a CPU.
 * O(ops log ops).
 * \retval EMP_EINVAL  As cli_device_map_check(), or a module is on two devices.
 * \retval EMP_EIO, EMP_ENOMEM */
emp_status cli_device_map_write(const char *path, const emp_named_placement *placement,
                                const char *spec, emp_error *err);

#endif /* EMP_CLI_OPTIONS_DEVICE_MAP_H */
