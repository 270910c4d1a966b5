/** \file sim/engine/run/copy.h
 * Tensors on their way to another memory, from the request to the links. A delay of
 * nothing is no event: what it would delay happens at once.
 */
#ifndef EMP_SIM_ENGINE_RUN_COPY_H
#define EMP_SIM_ENGINE_RUN_COPY_H

#include "sim/engine/run/server.h"

/** The memories that a copy comes from and goes to. */
static inline int32_t emp_run_source_of_copy(const emp_engine *sim, int32_t copy)
{
    return sim->instance[copy].from;
}

static inline int32_t emp_run_target_of_copy(const emp_engine *sim, int32_t copy)
{
    return sim->instance[copy].space;
}

static inline const emp_sim_payload *emp_run_payload_of_copy(const emp_engine *sim,
                                                             int32_t           copy)
{
    return &sim->payload[emp_run_tensor_of_copy(sim, copy)];
}

static inline const emp_sim_route *emp_run_route_of_copy(const emp_engine *sim,
                                                         int32_t           copy)
{
    return sim->route[emp_run_source_of_copy(sim, copy)] +
           emp_run_target_of_copy(sim, copy);
}

/** \a tensor is read in the memory \a to, by \a reader. Its copies are those from \a first on. \return the
 * copy. */
static inline int32_t emp_run_plan_copy(emp_engine *sim, int32_t tensor, int32_t first,
                                        int32_t reader, int32_t to)
{
    const emp_sim_instance *home = &sim->instance[tensor];
    int32_t                 copy = sim->copy_to[to];

    if (copy >= first) {
        sim->instance[home->root].pending--;
        sim->instance[copy].pending++;
        return copy;
    }
    copy = sim->copy_to[to] = sim->instance_count++;
    emp_sim_instance *instance = &sim->instance[copy];
    if (EMP_RULES.is_traced) instance->bytes = 0;
    instance->reader = reader;
    instance->tensor = tensor;
    instance->pending = 1;
    instance->space = (int16_t)to;
    instance->from = home->space;
    return copy;
}

/** Puts the copy into a list of its stream; only streams keep their order by
 * themselves. */
static inline void emp_run_delay_copy(emp_engine *sim, int32_t source, int32_t copy,
                                      emp_time_ns at)
{
    if (EMP_RULES.copy_streams) {
        emp_run_delay(sim, source, emp_run_item_of_copy(sim, copy), at);
    } else {
        emp_run_delay_in_order(sim, source, emp_run_item_of_copy(sim, copy), at);
    }
}

/** Links are busy for a while, as soon as all are free. \return the end. */
EMP_SIM_INLINE emp_time_ns emp_run_keep_links(emp_engine *sim, const int32_t *link,
                                              int32_t count, emp_time_ns duration)
{
    emp_time_ns *free_ns = sim->link_free_ns, end = sim->now;

    for (int32_t i = 0; i < count; i++) end = emp_time_later(end, free_ns[link[i]]);
    if (EMP_RULES.has_collectives)
        end = emp_engine_begin_beside(sim, link, count, end, duration);
    end += duration;
    for (int32_t i = 0; i < count; i++) free_ns[link[i]] = end;
    return end;
}

EMP_SIM_CALLED emp_time_ns emp_run_keep_route(emp_engine *sim, const emp_sim_route *route,
                                              emp_time_ns duration)
{
    return emp_run_keep_links(sim, route->link, route->link_count, duration);
}

/** The copy takes the links of its route as soon as it can. */
EMP_SIM_INLINE void emp_run_transfer(emp_engine *sim, int32_t copy,
                                     const emp_sim_payload *p, const emp_sim_route *route)
{
    double ns_per_byte = route->ns_per_byte;

    if (EMP_RULES
            .pageable) { /* slower than the route from the host, not than other routes */
        double least = sim->least_ns_per_byte[p - sim->payload] * route->from_host;
        ns_per_byte = ns_per_byte > least ? ns_per_byte : least;
    }
    emp_time_ns hop = EMP_RULES.has_hops ? route->hop_ns : 0;
    emp_time_ns duration =
        route->latency_ns - hop + (emp_time_ns)((double)p->bytes * ns_per_byte + 0.5);
    if (!EMP_RULES.share_copies) duration *= sim->instance[copy].pending;
    emp_time_ns end = route->link_count == EMP_SIM_LINKS
                          ? emp_run_keep_links(sim, route->link, EMP_SIM_LINKS, duration)
                          : emp_run_keep_route(sim, route, duration);
    emp_run_trace_transfer(sim, copy, end - duration, end);
    if (EMP_RULES.shares_cores)
        emp_run_take_core_for_copy(sim, p->bytes, emp_run_source_of_copy(sim, copy),
                                   emp_run_target_of_copy(sim, copy));
    emp_run_delay_copy(sim, route->seen_source, copy, end + sim->poll_ns);
}

/** When a copy may take its links: what is queued before it is done. */
static inline emp_time_ns emp_run_copy_ready_at(const emp_engine      *sim,
                                                const emp_sim_payload *p, int32_t from,
                                                int32_t to, emp_time_ns stream_ready_ns)
{
    emp_time_ns ready = sim->now;

    if (EMP_RULES.copy_streams) ready = emp_time_later(ready, stream_ready_ns);
    if (EMP_RULES.drain_copies) {
        ready = emp_time_later(ready, sim->device[from].queued_ns);
        ready = emp_time_later(ready, sim->device[to].queued_ns);
    } else if (emp_run_has_host_thread(sim, from)) {
        ready = emp_time_later(ready, sim->until[p->producer]);
    }
    return ready;
}

/** Asks for the copy's buffer, then for its links. \a p and the memories \a from and \a to
 * are its own. */
EMP_SIM_INLINE void emp_run_request(emp_engine *sim, int32_t copy,
                                    const emp_sim_payload *p, int32_t from, int32_t to)
{
    const emp_sim_route *route = sim->route[from] + to;

    emp_run_trace_copy(sim, copy, EMP_SIM_COPY_REQUESTED);
    sim->result.traffic_bytes +=
        EMP_RULES.share_copies ? p->bytes : p->bytes * sim->instance[copy].pending;
    sim->instance[copy].bytes = p->buffer_bytes;
    emp_run_allocate(sim, to, p->buffer_bytes, p->producer,
                     emp_run_chunk_of_instance(sim, copy));
    if (!EMP_RULES.serial_issue && !EMP_RULES.drain_copies) {
        emp_run_transfer(sim, copy, p, route);
        return;
    }
    emp_time_ns *stream_ready = &sim->stream_ready_ns[route->stream];
    emp_time_ns  ready = emp_run_copy_ready_at(sim, p, from, to, *stream_ready);
    *stream_ready = ready;
    if (ready == sim->now && emp_run_is_empty(&sim->head[route->ready_source])) {
        emp_run_transfer(sim, copy, p, route);
    } else {
        emp_run_delay_copy(sim, route->ready_source, copy, ready);
    }
}

/** The copy has been sent. */
EMP_SIM_INLINE void emp_run_request_copy(emp_engine *sim, int32_t copy)
{
    emp_run_request(sim, copy, emp_run_payload_of_copy(sim, copy),
                    emp_run_source_of_copy(sim, copy), emp_run_target_of_copy(sim, copy));
}

/** The producer of the copy is notified to send it. \a p is its payload, \a from the
 * memory where it is. */
static inline void emp_run_send_copy(emp_engine *sim, int32_t copy, int32_t device,
                                     const emp_sim_payload *p, int32_t from)
{
    int32_t item = emp_run_item_of_copy(sim, copy);

    emp_run_trace_copy(sim, copy, EMP_SIM_COPY_TOLD);
    if (emp_run_has_host_thread(sim, device)) {
        emp_run_serve(sim, device, item, emp_run_level_of_op(sim, p->producer),
                      sim->send_ns);
    } else if (!EMP_RULES.copy_delays || sim->send_ns == 0) {
        emp_run_request(sim, copy, p, from, emp_run_target_of_copy(sim, copy));
    } else {
        emp_run_delay(sim, sim->send_source, item, sim->now + sim->send_ns);
    }
}

#endif /* EMP_SIM_ENGINE_RUN_COPY_H */
