/** \file bench/studies/mechanisms.h
 * The contribution of each mechanism of the runtime: placements of Table 1's tasks, which are found
 * under the unchanged profile, are simulated again with one mechanism switched.
 */
#ifndef EMP_BENCH_STUDIES_MECHANISMS_H
#define EMP_BENCH_STUDIES_MECHANISMS_H

#include <stdatomic.h>
#include <stdio.h>

#include "bench/tables/paper.h"
#include "bench/trials/trials.h"
#include "run/sheet/sheet.h"

/** The placements, by method: single devices, by hand, partitioners, one random draw. */
enum { EMP_MECHANISM_METHODS = 7 };
extern const char *const emp_mechanism_method[EMP_MECHANISM_METHODS];

typedef struct {
    const char *name; /**< a key of the runtime profile, or what it is about */
    const char *what; /**< is done to it */
} emp_mechanism;

/** The mechanism of that position; NULL past the last one. */
const emp_mechanism *emp_mechanism_at(int32_t index);

typedef struct {
    double  step_s;
    int64_t peak_bytes; /**< of the fullest GPU; of the CPU where no GPU has any */
    bool    fits;
} emp_mechanism_score;

typedef struct {
    const emp_task     *task;
    emp_mechanism_score before[EMP_MECHANISM_METHODS];
    emp_mechanism_score (*after)[EMP_MECHANISM_METHODS]; /**< [mechanism] */
} emp_mechanism_row;

typedef struct {
    char               runtime[EMP_RECORD_NAME_BYTES]; /**< name of the profile */
    int32_t            row_count, mechanism_count;
    emp_mechanism_row *row; /**< in the order of the paper */
} emp_mechanism_table;

typedef struct {
    const char       *rows;    /**< comma-separated keys of tasks, or NULL for all */
    const char       *runtime; /**< profile name or path */
    uint64_t          seed;    /**< of the methods that draw */
    int32_t           threads;
    const atomic_int *stop; /**< OPTIONAL: set to give up */
    /** OPTIONAL. Share of the work done, 0..1. One call at a time. */
    void (*on_progress)(void *context, double done_frac);
    void *context;
} emp_mechanism_params;

/** Places every task by every method and simulates each placement once per mechanism.
 * \retval EMP_EINVAL       An unknown task; the message lists what there is.
 * \retval EMP_EINTERRUPTED \a stop was set. */
emp_status emp_mechanism_table_make(emp_mechanism_table       **out,
                                    const emp_mechanism_params *params, emp_error *err);
void       emp_mechanism_table_destroy(emp_mechanism_table *table);

/** Writes, for people, a table per task: changes of step time in percent; where the memory that
 * the fullest GPU needs changes by 1 % or more, that too; and verdicts that turn. For programs, a
 * line per task, method and mechanism. \retval EMP_ENOMEM */
emp_status emp_mechanism_table_print(FILE *out, const emp_mechanism_table *table,
                                     emp_sheet_format format, emp_error *err);

/* The worth of a decision beside devices: placements of Table 1's tasks are simulated without the
 * decision, and then with it and the same devices. The decision is an order of ops, or which ops
 * fuse. For comparison, annealing changes the devices, or both, with as many evaluations. */

/** The decision. */
typedef enum { EMP_ORDERS_ORDER, EMP_ORDERS_FUSION, EMP_ORDERS_PARTS } emp_orders_part;

/** Finds placements of each task by the methods that `arms` of the parameters lists, with seed 1,
 * anneals from each with every seed, and makes the table; clear it also after a failure. Seeds, budget
 * and arms must be given.
 * \retval EMP_EINVAL       An unknown task or method; the message lists what there is.
 * \retval EMP_EUNSUPPORTED The runtime does not have event rules.
 * \retval EMP_EINTERRUPTED \a stop was set; the table has what was ready. */
emp_status emp_orders_make(emp_sheet *sheet, emp_orders_part part,
                           const emp_trials_params *params, emp_error *err);

#endif /* EMP_BENCH_STUDIES_MECHANISMS_H */
