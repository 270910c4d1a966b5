/** \file cli/commands/studies/studies.h
 * Options and runs that commands share: comparisons of methods or of arms of one, for `bench placers`
 * and `ablate`, and arms that a definition lists, for `ablate` and `study`.
 */
#ifndef EMP_CLI_COMMANDS_STUDIES_STUDIES_H
#define EMP_CLI_COMMANDS_STUDIES_STUDIES_H

#include <argp.h>

#include "bench/compare/comparison.h"
#include "bench/studies/ablation.h"
#include "cli/options/jobs_options.h"

typedef struct {
    emp_comparison_params params;
    bool                  is_forced;
    bool                  has_budgets; /**< given, instead of the default */
    const char           *given; /**< the last of these options that was given, or NULL */
    const char           *rankings, *times; /**< files, each of which may be NULL */
    const char           *curves, *changes, *figure, *figure_row, *page;
} cli_comparison;

/** Parser of the options. A command adds it as an argp child with its cli_comparison as input. */
extern const struct argp cli_comparison_argp;

/** The defaults: the tasks of Table 1 and fresh ones. */
cli_comparison cli_comparison_default(void);

/** Loads the tasks, makes the comparison with the options of its runs, prints it, and writes the
 * files. Without --runtime each task has the profile that fits it.
 * \param title  Beside the bar: "placers". */
emp_status cli_comparison_run(cli_comparison           *comparison,
                              const cli_trials_options *trials, const char *title,
                              emp_error *err);

/** Parser of the options of runs, --arms and --full. A command adds it as an argp child with its
 * cli_trials_options as input. */
extern const struct argp cli_arms_argp;

/** Makes the runs and prints their table.
 * \param title  Names them beside the bar: "ablate hdp".
 * \param note   OPTIONAL. A sentence for people, below the table. */
emp_status cli_arms_run(const cli_trials_options *trials, const emp_ablation *definition,
                        const char *title, const char *note, emp_error *err);

#endif /* EMP_CLI_COMMANDS_STUDIES_STUDIES_H */
