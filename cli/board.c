// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "cli/board.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io/terminal.h"
#include "bench/trials/trials.h"
#include "cli/progress.h"
#include "cli/stop.h"
#include "run/sheet/sheet.h"
#include "run/stats.h"

static const emp_sheet_column columns[] = {
    EMP_COLUMN(NULL, "", EMP_SHEET_WORD, EMP_SHEET_ROW, .width = 13),
    EMP_COLUMN(NULL, "", EMP_SHEET_WORD, EMP_SHEET_ACROSS),
    EMP_COLUMN(NULL, "", EMP_SHEET_WORD, .width = 5)};

void cli_board_init(cli_board *board)
{
    *board = (cli_board){.is_terminal = emp_terminal_is_drawn_on(STDERR_FILENO)};
}

/* ---- cells ---- */

/* How many runs from here on are of one cell. */
static int32_t count_runs(const emp_job *job, int32_t count)
{
    int32_t runs = 1;

    while (runs < count && runs < EMP_TRIALS_SEEDS &&
           strcmp(job[runs].row, job->row) == 0 &&
           strcmp(job[runs].column, job->column) == 0)
        runs++;
    return runs;
}

static emp_value value_of(const emp_job *job, int32_t runs,
                          char text[EMP_SHEET_CELL_BYTES])
{
    double  step_s[EMP_TRIALS_SEEDS];
    int32_t ready = 0;

    for (int32_t i = 0; i < runs; i++) {
        if (!job[i].is_ready) continue;
        bool is_feasible = !job[i].is_refused && job[i].record.is_feasible;
        step_s[ready++] = is_feasible ? job[i].record.best_step_time_s : INFINITY;
    }
    if (ready > 0) return emp_value_real(emp_summary_of(step_s, (size_t)ready).median);
    if (!(job->done_frac > 0)) return emp_value_word(".");
    snprintf(text, EMP_SHEET_CELL_BYTES, "%.0f %%", 100 * job->done_frac);
    return emp_value_word(text);
}

/* The cells as text; NULL: memory is out. The caller frees it. */
static char *format_cells(const emp_jobs_progress *progress, int line_width)
{
    char      *text = NULL, cell[EMP_SHEET_CELL_BYTES];
    size_t     size = 0;
    emp_sheet  sheet;
    emp_status st = EMP_ENOMEM;
    FILE      *out = open_memstream(&text, &size);

    EMP_SHEET_INIT(&sheet, columns);
    sheet.is_bare = true;
    sheet.line_width = line_width;
    for (int32_t i = 0, runs; i < progress->count; i += runs) {
        const emp_job *job = &progress->job[i];
        runs = count_runs(job, progress->count - i);
        EMP_SHEET_ADD(&sheet, EMP_V(job->row), EMP_V(job->column),
                      value_of(job, runs, cell));
    }
    if (out != NULL) {
        st = emp_sheet_print(out, &sheet, EMP_SHEET_TEXT, NULL);
        if (fclose(out) != 0) st = EMP_ENOMEM;
    }
    emp_sheet_clear(&sheet);
    if (st == EMP_OK) return text;
    free(text);
    return NULL;
}

/* ---- the terminal ---- */

static void go_up(int lines)
{
    fputc('\r', stderr);
    if (lines > 0) fprintf(stderr, "\033[%dA", lines);
}

/* Writes lines over those that stand there; returns their number. */
static int write_lines(const char *text)
{
    int count = 0;

    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            fputs("\033[K", stderr);
            count++;
        }
        fputc(*text, stderr);
    }
    return count;
}

static int count_known(const emp_jobs_progress *progress)
{
    int count = 0;

    for (int32_t i = 0; i < progress->count; i++) count += progress->job[i].is_ready;
    return count;
}

static bool is_due(const cli_board *board, int known_count, double now_s)
{
    return !board->is_drawn || board->known_count != known_count ||
           now_s - board->drawn_s >= 0.1;
}

static int count_lines(const char *text)
{
    int count = 0;

    for (; *text != '\0'; text++) count += *text == '\n';
    return count;
}

void cli_board_draw(cli_board *board, const emp_jobs_progress *progress, const char *text)
{
    double now_s = emp_clock_now_s();
    int    known_count = count_known(progress);
    char   bar[CLI_BAR_BYTES];

    if (!board->is_terminal || cli_stop_is_told()) return;
    if (!is_due(board, known_count, now_s)) return;
    emp_terminal_size size = emp_terminal_size_of(stderr);
    char             *cells = format_cells(progress, size.columns);
    bool              fits = cells != NULL && count_lines(cells) < size.lines;
    cli_bar_format(bar, progress->done_frac, progress->remaining_s, text, size.columns);
    go_up(board->line_count);
    board->line_count = fits ? write_lines(cells) : 0;
    fprintf(stderr, "%s\033[J", bar);
    fflush(stderr);
    free(cells);
    board->is_drawn = true;
    board->known_count = known_count;
    board->drawn_s = now_s;
}

void cli_board_clear(cli_board *board)
{
    if (!board->is_drawn) return;
    go_up(board->line_count + cli_stop_is_told()); /* a line has taken the bar's place */
    fputs("\033[J", stderr);
    fflush(stderr);
    board->is_drawn = false;
    board->line_count = 0;
}
