/** \file sim/machine/import/products.h
 * GPUs and computers as their makers call them, and what is documented of the links of the device models.
 */
#ifndef EMP_SIM_MACHINE_IMPORT_PRODUCTS_H
#define EMP_SIM_MACHINE_IMPORT_PRODUCTS_H

#include <stdint.h>

#include "sim/machine/card.h"

/** Links of a device model. Rates are one way. */
typedef struct {
    const char *model;
    int32_t     pcie_generation;
    int32_t     nvlinks;           /**< or XGMI links that a GPU has; 0 = none */
    double      nvlink_gb_per_s;   /**< of one link, documented */
    double      copy_latency_us;   /**< of a small copy by PCIe */
    double      pair_frac;         /**< of the documented rate, by the links of a pair */
    double      switch_frac;       /**< of the documented rate, by NVSwitch */
    double      switch_latency_us; /**< of a small copy by NVSwitch */
    const char *switch_source; /**< machine that both were measured for; NULL = assumed */
} emp_gpu_links;

/** A computer whose GPU is not on PCI, or whose CPU and GPU are one product. */
typedef struct {
    const char *product;    /**< of the computer, as its board tells it; NULL = any */
    const char *cpu;        /**< a pattern of the CPU's name; NULL = any */
    const char *gpu, *host; /**< device models */
} emp_known_computer;

/** The computer of these names; NULL = it is not known. Valid for ever. */
const emp_known_computer *emp_computer_find(const char *product, const char *cpu);

/** The model of a product, as "h100-sxm" of "NVIDIA H100 80GB HBM3"; NULL = there is none. */
const char *emp_product_model(const char *product);

/** Of that model; of any other one what is commonest, with `model` NULL. Valid for ever. */
const emp_gpu_links *emp_gpu_links_of(const char *model);

#endif /* EMP_SIM_MACHINE_IMPORT_PRODUCTS_H */
