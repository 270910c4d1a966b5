/** \file graphs/import/pytorch/op_attrs.h
 * What the arguments of a call say that the shapes of its tensors do not.
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_OP_ATTRS_H
#define EMP_GRAPHS_IMPORT_PYTORCH_OP_ATTRS_H

#include "graphs/import/pytorch/calls.h"

/** The attributes of a call that has an op. O(arguments). */
emp_op_attrs emp_torch_op_attrs(const emp_torch_calls *calls, int32_t node);

/** Whether the call does nothing: dropout outside of training. */
bool emp_torch_is_idle(const emp_torch_calls *calls, int32_t node);

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_OP_ATTRS_H */
