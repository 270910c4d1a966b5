// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace ablate: a method with one choice changed at a time, as a study here lists the choices, or
 * as --arms does. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/commands/studies/studies.h"

struct args {
    cli_trials_options  trials;
    cli_comparison      comparison;
    const char         *method, *preset;
    const emp_ablation *study;
};

static const struct argp_option options[] = {
    {"method", 'M', "NAME", 0,
     "In place of a STUDY: ablate this method, by the lists of options that --arms has "
     "between semicolons, as in \"base; groups=48\"",
     0},
    {"preset", CLI_TEXT(struct args, preset), "NAME", 0, "Preset of that method", 0},
    {0},
};

static const char doc[] =
    "Run a method with one choice changed at a time. The study \"grouping\", of the "
    "planner hdp: the grouper, the number and order of groups, the grouper's features, "
    "the form and the aim of the reward. The study \"hdp\", of its preset paper: each "
    "choice of ours undone, all of them (preset literal), and literal with one of them "
    "back. The study \"refine\": what each choice of the method refine contributes. With "
    "--method and --arms any method is ablated on any tasks.\v"
    "Kinds of arms: grouping has grouping, groups, order, window, reward, objective; hdp "
    "has literal, undone, back, defect; refine has stages, grouping, "
    "guiding.\n\n" CLI_JOBS_DOC CLI_SHARD_DOC
    "Unless others are given, grouping takes the rows inception_v3 and nmt2, hdp the row "
    "nmt2, and refine the rows of grouping, rnnlm and nmt4. A first study has one seed "
    "and few evaluations; the lines below it name them. With --full, grouping has 3 "
    "seeds and 2000 evaluations a run, hdp 5 and 2000, refine 5 and 4000.\n\n"
    "With --method each arm is a series, named by the options in which arms differ. "
    "Medians over 5 seeds have ranges, and over more seeds 95 % intervals, arms are "
    "ranked and tested over tasks, "
    "and --plot draws their curves. The tasks are Table 1's unless --tasks names others; "
    "there are 1000 evaluations a run, and nothing is re-scored without --draws.\n\n"
    "  emplace ablate grouping --rows nmt2 --arms grouping,groups=64 \\\n"
    "      --budget 400 --seeds 1\n"
    "  emplace ablate hdp --rows nmt4 --arms literal,undone\n"
    "  emplace ablate refine --rows nmt2 --arms guiding --seeds 2\n"
    "  emplace ablate grouping --full --format csv > bench/results/ablate_grouping.csv\n"
    "  emplace ablate --method hdp --tasks mine.txt --plot arms.svg \\\n"
    "      --arms \"base; grouping=names; grouping=metis,groups=48\"";

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

static void check(const struct args *args)
{
    if (args->study == NULL && args->method == NULL)
        cli_usage_error("which study? there are grouping, hdp, refine; or give --method "
                        "and --arms");
    if (args->study != NULL) {
        const char *given = args->method != NULL   ? "method"
                            : args->preset != NULL ? "preset"
                                                   : args->comparison.given;
        if (given != NULL)
            cli_usage_error("the study %s has its own method and tasks; leave --%s out",
                            args->study->name, given);
        return;
    }
    if (args->trials.run.arms == NULL)
        cli_usage_error("--method needs --arms, as in --arms \"base; groups=48\"");
    if (args->trials.run.is_full)
        cli_usage_error("--full is for a STUDY; give --budget and --seeds");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->trials;
        state->child_inputs[1] = &args->comparison;
        return 0;
    case 'M': args->method = arg; return 0;
    case ARGP_KEY_ARG: parse_study(args, arg); return 0;
    case ARGP_KEY_END: check(args); return 0;
    default: return cli_store(key, arg, args);
    }
}

static const struct argp_child children[] = {
    {&cli_arms_argp, 0, NULL, 0}, {&cli_comparison_argp, 0, NULL, 0}, {0}};
const struct argp cmd_ablate_argp = {options,  parse, "[STUDY]", doc,
                                     children, NULL,  NULL};

/* Arms of any method are the entrants of a comparison. */
static emp_status compare(struct args *args, emp_error *err)
{
    emp_status             st = EMP_OK;
    emp_comparison_params *p = &args->comparison.params;
    char                   command[EMP_RECORD_TEXT_BYTES], title[64];
    emp_entrant           *entrant = EMP_NEW_ARRAY(emp_entrant, EMP_COMPARISON_ENTRANTS);
    char                  *arms = emp_strdup(args->trials.run.arms);

    if (entrant == NULL || arms == NULL) EMP_FAIL(EMP_ENOMEM, "arms");
    snprintf(command, sizeof command, "ablate --method %s%s%s --arms \"%s\"",
             args->method, args->preset != NULL ? " --preset " : "",
             args->preset != NULL ? args->preset : "", args->trials.run.arms);
    snprintf(title, sizeof title, "ablate %s", args->method);
    EMP_TRY(emp_entrants_of_arms(entrant, &p->entrant_count, args->method, args->preset,
                                 arms, err));
    p->entrant = entrant;
    p->command = command;
    st = cli_comparison_run(&args->comparison, &args->trials, title, err);

cleanup:
    emp_free(entrant);
    emp_free(arms);
    return st;
}

emp_status cmd_ablate(int argc, char **argv, emp_error *err)
{
    struct args            args = {.trials = cli_trials_options_default(),
                                   .comparison = cli_comparison_default()};
    emp_comparison_params *p = &args.comparison.params;
    char                   title[64];

    p->tasks = "table1";
    p->draws = 0;
    p->budget[0] = (emp_comparison_budget){.evaluations = 1000};
    p->budget_count = 1;
    const char *runtime = args.trials.run.runtime;
    args.trials.run.runtime = NULL; /* without a STUDY, the one that fits each task */
    cli_parse(&cmd_ablate_argp, argc, argv, &args);
    if (args.study == NULL) return compare(&args, err);
    if (args.trials.run.runtime == NULL) args.trials.run.runtime = runtime;
    snprintf(title, sizeof title, "ablate %s", args.study->name);
    return cli_arms_run(&args.trials, args.study, title, NULL, err);
}
