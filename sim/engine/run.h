/** \file sim/engine/run.h
 * One run of the model of docs/simulator.md, under rules that the caller may give as
 * constants.
 */
#ifndef EMP_SIM_ENGINE_RUN_H
#define EMP_SIM_ENGINE_RUN_H

#include "sim/engine/run_copy.h"
#include "sim/engine/run_pool.h"

static inline void become_ready(emp_sim *sim, int32_t op, int32_t device)
{
    emp_sim_device *d = &sim->device[device];

    trace_ready(sim, op, device);
    if (rules.cpu_pool && d->kind == EMP_DEVICE_CPU) {
        wait_for_cores(sim, device, op);
        return;
    }
    if (rules.drain_copies && !rules.serial_issue && d->kind == EMP_DEVICE_GPU) {
        d->queued_ns = later_of(d->queued_ns, sim->now) + cost_on(sim, op, device);
    }
    serve(sim, device, op);
}

/** One of the things that \a op waits for is there. */
static inline void arrive(emp_sim *sim, int32_t op)
{
    emp_sim_op_state *state = &sim->state[op];

    if (--state->missing == 0) become_ready(sim, op, state->device);
}

static inline void deliver_message(emp_sim *sim, int32_t message)
{
    int32_t op = sim->message[message].op, to = sim->message[message].to;

    trace_message(sim, op, to);
    for (int32_t i = sim->op[op].control; i < sim->op[op + 1].control; i++) {
        if (sim->state[sim->control[i]].device == to) arrive(sim, sim->control[i]);
    }
}

/** One message carries all control edges from \a op to a device. Those from \a first on
 * are of this op. */
static inline void send_message(emp_sim *sim, int32_t op, int32_t to, int32_t first)
{
    const emp_sim_route *route = &sim->route[sim->state[op].device][to];

    for (int32_t m = first; m < sim->message_count; m++) {
        if (sim->message[m].to == to) return;
    }
    int32_t message = sim->message_count++;
    sim->message[message] = (emp_sim_message){sim->now + route->latency_ns, op, to};
    if (route->latency_ns == 0) {
        deliver_message(sim, message);
    } else {
        delay(sim, route->message_source, item_of_message(sim, message),
              sim->message[message].until);
    }
}

/** Tells all that read \a tensor at home, and sends its copies. */
static inline void notify_readers(emp_sim *sim, int32_t tensor, int32_t device)
{
    const emp_sim_tensor *t = &sim->tensor[tensor];
    const emp_sim_edge   *edge = sim->consumer + t[0].consumer;
    const emp_sim_edge   *end = sim->consumer + t[1].consumer;
    const int32_t         home = sim->instance[tensor].space, first = sim->copy_count;

    for (; edge < end; edge++) {
        int32_t consumer = EMP_SIM_EDGE_ID(*edge);
        int32_t space = sim->state[consumer].space[EMP_SIM_EDGE_ON_HOST(*edge)];
        if (space == home) {
            arrive(sim, consumer);
        } else {
            plan_copy(sim, tensor, first, space);
        }
    }
    if (sim->copy_count == first) return;
    sim->instance[tensor].link = first;
    for (int32_t c = first; c < sim->copy_count; c++) send_copy(sim, c, device);
}

/** The op is done as far as those who wait for it can tell. */
static inline void notify(emp_sim *sim, int32_t op, int32_t device)
{
    const emp_sim_op *o = &sim->op[op];
    const int32_t     output_end = o[1].output, control_end = o[1].control;
    const int32_t     first_message = sim->message_count;

    for (int32_t t = o->output; t < output_end; t++) notify_readers(sim, t, device);
    for (int32_t i = o->control; i < control_end; i++) {
        int32_t next = sim->control[i], to = sim->state[next].device;
        if (!rules.control_latency || to == device) {
            arrive(sim, next);
        } else {
            send_message(sim, op, to, first_message);
        }
    }
}

/** The host thread has issued the op: its kernels are queued on the stream. */
static inline void issue_op(emp_sim *sim, int32_t op, int32_t device)
{
    emp_sim_device *d = &sim->device[device];
    bool            launches = sim->op[op].flags & EMP_SIM_LAUNCHES;
    emp_time_ns     start = sim->now, end = sim->now;

    trace_issue(sim, op, device, d->started_ns);
    create_outputs(sim, op);
    if (launches) {
        emp_time_ns cost = sim->op[op].cost_ns[EMP_DEVICE_GPU];
        start = later_of(d->queued_ns, sim->now);
        end = start + cost;
        d->queued_ns = end;
        d->busy_ns += cost;
    }
    if (!rules.drain_copies) sim->time_of_op[op] = later_of(d->queued_ns, sim->now);
    record_op(sim, op, device, start, end);
    trace_op(sim, op, device, 0, start, end);
    if (launches && !rules.release_at_issue) {
        sim->time_of_op[op] = end;
        delay(sim, d->kernel_source, op, end);
    } else {
        release_inputs(sim, op);
    }
    notify(sim, op, device);
}

/** A server without a host thread has finished the op. */
static inline void finish_op(emp_sim *sim, int32_t op, int32_t device)
{
    record_op(sim, op, device, sim->device[device].started_ns, sim->now);
    trace_op(sim, op, device, 0, sim->device[device].started_ns, sim->now);
    if (!rules.release_at_issue) release_inputs(sim, op);
    notify(sim, op, device);
}

static inline void finish_batch(emp_sim *sim, int32_t cpu, int32_t number)
{
    int32_t op = end_batch(sim, cpu, number);

    if (op < 0) return;
    record_op(sim, op, cpu, sim->time_of_op[op], sim->now);
    release_inputs(sim, op);
    notify(sim, op, cpu);
}

/** All that read the copy are told. */
static inline void deliver_copy(emp_sim *sim, int32_t copy)
{
    const int32_t tensor = tensor_of_copy(sim, copy), to = target_of_copy(sim, copy);
    const emp_sim_edge *edge = sim->consumer + sim->tensor[tensor].consumer;
    const emp_sim_edge *end = sim->consumer + sim->tensor[tensor + 1].consumer;

    trace_copy(sim, copy, EMP_SIM_COPY_DELIVERED);
    for (; edge < end; edge++) {
        int32_t op = EMP_SIM_EDGE_ID(*edge);
        if (sim->state[op].space[EMP_SIM_EDGE_ON_HOST(*edge)] == to) arrive(sim, op);
    }
}

/** The host knows that the copy is done. */
static inline void see_copy(emp_sim *sim, int32_t copy)
{
    int32_t to = target_of_copy(sim, copy);

    release(sim, tensor_of_copy(sim, copy));
    if (has_host_thread(sim, to)) {
        serve(sim, to, item_of_copy(sim, copy));
    } else if (sim->receive_ns == 0) {
        deliver_copy(sim, copy);
    } else {
        sim->copy[copy].until = sim->now + sim->receive_ns;
        delay(sim, sim->receive_source, item_of_copy(sim, copy), sim->copy[copy].until);
    }
}

static inline uint64_t end_item(emp_sim *sim, int32_t device)
{
    int32_t item = sim->device[device].current, copy = item - sim->op_count;

    if (!rules.serial_issue) {
        finish_op(sim, item, device);
    } else if (copy >= 0 && sim->copy[copy].is_requested) {
        deliver_copy(sim, copy);
    } else if (copy >= 0) {
        request_copy(sim, copy);
    } else if (has_host_thread(sim, device)) {
        issue_op(sim, item, device);
    } else {
        finish_op(sim, item, device);
    }
    return serve_next(sim, device);
}

/** Takes the item whose delay is over from the list of \a source and handles it. */
static inline uint64_t end_delay(emp_sim *sim, int32_t source)
{
    emp_sim_queue *queue = &sim->queue[source];
    int32_t        item = take(sim, queue), copy = item - sim->op_count;
    uint64_t       next = EMP_SIM_NEVER;

    if (queue->head >= 0) next = event_at(source, until(sim, queue->head));
    switch ((emp_sim_source_kind)sim->source[source].kind) {
    case EMP_SIM_KERNEL: release_inputs(sim, item); break;
    case EMP_SIM_READY: transfer(sim, copy); break;
    case EMP_SIM_SEEN: see_copy(sim, copy); break;
    case EMP_SIM_SEND: request_copy(sim, copy); break;
    case EMP_SIM_RECEIVE: deliver_copy(sim, copy); break;
    case EMP_SIM_MESSAGE: deliver_message(sim, copy - sim->copy_limit); break;
    case EMP_SIM_BATCH:
    case EMP_SIM_SERVER: break; /* have no delays */
    }
    return next;
}

/** \return the next event of the source. */
static inline uint64_t handle_event(emp_sim *sim, int32_t source)
{
    if (source < sim->device_count) return end_item(sim, source);
    if (rules.cpu_pool && sim->source[source].kind == EMP_SIM_BATCH) {
        int32_t cpu = sim->source[source].cpu;
        finish_batch(sim, cpu, source - sim->pool[cpu].first_source);
        return EMP_SIM_NEVER;
    }
    return end_delay(sim, source);
}

/** Runs a step whose state is fresh. */
static inline void run_events(emp_sim *sim)
{
    for (int32_t i = 0; i < sim->persistent_count; i++) {
        const emp_sim_persistent *p = &sim->persistent[i];
        allocate(sim, sim->state[p->op].device, p->bytes, p->op, NULL);
    }
    for (int32_t i = 0; i < sim->first_count; i++) {
        int32_t op = sim->first[i];
        become_ready(sim, op, sim->state[op].device);
    }
    if (rules.cpu_pool) start_all_pool_ops(sim);
    while (sim->heap_count > 0) {
        uint64_t event = sim->heap[1];
        int32_t  source = (int32_t)(event & EMP_SIM_SOURCE_MASK);
        sim->now = (emp_time_ns)(event >> EMP_SIM_SOURCE_BITS);
        sim->heap[1] = 0; /* nothing that is pushed meanwhile rises above it */
        event = handle_event(sim, source);
        if (event == EMP_SIM_NEVER) {
            drop_first_event(sim);
        } else {
            replace_first_event(sim, event);
        }
        if (rules.cpu_pool) start_all_pool_ops(sim);
    }
}

#endif /* EMP_SIM_ENGINE_RUN_H */
