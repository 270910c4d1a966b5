/** \file graphs/import/targets.h
 * What one step of a graph from a file runs: the rules that import.h states.
 */
#ifndef EMP_GRAPHS_IMPORT_TARGETS_H
#define EMP_GRAPHS_IMPORT_TARGETS_H

#include "graphs/import/container.h"
#include "sim/graph/graph.h"

/** Marks the ops of a comma-separated list; "name:port" names the op, too.
 * \retval EMP_EINVAL  One is no op of the graph, or the list is empty. */
emp_status emp_targets_parse(const emp_graph *graph, const char *list, bool *is_target,
                             emp_error *err);

/** Finds them. \a meta is a MetaGraphDef, or its data are NULL. */
emp_status emp_targets_find(const emp_graph *graph, emp_message_file *file,
                            emp_slice meta, bool *is_target, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_TARGETS_H */
