/** \file cli/options/device_map.h
 * A placement of a PyTorch graph as a device_map: a device for each module, by its path. An op has the path
 * of its module in its name, before the last "/".
 */
#ifndef EMP_CLI_OPTIONS_DEVICE_MAP_H
#define EMP_CLI_OPTIONS_DEVICE_MAP_H

#include "sim/problem/placement.h"

/** Whether \a spec names a graph file of PyTorch. */
bool cli_device_map_is_for(const char *spec);

/** Writes a module of Python with the map, whole or not at all. A module whose parts are all on its device
 * stands for them. O(ops log ops).
 * \retval EMP_EINVAL  No op has a path, a module is on two devices, or the machine has several hosts.
 * \retval EMP_EIO, EMP_ENOMEM */
emp_status cli_device_map_write(const char *path, const emp_named_placement *placement,
                                emp_error *err);

#endif /* EMP_CLI_OPTIONS_DEVICE_MAP_H */
