/** \file policy/hdp/group_planner.h
 * The planner with groups, in stages.
 *
 * Without starts (preset paper) the agent plans from the first evaluation to the last. With
 * starts, the agent begins anew for each of them, with fresh weights and a grouping of its
 * own, as much depends on the groups; the best placement of a start is refined (refine.h) for a
 * while, and then that of all starts to the end. A start in which nothing fits in memory is not
 * refined; if nothing has fit in any, the last start goes on until something does.
 */
#ifndef EMP_POLICY_HDP_GROUP_PLANNER_H
#define EMP_POLICY_HDP_GROUP_PLANNER_H

#include "policy/hdp/agent.h"
#include "policy/hdp/refine.h"

enum {
    EMP_HDP_MAX_STARTS = 8,
    EMP_GROUP_PLANNER_METRICS = EMP_HDP_METRICS + 5 /* with starts */
};

/** What a checkpoint keeps of it, beside arrays. */
typedef struct {
    int64_t stage; /**< number of the start, or that of starts: the last refinement */
    int64_t is_refining;
    int64_t asked; /**< samples since the last change of these two */
} emp_group_planner_at;

typedef struct {
    emp_hdp_agent        agent; /**< first: tests look at it */
    emp_hdp_options      options;
    int32_t             *groups[EMP_HDP_MAX_STARTS]; /**< [start][row]; NULL = learned */
    emp_refine           refine;                     /**< if there are starts */
    emp_group_planner_at at;
    int32_t              asked; /**< samples of the last ask */
    emp_elites           best;  /**< the best of all starts: devices of rows */
    emp_elites           best_of_start;
    int32_t             *device_of_row; /**< scratch */
    uint64_t             groups_hash;   /**< of all groupings */
    int64_t              saved_hash;    /**< the same, or that of a restored state */
    emp_placer_metric    metric[EMP_GROUP_PLANNER_METRICS];
} emp_group_planner;

/** Takes \a ops, the features of \a problem, over, even on failure. \a options have been
 * parsed (options.h), and have a grouping.
 * \retval EMP_ENOMEM, EMP_EINVAL, and those of fixed_groups.h */
emp_status emp_group_planner_init(emp_group_planner *planner, const emp_problem *problem,
                                  emp_op_features *ops, const emp_hdp_options *options,
                                  const emp_placer_params *params, emp_error *err);
void       emp_group_planner_clear(
          emp_group_planner *planner); /**< legal after a failed init */

/** Draws \a samples placements.
 * \retval EMP_EFORMAT  A restored state is damaged, or of other groups. */
emp_status emp_group_planner_propose(emp_group_planner *planner, int32_t samples,
                                     emp_error *err);

/** The device of a row in a proposed placement, until the next update. */
emp_device_id emp_group_planner_device(const emp_group_planner *planner, int32_t sample,
                                       int32_t row);

/** The two halves of an update, as emp_hdp_agent_backward() and emp_hdp_agent_step(). With
 * starts or elites, which ranks do not share, count = own and first = 0. */
void emp_group_planner_backward(emp_group_planner *planner, const emp_score *scores,
                                int32_t count, int32_t first, int32_t own);
void emp_group_planner_step(emp_group_planner *planner);

/** Metrics of the last update; sets \a *count. */
const emp_placer_metric *emp_group_planner_metrics(const emp_group_planner *planner,
                                                   int32_t                 *count);

/** As emp_hdp_agent_list_state(). */
int32_t emp_group_planner_list_state(emp_group_planner *planner,
                                     emp_named_array    arrays[EMP_MAX_NAMED_ARRAYS]);

#endif /* EMP_POLICY_HDP_GROUP_PLANNER_H */
