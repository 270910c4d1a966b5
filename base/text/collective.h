/** \file base/text/collective.h
 * The kinds of collectives: what devices do together with data of which each has a part.
 */
#ifndef EMP_BASE_TEXT_COLLECTIVE_H
#define EMP_BASE_TEXT_COLLECTIVE_H

#include "base/error.h"

typedef enum {
    EMP_COLLECTIVE_ALL_REDUCE,     /**< all get the sum of all buffers */
    EMP_COLLECTIVE_ALL_GATHER,     /**< all get the parts of all */
    EMP_COLLECTIVE_REDUCE_SCATTER, /**< each gets its part of the sum */
    EMP_COLLECTIVE_ALL_TO_ALL,     /**< each sends each other a part of its buffer */
    EMP_COLLECTIVES
} emp_collective;

/** "all_reduce", "all_gather", "reduce_scatter", "alltoall"; static storage. */
const char *emp_collective_name(emp_collective op);

/** \retval EMP_EINVAL  The message has the known names. */
emp_status emp_collective_parse(emp_collective *op, const char *name, emp_error *err);

#endif /* EMP_BASE_TEXT_COLLECTIVE_H */
