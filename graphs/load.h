/** \file graphs/load.h
 * A source, which is a workload spec or a graph file, made into a graph. emp_graph_load() of
 * <emplace/graph.h> gives its step alone.
 */
#ifndef EMP_GRAPHS_LOAD_H
#define EMP_GRAPHS_LOAD_H

#include "graphs/import/import.h"
#include "sim/graph/graph.h"

/** Loads what \a source names: a workload family with its parameters
 * (graphs/workloads/workloads.h), else a file (graphs/import/import.h).
 *
 * \param[out] step     What one training step runs; the caller's.
 * \param[out] whole    The graph as the front end made it; the caller's. NULL is fine.
 * \param[out] devices  What a benchmark instance is to be placed on; all 0 for other sources.
 *                      NULL is fine.
 * \retval EMP_EIO  Neither a family nor a file; the message lists the families. Else as
 *                  emp_workload_build(), emp_import_load() and emp_graph_prune(). */
emp_status emp_source_load(emp_graph **step, emp_graph **whole,
                           emp_import_devices *devices, const char *source,
                           emp_error *err);

/** The same; \a notes (NULL is fine) receives what a file is, what was assumed and left out, and all
 * its problems. */
emp_status emp_source_load_noted(emp_graph **step, emp_graph **whole,
                                 emp_import_devices *devices, emp_import_notes *notes,
                                 const char *source, emp_error *err);

#endif /* EMP_GRAPHS_LOAD_H */
