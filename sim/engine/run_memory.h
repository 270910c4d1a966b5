/** \file sim/engine/run_memory.h
 * Buffers, who shares them, and the verdict when they do not fit.
 */
#ifndef EMP_SIM_ENGINE_RUN_MEMORY_H
#define EMP_SIM_ENGINE_RUN_MEMORY_H

#include "sim/engine/run_trace.h"

static inline void judge_memory(emp_sim *sim, int32_t space, int64_t bytes, int32_t op)
{
    emp_sim_result *result = &sim->result;

    if (result->oom_device >= 0) return;
    result->oom_device = space;
    result->oom_op = sim->start[op].id;
    result->oom_bytes = bytes;
    result->oom_at_ns = sim->now;
}

/** More bytes of a memory are in use, because of \a op. */
EMP_SIM_INLINE void allocate(emp_sim *sim, emp_sim_rules r, int32_t space, int64_t bytes,
                             int32_t op)
{
    emp_sim_memory *m = &sim->memory[space];

    if (bytes == 0) return;
    m->used += bytes;
    if (m->used > m->peak) {
        m->peak = m->used;
        if (m->used > m->limit) judge_memory(sim, space, bytes, op);
    }
    trace_memory(sim, r, space);
}

EMP_SIM_INLINE void deallocate(emp_sim *sim, emp_sim_rules r, int32_t space,
                               int64_t bytes)
{
    sim->memory[space].used -= bytes;
    trace_memory(sim, r, space);
}

/** The instance of a tensor that an op reads which reads in \a spaces. */
EMP_SIM_INLINE int32_t instance_read(const emp_sim *sim, emp_sim_edge edge,
                                     const uint8_t spaces[2])
{
    int32_t tensor = EMP_SIM_EDGE_ID(edge), space = spaces[EMP_SIM_EDGE_ON_HOST(edge)];

    if (space == sim->instance[tensor].space) return tensor;
    int32_t copy = sim->tensor_count + sim->instance[tensor].first_copy;
    while (sim->instance[copy].space != space) copy++;
    return copy;
}

/** The buffer of all that has no bytes; it is never freed. */
EMP_SIM_INLINE int32_t no_buffer(const emp_sim *sim)
{
    return sim->tensor_count + sim->copy_limit;
}

EMP_SIM_INLINE void create_buffer(emp_sim *sim, emp_sim_rules r, int32_t instance,
                                  int64_t bytes, int32_t op)
{
    emp_sim_instance *i = &sim->instance[instance];

    i->root = bytes == 0 ? no_buffer(sim) : instance;
    i->holds = 1;
    i->bytes = bytes;
    allocate(sim, r, i->space, bytes, op);
}

EMP_SIM_INLINE void share_buffer(emp_sim *sim, int32_t instance, int32_t root)
{
    sim->instance[instance].root = root;
    sim->instance[root].holds++;
}

/** Nobody will read the instance any more. */
EMP_SIM_INLINE void drop(emp_sim *sim, emp_sim_rules r, const emp_sim_instance *instance)
{
    emp_sim_instance *root = &sim->instance[instance->root];

    if (--root->holds == 0) deallocate(sim, r, root->space, root->bytes);
}

/** One reader less. */
EMP_SIM_INLINE void release(emp_sim *sim, emp_sim_rules r, int32_t instance)
{
    emp_sim_instance *i = &sim->instance[instance];

    if (--i->pending == 0) drop(sim, r, i);
}

/** An input buffer that output 0 of \a op may take over: read for the last time, held by
 * nobody else, of the same size, in the same memory. -1 = none. */
static inline int32_t find_reusable(const emp_sim *sim, int32_t op)
{
    const emp_sim_op *o = &sim->op[op];

    for (int32_t i = o->input; i < o[1].input; i++) {
        int32_t instance = instance_read(sim, sim->input[i], sim->state[op].space);
        int32_t root = sim->instance[instance].root;
        const emp_sim_instance *owner = &sim->instance[root];
        if (sim->instance[instance].pending == 1 && owner->holds == 1 &&
            owner->bytes == sim->tensor[o->output].bytes &&
            owner->space == sim->instance[o->output].space) {
            return root;
        }
    }
    return -1;
}

/** The buffer that output 0 of \a op shares, or -1. */
static inline int32_t find_shared(const emp_sim *sim, bool reuse_inputs, int32_t op)
{
    const emp_sim_op *o = &sim->op[op];
    const uint8_t    *spaces = sim->state[op].space;

    if (o->flags & EMP_SIM_ALIASES_CONST) return no_buffer(sim);
    if (o->flags & EMP_SIM_ALIASES) {
        emp_sim_edge edge = sim->input[o->input];
        if (spaces[EMP_SIM_EDGE_ON_HOST(edge)] == sim->instance[o->output].space) {
            return sim->instance[instance_read(sim, edge, spaces)].root;
        }
    }
    if (reuse_inputs && (o->flags & EMP_SIM_IN_PLACE)) return find_reusable(sim, op);
    return -1;
}

/** Outputs and workspace are there from now on. An output is needed by every edge that
 * reads it; notify() turns those that read copies into copies. */
EMP_SIM_INLINE void create_outputs(emp_sim *sim, emp_sim_rules r, int32_t op)
{
    const emp_sim_op *o = &sim->op[op];
    const uint8_t    *spaces = sim->state[op].space;
    const int32_t     first = o->output, end = o[1].output;
    const uint32_t    shares =
        EMP_SIM_ALIASES | EMP_SIM_ALIASES_CONST | (r.reuse_inputs ? EMP_SIM_IN_PLACE : 0);

    for (int32_t t = first; t < end; t++) {
        const emp_sim_tensor *tensor = &sim->tensor[t];
        emp_sim_instance     *i = &sim->instance[t];
        i->space = spaces[tensor->on_host];
        i->pending = tensor[1].consumer - tensor->consumer;
        if ((o->flags & shares) && t == first) {
            int32_t root = find_shared(sim, r.reuse_inputs, op);
            if (root >= 0) {
                share_buffer(sim, t, root);
                continue;
            }
        }
        create_buffer(sim, r, t, tensor->bytes, op);
    }
    if (o->flags & EMP_SIM_HAS_WORKSPACE) {
        allocate(sim, r, spaces[0], sim->rest[op].workspace_bytes, op);
    }
}

/** Workspace, outputs that nobody reads, and inputs are no longer needed. */
EMP_SIM_INLINE void release_inputs(emp_sim *sim, emp_sim_rules r, int32_t op)
{
    const emp_sim_op *o = &sim->op[op];
    const uint8_t    *spaces = sim->state[op].space;

    if (o->flags & EMP_SIM_HAS_WORKSPACE) {
        deallocate(sim, r, spaces[0], sim->rest[op].workspace_bytes);
    }
    for (int32_t t = o->output; (o->flags & EMP_SIM_HAS_UNREAD) && t < o[1].output; t++) {
        if (sim->tensor[t].consumer == sim->tensor[t + 1].consumer) {
            drop(sim, r, &sim->instance[t]);
        }
    }
    const emp_sim_edge *edge = sim->input + o[0].input, *end = sim->input + o[1].input;
    for (; edge < end; edge++) release(sim, r, instance_read(sim, *edge, spaces));
}

#endif /* EMP_SIM_ENGINE_RUN_MEMORY_H */
