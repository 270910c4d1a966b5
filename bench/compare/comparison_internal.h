/** \file bench/compare/comparison_internal.h
 * A comparison in the making, as its files share it.
 */
#ifndef EMP_BENCH_COMPARE_COMPARISON_INTERNAL_H
#define EMP_BENCH_COMPARE_COMPARISON_INTERNAL_H

#include "base/rng.h"
#include "bench/compare/comparison.h"
#include "sim/problem/problem.h"

/** Level of tests: below it a difference counts as significant. */
#define EMP_COMPARISON_LEVEL 0.05

typedef struct {
    const emp_comparison_params *params;
    emp_comparison              *c;
    emp_trials                   trials;
    int32_t                      jobs_of_row;
    int32_t *trial; /**< [budget][row][entrant] the cell of `trials` */
} emp_comparison_plan;

/** Runs of a cell: one a seed, or one. */
int32_t emp_comparison_runs_of(const emp_comparison *c, int32_t entrant);

/** The score of a run within a budget: seconds per step, infinity, NaN if not ready. */
double emp_comparison_value(const emp_comparison_budget *budget, const emp_job *job);

/** True if the first scores of the run came after the budget's clock. */
bool emp_comparison_is_late(const emp_comparison_budget *budget, const emp_job *job);

/** As in the tables, but "none" for what is infinite: who found nothing may also have said
 * so. \return \a text or static storage */
const char *emp_comparison_number(double value, char text[EMP_SHEET_CELL_BYTES]);

/** Entrants by mean rank over a set, those without one last: [entrant_count] of \a order. */
void emp_comparison_sort(const emp_comparison *c, int32_t budget, emp_task_set set,
                         int32_t order[EMP_COMPARISON_ENTRANTS]);

/** The set by which lines are sorted: the last in the order of emp_task_set that a row is of. */
emp_task_set emp_comparison_main_set(const emp_comparison *c);

/** The row's best over its lower bound; NaN = not known. */
double emp_comparison_least_gap(const emp_comparison *c, int32_t budget, int32_t row);

/** A sheet of who is how good over the rows of a set within a budget; to be cleared. */
void emp_comparison_rank(emp_sheet *sheet, const emp_comparison *c, int32_t budget,
                         emp_task_set set);
/** A sheet of a budget's cells; to be cleared. */
void emp_comparison_tabulate(emp_sheet *sheet, const emp_comparison *c, int32_t budget);
/** Adds notes on what is shown, and what the methods say that found nothing. */
void emp_comparison_explain(emp_sheet *sheet, const emp_comparison *c);

/** Fills in cells and their ranks from the runs that are ready (summary.c). */
void emp_comparison_fill(emp_comparison_plan *plan);

/** Fills in what holds over rows, from the cells (summary.c). \retval EMP_ENOMEM */
emp_status emp_comparison_sum_up(emp_comparison *c, emp_error *err);

/** Fills in `change` of the comparison and `rescored_s` of its cells (rescore.c).
 * \retval EMP_EINTERRUPTED  \a stop was set; nothing is filled in. */
emp_status emp_comparison_rescore(emp_comparison_plan *plan, emp_error *err);

/** Multiplies the time of every op on a GPU (issue included), of every op on a CPU, and of
 * every link (rate and latency) by a factor of its own, log-uniform in 1 / (1 + \a most_frac)
 * .. 1 + \a most_frac. The runtime's own constants stay, and with them what the rules of
 * other simulators know of links. O(V). \retval EMP_EUNSUPPORTED  As emp_problem_time_routes(). */
emp_status emp_noise_add(emp_problem_variant *variant, double most_frac, emp_rng *rng,
                         emp_error *err);

/** Fills in points and curves (summary.c). \retval EMP_ENOMEM */
emp_status emp_comparison_draw_curves(emp_comparison_plan *plan, emp_error *err);

#endif /* EMP_BENCH_COMPARE_COMPARISON_INTERNAL_H */
