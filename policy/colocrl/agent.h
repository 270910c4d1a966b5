/** \file policy/colocrl/agent.h
 * The policy over co-location groups and one REINFORCE update of it:
 *
 *     grad J = 1/K sum_j (R_j - b) grad log p(d_j)
 *
 * for K placements d_j of the groups, R = -sqrt(step time in s), b a moving average of the
 * rewards of placements that ran. What raises J lowers E[sqrt(step time)], as the paper
 * has it. Placements are drawn near the policy, not from it (device_net.h), so that grad J
 * is an estimate with a bias.
 */
#ifndef EMP_POLICY_COLOCRL_AGENT_H
#define EMP_POLICY_COLOCRL_AGENT_H

#include "policy/colocrl/group_embedding.h"
#include "policy/colocrl/options.h"
#include "policy/reinforce/learner.h"
#include "policy/seq2seq/device_net.h"

typedef struct {
    emp_learner         learner; /**< first */
    emp_colocrl_options options;
    emp_group_embedding groups;
    emp_device_net      net;
} emp_colocrl_agent;

/** Takes \a ops over, even on failure. \a group_of_row gives each of its rows a group of
 * 0 .. group_count-1. \retval EMP_EINVAL  More groups than the options allow. */
emp_status emp_colocrl_agent_init(emp_colocrl_agent *agent, emp_op_features *ops,
                                  const int32_t *group_of_row, int32_t group_count,
                                  int32_t                    device_count,
                                  const emp_colocrl_options *options, uint64_t seed,
                                  int32_t threads, emp_error *err);
void       emp_colocrl_agent_clear(emp_colocrl_agent *agent);

/** Draws \a samples placements; for tests, \a devices [sample][step] gives them. */
void emp_colocrl_agent_propose(emp_colocrl_agent *agent, int32_t samples,
                               const int32_t *devices);

#endif /* EMP_POLICY_COLOCRL_AGENT_H */
