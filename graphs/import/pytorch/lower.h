/** \file graphs/import/pytorch/lower.h
 * A program of PyTorch made into ops.
 *
 * - What is taken out of a tuple is an edge; what is taken out of a tuple of views is a view.
 * - A call on lists, such as a fused optimizer, is an op for each tensor, as they may lie on several devices.
 * - An op in place has its operand's buffer and device. What reads the buffer before or after it keeps its
 *   order by control edges.
 * - The op that makes the new value of a parameter or state writes it in place, if nothing reads the old
 *   one later. An optimizer's ops and states are where their parameter is.
 * - A step runs what it gives back and what it writes in place.
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_LOWER_H
#define EMP_GRAPHS_IMPORT_PYTORCH_LOWER_H

#include "graphs/import/notes/readers.h"
#include "graphs/import/pytorch/calls.h"

/* Which placeholders of a step are parameters, states of an optimizer, buffers, and what is fed.
 *
 * A file may say so. Else the graph does: what a step gives back in the shape of a placeholder, computed
 * from it element by element, is its new value. A placeholder with a new value is kept from step to step.
 * It is a parameter if anything but the update reads it, else a state. What the graph does not tell, names
 * do: "ps_1", "p_layer_weight", "primals_3", "bufs_1". */

typedef struct {
    int32_t *
        update_of; /**< [node] of a call whose result is the new value of a placeholder: that
                             placeholder; else -1 */
    int32_t count[EMP_TORCH_STATE + 1]; /**< placeholders of each role */
    int32_t told, by_graph,
        by_name; /**< how many roles the file, the graph and names have told */
    emp_arrays arrays;
} emp_torch_roles;

/** Gives each placeholder a role. O(nodes + arguments). The caller clears \a roles, also after a failure.
 * \retval EMP_ENOMEM */
emp_status emp_torch_roles_find(emp_torch_roles *roles, emp_torch_calls *calls,
                                emp_error *err);
void       emp_torch_roles_clear(emp_torch_roles *roles);

/** Adds the ops and marks the targets. O(nodes + arguments) expected.
 * \retval EMP_EFORMAT, EMP_EUNSUPPORTED, EMP_ENOMEM */
emp_status emp_torch_lower(emp_graph_builder *builder, const emp_torch_calls *calls,
                           const emp_torch_roles *roles, emp_error *err);

/** Lowers a program that has been read, marks the ops that a step runs, and notes what the file is, how much
 * of it is known, and what was assumed. */
emp_status emp_pytorch_lower(emp_graph_builder *builder, emp_reading *r,
                             emp_torch_program *program, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_LOWER_H */
