/** \file sim/bounds/window.h
 * Work that lies behind what must come before it and before what must come after it:
 * docs/bounds.md, lemma 4 (Fernandez and Bussell, IEEE Trans. Computers C-22, 1973).
 */
#ifndef EMP_SIM_BOUNDS_WINDOW_H
#define EMP_SIM_BOUNDS_WINDOW_H

#include "sim/bounds/area.h"
#include "sim/bounds/paths/path.h"

/** The highest bound over sampled windows.
 * \param item  [op], room for the work inside a window.
 * \param price  Of resources, sum of capacity x price = 1, to look for windows with.
 * \param enough  Windows that reach it need not be improved.
 * O(V windows). \retval EMP_ENOMEM, EMP_EEXTERNAL */
emp_status emp_bound_window(double *best, const emp_bound_model *model,
                            const emp_bound_paths *paths, emp_area_item *item,
                            const double *price, double enough, emp_error *err);

#endif /* EMP_SIM_BOUNDS_WINDOW_H */
