/** \file sim/machine/import/tree.h
 * What a matrix says of sockets, PCIe switches and NVLinks.
 *
 * GPUs with at most PCIe bridges between them hang on one switch; those with at most host bridges
 * between them on one socket, and so do those that have the same CPUs near. Where NVLinks hide the way by
 * PCIe, a NIC near both GPUs tells it, else the CPUs near them.
 */
#ifndef EMP_SIM_MACHINE_IMPORT_TREE_H
#define EMP_SIM_MACHINE_IMPORT_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/machine/import/matrix.h"

typedef struct {
    int32_t socket_count, switch_count;
    int32_t socket_of[EMP_IMPORT_GPUS];
    int32_t switch_of[EMP_IMPORT_GPUS]; /**< -1 = the GPU hangs on its socket, alone */
    int32_t socket_of_switch[EMP_IMPORT_GPUS];
    bool    is_guess; /**< of some GPUs nothing says whether they share a socket */
} emp_gpu_tree;

/** GPUs that NVLinks join: two, or more by NVSwitch. */
typedef struct {
    uint64_t members; /**< bit i: GPU i */
    int32_t  nvlinks; /**< of each pair */
    bool     is_switch;
} emp_nvlink_set;

typedef struct {
    int32_t        count;
    emp_nvlink_set set[EMP_MAX_FABRICS];
} emp_nvlink_sets;

/** O(GPUs^2 x NICs). */
void emp_gpu_tree_find(emp_gpu_tree *tree, const emp_gpu_matrix *matrix);

/** GPUs that are all joined, by more links than one has, reach each other by NVSwitch; any other
 * linked pair is a set. O(GPUs^2).
 * \param nvlinks  [gpu] that its model has.
 * \param path     Of the matrix, for messages.
 * \retval EMP_EUNSUPPORTED  There are more sets than a machine has fabrics. */
emp_status emp_nvlink_sets_find(emp_nvlink_sets *sets, const emp_gpu_matrix *matrix,
                                const int32_t *nvlinks, const char *path, emp_error *err);

#endif /* EMP_SIM_MACHINE_IMPORT_TREE_H */
