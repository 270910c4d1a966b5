// SPDX-License-Identifier: GPL-3.0-or-later
/* Are medians and ranges over seeds those worked out by hand? */
#include "bench/plots/chart.h"
#include "tests/test.h"

/* Three seeds with scores at different places. The curves, as steps:
 *
 *     evaluations     10      20      30      40
 *     seed 1          5       .       3       .
 *     seed 2          none    4       .       .       nothing fits at first
 *     seed 3          .       .       .       1
 */
static emp_curve_point seed1[] = {{10, 1, 5, 9}, {30, 1, 3, 7}};
static emp_curve_point seed2[] = {{10, 0, NAN, 8}, {20, 1, 4, 6}};
static emp_curve_point seed3[] = {{40, 1, 1, 2}};
static double          loss1[] = {1, 10, 3, 30}, loss2[] = {20, 2, 40, 4};

static void fill(emp_report_run run[3])
{
    memset(run, 0, 3 * sizeof *run);
    run[0].record = (emp_record){.evaluations = 40, .point_count = 2, .curve = seed1};
    run[1].record = (emp_record){.evaluations = 40, .point_count = 2, .curve = seed2};
    run[2].record = (emp_record){.evaluations = 40, .point_count = 1, .curve = seed3};
    run[0].timing.elapsed_s = 4; /* 0.1 s an evaluation */
    run[1].timing.elapsed_s = NAN;
    run[2].timing.elapsed_s = 8; /* 0.2 s an evaluation */
}

typedef struct {
    double x, median, low, high;
} expected_point;

static void expect_points(const emp_band *band, const char *what,
                          const expected_point *expected, int32_t count)
{
    cr_assert_eq(band->point_count, count, "%s", what);
    for (int32_t i = 0; i < count; i++) {
        const emp_band_point *p = &band->point[i];
        const expected_point *e = &expected[i];
        cr_expect(p->x == e->x && p->median == e->median && p->low == e->low &&
                      p->high == e->high,
                  "%s, point %d: %g in %g .. %g at %g", what, i, p->median, p->low,
                  p->high, p->x);
    }
}

static emp_band make(const emp_report_run *run, int32_t count, int32_t what,
                     emp_curve_axis by)
{
    emp_band band;

    ASSERT_OK(emp_band_create(&band, run, count, what, by, &err));
    return band;
}

/* Seeds without any best count as infinite, means count from their first point, runs without timing are left
 * out by seconds, and by CPU seconds a value counts once all of it is done. */
Test(band, is_that_of_three_seeds_worked_out_by_hand)
{
    static const struct {
        const char    *what;
        int32_t        value;
        emp_curve_axis by;
        int32_t        count;
        expected_point point[4];
    } cases[] = {
        {"best",
         EMP_CURVE_BEST,
         EMP_CURVE_BY_EVALUATIONS,
         4,
         {{10, INFINITY, 5, INFINITY},
          {20, 5, 4, INFINITY},
          {30, 4, 3, INFINITY},
          {40, 3, 1, 4}}},
        {"mean",
         EMP_CURVE_MEAN,
         EMP_CURVE_BY_EVALUATIONS,
         4,
         {{10, 8.5, 8, 9}, {20, 7.5, 6, 9}, {30, 6.5, 6, 7}, {40, 6, 2, 7}}},
        {"best by seconds",
         EMP_CURVE_BEST,
         EMP_CURVE_BY_SECONDS,
         3,
         {{1, INFINITY, 5, INFINITY}, {3, INFINITY, 3, INFINITY}, {8, 2, 1, 3}}},
        {"best by CPU seconds",
         EMP_CURVE_BEST,
         EMP_CURVE_BY_CPU,
         3,
         {{0.5, INFINITY, 5, INFINITY}, {2, INFINITY, 3, INFINITY}, {6, 2, 1, 3}}}};
    emp_timing_point fast[] = {{10, 0.5}, {30, 2}}, slow[] = {{15, 1}, {40, 6}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_report_run run[3];
        fill(run);
        if (cases[i].by == EMP_CURVE_BY_CPU) {
            run[0].timing.point = fast, run[0].timing.point_count = 2;
            run[2].timing.point = slow, run[2].timing.point_count = 2;
        }
        SCOPED(emp_band, emp_band_clear) band = make(run, 3, cases[i].value, cases[i].by);
        expect_points(&band, cases[i].what, cases[i].point, cases[i].count);
    }
}

Test(band, the_best_has_points_where_it_changes_and_its_end)
{
    emp_curve_point curve[] = {
        {1, 1, 5, 5}, {2, 1, 5, 9}, {3, 1, 4, 4}, {4, 1, 4, 7}, {5, 1, 4, 6}};
    emp_report_run run = {.record = {.evaluations = 5, .point_count = 5, .curve = curve}};
    emp_band       best = make(&run, 1, EMP_CURVE_BEST, EMP_CURVE_BY_EVALUATIONS);
    emp_band       mean = make(&run, 1, EMP_CURVE_MEAN, EMP_CURVE_BY_EVALUATIONS);

    expect_points(&best, "best",
                  (const expected_point[]){{1, 5, 5, 5}, {3, 4, 4, 4}, {5, 4, 4, 4}}, 3);
    cr_expect_eq(mean.point_count, 5, "means keep all of theirs");
    emp_band_clear(&best);
    emp_band_clear(&mean);
}

Test(band, metrics_are_found_by_name)
{
    emp_report_run run[3];

    fill(run);
    run[0].record.metric_count = run[1].record.metric_count = 2;
    run[0].record.metric = loss1; /* loss 1, 3; entropy 10, 30 */
    run[1].record.metric = loss2; /* entropy 20, 40; loss 2, 4 */
    strcpy(run[0].record.metric_name[0], "loss");
    strcpy(run[0].record.metric_name[1], "entropy");
    strcpy(run[1].record.metric_name[0], "entropy");
    strcpy(run[1].record.metric_name[1], "loss");
    emp_band band = make(run, 2, EMP_CURVE_METRIC + 1, EMP_CURVE_BY_EVALUATIONS);
    expect_points(
        &band, "entropy",
        (const expected_point[]){{10, 15, 10, 20}, {20, 25, 10, 40}, {30, 35, 30, 40}},
        3);
    emp_band_clear(&band);
}

Test(band, long_curves_are_thinned_out_and_keep_their_ends)
{
    enum { POINTS = 5000 };
    static emp_curve_point curve[POINTS];
    emp_report_run         run = {
                .record = {.evaluations = POINTS, .point_count = POINTS, .curve = curve}};

    for (int32_t i = 0; i < POINTS; i++)
        curve[i] = (emp_curve_point){i + 1, 1, POINTS - i, 1};
    emp_band band = make(&run, 1, EMP_CURVE_BEST, EMP_CURVE_BY_EVALUATIONS);
    cr_assert_eq(band.point_count, EMP_BAND_POINTS);
    cr_expect(band.point[0].x == 1 && band.point[0].median == POINTS);
    cr_expect(band.point[EMP_BAND_POINTS - 1].x == POINTS &&
              band.point[EMP_BAND_POINTS - 1].median == 1);
    emp_band_clear(&band);
}

Test(band, every_allocation_may_fail)
{
    emp_report_run run[3];
    emp_band       band;

    fill(run);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_band_create(&band, run, 3, EMP_CURVE_BEST, EMP_CURVE_BY_EVALUATIONS, NULL),
        emp_band_clear(&band));
    emp_band_clear(&band);
}
