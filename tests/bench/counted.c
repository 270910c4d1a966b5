// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/counted.h"

#include <stdio.h>

char counted_folder[SCRATCH_PATH_BYTES];
int  counted_runs, counted_reads;

static int        last_run; /* 0: none is */
static atomic_int stop_flag;

void counted_set_up(void)
{
    emp_store_silence();
    scratch_create();
    snprintf(counted_folder, sizeof counted_folder, "%s", scratch_path("runs"));
}

static void count(void *context, const emp_job_event *event)
{
    (void)context;
    counted_runs++;
    counted_reads += event->is_read;
    if (counted_runs == last_run) stop_flag = 1;
}

emp_jobs_params counted_jobs(int32_t threads)
{
    counted_runs = counted_reads = last_run = 0;
    stop_flag = 0;
    return (emp_jobs_params){
        .folder = counted_folder, .threads = threads, .on_run = count};
}

emp_jobs_params counted_jobs_stopped(int runs)
{
    emp_jobs_params jobs = counted_jobs(1);

    last_run = runs;
    jobs.stop = &stop_flag;
    return jobs;
}
