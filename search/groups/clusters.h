/** \file search/groups/clusters.h
 * Colocation classes in groups that exchange much, on two levels: each coarse group
 * consists of fine ones. METIS cuts the graph that partitioners see twice, into many groups
 * and into few; where a border of the few runs through one of the many, that becomes two.
 */
#ifndef EMP_SEARCH_GROUPS_CLUSTERS_H
#define EMP_SEARCH_GROUPS_CLUSTERS_H

#include <stdatomic.h>

#include "sim/problem/problem.h"

typedef struct {
    int32_t  fine_count, coarse_count; /**< groups that have members */
    int32_t  class_count;
    int32_t *fine_of_class;  /**< [class]; -1: can only run on a CPU, or has no live op */
    int32_t *coarse_of_fine; /**< [fine] */
} emp_clusters;

/** At most \a coarse groups, and about \a fine; the largest has about \a imbalance times
 * the mean load. \a stop is as in metis_cut.h. The caller destroys \a *out. O(V log V + E).
 * \retval EMP_ENOMEM, and those of metis_cut.h */
emp_status emp_clusters_create(emp_clusters **out, const emp_problem *problem,
                               int32_t fine, int32_t coarse, double imbalance,
                               uint64_t seed, const atomic_int *stop, emp_error *err);
void       emp_clusters_destroy(emp_clusters *clusters);

#endif /* EMP_SEARCH_GROUPS_CLUSTERS_H */
