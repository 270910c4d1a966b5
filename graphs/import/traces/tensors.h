/** \file graphs/import/traces/tensors.h
 * Which kernels of a step read what others have written: the operators of its profiler's trace,
 * joined with those of its execution trace.
 *
 * What an operator writes is written by the last kernel that it started. A tensor is known by its
 * storage, so that views and changes in place need no rules. A copy of a result carries all that
 * the operator makes.
 */
#ifndef EMP_GRAPHS_IMPORT_TRACES_TENSORS_H
#define EMP_GRAPHS_IMPORT_TRACES_TENSORS_H

#include "graphs/import/traces/execution.h"
#include "graphs/import/traces/kineto/step.h"

/** Zero-initialise; emp_step_tensors_clear() releases it, also after a failure. */
typedef struct {
    bool    *is_joined; /**< [node] it ran for an operator of the execution trace */
    int64_t *bytes;     /**< [node] of its result; 0 unless it is the operator's last */
    emp_traced_edge *read; /**< \a to reads the result of \a from */
    int32_t          read_count, read_capacity;
    int32_t          joined_count;
} emp_step_tensors;

/** O(nodes log operators + tensors log tensors). \retval EMP_ENOMEM */
emp_status emp_step_tensors_find(emp_step_tensors *out, const emp_traced_step *step,
                                 const emp_kineto *trace, const emp_execution *execution,
                                 emp_error *err);

void emp_step_tensors_clear(emp_step_tensors *tensors);

#endif /* EMP_GRAPHS_IMPORT_TRACES_TENSORS_H */
