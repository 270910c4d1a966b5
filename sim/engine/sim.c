// SPDX-License-Identifier: GPL-3.0-or-later
/* One run of the model of docs/simulator.md. */
#include "sim/engine/sim.h"

#include <string.h>

#include "base/hash.h"
#include "sim/engine/sim_internal.h"

/* The fingerprint is a sum, so that it does not depend on the order of simultaneous
 * events. */
void emp_sim_record(emp_sim *sim, int kind, int32_t id, int32_t device, emp_time_ns start,
                    emp_time_ns end)
{
    uint64_t what = (uint64_t)kind << 40 | (uint64_t)device << 32 | (uint32_t)id;
    uint64_t hash = emp_hash_u64(EMP_HASH_SEED, what);

    hash = emp_hash_u64(hash, (uint64_t)start);
    sim->result.fingerprint += emp_hash_u64(hash, (uint64_t)end);
}

static void enqueue_op(emp_sim *sim, int32_t op)
{
    int32_t device = sim->device_of_op[op];

    if (device == 0) {
        emp_sim_append(sim, &sim->waiting, op);
        sim->waiting_count++;
        return;
    }
    if (!sim->runtime.serial_issue) {
        emp_sim_device *d = &sim->device[device];
        d->queued_ns =
            (d->queued_ns > sim->now ? d->queued_ns : sim->now) + sim->op[op].compute_ns;
    }
    emp_sim_serve(sim, device, op);
}

void emp_sim_arrive(emp_sim *sim, int32_t op)
{
    if (--sim->missing[op] == 0) enqueue_op(sim, op);
}

/* All ops that read \a tensor in the memory \a space. */
void emp_sim_arrive_in(emp_sim *sim, int32_t tensor, int32_t space)
{
    for (int32_t i = sim->tensor[tensor].consumer; i < sim->tensor[tensor + 1].consumer;
         i++) {
        int32_t op = EMP_SIM_EDGE_ID(sim->consumer[i]);
        if (emp_sim_space_read(sim->consumer[i], sim->device_of_op[op]) == space)
            emp_sim_arrive(sim, op);
    }
}

/* The op is done as far as those who wait for it can tell. */
void emp_sim_notify(emp_sim *sim, int32_t op)
{
    int32_t device = sim->device_of_op[op], first_message = sim->message_count;

    sim->ended_count++;
    for (int32_t t = sim->op[op].output; t < sim->op[op + 1].output; t++) {
        emp_sim_arrive_in(sim, t, sim->home[t]);
        for (int32_t c = sim->first_copy[t]; c < sim->first_copy[t + 1]; c++) {
            emp_sim_start_copy(sim, c, device);
        }
    }
    for (int32_t i = sim->op[op].control; i < sim->op[op + 1].control; i++) {
        int32_t to = sim->device_of_op[sim->control[i]];
        if (to == device || !sim->runtime.control_latency) {
            emp_sim_arrive(sim, sim->control[i]);
        } else {
            emp_sim_send_message(sim, op, to, first_message);
        }
    }
}

static void handle_event(emp_sim *sim)
{
    int32_t source = sim->active;

    if (source < EMP_SIM_DEVICE) {
        emp_sim_end_batch(sim, source - EMP_SIM_BATCH);
    } else if (source < EMP_SIM_SEND) {
        int32_t device = (source - EMP_SIM_DEVICE) / EMP_SIM_DEVICE_SOURCES;
        int32_t kind = (source - EMP_SIM_DEVICE) % EMP_SIM_DEVICE_SOURCES;
        if (kind == EMP_SIM_SERVER) {
            emp_sim_end_task(sim, device);
        } else if (kind == EMP_SIM_STREAM) {
            emp_sim_release_inputs(sim, emp_sim_take_delayed(sim), device);
        } else if (kind < EMP_SIM_SEEN) {
            emp_sim_transfer(sim, emp_sim_take_delayed(sim) - sim->op_count);
        } else {
            emp_sim_see_copy(sim, emp_sim_take_delayed(sim) - sim->op_count);
        }
    } else if (source == EMP_SIM_SEND) {
        emp_sim_request_copy(sim, emp_sim_take_delayed(sim) - sim->op_count);
    } else if (source == EMP_SIM_RECEIVE) {
        emp_sim_deliver_copy(sim, emp_sim_take_delayed(sim) - sim->op_count);
    } else {
        emp_sim_deliver_message(sim, emp_sim_take_delayed(sim) - sim->op_count -
                                         sim->copy_limit);
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
            int32_t      space =
                emp_sim_space_read(edge, sim->device_of_op[EMP_SIM_EDGE_ID(edge)]);
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
    sim->waiting_count = sim->running_count = sim->starting_tasks = 0;
    sim->free_cores = sim->core_count;
    memset(sim->free_batches, -1, sizeof sim->free_batches);
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
        emp_sim_allocate(sim, sim->device_of_op[op], sim->persistent_of_op[op], op);
    }
    for (int32_t op = 0; op < sim->op_count; op++) {
        if (sim->missing[op] == 0) enqueue_op(sim, op);
    }
    emp_sim_start_cpu_ops(sim);
    while (sim->heap_count > 0) {
        emp_sim_begin_event(sim);
        handle_event(sim);
        emp_sim_start_cpu_ops(sim);
        emp_sim_end_event(sim);
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
