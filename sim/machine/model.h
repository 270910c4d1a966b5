/** \file sim/machine/model.h
 * Device models: the constants of one model of GPU or CPU, read from models/NAME.yaml, and what
 * was measured of it, read from tables/.
 */
#ifndef EMP_SIM_MACHINE_MODEL_H
#define EMP_SIM_MACHINE_MODEL_H

#include <stdbool.h>

#include "sim/machine/config.h"
#include "sim/machine/machine.h"

/** Zero-initialise; emp_device_model_clear() releases it. */
typedef struct {
    emp_device device; /**< all but its name and host; holds the tables */
    emp_card   card;
    uint32_t   derived; /**< as emp_machine_model.derived */
    char       path[512];
    int32_t    fitted_constants; /**< how many were fitted to published step times */
    int32_t    fitted_count;
    char       fitted_cell[EMP_MAX_FITTED][EMP_FIT_NAME_BYTES];
} emp_device_model;

/** The constants of the sections `gpu` and `cpu`, in the order of the file: `to` is the offset in
 * emp_device. Valid for ever. */
const emp_config_field *emp_device_constants(emp_device_kind kind, int32_t *count);

/** Multiplies a constant of \a device; a count is rounded and stays at least 1.
 * \return whether its value has changed. */
bool emp_device_constant_scale(emp_device *device, const emp_config_field *constant,
                               double factor);

/** Finds the file of a model: in the folder models/ beside \a machine_path, else in the data
 * folder. \return whether it can be read. */
bool emp_device_model_find(char *path, size_t size, const char *machine_path,
                           const char *name);

/** Writes why there is no model of that name: "is no file in the folder models; known: ...".
 * The models are those beside the machine file \a machine_path, or NULL, and those that come with the
 * program. */
void emp_device_model_refuse(char *text, size_t size, const char *machine_path,
                             const char *name);

/** Reads a model, and its tables from the folder tables/ beside the folder of the file.
 * \param path    Of the file, where \a source is the disk.
 * \param name    Of the model.
 * \param hash    All constants and tables are mixed into it.
 * \retval EMP_EIO, EMP_EFORMAT, EMP_ENOMEM  Clear the model all the same. */
emp_status emp_device_model_read(emp_device_model *model, emp_source *source,
                                 const char *path, const char *name, uint64_t *hash,
                                 emp_error *err);

/** Reads the model of that name, or of that path if it ends in .yaml, without a machine. */
emp_status emp_device_model_load(emp_device_model *model, const char *name_or_path,
                                 emp_error *err);

void emp_device_model_clear(emp_device_model *model);

#endif /* EMP_SIM_MACHINE_MODEL_H */
