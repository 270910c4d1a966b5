/* What import.c finds out and write.c writes. */
#ifndef EMP_SIM_MACHINE_IMPORT_PLAN_INTERNAL_H
#define EMP_SIM_MACHINE_IMPORT_PLAN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/machine/import/import.h"
#include "sim/machine/import/matrix.h"

enum { EMP_IMPORT_MODEL_BYTES = 32 };

/* Shares of documented rates that copies are taken to reach. */
#define EMP_IMPORT_PCIE_FRAC   0.8 /* as in the machines that come with the program */
#define EMP_IMPORT_SOCKET_FRAC 0.7 /* of 16 lanes, between sockets: rtxpro6000x8 */
#define EMP_IMPORT_PAIR_FRAC   0.9 /* of the NVLinks of a pair: rtx3090x4 */
#define EMP_IMPORT_PAIR_US     10.0

/* What a matrix says of sockets, PCIe switches and NVLinks.
 *
 * GPUs with at most PCIe bridges between them hang on one switch; those with at most host bridges
 * between them on one socket. Where NVLinks hide the way by PCIe, a NIC near both GPUs tells it, else
 * whether both have the same CPUs near. */

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

/* What `nvidia-smi -q` prints of each GPU: an indented tree of keys and values, of which few are read.
 *
 *     Attached GPUs                         : 2
 *     GPU 00000000:18:00.0
 *         Product Name                      : NVIDIA H100 80GB HBM3
 *         PCI
 *             GPU Link Info
 *                 PCIe Generation
 *                     Max                   : 5
 *                 Link Width
 *                     Current               : 16x
 *         FB Memory Usage
 *             Total                         : 81559 MiB
 *         Max Clocks
 *             SM                            : 1980 MHz */

/** Of one GPU; a number is 0 where the text does not tell it. */
typedef struct {
    char    product[64];
    char    bus[24]; /**< "00000000:18:00.0" */
    int32_t memory_mib;
    int32_t pcie_generation; /**< that GPU and host can reach; idle links run slower */
    int32_t pcie_lanes;      /**< in use, else the most */
    int32_t clock_mhz;       /**< of the multiprocessors, at most */
} emp_gpu_facts;

typedef struct {
    int32_t       gpu_count;
    emp_gpu_facts gpu[EMP_IMPORT_GPUS];
} emp_gpu_query;

/** Reads the text. O(bytes).
 * \param text  Cleaned by emp_smi_text_clean().
 * \param path  For messages.
 * \retval EMP_EFORMAT  It has no GPU, one without a name, or fewer than it announces. */
emp_status emp_gpu_query_parse(emp_gpu_query *query, const char *text, size_t size,
                               const char *path, emp_error *err);

/* GPUs as their maker calls them, and what is documented of the links of the device models. */

/** Links of a device model. Rates are one way. */
typedef struct {
    const char *model;
    int32_t     pcie_generation;
    int32_t     nvlinks;           /**< that a GPU has; 0 = none */
    double      nvlink_gb_per_s;   /**< of one link, documented */
    double      copy_latency_us;   /**< of a small copy by PCIe */
    double      switch_frac;       /**< of the documented rate, by NVSwitch */
    double      switch_latency_us; /**< of a small copy by NVSwitch */
    const char *switch_source; /**< machine that both were measured for; NULL = assumed */
} emp_gpu_links;

/** The model of a product, as "h100-sxm" of "NVIDIA H100 80GB HBM3"; NULL = there is none. */
const char *emp_product_model(const char *product);

/** Of that model; of any other one what is commonest, with `model` NULL. Valid for ever. */
const emp_gpu_links *emp_gpu_links_of(const char *model);

/** The documented rate of 16 lanes of PCIe, one way, in GB/s; 0: there is no such generation. */
double emp_pcie_gb_per_s(int32_t generation);

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
