/** \file cli/options/run_log.h
 * --log FILE: a line of JSON after each update of a run, which docs/formats.md describes, or, where the name has
 * "tfevents" in it, scalars for TensorBoard.
 *
 *     cli_run_log log = {.path = "run.jsonl"};
 *     cli_run_log_add(&log, progress);            // after each batch
 *     cli_run_log_close(&log);
 */
#ifndef EMP_CLI_OPTIONS_RUN_LOG_H
#define EMP_CLI_OPTIONS_RUN_LOG_H

#include <stdio.h>

#include "run/loop.h"

/** Zero-initialise but for the path. */
typedef struct {
    const char *path; /**< NULL: nothing is written */
    FILE       *file;
    bool        has_events; /**< it is for TensorBoard */
    int         failure;    /**< errno of the first failure; 0: none */
} cli_run_log;

/** Writes the line of the batch that has just ended, and flushes it. The first call opens the file: a run that
 * goes on from a checkpoint keeps the lines of the updates before that, any other begins anew. A failure is
 * reported by cli_run_log_close(). */
void cli_run_log_add(cli_run_log *log, const emp_progress *progress);

/** Closes the file, and warns if some line could not be written. */
void cli_run_log_close(cli_run_log *log);

#endif /* EMP_CLI_OPTIONS_RUN_LOG_H */
