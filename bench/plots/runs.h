/** \file bench/plots/runs.h
 * Run records for a report: loaded, and put in order by what they have in common. Runs of
 * one *series* differ only in their seed; series of one *group* solve the same problem
 * (workload, machine and runtime, with equal constants and options that change it).
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
#include "run/timing.h"
#include "search/method.h"

enum { EMP_REPORT_LABEL_BYTES = 512 };

typedef struct {
    char      *path; /**< owned */
    emp_record record;
    emp_timing timing; /**< from the .timing.json beside it; times are NaN without one */
    int64_t    changed_ns; /**< when the file was last changed */
} emp_report_run;

typedef struct {
    int32_t first_run, run_count;
    char    label[EMP_REPORT_LABEL_BYTES]; /**< differs from others in its group */
} emp_report_series;

typedef struct {
    int32_t first_series, series_count;
    int32_t first_run, run_count;
    int32_t best_run; /**< fastest that fits in memory; if none does, the fastest */
} emp_report_group;

/** Zero-initialise. Arrays are owned; series and groups are there once grouped. */
typedef struct {
    /** OPTIONAL. Called with a sentence for each run that is left out. */
    void (*warn)(const char *format, ...);
    emp_report_run    *run;
    int32_t            run_count, run_limit;
    emp_report_series *series;
    int32_t            series_count;
    emp_report_group  *group;
    int32_t            group_count;
} emp_report_runs;

/** Loads a record, or all records of a folder. Other files in a folder are left out; of those
 * that runs do not leave there, a warning names the first and the number. A timing file that
 * cannot be read counts as absent, with a warning.
 * \retval EMP_EIO      No such file, or no record in the folder.
 * \retval EMP_EFORMAT  A file that was named is no record or torn, or of a run that has
 *                      evaluated nothing yet; the message names the file.
 * \retval EMP_ENOMEM */
emp_status emp_report_runs_add(emp_report_runs *runs, const char *path, emp_error *err);

/** Sorts the runs and finds series and groups, anew if runs were added since the last call. The last changed of several records of one
 * run stays, with a warning that names it. O(n log n).
 * \retval EMP_ENOMEM */
emp_status emp_report_runs_group(emp_report_runs *runs, emp_error *err);

void emp_report_runs_clear(emp_report_runs *runs);

/** The best of a run. */
emp_score emp_report_run_score(const emp_report_run *run);

#endif /* EMP_BENCH_PLOTS_RUNS_H */
