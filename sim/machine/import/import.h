/** \file sim/machine/import/import.h
 * Makes a machine file for the computer that nvidia-smi, rocm-smi, amd-smi or lstopo has described.
 *
 *     emp_machine_import import = {.topology = "topo.txt", .query = "query.txt", .out = "box.yaml"};
 *
 *     EMP_TRY(emp_machine_import_run(&import, err));
 *     puts(import.yaml);
 * cleanup:
 *     emp_machine_import_clear(&import);
 *
 * The file says of every value where it is from: read from those texts, documented by the maker,
 * measured of a machine that comes with the program, or assumed.
 */
#ifndef EMP_SIM_MACHINE_IMPORT_IMPORT_H
#define EMP_SIM_MACHINE_IMPORT_IMPORT_H

#include <stdint.h>

#include "base/error.h"

enum { EMP_IMPORT_WARNINGS = 6 };

/** Zero-initialise; set what is asked. All texts are borrowed. */
typedef struct {
    const char
        *topology; /**< path of what `nvidia-smi topo -m`, `rocm-smi --showtopo`, `amd-smi
                               topology` or `lstopo --of xml` printed; NULL = there is one GPU */
    const char
        *query; /**< path of what `nvidia-smi -q`, with or without -x, printed; NULL =
                            the topology or \a model tells the products */
    const char *
        model; /**< of all GPUs, its name or file; NULL = as the products in \a query say */
    const char *host;  /**< model of the CPU; NULL = one that is assumed */
    const char *out;   /**< path of the file to be; models are sought beside it, too */
    char       *yaml;  /**< the file; owned */
    char   *host_yaml; /**< the model of its CPU that goes with it, NULL = none; owned */
    char    host_name[32]; /**< of that model, for the folder models beside \a out */
    int32_t warning_count;
    char    warning[EMP_IMPORT_WARNINGS][256]; /**< what the file cannot say */
} emp_machine_import;

/** Reads both texts and makes the file, which it does not write. O(bytes + GPUs^2 x NICs).
 * \retval EMP_EINVAL       A model is missing or unknown; the message lists those there are.
 * \retval EMP_EFORMAT      A text is damaged, or both are of different computers.
 * \retval EMP_EUNSUPPORTED No machine has as many devices, links or fabrics.
 * \retval EMP_EIO, EMP_ENOMEM */
emp_status emp_machine_import_run(emp_machine_import *import, emp_error *err);

void emp_machine_import_clear(emp_machine_import *import);

/** The model of a product, as "h100-sxm" of "NVIDIA H100 80GB HBM3"; NULL = there is none. */
const char *emp_product_model(const char *product);

/** The board that its model is of, where the product is another one; else NULL. Valid for ever. */
const char *emp_product_board(const char *product);

#endif /* EMP_SIM_MACHINE_IMPORT_IMPORT_H */
