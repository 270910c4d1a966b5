/** \file sim/bounds/refute.h
 * The longest time within which a step cannot be done: docs/bounds.md, lemma 5.
 */
#ifndef EMP_SIM_BOUNDS_REFUTE_H
#define EMP_SIM_BOUNDS_REFUTE_H

#include "sim/bounds/paths/model.h"

/** What holds for every placement that takes at most a given time. Fixed cost of the step
 * excluded. */
typedef struct {
    emp_time_ns path_ns, joined_ns, drained_ns, area_ns, class_ns, window_ns;
    bool        is_infeasible;
} emp_bound_facts;

/** The bounds that need no guess; the model loses kinds that memory rules out, and gets
 * floors.
 * \param near  As of emp_bound_join(). */
emp_status emp_bound_facts_find(emp_bound_facts *facts, emp_bound_model *model,
                                int32_t near, emp_error *err);

/** Raises \a least_ns, a bound, as far as times can be refuted: within \a accuracy,
 * relative. O((V + E) log(1 / accuracy)). */
emp_status emp_bound_refute(emp_time_ns *least_ns, const emp_bound_model *model,
                            double accuracy, emp_error *err);

#endif /* EMP_SIM_BOUNDS_REFUTE_H */
