// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bench placers: all methods on the same tasks with equal budgets. */
#include "cli/cli.h"
#include "cli/commands/studies/studies.h"

enum { KEY_OPTIONS = 256 };

struct args {
    cli_trials_options trials;
    cli_comparison     comparison;
};

static const struct argp_option options[] = {
    {"methods", CLI_TEXT(struct args, comparison.params.methods), "A,B,...", 0,
     "Only these: names of emplace methods, and methods of your own: mine.py, "
     "mine.py:Agent, ./mine.so, \"cmd:./mine --fast\", NAME=mine.py",
     0},
    {"options", KEY_OPTIONS, "METHOD:KEY=VALUE,...", 0,
     "Options of one of them; may be given again for another", 0},
    {"against", CLI_TEXT(struct args, comparison.params.against), "METHOD", 0,
     "Compare all methods with this one, too, not only with the best: ratio and p", 0},
    {0},
};

static const char doc[] =
    "Run every placement method on the same tasks with equal budgets and compare "
    "them: medians with bootstrap intervals, gap to the lower bound, ranks and tests "
    "over "
    "tasks, and whether the ranking would be the same with somewhat other costs. Tasks "
    "on "
    "which constants of our own methods were chosen, and fresh ones, are reported "
    "apart.\v" CLI_JOBS_DOC CLI_SHARD_DOC
    "Without --seeds there are 5. --budget N is --budgets with one.\n\n"
    "  emplace bench placers --rows rnnlm --methods expert,anneal --seeds 2\n"
    "  emplace bench placers --tasks fresh --clock 5,30 --times times.csv\n"
    "  emplace bench placers --format csv > bench/results/placers.csv\n"
    "  emplace bench placers --plot nmt4.svg --curves curves.csv\n"
    "  emplace bench placers --page placers.html\n"
    "  emplace bench placers --tasks mine.txt --methods gpu,metis,local\n"
    "  emplace bench placers --rows rnnlm --methods anneal,go-emplace \\\n"
    "      --options go-emplace:width=64,max_nodes=512 --seeds 3\n"
    "  emplace bench placers --rows rnnlm --methods refine,anneal,my_agent.py\n"
    "  emplace bench placers --tasks placebench:test --budgets 300 --seeds 3 --draws 0";

static void add_options(emp_comparison_params *p, const char *text)
{
    if (p->options_count == EMP_COMPARISON_ENTRANTS)
        cli_usage_error("at most %d methods can have --options", EMP_COMPARISON_ENTRANTS);
    p->options[p->options_count++] = text;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->trials;
        state->child_inputs[1] = &args->comparison;
        return 0;
    case KEY_OPTIONS: add_options(&args->comparison.params, arg); return 0;
    case ARGP_KEY_ARG: cli_usage_error("\"%s\" is one argument too many", arg);
    default: return cli_store(key, arg, args);
    }
}

static const struct argp_child children[] = {
    {&cli_trials_argp, 0, NULL, 0}, {&cli_comparison_argp, 0, NULL, 0}, {0}};
const struct argp cmd_bench_placers_argp = {options,  parse, NULL, doc,
                                            children, NULL,  NULL};

emp_status cmd_bench_placers(int argc, char **argv, emp_error *err)
{
    struct args args = {.trials = cli_trials_options_default(),
                        .comparison = cli_comparison_default()};

    args.trials.run.runtime = NULL; /* the one that fits each task */
    cli_parse(&cmd_bench_placers_argp, argc, argv, &args);
    return cli_comparison_run(&args.comparison, &args.trials, "placers", err);
}
