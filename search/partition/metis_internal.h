/** \file search/partition/metis_internal.h
 * A cut that METIS is to make, between those that describe it and what runs METIS. The only includer of
 * metis.h.
 */
#ifndef EMP_SEARCH_PARTITION_METIS_INTERNAL_H
#define EMP_SEARCH_PARTITION_METIS_INTERNAL_H

#include <metis.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/mem.h"

typedef int emp_metis_function(idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *,
                               idx_t *, idx_t *, real_t *, real_t *, idx_t *, idx_t *,
                               idx_t *);

/** A graph in METIS's integers, and what it is to be cut into. */
typedef struct {
    emp_metis_function *function;
    idx_t               vertex_count, part_count;
    idx_t               constraint_count;
    idx_t              *row, *neighbor, *traffic;
    idx_t              *load;  /**< [vertex][constraint] */
    real_t             *share; /**< [part][constraint]; borrowed; NULL = equal */
    real_t *tolerance; /**< [constraint] 1 + imbalance; borrowed; NULL = METIS's */
    idx_t   options[METIS_NOPTIONS];
    idx_t  *part;           /**< [vertex] the result */
    const atomic_int *stop; /**< NULL: nothing stops it */
    emp_arrays        arrays;
} emp_metis_task;

/** Calls METIS and fills the part of each vertex and \a code, which METIS returned.
 *
 * METIS traps signals process-wide, and draws from rand(): two threads cannot call it. So it runs in a
 * child process (metis_child.c), which is killed when the task is to stop. A child that was forked while
 * another thread had a lock of the sanitizers' allocator would wait for it for ever. Builds with
 * sanitizers call METIS here, one thread after another (metis_here.c). A call that has begun is not stopped.
 * \retval EMP_EIO           There is no process for it.
 * \retval EMP_EEXTERNAL     METIS ended without a result.
 * \retval EMP_EINTERRUPTED  The task's \a stop was set. */
emp_status emp_metis_run(const emp_metis_task *task, int *code, emp_error *err);

#endif /* EMP_SEARCH_PARTITION_METIS_INTERNAL_H */
