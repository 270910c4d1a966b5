// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace table 1: the paper's table beside ours. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/run/table1.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/stop.h"

enum { KEY_ROWS = 256, KEY_METHODS, KEY_RUNS, KEY_FRESH, KEY_RUNTIME };

struct args {
    emp_table1_params table;
    const char       *number;
    emp_table_format  format;
};

static const struct argp_option options[] = {
    {"quick", 'q', NULL, 0, "Smaller budgets for the learner: minutes, not an hour", 0},
    {"rows", KEY_ROWS, "A,B,...", 0,
     "Only these: inception_v3, resnet, rnnlm, nmt2, nmt4, nmt8", 0},
    {"methods", KEY_METHODS, "A,B,...", 0, "Only these columns, by method name", 0},
    {"seeds", 'k', "K", 0, "Seeds of the methods that draw (default 3; 1 when quick)", 0},
    {"format", 'f', "FORMAT", 0, "text (default), md, csv or json", 0},
    {"runtime", KEY_RUNTIME, "NAME|FILE", 0,
     "Runtime profile (default tf-r1.3): " EMP_RUNTIME_NAMES, 0},
    {"runs", KEY_RUNS, "DIR", 0, "Folder of the run records (default runs)", 0},
    {"fresh", KEY_FRESH, NULL, 0, "Make all runs anew, also those with a record", 0},
    {"threads", 't', "T", 0, "Threads; results do not depend on it", 0},
    {0},
};

static const char doc[] =
    "Make table 1 of A Hierarchical Model for Device Placement, ours beside the "
    "paper's.\v"
    "Runs that have a record are read, the others are made and recorded; Ctrl-C ends "
    "after\n"
    "the current batches, and the next call goes on from there.\n\n"
    "  emplace table 1 --quick\n"
    "  emplace table 1 --rows rnnlm,nmt2 --methods expert,hdp --seeds 5\n"
    "  emplace table 1 --format csv > bench/results/table1.csv";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;
    emp_error    err = {0};

    switch (key) {
    case 'q': args->table.is_quick = true; return 0;
    case KEY_ROWS: args->table.rows = arg; return 0;
    case KEY_METHODS: args->table.methods = arg; return 0;
    case 'k':
        args->table.seed_count =
            (int32_t)cli_integer("seeds", arg, 1, EMP_TABLE_MAX_SEEDS);
        return 0;
    case 'f':
        if (emp_table_format_parse(&args->format, arg, &err) != EMP_OK) {
            cli_usage_error("%s", err.msg);
        }
        return 0;
    case KEY_RUNTIME: args->table.runtime = arg; return 0;
    case KEY_RUNS: args->table.folder = arg; return 0;
    case KEY_FRESH: args->table.is_fresh = true; return 0;
    case 't':
        args->table.threads = (int32_t)cli_integer("threads", arg, 1, 1024);
        return 0;
    case ARGP_KEY_ARG:
        if (args->number != NULL) cli_usage_error("one table only, not also \"%s\"", arg);
        args->number = arg;
        return 0;
    case ARGP_KEY_END:
        if (args->number == NULL) cli_usage_error("which table? there is table 1");
        if (strcmp(args->number, "1") != 0) {
            cli_usage_error("there is no table \"%s\"; there is table 1", args->number);
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void on_progress(void *context, double done_frac, double remaining_s)
{
    cli_bar_draw((cli_bar *)context, done_frac, remaining_s, "table 1");
}

/* A line a run where nobody watches a bar, as in logs; a terminal has the bar. */
static void on_run(void *context, const emp_table1_event *e)
{
    cli_bar *bar = (cli_bar *)context;

    if (bar->is_terminal) return;
    fprintf(stderr, "[%d/%d] %s, %s, seed %llu: ", e->done, e->total, e->row, e->method,
            (unsigned long long)e->seed);
    if (isfinite(e->step_time_s))
        fprintf(stderr, "%.4g s", e->step_time_s);
    else
        fprintf(stderr, "out of memory");
    if (e->is_read)
        fprintf(stderr, " (on record)\n");
    else
        fprintf(stderr, " (run took %.1f s)\n", e->elapsed_s);
}

emp_status cmd_table(int argc, char **argv, emp_error *err)
{
    const struct argp argp = {options, parse, "1", doc, NULL, NULL, NULL};
    emp_status        st = EMP_OK, made = EMP_OK;
    emp_table        *table = NULL;
    cli_bar           bar;
    struct args       args = {.table = {.runtime = "tf-r1.3",
                                        .folder = "runs",
                                        .threads = cli_default_threads(),
                                        .on_run = on_run,
                                        .on_progress = on_progress,
                                        .context = &bar}};

    cli_parse(&argp, argc, argv, &args);
    args.table.stop = cli_stop_flag();
    cli_bar_init(&bar);
    made = emp_table1_make(&table, &args.table, err);
    cli_bar_clear(&bar);
    if (made != EMP_OK && made != EMP_EINTERRUPTED) EMP_TRY(made);
    EMP_TRY(emp_table_print(stdout, table, args.format, err));
    if (made == EMP_EINTERRUPTED) {
        cli_warn("interrupted; what is done is in %s, the same command %sgoes on",
                 args.table.folder, args.table.is_fresh ? "without --fresh " : "");
        st = made;
    }

cleanup:
    emp_table_destroy(table);
    return st;
}
