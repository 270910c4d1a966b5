// SPDX-License-Identifier: GPL-3.0-or-later
/* What holds over tasks: is it only of tasks, apart for tuned and fresh ones, and as the tests
 * of statistics.h say? */
#include "base/rng.h"
#include "bench/compare/comparison_internal.h"
#include "tests/test.h"

enum { MOST_ROWS = 40, MOST_ENTRANTS = 8 };

/* A comparison of one budget whose cells are filled by hand. */
typedef struct {
    emp_comparison         c;
    emp_task_set           set[MOST_ROWS];
    emp_entrant            entrant[MOST_ENTRANTS];
    emp_comparison_budget  budget;
    emp_comparison_cell    cell[MOST_ROWS * MOST_ENTRANTS];
    emp_comparison_overall overall[EMP_TASK_SETS * MOST_ENTRANTS];
    emp_comparison_test    test[EMP_TASK_SETS];
} field;

static field f;

/* All fresh. */
static void lay_out(int32_t rows, int32_t entrants)
{
    f = (field){.budget = {.evaluations = 100}};
    f.c = (emp_comparison){.entrant_count = entrants,
                           .row_count = rows,
                           .seed_count = 3,
                           .budget_count = 1,
                           .against = -1,
                           .entrant = f.entrant,
                           .set = f.set,
                           .budget = &f.budget,
                           .cell = f.cell,
                           .overall = f.overall,
                           .test = f.test};
    for (int32_t e = 0; e < entrants; e++) f.entrant[e].is_drawn = true;
    for (int32_t r = 0; r < rows; r++) f.set[r] = EMP_TASKS_FRESH;
}

static emp_comparison_cell *cell_at(int32_t r, int32_t e)
{
    return &f.cell[r * f.c.entrant_count + e];
}

static void set_row(int32_t r, const double *median)
{
    double rank[MOST_ENTRANTS];

    emp_rank_all(rank, median, f.c.entrant_count);
    for (int32_t e = 0; e < f.c.entrant_count; e++)
        *cell_at(r, e) =
            (emp_comparison_cell){.run_count = f.c.seed_count,
                                  .step_s = {median[e], median[e], median[e]},
                                  .rank = rank[e],
                                  .cpu_s = e + 1};
}

/* Entrant e takes e tenths longer than the first, more or less. */
static void draw_row(int32_t r, emp_rng *rng)
{
    double median[MOST_ENTRANTS];

    for (int32_t e = 0; e < f.c.entrant_count; e++)
        median[e] = (1 + 0.1 * e) * (0.8 + 0.4 * emp_rng_uniform(rng));
    set_row(r, median);
}

static void draw_rows(uint32_t seed)
{
    emp_rng rng;

    emp_rng_init(&rng, seed, 0, 0);
    for (int32_t r = 0; r < f.c.row_count; r++) draw_row(r, &rng);
}

static const emp_comparison_overall *of(emp_task_set set, int32_t e)
{
    return &f.overall[emp_comparison_overall_index(&f.c, 0, set, e)];
}

static void sum_up(void)
{
    for (int32_t i = 0; i < EMP_TASK_SETS * MOST_ENTRANTS; i++)
        f.overall[i] =
            (emp_comparison_overall){.mean_rank = NAN, .p = NAN, .p_holm = NAN};
    for (int32_t i = 0; i < EMP_TASK_SETS; i++)
        f.test[i] =
            (emp_comparison_test){.friedman = {NAN, NAN, NAN, NAN}, .difference = NAN};
    ASSERT_OK(emp_comparison_sum_up(&f.c, &err));
}

/* p by all 2^12 signs of the differences of logs, and Holm's by hand: least first. */
Test(overall, p_is_that_of_all_signs_of_task_medians)
{
    enum { ROWS = 12, ENTRANTS = 3 };
    double p[ENTRANTS] = {NAN, NAN, NAN};

    lay_out(ROWS, ENTRANTS);
    draw_rows(3);
    sum_up();
    cr_assert(of(EMP_TASKS_FRESH, 0)->is_best);
    for (int e = 1; e < ENTRANTS; e++) {
        double size[ROWS], rank[ROWS], sum = 0, middle = ROWS * (ROWS + 1) / 4.0;
        int    far = 0;
        for (int r = 0; r < ROWS; r++) {
            size[r] = fabs(log(cell_at(r, e)->step_s.median) -
                           log(cell_at(r, 0)->step_s.median));
        }
        emp_rank_all(rank, size, ROWS);
        for (int r = 0; r < ROWS; r++)
            if (cell_at(r, e)->step_s.median > cell_at(r, 0)->step_s.median)
                sum += rank[r];
        for (int signs = 0; signs < 1 << ROWS; signs++) {
            double other = 0;
            for (int r = 0; r < ROWS; r++) other += signs >> r & 1 ? rank[r] : 0;
            far += fabs(other - middle) >= fabs(sum - middle) - 1e-9;
        }
        p[e] = (double)far / (1 << ROWS);
        cr_expect_float_eq(of(EMP_TASKS_FRESH, e)->p, p[e], 1e-12, "%d", e);
    }
    int    least = p[1] <= p[2] ? 1 : 2;
    double first = fmin(1, 2 * p[least]), second = fmax(first, p[3 - least]);
    cr_expect_float_eq(of(EMP_TASKS_FRESH, least)->p_holm, first, 1e-12);
    cr_expect_float_eq(of(EMP_TASKS_FRESH, 3 - least)->p_holm, second, 1e-12);
    cr_expect(isnan(of(EMP_TASKS_FRESH, 0)->p));
}

/* Against the best, another is compared as the best says; the best itself as that one says of it. */
Test(overall, any_entrant_can_be_the_one_to_compare_with)
{
    enum { ROWS = 12, ENTRANTS = 2 };

    lay_out(ROWS, ENTRANTS);
    draw_rows(3);
    sum_up();
    const emp_comparison_overall *a = of(EMP_TASKS_FRESH, 0), *b = a + 1;
    cr_assert(a->is_best);
    f.c.against = 0;
    sum_up();
    cr_expect(isnan(a->p_against) && b->p_against == b->p_holm);
    cr_expect_eq(b->to_against.mean, b->to_best.mean);
    cr_expect_eq(b->to_against.low, b->to_best.low);
    f.c.against = 1;
    sum_up();
    cr_expect(isnan(b->p_against));
    cr_expect_float_eq(a->p_against, b->p_holm, 1e-12);
    cr_expect_float_eq(a->to_against.mean * b->to_best.mean, 1, 1e-12);
}

/* More seeds in a task are no more tasks: counting them as pairs would shrink p. */
Test(overall, seeds_do_not_count)
{
    enum { ROWS = 15, ENTRANTS = 4 };
    emp_comparison_overall before[ENTRANTS];

    lay_out(ROWS, ENTRANTS);
    draw_rows(4);
    sum_up();
    for (int e = 0; e < ENTRANTS; e++) before[e] = *of(EMP_TASKS_FRESH, e);
    f.c.seed_count = 50;
    for (int i = 0; i < ROWS * ENTRANTS; i++) f.cell[i].run_count = 50;
    sum_up();
    for (int e = 0; e < ENTRANTS; e++) {
        const emp_comparison_overall *o = of(EMP_TASKS_FRESH, e);
        cr_expect(o->p == before[e].p || (isnan(o->p) && o->is_best));
        cr_expect(o->to_best.low == before[e].to_best.low &&
                  o->to_best.high == before[e].to_best.high);
    }
}

Test(overall, tuned_and_fresh_rows_are_apart)
{
    enum { ROWS = 18, TUNED = 6, ENTRANTS = 3 };
    emp_comparison_overall fresh[ENTRANTS];
    const double           opposite[ENTRANTS] = {3, 2, 1};

    lay_out(ROWS, ENTRANTS);
    draw_rows(5);
    for (int r = 0; r < TUNED; r++) f.set[r] = EMP_TASKS_TUNED;
    sum_up();
    for (int e = 0; e < ENTRANTS; e++) fresh[e] = *of(EMP_TASKS_FRESH, e);
    for (int r = 0; r < TUNED; r++) set_row(r, opposite);
    sum_up();
    cr_expect_eq(f.test[EMP_TASKS_TUNED].row_count, TUNED);
    cr_expect_eq(f.test[EMP_TASKS_FRESH].row_count, ROWS - TUNED);
    for (int e = 0; e < ENTRANTS; e++) {
        const emp_comparison_overall *o = of(EMP_TASKS_FRESH, e);
        cr_expect(o->mean_rank == fresh[e].mean_rank &&
                  o->to_least.high == fresh[e].to_least.high);
        cr_expect(o->p == fresh[e].p || o->is_best);
        cr_expect_eq(of(EMP_TASKS_TUNED, e)->mean_rank, opposite[e]);
    }
    cr_expect_eq(emp_comparison_main_set(&f.c), EMP_TASKS_FRESH);
}

/* 6 tasks are enough for a test of two methods, 7 for one of three, none for Friedman's. */
Test(overall, no_p_where_tasks_are_too_few)
{
    for (int32_t entrants = 2; entrants <= 4; entrants++) {
        int32_t least = entrants == 2 ? 6 : 7;
        for (int32_t rows = 5; rows <= 11; rows++) {
            lay_out(rows, entrants);
            draw_rows((uint32_t)rows);
            sum_up();
            const emp_comparison_test *t = &f.test[EMP_TASKS_FRESH];
            int32_t                    tested = 0;
            for (int e = 0; e < entrants; e++)
                tested += !isnan(of(EMP_TASKS_FRESH, e)->p_holm);
            cr_expect_eq(t->wilcoxon_least, least);
            cr_expect_eq(tested, rows >= least ? entrants - 1 : 0, "%d on %d", entrants,
                         rows);
            cr_expect_eq(isnan(t->friedman.p), rows < 11, "%d rows", rows);
            cr_expect_eq(isnan(t->difference), rows < 11);
        }
    }
}

Test(overall, ratios_are_geometric_means_with_what_fails)
{
    const double first[] = {1, 2, INFINITY}, second[] = {8, 2, 4};
    const double nobody[] = {INFINITY, INFINITY, INFINITY};

    lay_out(3, 3);
    set_row(0, first);
    set_row(1, second);
    set_row(2, nobody);
    sum_up();
    const emp_comparison_overall *a = of(EMP_TASKS_FRESH, 0), *b = of(EMP_TASKS_FRESH, 1),
                                 *c = of(EMP_TASKS_FRESH, 2);
    cr_expect(b->is_best && a->solved_count == 2 && c->solved_count == 1);
    cr_expect_float_eq(a->to_least.mean, cbrt(4), 1e-12, "1, 4 and equal failure");
    cr_expect_float_eq(b->to_least.mean, cbrt(2), 1e-12);
    cr_expect_float_eq(a->to_best.mean, cbrt(2), 1e-12, "1/2, 4, 1");
    cr_expect_eq(c->to_least.mean, INFINITY);
    cr_expect_eq(b->to_best.low, 1.0);
}

/* A row with a run that is not ready is left out. */
Test(overall, rows_that_are_not_whole_do_not_count)
{
    lay_out(8, 3);
    draw_rows(7);
    cell_at(2, 1)->run_count--;
    sum_up();
    cr_expect_eq(f.test[EMP_TASKS_FRESH].row_count, 7);
}

Test(overall, survives_every_allocation_failure)
{
    lay_out(12, 3);
    draw_rows(8);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_comparison_sum_up(&f.c, NULL), );
}
