/** \file graphs/import/pytorch/execution/execution.h
 * PyTorch's execution traces (ET) by themselves: operators with shapes and tensors, without times, as a graph whose
 * times the cost model predicts. graphs/import/traces/execution.h has the format.
 *
 * The whole trace is one step. Its operators run in the order of their ids (hierarchy.h says which). A tensor is known by its id and
 * its storage:
 *
 * - What writes a storage that it reads works in place. What writes another one has allocated it anew.
 * - A tensor of a storage that an operator made is a view of it.
 * - A storage that nothing before has made was there when the trace began. It is a parameter if something writes it in
 *   place and a product, a convolution or a table look-up reads it; a state if it is written otherwise; a buffer if it is
 *   the running mean or variance of a batch norm; else an input.
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_EXECUTION_EXECUTION_H
#define EMP_GRAPHS_IMPORT_PYTORCH_EXECUTION_EXECUTION_H

#include "base/text/json.h"
#include "sim/graph/graph_builder.h"

/** Adds the ops of the trace, and writes into \a note, which holds \a note_bytes, what was found. The caller marks the
 * targets, which are all ops whose results nothing reads. O(size + n log n).
 * \retval EMP_EFORMAT  A node without name or id, a tensor of a negative size, or no operator that did any work.
 * \retval EMP_EUNSUPPORTED, EMP_ENOMEM */
emp_status emp_torch_execution_read(emp_graph_builder *builder, char *note,
                                    size_t note_bytes, const emp_json *root,
                                    emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_EXECUTION_EXECUTION_H */
