/** \file bench/plots/chart.h
 * Curves with their bands on two axes, each named where it ends. Names never overlap; what a
 * name has no room for is in the tooltip of its curve.
 */
#ifndef EMP_BENCH_PLOTS_CHART_H
#define EMP_BENCH_PLOTS_CHART_H

#include "bench/plots/bands.h"
#include "bench/plots/drawing.h"

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
