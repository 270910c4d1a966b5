/** \file policy/hdp/fixed_groups.h
 * Groups that are given once and not learned, to compare the grouper with.
 */
#ifndef EMP_POLICY_HDP_FIXED_GROUPS_H
#define EMP_POLICY_HDP_FIXED_GROUPS_H

#include "policy/features/op_features.h"

/** In the order of the option `grouping`. */
typedef enum {
    EMP_GROUPING_LEARNED, /**< none of these */
    EMP_GROUPING_RANDOM,  /**< each op uniformly (Table 2 of the paper) */
    EMP_GROUPING_CHUNKS,  /**< equally many ops in the order of the features' numbering */
    EMP_GROUPING_METIS    /**< sim/partition/clusters.h */
} emp_grouping;

/** A group of 0 .. group_count-1 for each row of \a ops; the caller frees it. Equal seeds
 * give equal groups. \a problem is that of \a ops. */
emp_status emp_fixed_groups_create(int32_t **out, emp_grouping grouping,
                                   const emp_problem *problem, const emp_op_features *ops,
                                   int32_t group_count, uint64_t seed, emp_error *err);

#endif /* EMP_POLICY_HDP_FIXED_GROUPS_H */
