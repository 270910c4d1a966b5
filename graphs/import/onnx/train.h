/** \file graphs/import/onnx/train.h
 * The training step that follows from a model that infers: a loss, gradients, an optimizer.
 *
 * The loss is ours, as such a file has none: cross entropy over the last dim of the first output of
 * floating point, binary cross entropy where that dim is 1, mean squared error for images.
 */
#ifndef EMP_GRAPHS_IMPORT_ONNX_TRAIN_H
#define EMP_GRAPHS_IMPORT_ONNX_TRAIN_H

#include "graphs/import/onnx/lower.h"

/** Adds the step to the graph under construction and makes it, with the loss, the target.
 * \param[in] optimizer  "sgd", "momentum" or "adam".
 * \retval EMP_EUNSUPPORTED  An op has no gradient; the message names it.
 * \retval EMP_EFORMAT       No output can be trained on, or there is no weight to train. */
emp_status emp_onnx_train(emp_onnx *o, const emp_onnx_scope *scope,
                          const emp_onnx_graph *graph, const char *optimizer,
                          emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_ONNX_TRAIN_H */
