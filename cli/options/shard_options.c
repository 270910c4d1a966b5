// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/shard_options.h"

#include <stdio.h>

#include "cli/cli.h"
#include "cli/options/jobs_options.h"
#include "cli/stop.h"

enum { KEY_SHARD = 2048, MOST_SHARDS = 100000 };

static const struct argp_option options[] = {
    {"shard", KEY_SHARD, "I/N", 0,
     "Make part I of N of the runs, for several computers or jobs", 0},
    {0},
};

static void parse_shard(emp_jobs_params *jobs, const char *text)
{
    int shard = 0, count = 0, length = 0;

    if (sscanf(text, "%6d/%6d%n", &shard, &count, &length) != 2 || text[length] != '\0' ||
        count < 1 || count > MOST_SHARDS || shard < 1 || shard > count)
        cli_usage_error(
            "--shard is I/N with I from 1 to N, at most %d, as 2/8; not \"%s\"",
            MOST_SHARDS, text);
    jobs->shard = shard;
    jobs->shard_count = count;
    cli_stop_for_scheduler();
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    if (key != KEY_SHARD) return ARGP_ERR_UNKNOWN;
    parse_shard((emp_jobs_params *)state->input, arg);
    return 0;
}

const struct argp cli_shard_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

bool cli_shard_is_done(emp_status *st, emp_status made, const emp_jobs_params *jobs)
{
    const bool is_first = jobs->ranks == NULL || jobs->ranks->rank == 0;

    *st = EMP_OK;
    if (!is_first) return true;
    if (jobs->shard_count == 0 || made != EMP_EINTERRUPTED) return false;
    if (cli_stop_is_asked())
        *st = cli_run_report_warn(made, jobs);
    else
        printf("shard %d of %d is made; its runs are in %s\n", jobs->shard,
               jobs->shard_count, jobs->folder);
    return true;
}
