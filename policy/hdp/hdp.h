/** \file policy/hdp/hdp.h
 * The Hierarchical Planner (Mirhoseini et al., ICLR 2018) as a placer: a grouper gives
 * ops to groups, a placer network gives groups to devices, and REINFORCE trains both on
 * the step times of the placements they propose. README.md says where each constant comes
 * from.
 *
 * One ask proposes a batch: one grouping and k placements of it; one tell is one update.
 * Presets: "paper", our reading of it, and "literal"; options: policy/hdp/options.h.
 */
#ifndef EMP_POLICY_HDP_HDP_H
#define EMP_POLICY_HDP_HDP_H

#include "policy/hdp/grouper.h"
#include "policy/hdp/guide.h"
#include "policy/hdp/options.h"
#include "policy/reinforce/learner.h"
#include "policy/seq2seq/device_net.h"
#include "search/method.h"

/* The two networks of the hierarchical planner and one REINFORCE update of them.
 *
 *     grad J = 1/k sum_j (R_j - b) [grad log p(d_j | g) + grad log p(g)]
 *
 * for one grouping g and k placements d_j, R = -sqrt(step time in s), b a moving average
 * of the rewards of placements that ran. Placements are drawn near the policy, not from
 * it (device_net.h), so that grad J is an estimate with a bias. The update uses the very
 * actions that were scored, and the features of that grouping. */

typedef struct {
    emp_learner     learner; /**< first */
    emp_hdp_options options;
    const int32_t  *fixed_groups; /**< [row] borrowed; NULL = the grouper decides */
    emp_grouper     grouper;
    emp_device_net  net;
    int32_t         used;  /**< groups that have members */
    int32_t        *order; /**< [step] group */
    int32_t        *step_of_group;
    double         *group_sums; /**< scratch */
    emp_real       *x;          /**< (used, features) of the last grouping */
    emp_guide       guide;
    int32_t         told;   /**< scores of the last update */
    int32_t        *target; /**< [elite][step] their devices, of groups */
} emp_hdp_agent;

/** Takes \a ops over, even on failure. */
emp_status emp_hdp_agent_init(emp_hdp_agent *agent, emp_op_features *ops,
                              int32_t device_count, const emp_hdp_options *options,
                              uint64_t seed, int32_t threads, emp_error *err);
void       emp_hdp_agent_clear(emp_hdp_agent *agent);

/** Draws a grouping and \a samples placements of it. For tests, both may be given:
 * \a groups [row], \a devices [sample][step], where steps are the used groups in order. */
void emp_hdp_agent_propose(emp_hdp_agent *agent, int32_t samples, const int32_t *groups,
                           const int32_t *devices);

/* The planner without groups, which the paper compares with: one feed-forward network
 * gives each op a device, independently of all others.
 *
 *     grad J = 1/k sum_j (R_j - b) grad log p(d_j)
 *
 * The network is the grouper (grouper.h) with devices for groups and Glorot-uniform
 * weights. Each of the k placements of an update is a draw of its own; as the network is
 * small, the gradient of each one's log-probability is kept until its score is known. */

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

extern const emp_method emp_method_hdp;

#endif /* EMP_POLICY_HDP_HDP_H */
