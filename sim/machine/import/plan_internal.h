/* What import.c finds out and write.c writes. */
#ifndef EMP_SIM_MACHINE_IMPORT_PLAN_INTERNAL_H
#define EMP_SIM_MACHINE_IMPORT_PLAN_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/machine/import/import.h"
#include "sim/machine/import/matrix.h"
#include "sim/machine/import/products.h"
#include "sim/machine/import/query.h"
#include "sim/machine/import/tree.h"

enum { EMP_IMPORT_MODEL_BYTES = 32 };

/* Shares of documented rates that copies are taken to reach. */
#define EMP_IMPORT_PCIE_FRAC   0.8 /* as in the machines that come with the program */
#define EMP_IMPORT_SOCKET_FRAC 0.7 /* of 16 lanes, between sockets: rtxpro6000x8 */
#define EMP_IMPORT_PAIR_FRAC   0.9 /* of the NVLinks of a pair: rtx3090x4 */
#define EMP_IMPORT_PAIR_US     10.0

typedef struct {
    char                 model[EMP_IMPORT_MODEL_BYTES];
    const emp_gpu_links *links;
    int32_t              pcie_generation, pcie_lanes;
    bool                 is_pcie_assumed;
    double               gb_per_s; /* by PCIe, as copies reach it */
} emp_import_gpu;

/* NVLinks that become a fabric. */
typedef struct {
    emp_nvlink_set set;
    double         gb_per_s, latency_us;
} emp_import_fabric;

typedef struct {
    const emp_machine_import *request;
    char              model[EMP_IMPORT_MODEL_BYTES]; /* of all GPUs; "" = not named */
    char              host[EMP_IMPORT_MODEL_BYTES];
    emp_gpu_matrix    matrix;
    emp_gpu_query     query; /* no GPUs: there is none */
    emp_gpu_tree      tree;
    emp_nvlink_sets   sets;
    emp_import_gpu    gpu[EMP_IMPORT_GPUS];
    int32_t           fabric_count;
    emp_import_fabric fabric[EMP_MAX_FABRICS];
    int32_t           slow_sets;       /* NVLinks slower than PCIe, left out */
    double            socket_gb_per_s; /* 0: sockets have no links of their own */
} emp_import_plan;

/* Whether a fabric joins two GPUs. */
bool emp_import_has_fabric(const emp_import_plan *plan, int32_t a, int32_t b);

/* \retval EMP_ENOMEM, EMP_EUNSUPPORTED */
emp_status emp_import_write(char **yaml, const emp_import_plan *plan, emp_error *err);

#endif /* EMP_SIM_MACHINE_IMPORT_PLAN_INTERNAL_H */
