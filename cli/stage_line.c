// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/stage_line.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/text/units.h"
#include "base/work/stage.h"
#include "cli/stop.h"

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
