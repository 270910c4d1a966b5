/** \file graphs/activations.h
 * What the forward pass of a training step makes and its backward pass reads.
 */
#ifndef EMP_GRAPHS_ACTIVATIONS_H
#define EMP_GRAPHS_ACTIVATIONS_H

#include "sim/graph/graph.h"

/** Bytes of the tensors that ops before the loss make and other ops read. The loss is what a step
 * fetches that is one number of floating point. Weights, inputs and constants do not count, and
 * what is a view of a buffer counts once. 0 of a step without such a loss, or with nothing else to
 * run. O(V + E). \retval EMP_ENOMEM */
emp_status emp_graph_activation_bytes(int64_t *bytes, const emp_graph *step,
                                      emp_error *err);

#endif /* EMP_GRAPHS_ACTIVATIONS_H */
