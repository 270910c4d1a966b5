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

/** A chunk of a GPU's region. The memory in use reaches to the end of the last chunk; what
 * finds none is on top of it. */
static inline int32_t allocate_chunk(emp_sim *sim, int32_t space, int64_t bytes,
                                     int32_t op)
{
    emp_sim_memory *m = &sim->memory[space];
    int32_t         chunk = emp_bfc_allocate(sim->bfc, space, bytes);
    int64_t         end;

    m->used += bytes;
    if (chunk >= 0) {
        end = emp_bfc_end(sim->bfc, chunk);
    } else {
        m->homeless += bytes;
        end = m->limit + m->homeless;
        judge_memory(sim, space, bytes, op);
    }
    if (end > m->peak) m->peak = end;
    return chunk;
}

static inline void free_chunk(emp_sim *sim, int32_t space, int64_t bytes, int32_t chunk)
{
    if (chunk >= 0) {
        emp_bfc_free(sim->bfc, chunk);
    } else {
        sim->memory[space].homeless -= bytes;
    }
}

static inline bool has_chunks(const emp_sim *sim, int32_t space)
{
    return rules.bfc_allocator && sim->device[space].kind == EMP_DEVICE_GPU;
}

/** More bytes of a memory are in use, because of \a op. \a chunk: where to keep the chunk;
 * NULL of what stays. */
static inline void allocate(emp_sim *sim, int32_t space, int64_t bytes, int32_t op,
                            int32_t *chunk)
{
    emp_sim_memory *m = &sim->memory[space];

    if (bytes == 0) return;
    if (has_chunks(sim, space)) {
        int32_t id = allocate_chunk(sim, space, bytes, op);
        if (chunk != NULL) *chunk = id;
        trace_memory(sim, space);
        return;
    }
    m->used += bytes;
    m->peak = m->used > m->peak ? m->used : m->peak;
    if (m->used > m->limit) judge_memory(sim, space, bytes, op);
    trace_memory(sim, space);
}

static inline void deallocate(emp_sim *sim, int32_t space, int64_t bytes,
                              const int32_t *chunk)
{
    if (has_chunks(sim, space)) free_chunk(sim, space, bytes, *chunk);
    sim->memory[space].used -= bytes;
    trace_memory(sim, space);
}

/** The buffer of all that has no bytes; it is never freed. */
static inline int32_t no_buffer(const emp_sim *sim) { return sim->tensor_count; }

static inline int32_t instance_of_copy(const emp_sim *sim, int32_t copy)
{
    return sim->tensor_count + 1 + copy;
}

/** Where the chunks of a buffer and of a workspace are kept, if there are chunks. */
static inline int32_t *chunk_of_instance(const emp_sim *sim, int32_t instance)
{
    return rules.bfc_allocator ? &sim->chunk_of_instance[instance] : NULL;
}

static inline int32_t *chunk_of_op(const emp_sim *sim, int32_t op)
{
    return rules.bfc_allocator ? &sim->chunk_of_op[op] : NULL;
}

static inline void create_buffer(emp_sim *sim, int32_t instance, int32_t op)
{
    emp_sim_instance *i = &sim->instance[instance];

    i->root = i->bytes == 0 ? no_buffer(sim) : instance;
    i->holds = 1;
    allocate(sim, i->space, i->bytes, op, chunk_of_instance(sim, instance));
}

static inline void share_buffer(emp_sim *sim, int32_t instance, int32_t root)
{
    sim->instance[instance].root = root;
    sim->instance[root].holds++;
}

/** Nobody will read the instance any more. */
static inline void drop(emp_sim *sim, const emp_sim_instance *instance)
{
    emp_sim_instance *root = &sim->instance[instance->root];

    if (--root->holds == 0) {
        deallocate(sim, root->space, root->bytes, chunk_of_instance(sim, instance->root));
    }
}

/** One reader less. */
static inline void release(emp_sim *sim, int32_t instance)
{
    emp_sim_instance *i = &sim->instance[instance];

    if (--i->pending == 0) drop(sim, i);
}

/** An input buffer that output 0 of \a op may take over: read for the last time, held by
 * nobody else, of the same size, in the same memory. -1 = none. */
static inline int32_t find_reusable(const emp_sim *sim, int32_t op)
{
    const emp_sim_op *o = &sim->op[op];

    for (int32_t i = o->input; i < o[1].input; i++) {
        int32_t                 instance = sim->reads[i];
        int32_t                 root = sim->instance[instance].root;
        const emp_sim_instance *owner = &sim->instance[root];
        if (sim->instance[instance].pending == 1 && owner->holds == 1 &&
            owner->bytes == sim->instance[o->output].bytes &&
            owner->space == sim->instance[o->output].space) {
            return root;
        }
    }
    return -1;
}

/** The buffer that output 0 of \a op shares, or -1. */
static inline int32_t find_shared(const emp_sim *sim, int32_t op)
{
    const emp_sim_op *o = &sim->op[op];

    if (o->flags & EMP_SIM_ALIASES_CONST) return no_buffer(sim);
    if (o->flags & EMP_SIM_ALIASES) {
        const emp_sim_instance *input = &sim->instance[sim->reads[o->input]];
        if (input->space == sim->instance[o->output].space) return input->root;
    }
    if (rules.reuse_inputs && (o->flags & EMP_SIM_IN_PLACE))
        return find_reusable(sim, op);
    return -1;
}

/** Outputs and workspace are there from now on. An output is needed by every edge that
 * reads it; notify() turns those that read copies into copies. */
EMP_SIM_INLINE void create_outputs(emp_sim *sim, int32_t op)
{
    const emp_sim_op *o = &sim->op[op];
    const uint8_t    *spaces = sim->state[op].space;
    const int32_t     first = o->output, end = o[1].output;
    const uint32_t    shares = EMP_SIM_ALIASES | EMP_SIM_ALIASES_CONST |
                            (rules.reuse_inputs ? EMP_SIM_IN_PLACE : 0);

    for (int32_t t = first; t < end; t++) {
        emp_sim_instance *i = &sim->instance[t];
        i->space = spaces[i->on_host];
        i->pending = i[1].reader - i->reader;
        if ((o->flags & shares) && t == first) {
            int32_t root = find_shared(sim, op);
            if (root >= 0) {
                share_buffer(sim, t, root);
                continue;
            }
        }
        create_buffer(sim, t, op);
    }
    if (o->flags & EMP_SIM_HAS_WORKSPACE) {
        allocate(sim, spaces[0], sim->rest[op].workspace_bytes, op, chunk_of_op(sim, op));
    }
}

/** Workspace, outputs that nobody reads, and inputs are no longer needed. */
EMP_SIM_INLINE void release_inputs(emp_sim *sim, int32_t op)
{
    const emp_sim_op *o = &sim->op[op];
    const uint8_t    *spaces = sim->state[op].space;

    if (o->flags & EMP_SIM_HAS_WORKSPACE) {
        deallocate(sim, spaces[0], sim->rest[op].workspace_bytes, chunk_of_op(sim, op));
    }
    for (int32_t t = o->output; (o->flags & EMP_SIM_HAS_UNREAD) && t < o[1].output; t++) {
        if (sim->instance[t].reader == sim->instance[t + 1].reader) {
            drop(sim, &sim->instance[t]);
        }
    }
    const int32_t *instance = sim->reads + o[0].input, *end = sim->reads + o[1].input;
    for (; instance < end; instance++) release(sim, *instance);
}

#endif /* EMP_SIM_ENGINE_RUN_MEMORY_H */
