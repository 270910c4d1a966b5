/** \file graphs/import/pytorch/aten.h
 * Names of PyTorch's ops, in every spelling that files have, and the entries of the op table that
 * say what they cost.
 *
 *     emp_aten_op op;
 *     if (emp_aten_parse(&op, "aten::add_.Tensor", 17))
 *         printf("%s %s\n", op.name, op.type != NULL ? op.type->name : "unknown");
 *
 * Spellings: "aten.mm.default", "aten::mm", "torch.ops.aten.mm.default", "<built-in function getitem>",
 * "_operator.getitem", "mm". Threads. No state.
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_ATEN_H
#define EMP_GRAPHS_IMPORT_PYTORCH_ATEN_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/graph/op.h"

enum { EMP_ATEN_NAME_BYTES = 128 };

typedef struct {
    char name[EMP_ATEN_NAME_BYTES]; /**< "aten.add_": the name of the type in a graph */
    char overload[EMP_ATEN_NAME_BYTES]; /**< "Tensor"; "" where the file has none */
    const emp_op_type *type;            /**< NULL: not known, by the name as it is */
    bool               is_getitem;      /**< takes an element out of a tuple */
    bool is_view;     /**< no kernel: its results are memory of its first operand */
    bool is_in_place; /**< writes its first operand: the name ends with "_" */
    bool is_list; /**< takes and gives lists of tensors: "_foreach_add", "_fused_adam_" */
    bool is_out;  /**< writes the operand called out */
} emp_aten_op;

/** Takes a name apart and finds its entry. A name of no namespace is ATen's. O(names of the table).
 * \return  Whether it is a name at all; if not, \a op is all 0. */
bool emp_aten_parse(emp_aten_op *op, const char *target, size_t length);

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_ATEN_H */
