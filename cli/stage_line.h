/** \file cli/stage_line.h
 * The line that says what a program does before it can tell how much is left: on a terminal,
 * after two seconds, "m-sct: solving the linear program, 12 s". A thread of its own draws it,
 * as libraries that work for long do not call back.
 */
#ifndef EMP_CLI_STAGE_LINE_H
#define EMP_CLI_STAGE_LINE_H

#include <pthread.h>
#include <stdbool.h>

#include "cli/progress.h"

typedef struct {
    const char     *title;
    const char     *otherwise;
    cli_bar         bar;
    pthread_t       thread;
    pthread_mutex_t mutex;
    pthread_cond_t  has_ended;
    bool            is_running, is_ending;
} cli_stage_line;

/** Begins to draw \a title, emp_stage_get() and the seconds since now. Both texts are borrowed
 * until the end. Where standard error is no terminal, or no thread can be had, nothing is
 * drawn.
 * \param otherwise  Stands for the stage where none is set. */
void cli_stage_line_begin(cli_stage_line *line, const char *title, const char *otherwise);

/** Removes the line; does nothing of a line that has ended. */
void cli_stage_line_end(cli_stage_line *line);

#endif /* EMP_CLI_STAGE_LINE_H */
