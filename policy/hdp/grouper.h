/** \file policy/hdp/grouper.h
 * The grouper: a feed-forward network that gives every op a group.
 *
 *     hidden = f([embedding of type, 36 values] W_1 + b_1)
 *     p = softmax(hidden W_2 + b_2)
 *
 * All ops are sampled independently. With one grouping per update (m = 1) the REINFORCE
 * gradient is a number, the mean advantage, times the gradient of log p(grouping), which
 * does not depend on the rewards: sampling computes it on the way, block by block of
 * rows, and the (ops x groups) logits are never all in memory.
 */
#ifndef EMP_POLICY_HDP_GROUPER_H
#define EMP_POLICY_HDP_GROUPER_H

#include "policy/features/op_features.h"
#include "policy/nn/categorical.h"
#include "policy/nn/linear.h"
#include "policy/nn/params.h"
#include "policy/nn/products.h"

typedef struct {
    int32_t        hidden, groups, type_width; /**< 64, 256, 20 */
    emp_activation activation;
} emp_grouper_shape;

typedef struct {
    emp_grouper_shape      shape;
    const emp_op_features *ops; /**< borrowed */
    double noise; /**< deviation of normal numbers that a run adds to the logits, over the
                     root mean square of all of them; 0 unless set */
    emp_params params;
    int32_t   *group_of_row; /**< the grouping drawn last */
    double     log_prob;     /**< of it, summed over ops */
    double     entropy;      /**< mean over ops, nats */
    /* Private. */
    emp_real  *type_image; /**< [type][hidden] embedding x its part of W_1, + b_1 */
    emp_panels value, out, out_t; /**< W_1 of the values, W_2 and its transpose */
    emp_real  *work; /**< for each chunk of rows: partial gradients, then one block */
    size_t     work_count; /**< reals per chunk */
} emp_grouper;

emp_status emp_grouper_init(emp_grouper *grouper, const emp_grouper_shape *shape,
                            const emp_op_features *ops, emp_error *err);
void       emp_grouper_clear(emp_grouper *grouper);

/** Glorot-uniform weights, zero biases. */
void emp_grouper_randomize(emp_grouper *grouper, emp_rng *rng);

/** Starts with equally full groups that are ranges of z, the mean of an op's 12 positions
 * (standardized). Hidden unit j is f(slope (z - q_j)) with q_j the (j + 1/2) / hidden
 * quantile of z; the logit of group g is -gain / 2 times the squared distance of the
 * hidden units to an op's at its quantile, apart from what all groups share.
 * Sizes and types get no weight, embeddings are Glorot-uniform.
 * O(V log V + hidden groups). \retval EMP_ENOMEM
 * \retval EMP_EINVAL  The features have no positions (a window of 0). */
emp_status emp_grouper_start_ranges(emp_grouper *grouper, double slope, double gain,
                                    emp_rng *rng, emp_error *err);

/** Draws a grouping, or takes \a given (row_count groups; NULL = draw), and leaves the
 * gradient of its log-probability in the parameters' gradients. Probabilities follow from
 * the noisy logits, and gradients take the noise for a constant. Allocates nothing. */
void emp_grouper_run(emp_grouper *grouper, const emp_draw *draw, const int32_t *given);

#endif /* EMP_POLICY_HDP_GROUPER_H */
