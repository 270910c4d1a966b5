/** \file policy/colocrl/colocrl.h
 * ColocRL (Mirhoseini et al., ICML 2017) as a placer: rules put ops into groups
 * (search/groups/colocation_groups.h), a sequence network gives groups to devices, and
 * REINFORCE trains it on the step times of the placements it proposes. README.md says what
 * of it is known and what was chosen.
 *
 * One ask proposes K placements; one tell is one update. Preset: "paper"; options:
 * policy/colocrl/options.h.
 */
#ifndef EMP_POLICY_COLOCRL_COLOCRL_H
#define EMP_POLICY_COLOCRL_COLOCRL_H

#include "search/method.h"

extern const emp_method emp_method_colocrl;

#endif /* EMP_POLICY_COLOCRL_COLOCRL_H */
