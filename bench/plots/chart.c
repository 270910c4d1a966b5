// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/plots/axis.h"
#include "bench/plots/colours.h"

/* Pixels. */
enum {
    TOP = 8,
    RIGHT = 14,  /* of charts without names */
    BOTTOM = 44, /* numbers and label of the x axis */
    LABEL = 22,  /* label of the y axis */
    TICK = 5,
    GAP = 6,     /* between things that belong together */
    LEADER = 22, /* from the plot to the names; the last number of the x axis has room */
    SWATCH = 24, /* of a line's style, before its name */
    X_MARK_ROOM = 62,
    Y_MARK_ROOM = 34
};

/* Values further apart than that are shown by their logarithms. */
static const double log_from = 5;
/* The largest share of the chart's width for names. */
static const double names_frac = 0.42;

static const double    bound_dash[] = {2, 4, 0};
static const char      bound_name[] = "lower bound";
static const emp_paint frame_paint = {.colour = EMP_SOFT},
                       grid_paint = {.colour = EMP_FAINT},
                       bound_paint = {.width = 1.5, .dash = bound_dash};

/* ---- where things are ---- */

struct layout {
    emp_axis x, y;
    double   names_x; /* left end of the names */
};

static bool has_bound(const emp_chart *c) { return c->bound > 0 && isfinite(c->bound); }

static bool is_shown(const emp_chart *c, const emp_band_point *p)
{
    return isfinite(p->median) && (!c->is_log_x || p->x > 0);
}

/* The x axis has all places where a curve has a value; where there are only levels, theirs. */
static emp_axis find_x(const emp_chart *c)
{
    emp_axis axis = emp_axis_empty();

    for (int levels = 0; levels < 2 && axis.low > axis.high; levels++) {
        for (int32_t i = 0; i < c->curve_count; i++) {
            const emp_chart_curve *curve = &c->curve[i];
            if (curve->is_level != (levels == 1)) continue;
            for (int32_t p = 0; p < curve->band->point_count; p++)
                if (is_shown(c, &curve->band->point[p]))
                    emp_axis_stretch(&axis, curve->band->point[p].x);
        }
    }
    axis.is_log = c->is_log_x;
    return axis;
}

/* The y axis has all values, bands and the bound included. */
static emp_axis find_y(const emp_chart *c)
{
    emp_axis axis = emp_axis_empty();

    for (int32_t i = 0; i < c->curve_count; i++) {
        const emp_band *band = c->curve[i].band;
        for (int32_t p = 0; p < band->point_count; p++) {
            if (!is_shown(c, &band->point[p])) continue;
            emp_axis_stretch(&axis, band->point[p].median);
            emp_axis_stretch(&axis, band->point[p].low);
            emp_axis_stretch(&axis, band->point[p].high);
        }
    }
    if (has_bound(c)) emp_axis_stretch(&axis, c->bound);
    axis.is_log = axis.low > 0 && axis.high > log_from * axis.low;
    return axis;
}

bool emp_chart_is_empty(const emp_chart *chart)
{
    emp_axis x = find_x(chart);

    return x.low > x.high;
}

static double names_width(const emp_chart *c)
{
    double widest = has_bound(c) ? emp_label_width(bound_name, EMP_CHART_FONT) : 0;

    if (!c->has_names) return 0;
    for (int32_t i = 0; i < c->curve_count; i++)
        widest = fmax(widest, emp_label_width(c->curve[i].label, EMP_CHART_FONT));
    return fmin(SWATCH + GAP + widest, names_frac * c->box.width);
}

static int32_t y_marks(const emp_axis *y, double mark[EMP_AXIS_MARKS])
{
    return emp_axis_marks(y, (int32_t)fmax(3, fabs(y->to - y->from) / Y_MARK_ROOM), mark);
}

static double numbers_width(const emp_axis *y)
{
    double  mark[EMP_AXIS_MARKS], widest = 0;
    int32_t count = y_marks(y, mark);
    char    text[32];

    for (int32_t i = 0; i < count; i++)
        widest = fmax(widest, emp_label_width(emp_axis_number(mark[i], text, sizeof text),
                                              EMP_CHART_FONT));
    return widest;
}

static struct layout lay_out(const emp_chart *c)
{
    struct layout  l = {find_x(c), find_y(c), 0};
    const emp_box *box = &c->box;

    emp_axis_widen(&l.y, 0.04);
    if (l.x.low == l.x.high) emp_axis_widen(&l.x, 0.04);
    l.y.from = box->y + box->height - BOTTOM;
    l.y.to = box->y + TOP;
    l.x.from =
        box->x + (c->y_label[0] != '\0' ? LABEL : 0) + numbers_width(&l.y) + GAP + TICK;
    l.names_x = box->x + box->width - names_width(c);
    l.x.to = l.names_x - (c->has_names ? LEADER : RIGHT);
    return l;
}

/* ---- names ---- */

static double end_of(const emp_chart *c, const emp_chart_curve *curve, double *x)
{
    double value = NAN;

    for (int32_t p = 0; p < curve->band->point_count; p++) {
        if (!is_shown(c, &curve->band->point[p])) continue;
        value = curve->band->point[p].median;
        *x = curve->band->point[p].x;
    }
    return value;
}

static int compare_ends(const void *left, const void *right)
{
    const emp_chart_name *a = left, *b = right;

    if (a->end_y != b->end_y) return a->end_y < b->end_y ? -1 : 1;
    return a->curve < b->curve ? -1 : 1;
}

static int32_t list_names(const emp_chart *c, const struct layout *l,
                          emp_chart_name *name)
{
    double  room = c->box.x + c->box.width - l->names_x - SWATCH - GAP;
    int32_t count = 0;

    for (int32_t i = has_bound(c) ? -1 : 0; i < c->curve_count; i++) {
        const char *label = i < 0 ? bound_name : c->curve[i].label;
        double      end_x = l->x.high;
        double      end_y = i < 0 ? c->bound : end_of(c, &c->curve[i], &end_x);
        if (isnan(end_y) || count == EMP_CHART_NAMES) continue;
        if (i < 0 || c->curve[i].is_level) end_x = l->x.high;
        name[count] = (emp_chart_name){.curve = i,
                                       .end_x = emp_axis_place(&l->x, end_x),
                                       .end_y = emp_axis_place(&l->y, end_y)};
        emp_label_shorten(name[count].text, sizeof name[count].text, label, room + 0.01,
                          EMP_CHART_FONT);
        count++;
    }
    return count;
}

int32_t emp_chart_place_names(const emp_chart *chart,
                              emp_chart_name   name[EMP_CHART_NAMES])
{
    struct layout l = lay_out(chart);
    double        place[EMP_CHART_NAMES];
    int32_t       count = chart->has_names ? list_names(chart, &l, name) : 0;
    double        half = EMP_CHART_ROW / 2.0;

    qsort(name, (size_t)count, sizeof *name, compare_ends);
    for (int32_t i = 0; i < count; i++) place[i] = name[i].end_y;
    emp_labels_spread(place, count, EMP_CHART_ROW, chart->box.y + half,
                      chart->box.y + chart->box.height - half);
    for (int32_t i = 0; i < count; i++)
        name[i].box = (emp_box){
            l.names_x, place[i] - half,
            SWATCH + GAP + emp_label_width(name[i].text, EMP_CHART_FONT), EMP_CHART_ROW};
    return count;
}

double emp_chart_height(const emp_chart *chart, double least)
{
    int32_t names = chart->has_names ? chart->curve_count + 1 : 0;

    if (names > EMP_CHART_NAMES) names = EMP_CHART_NAMES;
    return fmax(least, names * EMP_CHART_ROW);
}

/* ---- drawing ---- */

static emp_paint line_paint(const emp_chart_curve *curve)
{
    emp_line_style style = emp_report_line_style(curve->style);

    return (emp_paint){
        .colour = style.colour, .dash = style.dash, .width = curve->is_level ? 1.4 : 2};
}

/* From the end of a curve, along its value to the plot's side, and on to its name. */
static void draw_leader(emp_drawing *d, const struct layout *l, const emp_chart_name *n,
                        const char *colour)
{
    const emp_point way[] = {{n->end_x, n->end_y},
                             {l->x.to, n->end_y},
                             {n->box.x - 2, n->box.y + n->box.height / 2}};
    bool            is_at_side = n->end_x >= l->x.to - 0.5;

    emp_drawing_line(d, is_at_side ? way + 1 : way, is_at_side ? 2 : 3,
                     &(emp_paint){.colour = colour, .width = 0.75, .opacity = 0.6});
}

static void draw_name(emp_drawing *d, const emp_chart *c, const struct layout *l,
                      const emp_chart_name *n)
{
    double    middle = n->box.y + n->box.height / 2;
    emp_paint paint = n->curve < 0 ? bound_paint : line_paint(&c->curve[n->curve]);

    draw_leader(d, l, n, paint.colour);
    emp_drawing_begin(d, n->curve < 0 ? "no placement that fits is faster"
                                      : c->curve[n->curve].label);
    emp_drawing_segment(d, n->box.x, middle, n->box.x + SWATCH, middle, &paint);
    emp_drawing_text(d, n->box.x + SWATCH + GAP, middle + 0.35 * EMP_CHART_FONT, n->text,
                     &(emp_lettering){.size = EMP_CHART_FONT});
    emp_drawing_end(d);
}

static void draw_x_axis(emp_drawing *d, const emp_chart *c, const struct layout *l)
{
    double  mark[EMP_AXIS_MARKS], last_end = -INFINITY, bottom = l->y.from;
    int32_t most = (int32_t)fmax(2, (l->x.to - l->x.from) / X_MARK_ROOM);
    int32_t count = emp_axis_marks(&l->x, most, mark);
    char    text[32];

    for (int32_t i = 0; i < count; i++) {
        double x = emp_axis_place(&l->x, mark[i]);
        double half =
            emp_label_width(emp_axis_number(mark[i], text, sizeof text), EMP_CHART_FONT) /
            2;
        emp_drawing_segment(d, x, bottom, x, bottom + TICK, &frame_paint);
        if (x - half < last_end + GAP) continue;
        last_end = x + half;
        emp_drawing_text(
            d, x, bottom + TICK + EMP_CHART_FONT + 1, text,
            &(emp_lettering){EMP_SOFT, EMP_CHART_FONT, EMP_ANCHOR_MIDDLE, 0});
    }
    emp_drawing_segment(d, l->x.from, bottom, l->x.to, bottom, &frame_paint);
    emp_drawing_text(d, (l->x.from + l->x.to) / 2, c->box.y + c->box.height - 6,
                     c->x_label,
                     &(emp_lettering){EMP_SOFT, EMP_CHART_FONT, EMP_ANCHOR_MIDDLE, 0});
}

static void draw_y_axis(emp_drawing *d, const emp_chart *c, const struct layout *l)
{
    double  mark[EMP_AXIS_MARKS];
    int32_t count = y_marks(&l->y, mark);
    char    text[32];

    for (int32_t i = 0; i < count; i++) {
        double y = emp_axis_place(&l->y, mark[i]);
        emp_drawing_segment(d, l->x.from, y, l->x.to, y, &grid_paint);
        emp_drawing_segment(d, l->x.from - TICK, y, l->x.from, y, &frame_paint);
        emp_drawing_text(d, l->x.from - TICK - GAP / 2.0, y + 0.35 * EMP_CHART_FONT,
                         emp_axis_number(mark[i], text, sizeof text),
                         &(emp_lettering){EMP_SOFT, EMP_CHART_FONT, EMP_ANCHOR_END, 0});
    }
    emp_drawing_segment(d, l->x.from, l->y.from, l->x.from, l->y.to, &frame_paint);
    if (c->y_label[0] != '\0')
        emp_drawing_text(
            d, c->box.x + EMP_CHART_FONT, (l->y.from + l->y.to) / 2, c->y_label,
            &(emp_lettering){EMP_SOFT, EMP_CHART_FONT, EMP_ANCHOR_MIDDLE, true});
}

/* One of a band's three values at a point; what is infinite ends at the median. */
static double value_of(const emp_band_point *p, int which)
{
    double value = which < 0 ? p->low : which > 0 ? p->high : p->median;

    return isfinite(value) ? value : p->median;
}

enum { MOST_POINTS = 2 * EMP_BAND_POINTS };

/* A path through the values; levels go from side to side. */
static int32_t trace(const emp_chart *c, const struct layout *l,
                     const emp_chart_curve *curve, int which, emp_point path[MOST_POINTS])
{
    int32_t count = 0;

    for (int32_t i = 0; i < curve->band->point_count; i++) {
        const emp_band_point *p = &curve->band->point[i];
        if (!is_shown(c, p)) continue;
        emp_point at = {emp_axis_place(&l->x, p->x),
                        emp_axis_place(&l->y, value_of(p, which))};
        if (curve->is_level) {
            path[0] = (emp_point){l->x.from, at.y};
            path[1] = (emp_point){l->x.to, at.y};
            count = 2;
            continue;
        }
        if (c->is_step && count > 0) {
            path[count] = (emp_point){at.x, path[count - 1].y};
            count++;
        }
        path[count++] = at;
    }
    return count;
}

static void draw_band(emp_drawing *d, const emp_chart *c, const struct layout *l,
                      const emp_chart_curve *curve)
{
    emp_point outline[2 * MOST_POINTS], high[MOST_POINTS];
    int32_t   count = trace(c, l, curve, -1, outline);
    bool      has_area = false;

    trace(c, l, curve, 1, high);
    for (int32_t i = 0; i < count; i++) {
        has_area |= outline[i].y - high[i].y > 0.05;
        outline[2 * count - 1 - i] = high[i];
    }
    emp_paint paint = {.colour = emp_report_line_style(curve->style).colour,
                       .opacity = 0.16};
    if (has_area) emp_drawing_area(d, outline, 2 * count, &paint);
}

static void draw_curve(emp_drawing *d, const emp_chart *c, const struct layout *l,
                       const emp_chart_curve *curve)
{
    emp_point path[MOST_POINTS];
    emp_paint paint = line_paint(curve);
    int32_t   count = trace(c, l, curve, 0, path);

    emp_drawing_begin(d, curve->label);
    if (count == 1) { /* a run of one batch */
        emp_drawing_rectangle(d, (emp_box){path[0].x - 2, path[0].y - 2, 4, 4}, &paint);
    }
    emp_drawing_line(d, path, count, &paint);
    emp_drawing_end(d);
}

void emp_chart_draw(emp_drawing *d, const emp_chart *c)
{
    struct layout  l = lay_out(c);
    emp_chart_name name[EMP_CHART_NAMES];
    int32_t        names = emp_chart_place_names(c, name);

    draw_y_axis(d, c, &l);
    for (int32_t i = 0; i < c->curve_count; i++) draw_band(d, c, &l, &c->curve[i]);
    if (has_bound(c)) {
        double y = emp_axis_place(&l.y, c->bound);
        emp_drawing_segment(d, l.x.from, y, l.x.to, y, &bound_paint);
    }
    for (int32_t i = 0; i < c->curve_count; i++) draw_curve(d, c, &l, &c->curve[i]);
    draw_x_axis(d, c, &l);
    for (int32_t i = 0; i < names; i++) draw_name(d, c, &l, &name[i]);
}
