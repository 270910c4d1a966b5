/** \file policy/hsdag/hsdag.h
 * HSDAG, the structure-aware framework of Duan et al. (NeurIPS 2024), as a placer: a network
 * puts nodes of a coarsened graph into groups and groups on devices, and REINFORCE trains both
 * at once. README.md says what of it is known and what was chosen.
 *
 * One ask is an episode of up to 20 steps, one tell an update. Presets: "paper", "emplace";
 * options: policy/hsdag/options.h.
 */
#ifndef EMP_POLICY_HSDAG_HSDAG_H
#define EMP_POLICY_HSDAG_HSDAG_H

#include "search/method.h"

extern const emp_method emp_method_hsdag;

#endif /* EMP_POLICY_HSDAG_HSDAG_H */
