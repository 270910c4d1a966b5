/** \file cli/options/jobs_options.h
 * What commands have in common that make many runs, `table`, `ablate`, `study` and
 * `bench placers`: options, and reports of progress.
 */
#ifndef EMP_CLI_OPTIONS_JOBS_OPTIONS_H
#define EMP_CLI_OPTIONS_JOBS_OPTIONS_H

#include <argp.h>
#include <stdint.h>

#include "bench/compare/tasks.h"
#include "cli/progress.h"
#include "run/jobs/jobs.h"
#include "run/sheet/sheet.h"

typedef struct {
    const char     *rows; /**< comma-separated keys, or NULL */
    const char     *runtime;
    int32_t         seed_count; /**< 0 = not given */
    int64_t         budget;     /**< evaluations; 0 = not given */
    emp_jobs_params jobs;       /**< folder, threads, is_fresh */
} cli_jobs_options;

/** Options and their parser. A command adds it as an argp child with its cli_jobs_options as
 * input. */
extern const struct argp cli_jobs_argp;

/** For the text after the options in --help, which argp wraps. */
#define CLI_JOBS_DOC                                                              \
    "Runs that have a record are read, the others are made and recorded; Ctrl-C " \
    "ends after the current batches, and the next call goes on from there. A "    \
    "second Ctrl-C ends at once, and the next call goes on from the last "        \
    "checkpoint.\n\n"

/** What holds when an option is not given. */
cli_jobs_options cli_jobs_options_default(void);

/** The value of --tasks: emp_task_list_add(), which warns of published instances that are left
 * out. */
emp_status cli_task_list_add(emp_task_list *list, const char *words, emp_error *err);

/** That none of the outputs, each of which may be NULL, leads to a file that the list comes from: one of
 * \a words, or the graph or machine file of a task. */
emp_status cli_task_list_check_inputs(const emp_task_list *list, const char *words,
                                      const char *const *outputs, int32_t count,
                                      emp_error *err);

/** What such a command says on standard error meanwhile: the cells as they become known on a
 * terminal, else a line a run. */
typedef struct {
    cli_board board;
    cli_bar   bar;      /**< of work after the runs */
    char      text[32]; /**< beside the bar: "table 1" */
} cli_run_report;

/** Lets the runs report to \a report, and Ctrl-C end them. Joins the programs that mpirun started:
 * they share the runs, rank 0 alone reports, and they are stopped as cli_stop_for_scheduler() says.
 * \retval EMP_EUNSUPPORTED \retval EMP_EEXTERNAL  As emp_ranks_join(). */
emp_status cli_run_report_begin(cli_run_report *report, emp_jobs_params *jobs,
                                emp_error *err);
/** \return \a made, or EMP_EELSEWHERE if another rank has failed. */
emp_status cli_run_report_end(cli_run_report *report, const emp_jobs_params *jobs,
                              emp_status made, emp_error *err);

/** How the runs ended: after an interrupt it says how to go on. \return \a made */
emp_status cli_run_report_warn(emp_status made, const emp_jobs_params *jobs);

/** The option and its parser. A command adds it as an argp child with its emp_jobs_params as input. A
 * part is stopped as cli_stop_for_scheduler() says. */
extern const struct argp cli_shard_argp;

/** For the text after the options in --help. */
#define CLI_SHARD_DOC                                                                 \
    "With --shard 2/8 it makes the second of eight parts of all runs and prints\n"    \
    "no table. Once all parts are made, in one folder or joined by emplace merge,\n"  \
    "the same command without --shard reads them and prints the table.\n"             \
    "SIGTERM, SIGHUP and SIGUSR1 save what a part is at and end it with status 75.\n" \
    "Given again, its command goes on. scripts/slurm-array submits all parts.\n"      \
    "Under mpirun rank 0 hands out the runs, and the others make them.\n\n"

/** Whether \a made is the end of a shard, or of a rank that is not 0: neither prints a table. A shard
 * prints a line when its runs are all in the folder, or warns when it was stopped.
 * \param[out] st  What the command returns then. */
bool cli_shard_is_done(emp_status *st, emp_status made, const emp_jobs_params *jobs);

typedef struct {
    const char      *spec, *machine, *runtime;
    int32_t          samples, least_samples; /**< fewer are refused */
    uint64_t         seed;
    emp_sheet_format format;
} cli_study_options;

/** Options and their parser, to be used as they are or as an argp child; the input is a
 * cli_study_options. SPEC and --machine must be given. */
extern const struct argp cli_study_argp;

/** What holds when an option is not given. */
cli_study_options cli_study_options_default(int32_t samples, int32_t least_samples);

#endif /* EMP_CLI_OPTIONS_JOBS_OPTIONS_H */
