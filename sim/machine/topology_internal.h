/** \file sim/machine/topology_internal.h
 * Hosts and routes from a tree. Every device and inner node hangs on its parent by a pair
 * of links, one each way; a route climbs to the common ancestor and descends. A host is
 * the part of the tree around one CPU: a GPU belongs to the one CPU below the lowest node
 * above it that has any. What joins parts with different CPUs is the network.
 */
#ifndef EMP_SIM_MACHINE_TOPOLOGY_INTERNAL_H
#define EMP_SIM_MACHINE_TOPOLOGY_INTERNAL_H

#include "sim/machine/machine.h"

enum { EMP_MAX_NODES = 128 };

typedef struct {
    const char *name;      /**< borrowed */
    int32_t     parent;    /**< lower than its own index, or -1 */
    int32_t     up, down;  /**< links to and from the parent; -1 = free of charge */
    int32_t     cpu_count; /**< in the part of the tree below it, itself included */
    int32_t     cpu;       /**< one of these, or -1 */
} emp_topology_node;

typedef struct {
    int32_t           node_count; /**< inner nodes, then one leaf per device */
    emp_topology_node node[EMP_MAX_NODES + EMP_MAX_DEVICES];
    int32_t           leaf_of_device[EMP_MAX_DEVICES];
    int32_t gpu_channel[EMP_MAX_DEVICES]; /**< [CPU] link that all routes between GPUs of
                                               its host share, or -1 */
} emp_topology;

/** Adds a link. \retval EMP_EINVAL  There are EMP_MAX_LINKS already. */
emp_status emp_topology_add_link(emp_machine *machine, const char *name,
                                 const char *suffix, double bytes_per_s, double latency_s,
                                 int32_t *link, emp_error *err);

/** Sets the host of every device, and which links are of the network.
 * \return the first GPU that has no CPU of its own, or -1. */
emp_device_id emp_topology_find_hosts(emp_machine *machine, emp_topology *topology);

/** Fills machine->route; hosts are known. \retval EMP_EINVAL  Two devices are not connected by any link,
 * or a route is longer than EMP_MAX_ROUTE; the message names both. */
emp_status emp_topology_route_all(emp_machine *machine, const emp_topology *topology,
                                  emp_error *err);

#endif /* EMP_SIM_MACHINE_TOPOLOGY_INTERNAL_H */
