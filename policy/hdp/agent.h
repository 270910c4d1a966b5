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
#include "policy/reinforce/reinforce.h"
#include "policy/seq2seq/device_net.h"
#include "search/placer.h"

enum { EMP_HDP_METRICS = 10 };

typedef struct {
    emp_hdp_options   options;
    emp_op_features  *ops;          /**< owned */
    const int32_t    *fixed_groups; /**< [row] borrowed; NULL = the grouper decides */
    uint64_t          seed;         /**< of the first weights */
    uint64_t          draw_seed; /**< of groupings and placements; the same unless set */
    int32_t           threads;
    emp_grouper       grouper;
    emp_device_net    net;
    int64_t           update; /**< updates made */
    emp_baseline      baseline;
    int32_t           used;  /**< groups that have members */
    int32_t          *order; /**< [step] group */
    int32_t          *step_of_group;
    double           *group_sums;   /**< scratch */
    emp_real         *x;            /**< (used, features) of the last grouping */
    int32_t           has_gradient; /**< a sample took part: step() changes something */
    emp_placer_metric metric[EMP_HDP_METRICS];
} emp_hdp_agent;

/** Takes \a ops over, even on failure. */
emp_status emp_hdp_agent_init(emp_hdp_agent *agent, emp_op_features *ops,
                              int32_t device_count, const emp_hdp_options *options,
                              uint64_t seed, int32_t threads, emp_error *err);
void       emp_hdp_agent_clear(emp_hdp_agent *agent);

/** Draws a grouping and \a samples placements of it. For tests, both may be given:
 * \a groups [row], \a devices [sample][step], where steps are the used groups in order.
 */
void emp_hdp_agent_propose(emp_hdp_agent *agent, int32_t samples, const int32_t *groups,
                           const int32_t *devices);

/** The device of a row in a proposed placement, until the next update. */
emp_device_id emp_hdp_agent_device(const emp_hdp_agent *agent, int32_t sample,
                                   int32_t row);

/** The two halves of an update of \a count samples of which the last proposal has those
 * from \a first to \a first + \a own - 1; emp_placer_sharing says more. */
void emp_hdp_agent_backward(emp_hdp_agent *agent, const emp_score *scores, int32_t count,
                            int32_t first, int32_t own);
void emp_hdp_agent_step(emp_hdp_agent *agent);

/** What the first half leaves for the second, and what the second changes. */
int32_t emp_hdp_agent_list_gradient(emp_hdp_agent  *agent,
                                    emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);
int32_t emp_hdp_agent_list_values(emp_hdp_agent  *agent,
                                  emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);

/** What the next proposals depend on beyond the arguments of emp_hdp_agent_init(); random
 * numbers follow from seed and update. Returns the number of \a arrays. */
int32_t emp_hdp_agent_list_state(emp_hdp_agent  *agent,
                                 emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);

#endif /* EMP_POLICY_HDP_AGENT_H */
