// SPDX-License-Identifier: GPL-3.0-or-later
/* From runs to cells, ranks and tests. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "bench/compare/comparison_internal.h"

static const double late_factor = 1.1; /* of a budget in seconds: a batch ends after it */

/* ---- cells ---- */

static bool is_late(const emp_comparison_budget *budget, const emp_job *job)
{
    return budget->seconds > 0 && job->timing.elapsed_s > late_factor * budget->seconds;
}

double emp_comparison_value(const emp_comparison_budget *budget, const emp_job *job)
{
    if (!job->is_ready) return NAN;
    if (job->is_refused || !job->record.is_feasible || is_late(budget, job))
        return INFINITY;
    return job->record.best_step_time_s;
}

static void fill_cell(emp_comparison_plan *plan, int32_t b, int32_t r, int32_t e)
{
    emp_comparison      *c = plan->c;
    int32_t              index = emp_comparison_cell_index(c, b, r, e);
    emp_comparison_cell *cell = &c->cell[index];
    const emp_job       *job = &plan->job[plan->first_job[index]];
    int32_t              runs = emp_comparison_runs_of(c, e);
    double               ready[EMP_TABLE_MAX_SEEDS];
    double               evaluations = 0;

    for (int32_t s = 0; s < c->seed_count; s++)
        c->step_s[index * c->seed_count + s] =
            emp_comparison_value(&c->budget[b], &job[runs > 1 ? s : 0]);
    for (int32_t s = 0; s < runs; s++) {
        double value = emp_comparison_value(&c->budget[b], &job[s]);
        if (isnan(value)) continue;
        ready[cell->run_count++] = value;
        cell->failed_count += isinf(value);
        cell->late_count += is_late(&c->budget[b], &job[s]);
        evaluations += (double)job[s].record.evaluations;
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
    if (c->bound_s[r] > 0) cell->gap_frac = cell->step_s.median / c->bound_s[r] - 1;
}

/* Every run of the row within the budget is ready. */
static bool is_whole(const emp_comparison *c, int32_t budget, int32_t row)
{
    for (int32_t e = 0; e < c->entrant_count; e++) {
        if (c->cell[emp_comparison_cell_index(c, budget, row, e)].run_count <
            emp_comparison_runs_of(c, e))
            return false;
    }
    return true;
}

/* ---- ranks and tests ---- */

/* log(a / b), where two that are infinitely slow are equal. */
static double log_ratio(double a, double b)
{
    if (isinf(a) || isinf(b)) return isinf(a) == isinf(b) ? 0.0 : isinf(a) ? a : -b;
    return log(a / b);
}

/* Pairs of a row: one a seed, but just one of two that draw nothing, which would be the
 * same each time. */
static int32_t add_pairs(double *difference, const emp_comparison *c, int32_t b,
                         int32_t r, int32_t e, int32_t best)
{
    const double *x = &c->step_s[emp_comparison_cell_index(c, b, r, e) * c->seed_count];
    const double *y =
        &c->step_s[emp_comparison_cell_index(c, b, r, best) * c->seed_count];
    bool    is_any_drawn = c->entrant[e].is_drawn || c->entrant[best].is_drawn;
    int32_t pairs = is_any_drawn ? c->seed_count : 1;

    for (int32_t s = 0; s < pairs; s++) difference[s] = log_ratio(x[s], y[s]);
    return pairs;
}

/* Tests every entrant against the best on the rows first .. last that are whole. */
static emp_status test_all(const emp_comparison *c, int32_t b, int32_t first,
                           int32_t last, int32_t best, double *p, double *corrected,
                           emp_error *err)
{
    emp_status st = EMP_OK;
    double    *difference =
        EMP_NEW_ARRAY(double, (size_t)(last - first + 1) * (size_t)c->seed_count);

    if (difference == NULL)
        EMP_FAIL(EMP_ENOMEM, "differences of %d seeds", c->seed_count);
    for (int32_t e = 0; e < c->entrant_count; e++) {
        int32_t count = 0;
        p[e] = NAN;
        if (e == best) continue;
        for (int32_t r = first; r <= last; r++) {
            if (is_whole(c, b, r))
                count += add_pairs(difference + count, c, b, r, e, best);
        }
        EMP_TRY(emp_wilcoxon(&p[e], difference, count, err));
    }
    emp_holm(corrected, p, c->entrant_count);

cleanup:
    emp_free(difference);
    return st;
}

static emp_status rank_row(emp_comparison *c, int32_t b, int32_t r, emp_error *err)
{
    emp_comparison_cell *cell = &c->cell[emp_comparison_cell_index(c, b, r, 0)];
    double               median[EMP_COMPARISON_ENTRANTS], rank[EMP_COMPARISON_ENTRANTS];
    double               p[EMP_COMPARISON_ENTRANTS], corrected[EMP_COMPARISON_ENTRANTS];
    int32_t              best = 0;

    if (!is_whole(c, b, r)) return EMP_OK;
    for (int32_t e = 0; e < c->entrant_count; e++) {
        median[e] = cell[e].step_s.median;
        if (median[e] < median[best]) best = e;
    }
    emp_rank_all(rank, median, c->entrant_count);
    for (int32_t e = 0; e < c->entrant_count; e++) cell[e].rank = rank[e];
    if (isinf(median[best])) return EMP_OK; /* nobody found anything */
    cell[best].is_best = true;
    EMP_CHECK(test_all(c, b, r, r, best, p, corrected, err));
    for (int32_t e = 0; e < c->entrant_count; e++) {
        cell[e].p = p[e];
        cell[e].p_holm = corrected[e];
    }
    return EMP_OK;
}

static double best_median(const emp_comparison *c, int32_t b, int32_t r)
{
    double best_s = INFINITY;

    for (int32_t e = 0; e < c->entrant_count; e++)
        best_s =
            fmin(best_s, c->cell[emp_comparison_cell_index(c, b, r, e)].step_s.median);
    return best_s;
}

/* Over whole rows; their number. */
static int32_t sum_up(emp_comparison *c, int32_t b, double *rank)
{
    emp_comparison_overall *overall = &c->overall[b * c->entrant_count];
    int32_t                 rows = 0, solved = 0;
    double                  logs[EMP_COMPARISON_ENTRANTS] = {0};
    double                  ranks[EMP_COMPARISON_ENTRANTS] = {0};

    for (int32_t r = 0; r < c->row_count; r++) {
        double best_s = best_median(c, b, r);
        if (!is_whole(c, b, r)) continue;
        for (int32_t e = 0; e < c->entrant_count; e++) {
            const emp_comparison_cell *cell =
                &c->cell[emp_comparison_cell_index(c, b, r, e)];
            rank[rows * c->entrant_count + e] = cell->rank;
            ranks[e] += cell->rank;
            if (isfinite(best_s)) logs[e] += log(cell->step_s.median / best_s);
        }
        rows++;
        solved += isfinite(best_s);
    }
    for (int32_t e = 0; e < c->entrant_count && rows > 0; e++) {
        overall[e].mean_rank = ranks[e] / rows;
        if (solved > 0) overall[e].ratio = exp(logs[e] / solved);
    }
    return rows;
}

static emp_status rank_all_rows(emp_comparison *c, int32_t b, emp_error *err)
{
    emp_status              st = EMP_OK;
    emp_comparison_overall *overall = &c->overall[b * c->entrant_count];
    double  p[EMP_COMPARISON_ENTRANTS], corrected[EMP_COMPARISON_ENTRANTS];
    double *rank = EMP_NEW_ARRAY(double, (size_t)(c->row_count * c->entrant_count));
    int32_t best = 0;

    if (rank == NULL) EMP_FAIL(EMP_ENOMEM, "ranks");
    int32_t rows = sum_up(c, b, rank);
    c->friedman[b] = emp_friedman(rank, rows, c->entrant_count);
    if (rows == 0) goto cleanup;
    for (int32_t e = 0; e < c->entrant_count; e++)
        if (overall[e].mean_rank < overall[best].mean_rank) best = e;
    overall[best].is_best = true;
    EMP_TRY(test_all(c, b, 0, c->row_count - 1, best, p, corrected, err));
    for (int32_t e = 0; e < c->entrant_count; e++) {
        overall[e].p = p[e];
        overall[e].p_holm = corrected[e];
    }

cleanup:
    emp_free(rank);
    return st;
}

emp_status emp_comparison_fill(emp_comparison_plan *plan, emp_error *err)
{
    emp_comparison *c = plan->c;

    for (int32_t b = 0; b < c->budget_count; b++) {
        for (int32_t r = 0; r < c->row_count; r++) {
            for (int32_t e = 0; e < c->entrant_count; e++) fill_cell(plan, b, r, e);
            EMP_CHECK(rank_row(c, b, r, err));
        }
        EMP_CHECK(rank_all_rows(c, b, err));
    }
    return EMP_OK;
}
