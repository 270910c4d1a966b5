/** \file sim/machine/queries/known.h
 * Device models beside the models of the same product that come with the program: what is published of
 * it, where a file has another value.
 */
#ifndef EMP_SIM_MACHINE_QUERIES_KNOWN_H
#define EMP_SIM_MACHINE_QUERIES_KNOWN_H

#include "sim/machine/model.h"
#include "sim/machine/queries/check.h"

/** Finds the model that comes with the program whose product a model's name has: "rtx3090" of
 * "my-RTX-3090". Variants are other products: "rtx3090ti", "rtx3080-laptop".
 * \param path  Of the model's file: a file of the program itself is not beside another one.
 * \return Whether \a known was read; the caller clears it then. */
bool emp_known_find(emp_device_model *known, const char *name, const char *path);

/** Tells each value of \a model that is far from what is known. \return their number. */
int32_t emp_known_check(const emp_machine_model *model, const emp_device *device,
                        emp_machine_complaint *tell, void *context);

#endif /* EMP_SIM_MACHINE_QUERIES_KNOWN_H */
