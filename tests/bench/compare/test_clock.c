// SPDX-License-Identifier: GPL-3.0-or-later
/* Budgets in CPU seconds: does one run of the longest clock say what shorter ones found? */
#include "bench/compare/comparison.h"
#include "bench/compare/comparison_internal.h"
#include "tests/bench/counted.h"
#include "tests/test.h"

enum { SEEDS = 2 };

/* With sanitizers a run does less in a second, and what comes before it takes longer. */
#ifndef SLOWNESS
#define SLOWNESS 1
#endif
static const double clocks_s[] = {0.2 * SLOWNESS, 0.8 * SLOWNESS, 0.4 * SLOWNESS};

TestSuite(clock, .init = counted_set_up, .fini = scratch_remove);

static const emp_compared_task row = {
    {"two", "Two layers", "rnnlm:layers=2,steps=2,units=64,vocab=16,sampled=0", "k40x2",
     2, NULL},
    EMP_TASKS_FRESH};

static emp_comparison *make(void)
{
    emp_comparison_params p = emp_comparison_params_default();
    emp_comparison       *c = NULL;

    p.row = &row;
    p.row_count = 1;
    p.methods = "expert,anneal";
    p.seed_count = SEEDS;
    p.budget_count = 4;
    p.budget[0] = (emp_comparison_budget){.clock_s = clocks_s[0]};
    p.budget[1] = (emp_comparison_budget){.evaluations = 8};
    p.budget[2] = (emp_comparison_budget){.clock_s = clocks_s[1]};
    p.budget[3] = (emp_comparison_budget){.clock_s = clocks_s[2]};
    p.draws = 1;
    p.jobs = counted_jobs(p.jobs.threads);
    ASSERT_OK(emp_comparison_make(&c, &p, &err));
    return c;
}

static const emp_comparison_cell *cell_of(const emp_comparison *c, int32_t b, int32_t e)
{
    return &c->cell[emp_comparison_cell_index(c, b, 0, e)];
}

static void expect_one_run_for_all_clocks(const emp_comparison *c)
{
    static const int32_t rising[] = {0, 3, 2};
    for (int i = 0; i < 3; i++) {
        int32_t                    b = rising[i];
        const emp_comparison_cell *anneal = cell_of(c, b, 1), *expert = cell_of(c, b, 0);
        cr_expect_eq(anneal->run_count, SEEDS);
        cr_expect_leq(anneal->cpu_s, c->budget[b].clock_s);
        cr_expect_gt(anneal->cpu_s, 0.5 * c->budget[b].clock_s);
        cr_expect_eq(expert->evaluations, 1.0);
        cr_expect(isnan(anneal->rescored_s[EMP_SCORED_NOISE]), "no placement on record");
        if (i == 0) continue;
        cr_expect_leq(anneal->step_s.median, cell_of(c, rising[i - 1], 1)->step_s.median);
        cr_expect_gt(anneal->evaluations, cell_of(c, rising[i - 1], 1)->evaluations);
    }
    cr_expect_eq(cell_of(c, 1, 1)->evaluations, 8.0);
    cr_expect(isfinite(cell_of(c, 1, 1)->rescored_s[EMP_SCORED_NOISE]));
    cr_expect_not_null(
        strstr(c->command, scratch_print(" --budgets 8 --clock %g,%g,%g --seeds 2",
                                         clocks_s[0], clocks_s[1], clocks_s[2])),
        "%s", c->command);
}

static int32_t count_cells_on_curve(const emp_comparison *c)
{
    const int32_t longest = emp_comparison_largest(c, EMP_BY_CLOCK);
    const int32_t index = emp_comparison_cell_index(c, longest, 0, 1);
    int32_t       found = 0;

    cr_assert_eq(longest, 2);
    cr_expect_eq(emp_comparison_largest(c, EMP_BY_EVALUATIONS), 1);
    for (int32_t p = 0; p < c->point_count[EMP_BY_CLOCK]; p++) {
        double median = c->curve[index * EMP_COMPARISON_POINTS + p].median;
        for (int32_t b = 0; b < c->budget_count; b++) {
            if (c->budget[b].clock_s != c->point[EMP_BY_CLOCK][p]) continue;
            cr_expect_eq(median, cell_of(c, b, 1)->step_s.median);
            found++;
        }
    }
    return found;
}

static void remove_timings(void)
{
    for (int seed = 1; seed <= SEEDS; seed++) {
        char *timing =
            scratch_find(scratch_print("runs/*.anneal.seed%d.0.*.timing.json", seed));
        cr_assert_not_null(timing);
        const char *path = scratch_print("%s/%s", counted_folder, timing);
        cr_assert_eq(remove(path), 0, "%s", path);
        free(timing);
    }
}

/* Also the clock's are read again; without its timing a run by the clock says nothing of shorter ones. */
Test(clock, one_run_stands_for_all_clocks_and_is_read_again)
{
    char           *first = NULL, *second = NULL;
    emp_comparison *c = make(), *d;

    cr_expect_eq(counted_runs, 1 + SEEDS + SEEDS, "expert, 8 evaluations, longest clock");
    expect_one_run_for_all_clocks(c);
    d = make();
    cr_expect(counted_runs > 0 && counted_reads == counted_runs);
    cr_expect_eq(count_cells_on_curve(c), 3);
    ASSERT_PRINTED(first, emp_comparison_print(out, c, EMP_SHEET_TEXT, &err));
    ASSERT_PRINTED(second, emp_comparison_print(out, d, EMP_SHEET_TEXT, &err));
    cr_expect_str_eq(first, second);
    cr_expect_not_null(strstr(first, "differ from run to run"));
    free(first);
    free(second);
    emp_comparison_destroy(c);
    emp_comparison_destroy(d);
    remove_timings();
    emp_comparison_destroy(make());
    cr_expect_eq(counted_runs - counted_reads, SEEDS, "not those of 8 evaluations");
}

static emp_curve_point  curve[] = {{4, 4, 3.0, 3.0}, {8, 4, 2.0, 3.0}, {12, 4, 1.0, 2.0}};
static emp_timing_point points[] = {{4, 1.0}, {8, 2.0}, {12, 3.5}};

static emp_job job_of_three_batches(void)
{
    return (emp_job){.is_ready = true,
                     .record = {.is_feasible = true,
                                .best_step_time_s = 1.0,
                                .evaluations = 12,
                                .point_count = 3,
                                .curve = curve},
                     .timing = {.cpu_s = 3.5, .point_count = 3, .point = points}};
}

static double value_at(const emp_job *job, double clock_s)
{
    const emp_comparison_budget budget = {.clock_s = clock_s};

    return emp_comparison_value(&budget, job);
}

Test(clock, batch_that_ends_after_it_is_too_late)
{
    emp_job                     job = job_of_three_batches();
    const emp_comparison_budget evaluations = {.evaluations = 12}, short_clock = {0, 0.5};

    cr_expect_eq(value_at(&job, 0.999), INFINITY);
    cr_expect(emp_comparison_is_late(&short_clock, &job));
    cr_expect_eq(value_at(&job, 1.0), 3.0);
    cr_expect_eq(value_at(&job, 1.999), 3.0);
    cr_expect_eq(value_at(&job, 3.4), 2.0);
    cr_expect_eq(value_at(&job, 3.5), 1.0);
    cr_expect_eq(emp_comparison_value(&evaluations, &job), 1.0);
    curve[0].best_s = NAN; /* nothing fits yet */
    cr_expect_eq(value_at(&job, 1.5), INFINITY);
    cr_expect_eq(value_at(&job, 2.5), 2.0);
    job.record.is_feasible = false;
    cr_expect_eq(value_at(&job, 9), INFINITY);
    cr_expect_eq(emp_comparison_value(&evaluations, &job), INFINITY);
    job.is_ready = false;
    cr_expect(isnan(value_at(&job, 9)));
    /* as the records of older versions, and of methods that stop by themselves on several threads */
    job = job_of_three_batches();
    job.timing = (emp_timing){.cpu_s = NAN};
    cr_expect_eq(value_at(&job, 0.1), 1.0);
}
