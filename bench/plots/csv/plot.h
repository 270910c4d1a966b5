/** \file bench/plots/csv/plot.h
 * A table as a figure: dots, a band a row, or lines over an axis of numbers.
 */
#ifndef EMP_BENCH_PLOTS_CSV_PLOT_H
#define EMP_BENCH_PLOTS_CSV_PLOT_H

#include "base/error.h"
#include "base/mem.h"
#include "base/text/csv.h"
#include "bench/plots/drawing.h"

/* What is drawn of a CSV file: its records sorted into rows and series.
 *
 * Records that agree in the columns of \a rows are one row. Those that agree in the columns of \a
 * series are one series. A record has a value for each column of \a values; without columns of
 * series, each of these columns is a series of its own. */

enum {
    EMP_PLOT_ROWS_MAX = 400,
    EMP_PLOT_SERIES_MAX = 24, /**< colours and marks tell so many apart */
    EMP_PLOT_PARTS_MAX = 2,   /**< values of a series in a row */
    EMP_PLOT_COLUMNS_MAX = 8, /**< of one list */
    EMP_PLOT_CONDITIONS_MAX = 8
};

/** Larger values are refused: the sum of two is a number. */
#define EMP_PLOT_VALUE_MAX 1e300

/** Lists of columns are parted by commas, and a column may have a label: "ours_s=ours,paper_s". The
 * label of a column of series stands before its values: "budget 16". All is borrowed. */
typedef struct {
    const char *path; /**< of the table, for messages */
    const char *rows; /**< what names a row, "task" */
    const char *values;
    const char *series; /**< OPTIONAL */
    /** OPTIONAL. Ends of the ranges, a column for each one of values; an item may be empty. */
    const char *low, *high;
    /** Which records count: "task=nmt4|nmt8". All conditions must hold. */
    const char *where[EMP_PLOT_CONDITIONS_MAX];
    int32_t     where_count;
} emp_plot_choice;

/** A value of NaN is none; one that is infinite does not fit in memory ("OOM", "inf"). */
typedef struct {
    double value, low, high;
} emp_plot_cell;

/** Zero-initialise; emp_plot_grid_clear() releases it, also after a failure. */
typedef struct {
    int32_t     row_count, series_count, part_count;
    const char *row[EMP_PLOT_ROWS_MAX]; /**< names, in the order of the table */
    const char *series[EMP_PLOT_SERIES_MAX];
    int32_t
        style[EMP_PLOT_SERIES_MAX]; /**< of each series, for emp_report_line_style() */
    const char    *part[EMP_PLOT_PARTS_MAX]; /**< labels of the columns of values */
    const char    *rows_label, *values_label;
    emp_plot_cell *cell;  /**< [row][series][part]; owned */
    emp_arena      texts; /**< private */
} emp_plot_grid;

/** O(size of the table).
 * \retval EMP_EFORMAT  There is no such column, a field is no number, or two records have the
 *                      same place; the message names the column or the record.
 * \retval EMP_EINVAL   A list or a condition is none, nothing is left to draw, or too much.
 * \retval EMP_ENOMEM */
emp_status emp_plot_grid_create(emp_plot_grid *grid, const emp_csv *csv,
                                const emp_plot_choice *choice, emp_error *err);
void       emp_plot_grid_clear(emp_plot_grid *grid);

static inline emp_plot_cell *emp_plot_at(const emp_plot_grid *grid, int32_t row,
                                         int32_t series, int32_t part)
{
    return &grid->cell[(row * grid->series_count + series) * grid->part_count + part];
}

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
