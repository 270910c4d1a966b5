/** \file graphs/import/traces/where.h
 * Where the ops of a step ran; their names say it (graphs/import/traces/step_graph.h).
 */
#ifndef EMP_GRAPHS_IMPORT_TRACES_WHERE_H
#define EMP_GRAPHS_IMPORT_TRACES_WHERE_H

#include "sim/graph/graph.h"

/** Whether the graph is a step of a trace: it has a piece of a thread. O(ops) */
bool emp_trace_is_graph(const emp_graph *graph);

/** Fills \a gpu_of_op [op]: -1 for pieces of threads. For what ran on GPUs it is the number of the
 * GPU or, with \a is_by_stream, of the stream, counted from 0 in the order of the ops. O(V).
 * \retval EMP_ENOMEM */
emp_status emp_trace_where(int32_t *gpu_of_op, const emp_graph *graph, bool is_by_stream,
                           emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_TRACES_WHERE_H */
