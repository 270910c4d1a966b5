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
#include "policy/nn/activation.h"
#include "policy/nn/params.h"

typedef struct {
    int32_t        hidden, groups, type_width; /**< 64, 256, 20 */
    emp_activation activation;
} emp_grouper_shape;

typedef struct {
    emp_grouper_shape      shape;
    const emp_op_features *ops; /**< borrowed */
    emp_params             params;
    int32_t               *group_of_row; /**< the grouping drawn last */
    double                 log_prob;     /**< of it, summed over ops */
    double                 entropy;      /**< mean over ops, nats */
    /* Private. */
    emp_real *type_image; /**< [type][hidden] embedding x its part of W_1 */
    emp_real *work; /**< for each chunk of rows: partial gradients, then one block */
    size_t    work_count; /**< reals per chunk */
} emp_grouper;

/** Noise on logits that chooses other actions than the policy would; log-probabilities
 * and gradients stay those of the policy without it. */
typedef struct {
    double scale; /**< standard deviation in units of the logits' RMS; 0 = none */
    double floor; /**< that RMS counts as at least this */
    double reach; /**< steps of a sequence share noise over up to this part of it; 0 =
                     none */
} emp_noise;

/** How to draw: sample k of update t uses the same random numbers on any thread. */
typedef struct {
    uint64_t  seed;
    uint32_t  update;
    emp_noise noise;
    int32_t   threads;
} emp_draw;

emp_status emp_grouper_init(emp_grouper *grouper, const emp_grouper_shape *shape,
                            const emp_op_features *ops, emp_error *err);
void       emp_grouper_clear(emp_grouper *grouper);

/** Glorot-uniform weights (the last layer's times \a output_gain), zero biases. */
void emp_grouper_randomize(emp_grouper *grouper, double output_gain, emp_rng *rng);

/** Draws a grouping, or takes \a given (row_count groups; NULL = draw), and leaves the
 * gradient of its log-probability in the parameters' gradients. Allocates nothing. */
void emp_grouper_run(emp_grouper *grouper, const emp_draw *draw, const int32_t *given);

#endif /* EMP_POLICY_HDP_GROUPER_H */
