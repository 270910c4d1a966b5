// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace study [NAME]: the open questions of the papers, and what answers each. */
#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"
#include "bench/studies/study.h"
#include "cli/cli.h"
#include "cli/commands/studies/studies.h"

struct args {
    cli_trials_options trials;
    const char        *name; /**< OPTIONAL */
};

static const char doc[] =
    "Answer an open question of the papers, or list the questions. A study runs the same "
    "tasks with one choice changed at a time, and prints step times and their ratio "
    "to the first arm's.\v" CLI_JOBS_DOC CLI_SHARD_DOC
    "A first study takes minutes; the lines below its table name seeds and evaluations. "
    "With --full it takes hours. Where another command answers the question, the study "
    "names it. --rows and --arms choose tasks and arms of a study, and a wrong name has "
    "them listed. docs/methods.md has the answers.\n\n"
    "  emplace study\n"
    "  emplace study colocation\n"
    "  emplace study constants --rows rnnlm10 --arms rate --budget 40\n"
    "  emplace study energy --seeds 3 --format csv > energy.csv";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->trials; return 0;
    case ARGP_KEY_ARG:
        if (args->name != NULL) cli_usage_error("one study only, not also \"%s\"", arg);
        args->name = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_arms_argp, 0, NULL, 0}, {0}};
const struct argp cmd_study_argp = {NULL, parse, "[NAME]", doc, children, NULL, NULL};

static json_t *json_study(const emp_study *s)
{
    char command[64];

    snprintf(command, sizeof command, "emplace study %s", s->name);
    return json_pack("{s:i, s:s, s:s, s:s*, s:s*, s:s*}", "number", emp_study_number(s),
                     "question", s->question, "paper", s->paper, "study",
                     s->arms != NULL || s->measure != NULL ? command : NULL, "command",
                     s->command, "missing", s->missing);
}

static emp_status list_studies(emp_sheet_format format, emp_error *err)
{
    cli_listing list;

    cli_listing_begin(&list, format);
    for (int32_t i = 0; emp_study_at(i) != NULL; i++) {
        const emp_study *s = emp_study_at(i);
        cli_listing_add(&list, s->name, s->question, json_study(s));
    }
    if (format == EMP_SHEET_TEXT) printf("emplace study NAME runs one.\n");
    return cli_listing_end(&list, EMP_OK, err);
}

/* A measure has neither arms nor runs. */
static void check_measure(const cli_trials_options *options, const emp_study *study)
{
    if (options->run.arms != NULL)
        cli_usage_error("study %s has no arms; leave --arms out", study->name);
    if (options->run.jobs.shard_count > 0)
        cli_usage_error("study %s makes no runs; leave --shard out", study->name);
    if (emp_ranks_count() > 1)
        cli_usage_error("study %s makes no runs to share; start it without mpirun",
                        study->name);
}

static emp_status measure(const cli_trials_options *options, const emp_study *study,
                          const char *title, const char *question, emp_error *err)
{
    emp_status               st = EMP_OK;
    emp_sheet                sheet = {0};
    cli_bar                  bar;
    const emp_trials_params *run = &options->run;
    const emp_measure_params params = {.rows = run->rows,
                                       .runtime = run->runtime,
                                       .is_full = options->run.is_full,
                                       .seed_count = run->seed_count,
                                       .budget = run->budget,
                                       .threads = run->jobs.threads,
                                       .on_progress = cli_bar_on_progress,
                                       .context = &bar};

    check_measure(options, study);
    cli_bar_init(&bar, title);
    st = emp_measure_make(&sheet, study->measure, &params, question, err);
    cli_bar_clear(&bar);
    if (st == EMP_OK) st = emp_sheet_print(stdout, &sheet, options->format, err);
    emp_sheet_clear(&sheet);
    return st;
}

static emp_status find_study(const emp_study **found, const char *name, emp_error *err)
{
    emp_nearest near = emp_nearest_begin(name, strlen(name), "");
    char        hint[EMP_NEAREST_BYTES];

    *found = emp_study_find(name);
    if (*found != NULL) return EMP_OK;
    for (int32_t i = 0; emp_study_at(i) != NULL; i++)
        emp_nearest_offer(&near, emp_study_at(i)->name, strlen(emp_study_at(i)->name));
    return EMP_ERROR(EMP_EINVAL, "there is no study \"%s\"%s; emplace study lists them",
                     name, emp_nearest_hint(&near, hint));
}

emp_status cmd_study(int argc, char **argv, emp_error *err)
{
    struct args      args = {.trials = cli_trials_options_default()};
    const emp_study *study = NULL;
    char             title[64], question[EMP_ERROR_MSG_BYTES];

    cli_parse(&cmd_study_argp, argc, argv, &args);
    if (args.name == NULL) return list_studies(args.trials.format, err);
    EMP_CHECK(find_study(&study, args.name, err));
    if (study->arms == NULL && study->measure == NULL)
        return cli_print_object(json_study(study), args.trials.format, err);
    snprintf(title, sizeof title, "study %s", study->name);
    emp_study_title(study, question);
    if (study->measure != NULL) return measure(&args.trials, study, title, question, err);
    return cli_arms_run(&args.trials, study->arms, title, question, err);
}
