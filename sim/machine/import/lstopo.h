/** \file sim/machine/import/lstopo.h
 * The XML file of `lstopo`, of any version of hwloc: packages, cores and memory of a computer, its GPUs on
 * PCI, and what lies between them.
 *
 *     <object type="Package" ...><info name="CPUModel" value="AMD EPYC 7742 64-Core Processor"/>
 *       <object type="Bridge" bridge_type="0-1" ...>
 *         <object type="PCIDev" pci_busid="0000:01:00.0" pci_type="0302 [10de:20b0] ..." pci_link_speed="31.507692">
 *           <object type="OSDev" name="cuda0" ...><info name="GPUModel" value="NVIDIA A100-SXM4-40GB"/>
 *
 * A GPU is a PCI device of class 03 (display) or 12 (accelerator) of NVIDIA, AMD or, behind a bridge, Intel.
 * NVLinks and XGMI links are not in the file.
 */
#ifndef EMP_SIM_MACHINE_IMPORT_LSTOPO_H
#define EMP_SIM_MACHINE_IMPORT_LSTOPO_H

#include "sim/machine/import/query.h"

/** What the file says of the computer. Texts are "" and numbers 0 where it says nothing. */
typedef struct {
    int32_t packages, cores;
    int64_t memory_bytes; /**< of all NUMA nodes */
    double  clock_hz;     /**< the highest that is told */
    char    cpu[64];      /**< "AMD EPYC 7742 64-Core Processor" */
    char    product[48];  /**< of the computer: "NVIDIA_DGX_Spark" */
    char    architecture[16];
    double
        link_bytes_per_s[EMP_IMPORT_GPUS]; /**< by the state of the PCIe link; 0 = idle */
} emp_lstopo;

/** Whether an XML text is of lstopo: its first element is `topology`. */
bool emp_lstopo_is(const char *text, size_t size);

/** Reads the file. O(bytes + GPUs^2).
 * \param matrix  The ways between the GPUs; no NVLinks. There may be no GPU.
 * \param query   Product, bus and memory of each.
 * \retval EMP_EFORMAT  The message names the file, the line and what is expected. */
emp_status emp_lstopo_parse(emp_lstopo *lstopo, emp_gpu_matrix *matrix,
                            emp_gpu_query *query, const char *text, size_t size,
                            const char *path, emp_error *err);

#endif /* EMP_SIM_MACHINE_IMPORT_LSTOPO_H */
