/** \file policy/hdp/options.h
 * Every constant of the hierarchical planner, by name. A preset gives all of them; a text
 * "lr=0.01,groups=64" changes single ones.
 */
#ifndef EMP_POLICY_HDP_OPTIONS_H
#define EMP_POLICY_HDP_OPTIONS_H

#include "base/text/options.h"
#include "policy/features/group_features.h"
#include "policy/hdp/fixed_groups.h"
#include "policy/reinforce/learner.h"

typedef enum { EMP_OBJECTIVE_TIME, EMP_OBJECTIVE_BALANCE } emp_hdp_objective;
typedef enum { EMP_NOISE_GUMBEL, EMP_NOISE_GAUSSIAN } emp_noise_form;

/** Meaning, range and presets of each: emp_hdp_option_list. */
typedef struct {
    emp_learner_options learner;
    int32_t             groups, grouper_hidden, type_width, hidden, updates_noise, window;
    double temperature, tanh_constant, noise, run_shortest, run_longest, placer_gain,
        imbalance;
    bool               ranges, empty_groups, redraw;
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
