/** \file cli/run_report.h
 * What a command that makes many runs says on standard error while it does: the bar on a
 * terminal, else a line a run.
 */
#ifndef EMP_CLI_RUN_REPORT_H
#define EMP_CLI_RUN_REPORT_H

#include "cli/progress.h"
#include "run/jobs.h"

typedef struct {
    cli_bar bar;
    char    text[32]; /**< beside the bar: "table 1" */
} cli_run_report;

/** Lets the runs report to \a report, and Ctrl-C end them. */
void cli_run_report_begin(cli_run_report *report, emp_jobs_params *jobs);
void cli_run_report_end(cli_run_report *report);

/** Says how to go on after an interrupt. */
void cli_run_report_warn(const emp_jobs_params *jobs);

#endif /* EMP_CLI_RUN_REPORT_H */
