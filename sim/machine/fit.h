/** \file sim/machine/fit.h
 * The section `fit` of a data file: which of its constants were fitted, and to which
 * published step times. It is there for people; the program needs the cells' names.
 */
#ifndef EMP_SIM_MACHINE_FIT_H
#define EMP_SIM_MACHINE_FIT_H

#include <cyaml/cyaml.h>

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

#endif /* EMP_SIM_MACHINE_FIT_H */
