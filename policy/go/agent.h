/** \file policy/go/agent.h
 * GO as a policy and its updates. An ask proposes the likeliest placement and K - 1 placements
 * drawn from the network's distributions. A tell is one update: some steps of PPO
 * (reinforce/row_ppo.h) on the drawn ones. The likeliest one was not drawn, and teaches nothing.
 *
 *     R = -sqrt(t), -10 if out of memory                      failure=fixed
 *     R = -sqrt(t / t0) - 3 (memory missing over a device's)  failure=graded
 *
 * t is the step time in s, t0 that of the first placement proposed.
 */
#ifndef EMP_POLICY_GO_AGENT_H
#define EMP_POLICY_GO_AGENT_H

#include "policy/go/coupling.h"
#include "policy/go/options.h"
#include "policy/reinforce/row_ppo.h"
#include "search/method.h"

enum { EMP_GO_METRICS = 6 };

typedef struct {
    emp_go_options    options;
    emp_node_graph   *nodes; /**< owned */
    emp_transferable  features;
    emp_coupling      coupling;
    emp_go_net        net;
    emp_row_ppo       ppo;
    emp_real         *drawn_from;     /**< [position][device] */
    uint8_t          *choice;         /**< [sample][position] */
    float            *gumbel;         /**< [thread][position][device] scratch */
    emp_device_id    *device_of_node; /**< scratch */
    uint64_t          seed;
    int64_t           budget; /**< 0: unknown */
    int32_t           threads, drawn;
    int64_t           update, told;
    double            reference_s; /**< t0; 0: none yet */
    emp_rewards       rewards;
    emp_method_metric metric[EMP_GO_METRICS];
    emp_arrays        arrays;
} emp_go_agent;

/** \a agent is zeroed. \retval EMP_EINVAL  No op has a choice. \retval EMP_ENOMEM */
emp_status emp_go_agent_init(emp_go_agent *agent, const emp_problem *problem,
                             const emp_go_options    *options,
                             const emp_method_params *params, emp_error *err);
void       emp_go_agent_clear(emp_go_agent *agent);

/** Draws that many placements into choice. */
void emp_go_agent_propose(emp_go_agent *agent, int32_t samples);
/** One update from their scores. */
void emp_go_agent_learn(emp_go_agent *agent, const emp_score *scores);

#endif /* EMP_POLICY_GO_AGENT_H */
