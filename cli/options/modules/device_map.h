/** \file cli/options/modules/device_map.h
 * A placement of a PyTorch graph as a device_map: a device for each module, by its path. An op has the path
 * of its module in its name, before the last "/". Parameters of a Hugging Face model have it before the last ".".
 */
#ifndef EMP_CLI_OPTIONS_MODULES_DEVICE_MAP_H
#define EMP_CLI_OPTIONS_MODULES_DEVICE_MAP_H

#include "sim/problem/placement.h"

/** Whether \a spec names a graph file of PyTorch, or is a spec of a Hugging Face model. */
bool cli_device_map_is_for(const char *spec);

/** How many of the first bytes of an op's name are the path of its module; 0 = it names none. */
size_t cli_module_length(const char *op_name, const char *spec);

/** Fails now, before the work, if no placement of these ops has a map. Looks at the names alone. O(ops).
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

#endif /* EMP_CLI_OPTIONS_MODULES_DEVICE_MAP_H */
