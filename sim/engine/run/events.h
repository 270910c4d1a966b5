/** \file sim/engine/run/events.h
 * The rules of a run, what a traced run reports, and the events of a run.
 */
#ifndef EMP_SIM_ENGINE_RUN_EVENTS_H
#define EMP_SIM_ENGINE_RUN_EVENTS_H

#include "sim/engine/engine.h"
#include "sim/rules/rules.h"

/* EMP_RULES, which all functions of a run read: EMP_SIM_RULES, constants, where the includer
 * defines it, else those of the simulator `sim`. */

#ifdef EMP_SIM_RULES
static const emp_sim_rules emp_run_rules = EMP_SIM_RULES;
#define EMP_RULES emp_run_rules
#else
#define EMP_RULES (sim->rules)
#endif

/* The calls of a traced run, and the fingerprint of its schedule; the times of ops in a timed run.
 * Other runs have neither. */

#define EMP_RUN_TELL(callback, ...)                                               \
    do {                                                                          \
        if (EMP_RULES.is_traced) EMP_SIM_TELL(sim->trace, callback, __VA_ARGS__); \
    } while (0)

/** Whether a trace or a timed run needs the start of each op. */
EMP_SIM_INLINE bool emp_run_keeps_starts(const emp_engine *sim)
{
    (void)sim;
    return EMP_RULES.is_traced || EMP_RULES.is_timed;
}

/** Once an op. */
static inline void emp_run_record_op(emp_engine *sim, int32_t op, int32_t device,
                                     emp_time_ns start, emp_time_ns end)
{
    emp_op_id id = sim->start[op].id;

    if (EMP_RULES.is_traced)
        emp_sim_record(&sim->result, EMP_SIM_RECORD_OP, id, device, start, end);
    if (EMP_RULES.is_timed) {
        sim->times.start_ns[id] = start;
        sim->times.end_ns[id] = end;
    }
}

static inline void emp_run_trace_ready(emp_engine *sim, int32_t op, int32_t device)
{
    EMP_RUN_TELL(ready, sim->start[op].id, device, sim->now);
}

static inline void emp_run_trace_op(emp_engine *sim, int32_t op, int32_t device,
                                    int32_t lane, emp_time_ns start, emp_time_ns end)
{
    EMP_RUN_TELL(op, sim->start[op].id, device, lane, start, end);
}

static inline void emp_run_trace_issue(emp_engine *sim, int32_t op, int32_t device,
                                       emp_time_ns start)
{
    EMP_RUN_TELL(issue, sim->start[op].id, device, start, sim->now);
}

static inline int32_t emp_run_tensor_of_copy(const emp_engine *sim, int32_t copy)
{
    return sim->instance[copy].tensor;
}

static inline void emp_run_trace_copy(emp_engine *sim, int32_t copy,
                                      emp_sim_copy_phase phase)
{
    int32_t tensor = emp_run_tensor_of_copy(sim, copy);

    EMP_RUN_TELL(copy, sim->payload[tensor].id, sim->instance[tensor].space,
                 sim->instance[copy].space, phase, sim->now);
}

static inline void emp_run_trace_transfer(emp_engine *sim, int32_t copy,
                                          emp_time_ns start, emp_time_ns end)
{
    int32_t       tensor = emp_run_tensor_of_copy(sim, copy);
    int32_t       from = sim->instance[tensor].space;
    int32_t       to = sim->instance[copy].space;
    emp_tensor_id id = sim->payload[tensor].id;

    if (EMP_RULES.is_traced)
        emp_sim_record(&sim->result, EMP_SIM_RECORD_TRANSFER, id, to, start, end);
    EMP_RUN_TELL(transfer, id, from, to, start, end);
}

static inline void emp_run_trace_message(emp_engine *sim, int32_t op, int32_t to)
{
    if (EMP_RULES.is_traced)
        emp_sim_record(&sim->result, EMP_SIM_RECORD_MESSAGE, sim->start[op].id, to,
                       sim->now, sim->now);
    EMP_RUN_TELL(message, sim->start[op].id, to, sim->now);
}

static inline void emp_run_trace_memory(emp_engine *sim, int32_t space)
{
    EMP_RUN_TELL(memory, space, sim->now, sim->device[space].memory.used);
}

#undef EMP_RUN_TELL

/* The earliest event of every source, in two trees of minima: one of the servers, whose
 * events are the most, one of all other sources. And the lists of sources. */

/** Bits of an event that hold its source: a constant, except in runs of days. */
static inline int32_t emp_run_source_bits(const emp_engine *sim)
{
    return EMP_RULES.has_long_times ? sim->source_bits : EMP_SIM_SOURCE_BITS;
}

/** No event happens at this time or later. */
static inline emp_time_ns emp_run_last_ns(const emp_engine *sim)
{
    return emp_sim_last_ns(emp_run_source_bits(sim));
}

/** An event: time above source. Signed, because the minimum of two then takes an instruction less. */
static inline int64_t emp_run_event_at(const emp_engine *sim, int32_t source,
                                       emp_time_ns at)
{
    return at << emp_run_source_bits(sim) | source;
}

static inline emp_time_ns emp_run_time_of_event(const emp_engine *sim, int64_t event)
{
    return event >> emp_run_source_bits(sim);
}

static inline int32_t emp_run_source_of_event(const emp_engine *sim, int64_t event)
{
    return (int32_t)(event & ((INT64_C(1) << emp_run_source_bits(sim)) - 1));
}

/** Later than any event. */
static inline int64_t emp_run_no_event(const emp_engine *sim)
{
    return emp_run_event_at(sim, 0, emp_run_last_ns(sim));
}

static inline int64_t emp_run_earlier_of(int64_t a, int64_t b) { return a < b ? a : b; }

/** The earliest event of the three nodes beside node \a i. To ask them, and not all four,
 * spares a wait for what has just been written. */
static inline int64_t emp_run_beside(const int64_t *node, uint64_t i)
{
    return emp_run_earlier_of(emp_run_earlier_of(node[i ^ 1], node[i ^ 2]), node[i ^ 3]);
}

/** The event of a source is over; \a next is its next one. \a top: how many topmost nodes the
 * tree has, 2 or 4. The walk up has no branch but its end, which a processor foresees: all
 * leaves are equally deep. */
EMP_SIM_INLINE void emp_run_replace_event(emp_sim_tree *tree, uint64_t top,
                                          int32_t source, int64_t next)
{
    int64_t *node = tree->node;
    uint64_t i = (uint32_t)(tree->first_leaf + source);

    node[i] = next;
    do {
        next = emp_run_earlier_of(next, emp_run_beside(node, i));
        i /= 4;
        node[i] = next;
    } while (i >= 2 * top);
    tree->first =
        emp_run_earlier_of(next, top == 2 ? node[i ^ 1] : emp_run_beside(node, i));
}

/** A source has one more event. Nothing is asked of other sources, and an event that is
 * not the first of its source changes nothing. Whether it is the first of all is asked by a
 * branch: a processor foresees that it seldom is, and goes on before it knows the time. */
EMP_SIM_INLINE void emp_run_add_event(emp_sim_tree *tree, uint64_t top, int32_t source,
                                      int64_t event)
{
    int64_t *node = tree->node;
    uint64_t i = (uint32_t)(tree->first_leaf + source);

    if (event < tree->first) {
        tree->first = node[i] = event;
        do {
            i /= 4;
            node[i] = event;
        } while (i >= 2 * top);
    } else {
        node[i] = emp_run_earlier_of(node[i], event);
        do {
            i /= 4;
            node[i] = emp_run_earlier_of(node[i], event);
        } while (i >= 2 * top);
    }
}

static inline void emp_run_replace_server_event(emp_engine *sim, int32_t device,
                                                int64_t next)
{
    emp_run_replace_event(&sim->servers, EMP_SIM_SERVERS_TOP, device, next);
}

static inline void emp_run_add_server_event(emp_engine *sim, int32_t device,
                                            emp_time_ns at)
{
    emp_run_add_event(&sim->servers, EMP_SIM_SERVERS_TOP, device,
                      emp_run_event_at(sim, device, at));
}

static inline void emp_run_replace_other_event(emp_engine *sim, int32_t source,
                                               int64_t next)
{
    emp_run_replace_event(&sim->others, EMP_SIM_OTHERS_TOP, source, next);
}

static inline void emp_run_add_other_event(emp_engine *sim, int32_t source,
                                           emp_time_ns at)
{
    emp_run_add_event(&sim->others, EMP_SIM_OTHERS_TOP, source,
                      emp_run_event_at(sim, source, at));
}

static inline void emp_run_clear_tree(const emp_engine *sim, emp_sim_tree *tree)
{
    for (int32_t i = 0; i < 2 * tree->leaf_count; i++)
        tree->node[i] = emp_run_no_event(sim);
    tree->first = emp_run_no_event(sim);
}

/** Nothing follows. */
static inline void emp_run_end_list(const emp_engine *sim, emp_sim_link *link)
{
    link->time_ns = emp_run_last_ns(sim);
    link->item = EMP_SIM_NO_ITEM;
}

static inline void emp_run_clear_events(emp_engine *sim)
{
    emp_run_clear_tree(sim, &sim->servers);
    emp_run_clear_tree(sim, &sim->others);
    for (int32_t i = 0; i < sim->source_count; i++) emp_run_end_list(sim, &sim->head[i]);
    for (int32_t i = 0; i < sim->device_count; i++)
        emp_run_end_list(sim, &sim->device[i].line);
    for (int32_t i = 0; EMP_RULES.has_levels && i < sim->device_count; i++) {
        sim->device[i].waiting = 0;
        for (int32_t level = 0; level < EMP_LEVELS; level++)
            emp_run_end_list(sim, &sim->device[i].line_of_level[level]);
    }
}

static inline bool emp_run_is_empty(const emp_sim_link *head) { return head->item < 0; }

/** Puts \a item, whose link is \a own, behind the link \a last, which ends the list or is its empty \a head. */
static inline void emp_run_append_behind(emp_engine *sim, emp_sim_link *head,
                                         emp_sim_link *last, int32_t item,
                                         emp_sim_link *own, emp_time_ns time_ns)
{
    emp_run_end_list(sim, own);
    last->time_ns = time_ns;
    last->item = item;
    head->last = item;
}

/** The link of an item that waits for a device. */
static inline emp_sim_link *emp_run_link_of_waiting(emp_engine *sim, int32_t item)
{
    return EMP_RULES.serial_issue ? &sim->link[item] : &sim->op[item].link;
}

/** Puts \a item into the list of a device. \a time_ns is for who takes the item. */
static inline void emp_run_append(emp_engine *sim, emp_sim_link *head, int32_t item,
                                  emp_time_ns time_ns)
{
    emp_sim_link *last =
        emp_run_is_empty(head) ? head : emp_run_link_of_waiting(sim, head->last);

    emp_run_append_behind(sim, head, last, item, emp_run_link_of_waiting(sim, item),
                          time_ns);
}

/** Makes what follows the first item of a list, as \a link says, its head. */
static inline void emp_run_advance(emp_sim_link *head, const emp_sim_link *link)
{
    head->time_ns = link->time_ns;
    head->item = link->item;
}

/** \return the first item of a list of delays; the next one is at its head then. */
static inline int32_t emp_run_take(emp_sim_link *head, const emp_sim_link *link)
{
    int32_t item = head->item;

    emp_run_advance(head, &link[item]);
    return item;
}

/** \return the first item of the list of a device; the next one is at its head then. */
static inline int32_t emp_run_take_waiting(emp_engine *sim, emp_sim_link *head)
{
    int32_t item = head->item;

    emp_run_advance(head, emp_run_link_of_waiting(sim, item));
    return item;
}

/* Items with links outside of their records: ops, if there are host threads, then copies, then messages,
 * then received copies. */

static inline int32_t emp_run_item_of_copy(const emp_engine *sim, int32_t copy)
{
    return sim->copy_item + copy;
}

static inline int32_t emp_run_copy_of_item(const emp_engine *sim, int32_t item)
{
    return item - sim->copy_item;
}

/** A copy that has come and that a host thread has to receive. */
static inline int32_t emp_run_item_of_received(const emp_engine *sim, int32_t copy)
{
    return sim->first_received - sim->first_copy + copy;
}

static inline int32_t emp_run_copy_of_received(const emp_engine *sim, int32_t item)
{
    return item - sim->first_received + sim->first_copy;
}

static inline bool emp_run_is_received(const emp_engine *sim, int32_t item)
{
    return item >= sim->first_received;
}

static inline int32_t emp_run_item_of_message(const emp_engine *sim, int32_t message)
{
    return sim->first_message + message;
}

/** Lets \a item happen at a source after all items in it. Whether there are any depends on
 * the placement, so nothing here branches. */
static inline void emp_run_delay(emp_engine *sim, int32_t source, int32_t item,
                                 emp_time_ns at)
{
    emp_sim_link *head = &sim->head[source];
    int32_t       last = head->last, is_first = emp_run_is_empty(head);

    last += (sim->first_head + source - last) & -is_first;
    emp_run_append_behind(sim, head, &sim->link[last], item, &sim->link[item], at);
    emp_run_add_other_event(sim, source, at);
}

/** Lets \a item happen after those that are not later. */
static inline void emp_run_delay_in_order(emp_engine *sim, int32_t source, int32_t item,
                                          emp_time_ns at)
{
    emp_sim_link *link = &sim->head[source];

    while (link->time_ns <= at) link = &sim->link[link->item];
    sim->link[item].time_ns = link->time_ns;
    sim->link[item].item = link->item;
    link->time_ns = at;
    link->item = item;
    if (sim->link[item].item == EMP_SIM_NO_ITEM) sim->head[source].last = item;
    emp_run_add_other_event(sim, source, at);
}

#endif /* EMP_SIM_ENGINE_RUN_EVENTS_H */
