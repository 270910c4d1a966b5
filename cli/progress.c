// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io/terminal.h"
#include "base/text/units.h"
#include "base/work.h"
#include "cli/stop.h"

/* Of the bar, which is as long as the text leaves room for. */
enum { LEAST_WIDTH = 4, WIDTH = 28 };

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

void cli_bar_format(char line[CLI_BAR_BYTES], double done_frac, double remaining_s,
                    const char *text, int columns)
{
    char left[40], words[CLI_BAR_BYTES - WIDTH - 2], filled[WIDTH + 1];
    int  width = WIDTH;

    format_left(remaining_s, left, sizeof left);
    int taken = 1 + snprintf(words, sizeof words, "] %3.0f %%  %s  %s", 100 * done_frac,
                             text, left);
    if (columns > 0 && columns - taken < width)
        width = columns - taken > LEAST_WIDTH ? columns - taken : LEAST_WIDTH;
    memset(filled, '.', (size_t)width);
    memset(filled, '#', (size_t)(fmin(fmax(done_frac, 0.0), 1.0) * width));
    filled[width] = '\0';
    snprintf(line, CLI_BAR_BYTES, "[%s%s", filled, words);
    if (columns > 0 && columns < CLI_BAR_BYTES) line[columns] = '\0';
}

static bool is_due(const cli_bar *bar)
{
    double now_s = emp_clock_now_s();

    return bar->is_terminal && now_s - bar->start_s >= 2.0 && now_s - bar->drawn_s >= 0.1;
}

static void put_line(cli_bar *bar, const char *line)
{
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
    bar->is_drawn = true;
    bar->drawn_s = emp_clock_now_s();
}

void cli_bar_draw(cli_bar *bar, double done_frac, double remaining_s, const char *text)
{
    char line[CLI_BAR_BYTES];

    if (!is_due(bar)) return;
    cli_bar_format(line, done_frac, remaining_s, text,
                   emp_terminal_size_of(stderr).columns);
    put_line(bar, line);
}

/* Draws a text alone, as often as a bar. */
static void cli_bar_draw_text(cli_bar *bar, const char *text)
{
    char line[CLI_BAR_BYTES];
    int  columns = emp_terminal_size_of(stderr).columns;

    if (!is_due(bar)) return;
    snprintf(line, sizeof line, "%s", text);
    if (columns > 0 && columns < CLI_BAR_BYTES) line[columns] = '\0';
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
    char        text[CLI_BAR_BYTES], waited[EMP_UNITS_TEXT_BYTES];
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
    if (!line->bar.is_terminal) return;
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
