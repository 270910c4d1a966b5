/** \file bench/report/page.h
 * A report: one page of tables and figures, or one of its figures as a file.
 */
#ifndef EMP_BENCH_REPORT_PAGE_H
#define EMP_BENCH_REPORT_PAGE_H

#include <stdio.h>

#include "bench/report/study.h"

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
