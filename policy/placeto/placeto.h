/** \file policy/placeto/placeto.h
 * Placeto (Addanki, Venkatakrishnan, Gupta, Mao, Alizadeh; NeurIPS 2019) as a method: a graph
 * network moves one group of ops at a time, sees when ops ran after each move, and learns from how
 * much shorter the step became. README.md says what of it is known and what was chosen.
 *
 * One ask proposes the next state of each rollout of an episode, so an episode of N groups takes N
 * asks, and then there is one update. Presets: "paper", "emplace".
 */
#ifndef EMP_POLICY_PLACETO_PLACETO_H
#define EMP_POLICY_PLACETO_PLACETO_H

#include "search/method.h"

extern const emp_method emp_method_placeto;

#endif /* EMP_POLICY_PLACETO_PLACETO_H */
