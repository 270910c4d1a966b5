/** \file sim/engine/run_events.h
 * The heap over the sources of events, and their lists. Each source has at most its
 * earliest event in the heap; places after the last are EMP_SIM_NEVER.
 */
#ifndef EMP_SIM_ENGINE_RUN_EVENTS_H
#define EMP_SIM_ENGINE_RUN_EVENTS_H

#include "sim/engine/sim_internal.h"

static inline uint64_t event_at(int32_t source, emp_time_ns at)
{
    return (uint64_t)at << EMP_SIM_SOURCE_BITS | (uint64_t)source;
}

/** The event of a source that had none. */
static inline void push_event(emp_sim *sim, uint64_t event)
{
    uint64_t *heap = sim->heap;
    uint32_t  i = ++sim->heap_count;

    while (i > 1 && heap[i / 2] > event) {
        heap[i] = heap[i / 2];
        i /= 2;
    }
    heap[i] = event;
}

/** Puts \a event in the place of the earliest. */
static inline void replace_first_event(emp_sim *sim, uint64_t event)
{
    uint64_t *heap = sim->heap;
    uint32_t  i = 1;

    for (;;) {
        uint64_t left = heap[2 * i], right = heap[2 * i + 1];
        uint64_t least = right < left ? right : left;
        if (event <= least) break;
        heap[i] = least;
        i = 2 * i + (right < left);
    }
    heap[i] = event;
}

static inline void drop_first_event(emp_sim *sim)
{
    uint64_t last = sim->heap[sim->heap_count];

    sim->heap[sim->heap_count--] = EMP_SIM_NEVER;
    if (sim->heap_count > 0) replace_first_event(sim, last);
}

/** The event of \a source is \a event, which is earlier than the one it may have. */
static inline void advance_event(emp_sim *sim, int32_t source, uint64_t event)
{
    uint64_t *heap = sim->heap;
    uint64_t  mask = EMP_SIM_SOURCE_MASK;
    uint32_t  i = 2; /* the first is being handled */

    while (i <= sim->heap_count && (heap[i] & mask) != (uint64_t)source) i++;
    if (i > sim->heap_count) {
        push_event(sim, event);
        return;
    }
    for (; i > 1 && heap[i / 2] > event; i /= 2) heap[i] = heap[i / 2];
    heap[i] = event;
}

static inline void append(emp_sim *sim, emp_sim_queue *queue, int32_t item)
{
    sim->next[item] = -1;
    if (queue->head < 0) {
        queue->head = item;
    } else {
        sim->next[queue->tail] = item;
    }
    queue->tail = item;
}

static inline int32_t take(emp_sim *sim, emp_sim_queue *queue)
{
    int32_t item = queue->head;

    queue->head = sim->next[item];
    return item;
}

/** Items in lists: ops, then copies, then messages. */
static inline int32_t item_of_copy(const emp_sim *sim, int32_t copy)
{
    return sim->op_count + copy;
}

static inline int32_t item_of_message(const emp_sim *sim, int32_t message)
{
    return sim->op_count + sim->copy_limit + message;
}

static inline emp_time_ns until(const emp_sim *sim, int32_t item)
{
    if (item < sim->op_count) return sim->time_of_op[item];
    item -= sim->op_count;
    if (item < sim->copy_limit) return sim->copy[item].until;
    return sim->message[item - sim->copy_limit].until;
}

/** Lets \a item, whose time is set, happen at a source after all items in it. */
static inline void delay(emp_sim *sim, int32_t source, int32_t item, emp_time_ns at)
{
    emp_sim_queue *queue = &sim->queue[source];

    if (queue->head < 0) push_event(sim, event_at(source, at));
    append(sim, queue, item);
}

/** Lets \a item happen after those that are not later. */
static inline void delay_in_order(emp_sim *sim, int32_t source, int32_t item,
                                  emp_time_ns at)
{
    emp_sim_queue *queue = &sim->queue[source];
    int32_t       *link = &queue->head;

    while (*link >= 0 && until(sim, *link) <= at) link = &sim->next[*link];
    sim->next[item] = *link;
    *link = item;
    if (sim->next[item] < 0) queue->tail = item;
    if (queue->head == item) advance_event(sim, source, event_at(source, at));
}

#endif /* EMP_SIM_ENGINE_RUN_EVENTS_H */
