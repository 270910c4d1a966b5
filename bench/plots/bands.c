// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/bands.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "run/stats.h"

static double x_of(const emp_report_run *run, int32_t point, emp_curve_axis axis)
{
    double evaluations = (double)run->record.curve[point].evaluations;

    if (axis == EMP_CURVE_BY_EVALUATIONS) return evaluations;
    return evaluations * run->elapsed_s / (double)run->record.evaluations;
}

static bool is_counted(const emp_report_run *run, emp_curve_axis axis)
{
    return axis == EMP_CURVE_BY_EVALUATIONS || isfinite(run->elapsed_s);
}

/* NaN = nothing to count. */
static double value_of(const emp_record *r, int32_t point, int32_t what, const char *name)
{
    const emp_curve_point *p = &r->curve[point];

    if (what == EMP_CURVE_BEST) return isnan(p->best_s) ? INFINITY : p->best_s;
    if (what == EMP_CURVE_MEAN) return p->mean_s;
    for (int32_t m = 0; m < r->metric_count; m++) /* other runs may number it otherwise */
        if (strcmp(r->metric_name[m], name) == 0)
            return r->metric[point * r->metric_count + m];
    return NAN;
}

/* Sorted, without repetitions, thinned out; the last one stays. */
static int32_t clean_places(double *x, int32_t count)
{
    int32_t unique = 0, kept = 0;

    gsl_sort(x, 1, (size_t)count);
    for (int32_t i = 0; i < count; i++) {
        if (unique == 0 || x[i] > x[unique - 1]) x[unique++] = x[i];
    }
    if (unique <= EMP_BAND_POINTS) return unique;
    for (; kept < EMP_BAND_POINTS; kept++)
        x[kept] = x[(int64_t)kept * (unique - 1) / (EMP_BAND_POINTS - 1)];
    return kept;
}

/* Walks all curves along the places; at[run] is the next point of each. */
static void fill(emp_band *band, const double *x, int32_t place_count,
                 const emp_report_run *run, int32_t run_count, int32_t what,
                 emp_curve_axis axis, int32_t *at, double *value)
{
    const char *name =
        what < EMP_CURVE_METRIC ? "" : run[0].record.metric_name[what - EMP_CURVE_METRIC];

    for (int32_t i = 0; i < place_count; i++) {
        size_t count = 0;
        for (int32_t r = 0; r < run_count; r++) {
            const emp_record *record = &run[r].record;
            if (!is_counted(&run[r], axis)) continue;
            while (at[r] < record->point_count && x_of(&run[r], at[r], axis) <= x[i])
                at[r]++;
            double v = at[r] > 0                ? value_of(record, at[r] - 1, what, name)
                       : what == EMP_CURVE_BEST ? INFINITY
                                                : NAN;
            if (!isnan(v)) value[count++] = v;
        }
        if (count == 0) continue;
        emp_summary s = emp_summary_of(value, count);
        band->point[band->point_count++] = (emp_band_point){x[i], s.median, s.min, s.max};
    }
}

emp_status emp_band_create(emp_band *band, const emp_report_run *run, int32_t run_count,
                           int32_t what, emp_curve_axis axis, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     limit = 0;
    int32_t    count = 0;
    double    *x = NULL, *value = EMP_NEW_ARRAY(double, (size_t)run_count);
    int32_t   *at = EMP_NEW_ARRAY(int32_t, (size_t)run_count);

    *band = (emp_band){0};
    for (int32_t r = 0; r < run_count; r++) limit += (size_t)run[r].record.point_count;
    x = EMP_NEW_ARRAY(double, limit);
    if (x == NULL || value == NULL || at == NULL)
        EMP_FAIL(EMP_ENOMEM, "curve of %zu points", limit);
    for (int32_t r = 0; r < run_count; r++) {
        if (!is_counted(&run[r], axis)) continue;
        for (int32_t i = 0; i < run[r].record.point_count; i++)
            x[count++] = x_of(&run[r], i, axis);
    }
    count = clean_places(x, count);
    EMP_TRY(EMP_ALLOC(band->point, (size_t)count));
    fill(band, x, count, run, run_count, what, axis, at, value);

cleanup:
    emp_free(x);
    emp_free(value);
    emp_free(at);
    return st;
}

void emp_band_clear(emp_band *band)
{
    emp_free(band->point);
    *band = (emp_band){0};
}
