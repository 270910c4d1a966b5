/** \file policy/features/group_features.h
 * What the placer network sees of a grouping: one row for each group that has members.
 *
 *     types      how many of the group's ops have each type
 *     16 values  sums of its ops' output sizes
 *     groups     1 where the two groups share a tensor
 *
 * Counts and sums n become ln(1 + n) (raw in the paper, which is silent on scale).
 *
 * Groups without members are left out by default: no reward depends on their device. Groups are
 * by default in the order of their ops' mean position, so that neighbours in the sequence are
 * neighbours in the graph; columns of the adjacency keep the groups' own numbers.
 */
#ifndef EMP_POLICY_FEATURES_GROUP_FEATURES_H
#define EMP_POLICY_FEATURES_GROUP_FEATURES_H

#include <stdbool.h>

#include "policy/features/op_features.h"

/** In which order groups are given to the placer network. */
typedef enum {
    EMP_ORDER_POSITION, /**< by the mean position of their ops */
    EMP_ORDER_NUMBER,
    EMP_ORDER_RANDOM, /**< one for each seed */
    EMP_ORDER_REVERSE /**< by mean position, the last first */
} emp_group_sequence;
#define EMP_GROUP_SEQUENCE_WORDS "position|number|random|reverse"

/** Numbers per group. */
int32_t emp_group_feature_count(const emp_op_features *ops, int32_t group_count);

/** Writes the groups that have members, or with \a has_empty all, into \a order, as \a
 * sequence says (ties by number); returns how many. Those without members have no position
 * and come last by it. \a seed is for a random sequence. \a sum is scratch for
 * 2 x group_count values. O(rows + groups^2). */
int32_t emp_group_order(int32_t *order, const emp_op_features *ops,
                        const int32_t *group_of_row, int32_t group_count,
                        emp_group_sequence sequence, bool has_empty, uint64_t seed,
                        double *sum);

/** Fills \a x, a row of features for each of the first \a used groups of \a order.
 * \a step_of_group is scratch for group_count entries. O(rows + edges + size of x). */
void emp_group_features(emp_real *x, const emp_op_features *ops,
                        const int32_t *group_of_row, int32_t group_count,
                        const int32_t *order, int32_t used, int32_t *step_of_group);

#endif /* EMP_POLICY_FEATURES_GROUP_FEATURES_H */
