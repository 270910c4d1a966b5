/** \file sim/bounds/inside.h
 * What lies inside a window of each op's work at least, for many windows at once.
 *
 * A window goes from `before` after the start of a step to `after` before its end. Work that starts no
 * sooner than its head after the start, and ends no later than its tail before the end, sticks out by
 * as much as it may start sooner or end later:
 *
 *     inside = max(0, work - max(0, before - head) - max(0, after - tail))
 *
 * Cores may do an op's work faster than one after the other: all of it is inside, or nothing.
 */
#ifndef EMP_SIM_BOUNDS_INSIDE_H
#define EMP_SIM_BOUNDS_INSIDE_H

#include "base/arrays.h"
#include "sim/bounds/area.h"
#include "sim/bounds/paths/path.h"

typedef struct {
    double before, after; /**< ns */
} emp_window;

/** Of each op that may be somewhere, on one resource; in ns. */
typedef struct {
    double *work, *head, *tail;
} emp_inside_work;

typedef struct {
    int32_t         count; /**< ops */
    emp_inside_work of[EMP_BOUND_RESOURCES];
    double         *bar[EMP_DEVICE_KINDS]; /**< 0, or INFINITY: the op may not be there */
    emp_arrays      arrays;
} emp_inside;

/** O(V). \retval EMP_ENOMEM */
emp_status emp_inside_init(emp_inside *inside, const emp_bound_model *model,
                           const emp_bound_paths *paths, emp_error *err);
void       emp_inside_clear(emp_inside *inside); /**< legal after a failed init */

/** The work inside a window, as items without memory.
 * \param item  [count] */
void emp_inside_items(const emp_inside *inside, emp_window window, emp_area_item *item);

enum { EMP_INSIDE_WINDOWS = 144 }; /**< at most, at once */

/** What the work inside each window costs at these prices, every op where it is cheapest. The same
 * bits on every CPU.
 * \param price  [EMP_BOUND_RESOURCES]
 * \param cost   [count] is set.
 * O(V windows). */
void emp_inside_costs(const emp_inside *inside, const double *price,
                      const emp_window *window, int32_t count, double *cost);

#endif /* EMP_SIM_BOUNDS_INSIDE_H */
