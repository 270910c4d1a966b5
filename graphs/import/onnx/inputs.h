/** \file graphs/import/onnx/inputs.h
 * What enters a model: its inputs, and the sizes that stand for their symbols.
 */
#ifndef EMP_GRAPHS_IMPORT_ONNX_INPUTS_H
#define EMP_GRAPHS_IMPORT_ONNX_INPUTS_H

#include "graphs/import/onnx/lower.h"

/** Binds the inputs of a graph as placeholders, or as weights where exporters list them so. A size
 * that is a symbol is the one given for it, else that of the batch where it comes first, else an
 * assumed one, which the notes say.
 * \retval EMP_EINVAL  A size is given for a symbol that no input has. */
emp_status emp_onnx_bind_inputs(emp_onnx *o, emp_onnx_scope *scope,
                                const emp_onnx_graph *graph, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_ONNX_INPUTS_H */
