/** \file bench/compare/comparison_internal.h
 * A comparison in the making, as its files share it.
 */
#ifndef EMP_BENCH_COMPARE_COMPARISON_INTERNAL_H
#define EMP_BENCH_COMPARE_COMPARISON_INTERNAL_H

#include "bench/compare/comparison.h"

typedef struct {
    const emp_comparison_params *params;
    emp_comparison              *c;
    emp_runtime                  runtime;
    emp_task                    *task; /**< [row] */
    emp_job                     *job;  /**< those of a row stand together */
    int32_t                      job_count, jobs_of_row;
    int32_t                     *first_job; /**< [budget][row][entrant] */
} emp_comparison_plan;

/** Runs of a cell: one a seed, or one. */
int32_t emp_comparison_runs_of(const emp_comparison *c, int32_t entrant);

/** What a run counts with within a budget: seconds per step, infinity, NaN if not ready. */
double emp_comparison_value(const emp_comparison_budget *budget, const emp_job *job);

/** Fills in cells, ranks and tests from the runs that are ready (ranking.c).
 * \retval EMP_ENOMEM */
emp_status emp_comparison_fill(emp_comparison_plan *plan, emp_error *err);

/** Fills in `change` of the comparison and `rescored_s` of its cells (rescore.c).
 * \retval EMP_EINTERRUPTED  \a stop was set; nothing is filled in. */
emp_status emp_comparison_rescore(emp_comparison_plan *plan, emp_error *err);

/** Fills in points and curves (quality.c). \retval EMP_ENOMEM */
emp_status emp_comparison_draw_curves(emp_comparison_plan *plan, emp_error *err);

#endif /* EMP_BENCH_COMPARE_COMPARISON_INTERNAL_H */
