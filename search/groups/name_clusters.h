/** \file search/groups/name_clusters.h
 * Colocation classes in clusters by what TensorFlow's naming says of their ops: layer x
 * direction x block of time steps, the units in which people cut unrolled networks.
 *
 * - Direction: forward; backward, under "gradients"; or weights, a gradient that nothing
 *   but sums, clipping and updates reads.
 * - Layer: the recurrent cell (sim/graph/op.h), or the scope of the forward op.
 * - Step: TensorFlow numbers what is made again: "MatMul", "MatMul_1", ... "MatMul_39" in
 *   a layer. Such a series is a walk through time if it has at least 8 members. The
 *   shortest of a layer has one member a step; one three times as long has three.
 *
 * Ops without a scope of their own under "gradients", such as the sums "gradients/AddN_7",
 * stand with their first input. Variables, their slots and updates are a class, which stands with
 * its first op.
 */
#ifndef EMP_SEARCH_GROUPS_NAME_CLUSTERS_H
#define EMP_SEARCH_GROUPS_NAME_CLUSTERS_H

#include "sim/problem/problem.h"

typedef struct {
    int32_t most;  /**< clusters, at least 1 */
    int32_t block; /**< time steps of a cluster, at least 1 */
} emp_name_cluster_params;

/** Clusters are as fine as \a most allows. Until there is room, scopes are cut to fewer and
 * fewer components, except scopes of cells; then blocks are doubled; then cells are cut, too;
 * in the end clusters beyond the limit share the last. Clusters are numbered by their
 * first class; all have members.
 *
 * \param[out] cluster_of_class  [class]; -1: can only run on a CPU, or has no live op.
 * \param[out] cluster_count
 * O((V + E) x length of a name). \retval EMP_ENOMEM */
emp_status emp_name_clusters(int32_t *cluster_of_class, int32_t *cluster_count,
                             const emp_problem             *problem,
                             const emp_name_cluster_params *params, emp_error *err);

#endif /* EMP_SEARCH_GROUPS_NAME_CLUSTERS_H */
