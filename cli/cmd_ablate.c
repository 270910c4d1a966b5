// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace ablate STUDY: a learner with one choice changed at a time. */
#include <stdio.h>
#include <string.h>

#include "bench/run/ablation.h"
#include "cli/cli.h"
#include "cli/run_report.h"

enum { KEY_ROWS = 256, KEY_ARMS, KEY_RUNS, KEY_FRESH, KEY_RUNTIME, KEY_BUDGET };

struct args {
    emp_ablation_params params;
    const emp_ablation *study;
    bool                is_csv;
};

static const struct argp_option options[] = {
    {"rows", KEY_ROWS, "A,B,...", 0,
     "Only these: inception_v3, resnet, rnnlm, nmt2, nmt4, nmt8 (default: grouping "
     "inception_v3,nmt2; preset also nmt4)",
     0},
    {"arms", KEY_ARMS, "A,B,...", 0,
     "Only these arms (\"groups=64\") or kinds of them (grouping: grouping, groups, "
     "order, window, reward, objective; preset: from paper, stages, learning, grouping, "
     "groups, refining, guiding); the default is always made",
     0},
    {"seeds", 'k', "K", 0, "Seeds of an arm (default: grouping 3, preset 5)", 0},
    {"budget", KEY_BUDGET, "N", 0,
     "Evaluations of a run (default: grouping 2000, preset 4000)", 0},
    {"format", 'f', "FORMAT", 0, "text (default) or csv", 0},
    {"runtime", KEY_RUNTIME, "NAME|FILE", 0,
     "Runtime profile (default tf-r1.3): " EMP_RUNTIME_NAMES, 0},
    {"runs", KEY_RUNS, "DIR", 0, "Folder of the run records (default runs)", 0},
    {"fresh", KEY_FRESH, NULL, 0, "Make all runs anew, also those with a record", 0},
    {"threads", 't', "T", 0, "Threads; results do not depend on it", 0},
    {0},
};

static const char doc[] =
    "Run the planner with one choice changed at a time. The study \"grouping\", on the "
    "preset paper: who groups ops, number and order of groups, what the grouper sees, "
    "form of the reward, what rewards are for. The study \"preset\": what each choice of "
    "the preset emplace contributes.\v"
    "Runs that have a record are read, the others are made and recorded; Ctrl-C ends "
    "after\n"
    "the current batches, and the next call goes on from there.\n\n"
    "  emplace ablate grouping --rows nmt2 --arms grouping,groups=64 --budget 400 "
    "--seeds "
    "1\n"
    "  emplace ablate preset --rows nmt2 --arms refining --seeds 2\n"
    "  emplace ablate grouping --format csv > bench/results/ablate_grouping.csv";

static const emp_ablation *const studies[] = {&emp_ablation_grouping,
                                              &emp_ablation_preset};

static void parse_study(struct args *args, const char *name)
{
    if (args->study != NULL) cli_usage_error("one study only, not also \"%s\"", name);
    for (size_t i = 0; i < sizeof studies / sizeof *studies; i++)
        if (strcmp(name, studies[i]->name) == 0) args->study = studies[i];
    if (args->study == NULL)
        cli_usage_error("there is no study \"%s\"; there are grouping, preset", name);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args         *args = (struct args *)state->input;
    emp_ablation_params *params = &args->params;

    switch (key) {
    case KEY_ROWS: params->rows = arg; return 0;
    case KEY_ARMS: params->arms = arg; return 0;
    case 'k':
        params->seed_count = (int32_t)cli_integer("seeds", arg, 1, EMP_TABLE_MAX_SEEDS);
        return 0;
    case KEY_BUDGET: params->budget = cli_integer("budget", arg, 1, INT64_MAX); return 0;
    case 'f':
        if (strcmp(arg, "text") != 0 && strcmp(arg, "csv") != 0)
            cli_usage_error("--format is text or csv, not \"%s\"", arg);
        args->is_csv = strcmp(arg, "csv") == 0;
        return 0;
    case KEY_RUNTIME: params->runtime = arg; return 0;
    case KEY_RUNS: params->jobs.folder = arg; return 0;
    case KEY_FRESH: params->jobs.is_fresh = true; return 0;
    case 't':
        params->jobs.threads = (int32_t)cli_integer("threads", arg, 1, 1024);
        return 0;
    case ARGP_KEY_ARG: parse_study(args, arg); return 0;
    case ARGP_KEY_END:
        if (args->study == NULL)
            cli_usage_error("which study? there are grouping, preset");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

emp_status cmd_ablate(int argc, char **argv, emp_error *err)
{
    const struct argp   argp = {options, parse, "STUDY", doc, NULL, NULL, NULL};
    emp_status          st = EMP_OK, made = EMP_OK;
    emp_ablation_table *table = NULL;
    cli_run_report      report;
    struct args         args = {
                .params = {.runtime = "tf-r1.3",
                           .jobs = {.folder = "runs", .threads = cli_default_threads()}}};

    cli_parse(&argp, argc, argv, &args);
    if (args.params.seed_count == 0) args.params.seed_count = args.study->seed_count;
    if (args.params.budget == 0) args.params.budget = args.study->budget;
    snprintf(report.text, sizeof report.text, "ablate %s", args.study->name);
    cli_run_report_begin(&report, &args.params.jobs);
    made = emp_ablation_make(&table, args.study, &args.params, err);
    cli_run_report_end(&report);
    if (made != EMP_OK && made != EMP_EINTERRUPTED) EMP_TRY(made);
    if (args.is_csv)
        emp_ablation_print_csv(stdout, table);
    else
        emp_ablation_print_text(stdout, table);
    if (made == EMP_EINTERRUPTED) {
        cli_run_report_warn(&args.params.jobs);
        st = made;
    }

cleanup:
    emp_ablation_destroy(table);
    return st;
}
