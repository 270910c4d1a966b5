// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/commands/studies/arms.h"

#include <stdio.h>

#include "cli/cli.h"
#include "cli/format.h"
#include "cli/options/jobs_options.h"

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
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arms->run;
        state->child_inputs[1] = &arms->format;
        state->child_inputs[2] = &arms->run.jobs;
        return 0;
    case KEY_ARMS: arms->arms = arg; return 0;
    case KEY_FULL: arms->is_full = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_jobs_argp, 0, NULL, 0},
                                             {&cli_format_argp, 0, NULL, 0},
                                             {&cli_shard_argp, 0, NULL, 0},
                                             {0}};
const struct argp cli_arms_argp = {options, parse, NULL, NULL, children, NULL, NULL};

cli_arms cli_arms_default(void) { return (cli_arms){.run = cli_jobs_options_default()}; }

emp_status cli_arms_run(const cli_arms *arms, const emp_ablation *definition,
                        const char *title, const char *note, emp_error *err)
{
    emp_status              st = EMP_OK, made = EMP_OK;
    emp_ablation_table     *table = NULL;
    cli_run_report          report;
    const cli_jobs_options *run = &arms->run;
    emp_ablation_params     params = {.rows = run->rows,
                                      .arms = arms->arms,
                                      .runtime = run->runtime,
                                      .is_full = arms->is_full,
                                      .seed_count = run->seed_count,
                                      .budget = run->budget,
                                      .jobs = run->jobs};

    snprintf(report.text, sizeof report.text, "%s", title);
    EMP_TRY(cli_run_report_begin(&report, &params.jobs, err));
    made = emp_ablation_make(&table, definition, &params, err);
    made = cli_run_report_end(&report, &params.jobs, made, err);
    if (made != EMP_OK && made != EMP_EINTERRUPTED) EMP_TRY(made);
    if (cli_shard_is_done(&st, made, &params.jobs)) goto cleanup;
    EMP_TRY(emp_ablation_print(stdout, table, note, arms->format, err));
    st = cli_run_report_warn(made, &params.jobs);

cleanup:
    emp_ablation_destroy(table);
    return st;
}
