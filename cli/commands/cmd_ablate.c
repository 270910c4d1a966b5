// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace ablate STUDY: a method with one choice changed at a time. */
#include <stdio.h>
#include <string.h>

#include "bench/tables/ablation.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/options/jobs_options.h"
#include "cli/options/shard_options.h"

enum { KEY_ARMS = 256, KEY_FULL };

struct args {
    cli_jobs_options    run;
    const char         *arms; /**< comma-separated studies and arms, or NULL */
    const emp_ablation *study;
    bool                is_full;
    emp_sheet_format    format;
};

static const struct argp_option options[] = {
    {"arms", KEY_ARMS, "A,B,...", 0,
     "Only these arms (\"groups=64\") or kinds of them (grouping: grouping, groups, "
     "order, window, reward, objective; hdp: literal, undone, back, defect; refine: "
     "stages, "
     "grouping, guiding); the default "
     "is always made",
     0},
    {"full", KEY_FULL, NULL, 0, "All evaluations and seeds, not those of a first study",
     0},
    {0},
};

static const char doc[] =
    "Run a method with one choice changed at a time. The study \"grouping\", of the "
    "planner hdp: who groups ops, number and order of groups, what the grouper sees, "
    "form of the reward, what rewards are for. The study \"hdp\", of its preset paper: "
    "each choice of ours undone, all of them (preset literal), and literal with one of "
    "them back. The study \"refine\": what each choice of "
    "the method refine contributes.\v" CLI_JOBS_DOC CLI_SHARD_DOC
    "Unless others are given, grouping takes the rows inception_v3 and nmt2, hdp the row "
    "nmt2, and refine those of grouping, rnnlm and nmt4. A first study has one seed and "
    "few evaluations; the lines below it name them. With --full, grouping has 3 seeds "
    "and 2000 evaluations a run, hdp 5 and 2000, refine 5 and 4000.\n\n"
    "  emplace ablate grouping --rows nmt2 --arms grouping,groups=64 \\\n"
    "      --budget 400 --seeds 1\n"
    "  emplace ablate hdp --rows nmt4 --arms literal,undone\n"
    "  emplace ablate refine --rows nmt2 --arms guiding --seeds 2\n"
    "  emplace ablate grouping --full --format csv > bench/results/ablate_grouping.csv";

static const emp_ablation *const studies[] = {&emp_ablation_grouping, &emp_ablation_hdp,
                                              &emp_ablation_refine};

static void parse_study(struct args *args, const char *name)
{
    if (args->study != NULL) cli_usage_error("one study only, not also \"%s\"", name);
    for (size_t i = 0; i < sizeof studies / sizeof *studies; i++)
        if (strcmp(name, studies[i]->name) == 0) args->study = studies[i];
    if (args->study == NULL)
        cli_usage_error("there is no study \"%s\"; there are grouping, hdp, refine",
                        name);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->run;
        state->child_inputs[1] = &args->format;
        state->child_inputs[2] = &args->run.jobs;
        return 0;
    case KEY_ARMS: args->arms = arg; return 0;
    case KEY_FULL: args->is_full = true; return 0;
    case ARGP_KEY_ARG: parse_study(args, arg); return 0;
    case ARGP_KEY_END:
        if (args->study == NULL)
            cli_usage_error("which study? there are grouping, hdp, refine");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_jobs_argp, 0, NULL, 0},
                                             {&cli_format_argp, 0, NULL, 0},
                                             {&cli_shard_argp, 0, NULL, 0},
                                             {0}};
const struct argp cmd_ablate_argp = {options, parse, "STUDY", doc, children, NULL, NULL};

emp_status cmd_ablate(int argc, char **argv, emp_error *err)
{
    emp_status          st = EMP_OK, made = EMP_OK;
    emp_ablation_table *table = NULL;
    cli_run_report      report;
    struct args         args = {.run = cli_jobs_options_default()};

    cli_parse(&cmd_ablate_argp, argc, argv, &args);
    const cli_jobs_options *run = &args.run;
    emp_ablation_params     params = {.rows = run->rows,
                                      .arms = args.arms,
                                      .runtime = run->runtime,
                                      .is_full = args.is_full,
                                      .seed_count = run->seed_count,
                                      .budget = run->budget,
                                      .jobs = run->jobs};
    snprintf(report.text, sizeof report.text, "ablate %s", args.study->name);
    cli_run_report_begin(&report, &params.jobs);
    made = emp_ablation_make(&table, args.study, &params, err);
    cli_run_report_end(&report);
    if (made != EMP_OK && made != EMP_EINTERRUPTED) EMP_TRY(made);
    if (cli_shard_is_done(made, &params.jobs)) goto cleanup;
    EMP_TRY(emp_ablation_print(stdout, table, args.format, err));
    st = cli_run_report_warn(made, &params.jobs);

cleanup:
    emp_ablation_destroy(table);
    return st;
}
