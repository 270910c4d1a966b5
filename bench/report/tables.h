/** \file bench/report/tables.h
 * What was run and what came of it, as tables of a page.
 */
#ifndef EMP_BENCH_REPORT_TABLES_H
#define EMP_BENCH_REPORT_TABLES_H

#include <stdio.h>

#include "bench/plots/runs.h"

/** The two tables of a group, a line a series.
 * \retval EMP_ENOMEM */
emp_status emp_report_tables(FILE *file, const emp_report_runs *runs,
                             const emp_report_group *group, emp_error *err);

#endif /* EMP_BENCH_REPORT_TABLES_H */
