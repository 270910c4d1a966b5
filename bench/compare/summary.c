// SPDX-License-Identifier: GPL-3.0-or-later
/* From runs to cells and their ranks on a row, to what holds over tasks, and to curves. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "bench/compare/comparison_internal.h"

int32_t emp_comparison_cell_index(const emp_comparison *c, int32_t budget, int32_t row,
                                  int32_t entrant)
{
    return (budget * c->row_count + row) * c->entrant_count + entrant;
}

int32_t emp_comparison_runs_of(const emp_comparison *c, int32_t entrant)
{
    return c->entrant[entrant].is_drawn ? c->seed_count : 1;
}

int32_t emp_comparison_overall_index(const emp_comparison *c, int32_t budget,
                                     emp_task_set set, int32_t entrant)
{
    return (budget * EMP_TASK_SETS + (int32_t)set) * c->entrant_count + entrant;
}

emp_comparison_axis emp_comparison_axis_of(const emp_comparison_budget *budget)
{
    return budget->clock_s > 0 ? EMP_BY_CLOCK : EMP_BY_EVALUATIONS;
}

int32_t emp_comparison_largest(const emp_comparison *c, emp_comparison_axis axis)
{
    int32_t largest = -1;

    for (int32_t b = 0; b < c->budget_count; b++) {
        const emp_comparison_budget *budget = &c->budget[b];
        if (emp_comparison_axis_of(budget) != axis) continue;
        if (largest < 0 || budget->evaluations > c->budget[largest].evaluations ||
            budget->clock_s > c->budget[largest].clock_s)
            largest = b;
    }
    return largest;
}

/* True if every run of the row within the budget is ready. */
static bool emp_comparison_is_whole(const emp_comparison *c, int32_t budget, int32_t row)
{
    for (int32_t e = 0; e < c->entrant_count; e++) {
        if (c->cell[emp_comparison_cell_index(c, budget, row, e)].run_count <
            emp_comparison_runs_of(c, e))
            return false;
    }
    return true;
}

/* ---- runs ---- */

static double emp_comparison_best_after(const emp_record *r, int64_t evaluations)
{
    int32_t from;

    EMP_COUNT_FIRST(from, r->point_count, i, r->curve[i].evaluations <= evaluations);
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

/* True if the bound with GPU kernels on GPUs holds for what all runs had found within the budget. */
static bool keep_gpu_kernels(const emp_comparison *c, int32_t b, int32_t r,
                             const emp_job *job, int32_t runs)
{
    if (!(c->bound_gpu_kernels_s[r] > 0)) return false;
    for (int32_t s = 0; s < runs; s++)
        if (emp_comparison_value(&c->budget[b], &job[s]) !=
                job[s].record.best_step_time_s ||
            !emp_trials_keeps_gpu_kernels(c->tasks.loaded[r].problem, &job[s].record))
            return false;
    return true;
}

static void fill_cell(emp_comparison_plan *plan, int32_t b, int32_t r, int32_t e)
{
    emp_comparison      *c = plan->c;
    int32_t              index = emp_comparison_cell_index(c, b, r, e);
    emp_comparison_cell *cell = &c->cell[index];
    int32_t              runs;
    const emp_job       *job = emp_trials_cell(&plan->trials, plan->trial[index], &runs);
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
        /* the seconds of another process are not known */
        cpu_s += job[s].is_refused || job[s].run.method->is_outside ? NAN : end.cpu_s;
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
    if (keep_gpu_kernels(c, b, r, job, runs)) {
        cell->bound_gpu_kernels_s = c->bound_gpu_kernels_s[r];
        cell->gap_gpu_kernels_frac = cell->step_s.median / cell->bound_gpu_kernels_s - 1;
    }
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
    cell[best].is_best = isfinite(median[best]); /* else no entrant found anything */
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

/* ---- what holds over tasks: each has one figure an entrant, the median over seeds ---- */

enum { BOOTSTRAP_SEED = 1 };

/* The rows of a set within a budget of which all runs are ready. */
struct field {
    emp_comparison         *c;
    int32_t                 budget, rows;
    int32_t                 row[EMP_TASK_LIST_MOST];
    emp_comparison_overall *overall; /* [entrant] */
    emp_comparison_test    *test;
    int32_t                 best; /* the entrant of lowest mean rank */
};

static const emp_comparison_cell *cell_of(const struct field *f, int32_t i,
                                          int32_t entrant)
{
    return &f->c->cell[emp_comparison_cell_index(f->c, f->budget, f->row[i], entrant)];
}

static struct field field_of(emp_comparison *c, int32_t b, emp_task_set set)
{
    struct field f = {.c = c,
                      .budget = b,
                      .overall = &c->overall[emp_comparison_overall_index(c, b, set, 0)],
                      .test = &c->test[b * EMP_TASK_SETS + (int32_t)set]};

    for (int32_t r = 0; r < c->row_count; r++)
        if (c->set[r] == set && emp_comparison_is_whole(c, b, r)) f.row[f.rows++] = r;
    f.test->row_count = f.rows;
    return f;
}

/* ---- sizes ---- */

static double least_median(const struct field *f, int32_t i)
{
    double least_s = INFINITY;

    for (int32_t e = 0; e < f->c->entrant_count; e++)
        least_s = fmin(least_s, cell_of(f, i, e)->step_s.median);
    return least_s;
}

static void average(struct field *f)
{
    for (int32_t e = 0; e < f->c->entrant_count; e++) {
        emp_comparison_overall *o = &f->overall[e];
        double                  ranks = 0, cpu_s = 0;
        int32_t                 timed = 0;
        for (int32_t i = 0; i < f->rows; i++) {
            const emp_comparison_cell *cell = cell_of(f, i, e);
            ranks += cell->rank;
            cpu_s += isnan(cell->cpu_s) ? 0 : cell->cpu_s;
            timed += !isnan(cell->cpu_s);
            o->solved_count += isfinite(cell->step_s.median);
        }
        o->mean_rank = ranks / f->rows;
        o->cpu_s = timed > 0 ? cpu_s / timed : NAN;
        if (o->mean_rank < f->overall[f->best].mean_rank) f->best = e;
    }
    f->overall[f->best].is_best = true;
}

static double log_ratio(const struct field *f, int32_t i, int32_t e, int32_t to)
{
    return emp_log_ratio(cell_of(f, i, e)->step_s.median,
                         cell_of(f, i, to)->step_s.median);
}

static void compare_sizes(const struct field *f)
{
    double to_least[EMP_TASK_LIST_MOST], to_best[EMP_TASK_LIST_MOST];
    double to_first[EMP_TASK_LIST_MOST], to_against[EMP_TASK_LIST_MOST];

    for (int32_t e = 0; e < f->c->entrant_count; e++) {
        emp_comparison_overall *o = &f->overall[e];
        for (int32_t i = 0; i < f->rows; i++) {
            to_least[i] =
                emp_log_ratio(cell_of(f, i, e)->step_s.median, least_median(f, i));
            to_best[i] = log_ratio(f, i, e, f->best);
            to_first[i] = log_ratio(f, i, e, 0);
            if (f->c->against >= 0) to_against[i] = log_ratio(f, i, e, f->c->against);
        }
        o->to_least = emp_ratio_interval(to_least, f->rows, BOOTSTRAP_SEED);
        o->to_best = emp_ratio_interval(to_best, f->rows, BOOTSTRAP_SEED);
        if (f->c->has_arms)
            o->to_first = emp_ratio_interval(to_first, f->rows, BOOTSTRAP_SEED);
        if (f->c->against >= 0)
            o->to_against = emp_ratio_interval(to_against, f->rows, BOOTSTRAP_SEED);
    }
}

/* ---- tests ---- */

static emp_status test_ranks(const struct field *f, emp_error *err)
{
    int32_t count = f->c->entrant_count;
    double *rank = NULL;

    if (f->rows < EMP_FRIEDMAN_LEAST || count < 2) return EMP_OK;
    EMP_CHECK(EMP_ALLOC(rank, (size_t)f->rows * (size_t)count));
    for (int32_t i = 0; i < f->rows * count; i++)
        rank[i] = cell_of(f, i / count, i % count)->rank;
    f->test->friedman = emp_friedman(rank, f->rows, count);
    emp_free(rank);
    f->test->difference = emp_nemenyi_difference(count, f->rows, EMP_COMPARISON_LEVEL);
    for (int32_t e = 0; e < count; e++)
        f->overall[e].is_near = f->overall[e].mean_rank - f->overall[f->best].mean_rank <=
                                f->test->difference;
    return EMP_OK;
}

/* Each against \a other, whose own p is NaN; by Holm's method. */
static emp_status test_against(const struct field *f, int32_t other, double *p,
                               double *corrected, emp_error *err)
{
    double difference[EMP_TASK_LIST_MOST];

    for (int32_t e = 0; e < f->c->entrant_count; e++) {
        p[e] = NAN;
        for (int32_t i = 0; i < f->rows; i++) difference[i] = log_ratio(f, i, e, other);
        if (e != other) EMP_CHECK(emp_wilcoxon(&p[e], difference, f->rows, err));
    }
    emp_holm(corrected, p, f->c->entrant_count);
    return EMP_OK;
}

static emp_status test_pairs(const struct field *f, emp_error *err)
{
    int32_t count = f->c->entrant_count;
    double  p[EMP_COMPARISON_ENTRANTS], corrected[EMP_COMPARISON_ENTRANTS];

    f->test->wilcoxon_least =
        emp_wilcoxon_least(count > 1 ? count - 1 : 1, EMP_COMPARISON_LEVEL);
    if (f->rows < f->test->wilcoxon_least) return EMP_OK;
    EMP_CHECK(test_against(f, f->best, p, corrected, err));
    for (int32_t e = 0; e < count; e++) {
        f->overall[e].p = p[e];
        f->overall[e].p_holm = corrected[e];
    }
    if (f->c->against < 0) return EMP_OK;
    EMP_CHECK(test_against(f, f->c->against, p, corrected, err));
    for (int32_t e = 0; e < count; e++) f->overall[e].p_against = corrected[e];
    return EMP_OK;
}

emp_status emp_comparison_sum_up(emp_comparison *c, emp_error *err)
{
    for (int32_t i = 0; i < c->budget_count * EMP_TASK_SETS; i++) {
        struct field f =
            field_of(c, i / EMP_TASK_SETS, (emp_task_set)(i % EMP_TASK_SETS));
        if (f.rows == 0) continue;
        average(&f);
        compare_sizes(&f);
        EMP_CHECK(test_ranks(&f, err));
        EMP_CHECK(test_pairs(&f, err));
    }
    return EMP_OK;
}

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
    static const double steps[] = {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9};
    int32_t             largest = emp_comparison_largest(c, axis);

    if (largest < 0) return;
    for (int32_t b = 0; b < c->budget_count; b++)
        if (emp_comparison_axis_of(&c->budget[b]) == axis)
            add_point(c, axis, value_of(&c->budget[b]));
    double most = value_of(&c->budget[largest]);
    for (double unit = axis == EMP_BY_CLOCK ? least_clock_s : 1; unit <= most;
         unit *= 10) {
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            double value = steps[i] * unit;
            bool   is_whole = axis == EMP_BY_CLOCK || value == floor(value);
            if (value <= most && is_whole) add_point(c, axis, value);
        }
    }
}

/* ---- curves ---- */

/* Best of a run after so many evaluations: NaN where there is no score, as scores come in
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
                             const emp_comparison_budget *budget, double at)
{
    double         value[EMP_TRIALS_SEEDS];
    int32_t        runs;
    const emp_job *job = emp_trials_cell(&plan->trials, plan->trial[cell], &runs);

    for (int32_t s = 0; s < runs; s++) {
        value[s] = budget->clock_s > 0 ? best_within(&job[s], at)
                                       : best_after(budget, &job[s], (int64_t)at);
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
        emp_comparison_axis axis = emp_comparison_axis_of(budget);
        for (int32_t p = 0; p < c->point_count[axis]; p++)
            c->curve[i * EMP_COMPARISON_POINTS + p] =
                curve_at(plan, i, budget, c->point[axis][p]);
    }
    return EMP_OK;
}
