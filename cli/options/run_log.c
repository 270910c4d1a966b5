// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L /* getline(), ftruncate() */
#include "cli/options/run_log.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io/event_file.h"
#include "cli/cli.h"

static void fail(cli_run_log *log)
{
    if (log->failure == 0) log->failure = errno != 0 ? errno : EIO;
}

/* The end of the lines whose updates the checkpoint has, from which a resumed run goes on. */
static long end_of_kept(FILE *file, int64_t evaluations)
{
    static const char key[] = "{\"evaluations\":";
    char             *line = NULL;
    size_t            size = 0;
    long              end = 0;

    for (ssize_t length; (length = getline(&line, &size, file)) > 0;) {
        if (strncmp(line, key, strlen(key)) != 0 || line[length - 1] != '\n' ||
            strtoll(line + strlen(key), NULL, 10) > evaluations)
            break;
        end = ftell(file);
    }
    free(line);
    return end;
}

static double wall_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void open_file(cli_run_log *log, int64_t resumed)
{
    const char *slash = strrchr(log->path, '/');

    log->has_events = strstr(slash != NULL ? slash : log->path, "tfevents") != NULL;
    log->file = resumed > 0 ? fopen(log->path, "r+") : NULL;
    if (log->file == NULL) log->file = fopen(log->path, "w");
    if (log->file == NULL) {
        fail(log);
        return;
    }
    const long end = resumed == 0      ? 0
                     : log->has_events ? emp_event_end_of(log->file, resumed)
                                       : end_of_kept(log->file, resumed);
    if (log->has_events && end == 0 && !emp_event_write_version(log->file, wall_s()))
        fail(log);
    if (end == 0) return;
    if (ftruncate(fileno(log->file), end) != 0 || fseek(log->file, end, SEEK_SET) != 0)
        fail(log);
}

static json_t *json_of(const emp_progress *p)
{
    const emp_record      *r = p->record;
    const emp_curve_point *point = &r->curve[r->point_count - 1];
    const int64_t          before = r->point_count > 1 ? point[-1].evaluations : 0;
    json_t                *metrics = json_object();

    for (int32_t m = 0; m < r->metric_count; m++)
        json_object_set_new(
            metrics, r->metric_name[m],
            cli_json_number(r->metric[(r->point_count - 1) * r->metric_count + m]));
    return json_pack("{s:I, s:i, s:I, s:i, s:o, s:o, s:f, s:o}", "evaluations",
                     (json_int_t)point->evaluations, "update", r->point_count, "scored",
                     (json_int_t)(point->evaluations - before), "fitting",
                     point->feasible_count, "best_s", cli_json_number(point->best_s),
                     "mean_s", cli_json_number(point->mean_s), "elapsed_s", p->elapsed_s,
                     "metrics", metrics);
}

/* The step is the number of evaluations. */
static bool write_event(FILE *file, const emp_progress *p)
{
    const emp_record      *r = p->record;
    const emp_curve_point *point = &r->curve[r->point_count - 1];
    char                   tag[EMP_EVENT_TAG_BYTES];
    emp_event              event;

    emp_event_begin(&event, point->evaluations, wall_s());
    if (isfinite(point->best_s)) emp_event_add(&event, "step_time/best_s", point->best_s);
    if (isfinite(point->mean_s)) emp_event_add(&event, "step_time/mean_s", point->mean_s);
    emp_event_add(&event, "fitting", (double)point->feasible_count);
    for (int32_t m = 0; m < r->metric_count; m++) {
        const double value = r->metric[(r->point_count - 1) * r->metric_count + m];
        snprintf(tag, sizeof tag, "metrics/%s", r->metric_name[m]);
        if (isfinite(value)) emp_event_add(&event, tag, value);
    }
    return emp_event_write(file, &event);
}

static bool write_line(FILE *file, const emp_progress *p)
{
    json_t    *line = json_of(p);
    const bool is_whole = line != NULL && json_dumpf(line, file, JSON_COMPACT) == 0 &&
                          fputc('\n', file) != EOF;

    json_decref(line);
    return is_whole;
}

void cli_run_log_add(cli_run_log *log, const emp_progress *p)
{
    if (log->path == NULL || log->failure != 0) return;
    if (log->file == NULL) {
        open_file(log, p->resumed);
        if (log->failure != 0 || p->evaluations == p->resumed) return;
    }
    if (!(log->has_events ? write_event : write_line)(log->file, p) ||
        fflush(log->file) != 0)
        fail(log);
}

void cli_run_log_close(cli_run_log *log)
{
    if (log->file != NULL && fclose(log->file) != 0) fail(log);
    log->file = NULL;
    if (log->failure != 0)
        cli_warn("the log %s is not whole: %s", log->path, strerror(log->failure));
}
