// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/chart.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "bench/plots/axis.h"
#include "bench/plots/drawing.h"
#include "run/sheet/sheet.h"

/* ---- styles of curves -------------------------------------------------------------- */

static const char *const line_colours[EMP_LINE_STYLES] = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
    "#882255", "#332288", "#662200", "#7755ee", "#117733", "#ee6677"};
/* For lines of two pixels. */
static const double dashes[EMP_LINE_STYLES][EMP_DRAWING_DASHES + 1] = {
    {0},
    {9, 4},
    {2.5, 3},
    {9, 3, 2.5, 3},
    {16, 4},
    {5, 3},
    {9, 3, 2.5, 3, 2.5, 3},
    {16, 3, 2.5, 3},
    {5, 3, 2, 3},
    {1.5, 5},
    {16, 3, 5, 3},
    {5, 7}};
/* The position is the style. Methods that figures show together most have colours of their own. */
static const char *const method_of_style[] = {"refine",
                                              "hdp",
                                              "anneal",
                                              "post",
                                              "expert",
                                              "local",
                                              "mcmc",
                                              "metis",
                                              "mincut",
                                              "dyna",
                                              "ce",
                                              "random",
                                              "colocrl",
                                              "go",
                                              "placeto",
                                              "giph",
                                              "hsdag",
                                              "doppler",
                                              "heft",
                                              "scotch",
                                              "gpu",
                                              "cpu",
                                              "brkga",
                                              "portfolio",
                                              "etf",
                                              "peft",
                                              "m-topo",
                                              "m-etf",
                                              "m-sct",
                                              "acyclic",
                                              "dp-contiguous",
                                              "critical-path",
                                              "memory-split",
                                              "first-fit",
                                              "experts-on-cpu"};
enum { METHODS = sizeof method_of_style / sizeof *method_of_style };

int32_t emp_report_method_style(const char *label)
{
    int32_t style = -1;
    size_t  longest = 0;

    for (int32_t i = 0; i < METHODS; i++) {
        const size_t length = strlen(method_of_style[i]);
        if (length <= longest || strncmp(label, method_of_style[i], length) != 0 ||
            strchr(" ,-:(", label[length]) == NULL) /* or the end */
            continue;
        style = i;
        longest = length;
    }
    return style;
}

/* True if a series has the style, or its colour. */
static bool is_taken(const int32_t *style, int32_t count, int32_t wanted, bool by_colour)
{
    for (int32_t i = 0; i < count; i++)
        if (style[i] == wanted ||
            (by_colour && style[i] >= 0 &&
             style[i] % EMP_LINE_STYLES == wanted % EMP_LINE_STYLES))
            return true;
    return false;
}

static int32_t first_left(const int32_t *style, int32_t count)
{
    for (int32_t i = 0; i < EMP_LINE_STYLES; i++)
        if (!is_taken(style, count, i, true)) return i;
    for (int32_t i = 0;; i++)
        if (!is_taken(style, count, i, false)) return i;
}

void emp_report_series_styles(int32_t *style, const char *const *label, int32_t count)
{
    for (int32_t i = 0; i < count; i++) style[i] = -1;
    for (int32_t i = 0; i < count; i++) {
        const int32_t own = emp_report_method_style(label[i]);
        if (own >= 0 && !is_taken(style, count, own, true)) style[i] = own;
    }
    for (int32_t i = 0; i < count; i++)
        if (style[i] < 0) style[i] = first_left(style, count);
}

emp_line_style emp_report_line_style(int32_t number)
{
    int32_t       colour = number % EMP_LINE_STYLES;
    const double *dash = dashes[(colour + number / EMP_LINE_STYLES) % EMP_LINE_STYLES];

    return (emp_line_style){line_colours[colour], dash[0] > 0 ? dash : NULL};
}

/* ---- bands of several seeds -------------------------------------------------------- */

bool emp_band_has_axis(const emp_report_run *run, emp_curve_axis axis)
{
    switch (axis) {
    case EMP_CURVE_BY_CPU: return run->timing.point_count > 0;
    case EMP_CURVE_BY_SECONDS: return isfinite(run->timing.elapsed_s);
    default: return true;
    }
}

/* CPU seconds when so many were scored: of the first point that has them all. */
static double cpu_s_at(const emp_timing *t, int64_t evaluations)
{
    int32_t from;

    EMP_COUNT_FIRST(from, t->point_count - 1, i, t->point[i].evaluations < evaluations);
    return t->point[from].cpu_s;
}

static double x_of(const emp_report_run *run, int32_t point, emp_curve_axis axis)
{
    int64_t evaluations = run->record.curve[point].evaluations;

    switch (axis) {
    case EMP_CURVE_BY_CPU: return cpu_s_at(&run->timing, evaluations);
    case EMP_CURVE_BY_SECONDS:
        return (double)evaluations * run->timing.elapsed_s /
               (double)run->record.evaluations;
    default: return (double)evaluations;
    }
}

/* NaN = nothing to count. */
static double recorded_value(const emp_record *r, int32_t point, int32_t what,
                             const char *name)
{
    const emp_curve_point *p = &r->curve[point];

    if (what == EMP_CURVE_BEST) return isnan(p->best_s) ? INFINITY : p->best_s;
    if (what == EMP_CURVE_MEAN) return p->mean_s;
    for (int32_t m = 0; m < r->metric_count; m++) /* other runs may number it otherwise */
        if (strcmp(r->metric_name[m], name) == 0)
            return r->metric[point * r->metric_count + m];
    return NAN;
}

/* Sorted, without repetitions. */
static int32_t clean_places(double *x, int32_t count)
{
    int32_t unique = 0;

    gsl_sort(x, 1, (size_t)count);
    for (int32_t i = 0; i < count; i++) {
        if (unique == 0 || x[i] > x[unique - 1]) x[unique++] = x[i];
    }
    return unique;
}

static bool is_same(const emp_band_point *a, const emp_band_point *b)
{
    return a->median == b->median && a->low == b->low && a->high == b->high;
}

/* Leaves points out that repeat the one before; the last one stays. */
static void drop_repetitions(emp_band *band)
{
    int32_t kept = 0, last = band->point_count - 1;

    for (int32_t i = 0; i <= last; i++) {
        if (i > 0 && i < last && is_same(&band->point[i], &band->point[kept - 1]))
            continue;
        band->point[kept++] = band->point[i];
    }
    band->point_count = kept;
}

static void thin_out(emp_band *band)
{
    int64_t last = band->point_count - 1;

    if (band->point_count <= EMP_BAND_POINTS) return;
    for (int32_t i = 0; i < EMP_BAND_POINTS; i++)
        band->point[i] = band->point[i * last / (EMP_BAND_POINTS - 1)];
    band->point_count = EMP_BAND_POINTS;
}

/* Walks all curves along the places; at[run] is the next point of each. */
static void fill(emp_band *band, const double *x, int32_t place_count,
                 const emp_report_run *run, int32_t run_count, int32_t what,
                 emp_curve_axis axis, int32_t *at, double *value)
{
    const char *name =
        what < EMP_CURVE_METRIC ? "" : run[0].record.metric_name[what - EMP_CURVE_METRIC];

    for (int32_t i = 0; i < place_count; i++) {
        size_t count = 0;
        for (int32_t r = 0; r < run_count; r++) {
            const emp_record *record = &run[r].record;
            if (!emp_band_has_axis(&run[r], axis)) continue;
            while (at[r] < record->point_count && x_of(&run[r], at[r], axis) <= x[i])
                at[r]++;
            double v = at[r] > 0 ? recorded_value(record, at[r] - 1, what, name)
                       : what == EMP_CURVE_BEST ? INFINITY
                                                : NAN;
            if (!isnan(v)) value[count++] = v;
        }
        if (count == 0) continue;
        emp_summary s = emp_summary_of(value, count);
        band->point[band->point_count++] = (emp_band_point){x[i], s.median, s.min, s.max};
    }
}

emp_status emp_band_create(emp_band *band, const emp_report_run *run, int32_t run_count,
                           int32_t what, emp_curve_axis axis, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     limit = 0;
    int32_t    count = 0;
    double    *x = NULL, *value = EMP_NEW_ARRAY(double, (size_t)run_count);
    int32_t   *at = EMP_NEW_ARRAY(int32_t, (size_t)run_count);

    *band = (emp_band){0};
    for (int32_t r = 0; r < run_count; r++) limit += (size_t)run[r].record.point_count;
    x = EMP_NEW_ARRAY(double, limit);
    if (x == NULL || value == NULL || at == NULL)
        EMP_FAIL(EMP_ENOMEM, "curve of %zu points", limit);
    for (int32_t r = 0; r < run_count; r++) {
        if (!emp_band_has_axis(&run[r], axis)) continue;
        for (int32_t i = 0; i < run[r].record.point_count; i++)
            x[count++] = x_of(&run[r], i, axis);
    }
    count = clean_places(x, count);
    EMP_TRY(EMP_ALLOC(band->point, (size_t)count));
    fill(band, x, count, run, run_count, what, axis, at, value);
    if (what == EMP_CURVE_BEST) drop_repetitions(band);
    thin_out(band);

cleanup:
    emp_free(x);
    emp_free(value);
    emp_free(at);
    return st;
}

void emp_band_clear(emp_band *band)
{
    emp_free(band->point);
    *band = (emp_band){0};
}

/* ---- charts ------------------------------------------------------------------------- */

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

/* A path through the values from point *from on, up to one that is infinite; levels go from side to side. *from: where
 * the next path begins. */
static int32_t trace(const emp_chart *c, const struct layout *l,
                     const emp_chart_curve *curve, int which, emp_point path[MOST_POINTS],
                     int32_t *from)
{
    int32_t count = 0;

    while (*from < curve->band->point_count) {
        const emp_band_point *p = &curve->band->point[(*from)++];
        if (isinf(p->median) && count > 0 && !curve->is_level) break;
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
    emp_point       outline[2 * MOST_POINTS], high[MOST_POINTS];
    const emp_paint paint = {.colour = emp_report_line_style(curve->style).colour,
                             .opacity = 0.16};
    const int32_t   points = curve->band->point_count;

    for (int32_t low_from = 0, high_from = 0; low_from < points;) {
        const int32_t count = trace(c, l, curve, -1, outline, &low_from);
        bool          has_area = false;
        trace(c, l, curve, 1, high, &high_from);
        for (int32_t i = 0; i < count; i++) {
            has_area |= outline[i].y - high[i].y > 0.05;
            outline[2 * count - 1 - i] = high[i];
        }
        if (has_area) emp_drawing_area(d, outline, 2 * count, &paint);
    }
}

static void draw_curve(emp_drawing *d, const emp_chart *c, const struct layout *l,
                       const emp_chart_curve *curve)
{
    emp_point path[MOST_POINTS];
    emp_paint paint = line_paint(curve);

    emp_drawing_begin(d, curve->label);
    for (int32_t from = 0; from < curve->band->point_count;) {
        const int32_t count = trace(c, l, curve, 0, path, &from);
        if (count == 1) /* a run of one batch */
            emp_drawing_rectangle(d, (emp_box){path[0].x - 2, path[0].y - 2, 4, 4},
                                  &paint);
        emp_drawing_line(d, path, count, &paint);
    }
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
