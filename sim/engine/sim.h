/** \file sim/engine/sim.h
 * The oracle: discrete-event simulation of one training step under a placement.
 *
 *     emp_sim *sim = NULL;
 *     EMP_TRY(emp_sim_create(&sim, problem, err));
 *     for (each placement)
 *         EMP_TRY(emp_sim_run(sim, device_of_op, &result, err));
 *     emp_sim_destroy(sim);
 *
 * The model is docs/simulator.md, which also has the rules of other simulators, if the runtime has the rules of
 * another simulator. Clock: integer nanoseconds. Simultaneous events have a fixed order;
 * equal inputs give bit-equal results everywhere.
 *
 * Threads. An emp_sim is confined to one thread; the problem it borrows is shared.
 */
#ifndef EMP_SIM_ENGINE_SIM_H
#define EMP_SIM_ENGINE_SIM_H

#include <emplace/sim.h>

#include "base/work.h"
#include "sim/engine/engine.h"
#include "sim/problem/problem.h"
#include "sim/rules/rules.h"

/* <emplace/sim.h> has emp_sim_create(), emp_sim_run() and emp_sim_destroy(). The limits of a step:
 * all ops and transfers, one after the other on their slowest devices, take less than 2^62 ns over the
 * number of event sources rounded up to a power of two (half a year on a computer with 150 cores, copy
 * streams and devices), and all bytes that it could hold or move add up to less than 2^62; sixteen times the ops and one more,
 * twice the tensors and inputs, once the control inputs, and 2^13, to less than 2^31.
 *
 * Events are taken from a queue in a time that grows as the logarithm of its sources (devices and
 * links). Without copy_streams a copy also costs the length of its stream's queue, with
 * bfc_allocator an allocation the free chunks of its bin. */

/** emp_sim_run() with the fingerprint of the schedule; it calls \a trace, which may be NULL, for
 * each event. Slower. */
emp_status emp_sim_run_traced(emp_sim *sim, const emp_device_id *device_of_op,
                              const emp_sim_trace *trace, emp_sim_result *result,
                              emp_error *err);

/** The same with an order, too. \retval EMP_EUNSUPPORTED  As emp_sim_run_decision(). */
emp_status emp_sim_trace_decision(emp_sim *sim, const emp_decision *decision,
                                  const emp_sim_trace *trace, emp_sim_result *result,
                                  emp_error *err);

/** As emp_sim_run_decision(), and fills \a times [op]. Takes two stores an op more. */
emp_status emp_sim_run_timed(emp_sim *sim, const emp_decision *decision,
                             const emp_sim_times *times, emp_sim_result *result,
                             emp_error *err);

/* ---- the buffers in use at a moment of a traced run, asked from a callback of its emp_sim_trace ---- */

emp_sim_live_memory emp_sim_live_get(const emp_sim *sim, emp_device_id device);

/** The buffer that the activations of the last run were packed into, or NULL: they were not. */
const emp_plan_buffer *emp_sim_planned(const emp_sim *sim, emp_device_id device);

/** Called for each buffer, named by the tensor that it was allocated for; others may
 * share it by now. */
typedef void emp_sim_live_visit(void *context, emp_tensor_id tensor, bool is_copy,
                                int64_t bytes);

/** Before a run whose buffers will be asked for: forgets those of the runs before. */
void emp_sim_live_reset(emp_sim *sim);

/** Visits all buffers of tensors in the memory of \a device, copies last. Persistent
 * bytes and workspaces are no buffers of tensors. O(V + E). */
void emp_sim_live_each(const emp_sim *sim, emp_device_id device,
                       emp_sim_live_visit *visit, void *context);

/* ---- teams: several simulators of one problem, one a thread; <emplace/sim.h> has create, run and destroy ---- */

enum { EMP_SIM_TEAM_THREADS_MAX = 1024 };

/** Decisions of a team's run, with different arrays. */
typedef struct {
    /** [count] All have the same arrays. Devices and leaders are made legal, in place. */
    const emp_owned_decision *decision;
    const emp_sim_times      *times; /**< [count] OPTIONAL, filled */
    const atomic_int         *stop;  /**< OPTIONAL: once set, no more of them are run */
} emp_sim_team_batch;

/** As emp_sim_team_run(), with all that a batch has. The first batch with leaders allocates what
 * they take.
 * \retval EMP_EINVAL, EMP_EUNSUPPORTED  As emp_sim_run_decision().
 * \retval EMP_EINTERRUPTED  `stop` has left some out; there is no sentence.
 * \retval EMP_ENOMEM */
emp_status emp_sim_team_run_batch(emp_sim_team *team, const emp_sim_team_batch *batch,
                                  int32_t count, emp_sim_result *const *results,
                                  emp_error *err);

/** The simulator of the first thread, for use between two runs of the team; borrowed. */
emp_sim *emp_sim_team_first(emp_sim_team *team);

#endif /* EMP_SIM_ENGINE_SIM_H */
