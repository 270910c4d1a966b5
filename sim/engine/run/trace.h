/** \file sim/engine/run/trace.h
 * What a traced run tells, and the fingerprint of its schedule; the times of ops in a timed run.
 * Nothing in other runs.
 */
#ifndef EMP_SIM_ENGINE_RUN_TRACE_H
#define EMP_SIM_ENGINE_RUN_TRACE_H

#include "sim/engine/run/rules.h"
#include "sim/rules/step.h"

#define EMP_RUN_TELL(callback, ...)                                               \
    do {                                                                          \
        if (EMP_RULES.is_traced) EMP_SIM_TELL(sim->trace, callback, __VA_ARGS__); \
    } while (0)

/** Whether somebody asks when an op began. */
EMP_SIM_INLINE bool emp_run_keeps_starts(const emp_engine *sim)
{
    (void)sim;
    return EMP_RULES.is_traced || EMP_RULES.is_timed;
}

/** Once an op. */
static inline void emp_run_record_op(emp_engine *sim, int32_t op, int32_t device,
                                     emp_time_ns start, emp_time_ns end)
{
    emp_op_id id = sim->start[op].id;

    if (EMP_RULES.is_traced)
        emp_sim_record(&sim->result, EMP_SIM_RECORD_OP, id, device, start, end);
    if (EMP_RULES.is_timed) {
        sim->times.start_ns[id] = start;
        sim->times.end_ns[id] = end;
    }
}

static inline void emp_run_trace_ready(emp_engine *sim, int32_t op, int32_t device)
{
    EMP_RUN_TELL(ready, sim->start[op].id, device, sim->now);
}

static inline void emp_run_trace_op(emp_engine *sim, int32_t op, int32_t device,
                                    int32_t lane, emp_time_ns start, emp_time_ns end)
{
    EMP_RUN_TELL(op, sim->start[op].id, device, lane, start, end);
}

static inline void emp_run_trace_issue(emp_engine *sim, int32_t op, int32_t device,
                                       emp_time_ns start)
{
    EMP_RUN_TELL(issue, sim->start[op].id, device, start, sim->now);
}

static inline int32_t emp_run_tensor_of_copy(const emp_engine *sim, int32_t copy)
{
    return sim->instance[copy].tensor;
}

static inline void emp_run_trace_copy(emp_engine *sim, int32_t copy,
                                      emp_sim_copy_phase phase)
{
    int32_t tensor = emp_run_tensor_of_copy(sim, copy);

    EMP_RUN_TELL(copy, sim->payload[tensor].id, sim->instance[tensor].space,
                 sim->instance[copy].space, phase, sim->now);
}

static inline void emp_run_trace_transfer(emp_engine *sim, int32_t copy,
                                          emp_time_ns start, emp_time_ns end)
{
    int32_t       tensor = emp_run_tensor_of_copy(sim, copy);
    int32_t       from = sim->instance[tensor].space;
    int32_t       to = sim->instance[copy].space;
    emp_tensor_id id = sim->payload[tensor].id;

    if (EMP_RULES.is_traced)
        emp_sim_record(&sim->result, EMP_SIM_RECORD_TRANSFER, id, to, start, end);
    EMP_RUN_TELL(transfer, id, from, to, start, end);
}

static inline void emp_run_trace_message(emp_engine *sim, int32_t op, int32_t to)
{
    if (EMP_RULES.is_traced)
        emp_sim_record(&sim->result, EMP_SIM_RECORD_MESSAGE, sim->start[op].id, to,
                       sim->now, sim->now);
    EMP_RUN_TELL(message, sim->start[op].id, to, sim->now);
}

static inline void emp_run_trace_memory(emp_engine *sim, int32_t space)
{
    EMP_RUN_TELL(memory, space, sim->now, sim->device[space].memory.used);
}

#undef EMP_RUN_TELL

#endif /* EMP_SIM_ENGINE_RUN_TRACE_H */
