/** \file policy/hdp/update.h
 * What the options say of an update, shared by the planner with groups and the one
 * without.
 */
#ifndef EMP_POLICY_HDP_UPDATE_H
#define EMP_POLICY_HDP_UPDATE_H

#include "policy/hdp/options.h"
#include "policy/nn/params.h"
#include "policy/reinforce/reinforce.h"

/** How samples are judged. */
emp_reinforce_rules emp_hdp_rules(const emp_hdp_options *options);

/** One step of Adam up the gradient that is held; returns its norm before
 * clipping. */
double emp_hdp_ascend(emp_params *params, const emp_hdp_options *options);

#endif /* EMP_POLICY_HDP_UPDATE_H */
