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

/** Meaning, range and presets of each: emp_hdp_option_list. */
typedef struct {
    emp_learner_options learner;
    int32_t             groups, grouper_hidden, type_width, hidden, updates_noise, window;
    double temperature, tanh_constant, noise, run_shortest, run_longest, placer_gain,
        imbalance;
    bool               ranges;
    emp_grouping       grouping;
    emp_group_sequence order;
    emp_hdp_objective  objective;
} emp_hdp_options;

extern const emp_option emp_hdp_option_list[];
#define EMP_HDP_PRESETS "paper"

/** Fills \a options from \a preset ("paper", or NULL) and then from
 * \a text (NULL = nothing more).
 * \retval EMP_EINVAL  Unknown preset or key, or a value out of range; the message lists
 *                     what would be right. */
emp_status emp_hdp_options_parse(emp_hdp_options *options, const char *preset,
                                 const char *text, emp_error *err);

#endif /* EMP_POLICY_HDP_OPTIONS_H */
