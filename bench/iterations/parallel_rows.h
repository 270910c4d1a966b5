/** \file bench/iterations/parallel_rows.h
 * Measured training steps of models on many GPUs beside what is predicted of them.
 *
 * A row of the table is a configuration: `model`, `gpu`, `gpus`, `seq`, degrees (`tp`, `pp`, `vp`, `ep`, `etp`, `cp`, `dp`),
 * `micro_batch`, `micro_batches` and perhaps `case`, `source`, `layers`, `dtype`, `global_batch`, `recompute`, `schedule`,
 * `zero`, and what was measured: `step_ms`, `peak_allocated_gib`, or predicted by others: `authors_ms`,
 * `authors_allocated_gib`. A degree that has no column is 1.
 */
#ifndef EMP_BENCH_ITERATIONS_PARALLEL_ROWS_H
#define EMP_BENCH_ITERATIONS_PARALLEL_ROWS_H

#include "base/text/csv.h"
#include "parallel/step.h"
#include "run/sheet/sheet.h"

typedef struct {
    const char *name, *source, *model, *gpu, *dtype; /**< borrowed from the table */
    int32_t     layers;                              /**< 0 = the model's */
    int32_t     gpus, global_batch;
    emp_degrees degrees;
    double measured_ms, authors_ms, measured_gib, authors_gib; /**< NaN = not given */
    bool   has_experts;
    emp_parallel_step step;
} emp_parallel_row;

/** Zero-initialise; emp_parallel_rows_clear() releases it, also after a failure. */
typedef struct {
    emp_csv           csv;
    emp_parallel_row *row;
    int32_t           count;
} emp_parallel_rows;

/** Which rows an error is of. */
typedef struct {
    const char *source, *dtype; /**< NULL = all */
    int32_t     experts;        /**< 1: models with experts, 0: without, -1: all */
} emp_parallel_choice;

/** How far predictions are off. */
typedef struct {
    int32_t count;
    double  mean_frac, worst_frac; /**< without signs; NaN = no row */
} emp_parallel_error;

/** Whether a table has rows of this form. */
bool emp_parallel_rows_is(const emp_csv *csv);

/** Reads and predicts all rows; takes the table over. O(rows x layers x micro-batches).
 * \retval EMP_EFORMAT  A field is missing or no number; the message names the file, the row and the column.
 * \retval EMP_EINVAL, EMP_EIO, EMP_EUNSUPPORTED  A row cannot be predicted; the message names it. \retval EMP_ENOMEM */
emp_status emp_parallel_rows_predict(emp_parallel_rows *rows, emp_csv *csv,
                                     bool all_ranks, emp_error *err);

emp_parallel_error emp_parallel_rows_error(const emp_parallel_rows   *rows,
                                           const emp_parallel_choice *of, bool of_memory);

/** A line a row, and the errors below. */
void emp_parallel_rows_tabulate(emp_sheet *sheet, const emp_parallel_rows *rows);

void emp_parallel_rows_clear(emp_parallel_rows *rows);

#endif /* EMP_BENCH_ITERATIONS_PARALLEL_ROWS_H */
