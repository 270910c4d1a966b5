/** \file graphs/import/onnx/weights.h
 * Which tensors of a model are its weights, and which of these a training step changes.
 *
 * Most exporters do not say it. A tensor is a weight by what nodes do with it (the
 * filter of a convolution, the table of a lookup), by its name ("layer1.0.bn1.weight"), or because it is large.
 * Statistics, masks and tables of positions are held, but neither trained nor counted as parameters.
 */
#ifndef EMP_GRAPHS_IMPORT_ONNX_WEIGHTS_H
#define EMP_GRAPHS_IMPORT_ONNX_WEIGHTS_H

#include "graphs/import/onnx/lower.h"

/** Finds what the nodes of a graph, and of the graphs in it, do with each tensor. O(bytes).
 * \retval EMP_EFORMAT, EMP_ENOMEM */
emp_status emp_onnx_find_roles(emp_onnx *o, const emp_onnx_graph *graph, int32_t depth,
                               emp_error *err);

/** Reads what the metadata of PyTorch 2's exporter state of tensors, which counts more than what is guessed. The signature
 * of torch.export has a line for each parameter and buffer. A tensor that the exporter has computed names what it comes
 * from: a transposed weight comes from one parameter, a table or a mask from other things. O(bytes). \retval EMP_ENOMEM */
emp_status emp_onnx_read_stated(emp_onnx *o, const emp_onnx_graph *graph, emp_error *err);

/** Whether some node looks rows of the tensor up. */
bool emp_onnx_is_table(const emp_onnx *o, emp_slice name);

/** Sets is_weight, is_trainable and is_buffer of a value whose shape and type are known. */
void emp_onnx_mark_weight(emp_onnx *o, emp_onnx_value *value);

/** The same of an input: exporters that leave weights out list them as inputs. */
void emp_onnx_mark_input(emp_onnx *o, emp_onnx_value *value);

#endif /* EMP_GRAPHS_IMPORT_ONNX_WEIGHTS_H */
