/** \file sim/engine/run_trace.h
 * What a traced run tells, and the fingerprint of its schedule; nothing in other runs.
 */
#ifndef EMP_SIM_ENGINE_RUN_TRACE_H
#define EMP_SIM_ENGINE_RUN_TRACE_H

#include <stddef.h>

#include "base/hash.h"
#include "sim/engine/run_rules.h"

/** Calls a callback of the trace, if the run is traced and there is one. */
#define TELL(callback, ...)                                                          \
    do {                                                                             \
        if (rules.is_traced && sim->trace != NULL && sim->trace->callback != NULL) { \
            sim->trace->callback(sim->trace->context, __VA_ARGS__);                  \
        }                                                                            \
    } while (0)

enum { RECORD_OP, RECORD_TRANSFER, RECORD_MESSAGE };

/** Adds to the fingerprint; it is a sum, so that it does not depend on the order of
 * simultaneous events. */
static inline void record(emp_sim *sim, int kind, int32_t id, int32_t device,
                          emp_time_ns start, emp_time_ns end)
{
    uint64_t what = (uint64_t)kind << 40 | (uint64_t)device << 32 | (uint32_t)id;
    uint64_t hash = emp_hash_u64(EMP_HASH_SEED, what);

    hash = emp_hash_u64(hash, (uint64_t)start);
    sim->result.fingerprint += emp_hash_u64(hash, (uint64_t)end);
}

static inline void record_op(emp_sim *sim, int32_t op, int32_t device, emp_time_ns start,
                             emp_time_ns end)
{
    if (rules.is_traced) record(sim, RECORD_OP, sim->start[op].id, device, start, end);
}

static inline void trace_ready(emp_sim *sim, int32_t op, int32_t device)
{
    TELL(ready, sim->start[op].id, device, sim->now);
}

static inline void trace_op(emp_sim *sim, int32_t op, int32_t device, int32_t lane,
                            emp_time_ns start, emp_time_ns end)
{
    TELL(op, sim->start[op].id, device, lane, start, end);
}

static inline void trace_issue(emp_sim *sim, int32_t op, int32_t device,
                               emp_time_ns start)
{
    TELL(issue, sim->start[op].id, device, start, sim->now);
}

static inline void trace_copy(emp_sim *sim, int32_t copy, emp_sim_copy_phase phase)
{
    int32_t tensor = sim->copy[copy].tensor;

    TELL(copy, sim->payload[tensor].id, sim->instance[tensor].space,
         sim->instance[sim->tensor_count + copy].space, phase, sim->now);
}

static inline void trace_transfer(emp_sim *sim, int32_t copy, emp_time_ns start,
                                  emp_time_ns end)
{
    int32_t       tensor = sim->copy[copy].tensor;
    int32_t       from = sim->instance[tensor].space;
    int32_t       to = sim->instance[sim->tensor_count + copy].space;
    emp_tensor_id id = sim->payload[tensor].id;

    if (rules.is_traced) record(sim, RECORD_TRANSFER, id, to, start, end);
    TELL(transfer, id, from, to, start, end);
}

static inline void trace_message(emp_sim *sim, int32_t op, int32_t to)
{
    if (rules.is_traced)
        record(sim, RECORD_MESSAGE, sim->start[op].id, to, sim->now, sim->now);
    TELL(message, sim->start[op].id, to, sim->now);
}

static inline void trace_memory(emp_sim *sim, int32_t space)
{
    TELL(memory, space, sim->now, sim->memory[space].used);
}

#undef TELL

#endif /* EMP_SIM_ENGINE_RUN_TRACE_H */
