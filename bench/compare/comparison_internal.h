/** \file bench/compare/comparison_internal.h
 * A comparison in the making, as its files share it.
 */
#ifndef EMP_BENCH_COMPARE_COMPARISON_INTERNAL_H
#define EMP_BENCH_COMPARE_COMPARISON_INTERNAL_H

#include "bench/compare/comparison.h"
#include "bench/tables/table.h"

/** Of tests: below it a difference is said to be one. */
#define EMP_COMPARISON_LEVEL 0.05

typedef struct {
    const emp_comparison_params *params;
    emp_comparison              *c;
    emp_runtime                  runtime;
    emp_loaded_task             *task; /**< [row] */
    emp_job                     *job;  /**< those of a row stand together */
    int32_t                      job_count, jobs_of_row;
    int32_t                     *first_job; /**< [budget][row][entrant] */
} emp_comparison_plan;

/** Runs of a cell: one a seed, or one. */
int32_t emp_comparison_runs_of(const emp_comparison *c, int32_t entrant);

/** What a run counts with within a budget: seconds per step, infinity, NaN if not ready. */
double emp_comparison_value(const emp_comparison_budget *budget, const emp_job *job);

/** As in the tables, but "none" for what is infinite: who found nothing may also have said
 * so. \return \a text or static storage */
const char *emp_comparison_number(double value, char text[EMP_SHEET_CELL_BYTES]);

/** Entrants by mean rank, those without one last: [entrant_count] of \a order. */
void emp_comparison_sort(const emp_comparison *c, int32_t budget,
                         int32_t order[EMP_COMPARISON_ENTRANTS]);

/** Of the row's best over its lower bound; NaN = not known. */
double emp_comparison_least_gap(const emp_comparison *c, int32_t budget, int32_t row);

/** A sheet of a budget's cells; to be cleared. */
void emp_comparison_tabulate(emp_sheet *sheet, const emp_comparison *c, int32_t budget);
/** Adds notes on what is shown, and what the methods say that found nothing. */
void emp_comparison_explain(emp_sheet *sheet, const emp_comparison *c);

/** Fills in cells, ranks and tests from the runs that are ready (ranking.c).
 * \retval EMP_ENOMEM */
emp_status emp_comparison_fill(emp_comparison_plan *plan, emp_error *err);

/** Fills in `change` of the comparison and `rescored_s` of its cells (rescore.c).
 * \retval EMP_EINTERRUPTED  \a stop was set; nothing is filled in. */
emp_status emp_comparison_rescore(emp_comparison_plan *plan, emp_error *err);

/** Fills in points and curves (quality.c). \retval EMP_ENOMEM */
emp_status emp_comparison_draw_curves(emp_comparison_plan *plan, emp_error *err);

#endif /* EMP_BENCH_COMPARE_COMPARISON_INTERNAL_H */
