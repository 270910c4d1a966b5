// SPDX-License-Identifier: GPL-3.0-or-later
/* Buffers, who shares them, and the verdict when they do not fit. */
#include <stddef.h>

#include "sim/engine/sim_internal.h"

static void change_memory(emp_sim *sim, int32_t space, int64_t bytes)
{
    sim->device[space].used_bytes += bytes;
    if (sim->trace != NULL && sim->trace->memory != NULL) {
        sim->trace->memory(sim->trace->context, space, sim->now,
                           sim->device[space].used_bytes);
    }
}

void emp_sim_allocate(emp_sim *sim, int32_t space, int64_t bytes, int32_t op)
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
int32_t emp_sim_space_read(emp_sim_edge edge, int32_t device)
{
    return EMP_SIM_EDGE_ON_HOST(edge) ? 0 : device;
}

/* The instance of the tensor that an op on \a device reads. */
static int32_t instance_read(const emp_sim *sim, emp_sim_edge edge, int32_t device)
{
    int32_t tensor = EMP_SIM_EDGE_ID(edge), space = emp_sim_space_read(edge, device);

    if (space == sim->home[tensor]) return tensor;
    int32_t copy = sim->first_copy[tensor];
    while (sim->copy[copy].to != space) copy++;
    return sim->tensor_count + copy;
}

void emp_sim_create_buffer(emp_sim *sim, int32_t instance, int32_t space, int64_t bytes,
                           int32_t op)
{
    emp_sim_instance *i = &sim->instance[instance];

    i->root = bytes == 0 ? -1 : instance;
    i->holds = 1;
    i->bytes = bytes;
    emp_sim_allocate(sim, space, bytes, op);
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

void emp_sim_release(emp_sim *sim, int32_t instance)
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
        emp_sim_space_read(sim->input[o->input], device) == home) {
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
    emp_sim_create_buffer(sim, tensor, home, sim->tensor[tensor].bytes, op);
}

/* Outputs and workspace are there from now on. */
void emp_sim_create_outputs(emp_sim *sim, int32_t op, int32_t device)
{
    int32_t first = sim->op[op].output;

    for (int32_t t = first; t < sim->op[op + 1].output; t++) {
        if (t == first) {
            create_output_0(sim, op, device, t);
        } else {
            emp_sim_create_buffer(sim, t, sim->home[t], sim->tensor[t].bytes, op);
        }
    }
    emp_sim_allocate(sim, device, sim->op[op].workspace_bytes, op);
}

/* Workspace, outputs that nobody reads, and inputs are no longer needed. */
void emp_sim_release_inputs(emp_sim *sim, int32_t op, int32_t device)
{
    if (sim->op[op].workspace_bytes > 0) {
        change_memory(sim, device, -sim->op[op].workspace_bytes);
    }
    for (int32_t t = sim->op[op].output; t < sim->op[op + 1].output; t++) {
        if (sim->tensor[t].consumer == sim->tensor[t + 1].consumer) drop(sim, t);
    }
    for (int32_t i = sim->op[op].input; i < sim->op[op + 1].input; i++) {
        emp_sim_release(sim, instance_read(sim, sim->input[i], device));
    }
}
