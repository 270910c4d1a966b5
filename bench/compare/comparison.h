/** \file bench/compare/comparison.h
 * All placement methods on the same tasks with equal budgets: who is how good, how sure that
 * is, and whether it would be so with somewhat other costs.
 *
 *     emp_comparison_params params = emp_comparison_params_default();
 *     params.row = list.task;
 *     params.row_count = list.count;
 *     EMP_TRY(emp_comparison_make(&comparison, &params, err));
 *     EMP_TRY(emp_comparison_print(stdout, comparison, EMP_SHEET_TEXT, err));
 *
 * Rows are workloads on machines (tasks.h), entrants are methods (with each of their presets), and
 * a cell is an entrant on a row within a budget: one run a seed (run/jobs/jobs.h), on record
 * in a folder, so that a comparison that was killed goes on.
 *
 * Rules, the same for all:
 * - A budget is a number of placements that the oracle scores, or CPU seconds of one thread. Each
 *   run has one thread. Results by the clock depend on the host and differ from run to run.
 * - One run of the longest clock stands for the shorter ones: it counts with what was best after
 *   so many CPU seconds. A batch that ends after the clock is too late.
 * - Methods that stop by themselves (partitioners, list schedulers, hand rules) propose once
 *   whatever the budget is, and their runs are shared by all budgets. Those that draw nothing run
 *   once and stand for every seed.
 * - A run counts with the best placement that the oracle says fits in memory. One that finds
 *   none, whose method says that there is none, or whose first scores come after the clock, counts
 *   as infinitely slow.
 * - Seeds are nested in tasks: a task has one figure an entrant, the median over seeds. Tests and
 *   intervals of what holds over tasks draw tasks, never runs.
 * - Tuned, fresh and own tasks, and the splits of PlaceBench, are ranked and tested apart. The tests are Friedman's, with Nemenyi's
 *   critical difference of mean ranks, and Wilcoxon's of each entrant against the one of lowest
 *   mean rank, with Holm's correction. The best is known from the same tasks, so that the latter
 *   are somewhat too ready. Where tasks are too few for a test there is no p.
 * - Sensitivity re-scores the placements that were found within budgets in evaluations, under
 *   costs that were changed; no search is run again.
 */
#ifndef EMP_BENCH_COMPARE_COMPARISON_H
#define EMP_BENCH_COMPARE_COMPARISON_H

#include <stdio.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "bench/compare/tasks.h"
#include "bench/trials/statistics.h"
#include "bench/trials/trials.h"
#include "run/sheet/sheet.h"

enum {
    EMP_COMPARISON_BUDGETS = 8, /**< at most, as for the next two */
    EMP_COMPARISON_ENTRANTS = 64,
    EMP_COMPARISON_POINTS = 96, /**< of a curve */
    EMP_COMPARISON_NAME_BYTES = 64
};

/** A method, with a preset if it has any, and perhaps with options. */
typedef struct {
    /** Names a series: "hdp" for its first preset, "hdp-NAME" for another, the options of an arm. */
    char              key[EMP_COMPARISON_NAME_BYTES];
    const emp_method *method;
    char              preset[EMP_COMPARISON_NAME_BYTES]; /**< "" = none */
    const char       *options;     /**< beside the preset's; NULL = none; borrowed */
    bool              is_budgeted; /**< else it stops by itself */
    bool              is_drawn;    /**< else every seed gives the same run */
} emp_entrant;

/** One of the two is 0. */
typedef struct {
    int64_t evaluations;
    double  clock_s; /**< CPU seconds */
} emp_comparison_budget;

/** The unit of budgets, and curves drawn against. */
typedef enum {
    EMP_BY_EVALUATIONS,
    EMP_BY_CLOCK,
    EMP_COMPARISON_AXES
} emp_comparison_axis;

/** The conditions under which placements are re-scored. */
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
    const emp_compared_task *row; /**< the choice of rows */
    int32_t                  row_count;
    const char              *tasks; /**< what the choice is called, for the command */
    const char              *rows;  /**< comma-separated keys, or NULL for all */
    /** OPTIONAL. They take part, in place of all methods; emp_entrants_of_arms(). */
    const emp_entrant *entrant;
    int32_t            entrant_count;
    const char
        *methods; /**< comma-separated keys of entrants and methods from outside, or
                                     NULL for all but the latter */
    const char
        *against; /**< OPTIONAL. The key of an entrant with which all are compared, too */
    const char *command; /**< begins the command that makes it: "bench placers" */
    /** Options of entrants, "KEY:NAME=VALUE,...", one entry an entrant. They must outlive the
     * comparison. */
    const char *options[EMP_COMPARISON_ENTRANTS];
    int32_t     options_count;
    const char *runtime; /**< profile name or path; NULL: that which fits each task
                              (emp_task_runtime()); frozen tasks have their own */
    int32_t     seed_count;
    int32_t     budget_count;
    emp_comparison_budget budget[EMP_COMPARISON_BUDGETS];
    int32_t               draws; /**< of noise; 0 = nothing is re-scored */
    emp_jobs_params       jobs;
    /** OPTIONAL. Share of the re-scoring that is done; one call at a time, with the context
     * of jobs. */
    void (*on_rescored)(void *context, double done_frac);
} emp_comparison_params;

/** Every method of run/methods.h with each of its presets, in that order; a portfolio is left out,
 * as its members take part. \return their number */
int32_t emp_entrants_list(emp_entrant entrants[EMP_COMPARISON_ENTRANTS]);

/** Appends the methods from outside that a comma-separated list names (run/outside/outside.h), with the
 * titles of these as keys. \a methods may be NULL.
 * \retval EMP_EINVAL  Two entrants would have one key. Else as emp_method_find(). */
emp_status emp_entrants_add_outside(emp_entrant entrants[EMP_COMPARISON_ENTRANTS],
                                    int32_t *count, const char *methods, emp_error *err);

/** The word for an entrant in a list of methods: its key, or the address of a method from outside. */
const char *emp_entrant_spelling(const emp_entrant *entrant);

/** Gives an entrant the options of "KEY:NAME=VALUE,...", which must outlive it. O(entrants).
 * \retval EMP_EINVAL  There is no such entrant, it has options already, or its method does not
 *                     take these. \retval EMP_ENOMEM */
emp_status emp_entrants_set_options(emp_entrant *entrants, int32_t count,
                                    const char *text, emp_error *err);

/** Makes the entrants of an ablation: one method with several lists of options, which \a arms has
 * between semicolons: "base; grouping=names; grouping=metis,groups=48". "base" is the list without
 * options. An entrant is named by the options in which arms differ, or "base".
 * \param[in,out] arms    Is split in place, and must outlive the entrants.
 * \param         preset  OPTIONAL.
 * \retval EMP_EINVAL  There is no such method, fewer than two arms or too many, two equal ones, a
 *                     name that is too long, or options that the method does not take. */
emp_status emp_entrants_of_arms(emp_entrant entrants[EMP_COMPARISON_ENTRANTS],
                                int32_t *count, const char *method, const char *preset,
                                char *arms, emp_error *err);

/** Describes the first arm: its method and preset, and the values in it of all options that any arm names:
 * "hdp, preset paper: grouping=metis, groups=48". O(arms x options). */
void emp_entrants_describe_base(emp_text *text, const emp_entrant *arms, int32_t count);

/** All methods, five seeds, 100 and 1,000 evaluations, 20 draws, records in "runs", one thread; no
 * tasks yet. */
emp_comparison_params emp_comparison_params_default(void);

/** An entrant on a row within a budget. NaN: not known, as some run is not ready. */
typedef struct {
    int32_t      run_count;    /**< that are ready */
    int32_t      failed_count; /**< of them, those that count as infinitely slow */
    int32_t      late_count;   /**< of those, for being late */
    emp_interval step_s;       /**< over seeds */
    double       best_s, worst_s;
    double       evaluations; /**< mean of the runs; of a clock, within it */
    double       cpu_s;       /**< likewise, CPU seconds; NaN: some run's are not known */
    double       gap_frac; /**< of the median over the row's lower bound; NaN without */
    /** The bound of placements that keep GPU kernels off the CPUs, as the best of all runs do, and the gap of
     * the median to it; NaN: not all do. */
    double      bound_gpu_kernels_s, gap_gpu_kernels_frac;
    double      rank; /**< on the row, by median; 1 = lowest */
    bool        is_best;
    double      rescored_s[EMP_SCORED_KINDS]; /**< median over seeds; noise: and draws */
    const char *refusal; /**< what the method says that found none, or NULL */
} emp_comparison_cell;

/** An entrant within a budget, over the rows of a set of which all runs are ready. */
typedef struct {
    int32_t   solved_count; /**< rows where the median is finite */
    double    mean_rank;
    emp_ratio to_least; /**< of the median to each row's lowest median */
    emp_ratio to_best; /**< of the median to the one of the entrant of lowest mean rank */
    emp_ratio to_first;   /**< of the median to the first arm's; NaN without arms */
    emp_ratio to_against; /**< of the median to that of the entrant to compare with */
    double p, p_holm; /**< of the test against that of lowest mean rank; NaN of itself */
    double p_against; /**< likewise against the one to compare with, by Holm's method */
    double cpu_s;     /**< of a run, mean over rows; NaN: not known */
    bool   is_best;   /**< the first of lowest mean rank */
    bool   is_near;   /**< its mean rank is within the critical difference of that one */
} emp_comparison_overall;

/** The ranking of all entrants over the rows of a set. */
typedef struct {
    int32_t           row_count;      /**< those whose runs are all ready */
    emp_friedman_test friedman;       /**< NaN where rows are too few */
    double            difference;     /**< Nemenyi's, of mean ranks; likewise */
    int32_t           wilcoxon_least; /**< rows that the tests against the best need */
} emp_comparison_test;

/** How much of a row's ranking remains when placements are re-scored. */
typedef struct {
    double tau; /**< Kendall's tau-b of medians with those before; noise: mean of draws */
    double least_tau; /**< of the draws */
    double kept_frac; /**< of draws, in which the best entrant still is */
} emp_comparison_change;

typedef struct {
    int32_t      entrant_count, row_count, seed_count, budget_count, draws;
    int32_t      runs_made, runs_planned; /**< fewer were made after an interrupt */
    bool         has_arms; /**< entrants are arms of one method, the first one its base */
    int32_t      against;  /**< the entrant to compare with; -1: none but the best */
    char         against_title[2][EMP_RECORD_NAME_BYTES + 16]; /**< of its ratio and p */
    emp_entrant *entrant;
    emp_trials_tasks       tasks; /**< with what their runs share */
    const emp_task        *row;   /**< [row_count] those of `tasks` */
    emp_task_set          *set;   /**< [row] */
    emp_comparison_budget *budget;
    double *bound_s;             /**< [row]; no placement that fits is below; 0 = none */
    double *bound_gpu_kernels_s; /**< [row] likewise, with GPU kernels on GPUs */
    emp_comparison_cell *cell;   /**< [budget][row][entrant] */
    double *step_s; /**< [budget][row][entrant][seed]; infinity: nothing fits,
                                         NaN: not ready */
    emp_comparison_overall *overall; /**< [budget][set][entrant] */
    emp_comparison_test    *test;    /**< [budget][set] */
    emp_comparison_change  *change;  /**< [budget][row][kind] */
    int32_t                 point_count[EMP_COMPARISON_AXES];
    double *point[EMP_COMPARISON_AXES]; /**< twelve a decade up to the largest budget */
    emp_interval
        *curve; /**< [budget][row][entrant][EMP_COMPARISON_POINTS], by the axis of the
                                budget: best so far over seeds; NaN before the first score, infinity
                                while nothing fits */
    char (*refusal)[EMP_ERROR_MSG_BYTES];          /**< [row][entrant] */
    char       command[2 * EMP_RECORD_TEXT_BYTES]; /**< makes this comparison */
    emp_arrays arrays;                             /**< all of these */
} emp_comparison;

/** Makes a comparison.
 * \retval EMP_EINVAL       An unknown row or method, wrong options, a bad number of seeds or
 *                          budgets; the message says what there is.
 * \retval EMP_EINTERRUPTED \a stop was set; the comparison has what was ready. */
emp_status emp_comparison_make(emp_comparison **out, const emp_comparison_params *params,
                               emp_error *err);
void       emp_comparison_destroy(emp_comparison *comparison);

int32_t emp_comparison_cell_index(const emp_comparison *c, int32_t budget, int32_t row,
                                  int32_t entrant);
/** Index of an entrant in `overall`. */
int32_t             emp_comparison_overall_index(const emp_comparison *c, int32_t budget,
                                                 emp_task_set set, int32_t entrant);
emp_comparison_axis emp_comparison_axis_of(const emp_comparison_budget *budget);
/** The largest budget of that axis, or -1. */
int32_t emp_comparison_largest(const emp_comparison *c, emp_comparison_axis axis);
/** The row of that key, or -1. */
int32_t emp_comparison_find_row(const emp_comparison *c, const char *key);
/** The runtime that a row runs under. */
const char *emp_comparison_runtime_of(const emp_comparison *c, int32_t row);

/** Writes the cells, a table a budget; for people first the rankings and last the sensitivity. docs/formats.md says
 * what JSON has. \retval EMP_ENOMEM */
emp_status emp_comparison_print(FILE *out, const emp_comparison *c,
                                emp_sheet_format format, emp_error *err);
/** Makes a sheet with a line a point of a curve; to be cleared. */
void emp_comparison_curves(emp_sheet *sheet, const emp_comparison *c);
/** Makes a sheet with a line a budget, set and entrant; to be cleared. */
void emp_comparison_rankings(emp_sheet *sheet, const emp_comparison *c);
/** Makes a sheet with the CPU seconds of each cell, which differ from run to run; to be cleared. */
void emp_comparison_times(emp_sheet *sheet, const emp_comparison *c);
/** Makes a sheet with a line a budget, row and kind; to be cleared. */
void emp_comparison_changes(emp_sheet *sheet, const emp_comparison *c);

/** Draws an SVG file of its own, or an svg element of a page, by gnuplot: a curve with its interval
 * for each entrant that has a budget, dots for those that propose once, the lower bound as a dashed
 * line. One panel is by placements scored, within the largest budget in evaluations, and one by
 * CPU seconds, within the longest clock, as far as there are such budgets.
 * \retval EMP_EINVAL  No run on the row found a placement that fits; else as
 *                     emp_gnuplot_draw(). */
emp_status emp_comparison_draw_figure(FILE *file, const emp_comparison *c, int32_t row,
                                      bool is_embedded, emp_error *err);

/** Writes XHTML that opens without a network. Without gnuplot (\a has_figures false) a
 * sentence stands in place of the figures. \retval those of emp_comparison_draw_figure() */
emp_status emp_comparison_write_page(FILE *file, const emp_comparison *c,
                                     bool has_figures, emp_error *err);

#endif /* EMP_BENCH_COMPARE_COMPARISON_H */
