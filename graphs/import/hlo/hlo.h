/** \file graphs/import/hlo/hlo.h
 * Reads modules of XLA as text: what jax.jit(f).lower(...).compile().as_text() prints, and the dumps of XLA.
 */
#ifndef EMP_GRAPHS_IMPORT_HLO_HLO_H
#define EMP_GRAPHS_IMPORT_HLO_HLO_H

#include "graphs/import/notes/notes.h"
#include "sim/graph/graph_builder.h"

/** Whether the bytes of a file are such a text, or StableHLO, which is refused. O(bytes). */
bool emp_hlo_is(const char *bytes, size_t size);

/** Adds the ops of the entry computation and marks what a step runs. \a notes receive what the file is, what
 * had to be assumed, and up to 20 problems.
 * \retval EMP_EFORMAT       No such text, or it contradicts itself.
 * \retval EMP_EUNSUPPORTED  StableHLO; loops that run too many ops. \retval EMP_ENOMEM */
emp_status emp_hlo_read(emp_graph_builder *builder, emp_import_notes *notes,
                        const char *bytes, size_t size, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_HLO_HLO_H */
