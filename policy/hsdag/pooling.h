/** \file policy/hsdag/pooling.h
 * How the parsing network puts nodes into groups: each joins the neighbour that it shares the
 * best edge with, so that groups are the components of those edges; and the graph of the
 * groups.
 */
#ifndef EMP_POLICY_HSDAG_POOLING_H
#define EMP_POLICY_HSDAG_POOLING_H

#include "base/arrays.h"
#include "policy/nn/real.h"

/** An undirected graph without loops or parallel edges; each edge is there from both ends.
 * Neighbours of node v are node[first[v]] .. node[first[v + 1] - 1], ascending. */
typedef struct {
    int32_t   node_count, edge_count;
    int32_t  *first;   /**< [node + 1] */
    int32_t  *node;    /**< [edge] */
    uint64_t *devices; /**< [node] bit d: it may use device d; never 0 */
} emp_hsdag_graph;

/** Adds the arrays of a graph with so many nodes and edges at most. */
void emp_hsdag_graph_allocate(emp_hsdag_graph *graph, int32_t max_nodes,
                              int32_t max_edges, emp_arrays *arrays);

/** The edge of greatest \a score [edge] of a node, of equals the first; -1: it has none. */
int32_t emp_hsdag_best_edge(const emp_hsdag_graph *graph, const emp_real *score,
                            int32_t node);

/** Joins every node with the other end of its best edge, in order of nodes, unless no device
 * is allowed to both groups. Groups are numbered by their lowest nodes.
 * \param[out] group_of_node  [node]
 * \param      allowed        [node] scratch
 * \return the number of groups. */
int32_t emp_hsdag_join(int32_t *group_of_node, uint64_t *allowed,
                       const emp_hsdag_graph *graph, const emp_real *score);

/** Scratch of emp_hsdag_contract(). */
typedef struct {
    int32_t *member; /**< [node] */
    int32_t *begin;  /**< [node + 1] */
    int32_t *seen;   /**< [node] */
    int32_t *other;  /**< [edge] */
} emp_hsdag_scratch;

void emp_hsdag_scratch_allocate(emp_hsdag_scratch *scratch, int32_t max_nodes,
                                int32_t max_edges, emp_arrays *arrays);

/** The graph of \a group_count groups, numbered from 0 without a gap: two are neighbours if
 * nodes of theirs are. O(nodes + edges). */
void emp_hsdag_contract(emp_hsdag_graph *groups, int32_t group_count,
                        const emp_hsdag_graph *graph, const int32_t *group_of_node,
                        const emp_hsdag_scratch *scratch);

#endif /* EMP_POLICY_HSDAG_POOLING_H */
