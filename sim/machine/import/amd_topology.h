/** \file sim/machine/import/amd_topology.h
 * The matrices that `rocm-smi --showtopo` and `amd-smi topology` print: which GPUs an XGMI link joins, how
 * many hops lie between them, and the NUMA node of each.
 *
 *     ================= Link Type between two GPUs =================      LINK TYPE TABLE:
 *            GPU0         GPU1                                                         0000:05:00.0 ...
 *     GPU0   0            XGMI                                            0000:05:00.0 SELF         ...
 *
 *     GPU[0]          : (Topology) Numa Node: 0
 *
 * An XGMI link counts as one NVLink of the matrix, and GPUs of one NUMA node as near the same CPUs.
 * Weights and other tables are not read. `rocm-smi --showtopo --showproductname` tells the product, too.
 */
#ifndef EMP_SIM_MACHINE_IMPORT_AMD_TOPOLOGY_H
#define EMP_SIM_MACHINE_IMPORT_AMD_TOPOLOGY_H

#include "sim/machine/import/query.h"

/** Whether a text has the table of link types. O(bytes). */
bool emp_amd_topology_is(const char *text, size_t size);

/** Reads the tables. O(bytes + GPUs^2).
 * \param query  Its GPUs become those whose product is told; none if it is told of none.
 * \param text   Cleaned by emp_smi_text_clean().
 * \retval EMP_EFORMAT  The message names the file, the line and what is expected. */
emp_status emp_amd_topology_parse(emp_gpu_matrix *matrix, emp_gpu_query *query,
                                  const char *text, size_t size, const char *path,
                                  emp_error *err);

#endif /* EMP_SIM_MACHINE_IMPORT_AMD_TOPOLOGY_H */
