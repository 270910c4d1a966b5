// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io/terminal.h"
#include "base/text/units.h"

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

void cli_bar_draw_text(cli_bar *bar, const char *text)
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
