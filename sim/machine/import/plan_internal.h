/* What import.c finds out and write.c writes. */
#ifndef EMP_SIM_MACHINE_IMPORT_PLAN_INTERNAL_H
#define EMP_SIM_MACHINE_IMPORT_PLAN_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/machine/import/import.h"
#include "sim/machine/import/lstopo.h"
#include "sim/machine/import/matrix.h"
#include "sim/machine/import/products.h"
#include "sim/machine/import/query.h"
#include "sim/machine/import/tree.h"

enum { EMP_IMPORT_MODEL_BYTES = 32 };

/* Shares of documented rates that copies are taken to reach. */
#define EMP_IMPORT_PCIE_FRAC   0.8 /* as in the machines that come with the program */
#define EMP_IMPORT_SOCKET_FRAC 0.7 /* of 16 lanes, between sockets: rtxpro6000x8 */
#define EMP_IMPORT_PAIR_US     10.0

/* By which text the computer is known. */
typedef enum {
    EMP_IMPORT_QUERY, /* no topology: one GPU */
    EMP_IMPORT_NVIDIA,
    EMP_IMPORT_AMD,
    EMP_IMPORT_LSTOPO
} emp_import_source;

/* How a GPU hangs on its host. */
typedef enum {
    EMP_BUS_PCIE,    /* generation and lanes, read or assumed */
    EMP_BUS_RATE,    /* PCIe, of which the rate was read */
    EMP_BUS_C2C,     /* NVLink-C2C */
    EMP_BUS_UNIFIED, /* it shares the CPU's memory */
    EMP_BUSES
} emp_import_bus;

typedef struct {
    char                 model[EMP_IMPORT_MODEL_BYTES];
    const emp_gpu_links *links;
    emp_card             card;
    emp_import_bus       bus;
    int32_t              pcie_generation, pcie_lanes;
    bool                 is_pcie_assumed;
    double               latency_us; /* of a small copy */
    double               gb_per_s;   /* from the host, as copies reach it */
} emp_import_gpu;

/* NVLinks that become a fabric. */
typedef struct {
    emp_nvlink_set set;
    double         gb_per_s, latency_us;
} emp_import_fabric;

typedef struct {
    const emp_machine_import *request;
    emp_import_source         source;
    emp_lstopo                lstopo;
    bool              is_known_computer; /* its GPU and CPU are those of products.c */
    bool              makes_host;        /* a model of the CPU goes with the file */
    char              model[EMP_IMPORT_MODEL_BYTES]; /* of all GPUs; "" = not named */
    char              host[EMP_IMPORT_MODEL_BYTES];
    emp_gpu_matrix    matrix;
    emp_gpu_query     query; /* no GPUs: nothing tells their products */
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

/* Whether a GPU hangs on its host that way. */
bool emp_import_has_bus(const emp_import_plan *plan, emp_import_bus bus);

/* "NVLinks" or "XGMI links" */
const char *emp_import_links(const emp_import_plan *plan);

/* \retval EMP_ENOMEM, EMP_EUNSUPPORTED */
emp_status emp_import_write(char **yaml, const emp_import_plan *plan, emp_error *err);

/* The model of the CPU that lstopo has told. \retval EMP_ENOMEM */
emp_status emp_import_write_host(char **yaml, const emp_import_plan *plan,
                                 emp_error *err);

#endif /* EMP_SIM_MACHINE_IMPORT_PLAN_INTERNAL_H */
