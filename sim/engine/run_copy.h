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
    return sim->instance_of_copy[copy].space;
}

static inline const emp_sim_route *route_of_copy(const emp_sim *sim, int32_t copy)
{
    return &sim->route[source_of_copy(sim, copy)][target_of_copy(sim, copy)];
}

/** \a tensor is read in the memory \a to, by one edge more. Its copies are those from
 * \a first on. */
static inline void plan_copy(emp_sim *sim, int32_t tensor, int32_t first, int32_t to)
{
    int32_t           copy = sim->copy_to[to];
    emp_sim_instance *instance = &sim->instance_of_copy[copy];

    if (copy >= first) {
        sim->instance[tensor].pending--;
        instance->pending++;
        return;
    }
    copy = sim->copy_to[to] = sim->copy_count++;
    instance = &sim->instance_of_copy[copy];
    instance->space = to;
    instance->pending = 1;
    instance->link = tensor;
    sim->copy[copy].is_requested = false;
}

/** Puts the copy into a list of its stream; only streams keep their order by
 * themselves. */
static inline void delay_copy(emp_sim *sim, int32_t source, int32_t copy, emp_time_ns at)
{
    sim->copy[copy].until = at;
    if (rules.copy_streams) {
        delay(sim, source, item_of_copy(sim, copy), at);
    } else {
        delay_in_order(sim, source, item_of_copy(sim, copy), at);
    }
}

/** The copy takes the links of its route as soon as it can. */
static inline void transfer(emp_sim *sim, int32_t copy)
{
    const emp_sim_route   *route = route_of_copy(sim, copy);
    emp_sim_stream        *stream = &sim->stream[route->stream];
    const int32_t          links = rules.shared_links ? route->link_count : 0;
    const emp_sim_payload *p = &sim->payload[tensor_of_copy(sim, copy)];
    emp_time_ns            start = sim->now, duration;

    if (rules.copy_streams) start = later_of(start, stream->copied_ns);
    for (int32_t i = 0; i < links; i++) {
        start = later_of(start, sim->link_free_ns[route->link[i]]);
    }
    /* pageable memory is slower than the route from the host, not than other routes */
    double least = p->ns_per_byte * route->from_host;
    double ns_per_byte = route->ns_per_byte > least ? route->ns_per_byte : least;
    duration = route->latency_ns + (emp_time_ns)((double)p->bytes * ns_per_byte + 0.5);
    if (!rules.share_copies) duration *= sim->instance_of_copy[copy].pending;
    emp_time_ns end = start + duration;
    for (int32_t i = 0; i < links; i++) sim->link_free_ns[route->link[i]] = end;
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
        ready = later_of(ready, sim->time_of_op[producer]);
    }
    return ready;
}

static inline void request_copy(emp_sim *sim, int32_t copy)
{
    const emp_sim_payload *p = &sim->payload[tensor_of_copy(sim, copy)];
    int32_t                instance = sim->tensor_count + copy;

    sim->copy[copy].is_requested = true;
    trace_copy(sim, copy, EMP_SIM_COPY_REQUESTED);
    sim->result.traffic_bytes +=
        rules.share_copies ? p->bytes : p->bytes * sim->instance[instance].pending;
    create_buffer(sim, instance, p->buffer_bytes, p->producer);
    if (!rules.serial_issue && !rules.drain_copies) {
        transfer(sim, copy);
        return;
    }
    emp_sim_stream *stream = &sim->stream[route_of_copy(sim, copy)->stream];
    emp_time_ns     ready = copy_ready_at(sim, copy, stream);
    stream->ready_ns = ready;
    if (ready == sim->now && sim->queue[stream->ready_source].head < 0) {
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
    } else if (sim->send_ns == 0) {
        request_copy(sim, copy);
    } else {
        sim->copy[copy].until = sim->now + sim->send_ns;
        delay(sim, sim->send_source, item, sim->copy[copy].until);
    }
}

#endif /* EMP_SIM_ENGINE_RUN_COPY_H */
