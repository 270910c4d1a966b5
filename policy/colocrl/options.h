/** \file policy/colocrl/options.h
 * Every constant of the placer over co-location groups, by name; a text
 * "lr=0.01,samples=8" changes single ones. README.md says where each value comes from.
 */
#ifndef EMP_POLICY_COLOCRL_OPTIONS_H
#define EMP_POLICY_COLOCRL_OPTIONS_H

#include "base/text/options.h"
#include "policy/features/group_features.h"
#include "policy/reinforce/learner.h"
#include "search/groups/class_groups.h"

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

#endif /* EMP_POLICY_COLOCRL_OPTIONS_H */
