// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/curves.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "bench/plots/chart.h"
#include "bench/plots/colours.h"

enum {
    WIDTH = 680,
    HEIGHT = 400,
    SMALL_WIDTH = 286,
    SMALL_HEIGHT = 176,
    COLUMNS = 3, /* of small charts */
    HEADING = 26 /* above them */
};

static const emp_report_series *series_of(const emp_curves *c, int32_t number)
{
    return &c->runs->series[c->group->first_series + number];
}

/* A method that had all scored at once has no curve, but a level to compare with. */
static bool is_level(const emp_curves *c, const emp_report_series *s)
{
    for (int32_t i = s->first_run; i < s->first_run + s->run_count; i++) {
        if (c->runs->run[i].record.point_count > 1) return false;
    }
    return true;
}

bool emp_curves_are_levels(const emp_curves *c)
{
    for (int32_t i = 0; i < c->group->series_count; i++) {
        if (!is_level(c, series_of(c, i))) return false;
    }
    return true;
}

emp_curves_clock emp_curves_count_clocks(const emp_curves *c)
{
    emp_curves_clock clock = {0};

    for (int32_t i = 0; i < c->group->series_count; i++) {
        const emp_report_series *s = series_of(c, i);
        if (is_level(c, s)) continue;
        for (int32_t r = s->first_run; r < s->first_run + s->run_count; r++) {
            clock.runs++;
            clock.timed += emp_band_has_axis(&c->runs->run[r], EMP_CURVE_BY_SECONDS);
            clock.cpu += emp_band_has_axis(&c->runs->run[r], EMP_CURVE_BY_CPU);
        }
    }
    return clock;
}

emp_curve_axis emp_curves_choose_clock(const emp_curves *curves)
{
    emp_curves_clock clock = emp_curves_count_clocks(curves);

    return clock.cpu == clock.timed ? EMP_CURVE_BY_CPU : EMP_CURVE_BY_SECONDS;
}

/* ---- the curves of a group ---- */

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

static emp_status create_bands(struct bands *b, const emp_curves *c, int32_t what,
                               emp_curve_axis axis, emp_error *err)
{
    *b = (struct bands){.count = c->group->series_count};
    EMP_CHECK(EMP_ALLOC(b->band, (size_t)b->count));
    EMP_CHECK(EMP_ALLOC(b->curve, (size_t)b->count));
    for (int32_t i = 0; i < b->count; i++) {
        const emp_report_series *s = series_of(c, i);
        bool                     level = is_level(c, s);
        EMP_CHECK(emp_band_create(&b->band[i], &c->runs->run[s->first_run], s->run_count,
                                  what, level ? EMP_CURVE_BY_EVALUATIONS : axis, err));
        b->curve[i] = (emp_chart_curve){&b->band[i], s->label, 0, level};
    }
    return set_styles(b, err);
}

static emp_status draw(emp_drawing *d, const emp_curves *c, emp_chart chart, int32_t what,
                       emp_curve_axis axis, const char *name, const char *label,
                       emp_error *err)
{
    emp_status   st = EMP_OK;
    struct bands b = {0};

    *d = (emp_drawing){0};
    EMP_TRY(create_bands(&b, c, what, axis, err));
    chart.curve = b.curve;
    chart.curve_count = b.count;
    chart.has_names = true;
    chart.is_log_x = true;
    if (emp_curves_are_levels(c) || emp_chart_is_empty(&chart)) goto cleanup;
    chart.box = (emp_box){0, 0, WIDTH, emp_chart_height(&chart, HEIGHT)};
    emp_drawing_init(d, name, label, WIDTH, chart.box.height);
    emp_chart_draw(d, &chart);
    st = emp_drawing_check(d, err);

cleanup:
    clear_bands(&b);
    return st;
}

emp_status emp_curves_draw_best(emp_drawing *drawing, const emp_curves *curves,
                                emp_curve_axis axis, const char *name, emp_error *err)
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
                       .bound = curves->bound_s,
                       .is_step = true};

    return draw(drawing, curves, chart, EMP_CURVE_BEST, axis, name, by[axis].label, err);
}

emp_status emp_curves_draw_means(emp_drawing *drawing, const emp_curves *curves,
                                 const char *name, emp_error *err)
{
    emp_chart chart = {
        .x_label = "placements scored", .y_label = "mean of a batch, s", .bound = NAN};

    return draw(drawing, curves, chart, EMP_CURVE_MEAN, EMP_CURVE_BY_EVALUATIONS, name,
                "mean step time of each batch against placements scored", err);
}

/* ---- metrics of methods ---- */

static bool has_metrics(const emp_curves *c, const emp_report_series *s)
{
    return c->runs->run[s->first_run].record.metric_count > 0 && !is_level(c, s);
}

static emp_status draw_metric(emp_drawing *d, const emp_curves *c, int32_t series,
                              int32_t metric, emp_point corner, emp_error *err)
{
    emp_status               st = EMP_OK;
    const emp_report_series *s = series_of(c, series);
    const emp_report_run    *run = &c->runs->run[s->first_run];
    const char              *name = run->record.metric_name[metric];
    emp_band                 band = {0};
    const int32_t            own = emp_report_method_style(s->label);
    emp_chart_curve          curve = {&band, name, own >= 0 ? own : series, false};
    emp_chart                chart = {
                       .box = {corner.x, corner.y + HEADING, SMALL_WIDTH, SMALL_HEIGHT - HEADING},
                       .x_label = "placements scored",
                       .y_label = "",
                       .bound = NAN,
                       .curve = &curve,
                       .curve_count = 1};

    EMP_TRY(emp_band_create(&band, run, s->run_count, EMP_CURVE_METRIC + metric,
                            EMP_CURVE_BY_EVALUATIONS, err));
    emp_drawing_text(d, corner.x + 4, corner.y + 19, name,
                     &(emp_lettering){.size = EMP_CHART_FONT});
    if (!emp_chart_is_empty(&chart)) emp_chart_draw(d, &chart);

cleanup:
    emp_band_clear(&band);
    return st;
}

/* Returns where the next series begins. */
static emp_status draw_series(emp_drawing *d, const emp_curves *c, int32_t series,
                              double *y, emp_error *err)
{
    const emp_report_series *s = series_of(c, series);
    int32_t                  count = c->runs->run[s->first_run].record.metric_count;

    emp_drawing_text(d, 4, *y + 18, s->label,
                     &(emp_lettering){.size = EMP_CHART_FONT + 1});
    *y += HEADING;
    for (int32_t m = 0; m < count; m++) {
        emp_point corner = {m % COLUMNS * SMALL_WIDTH,
                            *y + (m - m % COLUMNS) / COLUMNS * SMALL_HEIGHT};
        EMP_CHECK(draw_metric(d, c, series, m, corner, err));
    }
    *y += (count + COLUMNS - 1) / COLUMNS * SMALL_HEIGHT;
    return EMP_OK;
}

emp_status emp_curves_draw_metrics(emp_drawing *drawing, const emp_curves *curves,
                                   const char *name, emp_error *err)
{
    double y = 0;

    *drawing = (emp_drawing){0};
    for (int32_t i = 0; i < curves->group->series_count; i++) {
        if (!has_metrics(curves, series_of(curves, i))) continue;
        if (y == 0)
            emp_drawing_init(drawing, name, "what methods report of themselves",
                             COLUMNS * SMALL_WIDTH, 0);
        EMP_CHECK(draw_series(drawing, curves, i, &y, err));
    }
    drawing->height = y;
    return emp_drawing_check(drawing, err);
}
