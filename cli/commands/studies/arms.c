// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/commands/studies/studies.h"

#include <stdio.h>

#include "cli/cli.h"

enum { KEY_ARMS = 256, KEY_FULL };

static const struct argp_option options[] = {
    {"arms", KEY_ARMS, "A,B,...", 0,
     "Only these arms (\"groups=64\") or kinds of them (\"groups\"); the first arm is "
     "always "
     "made, and a wrong name has all listed",
     0},
    {"full", KEY_FULL, NULL, 0, "All evaluations and seeds, not those of a first study",
     0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    cli_arms *arms = (cli_arms *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &arms->trials; return 0;
    case KEY_ARMS: arms->arms = arg; return 0;
    case KEY_FULL: arms->is_full = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_trials_argp, 0, NULL, 0}, {0}};
const struct argp cli_arms_argp = {options, parse, NULL, NULL, children, NULL, NULL};

cli_arms cli_arms_default(void)
{
    return (cli_arms){.trials = {.run = cli_jobs_options_default()}};
}

struct study {
    const emp_ablation *definition;
    emp_ablation_params params;
    emp_ablation_table *table;
    const char         *note;
    emp_sheet_format    format;
};

static emp_status make(void *study, emp_error *err)
{
    struct study *s = (struct study *)study;

    return emp_ablation_make(&s->table, s->definition, &s->params, err);
}

static emp_status print(const void *study, bool is_whole, emp_error *err)
{
    const struct study *s = (const struct study *)study;

    (void)is_whole;
    return emp_ablation_print(stdout, s->table, s->note, s->format, err);
}

emp_status cli_arms_run(const cli_arms *arms, const emp_ablation *definition,
                        const char *title, const char *note, emp_error *err)
{
    const cli_jobs_options *run = &arms->trials.run;
    struct study            study = {.definition = definition,
                                     .params = {.rows = run->rows,
                                                .arms = arms->arms,
                                                .runtime = run->runtime,
                                                .is_full = arms->is_full,
                                                .seed_count = run->seed_count,
                                                .budget = run->budget,
                                                .jobs = run->jobs},
                                     .note = note,
                                     .format = arms->trials.format};
    const cli_trials_study  what = {title, &study.params.jobs, make, print, &study};
    const emp_status        st = cli_trials_run(&what, err);
    emp_ablation_destroy(study.table);
    return st;
}
