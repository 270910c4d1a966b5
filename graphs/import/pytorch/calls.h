/** \file graphs/import/pytorch/calls.h
 * What the calls of a program are: the op of each, what is taken out of tuples, whose memory a result is.
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_CALLS_H
#define EMP_GRAPHS_IMPORT_PYTORCH_CALLS_H

#include "base/mem.h"
#include "graphs/import/pytorch/aten.h"
#include "graphs/import/pytorch/program.h"

typedef struct {
    emp_torch_program
        *program;    /**< borrowed; results that only getitem states are added to it */
    emp_aten_op *op; /**< the distinct ones */
    int32_t      op_count;
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
 * item, of other lists nothing. Of one piece it is emp_torch_next_tensor(). O(1) amortised. */
const emp_torch_value *emp_torch_next_of_piece(const emp_torch_program *p,
                                               const emp_torch_node    *node,
                                               emp_torch_walk *at, int32_t piece,
                                               int32_t pieces);

/** Tensors in the list that is the first argument of an op of lists; 0 of all others. */
int32_t emp_torch_list_count(const emp_torch_calls *calls, int32_t node);

/** Whether a call writes the tensors of that argument, in their place. */
bool emp_torch_writes(const emp_torch_calls *calls, int32_t node, int32_t argument);

/** What a tensor is; NULL: the file does not say. */
const emp_tensor_info *emp_torch_tensor(const emp_torch_calls *calls,
                                        const emp_torch_value *tensor);

/* What the arguments of a call say that the shapes of its tensors do not. */

/** The attributes of a call that has an op. O(arguments). */
emp_op_attrs emp_torch_op_attrs(const emp_torch_calls *calls, int32_t node);

/** Whether the call does nothing: dropout outside of training. */
bool emp_torch_is_idle(const emp_torch_calls *calls, int32_t node);

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_CALLS_H */
