/** \file graphs/import/pytorch/pytorch.h
 * Reads graphs of PyTorch: torch.fx graphs as JSON, archives of torch.export.
 */
#ifndef EMP_GRAPHS_IMPORT_PYTORCH_PYTORCH_H
#define EMP_GRAPHS_IMPORT_PYTORCH_PYTORCH_H

#include <stdbool.h>
#include <stddef.h>

#include "graphs/import/pytorch/program.h"
#include "sim/graph/graph_builder.h"

/** Whether the bytes of a file are such a graph. O(1). */
bool emp_pytorch_is(const char *bytes, size_t size);

/** Adds the ops of the file, marks what a step runs, and writes into \a note, which holds \a note_bytes,
 * what the file is, how much of it is known, and what was assumed.
 * \retval EMP_EFORMAT  The message tells up to 20 problems of the file.
 * \retval EMP_EUNSUPPORTED, EMP_ENOMEM */
emp_status emp_pytorch_read(emp_graph_builder *builder, char *note, size_t note_bytes,
                            const char *bytes, size_t size, emp_error *err);

/** The same of a program that is there already. */
emp_status emp_pytorch_lower(emp_graph_builder *builder, char *note, size_t note_bytes,
                             emp_torch_program *program, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_PYTORCH_PYTORCH_H */
