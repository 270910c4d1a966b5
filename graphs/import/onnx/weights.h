/** \file graphs/import/onnx/weights.h
 * Which tensors of a model are its weights, and which of these a training step changes.
 *
 * Exporters do not say it. A tensor is a weight by what nodes do with it (the filter of a
 * convolution, the table of a lookup), by its name ("layer1.0.bn1.weight"), or because it is large.
 * Statistics, masks and tables of positions are held, but not trained.
 */
#ifndef EMP_GRAPHS_IMPORT_ONNX_WEIGHTS_H
#define EMP_GRAPHS_IMPORT_ONNX_WEIGHTS_H

#include "graphs/import/onnx/lower.h"

/** Finds what the nodes of a graph, and of the graphs in it, do with each tensor. O(bytes).
 * \retval EMP_EFORMAT, EMP_ENOMEM */
emp_status emp_onnx_find_roles(emp_onnx *o, const emp_onnx_graph *graph, int32_t depth,
                               emp_error *err);

/** Whether some node looks rows of the tensor up. */
bool emp_onnx_is_table(const emp_onnx *o, emp_slice name);

/** Sets is_weight and is_trainable of a value whose shape and type are known. */
void emp_onnx_mark_weight(emp_onnx *o, emp_onnx_value *value);

/** The same of an input: exporters that leave weights out list them as inputs. */
void emp_onnx_mark_input(emp_onnx *o, emp_onnx_value *value);

#endif /* EMP_GRAPHS_IMPORT_ONNX_WEIGHTS_H */
