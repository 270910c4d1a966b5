/** \file graphs/import/graph_def.h
 * From the nodes of a GraphDef to an emp_graph_builder.
 */
#ifndef EMP_GRAPHS_IMPORT_GRAPH_DEF_H
#define EMP_GRAPHS_IMPORT_GRAPH_DEF_H

#include "graphs/import/import.h"
#include "graphs/import/proto/message.h"
#include "sim/graph/graph_builder.h"

/** Reads all nodes, then all edges. Functions stand in place of the ops that call them
 * (graphs/import/frames.h).
 * \retval EMP_EUNSUPPORTED  A call that cannot be inlined; the message names it.
 * \retval EMP_EFORMAT  The message names the node, and the input if it is one's fault. */
emp_status emp_graph_def_read(emp_graph_builder *builder, emp_message_file *file,
                              emp_slice graph, const emp_import_params *params,
                              emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_GRAPH_DEF_H */
