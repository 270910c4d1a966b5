/** \file policy/hdp/hdp.h
 * The Hierarchical Planner (Mirhoseini et al., ICLR 2018) as a placer: a grouper gives
 * ops to groups, a placer network gives groups to devices, and REINFORCE trains both on
 * the step times of the placements they propose. README.md says where each constant comes
 * from.
 *
 * One ask proposes a batch: one grouping and k placements of it; one tell is one update.
 * Presets: "paper", our reading of it, and "literal"; options: policy/hdp/options.h.
 */
#ifndef EMP_POLICY_HDP_HDP_H
#define EMP_POLICY_HDP_HDP_H

#include "search/method.h"

extern const emp_method emp_method_hdp;

#endif /* EMP_POLICY_HDP_HDP_H */
