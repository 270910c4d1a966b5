/** \file bench/plots/csv/plot.h
 * A table as a figure: dots, a band a row, or lines over an axis of numbers.
 */
#ifndef EMP_BENCH_PLOTS_CSV_PLOT_H
#define EMP_BENCH_PLOTS_CSV_PLOT_H

#include "bench/plots/csv/grid.h"
#include "bench/plots/drawing.h"

typedef enum {
    EMP_PLOT_DOTS, /**< rows are named */
    EMP_PLOT_LINES /**< rows are numbers, in any order; a line a series */
} emp_plot_form;

/** Draws the table.
 * \param label    Of the axis of values; NULL: the label of the first column.
 * \param drawing  Clear it afterwards, also after a failure.
 * \retval EMP_EINVAL  There is no finite value, or lines have two values a series.
 * \retval EMP_EFORMAT  A row of lines is no number. Else as emp_plot_grid_create().
 * \retval EMP_ENOMEM */
emp_status emp_plot_draw(emp_drawing *drawing, const emp_csv *csv, emp_plot_form form,
                         const emp_plot_choice *choice, const char *label,
                         emp_error *err);

#endif /* EMP_BENCH_PLOTS_CSV_PLOT_H */
