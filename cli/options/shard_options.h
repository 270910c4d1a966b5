/** \file cli/options/shard_options.h
 * --shard, of commands whose runs do not depend on each other.
 */
#ifndef EMP_CLI_OPTIONS_SHARD_OPTIONS_H
#define EMP_CLI_OPTIONS_SHARD_OPTIONS_H

#include <argp.h>

#include "run/jobs/jobs.h"

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

#endif /* EMP_CLI_OPTIONS_SHARD_OPTIONS_H */
