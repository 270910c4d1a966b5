/** \file sim/engine/run_copy.h
 * Tensors on their way to another memory, from the request to the links. A delay of
 * nothing is no event: what it would delay happens at once.
 */
#ifndef EMP_SIM_ENGINE_RUN_COPY_H
#define EMP_SIM_ENGINE_RUN_COPY_H

#include "sim/engine/run_server.h"

/** The memories that a copy comes from and goes to. */
static inline int32_t source_of_copy(const emp_sim *sim, int32_t copy)
{
    return sim->instance[tensor_of_copy(sim, copy)].space;
}

static inline int32_t target_of_copy(const emp_sim *sim, int32_t copy)
{
    return sim->instance[copy].space;
}

static inline const emp_sim_route *route_of_copy(const emp_sim *sim, int32_t copy)
{
    return &sim->route[source_of_copy(sim, copy)][target_of_copy(sim, copy)];
}

/** \a tensor is read in the memory \a to, by \a reader. Its copies are those from \a first
 * on. \return the copy. */
static inline int32_t plan_copy(emp_sim *sim, int32_t tensor, int32_t first,
                                int32_t reader, int32_t to)
{
    int32_t copy = sim->copy_to[to];

    if (copy >= first) {
        sim->instance[sim->instance[tensor].root].pending--;
        sim->instance[copy].pending++;
        return copy;
    }
    copy = sim->copy_to[to] = sim->instance_count++;
    emp_sim_instance *instance = &sim->instance[copy];
    instance->bytes = -1;
    instance->reader = reader;
    instance->tensor = tensor;
    instance->pending = 1;
    instance->space = to;
    return copy;
}

/** Puts the copy into a list of its stream; only streams keep their order by
 * themselves. */
static inline void delay_copy(emp_sim *sim, int32_t source, int32_t copy, emp_time_ns at)
{
    if (rules.copy_streams) {
        delay(sim, source, item_of_copy(sim, copy), at);
    } else {
        delay_in_order(sim, source, item_of_copy(sim, copy), at);
    }
}

/** When all links of \a route are free. */
static inline emp_time_ns links_free_at(const emp_sim *sim, const emp_sim_route *route)
{
    emp_time_ns at = 0;

    if (!rules.shared_links) return 0;
    for (int32_t i = 0; i < EMP_SIM_LINKS; i++)
        at = later_of(at, sim->link_free_ns[route->link[i]]);
    for (int32_t i = EMP_SIM_LINKS; i < route->link_count; i++)
        at = later_of(at, sim->link_free_ns[route->link[i]]);
    return at;
}

static inline void keep_links(emp_sim *sim, const emp_sim_route *route, emp_time_ns until)
{
    if (!rules.shared_links) return;
    for (int32_t i = 0; i < EMP_SIM_LINKS; i++) sim->link_free_ns[route->link[i]] = until;
    for (int32_t i = EMP_SIM_LINKS; i < route->link_count; i++)
        sim->link_free_ns[route->link[i]] = until;
}

/** The copy takes the links of its route as soon as it can. */
static inline void transfer(emp_sim *sim, int32_t copy)
{
    const emp_sim_route   *route = route_of_copy(sim, copy);
    emp_sim_stream        *stream = &sim->stream[route->stream];
    const emp_sim_payload *p = &sim->payload[tensor_of_copy(sim, copy)];
    emp_time_ns            start = sim->now, duration;

    if (rules.copy_streams) start = later_of(start, stream->copied_ns);
    start = later_of(start, links_free_at(sim, route));
    double ns_per_byte = route->ns_per_byte;
    if (rules.pageable) { /* slower than the route from the host, not than other routes */
        double least = p->ns_per_byte * route->from_host;
        ns_per_byte = ns_per_byte > least ? ns_per_byte : least;
    }
    duration = route->latency_ns + (emp_time_ns)((double)p->bytes * ns_per_byte + 0.5);
    if (!rules.share_copies) duration *= sim->instance[copy].pending;
    emp_time_ns end = start + duration;
    keep_links(sim, route, end);
    stream->copied_ns = end;
    trace_transfer(sim, copy, start, end);
    delay_copy(sim, stream->seen_source, copy, end + sim->poll_ns);
}

/** When the copy may take its links: what is queued before it is done. */
static inline emp_time_ns copy_ready_at(const emp_sim *sim, int32_t copy,
                                        const emp_sim_stream *stream)
{
    int32_t     from = source_of_copy(sim, copy), to = target_of_copy(sim, copy);
    emp_time_ns ready = sim->now;

    if (rules.copy_streams) ready = later_of(ready, stream->ready_ns);
    if (rules.drain_copies) {
        ready = later_of(ready, sim->device[from].queued_ns);
        ready = later_of(ready, sim->device[to].queued_ns);
    } else if (has_host_thread(sim, from)) {
        int32_t producer = sim->payload[tensor_of_copy(sim, copy)].producer;
        ready = later_of(ready, sim->until[producer]);
    }
    return ready;
}

static inline void request_copy(emp_sim *sim, int32_t copy)
{
    const emp_sim_payload *p = &sim->payload[tensor_of_copy(sim, copy)];

    trace_copy(sim, copy, EMP_SIM_COPY_REQUESTED);
    sim->result.traffic_bytes +=
        rules.share_copies ? p->bytes : p->bytes * sim->instance[copy].pending;
    sim->instance[copy].bytes = p->buffer_bytes;
    create_buffer(sim, copy, p->producer);
    if (!rules.serial_issue && !rules.drain_copies) {
        transfer(sim, copy);
        return;
    }
    emp_sim_stream *stream = &sim->stream[route_of_copy(sim, copy)->stream];
    emp_time_ns     ready = copy_ready_at(sim, copy, stream);
    stream->ready_ns = ready;
    if (ready == sim->now && is_empty(sim, &sim->queue[stream->ready_source])) {
        transfer(sim, copy);
    } else {
        delay_copy(sim, stream->ready_source, copy, ready);
    }
}

/** The producer of the copy has been told to send it. */
static inline void send_copy(emp_sim *sim, int32_t copy, int32_t device)
{
    int32_t item = item_of_copy(sim, copy);

    trace_copy(sim, copy, EMP_SIM_COPY_TOLD);
    if (has_host_thread(sim, device)) {
        serve(sim, device, item);
    } else if (!rules.copy_delays || sim->send_ns == 0) {
        request_copy(sim, copy);
    } else {
        delay(sim, sim->send_source, item, sim->now + sim->send_ns);
    }
}

#endif /* EMP_SIM_ENGINE_RUN_COPY_H */
