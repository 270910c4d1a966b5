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

#include "sim/rules/step.h"

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
