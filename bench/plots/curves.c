// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/curves.h"

#include <math.h>

#include "base/mem.h"
#include "bench/plots/colours.h"
#include "bench/plots/figure.h"
#include "bench/plots/html.h"

enum { WIDE = 460, HIGH = 270, SMALL_WIDE = 230, SMALL_HIGH = 145, LOG_FROM = 10 };

/* The curves of a group, or of one series of it. */
struct curves {
    emp_band         *band;
    emp_figure_curve *curve;
    int32_t           count;
};

/* A method that had all scored at once has no curve, but a level to compare with. */
static bool is_one_shot(const emp_report_runs *runs, const emp_report_series *s)
{
    for (int32_t i = s->first_run; i < s->first_run + s->run_count; i++) {
        if (runs->run[i].record.point_count > 1) return false;
    }
    return true;
}

/* Whether there is any; levels alone are what the table says. */
static bool check_curves(FILE *file, const emp_report_runs *runs,
                         const emp_report_group *g)
{
    for (int32_t i = 0; i < g->series_count; i++) {
        if (!is_one_shot(runs, &runs->series[g->first_series + i])) return true;
    }
    fputs(
        "<p class=\"note\">There is no curve: all that these methods proposed was scored "
        "at once.</p>\n",
        file);
    return false;
}

static emp_status create_curves(struct curves *c, const emp_report_runs *runs,
                                const emp_report_group *g, int32_t what,
                                emp_curve_axis axis, emp_error *err)
{
    *c = (struct curves){.count = g->series_count};
    EMP_CHECK(EMP_ALLOC(c->band, (size_t)c->count));
    EMP_CHECK(EMP_ALLOC(c->curve, (size_t)c->count));
    for (int32_t i = 0; i < c->count; i++) {
        const emp_report_series *s = &runs->series[g->first_series + i];
        bool is_line = is_one_shot(runs, s); /* where it lies in x is of no interest */
        EMP_CHECK(emp_band_create(&c->band[i], &runs->run[s->first_run], s->run_count,
                                  what, is_line ? EMP_CURVE_BY_EVALUATIONS : axis, err));
        c->curve[i] =
            (emp_figure_curve){&c->band[i], emp_report_series_colour(i), is_line};
    }
    return EMP_OK;
}

static void write_legend(FILE *file, const emp_report_runs *runs,
                         const emp_report_group *g)
{
    fputs("<ul class=\"legend\">\n", file);
    for (int32_t i = 0; i < g->series_count; i++) {
        const emp_report_series *s = &runs->series[g->first_series + i];
        fprintf(
            file,
            "<li><svg viewBox=\"0 0 34 12\"><line x1=\"1\" x2=\"33\" y1=\"6\" y2=\"6\" "
            "stroke=\"%s\" stroke-width=\"4\"%s/></svg> <span>",
            emp_report_series_colour(i),
            is_one_shot(runs, s) ? " stroke-dasharray=\"7 4\"" : "");
        emp_html_text(file, s->label);
        fprintf(file, " (%d seed%s)</span></li>\n", s->run_count,
                s->run_count == 1 ? "" : "s");
    }
    fputs("</ul>\n", file);
}

static emp_status write_figure(FILE *file, const emp_figure *figure, const char *caption,
                               emp_error *err)
{
    emp_html_put(file, "<figure class=\"figure\"><figcaption>", caption,
                 "</figcaption>\n");
    emp_status st = emp_figure_write(file, figure, err);
    fputs("</figure>\n", file);
    return st;
}

/* Whether values are so far apart that a linear axis would show the largest alone. */
static bool is_wide_range(const struct curves *c)
{
    double low = INFINITY, high = 0;

    for (int32_t i = 0; i < c->count; i++) {
        for (int32_t p = 0; p < c->band[i].point_count; p++) {
            double value = c->band[i].point[p].median;
            if (!isfinite(value) || value <= 0) continue;
            low = fmin(low, value);
            high = fmax(high, value);
        }
    }
    return high > LOG_FROM * low;
}

static emp_status draw(FILE *file, const emp_report_runs *runs, const emp_report_group *g,
                       int32_t what, emp_curve_axis axis, emp_figure figure,
                       const char *caption, emp_error *err)
{
    emp_status    st = EMP_OK;
    struct curves c = {0};

    EMP_TRY(create_curves(&c, runs, g, what, axis, err));
    figure.curve = c.curve;
    figure.curve_count = c.count;
    figure.is_log_y = is_wide_range(&c);
    if (emp_figure_is_empty(&figure)) {
        fprintf(file, "<p class=\"note\">%s: no run found a placement that fits.</p>\n",
                caption);
        goto cleanup;
    }
    EMP_TRY(write_figure(file, &figure, caption, err));

cleanup:
    for (int32_t i = 0; c.band != NULL && i < c.count; i++) emp_band_clear(&c.band[i]);
    emp_free(c.band);
    emp_free(c.curve);
    return st;
}

/* ---- metrics of learners ------------------------------------------------------------- */

static emp_status draw_metric(FILE *file, const emp_report_runs *runs,
                              const emp_report_group *g, int32_t series, int32_t metric,
                              emp_error *err)
{
    emp_status               st = EMP_OK;
    const emp_report_series *s = &runs->series[g->first_series + series];
    const emp_report_run    *run = &runs->run[s->first_run];
    emp_band                 band = {0};
    emp_figure_curve         curve = {&band, emp_report_series_colour(series), false};
    emp_figure               figure = {.name = "a metric of a learner",
                                       .x_label = "evaluations",
                                       .y_label = "",
                                       .width = SMALL_WIDE,
                                       .height = SMALL_HIGH,
                                       .divide_by = 1,
                                       .curve = &curve,
                                       .curve_count = 1};

    EMP_TRY(emp_band_create(&band, run, s->run_count, EMP_CURVE_METRIC + metric,
                            EMP_CURVE_BY_EVALUATIONS, err));
    if (!emp_figure_is_empty(&figure))
        EMP_TRY(write_figure(file, &figure, run->record.metric_name[metric], err));

cleanup:
    emp_band_clear(&band);
    return st;
}

static emp_status draw_metrics(FILE *file, const emp_report_runs *runs,
                               const emp_report_group *g, emp_error *err)
{
    emp_status st = EMP_OK;

    for (int32_t i = 0; i < g->series_count; i++) {
        const emp_report_series *s = &runs->series[g->first_series + i];
        const emp_record        *r = &runs->run[s->first_run].record;
        if (r->metric_count == 0 || is_one_shot(runs, s)) continue;
        emp_html_put(file, "<h4>What ", s->label,
                     " reports</h4>\n<div class=\"small\">\n");
        for (int32_t m = 0; m < r->metric_count && st == EMP_OK; m++)
            st = draw_metric(file, runs, g, i, m, err);
        fputs("</div>\n", file);
        EMP_CHECK(st);
    }
    return st;
}

/* ---- sections ------------------------------------------------------------------------ */

emp_status emp_report_curves(FILE *file, const emp_report_runs *runs,
                             const emp_report_group *group, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_figure figure = {.x_label = "evaluations",
                         .y_label = "step time, s",
                         .width = WIDE,
                         .height = HIGH,
                         .divide_by = 1};

    if (!check_curves(file, runs, group)) return EMP_OK;
    write_legend(file, runs, group);
    fputs("<div class=\"pair\">\n", file);
    figure.name = "best step time so far against evaluations";
    st = draw(file, runs, group, EMP_CURVE_BEST, EMP_CURVE_BY_EVALUATIONS, figure,
              "Best so far", err);
    figure.name = "mean step time of the batch against evaluations";
    if (st == EMP_OK)
        st = draw(file, runs, group, EMP_CURVE_MEAN, EMP_CURVE_BY_EVALUATIONS, figure,
                  "Mean of the batch", err);
    fputs("</div>\n", file);
    EMP_CHECK(st);
    return draw_metrics(file, runs, group, err);
}

struct timing {
    int32_t timed, untimed; /* runs that have a curve */
};

static struct timing count_timed(const emp_report_runs *runs, const emp_report_group *g)
{
    struct timing t = {0};

    for (int32_t i = 0; i < g->series_count; i++) {
        const emp_report_series *s = &runs->series[g->first_series + i];
        if (is_one_shot(runs, s)) continue;
        for (int32_t r = s->first_run; r < s->first_run + s->run_count; r++) {
            if (isfinite(runs->run[r].elapsed_s))
                t.timed++;
            else
                t.untimed++;
        }
    }
    return t;
}

static void write_untimed(FILE *file, struct timing t)
{
    if (t.untimed == 0) return;
    fputs("<p class=\"note\">", file);
    if (t.timed == 0)
        fputs(
            "There is no plot against seconds: no run has a .timing.json file beside its "
            "record, as runs in an archive folder have.",
            file);
    else
        fprintf(
            file,
            "%d of %d runs have no .timing.json file beside their record and are left "
            "out of the plot against seconds.",
            t.untimed, t.timed + t.untimed);
    fputs("</p>\n", file);
}

emp_status emp_report_quality(FILE *file, const emp_report_runs *runs,
                              const emp_report_group *group, emp_error *err)
{
    emp_status        st = EMP_OK;
    const emp_record *best = &runs->run[group->best_run].record;
    struct timing     timing = count_timed(runs, group);
    emp_figure        figure = {.y_label = "times the best found",
                                .width = WIDE,
                                .height = HIGH,
                                .is_log_x = true,
                                .divide_by = best->best_step_time_s};

    if (!best->is_feasible) {
        fputs("<p class=\"note\">No run found a placement that fits.</p>\n", file);
        return EMP_OK;
    }
    if (!check_curves(file, runs, group)) return EMP_OK;
    write_legend(file, runs, group);
    fputs("<div class=\"pair\">\n", file);
    figure.name = "best so far over the best of all, against evaluations";
    figure.x_label = "evaluations";
    st = draw(file, runs, group, EMP_CURVE_BEST, EMP_CURVE_BY_EVALUATIONS, figure,
              "Against samples", err);
    figure.name = "best so far over the best of all, against seconds";
    figure.x_label = "seconds";
    if (st == EMP_OK && timing.timed > 0)
        st = draw(file, runs, group, EMP_CURVE_BEST, EMP_CURVE_BY_SECONDS, figure,
                  "Against seconds", err);
    fputs("</div>\n", file);
    write_untimed(file, timing);
    return st;
}
