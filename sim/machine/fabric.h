/** \file sim/machine/fabric.h
 * Fabrics of machine files: the section `fabrics`.
 *
 *     fabrics:
 *       - {name: "nvswitch", devices: ["gpu:0", "gpu:1"], bandwidth: "360 GB/s", latency: "5 us"}
 */
#ifndef EMP_SIM_MACHINE_FABRIC_H
#define EMP_SIM_MACHINE_FABRIC_H

#include "sim/machine/config.h"
#include "sim/machine/machine.h"

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

#endif /* EMP_SIM_MACHINE_FABRIC_H */
