// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L /* getline(), ftruncate() */
#include "cli/options/run_options.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io/event_file.h"
#include "base/io/output.h"
#include "base/text/units.h"
#include "baselines/baselines.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/stop.h"
#include "run/loop.h"
#include "run/methods.h"
#include "sim/problem/placement.h"

/* ---- --log FILE ---- */

/* A log has a line of JSON for each update of a run, which docs/formats.md describes, or, where its name has "tfevents"
 * in it, scalars for TensorBoard. Zero-initialise but for the path. */
typedef struct {
    const char *path; /* NULL: nothing is written */
    FILE       *file;
    bool        has_events; /* it is for TensorBoard */
    int         failure;    /* errno of the first failure; 0: none */
} run_log;

static void fail(run_log *log)
{
    if (log->failure == 0) log->failure = errno != 0 ? errno : EIO;
}

static const char line_key[] = "{\"evaluations\":";

static bool has_events(const char *path)
{
    const char *slash = strrchr(path, '/');

    return strstr(slash != NULL ? slash : path, "tfevents") != NULL;
}

/* A pipe or a device has nothing to go on from. */
static bool is_regular(const char *path)
{
    struct stat there;

    return stat(path, &there) == 0 && S_ISREG(there.st_mode);
}

bool cli_log_is_own(const char *path)
{
    char  begin[sizeof line_key] = "";
    FILE *file = path != NULL && is_regular(path) ? fopen(path, "r") : NULL;

    if (file == NULL) return true;
    const size_t size = fread(begin, 1, sizeof line_key - 1, file);
    const bool   is_own =
        size == 0 || (has_events(path) ? emp_event_end_of(file, INT64_MAX) > 0
                                       : memcmp(begin, line_key, size) == 0);
    fclose(file);
    return is_own;
}

/* The end of the lines whose updates the checkpoint has, from which a resumed run goes on. */
static long end_of_kept(FILE *file, int64_t evaluations)
{
    char  *line = NULL;
    size_t size = 0;
    long   end = 0;

    for (ssize_t length; (length = getline(&line, &size, file)) > 0;) {
        if (strncmp(line, line_key, strlen(line_key)) != 0 || line[length - 1] != '\n' ||
            strtoll(line + strlen(line_key), NULL, 10) > evaluations)
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

static void open_file(run_log *log, int64_t resumed)
{
    const bool goes_on = resumed > 0 && is_regular(log->path);
    long       end = 0;

    log->has_events = has_events(log->path);
    log->file = fopen(log->path, goes_on ? "r+" : "w");
    if (log->file == NULL) {
        fail(log);
        return;
    }
    if (goes_on) {
        end = log->has_events ? emp_event_end_of(log->file, resumed)
                              : end_of_kept(log->file, resumed);
        if (ftruncate(fileno(log->file), end) != 0 ||
            fseek(log->file, end, SEEK_SET) != 0)
            fail(log);
    }
    if (log->has_events && end == 0 && !emp_event_write_version(log->file, wall_s()))
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

/* Writes the line of the batch that has just ended, and flushes it. The first call opens the file: a run that
 * goes on from a checkpoint keeps the lines of the updates before that, any other begins anew. A failure is
 * reported by close_log(). */
static void add_to_log(run_log *log, const emp_progress *p)
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

/* Closes the file, and warns if some line could not be written. */
static void close_log(run_log *log)
{
    if (log->file != NULL && fclose(log->file) != 0) fail(log);
    log->file = NULL;
    if (log->failure != 0)
        cli_warn("the log %s is not whole: %s", log->path, strerror(log->failure));
}

/* ---- options ---- */

enum { KEY_BUDGET = 'b' };

/* A run scores one batch, however long that takes. Longer preparations are given up. */
enum { GRACE_S = 10 };

/* A bound takes several times the memory of the step, so that larger graphs go without. */
enum { BOUNDED_OPS = 500000 };

static const struct argp_option options[] = {
    {"budget", KEY_BUDGET, "N", 0, "Evaluations the method may use: 400, 10k, 1e6", 0},
    {"seconds", 's', "TIME", 0, "Time the method may use: seconds, or 90s, 2m, 1h", 0},
    {"seed", 'k', "N", 0, "Seed of the method's random numbers (default 1)", 0},
    {"threads", 't', "N", 0, "Threads; results do not depend on it", 0},
    {"preset", CLI_TEXT(cli_run_options, preset), "NAME", 0,
     "Set of constants of the method, e.g. paper", 0},
    {"options", CLI_TEXT(cli_run_options, options), "KEY=VALUE,...", 0,
     "Options of the method", 0},
    {"no-bound", CLI_FLAG(cli_run_options, is_unbound), NULL, 0,
     "Do not look for the lower bound, which takes seconds on large graphs. Graphs of "
     "over 500,000 ops have none without being asked: `emplace bound` finds it",
     0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    cli_run_options *o = (cli_run_options *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->task; return 0;
    case KEY_BUDGET:
        o->budget = cli_integer("budget", arg, 1, INT64_C(1) << 40);
        return 0;
    case 's': o->seconds = cli_seconds("seconds", arg); return 0;
    case 'k': o->seed = (uint64_t)cli_integer("seed", arg, 0, INT64_MAX); return 0;
    case 't': o->threads = (int32_t)cli_integer("threads", arg, 1, 1024); return 0;
    default: return cli_store(key, arg, o);
    }
}

static const struct argp_child children[] = {{&cli_task_argp, 0, NULL, 0}, {0}};
const struct argp cli_run_argp = {options, parse, NULL, NULL, children, NULL, NULL};

cli_run_options cli_run_options_default(void)
{
    return (cli_run_options){
        .seed = 1, .gap_frac = -1.0, .threads = cli_default_threads()};
}

/* Whether "a=1" is one of "b=2,a=1". */
static bool has_option(const char *list, const char *option, size_t length)
{
    for (size_t own; (own = strcspn(list, ",")) > 0; list += own + (list[own] == ','))
        if (own == length && strncmp(list, option, length) == 0) return true;
    return false;
}

/* True of two names of one preset; without a name it is the method's first. */
static bool is_same_preset(const char *a, const char *b, const emp_method *method)
{
    const char  *presets = method->presets != NULL ? method->presets : "";
    const char  *name[] = {a[0] != '\0' ? a : presets, b[0] != '\0' ? b : presets};
    const size_t length = strcspn(name[0], "|");

    return length == strcspn(name[1], "|") && strncmp(name[0], name[1], length) == 0;
}

/* Whether the run has all that the weights were trained with. */
static bool has_options_of(const cli_run_options *o, const emp_weights *weights,
                           const emp_method *method)
{
    const char *own = o->options != NULL ? o->options : "", *at = weights->options;

    if (!is_same_preset(o->preset != NULL ? o->preset : "", weights->preset, method))
        return false;
    for (size_t length; (length = strcspn(at, ",")) > 0;
         at += length + (at[length] == ','))
        if (!has_option(own, at, length)) return false;
    return true;
}

void cli_run_begin_with(cli_run_options *o, const emp_weights *weights,
                        const emp_method *method)
{
    const bool is_whole = strlen(weights->options) + 1 < sizeof weights->options;

    o->weights = weights;
    if (o->preset == NULL && o->options == NULL && is_whole) {
        if (weights->preset[0] != '\0') o->preset = weights->preset;
        if (weights->options[0] != '\0') o->options = weights->options;
    }
    const bool is_first = o->ranks == NULL || o->ranks->rank == 0;
    if (is_first && !has_options_of(o, weights, method))
        cli_warn("the weights were trained with the preset \"%s\" and the options "
                 "\"%s\", and this run has others",
                 weights->preset, weights->options);
}

emp_status cli_bound(emp_bounds *bounds, const cli_run_options *o,
                     const emp_problem *problem, const emp_decision *decision,
                     emp_error *err)
{
    *bounds = (emp_bounds){0};
    if (o->is_unbound || problem->graph->op_count > BOUNDED_OPS ||
        decision->leader_of_op != NULL || cli_stop_is_asked())
        return EMP_OK;
    const emp_bounds_options how = {.effort = EMP_BOUNDS_EFFORT,
                                    .any_order = decision->level_of_op != NULL,
                                    .device_of_op = decision->device_of_op};
    return cli_bounds_compute(bounds, problem, &how, err);
}

emp_status cli_bounds_compute(emp_bounds *bounds, const emp_problem *problem,
                              const emp_bounds_options *how, emp_error *err)
{
    cli_stage_line line;

    cli_stage_line_begin(&line, "lower bound", "looking at paths and loads");
    emp_status st = emp_bounds_compute(bounds, problem, how, err);
    cli_stage_line_end(&line);
    return st;
}

/* The progress of a run: its stage while it is set up, then its bar. */
struct display {
    cli_stage_line line;
    cli_bar        bar;
    run_log        log;
};

static void on_progress(void *context, const emp_progress *p)
{
    struct display *display = (struct display *)context;
    char text[120], best[40] = "nothing fits yet", best_time[EMP_UNITS_TEXT_BYTES],
                    rate[EMP_UNITS_TEXT_BYTES];
    double share = 0;

    cli_stage_line_end(&display->line);
    add_to_log(&display->log, p);
    if (!isnan(p->best_s))
        snprintf(best, sizeof best, "best %s",
                 emp_units_format_seconds(p->best_s, best_time, sizeof best_time));
    if (p->budget_evaluations > 0) {
        share = (double)p->evaluations / (double)p->budget_evaluations;
    }
    if (p->budget_s > 0) share = fmax(share, p->elapsed_s / p->budget_s);
    emp_units_format_number((double)p->evaluations / fmax(p->elapsed_s, 1e-9), 3, rate,
                            sizeof rate);
    snprintf(text, sizeof text, "%" PRId64 " evaluation%s, %s/s, %s", p->evaluations,
             emp_units_plural(p->evaluations), rate, best);
    cli_bar_draw(&display->bar, share, emp_progress_remaining_s(p), text);
}

static void on_warning(void *context, const char *sentence)
{
    struct display *display = (struct display *)context;

    cli_stage_line_end(&display->line);
    cli_bar_clear(&display->bar);
    cli_warn("%s", sentence);
}

emp_status cli_check_placement_kept(const char *path, const emp_record *run,
                                    emp_error *err)
{
    const bool is_there = path != NULL && access(path, F_OK) == 0;

    if (is_there && emp_placement_run(path) == emp_record_identity(run)) return EMP_OK;
    return emp_output_check_replaced(&path, 1, false, err);
}

static emp_status check_files(const cli_run_options *o, const emp_record *run,
                              emp_error *err)
{
    const bool is_there = o->kept != NULL && access(o->kept, F_OK) == 0;

    EMP_CHECK(is_there ? emp_record_check_replaced(o->kept, run, err)
                       : emp_output_check_replaced(&o->kept, 1, false, err));
    return cli_check_placement_kept(o->kept_placement, run, err);
}

static emp_status check_kept(const cli_run_options *o, const emp_problem *problem,
                             const emp_run_params *params, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_record run;

    if (o->kept == NULL && o->kept_placement == NULL) return EMP_OK;
    emp_run_describe(&run, problem, params);
    if (o->ranks == NULL || o->ranks->rank == 0) st = check_files(o, &run, err);
    return o->ranks != NULL ? o->ranks->agree(st, err) : st;
}

/* A learner refuses a problem without a choice, whose only placement is a result, too. */
static bool has_nothing_to_learn(const cli_run_options *o, const emp_problem *problem,
                                 const emp_method *method)
{
    const bool is_plain = o->preset == NULL && o->options == NULL && o->weights == NULL &&
                          o->weights_out == NULL && o->checkpoint.path == NULL;

    return is_plain && emp_method_kind_of(method) == EMP_METHOD_LEARNER &&
           (o->decides == 0 || o->decides == EMP_DECIDES_DEVICES) &&
           !emp_problem_has_choice(problem);
}

/* The step time within the gap of the lower bound of all decisions. */
static emp_status find_enough(double *enough_s, const cli_run_options *o,
                              const emp_problem *problem, emp_error *err)
{
    const emp_bounds_options how = {.effort = EMP_BOUNDS_EFFORT,
                                    .any_order = (o->decides & EMP_DECIDES_ORDER) != 0};
    emp_bounds               bounds;

    *enough_s = 0.0;
    if (o->gap_frac < 0.0) return EMP_OK;
    EMP_CHECK(cli_bounds_compute(&bounds, problem, &how, err));
    *enough_s = (double)bounds.best_ns * 1e-9 * (1.0 + o->gap_frac);
    return EMP_OK;
}

emp_status cli_run(emp_record *record, emp_sim_result *best, const cli_run_options *o,
                   const emp_problem *problem, const emp_method *method,
                   int64_t default_budget, emp_error *err)
{
    struct display display;
    if (has_nothing_to_learn(o, problem, method)) {
        cli_warn("%s has nothing to learn, as every op can be on only one device: this "
                 "is the only placement",
                 method->name);
        method = &emp_method_gpu;
    }
    emp_run_params params = {
        .method = method,
        .placer = {.seed = o->seed,
                   .threads = o->threads,
                   .preset = o->preset,
                   .options = o->options,
                   .decides = o->decides,
                   .start = o->start,
                   .weights = o->weights},
        .weights = o->weights_out,
        .budget_evaluations = o->budget,
        .budget_s = o->seconds,
        .checkpoint = o->checkpoint,
        .ranks = o->ranks,
        .is_async = o->is_async,
        .stop = cli_stop_flag(),
        .keeping = cli_stop_kept(),
        .progress = on_progress,
        .warn = on_warning,
        .context = &display,
        .best = best,
        .runners_up = o->runners_up,
    };

    if (params.budget_evaluations == 0 && params.budget_s <= 0 && method->uses_budget) {
        params.budget_evaluations = default_budget;
    }
    EMP_CHECK(check_kept(o, problem, &params, err));
    EMP_CHECK(find_enough(&params.enough_s, o, problem, err));
    cli_stop_watch(CLI_NOTHING_FOUND);
    if (o->seconds > 0)
        cli_stop_give_up_after(
            o->seconds + GRACE_S,
            "%s has no placement %d s after its %g s; no file was written", method->name,
            GRACE_S, o->seconds);
    display.log = (run_log){.path = o->log};
    cli_bar_init(&display.bar, NULL);
    cli_stage_line_begin(&display.line, method->name, "preparing");
    emp_status st = emp_run(record, problem, &params, err);
    cli_stop_unwatch();
    if (st == EMP_OK) atomic_fetch_sub(params.keeping, 1); /* the next run is another */
    cli_stage_line_end(&display.line);
    cli_bar_clear(&display.bar);
    close_log(&display.log);
    if (st == EMP_EINTERRUPTED && o->checkpoint.path == NULL)
        cli_say("emplace: ", CLI_NOTHING_FOUND);
    return st;
}
