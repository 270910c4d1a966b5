/** \file bench/report/page.h
 * A report: one page of tables and figures, or one of its figures as a file.
 */
#ifndef EMP_BENCH_REPORT_PAGE_H
#define EMP_BENCH_REPORT_PAGE_H

#include <stdio.h>

#include "bench/plots/drawing.h"
#include "bench/plots/runs.h"
#include "run/sheet/sheet.h"
#include "sim/problem/problem.h"

/* study.c: the figures of one problem, and what they rest on. */

typedef struct {
    /** Makes the problem of a run again; it stays valid until the next call. A failure
     * but EMP_ENOMEM leaves what needs it out. */
    emp_status (*get_problem)(void *context, const emp_report_run *run,
                              const emp_problem **problem, emp_error *err);
    /** Called for each record whose figures are left out, with the reason; or NULL. */
    void (*on_absence)(void *context, const emp_record *record, const char *why);
    void *context;
} emp_report_params;

typedef enum {
    EMP_FIGURE_CURVES,
    EMP_FIGURE_CLOCK,
    EMP_FIGURE_PLACEMENTS,
    EMP_FIGURE_TIMELINE,
    EMP_FIGURE_MEANS,
    EMP_FIGURE_METRICS,
    EMP_FIGURES
} emp_figure_kind;

enum { EMP_STUDY_PLACEMENTS = 6 /**< side by side, at most */ };

/** How many runs have a curve, and of them seconds of the wall clock, and CPU seconds. Runs that had everything scored
 * at once have no curve. */
typedef struct {
    int32_t runs, timed, cpu;
} emp_report_clock;

typedef struct {
    const emp_report_runs  *runs;  /**< borrowed */
    const emp_report_group *group; /**< borrowed */
    emp_report_clock        clock;
    emp_drawing             figure[EMP_FIGURES]; /**< empty: there is nothing to draw */
    double    bound_s;  /**< no step that fits is faster; NaN = is not known */
    double    now_s;    /**< the best placement's step, simulated now; NaN likewise */
    emp_error absence;  /**< why the problem could not be made again; EMP_OK = it was */
    emp_sheet shares;   /**< of the arithmetic of each placement on each device */
    int32_t   left_out; /**< series whose placements are not among those side by side */
} emp_study;

/** The name of a kind of figure, and its title; static storage. */
const char *emp_figure_name(emp_figure_kind kind);
const char *emp_figure_title(emp_figure_kind kind);

/** The name of a figure of a report: "curves" of its first problem, "curves-2" of its second.
 * Returns \a name. */
char *emp_figure_full_name(char name[EMP_DRAWING_NAME_BYTES], emp_figure_kind kind,
                           int32_t group);

/** Draws all figures of a group of runs.
 * \param study  Clear it afterwards, also after a failure.
 * \retval EMP_ENOMEM */
emp_status emp_study_create(emp_study *study, const emp_report_runs *runs, int32_t group,
                            const emp_report_params *params, emp_error *err);
void       emp_study_clear(emp_study *study);

/** Writes the page of grouped runs. Its figures are the same to the byte for the same records;
 * its date is SOURCE_DATE_EPOCH where the environment has it.
 * \retval EMP_ENOMEM \retval EMP_EIO */
emp_status emp_report_write(FILE *file, const emp_report_runs *runs,
                            const emp_report_params *params, emp_error *err);

/** Writes one figure by its name (emp_figure_full_name()), as SVG or PDF.
 * \retval EMP_EINVAL  There is no such figure, or it has nothing to show; the message says
 *                     which there are, or why. Else as emp_study_create() and
 *                     emp_drawing_print_pdf(). */
emp_status emp_report_write_figure(FILE *file, const emp_report_runs *runs,
                                   const emp_report_params *params, const char *name,
                                   bool is_pdf, emp_error *err);

/** Prints the names of the figures and what they show, a line each. */
void emp_report_list_figures(FILE *file, const emp_report_runs *runs);

/** The two tables of a group, a line a series.
 * \param bound_s  No step that fits is faster; NaN = is not known.
 * \retval EMP_ENOMEM */
emp_status emp_report_tables(FILE *file, const emp_report_runs *runs,
                             const emp_report_group *group, double bound_s,
                             emp_error *err);

/** Fills a sheet: a row for each task of the paper that there are runs of, a group of columns
 * for each of the paper's methods that there are runs of. It has no line if there are none.
 * Clear it afterwards, also after a failure. \retval EMP_ENOMEM */
emp_status emp_report_paper(emp_sheet *sheet, const emp_report_runs *runs,
                            emp_error *err);

#endif /* EMP_BENCH_REPORT_PAGE_H */
