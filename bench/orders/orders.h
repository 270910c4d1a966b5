/** \file bench/orders/orders.h
 * What a decision beside devices is worth: placements of Table 1's tasks, simulated without it, and
 * then with it and the same devices. The decision is an order of ops, or which ops fuse. Beside
 * these stands what as many evaluations give that change devices, and that change both.
 */
#ifndef EMP_BENCH_ORDERS_ORDERS_H
#define EMP_BENCH_ORDERS_ORDERS_H

#include <stdio.h>

#include "bench/tables/table.h"
#include "run/jobs/jobs.h"
#include "run/stats.h"

/** The decision. */
typedef enum { EMP_ORDERS_ORDER, EMP_ORDERS_FUSION, EMP_ORDERS_PARTS } emp_orders_part;

/** What annealing changes, from the same start with the same evaluations. */
typedef enum {
    EMP_ORDERS_ALONE, /**< the decision, and not the devices */
    EMP_ORDERS_DEVICES,
    EMP_ORDERS_BOTH,
    EMP_ORDERS_ARMS
} emp_orders_arm;

/** A placement of a task. Times are seconds; infinite: it does not fit in memory; NaN: there is
 * none. */
typedef struct {
    const emp_task *task;
    const char     *placement; /**< the method that found it */
    double          plain_s;   /**< first come, first served; nothing fused */
    double
        own_s; /**< the order that a list scheduler had in mind; the best of as many random
                        fusions as there are evaluations */
    double      rule_s; /**< bottom levels (search/order.h); everything fused that may */
    emp_summary annealed_s[EMP_ORDERS_ARMS]; /**< over seeds */
} emp_orders_row;

typedef struct {
    emp_orders_part part;
    char            runtime[EMP_RECORD_NAME_BYTES];
    int64_t budget; /**< evaluations of an annealing, and of a search for a placement */
    int32_t seed_count;
    int32_t row_count;
    emp_orders_row *row;
} emp_orders_table;

typedef struct {
    emp_orders_part part;
    const char     *rows;    /**< comma-separated keys of tasks, or NULL for all */
    const char     *methods; /**< comma-separated: they find the placements */
    const char     *runtime; /**< profile name or path; its rules must be `events` */
    int32_t         seed_count;
    int64_t         budget;
    emp_jobs_params jobs;
} emp_orders_params;

/** Makes the placements with seed 1, then anneals from each with every seed.
 * \retval EMP_EINVAL       An unknown task or method; the message lists what there is.
 * \retval EMP_EUNSUPPORTED The rules of the runtime are others.
 * \retval EMP_EINTERRUPTED \a stop was set; the table has what was ready. */
emp_status emp_orders_make(emp_orders_table **out, const emp_orders_params *params,
                           emp_error *err);
void       emp_orders_destroy(emp_orders_table *table);

/** Writes the table. \retval EMP_ENOMEM */
emp_status emp_orders_print(FILE *out, const emp_orders_table *table,
                            emp_sheet_format format, emp_error *err);

#endif /* EMP_BENCH_ORDERS_ORDERS_H */
