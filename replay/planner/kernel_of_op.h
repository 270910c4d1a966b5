/** \file replay/planner/kernel_of_op.h
 * Which kernel does the work of an op of a graph. Attributes are not kept in graphs;
 * strides, windows and transpositions are found from shapes, where they leave room in a
 * way that does as much work.
 */
#ifndef EMP_REPLAY_PLANNER_KERNEL_OF_OP_H
#define EMP_REPLAY_PLANNER_KERNEL_OF_OP_H

#include "replay/plan/kernel.h"
#include "sim/graph/graph.h"

/** Whether there is a kernel for \a op: there is none for PyTorch's and ONNX's ops that are not
 * TensorFlow's, for attention and experts, and for products in another format than fp32.
 * \retval EMP_EUNSUPPORTED  There is none; the message names the op. O(1). */
emp_status emp_kernel_check_op(const emp_graph *graph, emp_op_id op, emp_error *err);

/** The kernel of \a op, inputs and outputs numbered as in the graph. O(rank). */
emp_kernel emp_kernel_of_op(const emp_graph *graph, emp_op_id op);

#endif /* EMP_REPLAY_PLANNER_KERNEL_OF_OP_H */
