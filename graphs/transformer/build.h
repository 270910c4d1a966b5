/** \file graphs/transformer/build.h
 * The graph of a transformer's step.
 *
 *     emp_transformer_model m = {0};
 *     EMP_TRY(emp_transformer_model_init(&m, 32, err));
 *     m.hidden = 4096; ...
 *     emp_transformer_step step = emp_transformer_step_default();
 *     EMP_TRY(emp_transformer_graph_create(&graph, &m, &step, NULL, err));
 *
 * What is modelled. Kernels are fused as in today's runtimes: attention is one kernel that keeps
 * no scores, a norm is one, the update of a weight is one, and the experts of a product are one.
 * A weight, the ops that use it, their gradients, and its update share a device, as in PyTorch.
 * Updates begin when all gradients are there. There is no dropout.
 *
 * FLOPs. Attention counts the pairs of query and key that its mask leaves; its backward pass
 * computes the scores again and counts 2.5 times the forward pass.
 */
#ifndef EMP_GRAPHS_TRANSFORMER_BUILD_H
#define EMP_GRAPHS_TRANSFORMER_BUILD_H

#include "graphs/transformer/model.h"
#include "graphs/transformer/tape.h"
#include "sim/graph/graph.h"

/** Builds the whole graph, its targets marked. O(layers).
 *
 * \param[in] types  The element types of weights by their names, or NULL: all of the step's.
 * \retval EMP_EINVAL        A size out of range, or more tokens than the model has positions for.
 * \retval EMP_EUNSUPPORTED  A phase that the model does not have: an encoder writes no tokens, and
 *                           without a head there is no loss. \retval EMP_ENOMEM */
emp_status emp_transformer_graph_create(emp_graph                  **out,
                                        const emp_transformer_model *model,
                                        const emp_transformer_step  *step,
                                        const emp_weight_types *types, emp_error *err);

#endif /* EMP_GRAPHS_TRANSFORMER_BUILD_H */
