/** \file search/partition/metis_cut.h
 * METIS (Karypis and Kumar, 1998), the minimum edge cut of a weighted graph.
 *
 * Threads. METIS traps SIGABRT and SIGTERM for the whole process by jumps that only the
 * trapping thread survives, draws from rand() and complains on stdout. Therefore each call
 * runs in a child process, and any number may run at once.
 *
 * Errors of both functions: EMP_ENOMEM; EMP_EIO if there can be no child; EMP_EEXTERNAL if
 * METIS fails; EMP_EINTERRUPTED.
 */
#ifndef EMP_SEARCH_PARTITION_METIS_CUT_H
#define EMP_SEARCH_PARTITION_METIS_CUT_H

#include <stdatomic.h>

#include "search/partition/partition_graph.h"

/** A cut into few parts; 0 is the default of each number and pointer. */
typedef struct {
    const double *share; /**< [part] of the load; sum 1 */
    /** With memory [vertex] every part also gets about memory_share [part] of it (sum 1). */
    const int32_t *memory;
    const double  *memory_share;
    bool is_kway; /**< else recursive bisection, which the manual advises for few parts */
    double imbalance; /**< of a part's load over its share; METIS's own: 0.03 k-way, else
                           0.001, with memory 0.01 */
    double memory_imbalance; /**< likewise of its memory; as imbalance */
    int32_t
        cut_count; /**< cuts to make and keep the best of, with recursive bisection for
                            each bisection; METIS's own: 1 */
    const atomic_int *stop; /**< ends the cut when it is set; NULL: nothing does */
} emp_metis_cut;

/** Fills part_of_vertex with 0 .. part_count-1. METIS may leave parts empty, and calls that a success. */
emp_status emp_metis_parts(const emp_partition_graph *graph, int32_t part_count,
                           const emp_metis_cut *cut, uint64_t seed,
                           int32_t *part_of_vertex, emp_error *err);

/** K-way, for many parts; the largest has at most about \a imbalance times the mean load.
 * Parts may be empty.
 * \param stop  As in emp_metis_cut. */
emp_status emp_metis_kway(const emp_partition_graph *graph, int32_t part_count,
                          double imbalance, uint64_t seed, const atomic_int *stop,
                          int32_t *part_of_vertex, emp_error *err);

#endif /* EMP_SEARCH_PARTITION_METIS_CUT_H */
