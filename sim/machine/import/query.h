/** \file sim/machine/import/query.h
 * The facts that `nvidia-smi -q` prints of each GPU: an indented tree of keys and values, of which few
 * are read. `nvidia-smi -q -x` prints the same tree as XML.
 *
 *     Attached GPUs                         : 2
 *     GPU 00000000:18:00.0
 *         Product Name                      : NVIDIA H100 80GB HBM3
 *         GPU C2C Mode                      : N/A
 *         PCI
 *             GPU Link Info
 *                 PCIe Generation
 *                     Max                   : 5
 *                 Link Width
 *                     Current               : 16x
 *         FB Memory Usage
 *             Total                         : 81559 MiB
 *         Max Clocks
 *             SM                            : 1980 MHz
 */
#ifndef EMP_SIM_MACHINE_IMPORT_QUERY_H
#define EMP_SIM_MACHINE_IMPORT_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/machine/import/matrix.h"

/** Of one GPU; a number is 0 where the text does not tell it. */
typedef struct {
    char    product[64];
    char    bus[24]; /**< "00000000:18:00.0" */
    int32_t memory_mib;
    int32_t pcie_generation; /**< that GPU and host can reach; idle links run slower */
    int32_t pcie_lanes;      /**< in use, else the most */
    int32_t clock_mhz;       /**< of the multiprocessors, at most */
    bool    has_c2c;         /**< NVLink-C2C joins it to its CPU */
} emp_gpu_facts;

typedef struct {
    int32_t       gpu_count;
    emp_gpu_facts gpu[EMP_IMPORT_GPUS];
} emp_gpu_query;

/** Reads the text, or the XML. O(bytes).
 * \param text  Cleaned by emp_smi_text_clean().
 * \param path  For messages.
 * \retval EMP_EFORMAT  It has no GPU, one without a name, or fewer than it announces. */
emp_status emp_gpu_query_parse(emp_gpu_query *query, const char *text, size_t size,
                               const char *path, emp_error *err);

#endif /* EMP_SIM_MACHINE_IMPORT_QUERY_H */
