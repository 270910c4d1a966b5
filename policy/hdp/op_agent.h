/** \file policy/hdp/op_agent.h
 * The planner without groups, which the paper compares with: one feed-forward network
 * gives each op a device, independently of all others.
 *
 *     grad J = 1/k sum_j (R_j - b) grad log p(d_j)
 *
 * The network is the grouper (grouper.h) with devices for groups and Glorot-uniform
 * weights. Each of the k placements of an update is a draw of its own; as the network is
 * small, the gradient of each one's log-probability is kept until its score is known.
 */
#ifndef EMP_POLICY_HDP_OP_AGENT_H
#define EMP_POLICY_HDP_OP_AGENT_H

#include "policy/hdp/grouper.h"
#include "policy/hdp/options.h"
#include "policy/reinforce/learner.h"

typedef struct {
    emp_learner learner;  /**< first */
    emp_grouper net;      /**< groups are devices */
    int32_t    *device;   /**< [sample][row] */
    emp_real   *gradient; /**< [sample][parameter] of log p */
    double      log_prob[EMP_MAX_BATCH];
    double      entropy; /**< mean over ops, nats */
} emp_op_agent;

/** Takes \a ops over, even on failure. */
emp_status emp_op_agent_init(emp_op_agent *agent, emp_op_features *ops,
                             int32_t device_count, const emp_hdp_options *options,
                             uint64_t seed, int32_t threads, emp_error *err);
void       emp_op_agent_clear(emp_op_agent *agent); /**< legal after a failed init */

/** Draws \a samples placements, at most as many as the option says; allocates nothing. */
void emp_op_agent_propose(emp_op_agent *agent, int32_t samples);

#endif /* EMP_POLICY_HDP_OP_AGENT_H */
