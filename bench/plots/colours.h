/** \file bench/plots/colours.h
 * How curves are distinguished, by colour and by dashes; devices have colours of their own
 * (sim/machine/colours.h). Any two colours of curves differ by 16 and more in CIELAB for people with
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

#endif /* EMP_BENCH_PLOTS_COLOURS_H */
