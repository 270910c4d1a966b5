// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/csv/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/units.h"
#include "bench/plots/axis.h"
#include "bench/plots/chart.h"
#include "bench/plots/drawing.h"

/* A grid as dots: a band a row, in it a lane a series. Values that are out of memory stand right of
 * the axis. After W. S. Cleveland, "The Elements of Graphing Data". */

/* Pixels. */
enum {
    WIDTH = 760,
    FONT = 13,
    LANE = 10,
    PAD = 5,     /* above the first lane of a row, and below its last one */
    LEAST = 24,  /* height of a row */
    AXIS = 42,   /* numbers and label below the plot */
    LEGEND = 20, /* height of a line of it */
    GAP = 8,
    OOM = 56, /* width of the column of what does not fit */
    SWATCH = 16,
    MARK_ROOM = 70
};

static const double radius = 4, log_from = 5, names_frac = 0.34;
static const double tau = 6.283185307179586;

struct layout {
    double   width; /* of the figure */
    emp_axis x;
    double   top, height; /* of the rows */
    double   row_height, lane, oom_x;
    bool     has_oom;
};

/* ---- marks ---- */

enum { CORNERS = 12, SHAPES = 5 };

/* Corners of each shape, where the first one is in turns, and its size. */
static const struct {
    int    corners;
    double turn, size;
} shapes[SHAPES] = {
    {CORNERS, 0, 1}, {4, 0.125, 1.2}, {3, 0.75, 1.35}, {4, 0, 1.25}, {3, 0.25, 1.35}};

static const char *colour_of(const emp_plot_grid *g, int32_t series)
{
    return emp_report_line_style(g->style[series]).colour;
}

/* The first value of a series is filled, the second one is hollow. */
static void draw_mark(emp_drawing *d, double x, double y, int32_t series, int32_t part,
                      const char *colour)
{
    const int shape = series % SHAPES;
    emp_point corner[CORNERS + 1];
    const int count = shapes[shape].corners;

    for (int i = 0; i <= count; i++) {
        double turn = tau * (shapes[shape].turn + (double)(i % count) / count);
        corner[i].x = x + radius * shapes[shape].size * cos(turn);
        corner[i].y = y + radius * shapes[shape].size * sin(turn);
    }
    emp_drawing_area(d, corner, count,
                     &(emp_paint){.colour = part == 0 ? colour : "#ffffff"});
    if (part > 0)
        emp_drawing_line(d, corner, count + 1,
                         &(emp_paint){.colour = colour, .width = 1.5});
}

/* ---- where things are ---- */

static double names_width(const emp_plot_grid *g, double width)
{
    double widest = 0;

    for (int32_t row = 0; row < g->row_count; row++)
        widest = fmax(widest, emp_label_width(g->row[row], FONT));
    return fmin(widest, names_frac * width);
}

static void stretch(struct layout *l, const emp_plot_grid *g)
{
    const int32_t cells = g->row_count * g->series_count * g->part_count;

    for (int32_t i = 0; i < cells; i++) {
        emp_axis_stretch(&l->x, g->cell[i].value);
        emp_axis_stretch(&l->x, g->cell[i].low);
        emp_axis_stretch(&l->x, g->cell[i].high);
        l->has_oom = l->has_oom || isinf(g->cell[i].value);
    }
    l->x.is_log = l->x.low > 0 && l->x.high > log_from * l->x.low;
    if (l->x.low <= l->x.high) emp_axis_widen(&l->x, 0.03);
}

/* \a height: of the figure, 0 = as high as the rows need. */
static struct layout lay_out(const emp_plot_grid *g, double legend, double width,
                             double height)
{
    struct layout l = {.width = width, .x = emp_axis_empty(), .top = legend};

    stretch(&l, g);
    l.row_height = fmax(LEAST, 2 * PAD + LANE * g->series_count);
    if (height > 0)
        l.row_height =
            fmax(2 * radius * g->series_count, (height - legend - AXIS) / g->row_count);
    l.height = l.row_height * g->row_count;
    l.lane = fmin(LANE, (l.row_height - 2) / g->series_count);
    l.x.from = names_width(g, width) + 2 * GAP;
    l.x.to = width - 2 * GAP - (l.has_oom ? OOM : 0);
    l.oom_x = width - OOM / 2.0 - GAP;
    return l;
}

/* ---- the legend ---- */

/* An entry, if there is something to draw on; moves on to where the next one stands. */
static void add_entry(emp_drawing *d, const char *name, int32_t series, int32_t part,
                      const char *colour, double room, double *x, double *y)
{
    const double width = SWATCH + emp_label_width(name, FONT) + 2 * GAP;

    if (*x > 0 && *x + width > room) {
        *x = 0;
        *y += LEGEND;
    }
    if (d != NULL) {
        draw_mark(d, *x + SWATCH / 2.0, *y + LEGEND / 2.0, series, part, colour);
        emp_drawing_text(d, *x + SWATCH + 2, *y + LEGEND / 2.0 + 0.35 * FONT, name,
                         &(emp_lettering){.size = FONT});
    }
    *x += width;
}

/* Draws it, or just tells its height. */
static double draw_legend(emp_drawing *d, const emp_plot_grid *g, double width)
{
    double x = 0, y = 0;

    if (g->series_count == 1 && g->part_count == 1) return GAP;
    for (int32_t s = 0; s < g->series_count; s++)
        add_entry(d, g->series[s], s, 0, colour_of(g, s), width, &x, &y);
    for (int32_t k = 0; k < g->part_count && g->part_count > 1; k++) {
        char name[128];
        snprintf(name, sizeof name, "%s %.100s",
                 k == 0 ? "filled:" : "hollow:", g->part[k]);
        add_entry(d, name, 0, k, EMP_SOFT, width, &x, &y);
    }
    return y + LEGEND + GAP;
}

/* ---- the plot ---- */

static void draw_axis(emp_drawing *d, const struct layout *l, const char *label)
{
    double       mark[EMP_AXIS_MARKS];
    const double bottom = l->top + l->height;
    int32_t      count =
        emp_axis_marks(&l->x, (int32_t)fmax(2, (l->x.to - l->x.from) / MARK_ROOM), mark);
    char text[32];

    for (int32_t i = 0; i < count; i++) {
        double x = emp_axis_place(&l->x, mark[i]);
        emp_drawing_segment(d, x, l->top, x, bottom, &(emp_paint){.colour = EMP_FAINT});
        emp_drawing_text(d, x, bottom + FONT + 4,
                         emp_axis_number(mark[i], text, sizeof text),
                         &(emp_lettering){EMP_SOFT, FONT, EMP_ANCHOR_MIDDLE, false});
    }
    if (l->has_oom)
        emp_drawing_text(d, l->oom_x, bottom + FONT + 4, "OOM",
                         &(emp_lettering){EMP_SOFT, FONT, EMP_ANCHOR_MIDDLE, false});
    emp_drawing_segment(d, l->x.from, bottom, l->x.to, bottom,
                        &(emp_paint){.colour = EMP_SOFT});
    emp_drawing_text(d, (l->x.from + l->x.to) / 2, bottom + AXIS - 6, label,
                     &(emp_lettering){EMP_SOFT, FONT, EMP_ANCHOR_MIDDLE, false});
}

static double place_of(const struct layout *l, double value, int32_t part)
{
    const double apart = 2 * radius + 2;

    if (isfinite(value)) return emp_axis_place(&l->x, value);
    return l->oom_x + apart * part;
}

static void draw_range(emp_drawing *d, const struct layout *l, const emp_plot_cell *c,
                       double y, const char *colour)
{
    if (isnan(c->low) || isnan(c->high)) return;
    emp_drawing_segment(d, place_of(l, c->low, 0), y, place_of(l, c->high, 0), y,
                        &(emp_paint){.colour = colour, .width = 2, .opacity = 0.5});
}

/* A series in a row: its values, a thin line between two of them. */
static void draw_lane(emp_drawing *d, const struct layout *l, const emp_plot_grid *g,
                      int32_t row, int32_t series, double y)
{
    const emp_plot_cell *c = emp_plot_at(g, row, series, 0);
    const char          *colour = colour_of(g, series);

    if (g->part_count > 1 && isfinite(c[0].value) && isfinite(c[1].value))
        emp_drawing_segment(d, place_of(l, c[0].value, 0), y, place_of(l, c[1].value, 1),
                            y, &(emp_paint){.colour = colour, .opacity = 0.4});
    for (int32_t k = 0; k < g->part_count; k++) draw_range(d, l, &c[k], y, colour);
    for (int32_t k = g->part_count - 1; k >= 0; k--)
        if (!isnan(c[k].value))
            draw_mark(d, place_of(l, c[k].value, k), y, series, k, colour);
}

static void draw_row(emp_drawing *d, const struct layout *l, const emp_plot_grid *g,
                     int32_t row)
{
    const double top = l->top + row * l->row_height, middle = top + l->row_height / 2;
    const double first = middle - l->lane * (g->series_count - 1) / 2.0;
    char         name[256];

    emp_drawing_segment(d, 0, top, l->has_oom ? l->width : l->x.to, top,
                        &(emp_paint){.colour = EMP_FAINT});
    emp_label_shorten(name, sizeof name, g->row[row], names_width(g, l->width) + 0.01,
                      FONT);
    emp_drawing_begin(d, g->row[row]);
    emp_drawing_text(d, l->x.from - GAP, middle + 0.35 * FONT, name,
                     &(emp_lettering){NULL, FONT, EMP_ANCHOR_END, false});
    emp_drawing_end(d);
    for (int32_t s = 0; s < g->series_count; s++)
        draw_lane(d, l, g, row, s, first + l->lane * s);
}

/* Draws it; the drawing is initialised here, and stays empty without any value. The axis is
 * logarithmic where values lie far apart.
 * \param label  Below the axis. */
static void emp_plot_dots_draw(emp_drawing *drawing, const emp_plot_grid *grid,
                               const char *label, double width, double height)
{
    struct layout l = lay_out(grid, draw_legend(NULL, grid, width), width, height);

    emp_drawing_init(drawing, "dots", "values of a table as dots, a band a row", width,
                     l.top + l.height + AXIS);
    if (l.x.low > l.x.high) return;
    draw_legend(drawing, grid, width);
    draw_axis(drawing, &l, label);
    for (int32_t row = 0; row < grid->row_count; row++) draw_row(drawing, &l, grid, row);
}

/* A grid as lines. */

enum { HEIGHT = 420 };

/* An x axis whose ends lie further apart is logarithmic. */
static const double lines_log_from = 20;

_Static_assert((int)EMP_PLOT_ROWS_MAX <= (int)EMP_BAND_POINTS,
               "a chart has room for all rows");

static int compare_points(const void *left, const void *right)
{
    const emp_band_point *a = left, *b = right;

    return a->x < b->x ? -1 : a->x > b->x;
}

static emp_status read_x(double *x, const emp_plot_grid *g, const char *path,
                         emp_error *err)
{
    for (int32_t row = 0; row < g->row_count; row++) {
        char *end;
        x[row] = emp_number_parse(g->row[row], &end);
        if (end == g->row[row] || *end != '\0' || !isfinite(x[row]))
            return EMP_ERROR(EMP_EFORMAT, "%s: %s is \"%.40s\", not a number", path,
                             g->rows_label, g->row[row]);
        if (fabs(x[row]) > EMP_PLOT_VALUE_MAX)
            return EMP_ERROR(EMP_EFORMAT, "%s: %s is %.40s, too large to be drawn", path,
                             g->rows_label, g->row[row]);
    }
    return EMP_OK;
}

/* A series as the curve of its first values, by rising x. */
static void fill_band(emp_band *band, emp_band_point *point, const emp_plot_grid *g,
                      const double *x, int32_t series)
{
    *band = (emp_band){.point = point};
    for (int32_t row = 0; row < g->row_count; row++) {
        const emp_plot_cell *c = emp_plot_at(g, row, series, 0);
        if (isnan(c->value)) continue;
        point[band->point_count++] =
            (emp_band_point){x[row], c->value, isnan(c->low) ? c->value : c->low,
                             isnan(c->high) ? c->value : c->high};
    }
    qsort(point, (size_t)band->point_count, sizeof *point, compare_points);
}

/* Each point becomes the mean of those around it, half of them on either side, fewer at the ends. */
static emp_status smooth(emp_band *band, int32_t points, emp_error *err)
{
    emp_band_point *copy = EMP_NEW_ARRAY(emp_band_point, (size_t)band->point_count + 1);

    if (copy == NULL) return EMP_ERROR(EMP_ENOMEM, "%d points", band->point_count);
    memcpy(copy, band->point, (size_t)band->point_count * sizeof *copy);
    for (int32_t i = 0; i < band->point_count; i++) {
        emp_band_point mean = {.x = copy[i].x};
        int32_t        count = 0;
        for (int32_t k = i - points / 2; k <= i + (points - 1) / 2; k++) {
            if (k < 0 || k >= band->point_count || !isfinite(copy[k].median)) continue;
            mean.median += copy[k].median;
            mean.low += copy[k].low;
            mean.high += copy[k].high;
            count++;
        }
        if (count == 0 || !isfinite(copy[i].median)) continue;
        band->point[i] = (emp_band_point){mean.x, mean.median / count, mean.low / count,
                                          mean.high / count};
    }
    emp_free(copy);
    return EMP_OK;
}

static void draw_chart(emp_drawing *drawing, const emp_plot_grid *g,
                       const emp_chart_curve *curve, const double *x,
                       const emp_plot_style *style, double width, double height)
{
    double    low = INFINITY, high = 0;
    emp_chart chart = {.box = {0, 0, width, 0},
                       .x_label = g->rows_label,
                       .y_label = style->label != NULL ? style->label : g->values_label,
                       .has_names = g->series_count > 1,
                       .is_step = style->has_steps,
                       .bound = NAN,
                       .curve = curve,
                       .curve_count = g->series_count};

    for (int32_t row = 0; row < g->row_count; row++) {
        low = fmin(low, x[row]);
        high = fmax(high, x[row]);
    }
    chart.is_log_x = low > 0 && high > lines_log_from * low;
    chart.box.height = height > 0 ? height : emp_chart_height(&chart, HEIGHT);
    emp_drawing_init(drawing, "lines", "values of a table as lines", width,
                     chart.box.height);
    if (!emp_chart_is_empty(&chart)) emp_chart_draw(drawing, &chart);
}

static emp_status draw_lines(emp_drawing *drawing, const emp_plot_grid *g,
                             const char *path, const emp_plot_style *style, double width,
                             double height, emp_error *err)
{
    emp_status      st = EMP_OK;
    double         *x = NULL;
    emp_band_point *point = NULL;
    emp_band        band[EMP_PLOT_SERIES_MAX];
    emp_chart_curve curve[EMP_PLOT_SERIES_MAX];

    if (g->part_count > 1)
        EMP_FAIL(EMP_EINVAL, "lines have one column of values for each series, not %d",
                 g->part_count);
    EMP_TRY(EMP_ALLOC(x, (size_t)g->row_count));
    EMP_TRY(EMP_ALLOC(point, (size_t)g->row_count * (size_t)g->series_count));
    EMP_TRY(read_x(x, g, path, err));
    for (int32_t s = 0; s < g->series_count; s++) {
        fill_band(&band[s], point + (ptrdiff_t)s * g->row_count, g, x, s);
        if (style->smooth > 1) EMP_TRY(smooth(&band[s], style->smooth, err));
        curve[s] = (emp_chart_curve){
            .band = &band[s], .label = g->series[s], .style = g->style[s]};
    }
    draw_chart(drawing, g, curve, x, style, width, height);

cleanup:
    emp_free(x);
    emp_free(point);
    return st;
}

/* The series take the names that the figure has for them. */
static emp_status rename_series(emp_plot_grid *g, const emp_plot_style *style,
                                const char *path, emp_error *err)
{
    for (int32_t i = 0; i < style->name_count; i++) {
        const char  *equals = strchr(style->name[i], '=');
        const size_t length = equals != NULL ? (size_t)(equals - style->name[i]) : 0;
        int32_t      s = 0;
        while (s < g->series_count && (strlen(g->series[s]) != length ||
                                       memcmp(g->series[s], style->name[i], length) != 0))
            s++;
        if (s == g->series_count)
            return EMP_ERROR(EMP_EINVAL, "%s has no series \"%.*s\"; the first is \"%s\"",
                             path, (int)length, style->name[i], g->series[0]);
        g->series[s] = equals + 1;
    }
    return EMP_OK;
}

emp_status emp_plot_draw(emp_drawing *drawing, const emp_csv *csv, emp_plot_form form,
                         const emp_plot_choice *choice, const emp_plot_style *style,
                         emp_error *err)
{
    static const emp_plot_style plain;
    emp_status                  st = EMP_OK;
    emp_plot_grid               grid = {0};

    if (style == NULL) style = &plain;
    /* A figure with another size of its font is laid out at the usual size, and scaled as a whole. */
    const double scale = style->font_size > 0 ? style->font_size / FONT : 1.0;
    const double width = style->width > 0 ? style->width / scale : WIDTH;
    const double height = style->height / scale;
    EMP_TRY(emp_plot_grid_create(&grid, csv, choice, err));
    emp_report_series_styles(grid.style, grid.series, grid.series_count);
    EMP_TRY(rename_series(&grid, style, choice->path, err));
    if (form == EMP_PLOT_LINES)
        EMP_TRY(draw_lines(drawing, &grid, choice->path, style, width, height, err));
    else
        emp_plot_dots_draw(drawing, &grid,
                           style->label != NULL ? style->label : grid.values_label, width,
                           height);
    if (emp_drawing_is_empty(drawing))
        EMP_FAIL(EMP_EINVAL, "%s has no finite value to draw", choice->path);
    emp_drawing_scale(drawing, scale);
    drawing->font = style->font;
    EMP_TRY(emp_drawing_check(drawing, err));

cleanup:
    emp_plot_grid_clear(&grid);
    return st;
}
