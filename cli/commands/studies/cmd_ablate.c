// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace ablate STUDY: a method with one choice changed at a time. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands/studies/arms.h"

struct args {
    cli_arms            arms;
    const emp_ablation *study;
};

static const char doc[] =
    "Run a method with one choice changed at a time. The study \"grouping\", of the "
    "planner hdp: who groups ops, number and order of groups, what the grouper sees, "
    "form of the reward, what rewards are for. The study \"hdp\", of its preset paper: "
    "each choice of ours undone, all of them (preset literal), and literal with one of "
    "them back. The study \"refine\": what each choice of "
    "the method refine contributes.\v"
    "Kinds of arms: grouping has grouping, groups, order, window, reward, objective; hdp "
    "has literal, undone, back, defect; refine has stages, grouping, "
    "guiding.\n\n" CLI_JOBS_DOC CLI_SHARD_DOC
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
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->arms; return 0;
    case ARGP_KEY_ARG: parse_study(args, arg); return 0;
    case ARGP_KEY_END:
        if (args->study == NULL)
            cli_usage_error("which study? there are grouping, hdp, refine");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_arms_argp, 0, NULL, 0}, {0}};
const struct argp cmd_ablate_argp = {NULL, parse, "STUDY", doc, children, NULL, NULL};

emp_status cmd_ablate(int argc, char **argv, emp_error *err)
{
    struct args args = {.arms = cli_arms_default()};
    char        title[64];

    cli_parse(&cmd_ablate_argp, argc, argv, &args);
    snprintf(title, sizeof title, "ablate %s", args.study->name);
    return cli_arms_run(&args.arms, args.study, title, NULL, err);
}
