/** \file bench/compare/comparison_page.h
 * A comparison as one page: tables, quality against samples on every row, sensitivity.
 */
#ifndef EMP_BENCH_COMPARE_COMPARISON_PAGE_H
#define EMP_BENCH_COMPARE_COMPARISON_PAGE_H

#include "bench/compare/comparison.h"

/** Writes XHTML that opens without a network. Without gnuplot (\a has_figures false) a
 * sentence stands in place of the figures. \retval those of emp_comparison_draw_figure() */
emp_status emp_comparison_write_page(FILE *file, const emp_comparison *c,
                                     bool has_figures, emp_error *err);

#endif /* EMP_BENCH_COMPARE_COMPARISON_PAGE_H */
