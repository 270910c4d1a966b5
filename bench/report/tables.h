/** \file bench/report/tables.h
 * What was run and what came of it, as tables of a page.
 */
#ifndef EMP_BENCH_REPORT_TABLES_H
#define EMP_BENCH_REPORT_TABLES_H

#include <stdio.h>

#include "bench/plots/runs.h"
#include "run/sheet/sheet.h"

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

#endif /* EMP_BENCH_REPORT_TABLES_H */
