/** \file replay/planner/plan_from_problem.h
 * A problem and a placement as a plan for the executor.
 */
#ifndef EMP_REPLAY_PLANNER_PLAN_FROM_PROBLEM_H
#define EMP_REPLAY_PLANNER_PLAN_FROM_PROBLEM_H

#include "replay/plan/kernel.h"
#include "replay/plan/plan.h"
#include "sim/graph/graph.h"
#include "sim/problem/problem.h"

/** \a device_of_op is legal (emp_problem_legalize). From the runtime it takes share_copies,
 * reuse_inputs and workspace: what moves and what memory holds. The rest is what replay
 * measures. O(V + E).
 * \retval EMP_EINVAL        An entry is no device.
 * \retval EMP_EUNSUPPORTED  The graph's costs are stated: what its ops do is not known. */
emp_status emp_replay_plan_from_problem(emp_replay_plan **out, const emp_problem *problem,
                                        const emp_device_id *device_of_op,
                                        emp_error           *err);

/* Which kernel does the work of an op of a graph. Attributes are not kept in graphs;
 * strides, windows and transpositions are found from shapes, where they leave room in a
 * way that does as much work. */

/** Whether there is a kernel for \a op: there is none for PyTorch's and ONNX's ops that are not
 * TensorFlow's, for attention and experts, and for products in another format than fp32.
 * \retval EMP_EUNSUPPORTED  There is none; the message names the op. O(1). */
emp_status emp_kernel_check_op(const emp_graph *graph, emp_op_id op, emp_error *err);

/** The kernel of \a op, inputs and outputs numbered as in the graph. O(rank). */
emp_kernel emp_kernel_of_op(const emp_graph *graph, emp_op_id op);

#endif /* EMP_REPLAY_PLANNER_PLAN_FROM_PROBLEM_H */
