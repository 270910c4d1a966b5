/** \file sim/engine/run_events.h
 * The earliest event of every source, in two trees of minima: one of the servers, whose
 * events are the most, one of all other sources. And the lists of sources.
 */
#ifndef EMP_SIM_ENGINE_RUN_EVENTS_H
#define EMP_SIM_ENGINE_RUN_EVENTS_H

#include "sim/engine/sim_internal.h"

static inline uint64_t event_at(int32_t source, emp_time_ns at)
{
    return (uint64_t)at << EMP_SIM_SOURCE_BITS | (uint64_t)source;
}

/** No event of a source. */
static inline uint64_t no_event(int32_t source)
{
    return event_at(source, EMP_SIM_LAST_NS);
}

static inline uint64_t earlier_of(uint64_t a, uint64_t b) { return a < b ? a : b; }

/** The earliest event of all. */
static inline uint64_t next_event(const emp_sim *sim)
{
    return earlier_of(sim->servers.node[1], sim->others.node[1]);
}

/** Sets the event of a leaf. The walk up has no branch but its end, which a processor
 * foresees: all leaves are equally deep. */
static inline void set_leaf(const emp_sim_tree *tree, int32_t leaf, uint64_t event)
{
    uint64_t *node = tree->node;
    uint64_t  i = (uint32_t)(tree->leaf_count + leaf);

    node[i] = event;
    do {
        uint64_t beside = node[i ^ 1];
        i /= 2;
        event = earlier_of(event, beside);
        node[i] = event;
    } while (i != 1);
}

static inline void set_server_event(emp_sim *sim, int32_t device, uint64_t event)
{
    set_leaf(&sim->servers, device, event);
}

/** Of a source that is no server. */
static inline void set_event(emp_sim *sim, int32_t source, uint64_t event)
{
    set_leaf(&sim->others, source - sim->device_count, event);
}

/** Leaves are of the sources from \a source on, which have no events. */
static inline void clear_tree(const emp_sim_tree *tree, int32_t source)
{
    const int32_t count = tree->leaf_count;

    for (int32_t i = 0; i < count; i++) tree->node[count + i] = no_event(source + i);
    for (int32_t i = count - 1; i > 0; i--)
        tree->node[i] = earlier_of(tree->node[2 * i], tree->node[2 * i + 1]);
}

static inline void clear_events(emp_sim *sim)
{
    clear_tree(&sim->servers, 0);
    clear_tree(&sim->others, sim->device_count);
    for (int32_t i = 0; i < sim->source_count; i++) sim->queue[i].first = sim->no_item;
}

static inline bool is_empty(const emp_sim *sim, const emp_sim_queue *queue)
{
    return queue->first == sim->no_item;
}

/** \return whether the item is the first. */
static inline bool append(emp_sim *sim, emp_sim_queue *queue, int32_t item)
{
    bool is_first = is_empty(sim, queue);

    sim->next[item] = sim->no_item;
    if (is_first) {
        queue->first = item;
    } else {
        sim->next[queue->last] = item;
    }
    queue->last = item;
    return is_first;
}

static inline int32_t take(const emp_sim *sim, emp_sim_queue *queue)
{
    int32_t item = queue->first;

    queue->first = sim->next[item];
    return item;
}

/* Items are ops, then copies, then messages. */

static inline int32_t item_of_copy(const emp_sim *sim, int32_t copy)
{
    return sim->copy_item + copy;
}

static inline int32_t copy_of_item(const emp_sim *sim, int32_t item)
{
    return item - sim->copy_item;
}

static inline int32_t item_of_message(const emp_sim *sim, int32_t message)
{
    return sim->op_count + sim->copy_limit + message;
}

/** Lets \a item happen at a source after all items in it. */
static inline void delay(emp_sim *sim, int32_t source, int32_t item, emp_time_ns at)
{
    emp_sim_queue *queue = &sim->queue[source];

    sim->until[item] = at;
    if (append(sim, queue, item)) set_event(sim, source, event_at(source, at));
}

/** Lets \a item happen after those that are not later. */
static inline void delay_in_order(emp_sim *sim, int32_t source, int32_t item,
                                  emp_time_ns at)
{
    emp_sim_queue *queue = &sim->queue[source];
    int32_t       *link = &queue->first;

    while (sim->until[*link] <= at) link = &sim->next[*link];
    sim->until[item] = at;
    sim->next[item] = *link;
    *link = item;
    if (sim->next[item] == sim->no_item) queue->last = item;
    if (queue->first == item) set_event(sim, source, event_at(source, at));
}

#endif /* EMP_SIM_ENGINE_RUN_EVENTS_H */
