/** \file graphs/import/hlo/names.h
 * Names of ops: the scope that JAX gives an instruction ("jit(step)/jvp(Model)/dense_0"), the loops and calls
 * that it runs in, and its own name.
 */
#ifndef EMP_GRAPHS_IMPORT_HLO_NAMES_H
#define EMP_GRAPHS_IMPORT_HLO_NAMES_H

#include "graphs/import/hlo/module.h"
#include "sim/graph/graph_builder.h"

enum { EMP_HLO_OP_NAME_BYTES = 1024 };

/** Writes a name that the builder does not have yet. What is no ASCII text becomes "?". */
void emp_hlo_op_name(char name[EMP_HLO_OP_NAME_BYTES], const emp_hlo_module *m,
                     const emp_hlo_instruction *i, const char *path,
                     const emp_graph_builder *builder);

/** Writes \a outer, the instruction that calls, and which iteration it is if that is not negative. */
void emp_hlo_path(char path[EMP_HLO_OP_NAME_BYTES], const char *outer,
                  const emp_hlo_instruction *call, int64_t iteration);

#endif /* EMP_GRAPHS_IMPORT_HLO_NAMES_H */
