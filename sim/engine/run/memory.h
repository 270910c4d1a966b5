/** \file sim/engine/run/memory.h
 * Buffers, who shares them, and the verdict when they do not fit.
 */
#ifndef EMP_SIM_ENGINE_RUN_MEMORY_H
#define EMP_SIM_ENGINE_RUN_MEMORY_H

#include "sim/engine/run/events.h"

__attribute__((cold)) EMP_SIM_CALLED void
emp_run_judge_memory(emp_engine *sim, int32_t space, int64_t bytes, int32_t op)
{
    emp_sim_result *result = &sim->result;

    if (result->oom_device >= 0) return;
    result->oom_device = space;
    result->oom_op = sim->start[op].id;
    result->oom_bytes = bytes;
    result->oom_at_ns = sim->now;
}

/** A chunk of a GPU's region, or a block of PyTorch's segments. The memory in use reaches to the end of the
 * last chunk, or is that of all segments; what finds none is on top of it. */
static inline int32_t emp_run_allocate_chunk(emp_engine *sim, int32_t space,
                                             int64_t bytes, int32_t op)
{
    emp_sim_memory *m = &sim->device[space].memory;
    bool            is_cached = sim->caching != NULL;
    int32_t         chunk = is_cached ? emp_caching_allocate(sim->caching, space, bytes)
                                      : emp_bfc_allocate(sim->bfc, space, bytes);
    int64_t         end;

    m->used += bytes;
    if (chunk >= 0) {
        end = is_cached ? emp_caching_reserved(sim->caching, space)
                        : emp_bfc_end(sim->bfc, chunk);
    } else {
        m->homeless += bytes;
        end = m->limit + m->homeless;
        emp_run_judge_memory(sim, space, bytes, op);
    }
    if (end > m->peak) m->peak = end;
    return chunk;
}

static inline void emp_run_free_chunk(emp_engine *sim, int32_t space, int64_t bytes,
                                      int32_t chunk)
{
    if (chunk >= 0) {
        if (sim->caching != NULL)
            emp_caching_free(sim->caching, chunk);
        else
            emp_bfc_free(sim->bfc, chunk);
    } else {
        sim->device[space].memory.homeless -= bytes;
    }
}

static inline bool emp_run_has_chunks(const emp_engine *sim, int32_t space)
{
    return EMP_RULES.has_chunks && sim->device[space].kind == EMP_DEVICE_GPU;
}

/** A request of no bytes takes no chunk and changes nothing that a trace reports. */
static inline bool emp_run_is_nothing(const emp_engine *sim, int64_t bytes)
{
    (void)sim; /* where rules are constants */
    return (EMP_RULES.has_chunks || EMP_RULES.is_traced) && bytes == 0;
}

/** More bytes of a memory are in use, because of \a op. \a chunk: where to keep the chunk;
 * NULL of what stays. */
static inline void emp_run_allocate(emp_engine *sim, int32_t space, int64_t bytes,
                                    int32_t op, int32_t *chunk)
{
    emp_sim_memory *m = &sim->device[space].memory;

    if (emp_run_is_nothing(sim, bytes)) return;
    if (emp_run_has_chunks(sim, space)) {
        int32_t id = emp_run_allocate_chunk(sim, space, bytes, op);
        if (chunk != NULL) *chunk = id;
        emp_run_trace_memory(sim, space);
        return;
    }
    m->used += bytes;
    m->peak = m->used > m->peak ? m->used : m->peak;
    if (EMP_SIM_SELDOM(m->used > m->limit)) emp_run_judge_memory(sim, space, bytes, op);
    emp_run_trace_memory(sim, space);
}

static inline void emp_run_deallocate(emp_engine *sim, int32_t space, int64_t bytes,
                                      const int32_t *chunk)
{
    if (emp_run_is_nothing(sim, bytes)) return;
    if (emp_run_has_chunks(sim, space)) emp_run_free_chunk(sim, space, bytes, *chunk);
    sim->device[space].memory.used -= bytes;
    emp_run_trace_memory(sim, space);
}

/** Where the chunks of a buffer and of a workspace are kept, if there are chunks. */
static inline int32_t *emp_run_chunk_of_instance(const emp_engine *sim, int32_t instance)
{
    return EMP_RULES.has_chunks ? &sim->chunk_of_instance[instance] : NULL;
}

static inline int32_t *emp_run_chunk_of_op(const emp_engine *sim, int32_t op)
{
    return EMP_RULES.has_chunks ? &sim->chunk_of_op[op] : NULL;
}

/** Drops one user of a root, which is in \a memory. The placement decides which user is the last one, so no branch would
 * foresee it, and there is none where memory is only a sum. */
static inline void emp_run_release_in(emp_engine *sim, emp_sim_memory *memory,
                                      int32_t root)
{
    emp_sim_instance *i = &sim->instance[root];
    bool              is_free = --i->pending == 0;

    if (!EMP_RULES.has_chunks && !EMP_RULES.is_traced) {
        memory->used -= i->bytes & -(int64_t)is_free;
    } else if (is_free) {
        emp_run_deallocate(sim, i->space, i->bytes, emp_run_chunk_of_instance(sim, root));
    }
}

/** Drops one user of a root, in whatever memory. */
static inline void emp_run_release(emp_engine *sim, int32_t root)
{
    emp_run_release_in(sim, &sim->device[sim->instance[root].space].memory, root);
}

/** \a root has so many bytes, in the memory \a space, and is still needed by so many. */
static inline bool emp_run_is_like(const emp_sim_instance *root, int64_t bytes,
                                   int32_t space, int32_t pending)
{
    return ((root->bytes ^ bytes) | (root->space ^ space) | (root->pending ^ pending)) ==
           0;
}

/** An input buffer that output 0 of \a op may take over: this op is the last to need it,
 * and it has the same size and is in the same memory. -1 = none. */
static inline int32_t emp_run_find_reusable(const emp_engine *sim, int32_t op)
{
    const emp_sim_op       *o = &sim->op[op];
    const emp_sim_instance *output = &sim->instance[o->output];

    for (int32_t i = 0; i < EMP_SIM_INPUTS; i++) {
        int32_t root = o->reads[i];
        if (emp_run_is_like(&sim->instance[root], output->bytes, output->space, 1))
            return root;
    }
    for (int32_t i = sim->more[op]; i < sim->more[op + 1]; i++) {
        int32_t root = sim->words[i];
        if (emp_run_is_like(&sim->instance[root], output->bytes, output->space, 1))
            return root;
    }
    return -1;
}

/** The buffer that output 0 of \a op shares, or -1. */
static inline int32_t emp_run_find_shared(const emp_engine *sim, int32_t op)
{
    const emp_sim_op *o = &sim->op[op];

    if (o->flags & EMP_SIM_ALIASES) {
        int32_t root = o->reads[0];
        if (sim->instance[root].space == sim->instance[o->output].space) return root;
    }
    if (EMP_RULES.reuse_inputs && (o->flags & EMP_SIM_IN_PLACE))
        return emp_run_find_reusable(sim, op);
    return -1;
}

/** Edges that read a home; its own op, if there are none. */
static inline int32_t emp_run_count_users(const emp_sim_instance *home)
{
    const int32_t readers = home[1].reader - home->reader;

    return readers > 0 ? readers : 1;
}

/** \a tensor shares the buffer \a root. \return whether there is one; -1 = none: then it is
 * its own root. */
static inline bool emp_run_share(emp_engine *sim, int32_t tensor, int32_t root)
{
    emp_sim_instance *t = &sim->instance[tensor];

    t->root = root < 0 ? tensor : root;
    if (root < 0) return false;
    sim->instance[root].pending += emp_run_count_users(t);
    return true;
}

/** \a tensor, its own root, has a buffer in the memory \a space. It is needed by its \a users, every edge
 * that reads it; emp_run_notify_readers() turns those that read copies into copies. */
EMP_SIM_INLINE void emp_run_create_output(emp_engine *sim, int32_t tensor, int32_t op,
                                          int32_t space, int32_t users)
{
    emp_sim_instance *t = &sim->instance[tensor];

    __builtin_prefetch(t + EMP_SIM_OUTPUTS_AHEAD, 1);
    t->space = (int16_t)space;
    t->pending = users;
    emp_run_allocate(sim, space, t->bytes, op, emp_run_chunk_of_instance(sim, tensor));
}

/** The memory of a tensor that \a op makes. */
static inline int32_t emp_run_space_of_output(const emp_engine *sim, int32_t tensor,
                                              int32_t op)
{
    return sim->space_of_place[2 * op + sim->instance[tensor].on_host];
}

/** emp_run_create_outputs() for any op. */
EMP_SIM_CALLED void emp_run_create_all(emp_engine *sim, int32_t op)
{
    const emp_sim_op *o = &sim->op[op];
    int32_t           t = o->output;

    if (t < o[1].output) {
        sim->instance[t].space = (int16_t)emp_run_space_of_output(sim, t, op);
        t += emp_run_share(sim, t, emp_run_find_shared(sim, op));
    }
    for (; t < o[1].output; t++)
        emp_run_create_output(sim, t, op, emp_run_space_of_output(sim, t, op),
                              emp_run_count_users(&sim->instance[t]));
    if (o->flags & EMP_SIM_HAS_WORKSPACE) {
        emp_run_allocate(sim, sim->space_of_place[2 * op], sim->workspace_bytes[op], op,
                         emp_run_chunk_of_op(sim, op));
    }
}

/** emp_run_create_outputs() for a common op, where an output may take over the
 * buffer of the first of its inputs that it can. Which ops may and which can is random, so
 * nothing branches. For an op that may not, no input counts as unneeded. */
EMP_SIM_INLINE void emp_run_create_in_place(emp_engine *sim, int32_t op, int32_t device)
{
    const emp_sim_op *o = &sim->op[op];
    const int32_t     tensor = o->output, pending = (o->flags & EMP_SIM_IN_PLACE) != 0;
    emp_sim_instance *t = &sim->instance[tensor];
    int32_t           root = tensor;

    t->space = (int16_t)device;
    for (int32_t i = EMP_SIM_INPUTS - 1; i >= 0; i--) {
        int32_t input = o->reads[i];
        root = emp_run_is_like(&sim->instance[input], t->bytes, device, pending) ? input
                                                                                 : root;
    }
    __builtin_prefetch(t + EMP_SIM_OUTPUTS_AHEAD, 1);
    const bool is_own = root == tensor;
    t->root = root;
    sim->instance[root].pending = o->reader_end - o->reader + !is_own;
    emp_run_allocate(sim, device, is_own ? t->bytes : 0, op,
                     emp_run_chunk_of_instance(sim, tensor));
}

/** Outputs and workspace are there from now on. Most ops have one output, on their device, which is read,
 * and nothing else. */
EMP_SIM_INLINE void emp_run_create_outputs(emp_engine *sim, int32_t op, int32_t device)
{
    const emp_sim_op *o = &sim->op[op];
    const uint32_t    rare = EMP_SIM_ALIASES | EMP_SIM_HAS_WORKSPACE |
                          EMP_SIM_HAS_ODD_OUTPUTS | EMP_SIM_HAS_UNREAD |
                          (EMP_RULES.reuse_inputs ? EMP_SIM_IN_PLACE_OF_MANY : 0);

    if (EMP_SIM_SELDOM(o->flags & rare)) {
        emp_run_create_all(sim, op);
    } else if (EMP_RULES.reuse_inputs) {
        emp_run_create_in_place(sim, op, device);
    } else {
        emp_run_create_output(sim, o->output, op, device, o->reader_end - o->reader);
    }
}

/** Releases the workspace and the outputs without readers. */
static inline void emp_run_release_rest(emp_engine *sim, int32_t op)
{
    const emp_sim_op *o = &sim->op[op];

    if (o->flags & EMP_SIM_HAS_WORKSPACE) {
        emp_run_deallocate(sim, sim->space_of_place[2 * op], sim->workspace_bytes[op],
                           emp_run_chunk_of_op(sim, op));
    }
    for (int32_t t = o->output; t < o[1].output; t++) {
        const emp_sim_instance *i = &sim->instance[t];
        if (i->reader == i[1].reader) emp_run_release(sim, i->root);
    }
}

/** Releases the inputs, all of which are in the same \a memory. */
EMP_SIM_INLINE void emp_run_release_inputs(emp_engine *sim, int32_t op,
                                           emp_sim_memory *memory)
{
    const emp_sim_op *o = &sim->op[op];

    for (int32_t i = 0; i < EMP_SIM_INPUTS; i++)
        emp_run_release_in(sim, memory, o->reads[i]);
    if (EMP_SIM_SELDOM(o->flags & EMP_SIM_HAS_MORE_INPUTS))
        for (int32_t i = sim->more[op]; i < sim->more[op + 1]; i++)
            emp_run_release_in(sim, memory, sim->words[i]);
}

/** Releases the inputs, in whatever memory they are. */
static inline void emp_run_release_anywhere(emp_engine *sim, int32_t op)
{
    const emp_sim_op *o = &sim->op[op];

    for (int32_t i = 0; i < EMP_SIM_INPUTS; i++) emp_run_release(sim, o->reads[i]);
    if (EMP_SIM_SELDOM(o->flags & EMP_SIM_HAS_MORE_INPUTS))
        for (int32_t i = sim->more[op]; i < sim->more[op + 1]; i++)
            emp_run_release(sim, sim->words[i]);
}

/** Releases the inputs of all ops that are fused into \a op. */
EMP_SIM_CALLED void emp_run_release_members(emp_engine *sim, int32_t op)
{
    const int32_t *next = sim->next_member;

    for (int32_t i = next[op]; i >= 0; i = next[i]) emp_run_release_anywhere(sim, i);
}

/** Releases the workspace, the outputs without readers, and the inputs. */
EMP_SIM_CALLED void emp_run_release_all(emp_engine *sim, int32_t op)
{
    emp_run_release_rest(sim, op);
    emp_run_release_anywhere(sim, op);
    if (EMP_SIM_SELDOM(sim->op[op].flags & EMP_SIM_LEADS))
        emp_run_release_members(sim, op);
}

#endif /* EMP_SIM_ENGINE_RUN_MEMORY_H */
