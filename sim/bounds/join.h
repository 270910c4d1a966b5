/** \file sim/bounds/join.h
 * Longer heads on GPUs: ops that are too far away to be elsewhere do one after the other
 * what they need. docs/bounds.md, lemma 6.
 */
#ifndef EMP_SIM_BOUNDS_JOIN_H
#define EMP_SIM_BOUNDS_JOIN_H

#include "sim/bounds/path.h"

/** Sets floors of heads, and all heads. Only for rules `events`. O(V x neighbours).
 * \retval EMP_ENOMEM */
emp_status emp_bound_join(emp_bound_paths *paths, const emp_bound_model *model,
                          emp_error *err);

#endif /* EMP_SIM_BOUNDS_JOIN_H */
