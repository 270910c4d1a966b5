// SPDX-License-Identifier: GPL-3.0-or-later
/* Tensors on their way to another memory, and messages for control edges. */
#include <stddef.h>

#include "sim/engine/sim_internal.h"

void emp_sim_start_copy(emp_sim *sim, int32_t copy, int32_t from_device)
{
    int32_t item = sim->op_count + copy;

    if (from_device > 0 && sim->runtime.serial_issue) {
        emp_sim_serve(sim, from_device, item);
    } else {
        emp_sim_delay(sim, EMP_SIM_SEND, item, sim->now + sim->send_ns);
    }
}

/* The GPU whose copy stream moves the copy, and which of its streams. */
static int32_t stream_of(const emp_sim *sim, int32_t copy, int32_t *channel)
{
    int32_t from = sim->home[sim->copy[copy].tensor], to = sim->copy[copy].to;

    *channel = to == 0     ? EMP_SIM_TO_HOST
               : from == 0 ? EMP_SIM_TO_DEVICE
                           : EMP_SIM_TO_PEER;
    return from == 0 ? to : from;
}

void emp_sim_request_copy(emp_sim *sim, int32_t copy)
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
    emp_sim_create_buffer(sim, sim->tensor_count + copy, to,
                          emp_sim_round_up(t->copy_bytes), t->producer);

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
    emp_sim_delay(sim, emp_sim_device_source(gpu, EMP_SIM_READY + channel),
                  sim->op_count + copy, ready);
}

void emp_sim_transfer(emp_sim *sim, int32_t copy)
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
    emp_sim_record(sim, EMP_SIM_RECORD_TRANSFER, t->id, to, start, end);
    if (sim->trace != NULL && sim->trace->transfer != NULL) {
        sim->trace->transfer(sim->trace->context, t->id, from, to, start, end);
    }
    emp_sim_delay(sim, emp_sim_device_source(gpu, EMP_SIM_SEEN + channel),
                  sim->op_count + copy, end + sim->poll_ns);
}

void emp_sim_see_copy(emp_sim *sim, int32_t copy)
{
    int32_t to = sim->copy[copy].to;

    emp_sim_release(sim, sim->copy[copy].tensor);
    if (to > 0 && sim->runtime.serial_issue) {
        emp_sim_serve(sim, to, sim->op_count + copy);
    } else {
        emp_sim_delay(sim, EMP_SIM_RECEIVE, sim->op_count + copy,
                      sim->now + sim->receive_ns);
    }
}

void emp_sim_deliver_copy(emp_sim *sim, int32_t copy)
{
    sim->result.event_count++;
    emp_sim_arrive_in(sim, sim->copy[copy].tensor, sim->copy[copy].to);
}

void emp_sim_send_message(emp_sim *sim, int32_t op, int32_t to, int32_t first_of_op)
{
    int32_t from = sim->device_of_op[op];

    for (int32_t m = first_of_op; m < sim->message_count; m++) {
        if (sim->message[m].to == to) return; /* one carries all edges to a device */
    }
    int32_t m = sim->message_count++;
    sim->message[m] = (emp_sim_message){op, (uint8_t)to};
    emp_sim_delay(sim, EMP_SIM_MESSAGE + from * sim->device_count + to,
                  sim->op_count + sim->copy_limit + m,
                  sim->now + sim->route[from][to].latency_ns);
}

void emp_sim_deliver_message(emp_sim *sim, int32_t message)
{
    const emp_sim_message *m = &sim->message[message];

    sim->result.event_count++;
    emp_sim_record(sim, EMP_SIM_RECORD_MESSAGE, sim->id_of_op[m->op], m->to, sim->now,
                   sim->now);
    for (int32_t i = sim->op[m->op].control; i < sim->op[m->op + 1].control; i++) {
        if (sim->device_of_op[sim->control[i]] == m->to)
            emp_sim_arrive(sim, sim->control[i]);
    }
}
