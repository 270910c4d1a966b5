/** \file search/acyclic/flow_graph.h
 * What an acyclic partitioner sees: a weighted graph (partition_graph.h) that also knows
 * which way data flow along its edges.
 *
 * A vertex stands at its first live op in the graph's topological order, its *position*. An
 * edge flows from u to v if an op of u feeds one of v, by data or control, and u stands
 * before v: flows form no cycle. Data that a vertex gets from one behind it *return*:
 * gradients come back to variables, whose updates share their class. Returning data weigh as
 * much as flowing data, but bind no order. In a graph whose classes are single ops nothing
 * returns.
 *
 * A vertex may be a group of classes, as one that holds forward ops with their gradients.
 */
#ifndef EMP_SEARCH_ACYCLIC_FLOW_GRAPH_H
#define EMP_SEARCH_ACYCLIC_FLOW_GRAPH_H

#include "base/mem.h"
#include "search/partition/partition_graph.h"

typedef struct {
    int32_t    vertex_count;
    int64_t   *load;     /**< [vertex] */
    int32_t   *row;      /**< [vertex + 1] into the arrays below */
    int32_t   *neighbor; /**< ascending in a row; every edge is in two rows */
    int64_t   *traffic;  /**< beside neighbor */
    int8_t    *flow;     /**< likewise: 1 to the neighbour, -1 from it, 0 only returns */
    emp_arrays arrays;   /**< all of these */
} emp_flow_graph;

/** \param group_of_vertex  [vertex of graph] 0 .. group_count-1: what becomes one vertex, all
 * with members; NULL: each is its own.
 * O((V + E) log degree). \retval EMP_ENOMEM */
emp_status emp_flow_graph_create(emp_flow_graph **out, const emp_partition_graph *graph,
                                 const emp_problem *problem,
                                 const int32_t *group_of_vertex, int32_t group_count,
                                 emp_error *err);

/** Clusters become vertices. Loads and traffic add up; edges inside are gone; flow from one
 * cluster to another is flow of any of their edges, which must not go both ways. O(V + E).
 * \param cluster_of_vertex  [vertex] 0 .. cluster_count-1, or -1: left out, with its edges.
 * \retval EMP_ENOMEM */
emp_status emp_flow_graph_contract(emp_flow_graph **out, const emp_flow_graph *fine,
                                   const int32_t *cluster_of_vertex,
                                   int32_t cluster_count, emp_error *err);
void       emp_flow_graph_destroy(emp_flow_graph *graph);

/** Fills order with the vertices in a topological order of flows, first come first served
 * from the lowest, and level [vertex] with the most edges of a path of flows to it.
 * O(V + E). \return false if flows form a cycle. */
bool emp_flow_graph_sort(const emp_flow_graph *graph, int32_t *order, int32_t *level);

/** Load of all vertices. O(V). */
int64_t emp_flow_graph_load(const emp_flow_graph *graph);

/* Vertices of a flow graph in small clusters whose contraction closes no cycle: one step of
 * the coarsening of Herrmann, Ozkaya, Ucar, Kaya and Catalyurek, Multilevel algorithms for
 * acyclic partitioning of directed acyclic graphs (SIAM J. Sci. Comput. 41, 2019), theorem
 * 4.2. With the level of a vertex as the length of the longest path to it, clusters are such
 * that
 * 
 *  - the levels of a cluster's members differ by at most 1;
 *  - no flow leads from a member of a cluster of several to one of another such cluster
 *    exactly one level higher.
 * 
 * A cycle of clusters would climb at least one level per edge, and could fall by one in each
 * cluster of several and in no other; so all its edges would climb just one, between clusters
 * of several, which the second rule forbids. */

/** Looks at the vertices in an order drawn from (\a seed, \a substream); each that is still
 * single joins the neighbour, or its cluster, with which it exchanges most, among those that
 * the rules allow and whose load stays within \a load_limit.
 * \param level  [vertex] of emp_flow_graph_sort().
 * \param[out] cluster_of_vertex  [vertex] 0 .. cluster_count-1
 * O(V + E). \retval EMP_ENOMEM */
emp_status emp_flow_clusters(int32_t *cluster_of_vertex, int32_t *cluster_count,
                             const emp_flow_graph *graph, const int32_t *level,
                             int64_t load_limit, uint64_t seed, uint32_t substream,
                             emp_error *err);

#endif /* EMP_SEARCH_ACYCLIC_FLOW_GRAPH_H */
