// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace table 1|2: a table of the paper beside ours. */
#include <stdio.h>

#include "base/text/options.h"
#include "bench/tables/table.h"
#include "cli/cli.h"
#include "cli/options/jobs_options.h"

struct args {
    cli_trials_options     trials;
    bool                   has_other_sizes, is_relative;
    const emp_paper_table *definition;
    emp_table             *table;
};

static const struct argp_option options[] = {
    {"full", CLI_FLAG(struct args, trials.run.is_full), NULL, 0,
     "All budgets and seeds: an hour, not a minute", 0},
    {"methods", CLI_TEXT(struct args, trials.run.arms), "A,B,...", 0,
     "Only these columns: method names in table 1, hdp-literal, and methods of your own "
     "(mine.py, ./mine.so, cmd:...); random, learned, improvement, none in table 2",
     0},
    {"other-sizes", CLI_FLAG(struct args, has_other_sizes), NULL, 0,
     "Table 1 under other plausible sizes of its workloads", 0},
    {"relative", CLI_FLAG(struct args, is_relative), NULL, 0,
     "Table 1 with each time divided by the time of the row's human expert, or of one "
     "GPU where there is none: ours by ours, the paper's by the paper's",
     0},
    {0},
};

static const char doc[] =
    "Make a table of A Hierarchical Model for Device Placement, ours beside the paper's: "
    "1, methods on six models; 2, groups drawn at random and learned.\v" CLI_JOBS_DOC
        CLI_SHARD_DOC
    "A first table has all rows and columns, but smaller budgets and one seed, or 3 in "
    "table 2; the lines below it name them. With --full there are 5 seeds. --budget does "
    "not count for Random.\n\n"
    "  emplace table 1\n"
    "  emplace table 1 --rows rnnlm,nmt2 --methods expert,hdp --seeds 5\n"
    "  emplace table 1 --full --format csv > bench/results/table1.csv\n"
    "  emplace table 1 --relative --methods expert,mincut,hdp\n"
    "  emplace table 1 --other-sizes --rows nmt2,nmt4\n"
    "  emplace table 2 --rows nmt2 --budget 2000";

/* Checks options that are for table 1 once all are known. */
static void check_options(struct args *args)
{
    const char *methods = args->trials.run.arms;

    if (args->definition == NULL)
        cli_usage_error("which table? there are table 1 and table 2");
    if (args->has_other_sizes && args->definition != &emp_paper_table1)
        cli_usage_error("--other-sizes is for table 1");
    if (args->is_relative && args->definition != &emp_paper_table1)
        cli_usage_error("--relative is for table 1");
    if (args->is_relative && !emp_word_list_has(methods, "expert") &&
        !emp_word_list_has(methods, "gpu"))
        cli_usage_error("--relative divides by the expert or one GPU; add expert or gpu "
                        "to --methods");
    if (args->has_other_sizes) args->definition = &emp_paper_sensitivity;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->trials; return 0;
    case ARGP_KEY_ARG:
        if (args->definition != NULL)
            cli_usage_error("one table only, not also \"%s\"", arg);
        args->definition = emp_paper_table_find(arg);
        if (args->definition == NULL)
            cli_usage_error("there is no table \"%s\"; there are table 1 and table 2",
                            arg);
        return 0;
    case ARGP_KEY_END: check_options(args); return 0;
    default: return cli_store(key, arg, args);
    }
}

static const struct argp_child children[] = {{&cli_trials_argp, 0, NULL, 0}, {0}};
const struct argp cmd_table_argp = {options, parse, "1|2", doc, children, NULL, NULL};

static emp_status make(void *study, emp_error *err)
{
    struct args *args = (struct args *)study;

    const emp_status st =
        emp_paper_table_make(&args->table, args->definition, &args->trials.run, err);

    if (args->table != NULL && args->is_relative) emp_table_relate(args->table);
    return st;
}

static emp_status print(const void *study, bool is_whole, emp_error *err)
{
    const struct args *args = (const struct args *)study;

    (void)is_whole;
    return emp_table_print(stdout, args->table, args->trials.format, err);
}

emp_status cmd_table(int argc, char **argv, emp_error *err)
{
    struct args            args = {.trials = cli_trials_options_default()};
    char                   title[32];
    const cli_trials_study what = {title, &args.trials.run.jobs, make, print, &args};

    cli_parse(&cmd_table_argp, argc, argv, &args);
    snprintf(title, sizeof title, "table %s", args.definition->name);
    const emp_status st = cli_trials_run(&what, err);
    emp_table_destroy(args.table);
    return st;
}
