/** \file policy/features/node_graph.h
 * A problem as graph networks see it: nodes that each get one device, and what flows between
 * them.
 *
 * A node is a row (op_features.h), or several rows merged so that there are at most so many nodes
 * (see the end of this file). Ops that are folded, or have no choice of devices, are in no node; data that
 * flow only through them are not seen.
 *
 * The rows of a training step form cycles: a variable's row holds its read, which comes first,
 * and its update, which comes last. A row therefore stands where its first op stands in the
 * graph's topological order. An edge of the graph from one row to another is *forward* if the
 * first row stands before the second. Forward edges form no cycle, and merging closes none.
 * All other edges *return*, as gradients do to their variables. Successors and
 * predecessors follow forward edges. Neighbours follow all edges.
 *
 * Edges of the graph between the same two nodes are one edge here. Its bytes are the sum of
 * the tensors that the second node reads from the first, each tensor once; references count as what
 * a copy of them carries. An edge of only control has 0 bytes.
 *
 * Threads. Immutable after creation.
 */
#ifndef EMP_POLICY_FEATURES_NODE_GRAPH_H
#define EMP_POLICY_FEATURES_NODE_GRAPH_H

#include "base/mem.h"
#include "search/groups/class_groups.h"
#include "sim/problem/problem.h"

/** Edges in compressed rows: node v has first[v] .. first[v + 1] - 1. */
typedef struct {
    int32_t  count;
    int32_t *first; /**< [node + 1] */
    int32_t *node;  /**< [edge] the other end; ascending in a row, each once, never v */
    int64_t *bytes; /**< [edge] */
} emp_node_edges;

typedef struct {
    int32_t        node_count, op_count, device_count;
    int32_t       *node_of_op;               /**< [op]; -1: in no node */
    emp_members    ops;                      /**< of each node, ascending */
    emp_node_edges successors, predecessors; /**< by forward edges; bytes flow forward */
    emp_node_edges neighbors; /**< by all edges; bytes of both directions together */
    int32_t       *order;     /**< [position] nodes in a topological order */
    uint64_t      *devices;   /**< [node] bit d: all its ops may use device d; never 0 */
    double        *time_s; /**< [node][device] sum over its ops, computing alone there */
    int64_t       *output_bytes; /**< [node] tensors that ops outside read, each once */
    int64_t       *persistent_bytes; /**< [node] variables and slots */
    emp_arrays     arrays;           /**< all of these but ops */
} emp_node_graph;

/** Nodes are numbered by their lowest ops; without merging, as the rows of op_features.h are.
 * The caller destroys \a *out.
 * \param max_nodes  At most so many nodes; 0: each row is one.
 * O(V + E log E), times a few rounds if rows are merged.
 * \retval EMP_EINVAL  No op of the problem has a choice of devices. \retval EMP_ENOMEM
 * \retval EMP_EUNSUPPORTED  More nodes are left, as ops that follow each other may use no common device. */
emp_status emp_node_graph_create(emp_node_graph **out, const emp_problem *problem,
                                 int32_t max_nodes, emp_error *err);
/** Likewise, with a node for each group of classes, and one for each row that is in none or may use
 * other devices than its group's first. Such nodes form cycles as rows do: forward edges are those
 * from a node that stands before the other; a node stands where the first of its rows does.
 * \param group_of_class  [class]; -1: in none. */
emp_status emp_node_graph_create_groups(emp_node_graph **out, const emp_problem *problem,
                                        const int32_t *group_of_class, emp_error *err);
void       emp_node_graph_destroy(emp_node_graph *graph);

/** Gives every op of a node the node's device. Other ops keep theirs. O(V). */
void emp_node_graph_spread(const emp_node_graph *graph,
                           const emp_device_id  *device_of_node,
                           emp_device_id        *device_of_op);

#endif /* EMP_POLICY_FEATURES_NODE_GRAPH_H */
