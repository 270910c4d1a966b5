/** \file bench/iterations/iterations.h
 * Measured iterations beside what is predicted of them, and how far off that is.
 *
 *     EMP_TRY(emp_iterations_parse(&iterations, bytes, size, path, err));
 *     EMP_TRY(emp_iterations_predict(results, &iterations, &sources, err));
 *     emp_iterations_tabulate(&sheet, &iterations, results);
 */
#ifndef EMP_BENCH_ITERATIONS_ITERATIONS_H
#define EMP_BENCH_ITERATIONS_ITERATIONS_H

#include "bench/iterations/layers_plan.h"
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

#endif /* EMP_BENCH_ITERATIONS_ITERATIONS_H */
