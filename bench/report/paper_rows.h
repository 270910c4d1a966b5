/** \file bench/report/paper_rows.h
 * Runs of the tasks of Table 1 beside the figures that the paper reports of them.
 */
#ifndef EMP_BENCH_REPORT_PAPER_ROWS_H
#define EMP_BENCH_REPORT_PAPER_ROWS_H

#include "bench/plots/runs.h"
#include "run/sheet/sheet.h"

/** Fills a sheet: a row for each task of the paper that there are runs of, a group of columns
 * for each of the paper's methods that there are runs of. It has no line if there are none.
 * Clear it afterwards, also after a failure. \retval EMP_ENOMEM */
emp_status emp_report_paper(emp_sheet *sheet, const emp_report_runs *runs,
                            emp_error *err);

#endif /* EMP_BENCH_REPORT_PAPER_ROWS_H */
