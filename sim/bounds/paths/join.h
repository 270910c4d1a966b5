/** \file sim/bounds/paths/join.h
 * Longer heads on GPUs: of the ops that an op waits for some are too late to be elsewhere,
 * so they are on its GPU and take turns there. docs/bounds.md, lemma 6 (the idea:
 * Papadimitriou and Yannakakis, SIAM J. Comput. 19, 1990).
 */
#ifndef EMP_SIM_BOUNDS_PATHS_JOIN_H
#define EMP_SIM_BOUNDS_PATHS_JOIN_H

#include "sim/bounds/paths/drain.h"
#include "sim/bounds/paths/model.h"
#include "sim/bounds/paths/path.h"

/** Raises the floors of the model, and finds all heads. Does nothing but find heads where rules are
 * not `events`.
 * \param joined  [op] NULL: drains count as far as they are sure. Else these floors are those found so, drains count
 *                as if there were no exceptions, and the model has no floors yet.
 * \param near  How many of those that an op waits for are looked at.
 * O(V near log near + V near^2). \retval EMP_ENOMEM */
emp_status emp_bound_join(emp_bound_model *model, emp_bound_paths *paths,
                          const emp_bound_drains *drains, const emp_bound_floor *joined,
                          int32_t near, emp_error *err);

#endif /* EMP_SIM_BOUNDS_PATHS_JOIN_H */
