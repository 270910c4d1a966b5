// SPDX-License-Identifier: GPL-3.0-or-later
/* Best so far against evaluations, or against CPU seconds. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "bench/compare/comparison_internal.h"

/* ---- where curves have points ---- */

static const double least_clock_s = 0.01;

/* Keeps the points sorted; what is there, or one too many, is left out. */
static void add_point(emp_comparison *c, emp_comparison_axis axis, double value)
{
    double *point = c->point[axis];
    int32_t at = c->point_count[axis];

    while (at > 0 && point[at - 1] >= value) at--;
    if (c->point_count[axis] == EMP_COMPARISON_POINTS) return;
    if (at < c->point_count[axis] && point[at] == value) return;
    memmove(&point[at + 1], &point[at],
            (size_t)(c->point_count[axis] - at) * sizeof *point);
    point[at] = value;
    c->point_count[axis]++;
}

static double value_of(const emp_comparison_budget *budget)
{
    return budget->clock_s > 0 ? budget->clock_s : (double)budget->evaluations;
}

static void lay_points(emp_comparison *c, emp_comparison_axis axis)
{
    static const double steps[] = {1, 2, 5};
    int32_t             largest = emp_comparison_largest(c, axis);

    if (largest < 0) return;
    for (int32_t b = 0; b < c->budget_count; b++)
        if (emp_comparison_axis_of(&c->budget[b]) == axis)
            add_point(c, axis, value_of(&c->budget[b]));
    double most = value_of(&c->budget[largest]);
    for (double unit = axis == EMP_BY_CLOCK ? least_clock_s : 1; unit <= most;
         unit *= 10) {
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            if (steps[i] * unit <= most) add_point(c, axis, steps[i] * unit);
    }
}

/* ---- curves ---- */

/* Best of a run after so many evaluations: NaN where none is told, as scores come in
 * batches and a budget ends; infinity while nothing fits. */
static double best_after(const emp_comparison_budget *budget, const emp_job *job,
                         int64_t evaluations)
{
    const emp_record *r = &job->record;
    bool is_ended = evaluations > r->evaluations && strcmp(r->stopped_by, "method") != 0;

    if (isinf(emp_comparison_value(budget, job))) return INFINITY;
    if (!job->is_ready || is_ended) return NAN;
    return emp_comparison_best_after(r, evaluations);
}

/* Likewise after so many CPU seconds. */
static double best_within(const emp_job *job, double cpu_s)
{
    if (!job->is_ready || isnan(job->timing.cpu_s)) return NAN;
    if (job->is_refused) return INFINITY;
    const emp_timing_point *point = emp_timing_within(&job->timing, cpu_s);
    return point != NULL ? emp_comparison_best_after(&job->record, point->evaluations)
                         : NAN;
}

static emp_interval curve_at(const emp_comparison_plan *plan, int32_t cell,
                             const emp_comparison_budget *budget, int32_t runs, double at)
{
    double value[EMP_TRIALS_SEEDS];

    for (int32_t s = 0; s < runs; s++) {
        const emp_job *job = &plan->job[plan->first_job[cell] + s];
        value[s] = budget->clock_s > 0 ? best_within(job, at)
                                       : best_after(budget, job, (int64_t)at);
        if (isnan(value[s])) return (emp_interval){NAN, NAN, NAN};
    }
    return emp_median_interval(value, runs, 1);
}

emp_status emp_comparison_draw_curves(emp_comparison_plan *plan, emp_error *err)
{
    emp_comparison *c = plan->c;
    int32_t         cells = c->budget_count * c->row_count * c->entrant_count;

    for (int a = 0; a < EMP_COMPARISON_AXES; a++)
        c->point[a] = EMP_ADD_ARRAY(&c->arrays, double, EMP_COMPARISON_POINTS);
    c->curve =
        EMP_ADD_ARRAY(&c->arrays, emp_interval, (size_t)cells * EMP_COMPARISON_POINTS);
    if (c->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%d curves", cells);
    for (int a = 0; a < EMP_COMPARISON_AXES; a++) lay_points(c, (emp_comparison_axis)a);
    for (int32_t i = 0; i < cells; i++) {
        const emp_comparison_budget *budget =
            &c->budget[i / (c->row_count * c->entrant_count)];
        int32_t             runs = emp_comparison_runs_of(c, i % c->entrant_count);
        emp_comparison_axis axis = emp_comparison_axis_of(budget);
        for (int32_t p = 0; p < c->point_count[axis]; p++)
            c->curve[i * EMP_COMPARISON_POINTS + p] =
                curve_at(plan, i, budget, runs, c->point[axis][p]);
    }
    return EMP_OK;
}
