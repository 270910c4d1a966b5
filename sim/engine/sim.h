/** \file sim/engine/sim.h
 * The oracle: discrete-event simulation of one training step under a placement.
 *
 *     emp_sim *sim = NULL;
 *     EMP_TRY(emp_sim_create(&sim, problem, err));
 *     for (each placement)
 *         EMP_TRY(emp_sim_run(sim, device_of_op, &result, err));
 *     emp_sim_destroy(sim);
 *
 * The model is docs/simulator.md, or docs/profiles.md if the runtime has the rules of
 * another simulator. Clock: integer nanoseconds. Simultaneous events have a fixed order;
 * equal inputs give bit-equal results everywhere.
 *
 * Threads. An emp_sim is confined to one thread; the problem it borrows is shared.
 */
#ifndef EMP_SIM_ENGINE_SIM_H
#define EMP_SIM_ENGINE_SIM_H

#include "sim/problem/problem.h"

/** What one run measured. Plain data; copy freely. */
typedef struct {
    emp_time_ns step_time_ns;
    bool        is_feasible; /**< no device ran out of memory */
    int32_t     device_count;
    emp_time_ns busy_ns[EMP_MAX_DEVICES]; /**< compute; CPU: core time / cores;
                                               by rules of max load with copies */
    int64_t peak_bytes[EMP_MAX_DEVICES];  /**< persistent + live tensors + workspace; with
                                             bfc_allocator the end of the last chunk */
    int64_t traffic_bytes;                /**< all tensors sent between memories */
    int64_t transfer_count;
    int64_t event_count; /**< starts and ends of ops, requests and arrivals of transfers,
                               arrivals of control messages */
    uint64_t
        fingerprint; /**< of the whole schedule, docs/simulator.md; 0 unless traced */
    /* The first allocation that did not fit; oom_device -1 = none. The run goes on as if
     * memory were endless, so that the peaks say how much was missing. */
    emp_device_id oom_device;
    emp_op_id     oom_op;
    int64_t       oom_bytes; /**< asked for */
    emp_time_ns   oom_at_ns;
} emp_sim_result;

/** How far a copy is on its way. */
typedef enum {
    EMP_SIM_COPY_TOLD,      /**< its producer is done; the send begins or waits */
    EMP_SIM_COPY_REQUESTED, /**< sent; its buffer is there */
    EMP_SIM_COPY_DELIVERED  /**< its readers are told */
} emp_sim_copy_phase;

/** Called as a traced run learns of what happens; every member may be NULL. Times may lie
 * ahead of the clock: a kernel's times are known when it is queued. What makes an op ready
 * (an op that is done, a copy that is delivered, a message) is told before that op and
 * after all that made others ready before. An op on a GPU with a host thread creates
 * what it makes between issue and op.
 * sim/engine/trace_chrome.h and sim/explain are uses. */
typedef struct {
    void *context;
    /** An op on a device. lane: 0 on a GPU; on the CPU the batch of tasks that ran, so an
     * op may come in several parts. */
    void (*op)(void *context, emp_op_id op, emp_device_id device, int32_t lane,
               emp_time_ns start_ns, emp_time_ns end_ns);
    /** A GPU's host thread issues an op. */
    void (*issue)(void *context, emp_op_id op, emp_device_id device, emp_time_ns start_ns,
                  emp_time_ns end_ns);
    /** All that an op waits for is there. */
    void (*ready)(void *context, emp_op_id op, emp_device_id device, emp_time_ns at_ns);
    /** A copy of a tensor reaches a phase; memories are named by their device. */
    void (*copy)(void *context, emp_tensor_id tensor, emp_device_id from,
                 emp_device_id to, emp_sim_copy_phase phase, emp_time_ns at_ns);
    /** The word that an op is done reaches another device. */
    void (*message)(void *context, emp_op_id op, emp_device_id to, emp_time_ns at_ns);
    /** A tensor moves between memories; after its request. */
    void (*transfer)(void *context, emp_tensor_id tensor, emp_device_id from,
                     emp_device_id to, emp_time_ns start_ns, emp_time_ns end_ns);
    /** A device's memory in use, after every change. */
    void (*memory)(void *context, emp_device_id device, emp_time_ns at_ns, int64_t bytes);
} emp_sim_trace;

typedef struct emp_sim emp_sim;

/** Creates a simulator for repeated runs. \a problem is borrowed. O(V + E) memory and
 * time.
 *
 * \retval EMP_EUNSUPPORTED  The costs of all ops and transfers add up to 2^49 ns (6.5
 * days) or more, or all bytes that a step could hold or move to 2^62; or four times the ops,
 * twice the tensors and inputs, once the control inputs, and 2^13, to 2^31; or the runtime
 * has a constant with which its rules cannot work. */
emp_status emp_sim_create(emp_sim **out, const emp_problem *problem, emp_error *err);

/** Simulates one step; allocates nothing. O(V + E devices) events, each taken from a
 * queue in a time that grows as the logarithm of its sources (devices and links). Without
 * copy_streams a copy also costs the length of its stream's queue, with bfc_allocator an
 * allocation the free chunks of its bin.
 *
 * \param[in]  device_of_op  op_count entries, legal (emp_problem_legalize).
 * \param[out] result        Written on success only.
 * \retval EMP_EINVAL  An entry is no device, or not one that the op may use.
 */
emp_status emp_sim_run(emp_sim *sim, const emp_device_id *device_of_op,
                       emp_sim_result *result, emp_error *err);

/** The same, with the fingerprint of the schedule, telling \a trace, which may be NULL,
 * what happens. Slower. */
emp_status emp_sim_run_traced(emp_sim *sim, const emp_device_id *device_of_op,
                              const emp_sim_trace *trace, emp_sim_result *result,
                              emp_error *err);

void emp_sim_destroy(emp_sim *sim);

#endif /* EMP_SIM_ENGINE_SIM_H */
