/** \file sim/machine/config.h
 * Reads a YAML file by libcyaml into strings, and strings into quantities by a table of
 * fields. Every error is one sentence that names the file, the line and the key.
 */
#ifndef EMP_SIM_MACHINE_CONFIG_H
#define EMP_SIM_MACHINE_CONFIG_H

#include <cyaml/cyaml.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text/nearest.h"

/** A file and what it was parsed into. Zero-initialise; clear after use. */
typedef struct {
    char                        path[512];
    char                       *text;
    void                       *data; /**< of the schema's type */
    const cyaml_schema_value_t *schema;
} emp_config;

/** How a string becomes a value. */
typedef enum {
    EMP_CONFIG_SECONDS,     /**< double, >= 0 */
    EMP_CONFIG_BYTES,       /**< int64_t, > 0 */
    EMP_CONFIG_BYTES_PER_S, /**< double, > 0 */
    EMP_CONFIG_FLOPS_PER_S, /**< double, > 0 */
    EMP_CONFIG_HERTZ,       /**< double, > 0 */
    EMP_CONFIG_RATIO,       /**< double, > 0 */
    EMP_CONFIG_COUNT,       /**< int32_t, >= 1 */
    EMP_CONFIG_COUNT_OR_0,  /**< int32_t, >= 0 */
    EMP_CONFIG_SWITCH       /**< bool: yes, no */
} emp_config_kind;

/** One key: where its string is in the parsed struct and where its value goes. */
typedef struct {
    const char     *key;
    emp_config_kind kind;
    size_t          from; /**< offset of a char * */
    size_t          to;   /**< offset of the value */
} emp_config_field;

/** Reads and parses \a path. \retval EMP_EIO, EMP_EFORMAT, EMP_ENOMEM */
emp_status emp_config_open(emp_config *config, const char *path,
                           const cyaml_schema_value_t *schema, emp_error *err);
/** Parses a copy of a text that messages call \a path. \retval EMP_EFORMAT  Also if it is longer than
 * 1 MiB, as for emp_config_open(). \retval EMP_ENOMEM */
emp_status emp_config_parse(emp_config *config, const char *path, const char *text,
                            size_t size, const cyaml_schema_value_t *schema,
                            emp_error *err);
void       emp_config_close(emp_config *config);

/** Converts every field of \a raw into \a out and mixes the values into \a *hash. A field without a
 * text keeps the value that \a out has. */
emp_status emp_config_convert(const emp_config *config, const emp_config_field *fields,
                              size_t field_count, const void *raw, void *out,
                              uint64_t *hash, emp_error *err);

/** The value of a field that was converted into \a out; a switch is 0 or 1. */
double emp_config_number(const emp_config_field *field, const void *out);

/** The line of \a config that has both texts (either may be empty), or 1: for messages.
 */
int emp_config_line(const emp_config *config, const char *key, const char *value);

/** Resolves "NAME" to DATA/FOLDER/NAME.yaml, and leaves a path (with a slash or ending in
 * .yaml) alone. emp_data_folder() finds DATA. */
void emp_config_path(char *path, size_t size, const char *folder,
                     const char *name_or_path);

/** As emp_nearest_hint(), of a name that is no file of the data folder: " (did you mean
 * ./mine.yaml?)" where the current folder has that file. For a path, as emp_nearest_file().
 * \return \a hint. */
const char *emp_config_hint(const emp_nearest *near, char hint[EMP_NEAREST_BYTES]);

/* The section `fit` of a data file: which of its constants were fitted, and to which
 * published step times. It is there for people; the program needs the cells' names. */

struct emp_raw_fit_constant {
    char *name, *low, *high, *leans_on;
};

struct emp_raw_fit_cell {
    char *name, *published, *fitted, *off, *left_out;
};

struct emp_raw_fit {
    char                        *source, *command;
    struct emp_raw_fit_constant *constants;
    unsigned                     constants_count;
    struct emp_raw_fit_cell     *cells;
    unsigned                     cells_count;
};

extern const cyaml_schema_field_t emp_fit_fields[];

/** The optional key `fit` of struct \a type, which has a member `struct emp_raw_fit *fit`.
 */
#define EMP_FIT_FIELD(type)                                                             \
    CYAML_FIELD_MAPPING_PTR("fit", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, type, fit, \
                            emp_fit_fields)

#endif /* EMP_SIM_MACHINE_CONFIG_H */
