/** \file sim/machine/config.h
 * Reads a YAML file by libcyaml into strings, and strings into quantities by a table of
 * fields. Every error is one sentence that names the file, the line and the key. Files come from the disk
 * or from a bundle, which is several small files as one text.
 */
#ifndef EMP_SIM_MACHINE_CONFIG_H
#define EMP_SIM_MACHINE_CONFIG_H

#include <cyaml/cyaml.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text/csv.h"
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

/* Bundles are several small files as one text, so that a record can keep the files of a machine:
 *
 *     --- # k40x2.yaml 523
 *     description: ...
 *     --- # models/k40.yaml 1211
 *     ...
 *
 * Each begins with a line that has its name and its size in bytes; a line's end is behind it. */

enum { EMP_BUNDLE_NAME_BYTES = 96 };

/** A file of a bundle. Its text is borrowed and not terminated. */
typedef struct {
    char        name[EMP_BUNDLE_NAME_BYTES];
    const char *text;
    size_t      size;
} emp_bundle_file;

/** Appends a file to a bundle (at first NULL), which grows. A name that is there already is not
 * added again. \retval EMP_EINVAL  The name is empty, too long or of two lines, or the text has a zero byte.
 * \retval EMP_ENOMEM  The bundle is as it was. */
emp_status emp_bundle_add(char **bundle, const char *name, const char *text, size_t size,
                          emp_error *err);

/** Takes the file at \a *at, and moves \a *at behind it. \return false at the end, and where the
 * bundle is damaged: then \a *at does not point to its end. */
bool emp_bundle_next(const char **at, emp_bundle_file *file);

/** \return whether a file of that name is in the bundle. */
bool emp_bundle_find(const char *bundle, const char *name, emp_bundle_file *file);

/* Where the files of a machine come from, the disk or a bundle, and the text that keeps them. */

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

#endif /* EMP_SIM_MACHINE_CONFIG_H */
