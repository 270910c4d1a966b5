// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace table 1|2: a table of the paper beside ours. */
#include <stdio.h>
#include <string.h>

#include "bench/run/paper_table.h"
#include "cli/cli.h"
#include "cli/run_report.h"

enum { KEY_ROWS = 256, KEY_METHODS, KEY_RUNS, KEY_FRESH, KEY_RUNTIME, KEY_BUDGET };

struct args {
    emp_paper_table_params table;
    const emp_paper_table *definition;
    emp_table_format       format;
};

static const struct argp_option options[] = {
    {"quick", 'q', NULL, 0, "Smaller budgets for the learner: minutes, not an hour", 0},
    {"rows", KEY_ROWS, "A,B,...", 0,
     "Only these: inception_v3, resnet, rnnlm, nmt2, nmt4, nmt8", 0},
    {"methods", KEY_METHODS, "A,B,...", 0,
     "Only these columns: method names in table 1; random, learned, improvement, none in "
     "table 2",
     0},
    {"seeds", 'k', "K", 0,
     "Seeds of the methods that draw (default 3, HDP with preset emplace and table 2: 5; "
     "when quick 1, table 2: 3)",
     0},
    {"budget", KEY_BUDGET, "N", 0,
     "Evaluations of each run that learns or searches, but Random", 0},
    {"format", 'f', "FORMAT", 0, "text (default), md, csv or json", 0},
    {"runtime", KEY_RUNTIME, "NAME|FILE", 0,
     "Runtime profile (default tf-r1.3): " EMP_RUNTIME_NAMES, 0},
    {"runs", KEY_RUNS, "DIR", 0, "Folder of the run records (default runs)", 0},
    {"fresh", KEY_FRESH, NULL, 0, "Make all runs anew, also those with a record", 0},
    {"threads", 't', "T", 0, "Threads; results do not depend on it", 0},
    {0},
};

static const char doc[] =
    "Make a table of A Hierarchical Model for Device Placement, ours beside the "
    "paper's: 1, methods on six models; 2, groups drawn at random and learned.\v"
    "Runs that have a record are read, the others are made and recorded; Ctrl-C ends "
    "after\n"
    "the current batches, and the next call goes on from there.\n\n"
    "  emplace table 1 --quick\n"
    "  emplace table 1 --rows rnnlm,nmt2 --methods expert,hdp --seeds 5\n"
    "  emplace table 1 --format csv > bench/results/table1.csv\n"
    "  emplace table 2 --rows nmt2 --budget 2000";

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
    case KEY_BUDGET:
        args->table.budget = cli_integer("budget", arg, 1, INT64_MAX);
        return 0;
    case KEY_RUNTIME: args->table.runtime = arg; return 0;
    case KEY_RUNS: args->table.jobs.folder = arg; return 0;
    case KEY_FRESH: args->table.jobs.is_fresh = true; return 0;
    case 't':
        args->table.jobs.threads = (int32_t)cli_integer("threads", arg, 1, 1024);
        return 0;
    case ARGP_KEY_ARG:
        if (args->definition != NULL)
            cli_usage_error("one table only, not also \"%s\"", arg);
        args->definition = emp_paper_table_find(arg);
        if (args->definition == NULL)
            cli_usage_error("there is no table \"%s\"; there are table 1 and table 2",
                            arg);
        return 0;
    case ARGP_KEY_END:
        if (args->definition == NULL)
            cli_usage_error("which table? there are table 1 and table 2");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

emp_status cmd_table(int argc, char **argv, emp_error *err)
{
    const struct argp argp = {options, parse, "1|2", doc, NULL, NULL, NULL};
    emp_status        st = EMP_OK, made = EMP_OK;
    emp_table        *table = NULL;
    cli_run_report    report;
    struct args       args = {
              .table = {.runtime = "tf-r1.3",
                        .jobs = {.folder = "runs", .threads = cli_default_threads()}}};

    cli_parse(&argp, argc, argv, &args);
    snprintf(report.text, sizeof report.text, "table %s", args.definition->name);
    cli_run_report_begin(&report, &args.table.jobs);
    made = emp_paper_table_make(&table, args.definition, &args.table, err);
    cli_run_report_end(&report);
    if (made != EMP_OK && made != EMP_EINTERRUPTED) EMP_TRY(made);
    EMP_TRY(emp_table_print(stdout, table, args.format, err));
    if (made == EMP_EINTERRUPTED) {
        cli_run_report_warn(&args.table.jobs);
        st = made;
    }

cleanup:
    emp_table_destroy(table);
    return st;
}
