/** \file bench/plots/csv/dots.h
 * A grid as dots: a band a row, in it a lane a series. What does not fit in memory stands right of
 * the axis. After W. S. Cleveland, "The Elements of Graphing Data".
 */
#ifndef EMP_BENCH_PLOTS_CSV_DOTS_H
#define EMP_BENCH_PLOTS_CSV_DOTS_H

#include "bench/plots/csv/grid.h"
#include "bench/plots/drawing.h"

/** Draws it; the drawing is initialised here, and stays empty without any value. The axis is
 * logarithmic where values lie far apart.
 * \param label  Below the axis. */
void emp_plot_dots_draw(emp_drawing *drawing, const emp_plot_grid *grid,
                        const char *label);

#endif /* EMP_BENCH_PLOTS_CSV_DOTS_H */
