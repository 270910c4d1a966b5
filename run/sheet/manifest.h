/** \file run/sheet/manifest.h
 * Which program made a result: version, commit, and whether the tree differed from it.
 */
#ifndef EMP_RUN_SHEET_MANIFEST_H
#define EMP_RUN_SHEET_MANIFEST_H

#include <stdbool.h>

typedef struct {
    const char *version; /**< "0.1.0" */
    const char *commit;  /**< 40 hexadecimal digits, or "unknown" */
    bool        is_dirty;
    const char *code;    /**< the compiler and its flags: "GNU 12.2.0 x86_64 -O3" */
    const char *command; /**< how the program was called; "" before it was told */
} emp_manifest;

/** The program that is running; static storage. */
emp_manifest emp_manifest_get(void);

/** Notes the command line, once, at the start of the program; what does not fit is cut off. */
void emp_manifest_set_command(int argc, char **argv);

#endif /* EMP_RUN_SHEET_MANIFEST_H */
