/** \file bench/plots/bands.h
 * The curves of several seeds as one: median and range at every point where any of them
 * has one. A curve keeps its last value until its next point, and after its end.
 */
#ifndef EMP_BENCH_PLOTS_BANDS_H
#define EMP_BENCH_PLOTS_BANDS_H

#include "bench/plots/runs.h"

enum { EMP_BAND_POINTS = 400 /* at most; more are thinned out evenly */ };

/** The quantity of a curve; a metric of a learner is EMP_CURVE_METRIC + its number in the first
 * run. */
enum { EMP_CURVE_BEST, EMP_CURVE_MEAN, EMP_CURVE_METRIC };

typedef enum {
    EMP_CURVE_BY_EVALUATIONS,
    EMP_CURVE_BY_CPU,    /**< CPU seconds of the run's one thread */
    EMP_CURVE_BY_SECONDS /**< of the wall clock */
} emp_curve_axis;

/** An infinite value: nothing that fits in memory was found up to there. */
typedef struct {
    double x, median, low, high;
} emp_band_point;

/** Zero-initialise. */
typedef struct {
    int32_t         point_count;
    emp_band_point *point; /**< owned; x increases */
} emp_band;

/** Whether it is known where the run's points are on the axis. */
bool emp_band_has_axis(const emp_report_run *run, emp_curve_axis axis);

/** The band of \a run_count runs of one series; those that lack the axis are left out. By
 * seconds of the wall clock, an evaluation takes the same time all through a run. Before its
 * first point a run counts as infinitely slow in the best so far, and does not count in the
 * others. The best so far has points only where something changes, and its last one.
 * O(points of all runs x runs). \retval EMP_ENOMEM */
emp_status emp_band_create(emp_band *band, const emp_report_run *run, int32_t run_count,
                           int32_t what, emp_curve_axis axis, emp_error *err);

void emp_band_clear(emp_band *band);

#endif /* EMP_BENCH_PLOTS_BANDS_H */
