/** \file sim/bounds/area.h
 * The least time in which devices can share items of work, each divided at will:
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
 * all planes is a linear program of a few columns. Docs: docs/bounds.md, lemma 2.
 */
#ifndef EMP_SIM_BOUNDS_AREA_H
#define EMP_SIM_BOUNDS_AREA_H

#include "sim/bounds/paths/model.h"

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

/** Takes from ops the kinds where others of their class may not be, and those none of
 * whose devices has memory for the class. \a item [class]: what its ops are together, of
 * which folded ones are nothing; a class may be where all its ops may.
 * \return false if a class is left without any. O(V). */
bool emp_bound_restrict(emp_bound_model *model, emp_area_item *item);

/** What the class that keeps its device busiest takes (lemma 3). O(classes). */
emp_time_ns emp_bound_longest_class(const emp_bound_model *model,
                                    const emp_area_item   *item);

#endif /* EMP_SIM_BOUNDS_AREA_H */
