/** \file sim/engine/sim.h
 * The oracle: discrete-event simulation of one training step under a placement.
 *
 *     emp_sim *sim = NULL;
 *     EMP_TRY(emp_sim_create(&sim, problem, err));
 *     for (each placement)
 *         EMP_TRY(emp_sim_run(sim, device_of_op, &result, err));
 *     emp_sim_destroy(sim);
 *
 * The model is docs/simulator.md. Clock: integer nanoseconds. Events are ordered by (time,
 * sequence number); equal inputs give bit-equal results everywhere.
 *
 * Threads. An emp_sim is confined to one thread; the problem it borrows is shared.
 */
#ifndef EMP_SIM_ENGINE_SIM_H
#define EMP_SIM_ENGINE_SIM_H

#include "sim/placement/problem.h"

/** What one run measured. Plain data; copy freely. */
typedef struct {
    emp_time_ns step_time_ns;
    bool        is_feasible; /**< no device ran out of memory */
    int32_t     device_count;
    emp_time_ns busy_ns[EMP_MAX_DEVICES];    /**< compute; CPU: core time / cores */
    int64_t     peak_bytes[EMP_MAX_DEVICES]; /**< persistent + live tensors + workspace */
    int64_t     traffic_bytes;               /**< all tensors sent between devices */
    int64_t     transfer_count;
    int64_t     event_count;
    uint64_t    fingerprint; /**< hash of the event sequence */
    /* The first allocation that did not fit; oom_device -1 = none. The run goes on as if
     * memory were endless, so that the peaks say how much was missing. */
    emp_device_id oom_device;
    emp_op_id     oom_op;
    int64_t       oom_bytes; /**< asked for */
    emp_time_ns   oom_at_ns;
} emp_sim_result;

/** Called for what happens in a traced run; see sim/engine/trace.h for a Chrome writer. */
typedef struct {
    void *context;
    void (*op)(void *context, emp_op_id op, emp_device_id device, int32_t lane,
               emp_time_ns start_ns, emp_time_ns end_ns);
    void (*transfer)(void *context, emp_tensor_id tensor, emp_device_id from,
                     emp_device_id to, emp_time_ns start_ns, emp_time_ns end_ns);
    void (*memory)(void *context, emp_device_id device, emp_time_ns at_ns, int64_t bytes);
} emp_sim_trace;

typedef struct emp_sim emp_sim;

/** Creates a simulator for repeated runs. \a problem is borrowed. O(V + E) memory and time. */
emp_status emp_sim_create(emp_sim **out, const emp_problem *problem, emp_error *err);

/** Simulates one step. O((V + E) log devices) time; allocates nothing.
 *
 * \param[in]  device_of_op  op_count entries, legal (emp_problem_legalize).
 * \param[out] result        Written on success only.
 * \retval EMP_EINVAL  An entry is no device, or not one that the op may use.
 */
emp_status emp_sim_run(emp_sim *sim, const emp_device_id *device_of_op,
                       emp_sim_result *result, emp_error *err);

/** The same, telling \a trace what happens, in order of time. */
emp_status emp_sim_run_traced(emp_sim *sim, const emp_device_id *device_of_op,
                              const emp_sim_trace *trace, emp_sim_result *result,
                              emp_error *err);

void emp_sim_destroy(emp_sim *sim);

#endif /* EMP_SIM_ENGINE_SIM_H */
