/** \file policy/colocrl/group_embedding.h
 * What the placer over co-location groups sees of each group, a row of
 *
 *     type       mean over the group's rows of a learned embedding of their op types
 *     16 values  sums of its rows' output sizes, 0 where there is no such size
 *     groups     1 where the two groups share a tensor
 *
 * with sums n as ln(1 + n). With P (S, types) the share of each type in each group and E
 * (types, width) the embedding, the first part of all rows is P E, and the gradient of E is
 * P' times that of the rows. The rest is fixed.
 *
 * Groups are steps of a sequence, whose order the caller chooses.
 */
#ifndef EMP_POLICY_COLOCRL_GROUP_EMBEDDING_H
#define EMP_POLICY_COLOCRL_GROUP_EMBEDDING_H

#include "base/arrays.h"
#include "policy/features/group_features.h"
#include "policy/nn/params.h"

typedef struct {
    int32_t    steps;  /**< groups that have members */
    int32_t    types;  /**< of ops */
    int32_t    width;  /**< of the embedding */
    int32_t    inputs; /**< width + EMP_ROW_SIZES + steps */
    int32_t   *step_of_row;
    emp_real  *share;  /**< P, (steps, types) */
    emp_real  *x;      /**< (steps, inputs) */
    emp_params params; /**< E */
    emp_arrays arrays; /**< all of these */
} emp_group_embedding;

/** \a group_of_row gives each row of \a ops a group of 0 .. group_count-1; \a seed is for
 * a random order.
 * O(rows + edges + groups^2). \retval EMP_ENOMEM */
emp_status emp_group_embedding_init(emp_group_embedding *e, const emp_op_features *ops,
                                    const int32_t *group_of_row, int32_t group_count,
                                    int32_t width, emp_group_sequence sequence,
                                    uint64_t seed, emp_error *err);
void       emp_group_embedding_clear(emp_group_embedding *e);

/** Brings \a x up to date with the embedding. */
void emp_group_embedding_forward(emp_group_embedding *e, int32_t threads);

/** Sets the embedding's gradient from \a d_x, (steps, width). */
void emp_group_embedding_backward(emp_group_embedding *e, const emp_real *d_x,
                                  int32_t threads);

#endif /* EMP_POLICY_COLOCRL_GROUP_EMBEDDING_H */
