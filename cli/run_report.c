// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/run_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/stop.h"

static void on_progress(void *context, double done_frac, double remaining_s)
{
    cli_run_report *report = (cli_run_report *)context;

    cli_bar_draw(&report->bar, done_frac, remaining_s, report->text);
}

/* A line a run where nobody watches a bar, as in logs; a terminal has the bar. */
static void on_run(void *context, const emp_job_event *e)
{
    const cli_run_report *report = (const cli_run_report *)context;

    if (report->bar.is_terminal) return;
    fprintf(stderr, "[%d/%d] %s, %s, seed %" PRIu64 ": ", e->done, e->total, e->row,
            e->method, e->seed);
    if (isfinite(e->step_time_s))
        fprintf(stderr, "%.4g s", e->step_time_s);
    else
        fprintf(stderr, "nothing that fits in memory");
    if (e->is_read)
        fprintf(stderr, " (on record)\n");
    else
        fprintf(stderr, " (run took %.1f s)\n", e->elapsed_s);
}

void cli_run_report_begin(cli_run_report *report, emp_jobs_params *jobs)
{
    jobs->on_run = on_run;
    jobs->on_progress = on_progress;
    jobs->context = report;
    jobs->stop = cli_stop_flag();
    cli_bar_init(&report->bar, NULL);
}

void cli_run_report_end(cli_run_report *report) { cli_bar_clear(&report->bar); }

void cli_run_report_warn(const emp_jobs_params *jobs)
{
    cli_warn("interrupted; what is done is in %s, the same command %sgoes on",
             jobs->folder, jobs->is_fresh ? "without --fresh " : "");
}
