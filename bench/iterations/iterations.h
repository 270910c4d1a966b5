/** \file bench/iterations/iterations.h
 * Measured iterations beside what is predicted of them, and how far off that is.
 *
 *     EMP_TRY(emp_iterations_parse(&iterations, bytes, size, path, err));
 *     EMP_TRY(emp_iterations_predict(results, &iterations, &sources, err));
 *     emp_iterations_tabulate(&sheet, &iterations, results);
 */
#ifndef EMP_BENCH_ITERATIONS_ITERATIONS_H
#define EMP_BENCH_ITERATIONS_ITERATIONS_H

#include "base/text/csv.h"
#include "bench/iterations/plan.h"
#include "parallel/step.h"
#include "run/sheet/sheet.h"

/** The inputs of predictions: layers and network, or hosts. Borrowed. */
typedef struct {
    const emp_layer_table *layers;  /**< of rows with devices */
    const emp_network     *network; /**< likewise */
    const emp_hosts       *hosts;   /**< of transformers */
    emp_engine             engine;  /**< of rows with devices */
} emp_iteration_sources;

typedef struct {
    double step_s;
    double peak_bytes; /**< NaN = nothing is known */
} emp_iteration_result;

/** How far predictions are off. */
typedef struct {
    int32_t count;
    double  mean_frac; /**< of the errors without their signs; NaN = none */
} emp_iteration_error;

/** Pairs of rows that are alternatives: of one cluster, model and global batch. */
typedef struct {
    int32_t count,
        right; /**< right: predicted in the order in which they were measured */
} emp_iteration_pairs;

/** Predicts all rows. \param[out] result  [count]. Rows that are predicted do not depend on others.
 * \retval EMP_EINVAL, EMP_EUNSUPPORTED  The message names the row. \retval EMP_ENOMEM */
emp_status emp_iterations_predict(emp_iteration_result        *result,
                                  const emp_iterations        *iterations,
                                  const emp_iteration_sources *sources, emp_error *err);

/** The errors of a cluster (NULL: of all) of times, or else of peaks; of the formula that the table
 * has, or else of the predictions. */
emp_iteration_error emp_iterations_error(const emp_iterations       *iterations,
                                         const emp_iteration_result *result,
                                         const char *cluster, bool are_times,
                                         bool is_formula);

/** Counts pairs of rows whose measured times differ. O(rows squared). */
emp_iteration_pairs emp_iterations_count_pairs(const emp_iterations       *iterations,
                                               const emp_iteration_result *result,
                                               bool                        is_formula);

/** Fills a sheet, a line a row, with the errors below. */
void emp_iterations_tabulate(emp_sheet *sheet, const emp_iterations *iterations,
                             const emp_iteration_result *result);

/* parallel_rows.c: measured training steps of models on many GPUs beside what is predicted of them.
 *
 * A row of the table is a configuration: `model`, `gpu`, `gpus`, `seq`, degrees (`tp`, `pp`, `vp`, `ep`, `etp`, `cp`, `dp`),
 * `micro_batch`, `micro_batches` and perhaps `case`, `source`, `layers`, `dtype`, `global_batch`, `recompute`, `schedule`,
 * `zero`, and what was measured: `step_ms`, `peak_allocated_gib`, or predicted by others: `authors_ms`,
 * `authors_allocated_gib`. A degree that has no column is 1. */

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

#endif /* EMP_BENCH_ITERATIONS_ITERATIONS_H */
