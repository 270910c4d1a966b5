// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/commands/studies/studies.h"

#include <stdio.h>

#include "cli/cli.h"

enum { KEY_ARMS = 256, KEY_FULL };

static const struct argp_option options[] = {
    {"arms", KEY_ARMS, "A,B,...", 0,
     "Only these arms (\"groups=64\") or kinds of them (\"groups\"); the first arm is "
     "always made, and a wrong name has all listed",
     0},
    {"full", KEY_FULL, NULL, 0, "All evaluations and seeds, more than in a first study",
     0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    cli_trials_options *o = (cli_trials_options *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = o; return 0;
    case KEY_ARMS: o->run.arms = arg; return 0;
    case KEY_FULL: o->run.is_full = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_trials_argp, 0, NULL, 0}, {0}};
const struct argp cli_arms_argp = {options, parse, NULL, NULL, children, NULL, NULL};

struct study {
    const emp_ablation *definition;
    cli_trials_options  options;
    emp_ablation_table *table;
    const char         *note;
};

static emp_status make(void *study, emp_error *err)
{
    struct study *s = (struct study *)study;

    return emp_ablation_make(&s->table, s->definition, &s->options.run, err);
}

static emp_status print(const void *study, bool is_whole, emp_error *err)
{
    const struct study *s = (const struct study *)study;

    (void)is_whole;
    return emp_ablation_print(stdout, s->table, s->note, s->options.format, err);
}

emp_status cli_arms_run(const cli_trials_options *trials, const emp_ablation *definition,
                        const char *title, const char *note, emp_error *err)
{
    struct study study = {.definition = definition, .options = *trials, .note = note};
    const cli_trials_study what = {title, &study.options.run.jobs, make, print, &study};
    const emp_status       st = cli_trials_run(&what, err);
    emp_ablation_destroy(study.table);
    return st;
}
