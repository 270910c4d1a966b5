/** \file replay/planner/planner.h
 * A problem and a placement as a plan for the executor.
 */
#ifndef EMP_REPLAY_PLANNER_PLANNER_H
#define EMP_REPLAY_PLANNER_PLANNER_H

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

/* A part of a plan: some of its ops, for measuring what their kernels take.
 *
 * A tensor that an op of the part reads from an op outside of it lies in memory before the step, as a variable does. A part may
 * run on several devices at once, each with buffers of its own. */

typedef struct {
    const bool    *is_kept; /**< [op]; ops with variables are never part of it */
    int32_t        device;  /**< whose ops go to the devices below; ops of others stay */
    const int32_t *devices; /**< [count] for each a copy of all kept ops */
    int32_t        count;
} emp_plan_part;

/** Makes the part as a plan of its own.
 * \param origin  [op of the part] receives the op of \a plan, -1 for operands; of only the first device's copies, of the
 *                others it is -2 - op. Allocated here, the caller frees it.
 * \retval EMP_EINVAL  No op is kept. \retval EMP_ENOMEM */
emp_status emp_replay_plan_part(emp_replay_plan **out, int32_t **origin,
                                const emp_replay_plan *plan, const emp_plan_part *part,
                                emp_error *err);

#endif /* EMP_REPLAY_PLANNER_PLANNER_H */
