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

#endif /* EMP_SIM_MACHINE_BUNDLE_H */
