// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/report/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/units.h"
#include "bench/plots/chart.h"
#include "bench/report/cells.h"
#include "bench/report/timeline.h"
#include "sim/bounds/bounds.h"

static const struct {
    const char *name, *title;
} kinds[EMP_FIGURES] = {
    [EMP_FIGURE_CURVES] = {"curves", "Best so far against placements scored"},
    [EMP_FIGURE_CLOCK] = {"clock", "Best so far against time"},
    [EMP_FIGURE_PLACEMENTS] = {"placements", "Placements side by side"},
    [EMP_FIGURE_TIMELINE] = {"timeline", "Timeline of the best placement's step"},
    [EMP_FIGURE_MEANS] = {"means", "Mean of each batch"},
    [EMP_FIGURE_METRICS] = {"metrics", "Metrics of methods"}};

const char *emp_figure_name(emp_figure_kind kind) { return kinds[kind].name; }
const char *emp_figure_title(emp_figure_kind kind) { return kinds[kind].title; }

char *emp_figure_full_name(char name[EMP_DRAWING_NAME_BYTES], emp_figure_kind kind,
                           int32_t group)
{
    if (group == 0)
        snprintf(name, EMP_DRAWING_NAME_BYTES, "%s", kinds[kind].name);
    else
        snprintf(name, EMP_DRAWING_NAME_BYTES, "%s-%d", kinds[kind].name, group + 1);
    return name;
}

/* ---- the problem, made again ---- */

static emp_status check_record(const emp_record *r, const emp_problem *problem,
                               emp_error *err)
{
    const emp_machine *m = problem->machine;

    if (problem->graph->hash != r->graph_hash ||
        problem->graph->op_count != r->decision.op_count)
        return EMP_ERROR(EMP_EINVAL,
                         "%.100s is now another graph than the one that was placed",
                         r->workload);
    if (m->device_count != r->device_count)
        return EMP_ERROR(EMP_EINVAL, "%s has %d devices, and the run had %d", m->name,
                         m->device_count, r->device_count);
    for (emp_device_id d = 0; d < m->device_count; d++) {
        if (strcmp(m->device[d].name, r->device_name[d]) != 0)
            return EMP_ERROR(EMP_EINVAL, "%s has a device %s where the run had %.31s",
                             m->name, m->device[d].name, r->device_name[d]);
    }
    return EMP_OK;
}

/* Whether runs of the group decide the order, too: a figure has one bound for all of them. */
static bool is_order_decided(const emp_study *s)
{
    for (int32_t i = 0; i < s->group->series_count; i++) {
        const emp_report_series *series = &s->runs->series[s->group->first_series + i];
        if (s->runs->run[series->first_run].record.has_order) return true;
    }
    return false;
}

/* A bound holds for the constants that it was found with. */
static emp_status find_bound(emp_study *s, const emp_record *r,
                             const emp_problem *problem, emp_error *err)
{
    emp_bounds bounds;

    if (r->has_fusion) return EMP_OK; /* bounds are of ops that run by themselves */
    if (problem->machine->hash != r->machine_hash ||
        emp_runtime_hash(&problem->runtime) != r->runtime_hash)
        return EMP_OK;
    const emp_bounds_options how = {.effort = EMP_BOUNDS_EFFORT,
                                    .any_order = is_order_decided(s)};
    EMP_CHECK(emp_bounds_compute(&bounds, problem, &how, err));
    if (bounds.best_ns > 0) s->bound_s = (double)bounds.best_ns * 1e-9;
    return EMP_OK;
}

/* ---- placements ---- */

static const emp_report_run *best_run_of(const emp_study         *s,
                                         const emp_report_series *series)
{
    const emp_report_run *run = &s->runs->run[series->first_run], *best = run;

    for (int32_t i = 1; i < series->run_count; i++) {
        emp_score a = emp_report_run_score(&run[i]), b = emp_report_run_score(best);
        if (emp_score_is_better(&a, &b)) best = &run[i];
    }
    return best;
}

struct shown {
    const emp_report_run *run;
    const char           *label;
    emp_device_id        *device_of_op; /* legal; owned */
    emp_cells             cells;
    char                  verdict[64];
};

static int compare_shown(const void *left, const void *right)
{
    const struct shown *a = left, *b = right;
    emp_score x = emp_report_run_score(a->run), y = emp_report_run_score(b->run);

    if (emp_score_is_better(&x, &y)) return -1;
    if (emp_score_is_better(&y, &x)) return 1;
    return strcmp(a->label, b->label);
}

/* People look for these whoever is faster. */
static bool is_looked_for(const struct shown *shown)
{
    const char *method = shown->run->record.method;

    return strcmp(method, "hdp") == 0 || strcmp(method, "expert") == 0;
}

/* Fastest first. When there are too many, the last one of a method that readers do not look for
 * gives way to the best of a method that they do. */
static void choose_most(struct shown *shown, int32_t all)
{
    for (int32_t i = EMP_STUDY_PLACEMENTS; i < all; i++) {
        const char *method = shown[i].run->record.method;
        int32_t     last = -1;
        bool        is_there = false;
        for (int32_t k = 0; k < EMP_STUDY_PLACEMENTS; k++) {
            is_there |= strcmp(shown[k].run->record.method, method) == 0;
            if (k > 0 && !is_looked_for(&shown[k])) last = k;
        }
        if (!is_looked_for(&shown[i]) || is_there || last < 0) continue;
        struct shown chosen = shown[i];
        memmove(&shown[last], &shown[last + 1],
                (size_t)(EMP_STUDY_PLACEMENTS - 1 - last) * sizeof *shown);
        shown[EMP_STUDY_PLACEMENTS - 1] = chosen;
    }
}

static emp_status choose(struct shown **shown, int32_t *count, emp_study *s,
                         emp_error *err)
{
    int32_t all = s->group->series_count;

    EMP_CHECK(EMP_ALLOC(*shown, (size_t)all));
    for (int32_t i = 0; i < all; i++) {
        const emp_report_series *series = &s->runs->series[s->group->first_series + i];
        (*shown)[i].run = best_run_of(s, series);
        (*shown)[i].label = series->label;
    }
    qsort(*shown, (size_t)all, sizeof **shown, compare_shown);
    choose_most(*shown, all);
    *count = all < EMP_STUDY_PLACEMENTS ? all : EMP_STUDY_PLACEMENTS;
    s->left_out = all - *count;
    return EMP_OK;
}

static emp_status lay_out(struct shown *shown, const emp_problem *problem, emp_error *err)
{
    const emp_record *r = &shown->run->record;
    char              time[32];

    EMP_CHECK(check_record(r, problem, err));
    EMP_CHECK(EMP_ALLOC(shown->device_of_op, (size_t)r->decision.op_count));
    memcpy(shown->device_of_op, r->decision.device_of_op,
           (size_t)r->decision.op_count * sizeof *shown->device_of_op);
    emp_problem_legalize(problem, shown->device_of_op);
    if (r->is_feasible)
        snprintf(shown->verdict, sizeof shown->verdict, "%s a step",
                 emp_units_format_seconds(r->best_step_time_s, time, sizeof time));
    else
        snprintf(shown->verdict, sizeof shown->verdict, "does not fit in memory");
    return emp_cells_create(&shown->cells, problem, shown->device_of_op, err);
}

static void clear_shown(struct shown *shown, int32_t count)
{
    for (int32_t i = 0; shown != NULL && i < count; i++) {
        emp_cells_clear(&shown[i].cells);
        emp_free(shown[i].device_of_op);
    }
    emp_free(shown);
}

/* ---- shares ---- */

enum { MOST_SHARES = 32 /* devices; tables of more are left out */ };

static void begin_shares(emp_sheet *sheet, const emp_machine *m)
{
    static const emp_sheet_column columns[] = {
        EMP_COLUMN("method", "placement", EMP_SHEET_WORD),
        EMP_COLUMN("seed", "seed", EMP_SHEET_COUNT)};

    EMP_SHEET_INIT(sheet, columns);
    emp_sheet_set_title(sheet, "Shares of the arithmetic");
    for (emp_device_id d = 0; d < m->device_count && d < MOST_SHARES; d++)
        emp_sheet_add_column(sheet, (emp_sheet_column)EMP_COLUMN(m->device[d].name,
                                                                 m->device[d].name,
                                                                 EMP_SHEET_SHARE));
    if (m->device_count > MOST_SHARES)
        emp_sheet_note(sheet, "The first %d of %d devices are shown.", MOST_SHARES,
                       m->device_count);
}

static void add_shares(emp_sheet *sheet, const emp_problem *problem,
                       const struct shown *shown)
{
    const emp_graph *g = problem->graph;
    int32_t          devices = problem->machine->device_count;
    double           flops[EMP_MAX_DEVICES] = {0}, total = 0;
    emp_value        value[2 + MOST_SHARES];

    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (g->op[op].is_folded) continue;
        flops[shown->device_of_op[op]] += g->op[op].cost->flops;
        total += g->op[op].cost->flops;
    }
    if (devices > MOST_SHARES) devices = MOST_SHARES;
    value[0] = EMP_V(shown->label);
    value[1] = EMP_V(shown->run->record.seed);
    for (emp_device_id d = 0; d < devices; d++)
        value[2 + d] = EMP_V(total > 0 ? flops[d] / total : 0.0);
    emp_sheet_add(sheet, value, (size_t)(2 + devices));
}

/* ---- figures ---- */

static emp_status draw_placements(emp_study *s, const emp_problem *problem,
                                  const char *name, emp_error *err)
{
    emp_status            st = EMP_OK;
    struct shown         *shown = NULL;
    int32_t               count = 0;
    emp_picture_placement placement[EMP_STUDY_PLACEMENTS];

    EMP_TRY(choose(&shown, &count, s, err));
    begin_shares(&s->shares, problem->machine);
    for (int32_t i = 0; i < count; i++) {
        EMP_TRY(lay_out(&shown[i], problem, err));
        placement[i] =
            (emp_picture_placement){&shown[i].cells, shown[i].label, shown[i].verdict};
        add_shares(&s->shares, problem, &shown[i]);
    }
    emp_picture_placements(&s->figure[EMP_FIGURE_PLACEMENTS], name, placement, count,
                           problem->machine);
    st = emp_drawing_check(&s->figure[EMP_FIGURE_PLACEMENTS], err);

cleanup:
    clear_shown(shown, count);
    return st;
}

static emp_status draw_timeline(emp_study *s, const emp_problem *problem,
                                const char *name, emp_error *err)
{
    emp_status        st = EMP_OK;
    const emp_record *r = &s->runs->run[s->group->best_run].record;
    emp_decision      best = emp_decision_view(&r->decision);
    emp_device_id    *device_of_op = NULL;
    emp_timeline      timeline = {0};

    EMP_TRY(EMP_ALLOC(device_of_op, (size_t)r->decision.op_count));
    memcpy(device_of_op, best.device_of_op,
           (size_t)r->decision.op_count * sizeof *device_of_op);
    emp_problem_legalize(problem, device_of_op);
    best.device_of_op = device_of_op;
    EMP_TRY(emp_timeline_create(&timeline, problem, &best, err));
    s->now_s = (double)timeline.result.step_time_ns * 1e-9;
    emp_picture_timeline(&s->figure[EMP_FIGURE_TIMELINE], name, &timeline,
                         problem->machine);
    st = emp_drawing_check(&s->figure[EMP_FIGURE_TIMELINE], err);

cleanup:
    emp_timeline_clear(&timeline);
    emp_free(device_of_op);
    return st;
}

/* The figures that need the graph. */
static emp_status draw_problem(emp_study *s, int32_t group,
                               const emp_report_params *params, emp_error *err)
{
    const emp_report_run *run = &s->runs->run[s->group->best_run];
    const emp_problem    *problem = NULL;
    char                  name[EMP_DRAWING_NAME_BYTES];

    EMP_CHECK(params->get_problem(params->context, run, &problem, err));
    EMP_CHECK(check_record(&run->record, problem, err));
    EMP_CHECK(find_bound(s, &run->record, problem, err));
    EMP_CHECK(draw_placements(
        s, problem, emp_figure_full_name(name, EMP_FIGURE_PLACEMENTS, group), err));
    return draw_timeline(s, problem,
                         emp_figure_full_name(name, EMP_FIGURE_TIMELINE, group), err);
}

/* ---- series and their clocks ---- */

enum {
    WIDTH = 680,
    HEIGHT = 400,
    SMALL_WIDTH = 286,
    SMALL_HEIGHT = 176,
    COLUMNS = 3, /* of small charts */
    HEADING = 26 /* above them */
};

static const emp_report_series *series_of(const emp_study *s, int32_t number)
{
    return &s->runs->series[s->group->first_series + number];
}

/* A method that had all scored at once has no curve, but a level to compare with. */
static bool is_level(const emp_study *s, const emp_report_series *series)
{
    for (int32_t i = series->first_run; i < series->first_run + series->run_count; i++) {
        if (s->runs->run[i].record.point_count > 1) return false;
    }
    return true;
}

static emp_report_clock count_clocks(const emp_study *s)
{
    emp_report_clock clock = {0};

    for (int32_t i = 0; i < s->group->series_count; i++) {
        const emp_report_series *series = series_of(s, i);
        if (is_level(s, series)) continue;
        for (int32_t r = series->first_run; r < series->first_run + series->run_count;
             r++) {
            clock.runs++;
            clock.timed += emp_band_has_axis(&s->runs->run[r], EMP_CURVE_BY_SECONDS);
            clock.cpu += emp_band_has_axis(&s->runs->run[r], EMP_CURVE_BY_CPU);
        }
    }
    return clock;
}

/* ---- curves of step times ---- */

struct bands {
    emp_band        *band;
    emp_chart_curve *curve;
    int32_t          count;
};

static void clear_bands(struct bands *b)
{
    for (int32_t i = 0; b->band != NULL && i < b->count; i++) emp_band_clear(&b->band[i]);
    emp_free(b->band);
    emp_free(b->curve);
}

/* Where a level lies in x is of no interest. */
static emp_status set_styles(struct bands *b, emp_error *err)
{
    emp_status   st = EMP_OK;
    const char **label = NULL;
    int32_t     *style = NULL;

    EMP_TRY(EMP_ALLOC(label, (size_t)b->count));
    EMP_TRY(EMP_ALLOC(style, (size_t)b->count));
    for (int32_t i = 0; i < b->count; i++) label[i] = b->curve[i].label;
    emp_report_series_styles(style, label, b->count);
    for (int32_t i = 0; i < b->count; i++) b->curve[i].style = style[i];

cleanup:
    emp_free(label);
    emp_free(style);
    return st;
}

static emp_status create_bands(struct bands *b, const emp_study *s, int32_t what,
                               emp_curve_axis axis, emp_error *err)
{
    *b = (struct bands){.count = s->group->series_count};
    EMP_CHECK(EMP_ALLOC(b->band, (size_t)b->count));
    EMP_CHECK(EMP_ALLOC(b->curve, (size_t)b->count));
    for (int32_t i = 0; i < b->count; i++) {
        const emp_report_series *series = series_of(s, i);
        bool                     level = is_level(s, series);
        EMP_CHECK(emp_band_create(&b->band[i], &s->runs->run[series->first_run],
                                  series->run_count, what,
                                  level ? EMP_CURVE_BY_EVALUATIONS : axis, err));
        b->curve[i] = (emp_chart_curve){&b->band[i], series->label, 0, level};
    }
    return set_styles(b, err);
}

static emp_status draw(emp_drawing *d, const emp_study *s, emp_chart chart, int32_t what,
                       emp_curve_axis axis, const char *name, const char *label,
                       emp_error *err)
{
    emp_status   st = EMP_OK;
    struct bands b = {0};

    *d = (emp_drawing){0};
    EMP_TRY(create_bands(&b, s, what, axis, err));
    chart.curve = b.curve;
    chart.curve_count = b.count;
    chart.has_names = true;
    chart.is_log_x = true;
    if (s->clock.runs == 0 || emp_chart_is_empty(&chart)) goto cleanup;
    chart.box = (emp_box){0, 0, WIDTH, emp_chart_height(&chart, HEIGHT)};
    emp_drawing_init(d, name, label, WIDTH, chart.box.height);
    emp_chart_draw(d, &chart);
    st = emp_drawing_check(d, err);

cleanup:
    clear_bands(&b);
    return st;
}

static emp_status draw_best(emp_drawing *drawing, const emp_study *s, emp_curve_axis axis,
                            const char *name, emp_error *err)
{
    static const struct {
        const char *x_label, *label;
    } by[] = {
        [EMP_CURVE_BY_EVALUATIONS] = {"placements scored",
                                      "best step time so far against placements scored"},
        [EMP_CURVE_BY_CPU] = {"CPU seconds of one thread",
                              "best step time so far against CPU seconds"},
        [EMP_CURVE_BY_SECONDS] = {"seconds", "best step time so far against seconds"}};
    emp_chart chart = {.x_label = by[axis].x_label,
                       .y_label = "best step so far, s",
                       .bound = s->bound_s,
                       .is_step = true};

    return draw(drawing, s, chart, EMP_CURVE_BEST, axis, name, by[axis].label, err);
}

static emp_status draw_means(emp_drawing *drawing, const emp_study *s, const char *name,
                             emp_error *err)
{
    emp_chart chart = {
        .x_label = "placements scored", .y_label = "mean of a batch, s", .bound = NAN};

    return draw(drawing, s, chart, EMP_CURVE_MEAN, EMP_CURVE_BY_EVALUATIONS, name,
                "mean step time of each batch against placements scored", err);
}

/* ---- metrics of methods ---- */

static bool has_metrics(const emp_study *s, const emp_report_series *series)
{
    return s->runs->run[series->first_run].record.metric_count > 0 &&
           !is_level(s, series);
}

static emp_status draw_metric(emp_drawing *d, const emp_study *s, int32_t number,
                              int32_t metric, emp_point corner, emp_error *err)
{
    emp_status               st = EMP_OK;
    const emp_report_series *series = series_of(s, number);
    const emp_report_run    *run = &s->runs->run[series->first_run];
    const char              *name = run->record.metric_name[metric];
    emp_band                 band = {0};
    const int32_t            own = emp_report_method_style(series->label);
    emp_chart_curve          curve = {&band, name, own >= 0 ? own : number, false};
    emp_chart                chart = {
                       .box = {corner.x, corner.y + HEADING, SMALL_WIDTH, SMALL_HEIGHT - HEADING},
                       .x_label = "placements scored",
                       .y_label = "",
                       .bound = NAN,
                       .curve = &curve,
                       .curve_count = 1};

    EMP_TRY(emp_band_create(&band, run, series->run_count, EMP_CURVE_METRIC + metric,
                            EMP_CURVE_BY_EVALUATIONS, err));
    emp_drawing_text(d, corner.x + 4, corner.y + 19, name,
                     &(emp_lettering){.size = EMP_CHART_FONT});
    if (!emp_chart_is_empty(&chart)) emp_chart_draw(d, &chart);

cleanup:
    emp_band_clear(&band);
    return st;
}

/* Returns where the next series begins. */
static emp_status draw_series(emp_drawing *d, const emp_study *s, int32_t number,
                              double *y, emp_error *err)
{
    const emp_report_series *series = series_of(s, number);
    int32_t                  count = s->runs->run[series->first_run].record.metric_count;

    emp_drawing_text(d, 4, *y + 18, series->label,
                     &(emp_lettering){.size = EMP_CHART_FONT + 1});
    *y += HEADING;
    for (int32_t m = 0; m < count; m++) {
        emp_point corner = {m % COLUMNS * SMALL_WIDTH,
                            *y + (m - m % COLUMNS) / COLUMNS * SMALL_HEIGHT};
        EMP_CHECK(draw_metric(d, s, number, m, corner, err));
    }
    *y += (count + COLUMNS - 1) / COLUMNS * SMALL_HEIGHT;
    return EMP_OK;
}

static emp_status draw_metrics(emp_drawing *drawing, const emp_study *s, const char *name,
                               emp_error *err)
{
    double y = 0;

    *drawing = (emp_drawing){0};
    for (int32_t i = 0; i < s->group->series_count; i++) {
        if (!has_metrics(s, series_of(s, i))) continue;
        if (y == 0)
            emp_drawing_init(drawing, name, "what methods report of themselves",
                             COLUMNS * SMALL_WIDTH, 0);
        EMP_CHECK(draw_series(drawing, s, i, &y, err));
    }
    drawing->height = y;
    return emp_drawing_check(drawing, err);
}

/* ---- all figures ---- */

static emp_status draw_curves(emp_study *s, int32_t group, emp_error *err)
{
    char name[EMP_DRAWING_NAME_BYTES];

    s->clock = count_clocks(s);
    /* The clock that all runs have which have any. */
    const emp_curve_axis clock =
        s->clock.cpu == s->clock.timed ? EMP_CURVE_BY_CPU : EMP_CURVE_BY_SECONDS;
    EMP_CHECK(draw_best(&s->figure[EMP_FIGURE_CURVES], s, EMP_CURVE_BY_EVALUATIONS,
                        emp_figure_full_name(name, EMP_FIGURE_CURVES, group), err));
    if (s->clock.timed > 0)
        EMP_CHECK(draw_best(&s->figure[EMP_FIGURE_CLOCK], s, clock,
                            emp_figure_full_name(name, EMP_FIGURE_CLOCK, group), err));
    EMP_CHECK(draw_means(&s->figure[EMP_FIGURE_MEANS], s,
                         emp_figure_full_name(name, EMP_FIGURE_MEANS, group), err));
    return draw_metrics(&s->figure[EMP_FIGURE_METRICS], s,
                        emp_figure_full_name(name, EMP_FIGURE_METRICS, group), err);
}

emp_status emp_study_create(emp_study *s, const emp_report_runs *runs, int32_t group,
                            const emp_report_params *params, emp_error *err)
{
    *s = (emp_study){
        .runs = runs, .group = &runs->group[group], .bound_s = NAN, .now_s = NAN};
    emp_status st = draw_problem(s, group, params, &s->absence);
    if (st == EMP_ENOMEM) return EMP_ERROR(st, "%s", s->absence.msg);
    if (st != EMP_OK) {
        emp_drawing_clear(&s->figure[EMP_FIGURE_PLACEMENTS]);
        emp_drawing_clear(&s->figure[EMP_FIGURE_TIMELINE]);
        s->absence.status = st;
        if (params->on_absence != NULL)
            params->on_absence(params->context, &runs->run[s->group->best_run].record,
                               s->absence.msg);
    }
    return draw_curves(s, group, err);
}

void emp_study_clear(emp_study *s)
{
    for (int i = 0; i < EMP_FIGURES; i++) emp_drawing_clear(&s->figure[i]);
    emp_sheet_clear(&s->shares);
    *s = (emp_study){0};
}
