/** \file policy/colocrl/colocrl.h
 * ColocRL (Mirhoseini et al., ICML 2017) as a placer: rules put ops into groups
 * (search/groups/colocation_groups.h), a sequence network gives groups to devices, and
 * REINFORCE trains it on the step times of the placements it proposes. README.md says what
 * of it is known and what was chosen.
 *
 * One ask proposes K placements; one tell is one update. Preset: "paper".
 */
#ifndef EMP_POLICY_COLOCRL_COLOCRL_H
#define EMP_POLICY_COLOCRL_COLOCRL_H

#include "base/mem.h"
#include "base/text/options.h"
#include "policy/features/op_features.h"
#include "policy/nn/params.h"
#include "policy/reinforce/learner.h"
#include "policy/seq2seq/device_net.h"
#include "search/groups/class_groups.h"
#include "search/method.h"

/* The policy over co-location groups and one REINFORCE update of it:
 *
 *     grad J = 1/K sum_j (R_j - b) grad log p(d_j)
 *
 * for K placements d_j of the groups, R = -sqrt(step time in s), b a moving average of the
 * rewards of placements that ran. A change that raises J lowers E[sqrt(step time)], as the paper
 * has it. Placements are drawn near the policy, not from it (device_net.h), so that grad J
 * is an estimate with a bias. */

/* The features of a group for the placer over co-location groups, a row of
 *
 *     type       mean over the group's rows of a learned embedding of their op types
 *     16 values  sums of its rows' output sizes, 0 where there is no such size
 *     groups     1 where the two groups share a tensor
 *
 * with sums n as ln(1 + n). With P (S, types) the share of each type in each group and E
 * (types, width) the embedding, the first part of all rows is P E, and the gradient of E is
 * P' times the rows' gradient. The rest is fixed.
 *
 * Groups are steps of a sequence, whose order the caller chooses. */

typedef struct {
    int32_t    steps;  /**< groups that have members */
    int32_t    types;  /**< of ops */
    int32_t    width;  /**< of the embedding */
    int32_t    inputs; /**< width + EMP_ROW_SIZES + steps */
    int32_t   *step_of_row;
    emp_real  *share;  /**< P, (steps, types) */
    emp_real  *x;      /**< (steps, inputs) */
    emp_params params; /**< E */
    emp_arrays arrays; /**< all of these */
} emp_group_embedding;

/* Every constant by name; README.md gives the source of each value. */

/** Meaning, range and preset of each: the table in colocrl.c. */
typedef struct {
    emp_learner_options learner;
    int32_t             max_groups, type_width, hidden;
    double             temperature, tanh_constant, run_shortest, run_longest, placer_gain;
    emp_group_sequence order;
    emp_class_grouping groups; /**< COLOCRL: by the rules that are on */
    int32_t            count;  /**< groups at most, unless rules make them */
    bool               gradients, readers, layers; /**< rules 1 to 3 */
} emp_colocrl_options;

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

extern const emp_method emp_method_colocrl;

#endif /* EMP_POLICY_COLOCRL_COLOCRL_H */
