/** \file base/named_array.h
 * A module's state as a list of named arrays: whoever saves the state reads them, whoever
 * restores it writes into them, and neither needs to know what they mean.
 */
#ifndef EMP_BASE_NAMED_ARRAY_H
#define EMP_BASE_NAMED_ARRAY_H

#include <stddef.h>

enum {
    EMP_MAX_NAMED_ARRAYS = 32, /* of one list */
    EMP_ARRAY_NAME_BYTES = 32  /* of a name, with its end */
};

typedef enum {
    EMP_ARRAY_UINT8,
    EMP_ARRAY_INT32,
    EMP_ARRAY_INT64,
    EMP_ARRAY_FLOAT,
    EMP_ARRAY_DOUBLE
} emp_array_type;

typedef struct {
    const char    *name; /**< static storage; unique in its list */
    emp_array_type type;
    size_t         count;
    void          *values; /**< borrowed from the module that lists it */
} emp_named_array;

/** Of one value. */
size_t emp_array_type_bytes(emp_array_type type);

#endif /* EMP_BASE_NAMED_ARRAY_H */
