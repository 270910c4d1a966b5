/** \file sim/machine/topology.h
 * Builds the network of a machine: fabrics, topologies, random networks. Not for other folders.
 *
 * Fabrics are the section `fabrics` of a machine file:
 *
 *     fabrics:
 *       - {name: "nvswitch", devices: ["gpu:0", "gpu:1"], bandwidth: "360 GB/s", latency: "5 us"}
 */
#ifndef EMP_SIM_MACHINE_TOPOLOGY_H
#define EMP_SIM_MACHINE_TOPOLOGY_H

#include <emplace/machine.h>
#include <stdbool.h>

#include "base/error.h"
#include "sim/machine/config.h"
#include "sim/machine/machine.h"

/* Hosts and routes from a tree. Every device and inner node hangs on its parent by a pair
 * of links, one each way; a route climbs to the common ancestor and descends. A host is
 * the part of the tree around one CPU: a GPU belongs to the one CPU below the lowest node
 * above it that has any. Links that join parts with different CPUs are the network. */

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

typedef struct {
    char    *name, *bandwidth, *latency, *duplex;
    char   **devices;
    unsigned devices_count;
} emp_raw_fabric;

extern const cyaml_schema_value_t emp_fabric_schema;

/** The field of a struct with the members `fabrics` and `fabrics_count`. */
#define EMP_FABRICS_FIELD(type)                                                     \
    CYAML_FIELD_SEQUENCE("fabrics", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, type, \
                         fabrics, &emp_fabric_schema, 1, EMP_MAX_FABRICS)

/** Adds the fabrics to a machine whose devices and hosts are known: their ports become links.
 * \retval EMP_EFORMAT  The message names the file, the line and the key. */
emp_status emp_fabrics_add(emp_machine *machine, const emp_config *config,
                           const emp_raw_fabric *raw, unsigned count, emp_error *err);

/* The random device networks of GiPH (Hu et al., MLSys 2023) as machines: devices of unlike
 * speeds, each pair joined by a link of its own.
 *
 * A spec is "giph" or "giph:devices=20,seed=1". The numbers are those that the released program
 * draws for that seed (env/utils.py, generate_network). It also draws which devices may run
 * which ops; a machine cannot say that, so here all may run all.
 *
 * A unit of time is a millisecond, and what GiPH calls a byte is a megabyte, as in the graphs of
 * graphs/workloads/giph.c. */

/** Whether a machine's name is such a spec. */
bool emp_giph_machine_is(const char *spec);

/** \retval EMP_EINVAL  An unknown key, or a value out of range; the message lists what would be
 *                      right. \retval EMP_ENOMEM */
emp_status emp_giph_machine_create(emp_machine **out, const char *spec, emp_error *err);

#endif /* EMP_SIM_MACHINE_TOPOLOGY_H */
