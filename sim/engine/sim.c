// SPDX-License-Identifier: GPL-3.0-or-later
/* One run of the model of docs/simulator.md.
 *
 * Every source of events (a host thread, a copy stream, a CPU slot, ...) finishes its
 * work in the order in which it gets it, so it is a list, and only its earliest event is
 * in the heap. Keys are unique: one per source. */
#include "sim/engine/sim.h"

#include <string.h>

#include "base/hash.h"
#include "sim/engine/sim_internal.h"

/* ---- events ---------------------------------------------------------------------------
 */

static uint64_t key_of(emp_time_ns at, int32_t source)
{
    return (uint64_t)at << EMP_SIM_SOURCE_BITS | (uint64_t)source;
}

static void heap_push(emp_sim *sim, uint64_t key)
{
    int32_t at = sim->heap_count++;

    while (at > 0 && sim->heap[(at - 1) / 2] > key) {
        sim->heap[at] = sim->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    sim->heap[at] = key;
}

static void heap_replace_top(emp_sim *sim, uint64_t key)
{
    int32_t at = 0, child = 1;

    while (child < sim->heap_count) {
        if (child + 1 < sim->heap_count && sim->heap[child + 1] < sim->heap[child])
            child++;
        if (sim->heap[child] >= key) break;
        sim->heap[at] = sim->heap[child];
        at = child;
        child = 2 * at + 1;
    }
    sim->heap[at] = key;
}

/* The next event of a source that has none in the heap. The source whose event is being
 * handled owns the top of the heap and takes its place when the handling ends. */
static void schedule(emp_sim *sim, int32_t source, emp_time_ns at)
{
    if (source == sim->active) {
        sim->active_next = key_of(at, source);
    } else {
        heap_push(sim, key_of(at, source));
    }
}

static void begin_event(emp_sim *sim)
{
    uint64_t key = sim->heap[0];

    sim->active = (int32_t)(key & ((1u << EMP_SIM_SOURCE_BITS) - 1));
    sim->now = (emp_time_ns)(key >> EMP_SIM_SOURCE_BITS);
    sim->active_next = EMP_SIM_NO_EVENT;
    sim->heap[0] = 0; /* nothing that is pushed meanwhile can rise above it */
}

static void end_event(emp_sim *sim)
{
    if (sim->active_next == EMP_SIM_NO_EVENT) {
        sim->heap_count--;
        sim->active_next = sim->heap[sim->heap_count];
    }
    if (sim->heap_count > 0) heap_replace_top(sim, sim->active_next);
    sim->active = -1;
}

/* ---- lists ----------------------------------------------------------------------------
 */

static void append(emp_sim *sim, emp_sim_queue *queue, int32_t item)
{
    sim->item[item].next = -1;
    if (queue->head < 0) {
        queue->head = item;
    } else {
        sim->item[queue->tail].next = item;
    }
    queue->tail = item;
}

static int32_t take(emp_sim *sim, emp_sim_queue *queue)
{
    int32_t item = queue->head;

    queue->head = sim->item[item].next;
    return item;
}

/* Lets \a item happen at a source at a time not before that of the items in it. */
static void delay(emp_sim *sim, int32_t source, int32_t item, emp_time_ns until)
{
    emp_sim_queue *queue = &sim->queue[source];

    sim->item[item].time_ns = until;
    if (queue->head < 0) schedule(sim, source, until);
    append(sim, queue, item);
}

/* The item whose event is being handled; the one behind it is scheduled. */
static int32_t take_delayed(emp_sim *sim)
{
    emp_sim_queue *queue = &sim->queue[sim->active];
    int32_t        item = take(sim, queue);

    if (queue->head >= 0) schedule(sim, sim->active, sim->item[queue->head].time_ns);
    return item;
}

static int32_t device_source(int32_t device, int32_t kind)
{
    return EMP_SIM_DEVICE + device * EMP_SIM_DEVICE_SOURCES + kind;
}

/* ---- records --------------------------------------------------------------------------
 */

enum { RECORD_OP, RECORD_TRANSFER, RECORD_MESSAGE };

/* The fingerprint is a sum, so that it does not depend on the order of simultaneous
 * events. */
static void record(emp_sim *sim, int kind, int32_t id, int32_t device, emp_time_ns start,
                   emp_time_ns end)
{
    uint64_t what = (uint64_t)kind << 40 | (uint64_t)device << 32 | (uint32_t)id;
    uint64_t hash = emp_hash_u64(EMP_HASH_SEED, what);

    hash = emp_hash_u64(hash, (uint64_t)start);
    sim->result.fingerprint += emp_hash_u64(hash, (uint64_t)end);
}

static void record_op(emp_sim *sim, int32_t op, int32_t device, int32_t lane,
                      emp_time_ns start, emp_time_ns end)
{
    record(sim, RECORD_OP, sim->id_of_op[op], device, start, end);
    if (sim->trace != NULL && sim->trace->op != NULL) {
        sim->trace->op(sim->trace->context, sim->id_of_op[op], device, lane, start, end);
    }
}

/* ---- memory ---------------------------------------------------------------------------
 */

static void change_memory(emp_sim *sim, int32_t space, int64_t bytes)
{
    sim->device[space].used_bytes += bytes;
    if (sim->trace != NULL && sim->trace->memory != NULL) {
        sim->trace->memory(sim->trace->context, space, sim->now,
                           sim->device[space].used_bytes);
    }
}

static void allocate(emp_sim *sim, int32_t space, int64_t bytes, int32_t op)
{
    emp_sim_result *r = &sim->result;

    if (bytes == 0) return;
    change_memory(sim, space, bytes);
    int64_t used = sim->device[space].used_bytes;
    if (used <= r->peak_bytes[space]) return;
    r->peak_bytes[space] = used;
    if (sim->runtime.check_memory && r->oom_device < 0 &&
        used > sim->problem->machine->device[space].memory_bytes) {
        r->oom_device = space;
        r->oom_op = sim->id_of_op[op];
        r->oom_bytes = bytes;
        r->oom_at_ns = sim->now;
    }
}

static int32_t space_of(const emp_sim *sim, int32_t instance)
{
    return instance < sim->tensor_count ? sim->home[instance]
                                        : sim->copy[instance - sim->tensor_count].to;
}

/* The memory in which \a edge is read by an op on \a device. */
static int32_t space_read(emp_sim_edge edge, int32_t device)
{
    return EMP_SIM_EDGE_ON_HOST(edge) ? 0 : device;
}

/* The instance of the tensor that an op on \a device reads. */
static int32_t instance_read(const emp_sim *sim, emp_sim_edge edge, int32_t device)
{
    int32_t tensor = EMP_SIM_EDGE_ID(edge), space = space_read(edge, device);

    if (space == sim->home[tensor]) return tensor;
    int32_t copy = sim->first_copy[tensor];
    while (sim->copy[copy].to != space) copy++;
    return sim->tensor_count + copy;
}

static void create_buffer(emp_sim *sim, int32_t instance, int32_t space, int64_t bytes,
                          int32_t op)
{
    emp_sim_instance *i = &sim->instance[instance];

    i->root = bytes == 0 ? -1 : instance;
    i->holds = 1;
    i->bytes = bytes;
    allocate(sim, space, bytes, op);
}

static void share_buffer(emp_sim *sim, int32_t instance, int32_t root)
{
    sim->instance[instance].root = root;
    if (root >= 0) sim->instance[root].holds++;
}

/* Nobody will read the instance any more. */
static void drop(emp_sim *sim, int32_t instance)
{
    int32_t root = sim->instance[instance].root;

    if (root < 0 || --sim->instance[root].holds > 0) return;
    change_memory(sim, space_of(sim, root), -sim->instance[root].bytes);
}

static void release(emp_sim *sim, int32_t instance)
{
    if (--sim->instance[instance].pending == 0) drop(sim, instance);
}

/* An input buffer that output 0 of \a op may take over: read for the last time, held by
 * nobody else, of the same size, in the same memory. -1 = none. */
static int32_t find_reusable(const emp_sim *sim, int32_t op, int32_t device,
                             int32_t output)
{
    for (int32_t i = sim->op[op].input; i < sim->op[op + 1].input; i++) {
        int32_t instance = instance_read(sim, sim->input[i], device);
        int32_t root = sim->instance[instance].root;
        if (root < 0 || sim->instance[instance].pending != 1) continue;
        if (sim->instance[root].holds == 1 &&
            sim->instance[root].bytes == sim->tensor[output].bytes &&
            space_of(sim, root) == sim->home[output]) {
            return root;
        }
    }
    return -1;
}

static void create_output_0(emp_sim *sim, int32_t op, int32_t device, int32_t tensor)
{
    const emp_sim_op *o = &sim->op[op];
    int32_t           home = sim->home[tensor];

    if (o->flags & EMP_SIM_ALIASES_CONST) {
        share_buffer(sim, tensor, -1);
        return;
    }
    if ((o->flags & EMP_SIM_ALIASES) &&
        space_read(sim->input[o->input], device) == home) {
        int32_t input = instance_read(sim, sim->input[o->input], device);
        share_buffer(sim, tensor, sim->instance[input].root);
        return;
    }
    if ((o->flags & EMP_SIM_IN_PLACE) && sim->runtime.reuse_inputs) {
        int32_t root = find_reusable(sim, op, device, tensor);
        if (root >= 0) {
            share_buffer(sim, tensor, root);
            return;
        }
    }
    create_buffer(sim, tensor, home, sim->tensor[tensor].bytes, op);
}

/* Outputs and workspace are there from now on. */
static void create_outputs(emp_sim *sim, int32_t op, int32_t device)
{
    int32_t first = sim->op[op].output;

    for (int32_t t = first; t < sim->op[op + 1].output; t++) {
        if (t == first) {
            create_output_0(sim, op, device, t);
        } else {
            create_buffer(sim, t, sim->home[t], sim->tensor[t].bytes, op);
        }
    }
    allocate(sim, device, sim->op[op].workspace_bytes, op);
}

/* Workspace, outputs that nobody reads, and inputs are no longer needed. */
static void release_inputs(emp_sim *sim, int32_t op, int32_t device)
{
    if (sim->op[op].workspace_bytes > 0) {
        change_memory(sim, device, -sim->op[op].workspace_bytes);
    }
    for (int32_t t = sim->op[op].output; t < sim->op[op + 1].output; t++) {
        if (sim->tensor[t].consumer == sim->tensor[t + 1].consumer) drop(sim, t);
    }
    for (int32_t i = sim->op[op].input; i < sim->op[op + 1].input; i++) {
        release(sim, instance_read(sim, sim->input[i], device));
    }
}

/* ---- servers: the host thread of a GPU, or the GPU itself when there is none
 * ----------- */

static void start_task(emp_sim *sim, int32_t device, int32_t item)
{
    emp_sim_device *d = &sim->device[device];
    emp_time_ns     duration;

    d->current = item;
    d->started_ns = sim->now;
    if (item >= sim->op_count) {
        const emp_sim_copy *copy = &sim->copy[item - sim->op_count];
        duration = copy->is_requested ? sim->receive_ns : sim->send_ns;
    } else if (sim->runtime.serial_issue) {
        duration = sim->op[item].issue_ns;
    } else {
        duration = sim->op[item].compute_ns;
        sim->result.event_count++;
        create_outputs(sim, item, device);
        if (sim->runtime.release_at_issue) release_inputs(sim, item, device);
    }
    schedule(sim, device_source(device, EMP_SIM_SERVER), sim->now + duration);
}

static void serve(emp_sim *sim, int32_t device, int32_t item)
{
    if (sim->device[device].current < 0) {
        start_task(sim, device, item);
    } else {
        append(sim, &sim->queue[device_source(device, EMP_SIM_SERVER)], item);
    }
}

/* ---- readiness ------------------------------------------------------------------------
 */

static void enqueue_op(emp_sim *sim, int32_t op)
{
    int32_t device = sim->device_of_op[op];

    if (device == 0) {
        append(sim, &sim->waiting, op);
        sim->waiting_count++;
        return;
    }
    if (!sim->runtime.serial_issue) {
        emp_sim_device *d = &sim->device[device];
        d->queued_ns =
            (d->queued_ns > sim->now ? d->queued_ns : sim->now) + sim->op[op].compute_ns;
    }
    serve(sim, device, op);
}

static void arrive(emp_sim *sim, int32_t op)
{
    if (--sim->missing[op] == 0) enqueue_op(sim, op);
}

/* All ops that read \a tensor in the memory \a space. */
static void arrive_in(emp_sim *sim, int32_t tensor, int32_t space)
{
    for (int32_t i = sim->tensor[tensor].consumer; i < sim->tensor[tensor + 1].consumer;
         i++) {
        int32_t op = EMP_SIM_EDGE_ID(sim->consumer[i]);
        if (space_read(sim->consumer[i], sim->device_of_op[op]) == space) arrive(sim, op);
    }
}

static void send_message(emp_sim *sim, int32_t op, int32_t to, int32_t first_of_op)
{
    int32_t from = sim->device_of_op[op];

    for (int32_t m = first_of_op; m < sim->message_count; m++) {
        if (sim->message[m].to == to) return; /* one carries all edges to a device */
    }
    int32_t m = sim->message_count++;
    sim->message[m] = (emp_sim_message){op, (uint8_t)to};
    delay(sim, EMP_SIM_MESSAGE + from * sim->device_count + to,
          sim->op_count + sim->copy_limit + m,
          sim->now + sim->route[from][to].latency_ns);
}

static void start_copy(emp_sim *sim, int32_t copy, int32_t from_device)
{
    int32_t item = sim->op_count + copy;

    if (from_device > 0 && sim->runtime.serial_issue) {
        serve(sim, from_device, item);
    } else {
        delay(sim, EMP_SIM_SEND, item, sim->now + sim->send_ns);
    }
}

/* The op is done as far as those who wait for it can tell. */
static void notify(emp_sim *sim, int32_t op)
{
    int32_t device = sim->device_of_op[op], first_message = sim->message_count;

    sim->ended_count++;
    for (int32_t t = sim->op[op].output; t < sim->op[op + 1].output; t++) {
        arrive_in(sim, t, sim->home[t]);
        for (int32_t c = sim->first_copy[t]; c < sim->first_copy[t + 1]; c++) {
            start_copy(sim, c, device);
        }
    }
    for (int32_t i = sim->op[op].control; i < sim->op[op + 1].control; i++) {
        int32_t to = sim->device_of_op[sim->control[i]];
        if (to == device || !sim->runtime.control_latency) {
            arrive(sim, sim->control[i]);
        } else {
            send_message(sim, op, to, first_message);
        }
    }
}

/* ---- ops on a GPU ---------------------------------------------------------------------
 */

static void issue_op(emp_sim *sim, int32_t op, int32_t device)
{
    emp_sim_device *d = &sim->device[device];
    bool            launches = sim->op[op].flags & EMP_SIM_LAUNCHES;
    emp_time_ns     start = sim->now, end = sim->now;

    if (sim->trace != NULL && sim->trace->issue != NULL) {
        sim->trace->issue(sim->trace->context, sim->id_of_op[op], device, d->started_ns,
                          sim->now);
    }
    create_outputs(sim, op, device);
    if (launches) {
        start = d->queued_ns > sim->now ? d->queued_ns : sim->now;
        end = start + sim->op[op].compute_ns;
        d->queued_ns = end;
        d->busy_ns += end - start;
    }
    sim->end_of_op[op] = d->queued_ns > sim->now ? d->queued_ns : sim->now;
    sim->result.event_count += 2;
    record_op(sim, op, device, 0, start, end);
    if (launches && !sim->runtime.release_at_issue) {
        delay(sim, device_source(device, EMP_SIM_STREAM), op, end);
    } else {
        release_inputs(sim, op, device);
    }
    notify(sim, op);
}

/* Without a host thread. */
static void finish_op(emp_sim *sim, int32_t op, int32_t device)
{
    emp_sim_device *d = &sim->device[device];

    d->busy_ns += sim->now - d->started_ns;
    sim->end_of_op[op] = sim->now;
    sim->result.event_count++;
    record_op(sim, op, device, 0, d->started_ns, sim->now);
    if (!sim->runtime.release_at_issue) release_inputs(sim, op, device);
    notify(sim, op);
}

/* ---- transfers ------------------------------------------------------------------------
 */

/* The GPU whose copy stream moves the copy, and which of its streams. */
static int32_t stream_of(const emp_sim *sim, int32_t copy, int32_t *channel)
{
    int32_t from = sim->home[sim->copy[copy].tensor], to = sim->copy[copy].to;

    *channel = to == 0     ? EMP_SIM_TO_HOST
               : from == 0 ? EMP_SIM_TO_DEVICE
                           : EMP_SIM_TO_PEER;
    return from == 0 ? to : from;
}

static void request_copy(emp_sim *sim, int32_t copy)
{
    int32_t               channel, gpu = stream_of(sim, copy, &channel);
    int32_t               tensor = sim->copy[copy].tensor, to = sim->copy[copy].to;
    int32_t               from = sim->home[tensor];
    const emp_sim_tensor *t = &sim->tensor[tensor];
    emp_time_ns           ready = sim->device[gpu].ready_ns[channel];

    sim->copy[copy].is_requested = true;
    sim->result.event_count++;
    sim->result.transfer_count++;
    sim->result.traffic_bytes += t->copy_bytes;
    create_buffer(sim, sim->tensor_count + copy, to,
                  (t->copy_bytes + EMP_SIM_GRANULE - 1) / EMP_SIM_GRANULE *
                      EMP_SIM_GRANULE,
                  t->producer);

    if (ready < sim->now) ready = sim->now;
    if (sim->runtime.drain_copies) {
        if (from > 0 && ready < sim->device[from].queued_ns)
            ready = sim->device[from].queued_ns;
        if (to > 0 && ready < sim->device[to].queued_ns)
            ready = sim->device[to].queued_ns;
    } else if (from > 0 && ready < sim->end_of_op[t->producer]) {
        ready = sim->end_of_op[t->producer];
    }
    sim->device[gpu].ready_ns[channel] = ready;
    delay(sim, device_source(gpu, EMP_SIM_READY + channel), sim->op_count + copy, ready);
}

static void transfer(emp_sim *sim, int32_t copy)
{
    int32_t               channel, gpu = stream_of(sim, copy, &channel);
    int32_t               tensor = sim->copy[copy].tensor, to = sim->copy[copy].to;
    int32_t               from = sim->home[tensor];
    const emp_sim_tensor *t = &sim->tensor[tensor];
    const emp_sim_route  *route = &sim->route[from][to];
    emp_time_ns           start = sim->device[gpu].copied_ns[channel];

    if (start < sim->now) start = sim->now;
    for (int32_t i = 0; i < route->link_count; i++) {
        if (start < sim->link_free_ns[route->link[i]])
            start = sim->link_free_ns[route->link[i]];
    }
    emp_time_ns end = start + route->latency_ns +
                      (emp_time_ns)((double)t->copy_bytes * route->ns_per_byte + 0.5);
    for (int32_t i = 0; i < route->link_count; i++)
        sim->link_free_ns[route->link[i]] = end;
    sim->device[gpu].copied_ns[channel] = end;
    record(sim, RECORD_TRANSFER, t->id, to, start, end);
    if (sim->trace != NULL && sim->trace->transfer != NULL) {
        sim->trace->transfer(sim->trace->context, t->id, from, to, start, end);
    }
    delay(sim, device_source(gpu, EMP_SIM_SEEN + channel), sim->op_count + copy,
          end + sim->poll_ns);
}

static void see_copy(emp_sim *sim, int32_t copy)
{
    int32_t to = sim->copy[copy].to;

    release(sim, sim->copy[copy].tensor);
    if (to > 0 && sim->runtime.serial_issue) {
        serve(sim, to, sim->op_count + copy);
    } else {
        delay(sim, EMP_SIM_RECEIVE, sim->op_count + copy, sim->now + sim->receive_ns);
    }
}

static void deliver_copy(emp_sim *sim, int32_t copy)
{
    sim->result.event_count++;
    arrive_in(sim, sim->copy[copy].tensor, sim->copy[copy].to);
}

static void deliver_message(emp_sim *sim, int32_t message)
{
    const emp_sim_message *m = &sim->message[message];

    sim->result.event_count++;
    record(sim, RECORD_MESSAGE, sim->id_of_op[m->op], m->to, sim->now, sim->now);
    for (int32_t i = sim->op[m->op].control; i < sim->op[m->op + 1].control; i++) {
        if (sim->device_of_op[sim->control[i]] == m->to) arrive(sim, sim->control[i]);
    }
}

/* ---- the CPU --------------------------------------------------------------------------
 */

/* Cores for the op at the head of the line; 0 = wait. The free cores are shared evenly by
 * those who wait, so ops that become ready together run side by side. */
static int32_t grant(const emp_sim *sim, int32_t op)
{
    int32_t share = sim->free_cores / sim->waiting_count;
    int32_t lanes = sim->op[op].lanes;

    if (sim->free_cores == 0 || sim->running_count == sim->slot_count) return 0;
    if (!sim->runtime.cpu_pool) return lanes;
    if (share < 1) share = 1;
    return share < lanes ? share : lanes;
}

static int32_t lowest_free_slot(const emp_sim *sim)
{
    int32_t word = sim->free_slots[0] != 0 ? 0 : 1;

    return word * 64 + __builtin_ctzll(sim->free_slots[word]);
}

static void start_cpu_ops(emp_sim *sim)
{
    while (sim->waiting_count > 0) {
        int32_t op = sim->waiting.head, cores = grant(sim, op);
        if (cores == 0) return;
        take(sim, &sim->waiting);
        sim->waiting_count--;
        int32_t slot = lowest_free_slot(sim);
        sim->free_slots[slot / 64] &= ~(UINT64_C(1) << slot % 64);
        sim->running_count++;
        sim->free_cores -= cores;
        sim->op_of_slot[slot] = op;
        sim->cores_of_slot[slot] = cores;
        sim->end_of_op[op] = sim->now;
        sim->result.event_count++;
        create_outputs(sim, op, 0);
        schedule(sim, EMP_SIM_SLOT + slot,
                 sim->now + sim->cpu_ns[sim->op[op].cpu_row + cores - 1]);
    }
}

static void end_cpu_op(emp_sim *sim, int32_t slot)
{
    int32_t     op = sim->op_of_slot[slot];
    emp_time_ns start = sim->end_of_op[op];

    sim->free_slots[slot / 64] |= UINT64_C(1) << slot % 64;
    sim->running_count--;
    sim->free_cores += sim->cores_of_slot[slot];
    sim->device[0].busy_ns += (sim->now - start) * sim->cores_of_slot[slot];
    sim->end_of_op[op] = sim->now;
    sim->result.event_count++;
    record_op(sim, op, 0, slot, start, sim->now);
    release_inputs(sim, op, 0);
    notify(sim, op);
}

/* ---- a run ----------------------------------------------------------------------------
 */

static void end_task(emp_sim *sim, int32_t device)
{
    emp_sim_device *d = &sim->device[device];
    emp_sim_queue  *queue = &sim->queue[device_source(device, EMP_SIM_SERVER)];
    int32_t         item = d->current, copy = item - sim->op_count;

    if (copy >= 0 && sim->copy[copy].is_requested) {
        deliver_copy(sim, copy);
    } else if (copy >= 0) {
        request_copy(sim, copy);
    } else if (sim->runtime.serial_issue) {
        issue_op(sim, item, device);
    } else {
        finish_op(sim, item, device);
    }
    d->current = -1;
    if (queue->head >= 0) start_task(sim, device, take(sim, queue));
}

static void handle_event(emp_sim *sim)
{
    int32_t source = sim->active;

    if (source < EMP_SIM_DEVICE) {
        end_cpu_op(sim, source - EMP_SIM_SLOT);
    } else if (source < EMP_SIM_SEND) {
        int32_t device = (source - EMP_SIM_DEVICE) / EMP_SIM_DEVICE_SOURCES;
        int32_t kind = (source - EMP_SIM_DEVICE) % EMP_SIM_DEVICE_SOURCES;
        if (kind == EMP_SIM_SERVER) {
            end_task(sim, device);
        } else if (kind == EMP_SIM_STREAM) {
            release_inputs(sim, take_delayed(sim), device);
        } else if (kind < EMP_SIM_SEEN) {
            transfer(sim, take_delayed(sim) - sim->op_count);
        } else {
            see_copy(sim, take_delayed(sim) - sim->op_count);
        }
    } else if (source == EMP_SIM_SEND) {
        request_copy(sim, take_delayed(sim) - sim->op_count);
    } else if (source == EMP_SIM_RECEIVE) {
        deliver_copy(sim, take_delayed(sim) - sim->op_count);
    } else {
        deliver_message(sim, take_delayed(sim) - sim->op_count - sim->copy_limit);
    }
}

static emp_status take_placement(emp_sim *sim, const emp_device_id *device_of_op,
                                 emp_error *err)
{
    emp_status         st = EMP_OK;
    const emp_problem *p = sim->problem;

    for (int32_t op = 0; op < sim->op_count; op++) {
        emp_op_id     id = sim->id_of_op[op];
        emp_device_id device = device_of_op[id];
        uint32_t      kinds = p->kinds_of_class[p->graph->op[id].colocation_class];
        if (device < 0 || device >= sim->device_count) {
            EMP_FAIL(EMP_EINVAL, "op '%s' is on device %d of 0..%d", p->graph->name[id],
                     device, sim->device_count - 1);
        }
        if (!(kinds & (device == 0 ? EMP_KIND_CPU : EMP_KIND_GPU))) {
            EMP_FAIL(EMP_EINVAL, "op '%s' cannot run on %s", p->graph->name[id],
                     p->machine->device[device].name);
        }
        sim->device_of_op[op] = (uint8_t)device;
    }
cleanup:
    return st;
}

/* Homes, readers and copies of all tensors. */
static void plan_copies(emp_sim *sim)
{
    sim->copy_count = 0;
    for (int32_t t = 0; t < sim->tensor_count; t++) {
        const emp_sim_tensor *tensor = &sim->tensor[t];
        int32_t               device = sim->device_of_op[tensor->producer];
        int32_t home = tensor->on_host ? 0 : device, first = sim->copy_count;
        int32_t pending = 0;

        sim->home[t] = (uint8_t)home;
        sim->first_copy[t] = first;
        for (int32_t i = tensor->consumer; i < sim->tensor[t + 1].consumer; i++) {
            emp_sim_edge edge = sim->consumer[i];
            int32_t space = space_read(edge, sim->device_of_op[EMP_SIM_EDGE_ID(edge)]);
            if (space == home) {
                pending++;
                continue;
            }
            int32_t copy = first;
            while (copy < sim->copy_count && sim->copy[copy].to != space) copy++;
            if (copy == sim->copy_count) {
                sim->copy[copy] = (emp_sim_copy){t, (uint8_t)space, false};
                sim->instance[sim->tensor_count + copy].pending = 0;
                sim->copy_count++;
            }
            sim->instance[sim->tensor_count + copy].pending++;
        }
        sim->instance[t].pending = pending + sim->copy_count - first;
    }
    sim->first_copy[sim->tensor_count] = sim->copy_count;
}

static void reset(emp_sim *sim)
{
    sim->result = (emp_sim_result){
        .device_count = sim->device_count, .oom_device = -1, .oom_op = -1};
    sim->now = 0;
    sim->message_count = sim->ended_count = 0;
    memcpy(sim->missing, sim->missing_of_op,
           (size_t)sim->op_count * sizeof *sim->missing);
    memset(sim->device, 0, sizeof sim->device);
    memset(sim->link_free_ns, 0, sizeof sim->link_free_ns);
    memset(sim->queue, -1, sizeof sim->queue);
    for (int32_t d = 0; d < sim->device_count; d++) sim->device[d].current = -1;
    sim->waiting = (emp_sim_queue){-1, -1};
    sim->waiting_count = sim->running_count = 0;
    sim->free_cores = sim->core_count;
    for (int32_t s = 0; s < EMP_MAX_CORES; s++) {
        if (s % 64 == 0) sim->free_slots[s / 64] = 0;
        if (s < sim->slot_count) sim->free_slots[s / 64] |= UINT64_C(1) << s % 64;
    }
    sim->heap_count = 0;
    sim->active = -1;
}

static void finish(emp_sim *sim)
{
    emp_sim_result *r = &sim->result;

    r->step_time_ns = sim->now;
    for (int32_t d = 0; d < sim->device_count; d++) {
        if (r->step_time_ns < sim->device[d].queued_ns)
            r->step_time_ns = sim->device[d].queued_ns;
        r->busy_ns[d] =
            d == 0 ? sim->device[0].busy_ns / sim->core_count : sim->device[d].busy_ns;
    }
    r->step_time_ns += sim->step_ns;
    r->is_feasible = r->oom_device < 0;
}

emp_status emp_sim_run_traced(emp_sim *sim, const emp_device_id *device_of_op,
                              const emp_sim_trace *trace, emp_sim_result *result,
                              emp_error *err)
{
    emp_status st = EMP_OK;

    EMP_TRY(take_placement(sim, device_of_op, err));
    sim->trace = trace;
    plan_copies(sim);
    reset(sim);
    for (int32_t op = 0; op < sim->op_count; op++) {
        allocate(sim, sim->device_of_op[op], sim->persistent_of_op[op], op);
    }
    for (int32_t op = 0; op < sim->op_count; op++) {
        if (sim->missing[op] == 0) enqueue_op(sim, op);
    }
    start_cpu_ops(sim);
    while (sim->heap_count > 0) {
        begin_event(sim);
        handle_event(sim);
        start_cpu_ops(sim);
        end_event(sim);
    }
    if (sim->ended_count != sim->op_count) {
        EMP_FAIL(EMP_ECYCLE, "%d of %d ops never became ready",
                 sim->op_count - sim->ended_count, sim->op_count);
    }
    finish(sim);
    *result = sim->result;

cleanup:
    return st;
}

emp_status emp_sim_run(emp_sim *sim, const emp_device_id *device_of_op,
                       emp_sim_result *result, emp_error *err)
{
    return emp_sim_run_traced(sim, device_of_op, NULL, result, err);
}
