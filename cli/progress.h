/** \file cli/progress.h
 * Progress on standard error. On a terminal it is drawn in place: a bar, a line for work of unknown length, and a
 * table whose cells become known; bars and lines appear after two seconds. Elsewhere it is a line a minute. */
#ifndef EMP_CLI_PROGRESS_H
#define EMP_CLI_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>

#include "run/jobs/jobs.h"

typedef struct {
    const char *text; /**< beside the bar, where cli_bar_on_progress() draws it */
    bool        is_terminal;
    bool        is_drawn;
    double      start_s, drawn_s;
} cli_bar;

/** \a text may be NULL. */
void cli_bar_init(cli_bar *bar, const char *text);

/** Draws the bar, at most ten times a second. \a remaining_s may be infinite: not known. */
void cli_bar_draw(cli_bar *bar, double done_frac, double remaining_s, const char *text);

/** Draws the bar with the time that is left as the share done lets expect. */
void cli_bar_draw_share(cli_bar *bar, double done_frac, const char *text);

/** The same with the bar's own text: for functions that report their progress to a cli_bar. */
void cli_bar_on_progress(void *bar, double done_frac);

/** Removes what is drawn, so that other lines can be printed. */
void cli_bar_clear(cli_bar *bar);

/* The line for work of unknown length: "m-sct: solving the linear program, 12 s". Its own thread draws it, because
 * libraries do not call back. */

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
 * until the end. Where no thread can be had, nothing is drawn.
 * \param otherwise  Stands for the stage where none is set. */
void cli_stage_line_begin(cli_stage_line *line, const char *title, const char *otherwise);

/** Removes the line; does nothing of a line that has ended. */
void cli_stage_line_end(cli_stage_line *line);

typedef struct {
    bool    is_terminal;
    bool    is_drawn;
    int     line_count;  /**< above the bar */
    int     known_count; /**< runs that are drawn as ready */
    double  drawn_s;
    cli_bar log; /**< where standard error is no terminal */
} cli_board;

void cli_board_init(cli_board *board);

/** Draws the runs as a table with a bar below, or the bar only where the terminal is too small: at once when another run is ready, else at most ten
 * times a second. A cell shows the median of the seeds that are ready, else how far its first run
 * is. \a text stands beside the bar. Nothing is drawn once cli_stop_is_told(). */
void cli_board_draw(cli_board *board, const emp_jobs_progress *progress,
                    const char *text);

/** Removes what is drawn, so that other lines can be printed. */
void cli_board_clear(cli_board *board);

#endif /* EMP_CLI_PROGRESS_H */
