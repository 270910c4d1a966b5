// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L

#include "cli/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io/terminal.h"
#include "base/text/units.h"
#include "base/work.h"
#include "bench/trials/trials.h"
#include "cli/stop.h"
#include "run/sheet/sheet.h"

/* The width of the bar, which is as long as the text leaves room for. */
enum { LEAST_WIDTH = 4, WIDTH = 28, BAR_BYTES = 160 };

void cli_bar_init(cli_bar *bar, const char *text)
{
    *bar = (cli_bar){.text = text,
                     .is_terminal = emp_terminal_is_drawn_on(STDERR_FILENO),
                     .start_s = emp_clock_now_s()};
}

static void format_left(double remaining_s, char *text, size_t size)
{
    char left[EMP_UNITS_TEXT_BYTES];

    if (isfinite(remaining_s))
        snprintf(text, size, "%s left",
                 emp_units_format_duration(remaining_s, left, sizeof left));
    else
        snprintf(text, size, "...");
}

/* The line of a bar, no wider than `columns`, without an end of line. */
static void format_bar(char line[BAR_BYTES], double done_frac, double remaining_s,
                       const char *text, int columns)
{
    char left[40], words[BAR_BYTES - WIDTH - 2], filled[WIDTH + 1];
    int  width = WIDTH;

    format_left(remaining_s, left, sizeof left);
    int taken = 1 + snprintf(words, sizeof words, "] %3.0f %%  %s  %s", 100 * done_frac,
                             text, left);
    if (columns > 0 && columns - taken < width)
        width = columns - taken > LEAST_WIDTH ? columns - taken : LEAST_WIDTH;
    memset(filled, '.', (size_t)width);
    memset(filled, '#', (size_t)(fmin(fmax(done_frac, 0.0), 1.0) * width));
    filled[width] = '\0';
    snprintf(line, BAR_BYTES, "[%s%s", filled, words);
    if (columns > 0 && columns < BAR_BYTES) line[columns] = '\0';
}

/* Seconds between two lines where standard error is no terminal; EMPLACE_LOG_EVERY, for tests, says otherwise. */
static double log_every_s(void)
{
    const char *given = getenv("EMPLACE_LOG_EVERY");
    char       *end = NULL;
    double      seconds = given != NULL ? emp_number_parse(given, &end) : 0.0;

    return seconds > 0.0 ? seconds : 60.0;
}

static bool is_due(const cli_bar *bar)
{
    double now_s = emp_clock_now_s();
    double before_s = bar->drawn_s > bar->start_s ? bar->drawn_s : bar->start_s;

    if (!bar->is_terminal) return now_s - before_s >= log_every_s();
    return now_s - bar->start_s >= 2.0 && now_s - bar->drawn_s >= 0.1;
}

static void put_line(cli_bar *bar, const char *line)
{
    fprintf(stderr, bar->is_terminal ? "\r\033[K%s" : "%s\n", line);
    fflush(stderr);
    bar->is_drawn = bar->is_terminal;
    bar->drawn_s = emp_clock_now_s();
}

/* A line of a log has no bar. */
static void put_log_line(cli_bar *bar, double done_frac, double remaining_s,
                         const char *text)
{
    char line[BAR_BYTES], left[40];

    format_left(remaining_s, left, sizeof left);
    snprintf(line, sizeof line, "%.0f %%, %s%s%s", 100 * done_frac, text,
             isfinite(remaining_s) ? ", " : "", isfinite(remaining_s) ? left : "");
    put_line(bar, line);
}

void cli_bar_draw(cli_bar *bar, double done_frac, double remaining_s, const char *text)
{
    char line[BAR_BYTES];

    if (!is_due(bar)) return;
    if (!bar->is_terminal) {
        put_log_line(bar, done_frac, remaining_s, text);
        return;
    }
    format_bar(line, done_frac, remaining_s, text, emp_terminal_size_of(stderr).columns);
    put_line(bar, line);
}

/* Draws only a text, as often as a bar. */
static void cli_bar_draw_text(cli_bar *bar, const char *text)
{
    char line[BAR_BYTES];
    int  columns = emp_terminal_size_of(stderr).columns;

    if (!is_due(bar)) return;
    snprintf(line, sizeof line, "%s", text);
    if (columns > 0 && columns < BAR_BYTES) line[columns] = '\0';
    put_line(bar, line);
}

void cli_bar_draw_share(cli_bar *bar, double done_frac, const char *text)
{
    double elapsed_s = emp_clock_now_s() - bar->start_s;

    cli_bar_draw(bar, done_frac,
                 done_frac > 0 ? elapsed_s / done_frac - elapsed_s : INFINITY, text);
}

void cli_bar_on_progress(void *bar, double done_frac)
{
    cli_bar_draw_share((cli_bar *)bar, done_frac, ((cli_bar *)bar)->text);
}

void cli_bar_clear(cli_bar *bar)
{
    if (bar->is_drawn) fputs("\r\033[K", stderr);
    bar->is_drawn = false;
}

static void draw(cli_stage_line *line)
{
    const char *stage = emp_stage_get();
    char        text[BAR_BYTES], waited[EMP_UNITS_TEXT_BYTES];
    double      waited_s = emp_clock_now_s() - line->bar.start_s;

    snprintf(text, sizeof text, "%s: %s, %s", line->title,
             stage != NULL ? stage : line->otherwise,
             emp_units_format_duration(waited_s, waited, sizeof waited));
    cli_bar_draw_text(&line->bar, text);
}

/* A fifth of a second from now, by the clock of conditions. */
static struct timespec soon(void)
{
    struct timespec time;

    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += 200 * 1000 * 1000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void *draw_until_the_end(void *context)
{
    cli_stage_line *line = (cli_stage_line *)context;

    pthread_mutex_lock(&line->mutex);
    while (!line->is_ending) {
        const struct timespec next = soon();
        if (!cli_stop_is_asked()) draw(line); /* its last words are to stand alone */
        pthread_cond_timedwait(&line->has_ended, &line->mutex, &next);
    }
    pthread_mutex_unlock(&line->mutex);
    return NULL;
}

void cli_stage_line_begin(cli_stage_line *line, const char *title, const char *otherwise)
{
    *line = (cli_stage_line){.title = title, .otherwise = otherwise};
    cli_bar_init(&line->bar, NULL);
    pthread_mutex_init(&line->mutex, NULL);
    pthread_cond_init(&line->has_ended, NULL);
    line->is_running = pthread_create(&line->thread, NULL, draw_until_the_end, line) == 0;
}

void cli_stage_line_end(cli_stage_line *line)
{
    if (!line->is_running) return;
    pthread_mutex_lock(&line->mutex);
    line->is_ending = true;
    pthread_cond_signal(&line->has_ended);
    pthread_mutex_unlock(&line->mutex);
    pthread_join(line->thread, NULL);
    line->is_running = false;
    cli_bar_clear(&line->bar);
}

static const emp_sheet_column columns[] = {
    EMP_COLUMN(NULL, "", EMP_SHEET_WORD, EMP_SHEET_ROW, .width = 13),
    EMP_COLUMN(NULL, "", EMP_SHEET_WORD, EMP_SHEET_ACROSS),
    EMP_COLUMN(NULL, "", EMP_SHEET_WORD, .width = 5)};

void cli_board_init(cli_board *board)
{
    *board = (cli_board){.is_terminal = emp_terminal_is_drawn_on(STDERR_FILENO)};
    cli_bar_init(&board->log, NULL);
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

/* The cells as text; NULL: out of memory. The caller frees it. */
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

static int count_lines(const char *text)
{
    int count = 0;

    for (; *text != '\0'; text++) count += *text == '\n';
    return count;
}

/* Writes lines over those that stand there. */
static void write_lines(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n') fputs("\033[K", stderr);
        fputc(*text, stderr);
    }
}

static int count_known(const emp_jobs_progress *progress)
{
    int count = 0;

    for (int32_t i = 0; i < progress->count; i++) count += progress->job[i].is_ready;
    return count;
}

static bool is_board_due(const cli_board *board, int known_count, double now_s)
{
    return !board->is_drawn || board->known_count != known_count ||
           now_s - board->drawn_s >= 0.1;
}

void cli_board_draw(cli_board *board, const emp_jobs_progress *progress, const char *text)
{
    double now_s = emp_clock_now_s();
    int    known_count = count_known(progress);
    char   bar[BAR_BYTES];

    if (!board->is_terminal) {
        cli_bar_draw(&board->log, progress->done_frac, progress->remaining_s, text);
        return;
    }
    if (cli_stop_is_told()) return;
    if (!is_board_due(board, known_count, now_s)) return;
    emp_terminal_size size = emp_terminal_size_of(stderr);
    char             *cells = format_cells(progress, size.columns);
    int               lines = cells != NULL ? count_lines(cells) : 0;
    format_bar(bar, progress->done_frac, progress->remaining_s, text, size.columns);
    go_up(board->line_count);
    board->line_count = lines < size.lines ? lines : 0;
    if (board->line_count > 0) write_lines(cells);
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
