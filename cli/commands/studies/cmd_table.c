// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace table 1|2: a table of the paper beside ours. */
#include <stdio.h>
#include <string.h>

#include "bench/tables/paper_table.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/options/jobs_options.h"

enum { KEY_METHODS = 256, KEY_SENSITIVITY, KEY_FULL };

struct args {
    cli_jobs_options       run;
    const char            *methods; /**< comma-separated keys of columns, or NULL */
    bool                   is_full, has_other_sizes;
    const emp_paper_table *definition;
    emp_sheet_format       format;
};

static const struct argp_option options[] = {
    {"full", KEY_FULL, NULL, 0, "All budgets and seeds: an hour, not a minute", 0},
    {"methods", KEY_METHODS, "A,B,...", 0,
     "Only these columns: method names in table 1, and hdp-literal; random, learned, "
     "improvement, none in "
     "table 2",
     0},
    {"other-sizes", KEY_SENSITIVITY, NULL, 0,
     "Table 1 under other plausible sizes of its workloads", 0},
    {0},
};

static const char doc[] =
    "Make a table of A Hierarchical Model for Device Placement, ours beside the paper's: "
    "1, methods on six models; 2, groups drawn at random and learned.\v" CLI_JOBS_DOC
        CLI_SHARD_DOC
    "A first table has all rows and columns, but smaller budgets and one seed, or 3 in "
    "table 2; the lines below it name them. With --full there are 5 seeds. --budget is "
    "not for Random.\n\n"
    "  emplace table 1\n"
    "  emplace table 1 --rows rnnlm,nmt2 --methods expert,hdp --seeds 5\n"
    "  emplace table 1 --full --format csv > bench/results/table1.csv\n"
    "  emplace table 1 --other-sizes --rows nmt2,nmt4\n"
    "  emplace table 2 --rows nmt2 --budget 2000";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->run;
        state->child_inputs[1] = &args->format;
        state->child_inputs[2] = &args->run.jobs;
        return 0;
    case KEY_FULL: args->is_full = true; return 0;
    case KEY_METHODS: args->methods = arg; return 0;
    case KEY_SENSITIVITY: args->has_other_sizes = true; return 0;
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
        if (!args->has_other_sizes) return 0;
        if (args->definition != &emp_paper_table1)
            cli_usage_error("--other-sizes is for table 1");
        args->definition = &emp_paper_sensitivity;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_jobs_argp, 0, NULL, 0},
                                             {&cli_format_argp, 0, NULL, 0},
                                             {&cli_shard_argp, 0, NULL, 0},
                                             {0}};
const struct argp cmd_table_argp = {options, parse, "1|2", doc, children, NULL, NULL};

emp_status cmd_table(int argc, char **argv, emp_error *err)
{
    emp_status     st = EMP_OK, made = EMP_OK;
    emp_table     *table = NULL;
    cli_run_report report;
    struct args    args = {.run = cli_jobs_options_default()};

    cli_parse(&cmd_table_argp, argc, argv, &args);
    emp_paper_table_params params = {.rows = args.run.rows,
                                     .methods = args.methods,
                                     .runtime = args.run.runtime,
                                     .seed_count = args.run.seed_count,
                                     .budget = args.run.budget,
                                     .is_full = args.is_full,
                                     .jobs = args.run.jobs};
    snprintf(report.text, sizeof report.text, "table %s", args.definition->name);
    EMP_TRY(cli_run_report_begin(&report, &params.jobs, err));
    made = emp_paper_table_make(&table, args.definition, &params, err);
    made = cli_run_report_end(&report, &params.jobs, made, err);
    if (made != EMP_OK && made != EMP_EINTERRUPTED) EMP_TRY(made);
    if (cli_shard_is_done(&st, made, &params.jobs)) goto cleanup;
    EMP_TRY(emp_table_print(stdout, table, args.format, err));
    st = cli_run_report_warn(made, &params.jobs);

cleanup:
    emp_table_destroy(table);
    return st;
}
