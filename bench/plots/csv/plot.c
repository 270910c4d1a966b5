// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/csv/plot.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text/units.h"
#include "bench/plots/chart.h"
#include "bench/plots/csv/dots.h"

enum { WIDTH = 760, HEIGHT = 420 }; /* of lines */

/* An x axis whose ends lie further apart is logarithmic. */
static const double log_from = 20;

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

static void draw_chart(emp_drawing *drawing, const emp_plot_grid *g,
                       const emp_chart_curve *curve, const double *x, const char *label)
{
    double    low = INFINITY, high = 0;
    emp_chart chart = {.box = {0, 0, WIDTH, 0},
                       .x_label = g->rows_label,
                       .y_label = label,
                       .has_names = g->series_count > 1,
                       .bound = NAN,
                       .curve = curve,
                       .curve_count = g->series_count};

    for (int32_t row = 0; row < g->row_count; row++) {
        low = fmin(low, x[row]);
        high = fmax(high, x[row]);
    }
    chart.is_log_x = low > 0 && high > log_from * low;
    chart.box.height = emp_chart_height(&chart, HEIGHT);
    emp_drawing_init(drawing, "lines", "values of a table as lines", WIDTH,
                     chart.box.height);
    if (!emp_chart_is_empty(&chart)) emp_chart_draw(drawing, &chart);
}

static emp_status draw_lines(emp_drawing *drawing, const emp_plot_grid *g,
                             const char *path, const char *label, emp_error *err)
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
        curve[s] = (emp_chart_curve){.band = &band[s], .label = g->series[s], .style = s};
    }
    draw_chart(drawing, g, curve, x, label);

cleanup:
    emp_free(x);
    emp_free(point);
    return st;
}

emp_status emp_plot_draw(emp_drawing *drawing, const emp_csv *csv, emp_plot_form form,
                         const emp_plot_choice *choice, const char *label, emp_error *err)
{
    emp_status    st = EMP_OK;
    emp_plot_grid grid = {0};

    EMP_TRY(emp_plot_grid_create(&grid, csv, choice, err));
    if (label == NULL) label = grid.values_label;
    if (form == EMP_PLOT_LINES)
        EMP_TRY(draw_lines(drawing, &grid, choice->path, label, err));
    else
        emp_plot_dots_draw(drawing, &grid, label);
    if (emp_drawing_is_empty(drawing))
        EMP_FAIL(EMP_EINVAL, "%s has no finite value to draw", choice->path);
    EMP_TRY(emp_drawing_check(drawing, err));

cleanup:
    emp_plot_grid_clear(&grid);
    return st;
}
