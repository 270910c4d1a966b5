// SPDX-License-Identifier: GPL-3.0-or-later
/* One run of the model of docs/simulator.md, under one set of rules. The build compiles this file once for
 * each set, as functions whose rules are constants ask no switch: EMP_RUN_NAME ends the names,
 * EMP_RUN_PROFILE is IDEAL or TF, EMP_RUN_LEVELS and EMP_RUN_TIMED are true or false. Without
 * EMP_RUN_PROFILE the run reads the simulator's rules, and may be traced. */
#define IDEAL .share_copies = true, .copy_streams = true, .shared_links = true
#define TF                                                                  \
    .serial_issue = true, .drain_copies = true, .release_at_issue = true,   \
    .reuse_inputs = true, .cpu_pool = true, .control_latency = true, IDEAL, \
    .copy_delays = true
#ifdef EMP_RUN_PROFILE
#define EMP_SIM_RULES                                                            \
    {                                                                            \
        EMP_RUN_PROFILE, .has_levels = EMP_RUN_LEVELS, .is_timed = EMP_RUN_TIMED \
    }
#endif

#include "sim/engine/run/copy.h"

static inline void emp_run_become_ready(emp_engine *sim, int32_t op, int32_t device)
{
    emp_sim_device *d = &sim->device[device];

    __builtin_prefetch(&sim->op[op] + EMP_SIM_OPS_AHEAD, 1);
    if (EMP_RULES.has_client && emp_engine_hold(sim, op)) return;
    emp_run_trace_ready(sim, op, device);
    if (EMP_RULES.cpu_pool && d->kind == EMP_DEVICE_CPU) {
        emp_run_wait_for_cores(sim, device, op);
        return;
    }
    if (EMP_RULES.drain_copies && !EMP_RULES.serial_issue && d->kind == EMP_DEVICE_GPU) {
        d->queued_ns =
            emp_time_later(d->queued_ns, sim->now) + emp_run_cost_on(sim, op, device);
    }
    emp_run_serve(sim, device, op, emp_run_level_of_op(sim, op),
                  emp_run_duration_on(sim, op, device));
}

/* One of the inputs or messages that op waits for is there. */
EMP_SIM_INLINE void emp_run_arrive(emp_engine *sim, int32_t op)
{
    emp_sim_op *o = &sim->op[op];

    if (--o->missing > 0) return;
    o->missing = o->awaited; /* of the next run */
    emp_run_become_ready(sim, op, emp_run_device_of(sim, op));
}

static inline void emp_run_deliver_message(emp_engine *sim, int32_t message)
{
    int32_t op = sim->message[message].op, to = sim->message[message].to;

    emp_run_trace_message(sim, op, to);
    for (int32_t i = sim->control_offset[op]; i < sim->control_offset[op + 1]; i++) {
        if (emp_run_device_of(sim, sim->control[i]) == to)
            emp_run_arrive(sim, sim->control[i]);
    }
}

/* One message carries all control edges from op to a device. Those from first on
 * are of this op. */
static inline void emp_run_send_message(emp_engine *sim, int32_t op, int32_t to,
                                        int32_t first)
{
    const emp_sim_route *route = &sim->route[emp_run_device_of(sim, op)][to];

    for (int32_t m = first; m < sim->message_count; m++) {
        if (sim->message[m].to == to) return;
    }
    int32_t message = sim->message_count++;
    sim->message[message] = (emp_sim_message){op, to};
    if (route->latency_ns == 0) {
        emp_run_deliver_message(sim, message);
    } else {
        emp_run_delay(sim, route->message_source, emp_run_item_of_message(sim, message),
                      sim->now + route->latency_ns);
    }
}

/* The op that reads at place: emp_sim_reader. */
static inline int32_t emp_run_op_reading(uint32_t place) { return (int32_t)(place / 2); }

/* The memory that is read there. */
static inline int32_t emp_run_space_read(const emp_engine *sim, uint32_t place)
{
    return sim->space_of_place[place];
}

/* Sends the copies of tensor, which is in the memory home, from first on. */
EMP_SIM_INLINE void emp_run_send_copies(emp_engine *sim, int32_t tensor, int32_t home,
                                        int32_t first, int32_t device)
{
    const emp_sim_payload *payload = &sim->payload[tensor];
    const int32_t          end = sim->instance_count;

    for (int32_t c = first; c < end; c++)
        emp_run_send_copy(sim, c, device, payload, home);
}

/* Notifies the readers of tensor, which has the buffer of root, in the memory home,
 * and sends its copies. Its readers are those from begin to end, the first of which
 * reads at place. */
EMP_SIM_INLINE void emp_run_notify_readers(emp_engine *sim, int32_t tensor, int32_t root,
                                           int32_t home, int32_t begin, int32_t end,
                                           uint32_t place, int32_t device)
{
    const int32_t first = sim->instance_count;

    for (int32_t i = begin;;) {
        const emp_sim_reader *reader = &sim->reader[i];
        int32_t op = emp_run_op_reading(place), space = emp_run_space_read(sim, place);
        if (space == home) {
            sim->words[reader->input] = root;
            emp_run_arrive(sim, op);
        } else {
            sim->words[reader->input] = emp_run_plan_copy(sim, tensor, first, i, space);
        }
        if (++i == end) break;
        place = sim->reader[i].place;
    }
    if (sim->instance_count > first)
        emp_run_send_copies(sim, tensor, home, first, device);
}

/* Notifies all ops that wait for the op. */
static inline void emp_run_notify_all(emp_engine *sim, int32_t op, int32_t device)
{
    const emp_sim_op *o = &sim->op[op];
    const int32_t     first_message = sim->message_count;

    for (int32_t t = o->output; t < o[1].output; t++) {
        const emp_sim_instance *i = &sim->instance[t];
        if (i->reader == i[1].reader) continue;
        emp_run_notify_readers(sim, t, i->root, i->space, i->reader, i[1].reader,
                               sim->reader[i->reader].place, device);
    }
    for (int32_t i = sim->control_offset[op]; i < sim->control_offset[op + 1]; i++) {
        int32_t next = sim->control[i], to = emp_run_device_of(sim, next);
        if (!EMP_RULES.control_latency || to == device) {
            emp_run_arrive(sim, next);
        } else {
            emp_run_send_message(sim, op, to, first_message);
        }
    }
}

/* emp_run_complete() for an uncommon op. Many are an alias or read an input on
 * the host, and no more. */
EMP_SIM_CALLED void emp_run_complete_any(emp_engine *sim, int32_t op, int32_t device,
                                         bool releases)
{
    const emp_sim_op *o = &sim->op[op];

    if (o->flags & EMP_SIM_IS_ODD) {
        if (releases) emp_run_release_all(sim, op);
        emp_run_notify_all(sim, op, device);
        return;
    }
    if (releases) emp_run_release_anywhere(sim, op);
    emp_run_notify_readers(sim, o->output, sim->instance[o->output].root, device,
                           o->reader, o->reader_end, emp_run_first_place(sim, op),
                           device);
}

/* The op is done as far as its readers know, and its inputs are released unless that comes
 * later. Most ops have one output, on their device, which is read and no alias, inputs there,
 * and nothing else. d: the device. place: emp_run_first_place(). */
EMP_SIM_INLINE void emp_run_complete(emp_engine *sim, int32_t op, int32_t device,
                                     emp_sim_device *d, uint32_t place, bool releases)
{
    const emp_sim_op *o = &sim->op[op];
    const uint32_t    rare = EMP_SIM_IS_ODD | EMP_SIM_ALIASES | EMP_SIM_HAS_HOST_INPUTS;

    if (EMP_SIM_SELDOM(o->flags & rare)) {
        emp_run_complete_any(sim, op, device, releases);
        return;
    }
    if (releases) emp_run_release_inputs(sim, op, &d->memory);
    int32_t root = EMP_RULES.reuse_inputs ? sim->instance[o->output].root : o->output;
    emp_run_notify_readers(sim, o->output, root, device, o->reader, o->reader_end, place,
                           device);
}

/* The host thread has issued the op, since started: its kernels are queued on the
 * stream. */
static inline void emp_run_issue_op(emp_engine *sim, int32_t op, int32_t device,
                                    emp_sim_device *d, emp_time_ns started)
{
    bool        launches = sim->op[op].flags & EMP_SIM_LAUNCHES;
    emp_time_ns start = sim->now, end = sim->now;

    emp_run_trace_issue(sim, op, device, started);
    emp_run_create_outputs(sim, op, device);
    if (launches) {
        emp_time_ns cost = sim->op[op].gpu_ns;
        start = emp_time_later(d->queued_ns, sim->now);
        if (EMP_RULES.has_collectives)
            cost += emp_engine_keep_links(sim, op, start, cost);
        end = start + cost;
        d->queued_ns = end;
        d->busy_ns += cost;
    }
    if (!EMP_RULES.drain_copies) sim->until[op] = emp_time_later(d->queued_ns, sim->now);
    emp_run_record_op(sim, op, device, start, end);
    emp_run_trace_op(sim, op, device, 0, start, end);
    if (launches && !EMP_RULES.release_at_issue)
        emp_run_delay(sim, d->kernel_source, op, end);
    emp_run_complete(sim, op, device, d, emp_run_first_place(sim, op),
                     !launches || EMP_RULES.release_at_issue);
}

/* Notifies all ops that read the copy. */
static inline void emp_run_deliver_copy(emp_engine *sim, int32_t copy)
{
    const emp_sim_instance *instance = &sim->instance[copy];
    const emp_sim_reader   *reader = &sim->reader[instance->reader];
    const int32_t           to = instance->space;
    int32_t                 left = instance->pending;

    emp_run_trace_copy(sim, copy, EMP_SIM_COPY_DELIVERED);
    emp_run_arrive(sim, emp_run_op_reading(reader->place));
    while (--left > 0) {
        do {
            reader++;
        } while (emp_run_space_read(sim, reader->place) != to);
        emp_run_arrive(sim, emp_run_op_reading(reader->place));
    }
}

/* The copy is received from now on. */
static inline void emp_run_receive_copy(emp_engine *sim, int32_t copy)
{
    emp_time_ns delay = sim->receive_ns;

    if (EMP_RULES.has_hops) delay += emp_run_route_of_copy(sim, copy)->hop_ns;
    if (!EMP_RULES.copy_delays || delay == 0) {
        emp_run_deliver_copy(sim, copy);
    } else if (EMP_RULES.has_hops) {
        emp_run_delay_in_order(sim, sim->receive_source, emp_run_item_of_copy(sim, copy),
                               sim->now + delay);
    } else {
        emp_run_delay(sim, sim->receive_source, emp_run_item_of_copy(sim, copy),
                      sim->now + delay);
    }
}

/* The copy has left its links: the client goes on to what waited for it. \return the first round that reads it. */
static inline int32_t emp_run_pass_copy(emp_engine *sim, int32_t copy)
{
    const emp_sim_instance *instance = &sim->instance[copy];
    const emp_sim_reader   *reader = &sim->reader[instance->reader];
    int32_t                 left = instance->pending;

    emp_run_trace_copy(sim, copy, EMP_SIM_COPY_PASSED);
    int32_t round = emp_engine_count_read(sim, copy, emp_run_op_reading(reader->place));
    while (--left > 0) {
        do {
            reader++;
        } while (emp_run_space_read(sim, reader->place) != instance->space);
        const int32_t other =
            emp_engine_count_read(sim, copy, emp_run_op_reading(reader->place));
        if (other < round) round = other;
    }
    for (int32_t op; (op = emp_engine_next_held(sim)) >= 0;)
        emp_run_become_ready(sim, op, emp_run_device_of(sim, op));
    return round;
}

/* The op is done: its server receives the copies that waited for it. */
static inline void emp_run_serve_client(emp_engine *sim, int32_t op, int32_t device)
{
    if (!EMP_RULES.has_client) return;
    emp_engine_count_done(sim, op, device);
    for (int32_t copy; (copy = emp_engine_next_held_copy(sim, device)) >= 0;)
        emp_run_receive_copy(sim, copy);
}

/* A server without a host thread has finished the op. */
EMP_SIM_INLINE void emp_run_finish_op(emp_engine *sim, int32_t op, int32_t device,
                                      emp_sim_device *d)
{
    emp_run_record_op(sim, op, device, d->started_ns, sim->now);
    emp_run_trace_op(sim, op, device, 0, d->started_ns, sim->now);
    emp_run_complete(sim, op, device, d, d->place, !EMP_RULES.release_at_issue);
    emp_run_serve_client(sim, op, device);
}

/* Tasks on a CPU end. */
static inline void emp_run_end_tasks(emp_engine *sim, int32_t source)
{
    int32_t cpu = sim->source[source].cpu;
    int32_t op = emp_run_end_batch(sim, cpu, source - sim->pool[cpu].first_source);

    emp_run_replace_other_event(sim, source, emp_run_no_event(sim));
    if (op < 0) return;
    emp_run_record_op(sim, op, cpu, sim->until[op], sim->now);
    emp_run_complete(sim, op, cpu, &sim->device[cpu], emp_run_first_place(sim, op), true);
    emp_run_serve_client(sim, op, cpu);
}

/* The host knows that the copy is done, which a host thread receives if it has_thread. */
static inline void emp_run_see_copy(emp_engine *sim, int32_t copy, bool has_thread)
{
    int32_t to = emp_run_target_of_copy(sim, copy);

    emp_run_release(sim, sim->instance[emp_run_tensor_of_copy(sim, copy)].root);
    if (has_thread) {
        emp_run_serve(sim, to, emp_run_item_of_received(sim, copy),
                      emp_run_level_of_op(sim, emp_sim_first_op(sim, copy)),
                      sim->receive_ns);
        return;
    }
    if (EMP_RULES.has_client) {
        const int32_t round = emp_run_pass_copy(sim, copy);
        if (emp_engine_hold_copy(sim, copy, round)) return;
    }
    emp_run_receive_copy(sim, copy);
}

/* The server's event is over: the end of what waits, which is known, goes into the tree
 * before all else. To find the next event is what a run waits for most. */
EMP_SIM_INLINE void emp_run_replace_end(emp_engine *sim, int32_t device,
                                        const emp_sim_link *line)
{
    emp_run_replace_server_event(sim, device,
                                 emp_run_event_at(sim, device, sim->now + line->time_ns));
}

/* The server has notified all that wait for its op, and goes on with the least level that waits. */
EMP_SIM_INLINE void emp_run_choose(emp_engine *sim, int32_t device, emp_sim_device *d)
{
    emp_sim_link *line = emp_run_line(sim, d);

    emp_run_replace_end(sim, device, line);
    d->current = EMP_SIM_NO_ITEM;
    if (emp_run_is_empty(line)) return;
    d->current = emp_run_take_from_line(sim, d, line);
    if (!emp_run_issues_ops(sim, device)) {
        emp_run_start_op(sim, d->current, device, d);
    } else if (emp_run_keeps_starts(sim)) {
        d->started_ns = sim->now;
    }
}

/* The server has finished an op. If ops wait, the first of them is taken at once and starts
 * last of all; if none does, the server is idle for the ops that are now notified. Where there are
 * levels, these may be served before those that wait. */
static inline void emp_run_end_op(emp_engine *sim, int32_t device)
{
    emp_sim_device *d = emp_run_device_at(sim, device);
    int32_t         item = d->current;
    bool            has_next = !EMP_RULES.has_levels && !emp_run_is_empty(&d->line);

    if (EMP_RULES.shares_cores && has_next) {
        emp_time_ns more = emp_run_more_for(sim, d->line.item, device);
        d->line.time_ns += more;
        d->busy_ns += more;
    }
    if (!EMP_RULES.has_levels) {
        emp_run_replace_end(sim, device, &d->line);
        d->current = has_next ? emp_run_take_waiting(sim, &d->line) : EMP_SIM_NO_ITEM;
    }
    emp_run_finish_op(sim, item, device, d);
    if (has_next) emp_run_start_op(sim, d->current, device, d);
    if (EMP_RULES.has_levels) emp_run_choose(sim, device, d);
}

/* The host thread has done its item. It goes on at once: to start is to know of it. Where there
 * are levels it waits for what the item sets off. */
static inline void emp_run_end_thread_item(emp_engine *sim, int32_t device)
{
    emp_sim_device *d = emp_run_device_at(sim, device);
    int32_t         item = d->current;
    emp_time_ns     started = d->started_ns;

    if (!EMP_RULES.has_levels) {
        emp_run_replace_end(sim, device, &d->line);
        d->current = emp_run_is_empty(&d->line) ? EMP_SIM_NO_ITEM
                                                : emp_run_take_waiting(sim, &d->line);
        if (emp_run_keeps_starts(sim)) d->started_ns = sim->now;
    }
    if (item < sim->op_count) {
        emp_run_issue_op(sim, item, device, d, started);
    } else if (emp_run_is_received(sim, item)) {
        emp_run_deliver_copy(sim, emp_run_copy_of_received(sim, item));
    } else {
        emp_run_request_copy(sim, emp_run_copy_of_item(sim, item));
    }
    if (EMP_RULES.has_levels) emp_run_choose(sim, device, d);
}

/* The kind of the source, which is not a server. Where nothing but copies is delayed and no host
 * thread receives them, who sees them does not matter. */
static inline emp_sim_source_kind emp_run_kind_of(const emp_engine *sim, int32_t source)
{
    bool is_seen = !EMP_RULES.serial_issue && !EMP_RULES.drain_copies &&
                   !EMP_RULES.cpu_pool && !EMP_RULES.control_latency &&
                   !EMP_RULES.copy_delays;

    return is_seen ? EMP_SIM_SEEN : (emp_sim_source_kind)sim->source[source].kind;
}

/* Takes the item whose delay is over from the list of source and handles it. */
static inline void emp_run_end_delay(emp_engine *sim, int32_t source)
{
    int32_t item = emp_run_take(&sim->head[source], sim->link),
            copy = emp_run_copy_of_item(sim, item);

    emp_run_replace_other_event(sim, source,
                                emp_run_event_at(sim, source, sim->head[source].time_ns));
    switch (emp_run_kind_of(sim, source)) {
    case EMP_SIM_KERNEL: emp_run_release_all(sim, item); break;
    case EMP_SIM_READY:
        emp_run_transfer(sim, copy, emp_run_payload_of_copy(sim, copy),
                         emp_run_route_of_copy(sim, copy));
        break;
    case EMP_SIM_SEEN: emp_run_see_copy(sim, copy, EMP_RULES.serial_issue); break;
    case EMP_SIM_SEEN_AT_HOST: emp_run_see_copy(sim, copy, false); break;
    case EMP_SIM_SEND: emp_run_request_copy(sim, copy); break;
    case EMP_SIM_RECEIVE: emp_run_deliver_copy(sim, copy); break;
    case EMP_SIM_MESSAGE:
        emp_run_deliver_message(sim, item - emp_run_item_of_message(sim, 0));
        break;
    case EMP_SIM_BATCH:
    case EMP_SIM_SERVER: break; /* have no delays */
    }
}

static inline void emp_run_handle_server(emp_engine *sim, int32_t device)
{
    if (emp_run_issues_ops(sim, device)) {
        emp_run_end_thread_item(sim, device);
    } else {
        emp_run_end_op(sim, device);
    }
}

static inline void emp_run_handle_other(emp_engine *sim, int32_t source)
{
    if (EMP_RULES.cpu_pool && emp_run_kind_of(sim, source) == EMP_SIM_BATCH) {
        emp_run_end_tasks(sim, source);
    } else {
        emp_run_end_delay(sim, source);
    }
}

/* Plays the earliest event. Which tree has it is asked by a branch: a processor foresees it,
 * and goes on before it knows both times. A leaf of the other tree, of no source, says
 * emp_run_no_event(). \return whether there was one. */
static inline bool emp_run_play_event(emp_engine *sim)
{
    const int64_t server = sim->servers.first, other = sim->others.first;

    if (server < other) {
        sim->now = emp_run_time_of_event(sim, server);
        emp_run_handle_server(sim, emp_run_source_of_event(sim, server));
    } else {
        if (EMP_SIM_SELDOM(other >= emp_run_no_event(sim))) return false;
        sim->now = emp_run_time_of_event(sim, other);
        emp_run_handle_other(sim, emp_run_source_of_event(sim, other));
    }
    if (EMP_RULES.cpu_pool) emp_run_start_all_pool_ops(sim);
    return true;
}

/* Lets the ops that are ready at the start wait, because all of them are there at once. */
static inline void emp_run_hold_servers(emp_engine *sim)
{
    for (int32_t d = 0; d < sim->device_count; d++) sim->device[d].current = 0;
}

static inline void emp_run_choose_first(emp_engine *sim)
{
    for (int32_t d = 0; d < sim->device_count; d++) {
        if (EMP_RULES.cpu_pool && sim->device[d].kind == EMP_DEVICE_CPU)
            sim->device[d].current = EMP_SIM_NO_ITEM;
        else
            emp_run_choose(sim, d, &sim->device[d]);
    }
}

/* The op of a graph's number. */
EMP_SIM_CALLED int32_t emp_run_find_op(const emp_engine *sim, emp_op_id id)
{
    int32_t op = 0;

    while (op + 1 < sim->op_count && sim->start[op].id != id) op++;
    return op;
}

/* Takes the buffers that all activations of the step are packed into. */
EMP_SIM_CALLED void emp_run_reserve_plan(emp_engine *sim)
{
    for (int32_t d = 0; d < sim->device_count; d++) {
        const emp_plan_buffer *buffer = &sim->plan->buffer[d];
        if (buffer->end > 0)
            emp_run_allocate(sim, d, buffer->end, emp_run_find_op(sim, buffer->peak_op),
                             NULL);
    }
}

/* Runs a step whose state is fresh. */
static inline void emp_run_events(emp_engine *sim)
{
    emp_run_clear_events(sim);
    for (int32_t i = 0; i < sim->persistent_count; i++) {
        const emp_sim_persistent *p = &sim->persistent[i];
        emp_run_allocate(sim, emp_run_device_of(sim, p->op), p->bytes, p->op, NULL);
    }
    if (EMP_SIM_SELDOM(sim->plan != NULL)) emp_run_reserve_plan(sim);
    if (EMP_RULES.has_levels) emp_run_hold_servers(sim);
    for (int32_t i = 0; i < sim->first_count; i++) {
        int32_t op = sim->first[i];
        emp_run_become_ready(sim, op, emp_run_device_of(sim, op));
    }
    if (EMP_RULES.has_levels) emp_run_choose_first(sim);
    if (EMP_RULES.cpu_pool) emp_run_start_all_pool_ops(sim);
    while (emp_run_play_event(sim)) {
    }
}

#define JOIN_WORDS(head, name, tail) head##name##tail
#define JOIN(head, name, tail)       JOIN_WORDS(head, name, tail)

#ifdef EMP_RUN_PROFILE
const emp_sim_rules JOIN(emp_sim_, EMP_RUN_NAME, _rules) = EMP_SIM_RULES;
#endif

void JOIN(emp_engine_run_, EMP_RUN_NAME, )(emp_engine *sim) { emp_run_events(sim); }
