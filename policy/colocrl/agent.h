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
#include "policy/reinforce/reinforce.h"
#include "policy/seq2seq/device_net.h"
#include "search/placer.h"

enum { EMP_COLOCRL_METRICS = 8 };

typedef struct {
    emp_colocrl_options options;
    emp_op_features    *ops;             /**< owned */
    uint64_t            seed, draw_seed; /**< of weights; of draws, the same unless set */
    int32_t             threads;
    emp_group_embedding groups;
    emp_device_net      net;
    int64_t             update; /**< updates made */
    emp_baseline        baseline;
    int32_t             has_gradient; /**< a sample took part: step() changes something */
    emp_placer_metric   metric[EMP_COLOCRL_METRICS];
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

/** The device of a row in a proposed placement. */
emp_device_id emp_colocrl_agent_device(const emp_colocrl_agent *agent, int32_t sample,
                                       int32_t row);

/** An update. The first half leaves the gradient of a proposal's part of an update that \a count
 * samples make, of which those of the proposal are the \a own from \a first on; the second
 * changes the parameters by it. emp_placer_sharing says more. */
void emp_colocrl_agent_backward(emp_colocrl_agent *agent, const emp_score *scores,
                                int32_t count, int32_t first, int32_t own);
void emp_colocrl_agent_step(emp_colocrl_agent *agent);

/** What the first half leaves for the second, and what the second changes. */
int32_t emp_colocrl_agent_list_gradient(emp_colocrl_agent *agent,
                                        emp_named_array    arrays[EMP_MAX_NAMED_ARRAYS]);
int32_t emp_colocrl_agent_list_values(emp_colocrl_agent *agent,
                                      emp_named_array    arrays[EMP_MAX_NAMED_ARRAYS]);

/** What the next proposals depend on beyond the arguments of emp_colocrl_agent_init();
 * random numbers follow from seed and update. Returns the number of \a arrays. */
int32_t emp_colocrl_agent_list_state(emp_colocrl_agent *agent,
                                     emp_named_array    arrays[EMP_MAX_NAMED_ARRAYS]);

#endif /* EMP_POLICY_COLOCRL_AGENT_H */
