// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/jobs_options.h"

#include "bench/tables/table.h"
#include "cli/cli.h"

enum { KEY_ROWS = 512, KEY_RUNS, KEY_FRESH, KEY_RUNTIME, KEY_BUDGET };

static const struct argp_option options[] = {
    {"rows", KEY_ROWS, "A,B,...", 0,
     "Only these: inception_v3, resnet, rnnlm, nmt2, nmt4, nmt8", 0},
    {"seeds", 'k', "K", 0, "Runs of whatever draws: one for each of the seeds 1 to K", 0},
    {"budget", KEY_BUDGET, "N", 0, "Evaluations of each run that learns or searches", 0},
    {"runtime", KEY_RUNTIME, "NAME|FILE", 0,
     "Runtime profile (default tf-r1.3): " EMP_RUNTIME_NAMES, 0},
    {"runs", KEY_RUNS, "DIR", 0, "Folder of the run records (default runs)", 0},
    {"fresh", KEY_FRESH, NULL, 0, "Make all runs anew, also those with a record", 0},
    {"threads", 't', "T", 0, "Threads; results do not depend on it", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    cli_jobs_options *o = (cli_jobs_options *)state->input;

    switch (key) {
    case KEY_ROWS: o->rows = arg; return 0;
    case 'k':
        o->seed_count = (int32_t)cli_integer("seeds", arg, 1, EMP_TABLE_MAX_SEEDS);
        return 0;
    case KEY_BUDGET: o->budget = cli_integer("budget", arg, 1, INT64_MAX); return 0;
    case KEY_RUNTIME: o->runtime = arg; return 0;
    case KEY_RUNS: o->jobs.folder = arg; return 0;
    case KEY_FRESH: o->jobs.is_fresh = true; return 0;
    case 't': o->jobs.threads = (int32_t)cli_integer("threads", arg, 1, 1024); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_jobs_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

cli_jobs_options cli_jobs_options_default(void)
{
    return (cli_jobs_options){
        .runtime = "tf-r1.3",
        .jobs = {.folder = "runs", .threads = cli_default_threads()}};
}
