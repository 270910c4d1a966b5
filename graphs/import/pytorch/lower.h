/** \file graphs/import/pytorch/lower.h
 * A program of PyTorch made into ops.
 *
 * - An element of a tuple is an edge; an element of a tuple of views is a view.
 * - A call on lists, such as a fused optimizer, is an op for each tensor, as they may lie on several devices.
 * - An op in place has its operand's buffer and device. Control edges keep the order of the buffer's reads
 *   before and after it. So has an "out" overload, if the tensor called out is a placeholder that is kept; else the op
 *   makes that tensor.
 * - The op that makes the new value of a parameter or state writes it in place, if nothing reads the old
 *   one later. An optimizer's ops and states are where their parameter is.
 * - A step runs what it gives back and what it writes in place.
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_LOWER_H
#define EMP_GRAPHS_IMPORT_PYTORCH_LOWER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "graphs/import/notes/readers.h"
#include "graphs/import/pytorch/program.h"
#include "sim/graph/op.h"

/* Names of PyTorch's ops, in every spelling that files have, and the entries of the op table that
 * say what they cost.
 *
 *     emp_aten_op op;
 *     if (emp_aten_parse(&op, "aten::add_.Tensor", 17))
 *         printf("%s %s\n", op.name, op.type != NULL ? op.type->name : "unknown");
 *
 * Spellings: "aten.mm.default", "aten::mm", "torch.ops.aten.mm.default", "<built-in function getitem>",
 * "_operator.getitem", "mm". Threads. No state.
 */

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

/* The calls of a program as ops: the op of each, what is taken out of tuples, whose memory a result is.
 */

typedef struct {
    emp_torch_program
        *program; /**< borrowed; results that only getitem states are added to it */
    emp_aten_op       *op; /**< the distinct ones */
    int32_t            op_count;
    const emp_aten_op *copy, *alias; /**< ops of calls that turn out to be such */
    const emp_aten_op *
        *op_of; /**< [node] NULL of all but calls, and of what is no name */
    int32_t
        *taken_from; /**< [node] of a getitem: the call whose result it takes; else -1 */
    int32_t *taken;  /**< [node] of a getitem: which result */
    int32_t      *
        owner; /**< [node] whose memory result 0 is, through views and ops in place; itself if its own */
    int32_t *last_reader; /**< [node] the last call that reads memory of this owner; -1 */
    int32_t *reader_offset, *reader; /**< [node + 1]: calls that read a node's results */
    emp_arrays arrays;
} emp_torch_calls;

/** O(nodes + arguments). The caller clears \a calls, also after a failure.
 * \retval EMP_EFORMAT  A result is taken that no tuple has; of a file that states results, a product has
 * none, or its matrices do not fit. \retval EMP_ENOMEM */
emp_status emp_torch_calls_init(emp_torch_calls *calls, emp_torch_program *program,
                                emp_error *err);
void       emp_torch_calls_clear(emp_torch_calls *calls);

/** Makes copies of reshapes that are no views, and views of copies that do nothing. O(arguments).
 * \retval EMP_ENOMEM */
emp_status emp_torch_copies_find(emp_torch_calls *calls, emp_error *err);

/** A place among the arguments of a node; all 0 is the beginning. */
typedef struct {
    int32_t argument, item;
} emp_torch_walk;

/** The next tensor among a node's arguments, in their order, the items of lists included; NULL behind the
 * last one. A list of lists holds none. O(1) amortised. */
const emp_torch_value *emp_torch_next_tensor(const emp_torch_program *p,
                                             const emp_torch_node    *node,
                                             emp_torch_walk          *at);

/** The next tensor that one of so many pieces of a call on lists reads: of a list as long as that its own
 * item, of other lists nothing. For one piece it is emp_torch_next_tensor(). O(1) amortised. */
const emp_torch_value *emp_torch_next_of_piece(const emp_torch_program *p,
                                               const emp_torch_node    *node,
                                               emp_torch_walk *at, int32_t piece,
                                               int32_t pieces);

/** Tensors in the list that is the first argument of an op of lists; 0 of all others. */
int32_t emp_torch_list_count(const emp_torch_calls *calls, int32_t node);

/** Whether a call writes the tensors of that argument, in their place. */
bool emp_torch_writes(const emp_torch_calls *calls, int32_t node, int32_t argument);

/** The tensor called out that an "out" overload writes and does not read; NULL: there is none. */
const emp_torch_value *emp_torch_out(const emp_torch_calls *calls, int32_t node);

/** A tensor; NULL: the file does not say. */
const emp_tensor_info *emp_torch_tensor(const emp_torch_calls *calls,
                                        const emp_torch_value *tensor);

/* Facts in the arguments of a call that the shapes of its tensors do not have. */

/** The attributes of a call that has an op. O(arguments). */
emp_op_attrs emp_torch_op_attrs(const emp_torch_calls *calls, int32_t node);

/** Whether the call does nothing: dropout outside of training. */
bool emp_torch_is_idle(const emp_torch_calls *calls, int32_t node);

/* Which placeholders of a step are parameters, states of an optimizer, buffers, and what is fed.
 *
 * A file may say so. Else the graph does: what a step gives back in the shape of a placeholder, computed
 * from it element by element, is its new value. A placeholder with a new value is kept from step to step.
 * It is a parameter if anything but the update reads it, else a state. Names decide where the graph does
 * not: "ps_1", "p_layer_weight", "primals_3", "bufs_1". */

typedef struct {
    int32_t *
        update_of; /**< [node] of a call whose result is the new value of a placeholder: that
                             placeholder; else -1 */
    int32_t count[EMP_TORCH_STATE + 1]; /**< placeholders of each role */
    int32_t told, by_graph,
        by_name; /**< how many roles come from the file, the graph and names */
    emp_arrays arrays;
} emp_torch_roles;

/** Gives each placeholder a role. O(nodes + arguments). The caller clears \a roles, also after a failure.
 * \retval EMP_ENOMEM */
emp_status emp_torch_roles_find(emp_torch_roles *roles, emp_torch_calls *calls,
                                emp_error *err);
void       emp_torch_roles_clear(emp_torch_roles *roles);

/** Lowers a program that has been read, marks the ops that a step runs, and notes what the file is, how much
 * of it is known, and what was assumed. */
emp_status emp_pytorch_lower(emp_graph_builder *builder, emp_reading *r,
                             emp_torch_program *program, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_LOWER_H */
