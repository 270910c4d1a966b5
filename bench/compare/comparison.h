/** \file bench/compare/comparison.h
 * All placement methods on the same tasks with equal budgets: who is how good, how sure that
 * is, and whether it would be so with somewhat other costs.
 *
 *     emp_comparison_params params = emp_comparison_params_default();
 *     EMP_TRY(emp_comparison_make(&comparison, &params, err));
 *     EMP_TRY(emp_comparison_print(stdout, comparison, EMP_SHEET_TEXT, err));
 *
 * Rows are workloads on machines, entrants are methods (with each of their presets), and a
 * cell is an entrant on a row within a budget: one run a seed (run/jobs.h), on record
 * in a folder, so that a comparison that was killed goes on.
 *
 * Rules, the same for all:
 * - A budget is a number of placements that the oracle scores, or seconds of one thread; with the
 *   latter results depend on the host. Methods that stop by themselves (partitioners, list
 *   schedulers, hand rules) propose once whatever the budget is, and their runs are shared
 *   by all budgets. Those that draw nothing run once and stand for every seed.
 * - A run counts with the best placement that the oracle says fits in memory. One that finds
 *   none, whose method says that there is none, or which takes a tenth more than a budget in
 *   seconds, counts as infinitely slow.
 * - Tests are paired by seed with the row's best method, the one of lowest median; over all
 *   rows, pairs are (row, seed), of logarithms of step times, with the method of lowest mean
 *   rank. Holm's correction is over the other methods. The best is known from the same runs,
 *   so that the tests are somewhat too ready to tell it from the others; and 5 seeds are too
 *   few for p < 0.05 on one row (the least p is 2 / 2^5).
 * - Sensitivity re-scores the placements that were found, under costs that were changed; no
 *   search is run again.
 */
#ifndef EMP_BENCH_COMPARE_COMPARISON_H
#define EMP_BENCH_COMPARE_COMPARISON_H

#include <stdio.h>

#include "base/arrays.h"
#include "bench/compare/statistics.h"
#include "bench/tables/table.h"
#include "run/jobs.h"

enum {
    EMP_COMPARISON_BUDGETS = 8, /**< at most, as for the next two */
    EMP_COMPARISON_ENTRANTS = 64,
    EMP_COMPARISON_POINTS = 32, /**< of a curve */
    EMP_COMPARISON_NAME_BYTES = 32
};

/** A method, with a preset if it has any. */
typedef struct {
    char
        key[EMP_COMPARISON_NAME_BYTES]; /**< "hdp" its first preset, "hdp-NAME" another */
    const emp_method *method;
    char              preset[EMP_COMPARISON_NAME_BYTES]; /**< "" = none */
    bool              is_budgeted;                       /**< else it stops by itself */
    bool              is_drawn; /**< else every seed gives the same run */
} emp_entrant;

/** One of the two is 0. */
typedef struct {
    int64_t evaluations;
    double  seconds;
} emp_comparison_budget;

/** What placements are re-scored under. */
typedef enum {
    EMP_SCORED_NOISE, /**< each cost of the row's own runtime times a factor, drawn anew for
                             each draw */
    EMP_SCORED_IDEAL,   /**< the runtime profile of that name */
    EMP_SCORED_PLACETO, /**< likewise */
    EMP_SCORED_KINDS
} emp_scored;

/** "noise", "ideal", "placeto"; static storage. */
const char *emp_scored_name(emp_scored kind);

typedef struct {
    const emp_task *row; /**< the choice of rows */
    int32_t         row_count;
    const char     *rows;    /**< comma-separated keys, or NULL for all */
    const char     *methods; /**< comma-separated keys of entrants, or NULL for all */
    const char     *runtime; /**< profile name or path */
    int32_t         seed_count;
    int32_t         budget_count;
    emp_comparison_budget budget[EMP_COMPARISON_BUDGETS];
    int32_t               draws; /**< of noise; 0 = nothing is re-scored */
    emp_jobs_params       jobs;
    /** OPTIONAL. Share of the re-scoring that is done; one call at a time, with the context
     * of jobs. */
    void (*on_rescored)(void *context, double done_frac);
} emp_comparison_params;

/** The six tasks of the paper's Table 1, all methods, five seeds, 100 and 1,000
 * evaluations, 20 draws, records in "runs", one thread. */
emp_comparison_params emp_comparison_params_default(void);

/** An entrant on a row within a budget. NaN: not known, as some run is not ready. */
typedef struct {
    int32_t      run_count;    /**< that are ready */
    int32_t      failed_count; /**< of them, those that count as infinitely slow */
    int32_t      late_count;   /**< of those, for being late */
    emp_interval step_s;       /**< over seeds */
    double       best_s, worst_s;
    double       evaluations; /**< mean of the runs */
    double       gap_frac; /**< of the median over the row's lower bound; NaN without */
    double       rank;     /**< on the row, by median; 1 = lowest */
    bool         is_best;
    double       p, p_holm; /**< of the test against the best; NaN of the best */
    double       rescored_s[EMP_SCORED_KINDS]; /**< median over seeds; noise: and draws */
    const char  *refusal; /**< what the method says that found none, or NULL */
} emp_comparison_cell;

/** An entrant within a budget, over all rows of which all runs are ready. */
typedef struct {
    double mean_rank;
    double ratio; /**< geometric mean over rows, of the median to the row's best median */
    double p, p_holm; /**< of the test against the best over all; NaN of the best */
    bool   is_best;
} emp_comparison_overall;

/** How much of a row's ranking remains when placements are re-scored. */
typedef struct {
    double tau; /**< Kendall's tau-b of medians with those before; noise: mean of draws */
    double least_tau; /**< of the draws */
    double kept_frac; /**< of draws, in which the best entrant still is */
} emp_comparison_change;

typedef struct {
    int32_t                entrant_count, row_count, seed_count, budget_count, draws;
    emp_entrant           *entrant;
    emp_task              *row;
    emp_comparison_budget *budget;
    double              *bound_s; /**< [row]; no placement that fits is below; 0 = none */
    emp_comparison_cell *cell;    /**< [budget][row][entrant] */
    double *step_s; /**< [budget][row][entrant][seed]; infinity: nothing fits,
                                         NaN: not ready */
    emp_comparison_overall *overall;  /**< [budget][entrant] */
    emp_friedman_test      *friedman; /**< [budget] */
    emp_comparison_change  *change;   /**< [budget][row][kind] */
    int32_t                 point_count;
    int64_t      *point; /**< evaluations: 1, 2, 5, 10, ... up to the largest budget */
    emp_interval *curve; /**< [budget][row][entrant][point]: best so far over seeds; NaN
                                before the first score, infinity while nothing fits */
    char (*refusal)[EMP_ERROR_MSG_BYTES]; /**< [row][entrant] */
    uint64_t  *graph_hash, *machine_hash; /**< [row] */
    uint64_t   runtime_hash;
    char       runtime[EMP_RECORD_NAME_BYTES];
    char       command[2 * EMP_RECORD_TEXT_BYTES]; /**< makes this comparison */
    emp_arrays arrays;                             /**< all of these */
} emp_comparison;

/** Makes a comparison.
 * \retval EMP_EINVAL       An unknown row or method, a bad number of seeds or budgets; the
 *                          message says what there is.
 * \retval EMP_EINTERRUPTED \a stop was set; the comparison has what was ready. */
emp_status emp_comparison_make(emp_comparison **out, const emp_comparison_params *params,
                               emp_error *err);
void       emp_comparison_destroy(emp_comparison *comparison);

int32_t emp_comparison_cell_index(const emp_comparison *c, int32_t budget, int32_t row,
                                  int32_t entrant);
/** The row of that key, or -1. */
int32_t emp_comparison_find_row(const emp_comparison *c, const char *key);

/** Writes the cells, a table a budget, then for people the sensitivity. docs/formats.md says
 * what JSON has. \retval EMP_ENOMEM */
emp_status emp_comparison_print(FILE *out, const emp_comparison *c,
                                emp_sheet_format format, emp_error *err);
/** Makes a sheet with a line a point of a curve; to be cleared. */
void emp_comparison_curves(emp_sheet *sheet, const emp_comparison *c);
/** Makes a sheet with a line a budget, row and kind; to be cleared. */
void emp_comparison_changes(emp_sheet *sheet, const emp_comparison *c);

#endif /* EMP_BENCH_COMPARE_COMPARISON_H */
