/** \file policy/dyna/dyna.h
 * A learner with a model: between two batches of evaluations it imagines walks over placements by the
 * surrogate (sim/surrogate/surrogate.h), from which its network (proposer.h) learns which moves shorten a step, as
 * Dyna does (Sutton, 1990). README.md has the algorithm and what each part is worth.
 */
#ifndef EMP_POLICY_DYNA_DYNA_H
#define EMP_POLICY_DYNA_DYNA_H

#include "search/method.h"

extern const emp_method emp_method_dyna;

#endif /* EMP_POLICY_DYNA_DYNA_H */
