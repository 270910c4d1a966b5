/** \file sim/machine/bundle.h
 * Several small files as one text, so that a record can keep what a machine was read from:
 *
 *     --- # k40x2.yaml 523
 *     description: ...
 *     --- # models/k40.yaml 1211
 *     ...
 *
 * Each begins with a line that has its name and its size in bytes; a line's end is behind it.
 */
#ifndef EMP_SIM_MACHINE_BUNDLE_H
#define EMP_SIM_MACHINE_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text/csv.h"
#include "sim/machine/config.h"

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

#endif /* EMP_SIM_MACHINE_BUNDLE_H */
