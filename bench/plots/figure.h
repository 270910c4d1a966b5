/** \file bench/plots/figure.h
 * A figure of several curves with bands, drawn by gnuplot. Names stand in a legend of the
 * page: no text of a record ever goes to gnuplot.
 */
#ifndef EMP_BENCH_PLOTS_FIGURE_H
#define EMP_BENCH_PLOTS_FIGURE_H

#include <stdio.h>

#include "bench/plots/bands.h"

typedef struct {
    const emp_band *band;
    const char     *colour;  /**< "#0072b2" */
    bool            is_line; /**< one value, drawn from end to end */
} emp_figure_curve;

/** Texts are the program's own. */
typedef struct {
    const char *name; /**< for those who cannot see it */
    const char *x_label, *y_label;
    int         width, height; /**< pixels */
    bool        is_log_x, is_log_y;
    double      divide_by; /**< values are shown as multiples of this; 1 = as they are */
    const emp_figure_curve *curve;
    int32_t                 curve_count;
} emp_figure;

/** Whether there is anything to draw: a finite value. */
bool emp_figure_is_empty(const emp_figure *figure);

/** Writes the figure as an svg element; errors as emp_gnuplot_draw(). */
emp_status emp_figure_write(FILE *file, const emp_figure *figure, emp_error *err);

#endif /* EMP_BENCH_PLOTS_FIGURE_H */
