/** \file graphs/import/hlo/lower.h
 * From a module to ops: kernels, parameters and constants become ops, tuples and views none. Calls and loops
 * are replaced by what they run.
 */
#ifndef EMP_GRAPHS_IMPORT_HLO_LOWER_H
#define EMP_GRAPHS_IMPORT_HLO_LOWER_H

#include "graphs/import/hlo/states.h"

/** Adds the ops of the entry computation and marks what it gives back. What is assumed, and problems, go to
 * the notes of \a kernels. Loops may unroll to about \a budget_bytes of ops.
 * \retval EMP_EUNSUPPORTED  They would be more. \retval EMP_EFORMAT, EMP_ENOMEM */
emp_status emp_hlo_lower(emp_graph_builder *builder, const emp_hlo_kernels *kernels,
                         emp_hlo_states *states, int64_t budget_bytes, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_HLO_LOWER_H */
