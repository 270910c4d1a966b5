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
#include "policy/reinforce/reinforce.h"
#include "search/placer.h"

enum { EMP_OP_AGENT_METRICS = 6 };

typedef struct {
    emp_hdp_options        options;
    const emp_op_features *ops;              /**< borrowed */
    uint64_t               draw_seed;        /**< of placements; the seed unless set */
    int32_t                threads, samples; /**< drawn last */
    emp_grouper            net;              /**< groups are devices */
    int64_t                update;           /**< updates made */
    emp_baseline           baseline;
    int32_t               *device;   /**< [sample][row] */
    emp_real              *gradient; /**< [sample][parameter] of log p */
    double                 log_prob[EMP_MAX_BATCH];
    double                 entropy; /**< mean over ops, nats */
    int32_t           has_gradient; /**< a sample took part: step() changes something */
    emp_placer_metric metric[EMP_OP_AGENT_METRICS];
} emp_op_agent;

/** \a ops is borrowed and must outlive \a agent. */
emp_status emp_op_agent_init(emp_op_agent *agent, const emp_op_features *ops,
                             int32_t device_count, const emp_hdp_options *options,
                             uint64_t seed, int32_t threads, emp_error *err);
void       emp_op_agent_clear(emp_op_agent *agent); /**< legal after a failed init */

/** Draws \a samples placements, at most as many as the option says; allocates nothing. */
void emp_op_agent_propose(emp_op_agent *agent, int32_t samples);

/** The device of a row in a proposed placement. */
emp_device_id emp_op_agent_device(const emp_op_agent *agent, int32_t sample, int32_t row);

/** The two halves of an update, as emp_hdp_agent_backward() and emp_hdp_agent_step(). */
void emp_op_agent_backward(emp_op_agent *agent, const emp_score *scores, int32_t count,
                           int32_t first, int32_t own);
void emp_op_agent_step(emp_op_agent *agent);

/** What the first half leaves for the second, and what the second changes. */
int32_t emp_op_agent_list_gradient(emp_op_agent   *agent,
                                   emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);
int32_t emp_op_agent_list_values(emp_op_agent   *agent,
                                 emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);

/** As emp_hdp_agent_list_state(). */
int32_t emp_op_agent_list_state(emp_op_agent   *agent,
                                emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);

#endif /* EMP_POLICY_HDP_OP_AGENT_H */
