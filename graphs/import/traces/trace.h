/** \file graphs/import/traces/trace.h
 * Measured traces as graphs: what a JSON file is, and one of its steps.
 */
#ifndef EMP_GRAPHS_IMPORT_TRACES_TRACE_H
#define EMP_GRAPHS_IMPORT_TRACES_TRACE_H

#include "base/text/json.h"
#include "graphs/import/instances/instance.h"
#include "graphs/import/notes/notes.h"
#include "sim/graph/graph_builder.h"

/** Whether a JSON document is a trace that can be read. */
bool emp_trace_is(const emp_json *root);

/** Reads one step into \a builder. \a devices receives what it ran on: a CPU with a core for each
 * thread, and a GPU for each stream, so that streams run side by side as they did.
 * \param[in] notes  Receives a warning of a step without GPU kernels; NULL is fine.
 * \param[in] execution  The execution trace of the same run, whose tensors become edges; NULL: none.
 * \param[in] step  The number of a profiler's step; -1: one of the usual length. */
emp_status emp_trace_read(emp_graph_builder *builder, emp_import_devices *devices,
                          emp_import_notes *notes, const emp_json *root,
                          const emp_json *execution, int64_t step, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_TRACES_TRACE_H */
