/** \file policy/hdp/fixed_groups.h
 * Groups that are given once and not learned, to compare the grouper with.
 */
#ifndef EMP_POLICY_HDP_FIXED_GROUPS_H
#define EMP_POLICY_HDP_FIXED_GROUPS_H

#include "policy/features/op_features.h"
#include "search/method.h"

/** In the order of the option `grouping`; only those that are fixed can be created. */
typedef enum {
    EMP_GROUPING_LEARNED, /**< none of these */
    EMP_GROUPING_RANDOM,  /**< each op uniformly (Table 2 of the paper) */
    EMP_GROUPING_CHUNKS,  /**< equally many ops in the order of the features' numbering */
    EMP_GROUPING_METIS,   /**< search/groups/class_groups.h */
    EMP_GROUPING_SCOTCH,  /**< the same */
    EMP_GROUPING_NAMES,   /**< search/groups/name_clusters.h */
    EMP_GROUPING_COLOCATION, /**< the same; of more than are asked for, neighbours are
                                joined */
    EMP_GROUPING_NONE        /**< no groups at all: op_agent.h */
} emp_grouping;

/** A group of 0 .. group_count-1 for each row of \a ops; the caller frees it. The largest
 * of METIS or Scotch has about \a imbalance times the mean load. On a machine of several
 * CPUs, rows that only a CPU can run are no part of the graph that METIS, Scotch and the
 * rules cut: they share group_count-1. Equal seeds give equal groups. \a problem is that of \a ops.
 * \param params  Of these the seed, and what stops a cut.
 * \retval EMP_ENOMEM, and those of metis_cut.h and scotch_cut.h */
emp_status emp_fixed_groups_create(int32_t **out, emp_grouping grouping,
                                   const emp_problem *problem, const emp_op_features *ops,
                                   int32_t group_count, double imbalance,
                                   const emp_method_params *params, emp_error *err);

#endif /* EMP_POLICY_HDP_FIXED_GROUPS_H */
