/** \file graphs/import/pytorch/roles.h
 * Which placeholders of a step are parameters, states of an optimizer, buffers, and what is fed.
 *
 * A file may say so. Else the graph does: what a step gives back in the shape of a placeholder, computed
 * from it element by element, is its new value. A placeholder with a new value is kept from step to step.
 * It is a parameter if anything but the update reads it, else a state. What the graph does not tell, names
 * do: "ps_1", "p_layer_weight", "primals_3", "bufs_1".
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_ROLES_H
#define EMP_GRAPHS_IMPORT_PYTORCH_ROLES_H

#include "graphs/import/pytorch/calls.h"

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

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_ROLES_H */
