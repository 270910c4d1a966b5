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
 * all planes is a linear program of a few columns. Docs: docs/bounds.md, lemma 2. */
#ifndef EMP_SIM_BOUNDS_AREA_H
#define EMP_SIM_BOUNDS_AREA_H

#include <math.h>

#include "base/mem.h"
#include "sim/bounds/paths/model.h"

/** Prices of resources, then rents of memories. */
enum { EMP_AREA_PRICES = EMP_BOUND_RESOURCES + EMP_DEVICE_KINDS };

typedef struct {
    uint32_t kinds; /**< EMP_KIND_ mask; 0 = no item */
    double   load[EMP_DEVICE_KINDS]
               [EMP_BOUND_RESOURCES];     /**< 0 on resources of other kinds of device */
    double memory_frac[EMP_DEVICE_KINDS]; /**< of all memory of the kind */
} emp_area_item;

/** Items of a block are priced together. */
enum { EMP_AREA_BLOCK = 64 };

/** Items by columns, which are filled up to a whole block with items without load. */
typedef struct {
    int32_t    count;
    double    *load[EMP_BOUND_RESOURCES];     /**< on the kind that has the resource */
    double    *frac[EMP_BOUND_RESOURCES];     /**< room for loads in units of all work */
    double    *memory_frac[EMP_DEVICE_KINDS]; /**< NULL: no item needs memory */
    double    *barred[EMP_DEVICE_KINDS]; /**< 0, or INFINITY: the item may not be there */
    emp_arrays arrays;
} emp_area_table;

/** Items without load, which may be anywhere. \retval EMP_ENOMEM */
emp_status emp_area_table_init(emp_area_table *table, int32_t count, bool has_memory,
                               emp_error *err);
void       emp_area_table_clear(emp_area_table *table); /**< legal after a failed init */

/** Sets an item of a table that has memory. */
void emp_area_table_set(emp_area_table *table, int32_t i, const emp_area_item *item);

/** Sets where an item may be: an EMP_KIND_ mask. */
static inline void emp_area_table_bar(emp_area_table *table, int32_t i, uint32_t kinds)
{
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
        table->barred[k][i] = kinds >> k & 1u ? 0.0 : INFINITY;
}

typedef struct {
    double value; /**< T is no less */
    double price[EMP_BOUND_RESOURCES];
    double rent[EMP_DEVICE_KINDS];
    bool   is_infeasible; /**< nothing fits: memory */
} emp_area;

/** The result has the same bits on every CPU.
 * \param table  Its room is used.
 * \param capacity  [resource], above 0.
 * \param accuracy  Relative; the search for prices ends when no prices can do better, ...
 * \param enough  ... or once the value is above that.
 * O(count x planes). \retval EMP_EEXTERNAL  GLPK gave up. */
emp_status emp_area_solve(emp_area *out, const emp_area_table *table,
                          const double capacity[EMP_BOUND_RESOURCES], double accuracy,
                          double enough, emp_error *err);

/** The kind on which the item is cheapest at \a price [EMP_AREA_PRICES], and what it costs there.
 * \return -1, and \a *least as it was: it may be on none. */
int32_t emp_area_cheapest(const emp_area_item *item, const double *price, double *least);

/* Ops and colocation classes as items of work. */

/** An op as an item, with the idle time that its device has after it. */
emp_area_item emp_bound_item_of_op(const emp_bound_model *model, emp_op_id op);

/** Sets items [class] to the sums of their ops, of which folded ones are nothing. O(V). */
void emp_bound_sum_classes(const emp_bound_model *model, emp_area_item *item);

/** Takes from ops the kinds where others of their class may not be, and those none of
 * whose devices has memory for the class. \a item [class]: as emp_bound_sum_classes() has set them; the kinds are
 * those where all ops of the class may be.
 * \return false if a class is left without any. O(V). */
bool emp_bound_restrict(emp_bound_model *model, emp_area_item *item);

/** The time of the class that keeps its device busiest (lemma 3). O(classes). */
emp_time_ns emp_bound_longest_class(const emp_bound_model *model,
                                    const emp_area_item   *item);

#endif /* EMP_SIM_BOUNDS_AREA_H */
