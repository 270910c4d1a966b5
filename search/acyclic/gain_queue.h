/** \file search/acyclic/gain_queue.h
 * A priority queue of vertices by gain: a binary heap that knows where each vertex is, so
 * that gains may change and vertices leave. Equal gains leave in the order of vertices.
 */
#ifndef EMP_SEARCH_ACYCLIC_GAIN_QUEUE_H
#define EMP_SEARCH_ACYCLIC_GAIN_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

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

#endif /* EMP_SEARCH_ACYCLIC_GAIN_QUEUE_H */
