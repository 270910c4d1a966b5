/** \file bench/plots/colours.h
 * How curves are distinguished, by colour and by dashes; devices have colours of their own
 * (sim/machine/machine.h). Any two colours of curves differ by 16 and more in CIELAB for people with
 * full colour vision and for those without red or green receptors. The first six are of Okabe
 * and Ito, "Color Universal Design", 2008.
 */
#ifndef EMP_BENCH_PLOTS_COLOURS_H
#define EMP_BENCH_PLOTS_COLOURS_H

#include <stdint.h>

enum {
    EMP_LINE_STYLES = 12 /**< of distinct colours and dashes */
};

/** Static storage. */
typedef struct {
    const char   *colour; /**< "#0072b2" */
    const double *dash;   /**< as of emp_paint; NULL = solid */
} emp_line_style;

/** The colour of the curve with that number; the first EMP_LINE_STYLES^2 differ in colour or dashes. */
emp_line_style emp_report_line_style(int32_t number);

/** Gives each series of a figure a style, for emp_report_line_style(). A series whose label is a method's name, or begins
 * with one ("hdp, paper"), has the method's own, which is the same in every figure; so the series of two presets of
 * one method, and methods whose colours are equal, cannot both have theirs. They, and series of no method, get
 * the first styles that are left, of colours that are left as long as there are any. O(count^2). */
void emp_report_series_styles(int32_t *style, const char *const *label, int32_t count);

/** The number of a method's own style; -1: the label begins with no method's name. */
int32_t emp_report_method_style(const char *label);

#endif /* EMP_BENCH_PLOTS_COLOURS_H */
