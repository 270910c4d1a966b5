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

enum { EMP_PLOT_NAMES_MAX = 64 };

/** How a figure looks; zeros are the defaults. Texts are borrowed, also by the drawing. */
typedef struct {
    const char *label; /**< of the axis of values; NULL: the label of the first column */
    /** Names of series, "refine=Local search": the name in the table, and the one in the figure. */
    const char *name[EMP_PLOT_NAMES_MAX];
    int32_t     name_count;
    double      width, height; /**< pixels; 0: 760, and as high as dots or lines need */
    double      font_size;     /**< pixels; 0: 13. Marks and lines grow with it */
    const char *font;          /**< family, or NULL: Helvetica */
    int32_t
         smooth; /**< of lines: the mean of so many points around each; 0: as they are */
    bool has_steps; /**< of lines: a value holds until the next point */
} emp_plot_style;

/** Draws the table.
 * \param style    OPTIONAL.
 * \param drawing  Clear it afterwards, also after a failure.
 * \retval EMP_EINVAL  There is no finite value, lines have two values a series, or a series that is to be
 *                     named is not there.
 * \retval EMP_EFORMAT  A row of lines is no number. Else as emp_plot_grid_create().
 * \retval EMP_ENOMEM */
emp_status emp_plot_draw(emp_drawing *drawing, const emp_csv *csv, emp_plot_form form,
                         const emp_plot_choice *choice, const emp_plot_style *style,
                         emp_error *err);

#endif /* EMP_BENCH_PLOTS_CSV_PLOT_H */
