// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/bands.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "run/stats.h"

bool emp_band_has_axis(const emp_report_run *run, emp_curve_axis axis)
{
    switch (axis) {
    case EMP_CURVE_BY_CPU: return run->timing.point_count > 0;
    case EMP_CURVE_BY_SECONDS: return isfinite(run->timing.elapsed_s);
    default: return true;
    }
}

/* CPU seconds when so many were scored: of the first point that has them all. */
static double cpu_s_at(const emp_timing *t, int64_t evaluations)
{
    int32_t from = 0, to = t->point_count - 1;

    while (from < to) {
        int32_t middle = from + (to - from) / 2;
        if (t->point[middle].evaluations < evaluations)
            from = middle + 1;
        else
            to = middle;
    }
    return t->point[from].cpu_s;
}

static double x_of(const emp_report_run *run, int32_t point, emp_curve_axis axis)
{
    int64_t evaluations = run->record.curve[point].evaluations;

    switch (axis) {
    case EMP_CURVE_BY_CPU: return cpu_s_at(&run->timing, evaluations);
    case EMP_CURVE_BY_SECONDS:
        return (double)evaluations * run->timing.elapsed_s /
               (double)run->record.evaluations;
    default: return (double)evaluations;
    }
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

/* Sorted, without repetitions. */
static int32_t clean_places(double *x, int32_t count)
{
    int32_t unique = 0;

    gsl_sort(x, 1, (size_t)count);
    for (int32_t i = 0; i < count; i++) {
        if (unique == 0 || x[i] > x[unique - 1]) x[unique++] = x[i];
    }
    return unique;
}

static bool is_same(const emp_band_point *a, const emp_band_point *b)
{
    return a->median == b->median && a->low == b->low && a->high == b->high;
}

/* Leaves points out that repeat the one before; the last one stays. */
static void drop_repetitions(emp_band *band)
{
    int32_t kept = 0, last = band->point_count - 1;

    for (int32_t i = 0; i <= last; i++) {
        if (i > 0 && i < last && is_same(&band->point[i], &band->point[kept - 1]))
            continue;
        band->point[kept++] = band->point[i];
    }
    band->point_count = kept;
}

static void thin_out(emp_band *band)
{
    int64_t last = band->point_count - 1;

    if (band->point_count <= EMP_BAND_POINTS) return;
    for (int32_t i = 0; i < EMP_BAND_POINTS; i++)
        band->point[i] = band->point[i * last / (EMP_BAND_POINTS - 1)];
    band->point_count = EMP_BAND_POINTS;
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
            if (!emp_band_has_axis(&run[r], axis)) continue;
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
        if (!emp_band_has_axis(&run[r], axis)) continue;
        for (int32_t i = 0; i < run[r].record.point_count; i++)
            x[count++] = x_of(&run[r], i, axis);
    }
    count = clean_places(x, count);
    EMP_TRY(EMP_ALLOC(band->point, (size_t)count));
    fill(band, x, count, run, run_count, what, axis, at, value);
    if (what == EMP_CURVE_BEST) drop_repetitions(band);
    thin_out(band);

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
