// SPDX-License-Identifier: GPL-3.0-or-later
/* Are intervals, tests and ranks those of the books, of other people's programs, and of
 * brute force? */
#include <gsl/gsl_cdf.h>

#include "base/rng.h"
#include "bench/trials/statistics.h"
#include "tests/test.h"

/* A resample's median is the lowest of n values when most draws are: of 5 with a chance of
 * 5.8 %, of 7 with 1.0 %, and of 7 the lowest two with 11 %. So 2.5 % lies at the lowest of
 * 5 and at the second of 7. Infinite values are the largest. */
Test(interval, ends_are_where_the_bootstrap_distribution_has_them)
{
    static const struct {
        int32_t count;
        double  value[7], low, median, high;
    } cases[] = {{7, {4, 1, 3, 7, 2, 6, 5}, 2, 4, 6},
                 {5, {4, 1, 3, 7, 2}, 1, 3, 7},
                 {1, {4}, 4, 4, 4},
                 {2, {4, 1}, 1, 2.5, 4},
                 {5, {INFINITY, 1, 2, INFINITY, 3}, 1, 3, INFINITY},
                 {3, {INFINITY, 1, INFINITY}, 1, INFINITY, INFINITY}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int again = 0; again < 2; again++) { /* a seed gives the same bits */
            emp_interval at = emp_median_interval(cases[i].value, cases[i].count, 1);
            cr_expect(at.low == cases[i].low && at.median == cases[i].median &&
                          at.high == cases[i].high,
                      "case %zu: %g in %g .. %g", i, at.median, at.low, at.high);
        }
    cr_expect(isnan(emp_median_interval(cases[0].value, 0, 1).median));
}

Test(interval, of_few_values_is_their_range)
{
    static const double value[EMP_INTERVAL_LEAST] = {1, 2, 3, 4, 5, 6};

    for (int32_t n = 1; n <= EMP_INTERVAL_LEAST; n++) {
        const emp_interval at = emp_median_interval(value, n, 1);
        cr_expect_eq(at.low == value[0] && at.high == value[n - 1],
                     n < EMP_INTERVAL_LEAST, "%d values: %g .. %g", n, at.low, at.high);
    }
}

Test(ratio, is_the_geometric_mean_in_its_interval)
{
    const double logs[] = {0, log(2), log(4), 0, log(8)};
    const double some[10] = {0, INFINITY}, both[] = {-INFINITY, INFINITY, 0};
    emp_ratio    ratio = emp_ratio_interval(logs, 5, 1);

    cr_expect_float_eq(ratio.mean, pow(64, 1 / 5.0), 1e-12);
    cr_expect(1 <= ratio.low && ratio.low < ratio.mean && ratio.mean < ratio.high &&
              ratio.high <= 8);
    cr_expect(isnan(emp_ratio_interval(logs, 0, 1).mean));
    ratio = emp_ratio_interval(some, 10, 1);
    cr_expect(ratio.mean == INFINITY && ratio.low == 1 && ratio.high == INFINITY);
    cr_expect(isnan(emp_ratio_interval(both, 3, 1).mean));
}

/* With n logs that are 1 or 0, the number of ones in a resample is binomial. */
Test(ratio, ends_are_where_the_bootstrap_distribution_has_them)
{
    enum { N = 24, ONES = 9 };
    double   logs[N] = {0};
    unsigned low = 0, high = 0;

    for (int i = 0; i < ONES; i++) logs[i] = 1;
    while (gsl_cdf_binomial_P(low, (double)ONES / N, N) < 0.025) low++;
    while (gsl_cdf_binomial_P(high, (double)ONES / N, N) < 0.975) high++;
    emp_ratio ratio = emp_ratio_interval(logs, N, 1);
    cr_expect_float_eq(log(ratio.mean), (double)ONES / N, 1e-12);
    cr_expect_float_eq(log(ratio.low) * N, low, 1 + 1e-9, "%g", log(ratio.low) * N);
    cr_expect_float_eq(log(ratio.high) * N, high, 1 + 1e-9, "%g", log(ratio.high) * N);
}

Test(rank, equal_values_share_their_mean)
{
    const double value[] = {3, 1, 3, INFINITY, INFINITY};
    const double expected[] = {2.5, 1, 2.5, 4.5, 4.5};
    double       rank[5];

    emp_rank_all(rank, value, 5);
    for (int i = 0; i < 5; i++) cr_expect_eq(rank[i], expected[i], "rank %d", i);
}

static double wilcoxon(const double *difference, int32_t count)
{
    double p = -1;

    ASSERT_OK(emp_wilcoxon(&p, difference, count, &err));
    return p;
}

/* Hollander and Wolfe, Nonparametric Statistical Methods, 1973, 29f: depression before and after; R's
 * wilcox.test() says V = 40, p = 0.03906. 25 sets of the ranks 1 .. 10 sum up to 8 or less: the critical
 * value of the tables. Zeros are dropped, and infinite differences are the largest. */
Test(wilcoxon, published_and_closed_forms)
{
    static const struct {
        const char *what;
        int32_t     count;
        double      difference[10], p;
    } cases[] = {{"depression",
                  9,
                  {1.83 - 0.878, 0.50 - 0.647, 1.62 - 0.598, 2.48 - 2.05, 1.68 - 1.06,
                   1.88 - 1.29, 1.55 - 1.06, 3.06 - 3.14, 1.30 - 1.29},
                  0.0390625},
                 {"tables", 10, {1, 2, 3, 4, 5, 6, 7, -8, 9, 10}, 2 * 25 / 1024.0},
                 {"five are never significant", 7, {0, 1, 2, 3, 0, 4, 5}, 2 / 32.0},
                 {"infinite ones", 3, {INFINITY, -1, INFINITY}, 2 * 2 / 8.0},
                 {"no differences", 3, {0, 0, 0}, 1.0}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_float_eq(wilcoxon(cases[i].difference, cases[i].count), cases[i].p,
                           1e-15, "%s", cases[i].what);
    cr_expect(isnan(wilcoxon(cases[0].difference, 0)));
}

/* Demsar, 2006, Table 2: areas of C4.5 with and without a parameter, of which two do not differ.
 * The article's sums, 93 and 12, share the ranks of these two out; here they are dropped. */
Test(wilcoxon, demsars_example)
{
    const double difference[] = {5, -8, 17, 33, 6, -5, 7, 0, 63, 0, 22, 47, 9, 21};
    double       ranks_below = 1.5 + 5, p = wilcoxon(difference, 14);

    cr_expect_float_eq(ranks_below + 1.5 + 2 * 2, 12, 1e-12, "as in the article");
    cr_expect_lt(p, 0.05, "the article's verdict");
    cr_expect_gt(p, 2 / 4096.0);
}

/* 6 differences are enough for one test, 7 for 3: 2 / 2^6 = 0.03, 3 * 2 / 2^7 = 0.047. */
Test(wilcoxon, least_number_of_differences)
{
    cr_expect_eq(emp_wilcoxon_least(1, 0.05), 6);
    cr_expect_eq(emp_wilcoxon_least(3, 0.05), 7);
    cr_expect_eq(emp_wilcoxon_least(19, 0.05), 10);
    for (int32_t tests = 1; tests < 64; tests++) {
        int32_t n = emp_wilcoxon_least(tests, 0.05);
        double  difference[16], p[64], corrected[64];
        for (int32_t i = 0; i < n; i++) difference[i] = i + 1;
        for (int32_t i = 0; i < tests; i++) p[i] = wilcoxon(difference, n);
        emp_holm(corrected, p, tests);
        cr_expect_lt(corrected[0], 0.05, "%d tests", tests);
        for (int32_t i = 0; i < tests; i++) p[i] = wilcoxon(difference, n - 1);
        emp_holm(corrected, p, tests);
        cr_expect_geq(corrected[0], 0.05, "%d tests", tests);
    }
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

Test(holm, steps_down_and_keeps_equal_values_equal)
{
    static const double cases[][2][5] = {
        {{0.01, 0.04, NAN, 0.03, 0.005}, {0.03, 0.06, NAN, 0.06, 0.02}},
        {{0.02, 0.9, 0.02, 0.8, NAN}, {0.08, 1, 0.08, 1, NAN}}};
    double corrected[5];

    for (int c = 0; c < 2; c++) {
        emp_holm(corrected, cases[c][0], 5);
        for (int i = 0; i < 5; i++) {
            const double want = cases[c][1][i];
            cr_expect(isnan(want) ? isnan(corrected[i])
                                  : fabs(corrected[i] - want) < 1e-15,
                      "case %d, %d: %g", c, i, corrected[i]);
        }
    }
}

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

Test(friedman, equal_ranks_say_nothing_and_equal_rankings_all)
{
    const double equal[] = {1.5, 1.5, 1.5, 1.5};
    double       rank[12 * 3];

    cr_expect(isnan(emp_friedman(equal, 2, 2).p));
    cr_expect(isnan(emp_friedman(equal, 1, 2).p) && isnan(emp_friedman(equal, 1, 2).f_p));
    for (int i = 0; i < 36; i++) rank[i] = 1 + i % 3;
    emp_friedman_test test = emp_friedman(rank, 12, 3);
    cr_expect_float_eq(test.statistic, 24, 1e-12, "rows (count - 1)");
    cr_expect_float_eq(test.p, exp(-12), 1e-15, "chi-squared of two degrees");
    cr_expect(test.f == INFINITY && test.f_p == 0);
}

/* Demsar, J. Mach. Learn. Res. 7, 2006, Table 6: areas under the curve of four variants of C4.5 on
 * 14 data sets. Higher is better, so that the values are negated. The article ranks two areas that
 * it prints as 0.975 by digits that it does not print; 0.9751 stands for them. */
enum { SETS = 14, VARIANTS = 4 };
static const double areas[SETS][VARIANTS] = {
    {0.763, 0.768, 0.771, 0.798},  {0.599, 0.591, 0.590, 0.569},
    {0.954, 0.971, 0.968, 0.967},  {0.628, 0.661, 0.654, 0.657},
    {0.882, 0.888, 0.886, 0.898},  {0.936, 0.931, 0.916, 0.931},
    {0.661, 0.668, 0.609, 0.685},  {0.583, 0.583, 0.563, 0.625},
    {0.775, 0.838, 0.866, 0.875},  {1.000, 1.000, 1.000, 1.000},
    {0.940, 0.962, 0.965, 0.962},  {0.619, 0.666, 0.614, 0.669},
    {0.972, 0.981, 0.9751, 0.975}, {0.957, 0.978, 0.946, 0.970}};

static void rank_areas(double rank[SETS * VARIANTS])
{
    for (int s = 0; s < SETS; s++) {
        double value[VARIANTS];
        for (int v = 0; v < VARIANTS; v++) value[v] = -areas[s][v];
        emp_rank_all(&rank[s * VARIANTS], value, VARIANTS);
    }
}

/* The article has mean ranks 3.143, 2.000, 2.893, 1.964, chi-squared 9.28 and F 3.69, neither
 * corrected for ties. There are three pairs and a row of four ties, for which the correction
 * is 1 - (3 (2^3 - 2) + 4^3 - 4) / (14 (4^3 - 4)). */
Test(friedman, demsars_example)
{
    static const double mean_rank[VARIANTS] = {3.143, 2.000, 2.893, 1.964};
    double              rank[SETS * VARIANTS];

    rank_areas(rank);
    for (int v = 0; v < VARIANTS; v++) {
        double sum = 0;
        for (int s = 0; s < SETS; s++) sum += rank[s * VARIANTS + v];
        cr_expect_float_eq(sum / SETS, mean_rank[v], 0.0005, "variant %d", v);
    }
    emp_friedman_test test = emp_friedman(rank, SETS, VARIANTS);
    double            plain = test.statistic * (1 - 78 / 840.0);
    cr_expect_float_eq(plain, 9.28, 0.005, "%g", plain);
    cr_expect_float_eq(13 * plain / (14 * 3 - plain), 3.69, 0.005);
    cr_expect_float_eq(test.f, 13 * test.statistic / (14 * 3 - test.statistic), 1e-12);
    cr_expect_float_eq(test.f_p, gsl_cdf_fdist_Q(test.f, 3, 39), 1e-15);
    /* the article's critical value of F(3, 39) at 0.05 */
    cr_expect_float_eq(gsl_cdf_fdist_Q(2.85, 3, 39), 0.05, 0.0005);
}

/* The exact distribution of four rankings of three, all 6^4 of them: Hollander and Wolfe's table
 * has P(S >= 6.5) = 0.042 and P(S >= 8) = 0.005. */
Test(friedman, statistic_has_the_distribution_of_the_tables)
{
    static const double order[6][3] = {{1, 2, 3}, {1, 3, 2}, {2, 1, 3},
                                       {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
    int                 above_6_5 = 0, above_8 = 0;

    for (int i = 0; i < 1296; i++) {
        double rank[4 * 3];
        for (int r = 0, left = i; r < 4; r++, left /= 6)
            for (int c = 0; c < 3; c++) rank[3 * r + c] = order[left % 6][c];
        double statistic = emp_friedman(rank, 4, 3).statistic;
        above_6_5 += statistic >= 6.5 - 1e-9;
        above_8 += statistic >= 8 - 1e-9;
    }
    cr_expect_float_eq(above_6_5 / 1296.0, 0.042, 0.0005);
    cr_expect_float_eq(above_8 / 1296.0, 0.005, 0.0005);
}

static void shuffle(double *rank, int32_t count, emp_rng *rng)
{
    for (int32_t i = count - 1; i > 0; i--) {
        uint32_t j = emp_rng_below(rng, (uint32_t)i + 1);
        double   other = rank[j];
        rank[j] = rank[i];
        rank[i] = other;
    }
}

/* Ties and all: p of Demsar's example as by shuffling its rows. The F of Iman and Davenport is
 * nearer than chi-squared. */
Test(friedman, p_is_that_of_shuffled_rows)
{
    enum { SHUFFLES = 40000 };
    double  rank[SETS * VARIANTS];
    int     as_far = 0;
    emp_rng rng;

    rank_areas(rank);
    emp_rng_init(&rng, 4, 0, 0);
    emp_friedman_test test = emp_friedman(rank, SETS, VARIANTS);
    for (int i = 0; i < SHUFFLES; i++) {
        for (int s = 0; s < SETS; s++) shuffle(&rank[s * VARIANTS], VARIANTS, &rng);
        as_far += emp_friedman(rank, SETS, VARIANTS).statistic >= test.statistic - 1e-9;
    }
    double p = (double)as_far / SHUFFLES;
    cr_expect_float_eq(test.f_p, p, 0.003, "%g, shuffled %g", test.f_p, p);
    cr_expect_float_eq(test.p, p, 0.006, "%g, shuffled %g", test.p, p);
}

/* Demsar, 2006, Table 5 a: critical values of the two-tailed test for 2 to 10 classifiers. The
 * difference of six rows of k is q sqrt(k (k + 1) / 36). */
Test(nemenyi, critical_values_of_the_table)
{
    static const double at_5[] = {1.960, 2.343, 2.569, 2.728, 2.850,
                                  2.949, 3.031, 3.102, 3.164};
    static const double at_10[] = {1.645, 2.052, 2.291, 2.459, 2.589,
                                   2.693, 2.780, 2.855, 2.920};

    for (int k = 2; k <= 10; k++) {
        double scale = sqrt(k * (k + 1.0) / 36);
        /* the table's entries are cut off, not rounded */
        cr_expect_float_eq(emp_nemenyi_difference(k, 6, 0.05) / scale, at_5[k - 2],
                           0.0011, "%d", k);
        cr_expect_float_eq(emp_nemenyi_difference(k, 6, 0.10) / scale, at_10[k - 2],
                           0.0011, "%d", k);
    }
}

/* The range of two values is that of |z| sqrt 2. */
Test(nemenyi, two_by_the_closed_form)
{
    cr_expect_float_eq(emp_nemenyi_difference(2, 24, 0.05),
                       gsl_cdf_ugaussian_Qinv(0.025) * sqrt(6 / (6.0 * 24)), 1e-9);
    cr_expect(isnan(emp_nemenyi_difference(1, 24, 0.05)));
    /* of Demsar's example */
    cr_expect_float_eq(emp_nemenyi_difference(4, 14, 0.05), 1.25, 0.005);
    cr_expect_float_eq(emp_nemenyi_difference(4, 14, 0.10), 1.12, 0.005);
}

/* For 20 normal values, more than the table has, the range is beyond the quantile in 5 % of all
 * draws. */
Test(nemenyi, many_by_drawing)
{
    enum { DRAWS = 40000, MANY = 20 };
    double  q = emp_nemenyi_difference(MANY, 1, 0.05) / sqrt(MANY * (MANY + 1) / 6.0);
    int     beyond = 0;
    emp_rng rng;

    emp_rng_init(&rng, 6, 0, 0);
    for (int i = 0; i < DRAWS; i++) {
        double least = INFINITY, most = -INFINITY;
        for (int k = 0; k < MANY; k++) {
            double value =
                gsl_cdf_ugaussian_Pinv(emp_rng_uniform(&rng) * (1 - 1e-12) + 5e-13);
            least = fmin(least, value);
            most = fmax(most, value);
        }
        beyond += most - least > q * sqrt(2);
    }
    cr_expect_float_eq((double)beyond / DRAWS, 0.05, 0.0035, "%d", beyond);
}
