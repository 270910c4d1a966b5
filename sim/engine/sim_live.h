/** \file sim/engine/sim_live.h
 * The buffers that are in use at a moment of a traced run: to be asked from within a
 * callback of its emp_sim_trace.
 */
#ifndef EMP_SIM_ENGINE_SIM_LIVE_H
#define EMP_SIM_ENGINE_SIM_LIVE_H

#include "sim/engine/sim.h"

emp_sim_live_memory emp_sim_live_get(const emp_sim *sim, emp_device_id device);

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

#endif /* EMP_SIM_ENGINE_SIM_LIVE_H */
