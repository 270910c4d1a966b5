/** \file policy/features/node_merge.h
 * Merges the nodes of a directed acyclic graph until there are few enough, and closes no cycle.
 *
 * With nodes in a topological order, these two may become one:
 *
 *  - a node and the first of its successors, which then stand at the successor's place;
 *  - a node and the last of its predecessors, which then stand at the predecessor's place.
 *
 * A cycle would need another path between the two, and it would have to pass a node that stands
 * between them. Both rules hold where a node has one successor, or one predecessor, alone: those
 * are the rules by which Baechi fuses ops (Jeon et al., SoCC 2020). Nodes without any edge left
 * may join each other.
 *
 * Of the two, a node takes the neighbour with which it exchanges more bytes. A limit on the load
 * of what is merged keeps nodes alike. It begins below the mean load that is wanted, and grows
 * when nothing below it is left to merge. Nodes that may use different devices merge last.
 */
#ifndef EMP_POLICY_FEATURES_NODE_MERGE_H
#define EMP_POLICY_FEATURES_NODE_MERGE_H

#include "policy/features/node_graph.h"

typedef struct {
    int32_t               node_count;
    const emp_node_edges *successors, *predecessors;
    const double         *load;    /**< [node] not negative */
    const uint64_t       *devices; /**< [node] as in emp_node_graph */
} emp_node_merge_input;

/** \param max_nodes  At least 1; at most so many nodes are left, and exactly so many if there
 *                   were more.
 * \param[in,out] position  [node] different numbers in a topological order; of the lowest
 *                          member of each merged node, the merged node's.
 * \param[out] merged       [node] the lowest member of the merged node that it is in.
 * O(V + E) a round; the limit grows O(log max_nodes) times, with a few rounds each.
 * \retval EMP_ENOMEM */
emp_status emp_node_merge(const emp_node_merge_input *input, int32_t max_nodes,
                          int32_t *position, int32_t *merged, emp_error *err);

#endif /* EMP_POLICY_FEATURES_NODE_MERGE_H */
