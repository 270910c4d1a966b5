// SPDX-License-Identifier: GPL-3.0-or-later
/* Best so far against evaluations. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "bench/compare/comparison_internal.h"

/* ---- where curves have points ---- */

static int64_t most_evaluations(const emp_comparison_plan *plan)
{
    int64_t most = 1;

    for (int32_t i = 0; i < plan->job_count; i++)
        if (plan->job[i].record.evaluations > most)
            most = plan->job[i].record.evaluations;
    for (int32_t b = 0; b < plan->c->budget_count; b++)
        if (plan->c->budget[b].evaluations > most) most = plan->c->budget[b].evaluations;
    return most;
}

/* Keeps the points sorted; what is there, or one too many, is left out. */
static void add_point(emp_comparison *c, int64_t evaluations)
{
    int32_t at = c->point_count;

    while (at > 0 && c->point[at - 1] >= evaluations) at--;
    if (c->point_count == EMP_COMPARISON_POINTS) return;
    if (at < c->point_count && c->point[at] == evaluations) return;
    memmove(&c->point[at + 1], &c->point[at],
            (size_t)(c->point_count - at) * sizeof *c->point);
    c->point[at] = evaluations;
    c->point_count++;
}

static void lay_points(emp_comparison *c, int64_t most)
{
    static const int64_t steps[] = {1, 2, 5};

    for (int32_t b = 0; b < c->budget_count; b++)
        if (c->budget[b].evaluations > 0) add_point(c, c->budget[b].evaluations);
    for (int64_t unit = 1; unit <= most && unit < INT64_MAX / 100; unit *= 10) {
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            if (steps[i] * unit <= most) add_point(c, steps[i] * unit);
    }
}

/* ---- curves ---- */

/* Best of a run after so many evaluations: NaN where none is told, as scores come in
 * batches and a budget ends; infinity while nothing fits. */
static double best_after(const emp_comparison_budget *budget, const emp_job *job,
                         int64_t evaluations)
{
    const emp_record *r = &job->record;
    double            best_s = NAN;
    bool is_ended = evaluations > r->evaluations && strcmp(r->stopped_by, "method") != 0;

    if (isinf(emp_comparison_value(budget, job))) return INFINITY;
    if (!job->is_ready || is_ended) return NAN;
    for (int32_t i = 0; i < r->point_count && r->curve[i].evaluations <= evaluations; i++)
        best_s = isnan(r->curve[i].best_s) ? INFINITY : r->curve[i].best_s;
    return best_s;
}

static emp_interval curve_at(const emp_comparison_plan *plan, int32_t cell,
                             const emp_comparison_budget *budget, int32_t runs,
                             int64_t evaluations)
{
    double value[EMP_TABLE_MAX_SEEDS];

    for (int32_t s = 0; s < runs; s++) {
        value[s] = best_after(budget, &plan->job[plan->first_job[cell] + s], evaluations);
        if (isnan(value[s])) return (emp_interval){NAN, NAN, NAN};
    }
    return emp_median_interval(value, runs, 1);
}

emp_status emp_comparison_draw_curves(emp_comparison_plan *plan, emp_error *err)
{
    emp_comparison *c = plan->c;
    int32_t         cells = c->budget_count * c->row_count * c->entrant_count;

    c->point = EMP_ADD_ARRAY(&c->arrays, int64_t, EMP_COMPARISON_POINTS);
    if (c->point == NULL) return EMP_ERROR(EMP_ENOMEM, "points of curves");
    lay_points(c, most_evaluations(plan));
    c->curve =
        EMP_ADD_ARRAY(&c->arrays, emp_interval, (size_t)cells * (size_t)c->point_count);
    if (c->curve == NULL) return EMP_ERROR(EMP_ENOMEM, "%d curves", cells);
    for (int32_t i = 0; i < cells; i++) {
        int32_t budget = i / (c->row_count * c->entrant_count);
        int32_t runs = emp_comparison_runs_of(c, i % c->entrant_count);
        for (int32_t p = 0; p < c->point_count; p++)
            c->curve[i * c->point_count + p] =
                curve_at(plan, i, &c->budget[budget], runs, c->point[p]);
    }
    return EMP_OK;
}
