/** \file search/acyclic/acyclic_cut.h
 * An acyclic partition: all flows between parts lead from lower to higher numbers, so that
 * no data goes back and forth between devices. After dagP (Herrmann, Ozkaya, Ucar, Kaya and
 * Catalyurek, SIAM J. Sci. Comput. 41, 2019).
 *
 * Recursive bisection. Each bisection is multilevel: clusters that close no cycle
 * (flow_graph.h) become vertices until few are left; those are divided, from either end
 * and in the middle of a topological order; then clusters dissolve step by step, and the
 * border moves (acyclic_refine.h) at each. This is done twice, with different clusters.
 * Beside it stand divisions of the whole graph that are refined alike: the middle of a
 * topological order, and METIS's bisection, mended (emp_acyclic_start_mend()). The best counts.
 */
#ifndef EMP_SEARCH_ACYCLIC_ACYCLIC_CUT_H
#define EMP_SEARCH_ACYCLIC_ACYCLIC_CUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "search/acyclic/flow_graph.h"

/* First divisions of a flow graph into two sides, all flows from side 0 to side 1, to be
 * refined (acyclic_refine.h). */

/** METIS's bisection, which knows no directions: flows may lead both ways. Side 0 gets about
 * \a share of the load. \a stop is as in metis_cut.h.
 * \retval EMP_ENOMEM, and as for metis_cut.h */
emp_status emp_acyclic_start_metis(const emp_flow_graph *graph, double share,
                                   uint64_t seed, const atomic_int *stop, int8_t *side,
                                   emp_error *err);

/** Makes any sides acyclic (Herrmann et al. 2019, section 4.2): all that feeds side 0 joins
 * it, or all that side 1 feeds joins that one. O(V + E). */
void emp_acyclic_start_mend(const emp_flow_graph *graph, const int32_t *order,
                            bool joins_first, int8_t *side);

/** Fills part_of_vertex with 0 .. part_count-1; parts may be empty. No part is meant to have
 * more load than (1 + \a imbalance) times its \a share of all (shares add up to 1): moves
 * that lessen an excess come first. Equal seeds give equal parts.
 * The cut ends when \a stop is set; NULL: nothing ends it.
 * O((V + E) log V) per bisection, of which there are log(parts) one below the other.
 * \retval EMP_ENOMEM, and as for search/partition/metis_cut.h
 * \retval EMP_ECYCLE  Flows form a cycle that emp_flow_graph_create() did not make. */
emp_status emp_acyclic_cut(const emp_flow_graph *graph, int32_t part_count,
                           const double *share, double imbalance, uint64_t seed,
                           const atomic_int *stop, int32_t *part_of_vertex,
                           emp_error *err);

/* A flow graph in two sides, all flows between them from side 0 to side 1, made better by
 * moves that keep it so: Fiduccia and Mattheyses (DAC 1982), with only those vertices free to
 * move whose flows allow it (Herrmann et al. 2019, section 4.3): from side 0 the ones without
 * a successor there, from side 1 the ones without a predecessor there.
 *
 * From all on one side it makes a first division, vertex by vertex. */

/* A priority queue of vertices by gain: a binary heap that knows where each vertex is, so
 * that gains may change and vertices leave. Equal gains leave in the order of vertices. */

typedef struct {
    const int64_t *gain; /**< [vertex] borrowed; call emp_gain_queue_fix after a change */
    int32_t       *heap; /**< vertices */
    int32_t       *where; /**< [vertex] 1 + index in heap; 0 = not in the queue */
    int32_t        count;
} emp_gain_queue;

/** An empty queue for \a vertex_count vertices. \retval EMP_ENOMEM */
emp_status emp_gain_queue_init(emp_gain_queue *queue, const int64_t *gain,
                               int32_t vertex_count, emp_error *err);
void       emp_gain_queue_clear(emp_gain_queue *queue); /**< legal after a failed init */
void       emp_gain_queue_empty(emp_gain_queue *queue); /**< O(count) */

/** The vertex with the highest gain, or -1. */
static inline int32_t emp_gain_queue_top(const emp_gain_queue *queue)
{
    return queue->count > 0 ? queue->heap[0] : -1;
}

/** Each O(log count). Pushing what is there, and removing or fixing what is not, does
 * nothing. */
void emp_gain_queue_push(emp_gain_queue *queue, int32_t vertex);
void emp_gain_queue_remove(emp_gain_queue *queue, int32_t vertex);
void emp_gain_queue_fix(emp_gain_queue *queue, int32_t vertex);

/** How good two sides are. */
typedef struct {
    int64_t excess; /**< load beyond the limits of the sides */
    int64_t cut;    /**< traffic between them */
} emp_acyclic_score;

/** Passes over the vertices until one brings nothing. In a pass each vertex moves at most
 * once, that with the highest gain first, off a side that is too full before all else; then
 * the moves after the best moment are taken back.
 * \param limit  Load that each side may have.
 * \param side   [vertex] 0 or 1, in and out.
 * O((V + E) log V) a pass, of which there are at most 10. \retval EMP_ENOMEM */
emp_status emp_acyclic_refine(const emp_flow_graph *graph, const int64_t limit[2],
                              int8_t *side, emp_acyclic_score *score, emp_error *err);

#endif /* EMP_SEARCH_ACYCLIC_ACYCLIC_CUT_H */
