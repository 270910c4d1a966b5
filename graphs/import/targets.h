/** \file graphs/import/targets.h
 * What one step of a graph from a file runs.
 */
#ifndef EMP_GRAPHS_IMPORT_TARGETS_H
#define EMP_GRAPHS_IMPORT_TARGETS_H

#include "graphs/import/container.h"
#include "sim/graph/graph.h"

/** Marks the ops of a comma-separated list; "name:port" names the op, too.
 * \retval EMP_EINVAL  One is no op of the graph, or the list is empty. */
emp_status emp_targets_parse(emp_graph *graph, const char *list, emp_error *err);

/** Finds them. \a meta is a MetaGraphDef, or its data are NULL.
 *
 * A step runs the train_op collection of a MetaGraphDef if there is one; else every op that an
 * optimizer or a moving average uses to update a variable, the sinks behind them, and as losses the
 * scalar float sinks outside of "gradients/"; else (inference graphs) every sink that is computed and
 * does not wait for an Assign. */
emp_status emp_targets_find(emp_graph *graph, emp_message_file *file, emp_slice meta,
                            emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_TARGETS_H */
