/** \file bench/plots/chart.h
 * Curves with their bands on two axes, each named where it ends. Names never overlap; what a
 * name has no room for is in the tooltip of its curve.
 */
#ifndef EMP_BENCH_PLOTS_CHART_H
#define EMP_BENCH_PLOTS_CHART_H

#include <stdint.h>

#include "bench/plots/drawing.h"
#include "bench/plots/runs.h"

/* How curves are distinguished, by colour and by dashes; devices have colours of their own
 * (sim/machine/colours.h). Any two colours of curves differ by 16 and more in CIELAB for people with
 * full colour vision and for those without red or green receptors. The first six are of Okabe
 * and Ito, "Color Universal Design", 2008. */

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

/* The curves of several seeds as one: median and range at every point where any of them
 * has one. A curve keeps its last value until its next point, and after its end. */

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

typedef struct {
    const emp_band *band;
    const char     *label;    /**< may be of a record */
    int32_t         style;    /**< of emp_report_line_style() */
    bool            is_level; /**< one value, drawn from end to end */
} emp_chart_curve;

typedef struct {
    emp_box                box; /**< what it takes of the drawing, all texts included */
    const char            *x_label, *y_label;
    bool                   is_log_x;
    bool                   is_step;   /**< a value holds until the next point */
    bool                   has_names; /**< beside the ends of curves */
    double                 bound;     /**< no value is below it; NaN = is not known */
    const emp_chart_curve *curve;
    int32_t                curve_count;
} emp_chart;

enum {
    EMP_CHART_FONT = 13 /**< size of its texts */,
    EMP_CHART_ROW = 17 /**< of names */
};

/** Whether there is nothing to draw: no finite value. */
bool emp_chart_is_empty(const emp_chart *chart);

/** Height of a box in which all names have room, at least \a least. */
double emp_chart_height(const emp_chart *chart, double least);

/** Draws it. The y axis is logarithmic where values lie far apart. */
void emp_chart_draw(emp_drawing *drawing, const emp_chart *chart);

/** A name and the box it takes. */
typedef struct {
    int32_t curve; /**< -1: of the bound */
    emp_box box;
    double  end_y; /**< of its curve, on the y axis */
    double  end_x;
    char    text[128];
} emp_chart_name;

enum { EMP_CHART_NAMES = 64 /**< at most; further curves have none */ };

/** Places the names, from above to below, without overlaps; returns their number. */
int32_t emp_chart_place_names(const emp_chart *chart,
                              emp_chart_name   name[EMP_CHART_NAMES]);

#endif /* EMP_BENCH_PLOTS_CHART_H */
