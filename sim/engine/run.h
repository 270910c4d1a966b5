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
    serve(sim, device, op, duration_on(sim, op, device));
}

/** One of the things that \a op waits for is there. */
EMP_SIM_INLINE void arrive(emp_sim *sim, int32_t op)
{
    if (--sim->missing[op] == 0) become_ready(sim, op, device_of(sim, op));
}

static inline void deliver_message(emp_sim *sim, int32_t message)
{
    int32_t op = sim->message[message].op, to = sim->message[message].to;

    trace_message(sim, op, to);
    for (int32_t i = sim->rest[op].control; i < sim->rest[op + 1].control; i++) {
        if (device_of(sim, sim->control[i]) == to) arrive(sim, sim->control[i]);
    }
}

/** One message carries all control edges from \a op to a device. Those from \a first on
 * are of this op. */
static inline void send_message(emp_sim *sim, int32_t op, int32_t to, int32_t first)
{
    const emp_sim_route *route = &sim->route[device_of(sim, op)][to];

    for (int32_t m = first; m < sim->message_count; m++) {
        if (sim->message[m].to == to) return;
    }
    int32_t message = sim->message_count++;
    sim->message[message] = (emp_sim_message){op, to};
    if (route->latency_ns == 0) {
        deliver_message(sim, message);
    } else {
        delay(sim, route->message_source, item_of_message(sim, message),
              sim->now + route->latency_ns);
    }
}

/** The op that reads at \a place: emp_sim_reader. */
static inline int32_t op_reading(uint32_t place) { return (int32_t)(place / 2); }

/** The memory that is read there. */
static inline int32_t space_read(const emp_sim *sim, uint32_t place)
{
    return sim->space_of_place[place];
}

/** Sends the copies of \a tensor, which is in the memory \a home, from \a first on. */
EMP_SIM_INLINE void send_copies(emp_sim *sim, int32_t tensor, int32_t home, int32_t first,
                                int32_t device)
{
    const emp_sim_payload *payload = &sim->payload[tensor];
    const int32_t          end = sim->instance_count;

    for (int32_t c = first; c < end; c++) send_copy(sim, c, device, payload, home);
}

/** Tells all that read \a tensor, which has the buffer of \a root, in the memory \a home,
 * and sends its copies. Its readers are those from \a begin to \a end, the first of which
 * reads at \a place. */
EMP_SIM_INLINE void notify_readers(emp_sim *sim, int32_t tensor, int32_t root,
                                   int32_t home, int32_t begin, int32_t end,
                                   uint32_t place, int32_t device)
{
    const int32_t first = sim->instance_count;

    for (int32_t i = begin;;) {
        const emp_sim_reader *reader = &sim->reader[i];
        int32_t               op = op_reading(place), space = space_read(sim, place);
        if (space == home) {
            sim->reads[reader->input] = root;
            arrive(sim, op);
        } else {
            sim->reads[reader->input] = plan_copy(sim, tensor, first, i, op, space);
        }
        if (++i == end) break;
        place = sim->reader[i].place;
    }
    if (sim->instance_count > first) send_copies(sim, tensor, home, first, device);
}

/** All that wait for the op are told. */
static inline void notify_all(emp_sim *sim, int32_t op, int32_t device)
{
    const emp_sim_op *o = &sim->op[op];
    const int32_t     first_message = sim->message_count;

    for (int32_t t = o->output; t < o[1].output; t++) {
        const emp_sim_instance *i = &sim->instance[t];
        if (i->reader == i[1].reader) continue;
        notify_readers(sim, t, i->root, i->space, i->reader, i[1].reader,
                       sim->reader[i->reader].place, device);
    }
    for (int32_t i = sim->rest[op].control; i < sim->rest[op + 1].control; i++) {
        int32_t next = sim->control[i], to = device_of(sim, next);
        if (!rules.control_latency || to == device) {
            arrive(sim, next);
        } else {
            send_message(sim, op, to, first_message);
        }
    }
}

/** What complete() does for an op that is not like most. Many are an alias or read an input on
 * the host, and no more. */
EMP_SIM_CALLED void complete_any(emp_sim *sim, int32_t op, int32_t device, bool releases)
{
    const emp_sim_op *o = &sim->op[op];

    if (o->flags & EMP_SIM_IS_ODD) {
        if (releases) release_all(sim, op);
        notify_all(sim, op, device);
        return;
    }
    if (releases) release_anywhere(sim, op);
    notify_readers(sim, o->output, sim->instance[o->output].root, device, o->reader,
                   o[1].reader, first_place(sim, op), device);
}

/** The op is done as far as those who wait for it can tell, and what it needed is released
 * unless that comes later. Most ops have one output, on their device, which is read and no
 * alias, inputs there, and nothing else. \a d: the device. \a place: first_place(). */
EMP_SIM_INLINE void complete(emp_sim *sim, int32_t op, int32_t device, emp_sim_device *d,
                             uint32_t place, bool releases)
{
    const emp_sim_op *o = &sim->op[op];
    const uint32_t    rare = EMP_SIM_IS_ODD | EMP_SIM_ALIASES | EMP_SIM_HAS_HOST_INPUTS;

    if (EMP_SIM_SELDOM(o->flags & rare)) {
        complete_any(sim, op, device, releases);
        return;
    }
    if (releases) release_inputs(sim, op, &d->memory);
    int32_t root = rules.reuse_inputs ? sim->instance[o->output].root : o->output;
    notify_readers(sim, o->output, root, device, o->reader, o[1].reader, place, device);
}

/** The host thread has issued the op, since \a started: its kernels are queued on the
 * stream. */
static inline void issue_op(emp_sim *sim, int32_t op, int32_t device, emp_sim_device *d,
                            emp_time_ns started)
{
    bool        launches = sim->op[op].flags & EMP_SIM_LAUNCHES;
    emp_time_ns start = sim->now, end = sim->now;

    trace_issue(sim, op, device, started);
    create_outputs(sim, op, device);
    if (launches) {
        emp_time_ns cost = sim->op[op].gpu_ns;
        start = later_of(d->queued_ns, sim->now);
        end = start + cost;
        d->queued_ns = end;
        d->busy_ns += cost;
    }
    if (!rules.drain_copies) sim->until[op] = later_of(d->queued_ns, sim->now);
    record_op(sim, op, device, start, end);
    trace_op(sim, op, device, 0, start, end);
    if (launches && !rules.release_at_issue) delay(sim, d->kernel_source, op, end);
    complete(sim, op, device, d, first_place(sim, op),
             !launches || rules.release_at_issue);
}

/** A server without a host thread has finished the op. */
EMP_SIM_INLINE void finish_op(emp_sim *sim, int32_t op, int32_t device, emp_sim_device *d)
{
    record_op(sim, op, device, d->started_ns, sim->now);
    trace_op(sim, op, device, 0, d->started_ns, sim->now);
    complete(sim, op, device, d, d->place, !rules.release_at_issue);
}

/** Tasks on a CPU end. */
static inline void end_tasks(emp_sim *sim, int32_t source)
{
    int32_t cpu = sim->source[source].cpu;
    int32_t op = end_batch(sim, cpu, source - sim->pool[cpu].first_source);

    replace_other_event(sim, source, no_event());
    if (op < 0) return;
    record_op(sim, op, cpu, sim->until[op], sim->now);
    complete(sim, op, cpu, &sim->device[cpu], first_place(sim, op), true);
}

/** All that read the copy are told. */
static inline void deliver_copy(emp_sim *sim, int32_t copy)
{
    const emp_sim_instance *instance = &sim->instance[copy];
    const emp_sim_reader   *reader = &sim->reader[instance->reader];
    const int32_t           to = instance->space;
    int32_t                 left = instance->pending;

    trace_copy(sim, copy, EMP_SIM_COPY_DELIVERED);
    arrive(sim, instance->first_op);
    while (--left > 0) {
        do {
            reader++;
        } while (space_read(sim, reader->place) != to);
        arrive(sim, op_reading(reader->place));
    }
}

/** The host knows that the copy is done, which a host thread receives if it \a has_thread. */
static inline void see_copy(emp_sim *sim, int32_t copy, bool has_thread)
{
    int32_t to = target_of_copy(sim, copy);

    release(sim, sim->instance[copy].root);
    if (has_thread) {
        serve(sim, to, item_of_received(sim, copy), sim->receive_ns);
    } else if (!rules.copy_delays || sim->receive_ns == 0) {
        deliver_copy(sim, copy);
    } else {
        delay(sim, sim->receive_source, item_of_copy(sim, copy),
              sim->now + sim->receive_ns);
    }
}

/** The server's event is over: the end of what waits, which is known, goes into the tree
 * before all else. To find the next event is what a run waits for most. */
EMP_SIM_INLINE void replace_end(emp_sim *sim, int32_t device, const emp_sim_device *d)
{
    replace_server_event(sim, device, event_at(device, sim->now + d->line.time_ns));
}

/** The server has finished an op. If ops wait, the first of them is taken at once and starts
 * last of all; if none does, the server is idle for those that are now told. */
static inline void end_op(emp_sim *sim, int32_t device)
{
    emp_sim_device *d = device_at(sim, device);
    int32_t         item = d->current;
    bool            has_next = !is_empty(&d->line);

    replace_end(sim, device, d);
    d->current = has_next ? take(sim, &d->line) : EMP_SIM_NO_ITEM;
    finish_op(sim, item, device, d);
    if (has_next) start_op(sim, d->current, device, d);
}

/** The host thread has done its item. It goes on at once: to start is to know of it. */
static inline void end_thread_item(emp_sim *sim, int32_t device)
{
    emp_sim_device *d = device_at(sim, device);
    int32_t         item = d->current;
    emp_time_ns     started = d->started_ns;

    replace_end(sim, device, d);
    d->current = is_empty(&d->line) ? EMP_SIM_NO_ITEM : take(sim, &d->line);
    if (rules.is_traced) d->started_ns = sim->now;
    if (item < sim->op_count) {
        issue_op(sim, item, device, d, started);
    } else if (is_received(sim, item)) {
        deliver_copy(sim, copy_of_received(sim, item));
    } else {
        request_copy(sim, copy_of_item(sim, item));
    }
}

/** What the source, which is no server, is of. Where nothing but copies is delayed and no host
 * thread receives them, who sees them does not matter. */
static inline emp_sim_source_kind kind_of(const emp_sim *sim, int32_t source)
{
    bool is_seen = !rules.serial_issue && !rules.drain_copies && !rules.cpu_pool &&
                   !rules.control_latency && !rules.copy_delays;

    return is_seen ? EMP_SIM_SEEN : (emp_sim_source_kind)sim->source[source].kind;
}

/** Takes the item whose delay is over from the list of \a source and handles it. */
static inline void end_delay(emp_sim *sim, int32_t source)
{
    int32_t item = take(sim, &sim->head[source]), copy = copy_of_item(sim, item);

    replace_other_event(sim, source, event_at(source, sim->head[source].time_ns));
    switch (kind_of(sim, source)) {
    case EMP_SIM_KERNEL: release_all(sim, item); break;
    case EMP_SIM_READY:
        transfer(sim, copy, payload_of_copy(sim, copy), route_of_copy(sim, copy));
        break;
    case EMP_SIM_SEEN: see_copy(sim, copy, rules.serial_issue); break;
    case EMP_SIM_SEEN_AT_HOST: see_copy(sim, copy, false); break;
    case EMP_SIM_SEND: request_copy(sim, copy); break;
    case EMP_SIM_RECEIVE: deliver_copy(sim, copy); break;
    case EMP_SIM_MESSAGE: deliver_message(sim, item - item_of_message(sim, 0)); break;
    case EMP_SIM_BATCH:
    case EMP_SIM_SERVER: break; /* have no delays */
    }
}

static inline void handle_server(emp_sim *sim, int32_t device)
{
    if (issues_ops(sim, device)) {
        end_thread_item(sim, device);
    } else {
        end_op(sim, device);
    }
}

static inline void handle_other(emp_sim *sim, int32_t source)
{
    if (rules.cpu_pool && kind_of(sim, source) == EMP_SIM_BATCH) {
        end_tasks(sim, source);
    } else {
        end_delay(sim, source);
    }
}

/** Plays the earliest event. Which tree has it is asked by a branch: a processor foresees it,
 * and goes on before it knows both times. A leaf of the other tree, of no source, says
 * no_event(). \return whether there was one. */
static inline bool play_event(emp_sim *sim)
{
    const int64_t server = sim->servers.first, other = sim->others.first;

    if (server < other) {
        sim->now = time_of_event(server);
        handle_server(sim, source_of_event(server));
    } else {
        if (EMP_SIM_SELDOM(other >= no_event())) return false;
        sim->now = time_of_event(other);
        handle_other(sim, source_of_event(other));
    }
    if (rules.cpu_pool) start_all_pool_ops(sim);
    return true;
}

/** Runs a step whose state is fresh. */
static inline void run_events(emp_sim *sim)
{
    clear_events(sim);
    for (int32_t i = 0; i < sim->persistent_count; i++) {
        const emp_sim_persistent *p = &sim->persistent[i];
        allocate(sim, device_of(sim, p->op), p->bytes, p->op, NULL);
    }
    for (int32_t i = 0; i < sim->first_count; i++) {
        int32_t op = sim->first[i];
        become_ready(sim, op, device_of(sim, op));
    }
    if (rules.cpu_pool) start_all_pool_ops(sim);
    while (play_event(sim)) {
    }
}

#endif /* EMP_SIM_ENGINE_RUN_H */
