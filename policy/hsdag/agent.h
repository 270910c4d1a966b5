/** \file policy/hsdag/agent.h
 * Episodes of HSDAG, and an update.
 *
 * An episode has a step for each placement of an ask. The numbers of the sets begin as
 * inputs.h has them; after each step every set adds the code of the group it was put into:
 *
 *     x_0 = inputs;    x_{t+1} = x_t + c_group(x_t)
 *
 * Scores have no part in that, so that an episode is drawn at once. It is drawn anew, with the
 * same random numbers, when its gradient is taken; none flows from one step to the one before.
 *
 * update=episode: each step weighs sum_i discount^i r_{n-1-i}, r = 1 / s.
 * update=step: step t weighs (R_t - b) / n, R_t = -sqrt(s / s_ref), b a moving average of mean
 * rewards (policy/reinforce), s_ref the time of all nodes one after another, each where it runs
 * fastest.
 */
#ifndef EMP_POLICY_HSDAG_AGENT_H
#define EMP_POLICY_HSDAG_AGENT_H

#include "policy/hsdag/options.h"
#include "policy/hsdag/parsing_net.h"

typedef struct {
    emp_learner            learner; /**< first */
    emp_hsdag_options      options;
    emp_node_graph        *nodes;
    emp_hsdag_coarse       coarse;
    emp_hsdag_inputs_table inputs;
    emp_hsdag_net          net;
    double                 reference_s;     /**< s_ref */
    emp_real              *x;               /**< [set][inputs.width] */
    int32_t               *device;          /**< [sample][set] */
    int32_t               *device_of_group; /**< [set] scratch */
    double log_prob[EMP_MAX_BATCH], entropy[EMP_MAX_BATCH], groups[EMP_MAX_BATCH];
} emp_hsdag_agent;

/** \retval EMP_EINVAL  No op of the problem has a choice of devices. \retval EMP_ENOMEM */
emp_status emp_hsdag_agent_init(emp_hsdag_agent *agent, const emp_problem *problem,
                                const emp_hsdag_options *options, uint64_t seed,
                                int32_t threads, emp_error *err);
void emp_hsdag_agent_clear(emp_hsdag_agent *agent); /**< legal after a failed init */

#endif /* EMP_POLICY_HSDAG_AGENT_H */
