/** \file policy/colocrl/options.h
 * Every constant of the placer over co-location groups, by name; a text
 * "lr=0.01,samples=8" changes single ones. README.md says where each value comes from.
 */
#ifndef EMP_POLICY_COLOCRL_OPTIONS_H
#define EMP_POLICY_COLOCRL_OPTIONS_H

#include "base/options.h"
#include "policy/features/group_features.h"

/** Meaning, range and preset of each: emp_colocrl_option_list. */
typedef struct {
    int32_t max_groups, type_width, hidden, samples, updates_failures;
    double  temperature, tanh_constant, lr, beta1, beta2, epsilon, clip, failure,
        baseline_decay, run_shortest, run_longest, placer_gain, entropy;
    bool               baseline_first;
    emp_group_sequence order;
} emp_colocrl_options;

extern const emp_option emp_colocrl_option_list[];

#endif /* EMP_POLICY_COLOCRL_OPTIONS_H */
