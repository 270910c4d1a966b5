// SPDX-License-Identifier: GPL-3.0-or-later
/* From cells to what holds over tasks. A task has one figure an entrant, the median over seeds;
 * whatever is tested or drawn is tasks. */
#include <math.h>

#include "base/mem.h"
#include "bench/compare/comparison_internal.h"

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

static void compare_sizes(const struct field *f)
{
    double to_least[EMP_TASK_LIST_MOST], to_best[EMP_TASK_LIST_MOST];

    for (int32_t e = 0; e < f->c->entrant_count; e++) {
        for (int32_t i = 0; i < f->rows; i++) {
            double median_s = cell_of(f, i, e)->step_s.median;
            to_least[i] = emp_log_ratio(median_s, least_median(f, i));
            to_best[i] = emp_log_ratio(median_s, cell_of(f, i, f->best)->step_s.median);
        }
        f->overall[e].to_least = emp_ratio_interval(to_least, f->rows, BOOTSTRAP_SEED);
        f->overall[e].to_best = emp_ratio_interval(to_best, f->rows, BOOTSTRAP_SEED);
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

/* Each against the best, whose own p stays NaN. */
static emp_status test_pairs(const struct field *f, emp_error *err)
{
    int32_t count = f->c->entrant_count;
    double  difference[EMP_TASK_LIST_MOST];
    double  p[EMP_COMPARISON_ENTRANTS], corrected[EMP_COMPARISON_ENTRANTS];

    f->test->wilcoxon_least =
        emp_wilcoxon_least(count > 1 ? count - 1 : 1, EMP_COMPARISON_LEVEL);
    if (f->rows < f->test->wilcoxon_least) return EMP_OK;
    for (int32_t e = 0; e < count; e++) {
        p[e] = NAN;
        for (int32_t i = 0; i < f->rows; i++)
            difference[i] = emp_log_ratio(cell_of(f, i, e)->step_s.median,
                                          cell_of(f, i, f->best)->step_s.median);
        if (e != f->best) EMP_CHECK(emp_wilcoxon(&p[e], difference, f->rows, err));
    }
    emp_holm(corrected, p, count);
    for (int32_t e = 0; e < count; e++) {
        f->overall[e].p = p[e];
        f->overall[e].p_holm = corrected[e];
    }
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
