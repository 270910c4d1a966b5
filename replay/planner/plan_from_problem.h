/** \file replay/planner/plan_from_problem.h
 * A problem and a placement as a plan for the executor.
 */
#ifndef EMP_REPLAY_PLANNER_PLAN_FROM_PROBLEM_H
#define EMP_REPLAY_PLANNER_PLAN_FROM_PROBLEM_H

#include "replay/plan/plan.h"
#include "sim/problem/problem.h"

/** \a device_of_op is legal (emp_problem_legalize). Of the runtime it takes share_copies,
 * reuse_inputs and workspace: what moves and what memory holds. The rest is what replay
 * measures. O(V + E).
 * \retval EMP_EINVAL        An entry is no device.
 * \retval EMP_EUNSUPPORTED  The graph's costs are stated: what its ops do is not known. */
emp_status emp_replay_plan_from_problem(emp_replay_plan **out, const emp_problem *problem,
                                        const emp_device_id *device_of_op,
                                        emp_error           *err);

#endif /* EMP_REPLAY_PLANNER_PLAN_FROM_PROBLEM_H */
