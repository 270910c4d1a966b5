/** \file search/acyclic/flow_clusters.h
 * Vertices of a flow graph in small clusters whose contraction closes no cycle: one step of
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
 * of several, which the second rule forbids.
 */
#ifndef EMP_SEARCH_ACYCLIC_FLOW_CLUSTERS_H
#define EMP_SEARCH_ACYCLIC_FLOW_CLUSTERS_H

#include "search/acyclic/flow_graph.h"

/** Looks at the vertices in an order drawn from (\a seed, \a substream); each that is still
 * alone joins the neighbour, or its cluster, with which it exchanges most, among those that
 * the rules allow and whose load stays within \a load_limit.
 * \param level  [vertex] of emp_flow_graph_sort().
 * \param[out] cluster_of_vertex  [vertex] 0 .. cluster_count-1
 * O(V + E). \retval EMP_ENOMEM */
emp_status emp_flow_clusters(int32_t *cluster_of_vertex, int32_t *cluster_count,
                             const emp_flow_graph *graph, const int32_t *level,
                             int64_t load_limit, uint64_t seed, uint32_t substream,
                             emp_error *err);

#endif /* EMP_SEARCH_ACYCLIC_FLOW_CLUSTERS_H */
