// SPDX-License-Identifier: GPL-3.0-or-later
/* Are intervals, tests and ranks those of the books, of other people's programs, and of
 * brute force? */
#include <criterion/criterion.h>
#include <gsl/gsl_cdf.h>
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "bench/compare/statistics.h"
#include "tests/support/survive.h"

/* ---- intervals ---- */

static void expect_interval(const double *values, int32_t count, double low,
                            double median, double high)
{
    emp_interval i = emp_median_interval(values, count, 1);

    cr_expect(i.low == low && i.median == median && i.high == high,
              "%d values: %g in %g .. %g", count, i.median, i.low, i.high);
}

/* A resample's median is the lowest of n values when most draws are: of 5 with a chance of
 * 5.8 %, of 7 with 1.0 %, and of 7 the lowest two with 11 %. So 2.5 % lies at the lowest of
 * 5 and at the second of 7. */
Test(interval, ends_are_where_the_bootstrap_distribution_has_them)
{
    const double values[] = {4, 1, 3, 7, 2, 6, 5};

    expect_interval(values, 7, 2, 4, 6);
    expect_interval(values, 5, 1, 3, 7);
    expect_interval(values, 1, 4, 4, 4);
    expect_interval(values, 2, 1, 2.5, 4);
}

Test(interval, infinite_values_are_the_largest)
{
    const double some[] = {INFINITY, 1, 2, INFINITY, 3}, most[] = {INFINITY, 1, INFINITY};

    expect_interval(some, 5, 1, 3, INFINITY);
    expect_interval(most, 3, 1, INFINITY, INFINITY);
    cr_expect(isnan(emp_median_interval(some, 0, 1).median));
}

Test(interval, a_seed_gives_the_same_bits)
{
    double  values[40];
    emp_rng rng;

    emp_rng_init(&rng, 1, 0, 0);
    for (int i = 0; i < 40; i++) values[i] = emp_rng_uniform(&rng);
    emp_interval a = emp_median_interval(values, 40, 7);
    emp_interval b = emp_median_interval(values, 40, 7);
    cr_expect(a.low == b.low && a.median == b.median && a.high == b.high);
    cr_expect(a.low < a.median && a.median < a.high);
}

/* ---- ranks ---- */

Test(rank, equal_values_share_their_mean)
{
    const double value[] = {3, 1, 3, INFINITY, INFINITY};
    const double expected[] = {2.5, 1, 2.5, 4.5, 4.5};
    double       rank[5];

    emp_rank_all(rank, value, 5);
    for (int i = 0; i < 5; i++) cr_expect_eq(rank[i], expected[i], "rank %d", i);
}

/* ---- Wilcoxon's test ---- */

static double wilcoxon(const double *difference, int32_t count)
{
    double    p = -1;
    emp_error err = {0};

    cr_assert_eq(emp_wilcoxon(&p, difference, count, &err), EMP_OK, "%s", err.msg);
    return p;
}

/* Hollander and Wolfe, Nonparametric Statistical Methods, 1973, 29f: depression before and
 * after; R's wilcox.test() says V = 40, p = 0.03906. */
Test(wilcoxon, depression_scores)
{
    const double before[] = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
    const double after[] = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
    double       difference[9];

    for (int i = 0; i < 9; i++) difference[i] = before[i] - after[i];
    cr_expect_float_eq(wilcoxon(difference, 9), 0.0390625, 1e-15);
}

/* 25 sets of the ranks 1 .. 10 sum up to 8 or less: the critical value of the tables. */
Test(wilcoxon, tables_for_ten)
{
    const double difference[] = {1, 2, 3, 4, 5, 6, 7, -8, 9, 10};

    cr_expect_float_eq(wilcoxon(difference, 10), 2 * 25 / 1024.0, 1e-15);
}

Test(wilcoxon, five_pairs_are_never_significant)
{
    const double difference[] = {0, 1, 2, 3, 0, 4, 5}; /* zeros are dropped */

    cr_expect_float_eq(wilcoxon(difference, 7), 2 / 32.0, 1e-15);
}

Test(wilcoxon, infinite_differences_are_the_largest)
{
    const double difference[] = {INFINITY, -1, INFINITY};

    cr_expect_float_eq(wilcoxon(difference, 3), 2 * 2 / 8.0, 1e-15);
}

Test(wilcoxon, without_differences)
{
    const double zeros[] = {0, 0, 0};

    cr_expect_eq(wilcoxon(zeros, 3), 1.0);
    cr_expect(isnan(wilcoxon(zeros, 0)));
}

/* Share of all signs whose sum of ranks is as far from the middle as the one at hand. */
static double count_signs(const double *difference, int32_t n)
{
    double  size[12] = {0}, rank[12], total = n * (n + 1) / 2.0, sum = 0;
    int32_t far = 0;

    for (int32_t i = 0; i < n; i++) size[i] = fabs(difference[i]);
    emp_rank_all(rank, size, n);
    for (int32_t i = 0; i < n; i++) sum += difference[i] > 0 ? rank[i] : 0;
    for (int32_t signs = 0; signs < 1 << n; signs++) {
        double other = 0;
        for (int32_t i = 0; i < n; i++) other += signs >> i & 1 ? rank[i] : 0;
        far += fabs(other - total / 2) >= fabs(sum - total / 2);
    }
    return (double)far / (1 << n);
}

Test(wilcoxon, ties_and_all_else_as_by_brute_force)
{
    emp_rng rng;

    emp_rng_init(&rng, 3, 0, 0);
    for (int trial = 0; trial < 200; trial++) {
        double  difference[12];
        int32_t n = 1 + (int32_t)emp_rng_below(&rng, 12);
        for (int32_t i = 0; i < n; i++) {
            difference[i] = 1 + (double)emp_rng_below(&rng, 6);
            if (emp_rng_below(&rng, 3) == 0) difference[i] = -difference[i];
        }
        cr_expect_float_eq(wilcoxon(difference, n), count_signs(difference, n), 1e-12,
                           "trial %d, %d differences", trial, n);
    }
}

/* The exact test of 50 and the approximation of 51 differ by little; the latter is the
 * formula of the books. */
Test(wilcoxon, many_differences_by_the_normal_approximation)
{
    double difference[51], n = 51, w = 0;

    for (int i = 0; i < 51; i++) difference[i] = i % 3 == 0 ? -(i + 1) : i + 1;
    for (int i = 0; i < 51; i += 3) w += i + 1;
    double z = (w - n * (n + 1) / 4 + 0.5) / sqrt(n * (n + 1) * (2 * n + 1) / 24);
    cr_expect_float_eq(wilcoxon(difference, 51), 2 * gsl_cdf_ugaussian_P(z), 1e-12);
    cr_expect_float_eq(wilcoxon(difference, 50), wilcoxon(difference, 51), 0.02);
}

Test(wilcoxon, survives_every_allocation_failure)
{
    const double difference[] = {1, 2, 3};
    double       p;

    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_wilcoxon(&p, difference, 3, NULL), );
}

/* ---- many tests ---- */

Test(holm, steps_down)
{
    const double p[] = {0.01, 0.04, NAN, 0.03, 0.005};
    const double expected[] = {0.03, 0.06, NAN, 0.06, 0.02};
    double       corrected[5];

    emp_holm(corrected, p, 5);
    for (int i = 0; i < 5; i++) {
        if (isnan(expected[i]))
            cr_expect(isnan(corrected[i]), "%d", i);
        else
            cr_expect_float_eq(corrected[i], expected[i], 1e-15, "%d", i);
    }
}

Test(holm, equal_values_stay_equal_and_none_is_above_one)
{
    const double p[] = {0.02, 0.9, 0.02, 0.8};
    const double expected[] = {0.08, 1, 0.08, 1};
    double       corrected[4];

    emp_holm(corrected, p, 4);
    for (int i = 0; i < 4; i++)
        cr_expect_float_eq(corrected[i], expected[i], 1e-15, "%d: %g", i, corrected[i]);
}

/* ---- Friedman's test ---- */

/* Hollander and Wolfe, 1973, 140ff: rounding first base, three ways; R's friedman.test()
 * says chi-squared = 11.143, p = 0.003805. */
static const double rounding[22][3] = {
    {5.40, 5.50, 5.55}, {5.85, 5.70, 5.75}, {5.20, 5.60, 5.50}, {5.55, 5.50, 5.40},
    {5.90, 5.85, 5.70}, {5.45, 5.55, 5.60}, {5.40, 5.40, 5.35}, {5.45, 5.50, 5.35},
    {5.25, 5.15, 5.00}, {5.85, 5.80, 5.70}, {5.25, 5.20, 5.10}, {5.65, 5.55, 5.45},
    {5.60, 5.35, 5.45}, {5.05, 5.00, 4.95}, {5.50, 5.50, 5.40}, {5.45, 5.55, 5.50},
    {5.55, 5.55, 5.35}, {5.45, 5.50, 5.55}, {5.50, 5.45, 5.25}, {5.65, 5.60, 5.40},
    {5.70, 5.65, 5.55}, {6.30, 6.30, 6.25}};

Test(friedman, rounding_times)
{
    double rank[22 * 3];

    for (int r = 0; r < 22; r++) emp_rank_all(&rank[3 * r], rounding[r], 3);
    emp_friedman_test test = emp_friedman(rank, 22, 3);
    cr_expect_float_eq(test.statistic, 11.143, 0.0005, "%g", test.statistic);
    cr_expect_float_eq(test.p, 0.003805, 0.0000005, "%g", test.p);
}

Test(friedman, equal_ranks_say_nothing)
{
    const double rank[] = {1.5, 1.5, 1.5, 1.5}, one[] = {1, 2};

    cr_expect(isnan(emp_friedman(rank, 2, 2).p));
    cr_expect(isnan(emp_friedman(one, 1, 2).p));
}
