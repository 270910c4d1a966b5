/** \file policy/hdp/options.h
 * Every constant of the hierarchical planner, by name. A preset gives all of them; a text
 * "lr=0.01,groups=64" changes single ones.
 */
#ifndef EMP_POLICY_HDP_OPTIONS_H
#define EMP_POLICY_HDP_OPTIONS_H

#include "base/text/options.h"
#include "policy/features/op_features.h"
#include "policy/hdp/guide.h"
#include "policy/reinforce/learner.h"
#include "search/method.h"

/* Groups that are given once and not learned, to compare the grouper with. */

/** In the order of the option `grouping`; only those that are fixed can be created. */
typedef enum {
    EMP_GROUPING_LEARNED, /**< none of these */
    EMP_GROUPING_RANDOM,  /**< each op uniformly (Table 2 of the paper) */
    EMP_GROUPING_CHUNKS,  /**< equally many ops in the order of the features' numbering */
    EMP_GROUPING_METIS,   /**< search/groups/class_groups.h */
    EMP_GROUPING_SCOTCH,  /**< the same */
    EMP_GROUPING_NAMES,   /**< search/groups/name_clusters.h */
    EMP_GROUPING_COLOCATION, /**< the same; of more than are asked for, neighbours are
                                joined */
    EMP_GROUPING_NONE        /**< no groups at all: hdp.h */
} emp_grouping;

/** A group of 0 .. *group_count-1 for each row of \a ops; the caller frees it. The largest
 * of METIS or Scotch has about \a imbalance times the mean load. On a machine of several
 * CPUs, rows that only a CPU can run are no part of the graph that METIS, Scotch and the
 * rules cut: they share the last group. With EMP_GROUPING_COLOCATION \a group_count may be 0 before and is then
 * set to as many as the rules make. Equal seeds give equal groups. \a problem is that of \a ops.
 * \param params  Of these the seed, and what stops a cut.
 * \retval EMP_ENOMEM, and those of metis_cut.h and scotch_cut.h */
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
        imbalance, gradient_bound, imitation, stretches, stretch_longest,
        grouper_lr;
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

#endif /* EMP_POLICY_HDP_OPTIONS_H */
