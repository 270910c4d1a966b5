/** \file sim/graph/op_name.h
 * What TensorFlow's naming says of an op, in generated and in imported graphs alike:
 *
 *     gradients/<forward name>_grad/...            a gradient op of a forward op
 *     .../cell_1/basic_lstm_cell/MatMul_3          of the recurrent cell of layer 1
 *     .../cell_1_2/add                             of its wrapper, in a scope made unique
 */
#ifndef EMP_SIM_GRAPH_OP_NAME_H
#define EMP_SIM_GRAPH_OP_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Whether the op belongs to the backward pass: "gradients/...", "gradients_1/...". */
bool emp_is_gradient_name(const char *name);

/** Finds the forward op that "gradients/<forward name>_grad/..." differentiates. Sets
 * \a *forward to point into \a name and returns the length; 0 = not such a name. */
size_t emp_forward_of_gradient(const char *name, const char **forward);

/** K of the path component "cell_K", or "cell_K_N" where TensorFlow made a scope unique;
 * -1 = there is none. \a *length becomes that of the name up to and with "cell_K". */
int32_t emp_cell_of_name(const char *name, size_t *length);

#endif /* EMP_SIM_GRAPH_OP_NAME_H */
