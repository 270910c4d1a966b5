/** \file run/manifest.h
 * Which program made a result: version, commit, and whether the tree differed from it.
 */
#ifndef EMP_RUN_MANIFEST_H
#define EMP_RUN_MANIFEST_H

#include <stdbool.h>

typedef struct {
    const char *version; /**< "0.1.0" */
    const char *commit;  /**< 40 hexadecimal digits, or "unknown" */
    bool        is_dirty;
} emp_manifest;

/** The program that is running; static storage. */
emp_manifest emp_manifest_get(void);

#endif /* EMP_RUN_MANIFEST_H */
