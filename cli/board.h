/** \file cli/board.h
 * The cells of a table as they become known, drawn in place on a terminal on standard error,
 * with a bar below. A terminal that is too small for the cells has the bar alone.
 */
#ifndef EMP_CLI_BOARD_H
#define EMP_CLI_BOARD_H

#include <stdbool.h>

#include "run/jobs/jobs.h"

typedef struct {
    bool   is_terminal;
    bool   is_drawn;
    int    line_count;  /**< above the bar */
    int    known_count; /**< runs that are drawn as ready */
    double drawn_s;
} cli_board;

void cli_board_init(cli_board *board);

/** Draws rows and columns of the runs: at once when another run is ready, else at most ten
 * times a second. A cell shows the median of the seeds that are ready, else how far its first run
 * is. \a text stands beside the bar. Nothing is drawn once cli_stop_is_told(). */
void cli_board_draw(cli_board *board, const emp_jobs_progress *progress,
                    const char *text);

/** Removes what is drawn, so that other lines can be printed. */
void cli_board_clear(cli_board *board);

#endif /* EMP_CLI_BOARD_H */
