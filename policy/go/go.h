/** \file policy/go/go.h
 * GO (Zhou et al., NeurIPS 2020; as GDP, 2019) as a placement method: a graph network and an
 * attention network give all ops their devices at once, and PPO trains both. README.md says what of
 * it is known and what was chosen.
 *
 * One ask proposes K placements; one tell is one update. Presets: "paper" and "emplace".
 */
#ifndef EMP_POLICY_GO_GO_H
#define EMP_POLICY_GO_GO_H

#include "search/method.h"

extern const emp_method emp_method_go;

#endif /* EMP_POLICY_GO_GO_H */
