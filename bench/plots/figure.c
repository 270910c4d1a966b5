// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/figure.h"

#include <math.h>

#include "bench/plots/gnuplot.h"

enum { NARROW = 400 /* pixels; fewer and smaller marks below */ };

/* Ends of an axis. */
struct range {
    double low, high;
};

static void stretch(struct range *range, double value)
{
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

static bool is_shown(const emp_figure *f, const emp_band_point *p)
{
    return isfinite(p->median) && (!f->is_log_x || p->x > 0);
}

/* Of the x axis: all places where a curve has a value; where there are lines alone, any. */
static struct range find_x_range(const emp_figure *f)
{
    struct range range = {INFINITY, -INFINITY};

    for (int lines = 0; lines < 2 && range.low > range.high; lines++) {
        for (int32_t c = 0; c < f->curve_count; c++) {
            const emp_band *band = f->curve[c].band;
            if (f->curve[c].is_line != (lines == 1)) continue;
            for (int32_t i = 0; i < band->point_count; i++) {
                if (is_shown(f, &band->point[i])) stretch(&range, band->point[i].x);
            }
        }
    }
    return range;
}

/* Of the y axis, bands included. */
static struct range find_y_range(const emp_figure *f)
{
    struct range range = {INFINITY, -INFINITY};

    for (int32_t c = 0; c < f->curve_count; c++) {
        const emp_band *band = f->curve[c].band;
        for (int32_t i = 0; i < band->point_count; i++) {
            const emp_band_point *p = &band->point[i];
            if (!is_shown(f, p)) continue;
            stretch(&range, p->median);
            if (isfinite(p->low)) stretch(&range, p->low);
            if (isfinite(p->high)) stretch(&range, p->high);
        }
    }
    return range;
}

bool emp_figure_is_empty(const emp_figure *figure)
{
    struct range range = find_x_range(figure);

    return range.low > range.high;
}

/* A data block "$cN" of x, median, low, high; what is infinite is left out, or cut off at
 * the median. */
static void write_curve(FILE *script, const emp_figure *f, int32_t c, struct range range)
{
    const emp_figure_curve *curve = &f->curve[c];
    double                  by = f->divide_by;
    int32_t                 written = 0;

    fprintf(script, "$c%d << END_OF_CURVE\n", c);
    for (int32_t i = 0; i < curve->band->point_count; i++) {
        const emp_band_point *p = &curve->band->point[i];
        if (!is_shown(f, p)) continue;
        double high = isfinite(p->high) ? p->high : p->median;
        double low = isfinite(p->low) ? p->low : p->median;
        for (int end = curve->is_line ? 0 : 1; end < 2; end++) {
            double x = !curve->is_line ? p->x : end == 0 ? range.low : range.high;
            fprintf(script, "%.9g %.9g %.9g %.9g\n", x, p->median / by, low / by,
                    high / by);
            written++;
        }
    }
    if (written == 0) fprintf(script, "NaN NaN NaN NaN\n");
    fprintf(script, "END_OF_CURVE\n");
}

/* The next of 1, 2, 5, 10, ... */
static double nice_step(double least)
{
    double unit = pow(10.0, floor(log10(least)));

    return least <= unit       ? unit
           : least <= 2 * unit ? 2 * unit
           : least <= 5 * unit ? 5 * unit
                               : 10 * unit;
}

static void write_axes(FILE *script, const emp_figure *f, struct range range)
{
    fprintf(script,
            "unset key\nset border 3 lc rgb '#808080'\nset tics nomirror scale 0.5\n"
            "set grid ytics lc rgb '#909090' lw 0.6 dt 1\nset xlabel '%s'\n"
            "set ylabel '%s'\nset lmargin 8.5\nset rmargin 2\nset tmargin 0.7\n",
            f->x_label, f->y_label);
    if (f->is_log_x) fprintf(script, "set logscale x\n");
    if (f->is_log_y) fprintf(script, "set logscale y\n");
    if (range.high > range.low)
        fprintf(script, "set xrange [%.9g:%.9g]\n", range.low, range.high);
    if (f->width < NARROW) {
        struct range y = find_y_range(f);
        fprintf(script, "set xtics font ',10'\nset ytics font ',10'\nset lmargin 6\n");
        if (range.high > range.low && !f->is_log_x)
            fprintf(script, "set xtics %.9g\n", nice_step((range.high - range.low) / 4));
        if (y.high > y.low && !f->is_log_y)
            fprintf(script, "set ytics %.9g\n", nice_step((y.high - y.low) / 4));
    }
}

static void write_script(FILE *script, const void *what)
{
    const emp_figure *f = (const emp_figure *)what;
    struct range      range = find_x_range(f);

    for (int32_t c = 0; c < f->curve_count; c++) write_curve(script, f, c, range);
    write_axes(script, f, range);
    fprintf(script, "plot ");
    for (int32_t c = 0; c < f->curve_count; c++) {
        fprintf(
            script,
            "$c%d using 1:3:4 with filledcurves lc rgb '%s' fs transparent solid 0.22 "
            "noborder, ",
            c, f->curve[c].colour);
    }
    for (int32_t c = 0; c < f->curve_count; c++) {
        fprintf(script, "%s$c%d using 1:2 with lines lw 2 lc rgb '%s'%s",
                c > 0 ? ", " : "", c, f->curve[c].colour,
                f->curve[c].is_line ? " dt 2" : "");
    }
    fprintf(script, "\n");
}

emp_status emp_figure_write(FILE *file, const emp_figure *figure, emp_error *err)
{
    return emp_gnuplot_draw(file, figure->width, figure->height, write_script, figure,
                            figure->name, err);
}
