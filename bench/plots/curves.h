/** \file bench/plots/curves.h
 * How the runs of one group went on, as drawings. A drawing stays empty where there is nothing
 * to draw.
 */
#ifndef EMP_BENCH_PLOTS_CURVES_H
#define EMP_BENCH_PLOTS_CURVES_H

#include "bench/plots/bands.h"
#include "bench/plots/drawing.h"

typedef struct {
    const emp_report_runs  *runs;
    const emp_report_group *group;
    double bound_s; /**< no step that fits is faster; NaN = is not known */
} emp_curves;

/** Whether all runs had everything scored at once: then there are no curves. */
bool emp_curves_are_levels(const emp_curves *curves);

/** How many runs that have a curve also have seconds of the wall clock, and CPU seconds. */
typedef struct {
    int32_t runs, timed, cpu;
} emp_curves_clock;
emp_curves_clock emp_curves_count_clocks(const emp_curves *curves);

/** The clock that all runs that have any have: CPU seconds, else the wall clock. */
emp_curve_axis emp_curves_choose_clock(const emp_curves *curves);

/** Step times, a curve for each series: the best so far, with the bound, or the mean of each
 * batch. \a name is the drawing's. \retval EMP_ENOMEM */
emp_status emp_curves_draw_best(emp_drawing *drawing, const emp_curves *curves,
                                emp_curve_axis axis, const char *name, emp_error *err);
emp_status emp_curves_draw_means(emp_drawing *drawing, const emp_curves *curves,
                                 const char *name, emp_error *err);

/** The metrics that methods report, a small chart each. \retval EMP_ENOMEM */
emp_status emp_curves_draw_metrics(emp_drawing *drawing, const emp_curves *curves,
                                   const char *name, emp_error *err);

#endif /* EMP_BENCH_PLOTS_CURVES_H */
