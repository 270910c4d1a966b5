/** \file cli/options/jobs_options.h
 * Options of commands that make many runs, as `table` and `study`, and one way to make and print
 * them, with reports of progress, shards, ranks and interrupts.
 */
#ifndef EMP_CLI_OPTIONS_JOBS_OPTIONS_H
#define EMP_CLI_OPTIONS_JOBS_OPTIONS_H

#include <argp.h>
#include <stdint.h>

#include "bench/compare/tasks.h"
#include "bench/trials/trials.h"
#include "cli/progress.h"
#include "run/sheet/sheet.h"

/** The options of a study. */
typedef struct {
    emp_trials_params run; /**< 0 and NULL: not given */
    emp_sheet_format  format;
} cli_trials_options;

/** Parser of the options of runs, --shard and --format. A command adds it as an argp child with its
 * cli_trials_options as input. SIGTERM and the like stop a shard as cli_stop_for_scheduler() says. */
extern const struct argp cli_trials_argp;

/** For the text after the options in --help, which argp wraps. */
#define CLI_JOBS_DOC                                                              \
    "Runs that have a record are read, the others are made and recorded; Ctrl-C " \
    "ends after the current batches, and the next call goes on from there. A "    \
    "second Ctrl-C ends at once, and the next call goes on from the last "        \
    "checkpoint.\n\n"

#define CLI_SHARD_DOC                                                                 \
    "With --shard 2/8 it makes the second of eight parts of all runs and prints\n"    \
    "no table. Once all parts are made, in one folder or joined by emplace merge,\n"  \
    "the same command without --shard reads them and prints the table.\n"             \
    "SIGTERM, SIGHUP and SIGUSR1 save what a part is at and end it with status 75.\n" \
    "Given again, its command goes on. scripts/slurm-array submits all parts.\n"      \
    "Under mpirun rank 0 hands out the runs, and the others make them.\n\n"

/** The default when an option is not given. */
cli_trials_options cli_trials_options_default(void);

/** The value of --tasks: emp_task_list_add(), which warns of published instances that are left
 * out. */
emp_status cli_task_list_add(emp_task_list *list, const char *words, emp_error *err);

/** That none of the outputs, each of which may be NULL, leads to a file of a list of words, "a.json,b.json". */
emp_status cli_words_check_inputs(const char *words, const char *const *outputs,
                                  int32_t count, emp_error *err);

/** That none of the outputs, each of which may be NULL, leads to a file that the list comes from: one of
 * \a words, or the graph or machine file of a task. */
emp_status cli_task_list_check_inputs(const emp_task_list *list, const char *words,
                                      const char *const *outputs, int32_t count,
                                      emp_error *err);

/** Exits 2 if an option says how to imitate, and nothing is imitated: it would seem to have been heeded. \a how: the
 * method's options. 0 and NULL: not given. */
void cli_imitation_check(const char *imitate, int64_t budget, const char *how,
                         int64_t rounds);

/** Reports of a study on standard error: the cells as they become known on a terminal, else a line
 * a run. It is the context of the jobs while they run. */
typedef struct {
    cli_board board;
    cli_bar   bar;      /**< of work after the runs */
    char      text[64]; /**< beside the bar: "table 1" */
} cli_run_report;

/** A study as a command runs it; both functions get \a study. */
typedef struct {
    const char *title; /**< beside the bar: "table 1" */
    emp_jobs_params
        *jobs; /**< what \a make passes on; reports and the stop flag are set here */
    emp_status (*make)(void *study, emp_error *err);
    /** Prints to standard output; \a is_whole is false after an interrupt. */
    emp_status (*print)(const void *study, bool is_whole, emp_error *err);
    void *study;
} cli_trials_study;

/** Makes a study with reports, lets Ctrl-C end it, and prints it. A shard prints one line instead, and
 * only rank 0 of the ranks that mpirun started prints. After an interrupt a warning says how to go
 * on.
 * \retval EMP_EINTERRUPTED  A study that was interrupted is printed as far as it is.
 * \retval EMP_EUNSUPPORTED, EMP_EEXTERNAL  As emp_ranks_join().
 * \retval EMP_EELSEWHERE    Another rank has failed. */
emp_status cli_trials_run(const cli_trials_study *study, emp_error *err);

/** A workload, a machine and samples. */
typedef struct {
    const char      *spec, *machine, *runtime;
    int32_t          samples, least_samples; /**< fewer are refused */
    uint64_t         seed;
    emp_sheet_format format;
} cli_study_options;

/** Options and their parser, to be used as they are or as an argp child; the input is a
 * cli_study_options. SPEC and --machine must be given. */
extern const struct argp cli_study_argp;

/** The default when an option is not given. */
cli_study_options cli_study_options_default(int32_t samples, int32_t least_samples);

#endif /* EMP_CLI_OPTIONS_JOBS_OPTIONS_H */
