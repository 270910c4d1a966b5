/** \file policy/hdp/agent.h
 * The two networks of the hierarchical planner and one REINFORCE update of them.
 *
 *     grad J = 1/k sum_j (R_j - b) [grad log p(d_j | g) + grad log p(g)]
 *
 * for one grouping g and k placements d_j, R = -sqrt(step time in s), b a moving average
 * of the rewards of placements that ran. Placements are drawn near the policy, not from
 * it (device_net.h), so that grad J is an estimate with a bias. The update uses the very
 * actions that were scored, and the features of that grouping.
 */
#ifndef EMP_POLICY_HDP_AGENT_H
#define EMP_POLICY_HDP_AGENT_H

#include "policy/hdp/grouper.h"
#include "policy/hdp/options.h"
#include "policy/reinforce/learner.h"
#include "policy/seq2seq/device_net.h"

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
} emp_hdp_agent;

/** Takes \a ops over, even on failure. */
emp_status emp_hdp_agent_init(emp_hdp_agent *agent, emp_op_features *ops,
                              int32_t device_count, const emp_hdp_options *options,
                              uint64_t seed, int32_t threads, emp_error *err);
void       emp_hdp_agent_clear(emp_hdp_agent *agent);

/** From now on ops are in \a groups [row], borrowed, and the grouper does not learn. */
void emp_hdp_agent_fix_groups(emp_hdp_agent *agent, const int32_t *groups);

/** Draws a grouping and \a samples placements of it. For tests, both may be given:
 * \a groups [row], \a devices [sample][step], where steps are the used groups in order.
 */
void emp_hdp_agent_propose(emp_hdp_agent *agent, int32_t samples, const int32_t *groups,
                           const int32_t *devices);

#endif /* EMP_POLICY_HDP_AGENT_H */
