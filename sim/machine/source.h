/** \file sim/machine/source.h
 * Where the files of a machine come from, the disk or a bundle, and the text that keeps them.
 */
#ifndef EMP_SIM_MACHINE_SOURCE_H
#define EMP_SIM_MACHINE_SOURCE_H

#include <stdbool.h>

#include "base/text/csv.h"
#include "sim/machine/config.h"

/** Zero-initialise; set `bundle` to read from one. */
typedef struct {
    const char *bundle;  /**< borrowed; NULL = files are read from the disk */
    char       *text;    /**< a bundle of all that was read; owned by who takes it */
    bool        has_gap; /**< a file was of a kind that no bundle holds; text is NULL */
} emp_source;

/** Opens a YAML file: \a path of the disk, or \a name of the bundle.
 * \retval EMP_EIO, EMP_EFORMAT, EMP_ENOMEM */
emp_status emp_source_open(emp_source *source, emp_config *config, const char *path,
                           const char *name, const cyaml_schema_value_t *schema,
                           emp_error *err);

/** Likewise a CSV file. */
emp_status emp_source_open_csv(emp_source *source, emp_csv *csv, const char *path,
                               const char *name, emp_error *err);

#endif /* EMP_SIM_MACHINE_SOURCE_H */
