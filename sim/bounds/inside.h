/** \file sim/bounds/inside.h
 * How much of each op's work lies inside a window at least, for many windows at once.
 *
 * A window goes from `before` after the start of a step to `after` before its end. The work of an op
 * begins at least `head` after the start, and ends at least `tail` before the end. So at most
 * before - head of it comes before the window, and at most after - tail after it:
 *
 *     inside = max(0, work - max(0, before - head) - max(0, after - tail))
 *
 * Several cores may share an op's work. So it counts wholly on them, or not at all.
 */
#ifndef EMP_SIM_BOUNDS_INSIDE_H
#define EMP_SIM_BOUNDS_INSIDE_H

#include "base/mem.h"
#include "sim/bounds/area.h"
#include "sim/bounds/paths/path.h"

typedef struct {
    double before, after; /**< ns */
} emp_window;

/** [op] the work of all ops that may be somewhere, on one resource; in ns. */
typedef struct {
    double *work, *head, *tail;
} emp_inside_work;

/** The windows that have work of a block of ops inside are among those that begin before and end after these times. */
typedef struct {
    double before, after;
} emp_inside_reach;

/** Windows that begin and end no later than these times have all work of a block of ops inside. */
typedef struct {
    double before, after;
} emp_inside_core;

typedef struct {
    int32_t         count; /**< ops */
    emp_inside_work of[EMP_BOUND_RESOURCES];
    double *barred[EMP_DEVICE_KINDS]; /**< 0, or INFINITY: the op may not be there */
    emp_inside_reach (*reach)[EMP_BOUND_RESOURCES]; /**< [block] */
    emp_inside_core *core;                          /**< [block] */
    emp_arrays       arrays;
} emp_inside;

/** Ops without work, which may be anywhere. \retval EMP_ENOMEM */
emp_status emp_inside_init(emp_inside *inside, int32_t count, emp_error *err);
void       emp_inside_clear(emp_inside *inside); /**< legal after a failed init */

/** Finds the reach and the core of blocks, once the ops have their work. O(count). */
void emp_inside_find_reach(emp_inside *inside);

/** Sets the items of a table without memory, which has room for all ops, to their work inside a window; blocks of ops
 * that have none there are left out. */
void emp_inside_items(const emp_inside *inside, emp_window window, emp_area_table *table);

/** The most windows of one call. */
enum { EMP_INSIDE_WINDOWS = 144 };

/** The cost of the work inside each window at these prices, every op where it is cheapest. The result
 * has the same bits on every CPU.
 * \param price  [EMP_BOUND_RESOURCES]
 * \param cost   [count] is set.
 * O(V windows). */
void emp_inside_costs(const emp_inside *inside, const double *price,
                      const emp_window *window, int32_t count, double *cost);

/* Work that lies behind what must come before it and before what must come after it:
 * docs/bounds.md, lemma 4 (Fernandez and Bussell, IEEE Trans. Computers C-22, 1973). */

/** A window, and the prices at which the work inside it proves most. */
typedef struct {
    double     value; /**< the bound */
    emp_window window;
    double     price[EMP_BOUND_RESOURCES];
} emp_window_proof;

/** The highest bound over sampled windows.
 * \param proof  NULL is allowed. With it \a item [op] has the work inside that window, of ops that may be somewhere.
 * \param longest_ns  emp_bound_paths_longest().
 * \param price  Of resources, sum of capacity x price = 1, to look for windows with.
 * \param enough  Windows that reach it need not be improved.
 * O(V windows). \retval EMP_ENOMEM, EMP_EEXTERNAL */
emp_status emp_bound_window(double *best, emp_window_proof *proof, emp_area_item *item,
                            const emp_bound_model *model, const emp_bound_paths *paths,
                            emp_time_ns longest_ns, const double *price, double enough,
                            emp_error *err);

#endif /* EMP_SIM_BOUNDS_INSIDE_H */
