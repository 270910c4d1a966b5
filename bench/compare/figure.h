/** \file bench/compare/figure.h
 * A comparison as figures, which show quality against placements scored and CPU seconds on one row,
 * and as one page with the figures of all rows.
 */
#ifndef EMP_BENCH_COMPARE_FIGURE_H
#define EMP_BENCH_COMPARE_FIGURE_H

#include "bench/compare/comparison.h"

/** Draws an SVG file of its own, or an svg element of a page, by gnuplot: a curve with its interval
 * for each entrant that has a budget, dots for those that propose once, the lower bound as a dashed
 * line. One panel is by placements scored, within the largest budget in evaluations, and one by
 * CPU seconds, within the longest clock, as far as there are such budgets.
 * \retval EMP_EINVAL  No run on the row found a placement that fits; else as
 *                     emp_gnuplot_draw(). */
emp_status emp_comparison_draw_figure(FILE *file, const emp_comparison *c, int32_t row,
                                      bool is_embedded, emp_error *err);

/** Whether some run on the row found a placement that fits. */
bool emp_comparison_has_figure(const emp_comparison *c, int32_t row);

/** Writes XHTML that opens without a network. Without gnuplot (\a has_figures false) a
 * sentence stands in place of the figures. \retval those of emp_comparison_draw_figure() */
emp_status emp_comparison_write_page(FILE *file, const emp_comparison *c,
                                     bool has_figures, emp_error *err);

#endif /* EMP_BENCH_COMPARE_FIGURE_H */
