/** \file bench/plots/runs.h
 * Run records for a report: loaded, and put in order by what they have in common. Runs of
 * one *series* differ in their seed alone; series of one *group* solve the same problem
 * (workload, machine and runtime, with equal constants).
 *
 *     emp_report_runs runs = {0};
 *
 *     EMP_TRY(emp_report_runs_add(&runs, path, err)); // for each
 *     EMP_TRY(emp_report_runs_group(&runs, err));
 * cleanup:
 *     emp_report_runs_clear(&runs);
 */
#ifndef EMP_BENCH_PLOTS_RUNS_H
#define EMP_BENCH_PLOTS_RUNS_H

#include "run/store/store.h"

enum { EMP_REPORT_LABEL_BYTES = 512 };

typedef struct {
    char      *path; /**< owned */
    emp_record record;
    double     elapsed_s; /**< from the .timing.json beside it; NaN = there is none */
} emp_report_run;

typedef struct {
    int32_t first_run, run_count;
    char    label[EMP_REPORT_LABEL_BYTES]; /**< unlike that of others in its group */
} emp_report_series;

typedef struct {
    int32_t first_series, series_count;
    int32_t first_run, run_count;
    int32_t best_run; /**< fastest that fits in memory; if none does, the fastest */
} emp_report_group;

/** Zero-initialise. Arrays are owned; series and groups are there once grouped. */
typedef struct {
    emp_report_run    *run;
    int32_t            run_count, run_limit;
    emp_report_series *series;
    int32_t            series_count;
    emp_report_group  *group;
    int32_t            group_count;
} emp_report_runs;

/** Loads a record, or all records of a folder (checkpoints in it are left out).
 * \retval EMP_EIO      No such file, or no record in the folder.
 * \retval EMP_EFORMAT  Not a record or torn, a run that has evaluated nothing yet, or a
 *                      broken timing file; the message names the file.
 * \retval EMP_ENOMEM */
emp_status emp_report_runs_add(emp_report_runs *runs, const char *path, emp_error *err);

/** Sorts the runs and finds series and groups. O(n log n).
 * \retval EMP_EINVAL  Two records are of the same run; the message names both.
 * \retval EMP_ENOMEM */
emp_status emp_report_runs_group(emp_report_runs *runs, emp_error *err);

void emp_report_runs_clear(emp_report_runs *runs);

#endif /* EMP_BENCH_PLOTS_RUNS_H */
