/** \file sim/bounds/loads.h
 * Ops and colocation classes as items of work.
 */
#ifndef EMP_SIM_BOUNDS_LOADS_H
#define EMP_SIM_BOUNDS_LOADS_H

#include "sim/bounds/area.h"

/** [class]: what its ops are together; nothing of folded ones. A class may be where all
 * its ops may. O(V). */
void emp_bound_items_of_classes(const emp_bound_model *model, emp_area_item *item);

/** Takes from ops the kinds where others of their class may not be, and those none of
 * whose devices has memory for the class. \a item: of the classes, brought up to date.
 * \return false if a class is left without any. O(V). */
bool emp_bound_restrict(emp_bound_model *model, emp_area_item *item);

/** What the class that keeps its device busiest takes (lemma 3). O(classes). */
emp_time_ns emp_bound_longest_class(const emp_bound_model *model,
                                    const emp_area_item   *item);

#endif /* EMP_SIM_BOUNDS_LOADS_H */
