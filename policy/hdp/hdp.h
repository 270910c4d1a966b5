/** \file policy/hdp/hdp.h
 * The Hierarchical Planner (Mirhoseini et al., ICLR 2018) as a placer: a grouper gives
 * ops to groups, a placer network gives groups to devices, and REINFORCE trains both on
 * the step times of the placements they propose. README.md says where each constant comes
 * from.
 *
 * One ask proposes a batch: one grouping and k placements of it; one tell is one update.
 * Presets: "paper", our reading of it, and "literal".
 */
#ifndef EMP_POLICY_HDP_HDP_H
#define EMP_POLICY_HDP_HDP_H

#include "base/text/options.h"
#include "policy/features/op_features.h"
#include "policy/hdp/grouper.h"
#include "policy/hdp/guide.h"
#include "policy/reinforce/learner.h"
#include "policy/seq2seq/device_net.h"
#include "search/method.h"

/* Every constant of the hierarchical planner, by name. A preset gives all of them; a text
 * "lr=0.01,groups=64" changes single ones. */

/* Groups that are given once and not learned, to compare the grouper with. */

/** In the order of the option `grouping`; only those that are fixed can be created. */
typedef enum {
    EMP_GROUPING_LEARNED, /**< none of these */
    EMP_GROUPING_RANDOM,  /**< each op uniformly (Table 2 of the paper) */
    EMP_GROUPING_CHUNKS,  /**< equally many ops in the order of the features' numbering */
    EMP_GROUPING_METIS,   /**< search/groups/class_groups.h */
    EMP_GROUPING_SCOTCH,  /**< the same */
    EMP_GROUPING_NAMES,   /**< search/groups/class_groups.h */
    EMP_GROUPING_COLOCATION, /**< the same; of more than are asked for, neighbours are
                                joined */
    EMP_GROUPING_NONE        /**< no groups at all: hdp.h */
} emp_grouping;

/** A group of 0 .. *group_count-1 for each row of \a ops; the caller frees it. The largest
 * of METIS or Scotch has about \a imbalance times the mean load. On a machine of several
 * CPUs, rows that only a CPU can run are no part of the graph that METIS, Scotch and the
 * rules cut: they share the last group. With EMP_GROUPING_COLOCATION \a group_count may be 0 before and is then
 * set to as many as the rules make. Equal seeds give equal groups. \a problem is the problem of \a ops.
 * \param params  Of these the seed, and what stops a cut.
 * \retval EMP_ENOMEM, and as for metis_cut.h and scotch_cut.h */
emp_status emp_fixed_groups_create(int32_t **out, emp_grouping grouping,
                                   const emp_problem *problem, const emp_op_features *ops,
                                   int32_t *group_count, double imbalance,
                                   const emp_method_params *params, emp_error *err);

typedef enum { EMP_OBJECTIVE_TIME, EMP_OBJECTIVE_BALANCE } emp_hdp_objective;
typedef enum { EMP_NOISE_GUMBEL, EMP_NOISE_GAUSSIAN } emp_noise_form;

/** Meaning, range and presets of each: emp_hdp_option_list. */
typedef struct {
    emp_learner_options learner;
    int32_t             groups, grouper_hidden, type_width, hidden, updates_noise, window;
    int32_t             elites;
    emp_heat_rule       heat;
    double temperature, tanh_constant, noise, run_shortest, run_longest, placer_gain,
        imbalance, gradient_bound, imitation, stretches, stretch_longest, grouper_lr;
    bool               ranges, empty_groups, redraw, costs, standardize, aligned;
    emp_noise_form     noise_form;
    emp_absent         absent;
    emp_grouping       grouping;
    emp_group_sequence order;
    emp_hdp_objective  objective;
} emp_hdp_options;

extern const emp_option emp_hdp_option_list[];
/** "paper": the paper as we read it. "literal": without our choices, as far as the paper or
 * the code that its authors released later says what to do instead. */
#define EMP_HDP_PRESETS "paper|literal"

/** Fills \a options from \a preset (NULL = "paper") and then from \a text (NULL =
 * nothing more).
 * \retval EMP_EINVAL  Unknown preset or key, or a value out of range; the message lists
 *                     what would be right. */
emp_status emp_hdp_options_parse(emp_hdp_options *options, const char *preset,
                                 const char *text, emp_error *err);

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
