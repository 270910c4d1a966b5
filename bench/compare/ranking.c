// SPDX-License-Identifier: GPL-3.0-or-later
/* From runs to cells, and their ranks on a row. */
#include <math.h>
#include <stdio.h>

#include "bench/compare/comparison_internal.h"

/* ---- runs ---- */

double emp_comparison_best_after(const emp_record *r, int64_t evaluations)
{
    int32_t from = 0, to = r->point_count;

    while (from < to) {
        int32_t middle = from + (to - from) / 2;
        if (r->curve[middle].evaluations <= evaluations)
            from = middle + 1;
        else
            to = middle;
    }
    if (from == 0) return NAN;
    return isnan(r->curve[from - 1].best_s) ? INFINITY : r->curve[from - 1].best_s;
}

/* How far the run was at the budget's clock; of a run without known CPU seconds, its end. */
static emp_timing_point reach(const emp_comparison_budget *budget, const emp_job *job)
{
    emp_timing_point end = {job->record.evaluations, job->timing.cpu_s};

    if (!(budget->clock_s > 0) || isnan(job->timing.cpu_s)) return end;
    const emp_timing_point *point = emp_timing_within(&job->timing, budget->clock_s);
    return point != NULL ? *point : (emp_timing_point){0, budget->clock_s};
}

bool emp_comparison_is_late(const emp_comparison_budget *budget, const emp_job *job)
{
    return reach(budget, job).evaluations == 0 && job->record.evaluations > 0;
}

double emp_comparison_value(const emp_comparison_budget *budget, const emp_job *job)
{
    if (!job->is_ready) return NAN;
    if (job->is_refused || !job->record.is_feasible ||
        emp_comparison_is_late(budget, job))
        return INFINITY;
    if (!(budget->clock_s > 0)) return job->record.best_step_time_s;
    return emp_comparison_best_after(&job->record, reach(budget, job).evaluations);
}

/* ---- cells ---- */

static void fill_cell(emp_comparison_plan *plan, int32_t b, int32_t r, int32_t e)
{
    emp_comparison      *c = plan->c;
    int32_t              index = emp_comparison_cell_index(c, b, r, e);
    emp_comparison_cell *cell = &c->cell[index];
    const emp_job       *job = &plan->job[plan->first_job[index]];
    int32_t              runs = emp_comparison_runs_of(c, e);
    double               ready[EMP_TRIALS_SEEDS];
    double               evaluations = 0, cpu_s = 0;

    for (int32_t s = 0; s < c->seed_count; s++)
        c->step_s[index * c->seed_count + s] =
            emp_comparison_value(&c->budget[b], &job[runs > 1 ? s : 0]);
    for (int32_t s = 0; s < runs; s++) {
        double value = emp_comparison_value(&c->budget[b], &job[s]);
        if (isnan(value)) continue;
        ready[cell->run_count++] = value;
        cell->failed_count += isinf(value);
        cell->late_count += emp_comparison_is_late(&c->budget[b], &job[s]);
        emp_timing_point end = reach(&c->budget[b], &job[s]);
        evaluations += (double)end.evaluations;
        cpu_s += job[s].is_refused ? NAN : end.cpu_s;
        if (!job[s].is_refused) continue;
        cell->refusal = c->refusal[r * c->entrant_count + e];
        snprintf(c->refusal[r * c->entrant_count + e], EMP_ERROR_MSG_BYTES, "%s",
                 job[s].error.msg);
    }
    if (cell->run_count == 0) return;
    cell->step_s = emp_median_interval(ready, cell->run_count, 1);
    emp_summary range = emp_summary_of(ready, (size_t)cell->run_count);
    cell->best_s = range.min;
    cell->worst_s = range.max;
    cell->evaluations = evaluations / cell->run_count;
    cell->cpu_s = cpu_s / cell->run_count;
    if (c->bound_s[r] > 0) cell->gap_frac = cell->step_s.median / c->bound_s[r] - 1;
}

/* ---- ranks ---- */

static void rank_row(emp_comparison *c, int32_t b, int32_t r)
{
    emp_comparison_cell *cell = &c->cell[emp_comparison_cell_index(c, b, r, 0)];
    double               median[EMP_COMPARISON_ENTRANTS], rank[EMP_COMPARISON_ENTRANTS];
    int32_t              best = 0;

    if (!emp_comparison_is_whole(c, b, r)) return;
    for (int32_t e = 0; e < c->entrant_count; e++) {
        median[e] = cell[e].step_s.median;
        if (median[e] < median[best]) best = e;
    }
    emp_rank_all(rank, median, c->entrant_count);
    for (int32_t e = 0; e < c->entrant_count; e++) cell[e].rank = rank[e];
    cell[best].is_best = isfinite(median[best]); /* else nobody found anything */
}

void emp_comparison_fill(emp_comparison_plan *plan)
{
    emp_comparison *c = plan->c;

    for (int32_t b = 0; b < c->budget_count; b++) {
        for (int32_t r = 0; r < c->row_count; r++) {
            for (int32_t e = 0; e < c->entrant_count; e++) fill_cell(plan, b, r, e);
            rank_row(c, b, r);
        }
    }
}
