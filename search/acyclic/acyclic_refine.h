/** \file search/acyclic/acyclic_refine.h
 * A flow graph in two sides, all flows between them from side 0 to side 1, made better by
 * moves that keep it so: Fiduccia and Mattheyses (DAC 1982), with only those vertices free to
 * move whose flows allow it (Herrmann et al. 2019, section 4.3): from side 0 those that feed
 * nobody there, from side 1 those that nobody there feeds.
 *
 * From all on one side it makes a first division, vertex by vertex.
 */
#ifndef EMP_SEARCH_ACYCLIC_ACYCLIC_REFINE_H
#define EMP_SEARCH_ACYCLIC_ACYCLIC_REFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "search/acyclic/flow_graph.h"

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

/** Less excess before less traffic; false for equals. */
bool emp_acyclic_is_better(emp_acyclic_score score, emp_acyclic_score than);

/** Passes over the vertices until one brings nothing. In a pass each vertex moves at most
 * once, that with the highest gain first, off a side that is too full before all else; then
 * the moves after the best moment are taken back.
 * \param limit  Load that each side may have.
 * \param side   [vertex] 0 or 1, in and out.
 * O((V + E) log V) a pass, of which there are at most 10. \retval EMP_ENOMEM */
emp_status emp_acyclic_refine(const emp_flow_graph *graph, const int64_t limit[2],
                              int8_t *side, emp_acyclic_score *score, emp_error *err);

#endif /* EMP_SEARCH_ACYCLIC_ACYCLIC_REFINE_H */
