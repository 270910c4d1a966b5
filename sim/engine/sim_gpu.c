// SPDX-License-Identifier: GPL-3.0-or-later
/* Host threads, compute streams, and GPUs that serve ops by themselves. */
#include <stddef.h>

#include "sim/engine/sim_internal.h"

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
        emp_sim_create_outputs(sim, item, device);
        if (sim->runtime.release_at_issue) emp_sim_release_inputs(sim, item, device);
    }
    emp_sim_schedule(sim, emp_sim_device_source(device, EMP_SIM_SERVER),
                     sim->now + duration);
}

void emp_sim_serve(emp_sim *sim, int32_t device, int32_t item)
{
    if (sim->device[device].current < 0) {
        start_task(sim, device, item);
    } else {
        emp_sim_append(sim, &sim->queue[emp_sim_device_source(device, EMP_SIM_SERVER)],
                       item);
    }
}

static void record_gpu_op(emp_sim *sim, int32_t op, int32_t device, emp_time_ns start,
                          emp_time_ns end)
{
    emp_sim_record(sim, EMP_SIM_RECORD_OP, sim->id_of_op[op], device, start, end);
    if (sim->trace != NULL && sim->trace->op != NULL) {
        sim->trace->op(sim->trace->context, sim->id_of_op[op], device, 0, start, end);
    }
}

static void issue_op(emp_sim *sim, int32_t op, int32_t device)
{
    emp_sim_device *d = &sim->device[device];
    bool            launches = sim->op[op].flags & EMP_SIM_LAUNCHES;
    emp_time_ns     start = sim->now, end = sim->now;

    if (sim->trace != NULL && sim->trace->issue != NULL) {
        sim->trace->issue(sim->trace->context, sim->id_of_op[op], device, d->started_ns,
                          sim->now);
    }
    emp_sim_create_outputs(sim, op, device);
    if (launches) {
        start = d->queued_ns > sim->now ? d->queued_ns : sim->now;
        end = start + sim->op[op].compute_ns;
        d->queued_ns = end;
        d->busy_ns += end - start;
    }
    sim->end_of_op[op] = d->queued_ns > sim->now ? d->queued_ns : sim->now;
    sim->result.event_count += 2;
    record_gpu_op(sim, op, device, start, end);
    if (launches && !sim->runtime.release_at_issue) {
        emp_sim_delay(sim, emp_sim_device_source(device, EMP_SIM_STREAM), op, end);
    } else {
        emp_sim_release_inputs(sim, op, device);
    }
    emp_sim_notify(sim, op);
}

/* Without a host thread. */
static void finish_op(emp_sim *sim, int32_t op, int32_t device)
{
    emp_sim_device *d = &sim->device[device];

    d->busy_ns += sim->now - d->started_ns;
    sim->end_of_op[op] = sim->now;
    sim->result.event_count++;
    record_gpu_op(sim, op, device, d->started_ns, sim->now);
    if (!sim->runtime.release_at_issue) emp_sim_release_inputs(sim, op, device);
    emp_sim_notify(sim, op);
}

void emp_sim_end_task(emp_sim *sim, int32_t device)
{
    emp_sim_device *d = &sim->device[device];
    emp_sim_queue  *queue = &sim->queue[emp_sim_device_source(device, EMP_SIM_SERVER)];
    int32_t         item = d->current, copy = item - sim->op_count;

    if (copy >= 0 && sim->copy[copy].is_requested) {
        emp_sim_deliver_copy(sim, copy);
    } else if (copy >= 0) {
        emp_sim_request_copy(sim, copy);
    } else if (sim->runtime.serial_issue) {
        issue_op(sim, item, device);
    } else {
        finish_op(sim, item, device);
    }
    d->current = -1;
    if (queue->head >= 0) start_task(sim, device, emp_sim_take(sim, queue));
}
