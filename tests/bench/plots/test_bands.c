// SPDX-License-Identifier: GPL-3.0-or-later
/* Are medians and ranges over seeds those worked out by hand? */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "bench/plots/bands.h"
#include "tests/support/expect.h"
#include "tests/support/survive.h"

/* Three seeds that are told at different places. The curves, as steps:
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

static void expect_point(const emp_band *band, int32_t i, double x, double median,
                         double low, double high)
{
    cr_expect_eq(band->point[i].x, x, "point %d at %g", i, band->point[i].x);
    cr_expect_eq(band->point[i].median, median, "median %g at %g", band->point[i].median,
                 x);
    cr_expect_eq(band->point[i].low, low, "low %g at %g", band->point[i].low, x);
    cr_expect_eq(band->point[i].high, high, "high %g at %g", band->point[i].high, x);
}

Test(band, best_so_far_counts_seeds_without_any_as_infinite)
{
    emp_report_run run[3];
    emp_band       band;

    fill(run);
    MUST(emp_band_create(&band, run, 3, EMP_CURVE_BEST, EMP_CURVE_BY_EVALUATIONS, NULL));
    cr_assert_eq(band.point_count, 4);
    expect_point(&band, 0, 10, INFINITY, 5, INFINITY);
    expect_point(&band, 1, 20, 5, 4, INFINITY);
    expect_point(&band, 2, 30, 4, 3, INFINITY);
    expect_point(&band, 3, 40, 3, 1, 4);
    emp_band_clear(&band);
}

Test(band, means_count_from_their_first_point)
{
    emp_report_run run[3];
    emp_band       band;

    fill(run);
    MUST(emp_band_create(&band, run, 3, EMP_CURVE_MEAN, EMP_CURVE_BY_EVALUATIONS, NULL));
    cr_assert_eq(band.point_count, 4);
    expect_point(&band, 0, 10, (9 + 8) / 2.0, 8, 9);
    expect_point(&band, 1, 20, (9 + 6) / 2.0, 6, 9);
    expect_point(&band, 2, 30, (7 + 6) / 2.0, 6, 7);
    expect_point(&band, 3, 40, 6, 2, 7);
    emp_band_clear(&band);
}

Test(band, by_seconds_runs_without_timing_are_left_out)
{
    emp_report_run run[3];
    emp_band       band;

    fill(run);
    MUST(emp_band_create(&band, run, 3, EMP_CURVE_BEST, EMP_CURVE_BY_SECONDS, NULL));
    cr_assert_eq(band.point_count, 3);
    expect_point(&band, 0, 1, INFINITY, 5, INFINITY); /* median of 5 and none */
    expect_point(&band, 1, 3, INFINITY, 3, INFINITY);
    expect_point(&band, 2, 8, 2, 1, 3);
    emp_band_clear(&band);
}

Test(band, by_cpu_seconds_a_value_counts_once_all_of_it_is_done)
{
    emp_timing_point fast[] = {{10, 0.5}, {30, 2}}, slow[] = {{15, 1}, {40, 6}};
    emp_report_run   run[3];
    emp_band         band;

    fill(run);
    run[0].timing.point = fast, run[0].timing.point_count = 2;
    run[2].timing.point = slow, run[2].timing.point_count = 2;
    MUST(emp_band_create(&band, run, 3, EMP_CURVE_BEST, EMP_CURVE_BY_CPU, NULL));
    cr_assert_eq(band.point_count, 3);
    expect_point(&band, 0, 0.5, INFINITY, 5, INFINITY);
    expect_point(&band, 1, 2, INFINITY, 3, INFINITY);
    expect_point(&band, 2, 6, 2, 1, 3);
    emp_band_clear(&band);
}

Test(band, the_best_has_points_where_it_changes_and_its_end)
{
    emp_curve_point curve[] = {
        {1, 1, 5, 5}, {2, 1, 5, 9}, {3, 1, 4, 4}, {4, 1, 4, 7}, {5, 1, 4, 6}};
    emp_report_run run = {.record = {.evaluations = 5, .point_count = 5, .curve = curve}};
    emp_band       band;

    MUST(emp_band_create(&band, &run, 1, EMP_CURVE_BEST, EMP_CURVE_BY_EVALUATIONS, NULL));
    cr_assert_eq(band.point_count, 3);
    expect_point(&band, 0, 1, 5, 5, 5);
    expect_point(&band, 1, 3, 4, 4, 4);
    expect_point(&band, 2, 5, 4, 4, 4);
    emp_band_clear(&band);
    MUST(emp_band_create(&band, &run, 1, EMP_CURVE_MEAN, EMP_CURVE_BY_EVALUATIONS, NULL));
    cr_expect_eq(band.point_count, 5, "means keep all of theirs");
    emp_band_clear(&band);
}

Test(band, metrics_are_found_by_name)
{
    emp_report_run run[3];
    emp_band       band;

    fill(run);
    run[0].record.metric_count = run[1].record.metric_count = 2;
    run[0].record.metric = loss1; /* loss 1, 3; entropy 10, 30 */
    run[1].record.metric = loss2; /* entropy 20, 40; loss 2, 4 */
    strcpy(run[0].record.metric_name[0], "loss");
    strcpy(run[0].record.metric_name[1], "entropy");
    strcpy(run[1].record.metric_name[0], "entropy");
    strcpy(run[1].record.metric_name[1], "loss");
    MUST(emp_band_create(&band, run, 2, EMP_CURVE_METRIC + 1, EMP_CURVE_BY_EVALUATIONS,
                         NULL));
    cr_assert_eq(band.point_count, 3);
    expect_point(&band, 0, 10, 15, 10, 20);
    expect_point(&band, 1, 20, 25, 10, 40);
    expect_point(&band, 2, 30, 35, 30, 40);
    emp_band_clear(&band);
}

Test(band, long_curves_are_thinned_out_and_keep_their_ends)
{
    enum { POINTS = 5000 };
    emp_curve_point *curve = EMP_NEW_ARRAY(emp_curve_point, POINTS);
    emp_report_run   run = {.record = {.evaluations = POINTS, .point_count = POINTS}};
    emp_band         band;

    for (int32_t i = 0; i < POINTS; i++)
        curve[i] = (emp_curve_point){i + 1, 1, POINTS - i, 1};
    run.record.curve = curve;
    MUST(emp_band_create(&band, &run, 1, EMP_CURVE_BEST, EMP_CURVE_BY_EVALUATIONS, NULL));
    cr_assert_eq(band.point_count, EMP_BAND_POINTS);
    expect_point(&band, 0, 1, POINTS, POINTS, POINTS);
    expect_point(&band, EMP_BAND_POINTS - 1, POINTS, 1, 1, 1);
    emp_band_clear(&band);
    emp_free(curve);
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
