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
#include "sim/bounds/paths/model.h"
#include "sim/bounds/paths/path.h"

/* The least time in which devices can share items of work, each divided at will:
 *
 *     min T  s.t.  sum_i sum_k load[i][k][r] y[i][k] <= capacity[r] T   for each resource
 *                  sum_i bytes[i][k] y[i][k] <= memory[k]               for each kind
 *                  sum_k y[i][k] = 1, y >= 0, y[i][k] = 0 where i may not be
 *
 * Its dual has a price for each resource (sum of capacity x price = 1) and a rent for each
 * memory; at any prices
 *
 *     T >= sum_i min_k (sum_r price[r] load[i][k][r] + rent[k] bytes[i][k] / memory[k])
 *          - sum_k rent[k],
 *
 * which takes one walk over the items. Prices are improved by cutting planes (Kelley, J.
 * SIAM 8, 1960): each walk gives a plane above the right side, and the highest point below
 * all planes is a linear program of a few columns. Docs: docs/bounds.md, lemma 2. */

/** Prices of resources, then rents of memories. */
enum { EMP_AREA_PRICES = EMP_BOUND_RESOURCES + EMP_DEVICE_KINDS };

typedef struct {
    uint32_t kinds; /**< EMP_KIND_ mask; 0 = no item */
    double   load[EMP_DEVICE_KINDS][EMP_BOUND_RESOURCES];
    double   memory_frac[EMP_DEVICE_KINDS]; /**< of all memory of the kind */
} emp_area_item;

typedef struct {
    double value; /**< T is no less */
    double price[EMP_BOUND_RESOURCES];
    double rent[EMP_DEVICE_KINDS];
    bool   is_infeasible; /**< nothing fits: memory */
} emp_area;

/** \param capacity  [resource], above 0.
 * \param accuracy  Relative; the search for prices ends when no prices can do better.
 * O(count x planes).
 * \retval EMP_ENOMEM
 * \retval EMP_EEXTERNAL  GLPK gave up. */
emp_status emp_area_solve(emp_area *out, const emp_area_item *item, int32_t count,
                          const double capacity[EMP_BOUND_RESOURCES], double accuracy,
                          emp_error *err);

/** The kind on which the item is cheapest at \a price [EMP_AREA_PRICES], and what it costs there.
 * \return -1, and \a *least as it was: it may be on none. */
int32_t emp_area_cheapest(const emp_area_item *item, const double *price, double *least);

/* Ops and colocation classes as items of work. */

/** An op as an item, with the idle time that its device has after it. */
emp_area_item emp_bound_item_of_op(const emp_bound_model *model, emp_op_id op);

/** Takes from ops the kinds where others of their class may not be, and those none of
 * whose devices has memory for the class. \a item [class]: what its ops are together, of
 * which folded ones are nothing; a class may be where all its ops may.
 * \return false if a class is left without any. O(V). */
bool emp_bound_restrict(emp_bound_model *model, emp_area_item *item);

/** The time of the class that keeps its device busiest (lemma 3). O(classes). */
emp_time_ns emp_bound_longest_class(const emp_bound_model *model,
                                    const emp_area_item   *item);

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

typedef struct {
    int32_t         count; /**< ops */
    emp_inside_work of[EMP_BOUND_RESOURCES];
    double *barred[EMP_DEVICE_KINDS]; /**< 0, or INFINITY: the op may not be there */
    emp_inside_reach (*reach)[EMP_BOUND_RESOURCES]; /**< [block] */
    emp_arrays arrays;
} emp_inside;

/** Ops without work, which may be anywhere. \retval EMP_ENOMEM */
emp_status emp_inside_init(emp_inside *inside, int32_t count, emp_error *err);
void       emp_inside_clear(emp_inside *inside); /**< legal after a failed init */

/** Finds the reach of blocks, once the ops have their work. O(count). */
void emp_inside_find_reach(emp_inside *inside);

/** The work inside a window, as items without memory; ops that have none there are left out.
 * \param item  [count]
 * \return how many items there are. */
int32_t emp_inside_items(const emp_inside *inside, emp_window window,
                         emp_area_item *item);

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
 * \param proof  NULL is allowed. With it \a item has the work inside that window.
 * \param longest_ns  emp_bound_paths_longest().
 * \param item  [op], room for the work inside a window.
 * \param price  Of resources, sum of capacity x price = 1, to look for windows with.
 * \param enough  Windows that reach it need not be improved.
 * O(V windows). \retval EMP_ENOMEM, EMP_EEXTERNAL */
emp_status emp_bound_window(double *best, emp_window_proof *proof,
                            const emp_bound_model *model, const emp_bound_paths *paths,
                            emp_time_ns longest_ns, emp_area_item *item,
                            const double *price, double enough, emp_error *err);

#endif /* EMP_SIM_BOUNDS_INSIDE_H */
