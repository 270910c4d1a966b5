/** \file graphs/import/hlo/states.h
 * Parameters that a program gives back in place, which JAX calls donated: weights and what an optimizer keeps.
 * They stay in memory from step to step. Only input_output_alias of the module's header tells them.
 */
#ifndef EMP_GRAPHS_IMPORT_HLO_STATES_H
#define EMP_GRAPHS_IMPORT_HLO_STATES_H

#include "base/arrays.h"
#include "graphs/import/hlo/kernels.h"
#include "sim/graph/graph_builder.h"

typedef struct {
    emp_hlo_module *m;         /**< borrowed */
    int32_t        *of_tensor; /**< [tensor] the parameter whose new value it is; -1 */
    int32_t   *together; /**< [parameter] sets that one kernel writes (base/disjoint.h) */
    emp_op_id *op, *update; /**< [parameter] its op; what writes it; -1 */
    int32_t    count, parameter_count;
    emp_arrays arrays;
} emp_hlo_states;

/** Marks states, and results of kernels that are written in their place, as references in \a m. The caller
 * clears \a s, also after a failure. O(tensors + parameters). \retval EMP_ENOMEM */
emp_status emp_hlo_states_find(emp_hlo_states *s, emp_hlo_module *m,
                               const emp_hlo_kernels *kernels, emp_error *err);
void       emp_hlo_states_clear(emp_hlo_states *s);

/** Whether a parameter of the entry is a state. */
bool emp_hlo_is_state(const emp_hlo_states *s, const emp_hlo_instruction *parameter);

/** The number that binds an instruction of the entry to the states that it is or writes; 0: none. */
int32_t emp_hlo_states_colocation(const emp_hlo_states *s, const emp_hlo_instruction *i);

/** Notes which op an instruction of the entry has become. */
void emp_hlo_states_note(emp_hlo_states *s, const emp_hlo_instruction *i, emp_op_id op);

/** Lets what writes a state wait for all ops before it that read the old value. O(edges).
 * \retval EMP_ENOMEM */
emp_status emp_hlo_states_order(const emp_hlo_states *s, emp_graph_builder *builder,
                                emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_HLO_STATES_H */
