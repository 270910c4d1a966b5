/** \file sim/machine/import/matrix.h
 * The matrix that `nvidia-smi topo -m` prints: by which way two GPUs reach each other, and a GPU a NIC.
 *
 *             GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA ID
 *     GPU0     X      NV18    PIX     0-55,112-167    0               N/A
 *     GPU1    NV18     X      NODE    0-55,112-167    0               N/A
 *
 * Rows of NICs and the legends below are not read. Older programs print fewer columns behind the
 * NICs, and call a NIC mlx5_0.
 */
#ifndef EMP_SIM_MACHINE_IMPORT_MATRIX_H
#define EMP_SIM_MACHINE_IMPORT_MATRIX_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text/text.h"
#include "sim/machine/machine.h"

enum {
    EMP_IMPORT_GPUS = EMP_MAX_DEVICES - 1, /**< beside one CPU */
    EMP_IMPORT_NICS = 64,
    EMP_IMPORT_AFFINITY_BYTES = 48
};

/** The farthest thing that a copy by PCIe passes, from near to far. */
typedef enum {
    EMP_WAY_SELF,   /**< X */
    EMP_WAY_PIX,    /**< one PCIe bridge */
    EMP_WAY_PXB,    /**< several PCIe bridges */
    EMP_WAY_PHB,    /**< a host bridge: the CPU */
    EMP_WAY_NODE,   /**< host bridges of one NUMA node */
    EMP_WAY_SYS,    /**< what joins NUMA nodes */
    EMP_WAY_UNKNOWN /**< the matrix does not say: NVLinks hide it */
} emp_way;

typedef struct {
    int32_t gpu_count, nic_count;
    uint8_t pcie[EMP_IMPORT_GPUS][EMP_IMPORT_GPUS]; /**< an emp_way */
    uint8_t nvlinks[EMP_IMPORT_GPUS][EMP_IMPORT_GPUS];
    uint8_t nic[EMP_IMPORT_GPUS][EMP_IMPORT_NICS];             /**< an emp_way */
    char affinity[EMP_IMPORT_GPUS][EMP_IMPORT_AFFINITY_BYTES]; /**< CPUs; "" = not told */
    int32_t line[EMP_IMPORT_GPUS];                             /**< of its row */
} emp_gpu_matrix;

/** Reads the matrix. Cells of NICs that are damaged make all NICs be left out. O(bytes + GPUs^2).
 * \param text  Cleaned by emp_smi_text_clean().
 * \param path  For messages.
 * \retval EMP_EFORMAT  The message names the file, the line and what is expected. */
emp_status emp_gpu_matrix_parse(emp_gpu_matrix *matrix, const char *text, size_t size,
                                const char *path, emp_error *err);

enum { EMP_SMI_MOST_BYTES = 1 << 24 };

/** Removes the escapes by which a terminal underlines, in place. O(bytes).
 * \param size  Of \a text; becomes what is left.
 * \retval EMP_EFORMAT  The text has zero bytes. */
emp_status emp_smi_text_clean(char *text, size_t *size, const char *path, emp_error *err);

#endif /* EMP_SIM_MACHINE_IMPORT_MATRIX_H */
