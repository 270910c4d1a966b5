/** \file search/partition/bundles.h
 * A partitioner's graph in fewer vertices: those that exchange most are bundled, so that many cuts of a large graph
 * cost little more than one.
 */
#ifndef EMP_SEARCH_PARTITION_BUNDLES_H
#define EMP_SEARCH_PARTITION_BUNDLES_H

#include "search/partition/partition_graph.h"

/** Matches each vertex with the free neighbour that it exchanges most with, and the matched graph again, until there are
 * at most \a most vertices or a round saves few (heavy-edge matching; Karypis and Kumar, SIAM J. Sci. Comput. 20, 1998).
 * Leaves of one hub are matched as well. No bundle of two has more than twice the mean load of \a most vertices, and
 * what can only run on the CPU stays apart. Loads and traffic of a bundle are those of its vertices, and traffic inside it is dropped.
 *
 * \param[out] out  Its vertices are of no class: vertex_of_class and class_of_vertex are NULL.
 * \param[out] bundle_of_vertex  [vertex of \a graph]
 * O((V + E) rounds). \retval EMP_ENOMEM */
emp_status emp_partition_graph_bundle(emp_partition_graph      **out,
                                      const emp_partition_graph *graph, int32_t most,
                                      int32_t *bundle_of_vertex, emp_error *err);

#endif /* EMP_SEARCH_PARTITION_BUNDLES_H */
