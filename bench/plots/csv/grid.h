/** \file bench/plots/csv/grid.h
 * What is drawn of a CSV file: its records sorted into rows and series.
 *
 * Records that agree in the columns of \a rows are one row. Those that agree in the columns of \a
 * series are one series. A record has a value for each column of \a values; without columns of
 * series, each of these columns is a series of its own.
 */
#ifndef EMP_BENCH_PLOTS_CSV_GRID_H
#define EMP_BENCH_PLOTS_CSV_GRID_H

#include "base/error.h"
#include "base/mem.h"
#include "base/text/csv.h"

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

#endif /* EMP_BENCH_PLOTS_CSV_GRID_H */
