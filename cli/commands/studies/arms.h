/** \file cli/commands/studies/arms.h
 * What `ablate` and `study` share: options for runs that differ in one choice, and how these are
 * made and printed.
 */
#ifndef EMP_CLI_COMMANDS_STUDIES_ARMS_H
#define EMP_CLI_COMMANDS_STUDIES_ARMS_H

#include <argp.h>

#include "bench/studies/ablation.h"
#include "cli/options/jobs_options.h"

typedef struct {
    cli_trials_options trials;
    const char        *arms; /**< comma-separated kinds and arms, or NULL */
    bool               is_full;
} cli_arms;

/** Options and their parser. A command adds it as an argp child with its cli_arms as input. */
extern const struct argp cli_arms_argp;

/** What holds when an option is not given. */
cli_arms cli_arms_default(void);

/** Makes the runs and prints their table.
 * \param title  Names them beside the bar: "ablate hdp".
 * \param note   OPTIONAL. A sentence for people, below the table. */
emp_status cli_arms_run(const cli_arms *arms, const emp_ablation *definition,
                        const char *title, const char *note, emp_error *err);

#endif /* EMP_CLI_COMMANDS_STUDIES_ARMS_H */
