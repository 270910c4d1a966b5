/** \file sim/machine/card.h
 * Device models in five lines: the sections `card` of a GPU and `processor` of a CPU hold what a data
 * sheet publishes, and rules derive the constants of the cost formulas from it.
 *
 *     card:
 *       peak: {fp32: "35.6 TFLOP/s", fp16: "71.2 TFLOP/s"}    # dense
 *       memory: "24 GiB"
 *       rate: "936.2 GB/s"
 *       bus: "PCIe 4 x16"
 *       class: "consumer"
 *
 * The rules are those by which the constants of models without measurements were chosen;
 * docs/machines.md lists them.
 */
#ifndef EMP_SIM_MACHINE_CARD_H
#define EMP_SIM_MACHINE_CARD_H

#include <stdbool.h>
#include <stdint.h>

#include <cyaml/cyaml.h>

#include "sim/machine/config.h"
#include "sim/machine/machine.h"

struct emp_raw_card_peak {
    char *fp32, *tf32, *bf16, *fp16, *fp8, *int8, *fp4, *fp64;
};

struct emp_raw_card {
    struct emp_raw_card_peak *peak;
    char                     *memory, *rate, *bus, *class_name, *kernels;
};

struct emp_raw_processor {
    char *cores, *clock, *simd, *peak, *memory, *rate;
};

extern const cyaml_schema_field_t emp_card_fields[], emp_processor_fields[];

/** The optional keys `card` and `processor` of struct \a type, which has members of these names. */
#define EMP_CARD_FIELDS(type)                                                          \
    CYAML_FIELD_MAPPING_PTR("card", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, type,    \
                            card, emp_card_fields),                                    \
        CYAML_FIELD_MAPPING_PTR("processor", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, \
                                type, processor, emp_processor_fields)

/** Checks and converts a section.
 * \retval EMP_EFORMAT  The message names the file, the line, the key and what would be right. */
emp_status emp_card_read(emp_card *card, const emp_config *config,
                         const struct emp_raw_card *raw, emp_error *err);
emp_status emp_processor_read(emp_card *card, const emp_config *config,
                              const struct emp_raw_processor *raw, emp_error *err);

/** Fills every constant of a GPU or CPU by the rules. A peak, multiprocessors, cores and a clock that
 * \a device has already are kept, and the others follow from them. */
void emp_card_derive(emp_device *device, const emp_card *card);

/** Fills the rate of products of fp64, unless the device has it, with the card's or by the rule of its class. */
void emp_card_add_double(emp_device *device, const emp_card *card);

/** The rule by which a constant follows from a card, for people; NULL: it is on the card, or has no
 * effect of its own. \param key  Of the section `gpu` or `cpu`. */
const char *emp_card_rule(emp_device_kind kind, const char *key);

/** The link by which a device with this card hangs on its parent, where the machine file states none:
 * its rate and latency. \return false if the card has no bus. */
bool emp_card_link(emp_link *link, const emp_device *device, const emp_card *card);

/** "35.6 TFLOP/s fp32, 71.2 TFLOP/s fp16, 24 GiB, 936 GB/s, PCIe 4 x16, consumer". */
void emp_card_describe(char *text, size_t size, const emp_card *card);

/** The documented rate of 16 lanes of PCIe, one way, in GB/s; 0: there is no such generation. */
double emp_pcie_gb_per_s(int32_t generation);

/** The documented rate of NVLink-C2C between a Grace CPU and one GPU, one way. */
#define EMP_C2C_GB_PER_S 450.0

#endif /* EMP_SIM_MACHINE_CARD_H */
