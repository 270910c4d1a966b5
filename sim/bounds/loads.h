/** \file sim/bounds/loads.h
 * Ops and colocation classes as items of work.
 */
#ifndef EMP_SIM_BOUNDS_LOADS_H
#define EMP_SIM_BOUNDS_LOADS_H

#include "sim/bounds/area.h"

/** Takes from ops the kinds where others of their class may not be, and those none of
 * whose devices has memory for the class. \a item [class]: what its ops are together, of
 * which folded ones are nothing; a class may be where all its ops may.
 * \return false if a class is left without any. O(V). */
bool emp_bound_restrict(emp_bound_model *model, emp_area_item *item);

/** What the class that keeps its device busiest takes (lemma 3). O(classes). */
emp_time_ns emp_bound_longest_class(const emp_bound_model *model,
                                    const emp_area_item   *item);

#endif /* EMP_SIM_BOUNDS_LOADS_H */
