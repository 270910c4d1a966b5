// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/trials/statistics.h"

#include <assert.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "run/sheet/sheet.h"

/* ---- intervals ---- */

/* A statistic of the values, which it may sort. */
typedef double (*summary)(double *values, int32_t count);

static double median_of(double *values, int32_t count)
{
    return emp_summary_of(values, (size_t)count).median;
}

static double mean_of(double *values, int32_t count)
{
    double sum = 0;

    for (int32_t i = 0; i < count; i++) sum += values[i];
    return sum / count;
}

static bool has_nan(const double *values, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (isnan(values[i])) return true;
    return false;
}

/* The middle 95 % of what the function says of resamples; NaN if it says so of any. */
static void resample(double *low, double *high, summary of, const double *values,
                     int32_t count, uint64_t seed)
{
    enum { LOW = EMP_BOOTSTRAP_RESAMPLES / 40, HIGH = EMP_BOOTSTRAP_RESAMPLES - 1 - LOW };
    double  sample[EMP_BOOTSTRAP_VALUES], result[EMP_BOOTSTRAP_RESAMPLES];
    emp_rng rng;

    assert(count <= EMP_BOOTSTRAP_VALUES);
    *low = *high = NAN;
    emp_rng_init(&rng, seed, 0, 0);
    for (int32_t r = 0; r < EMP_BOOTSTRAP_RESAMPLES; r++) {
        for (int32_t i = 0; i < count; i++)
            sample[i] = values[emp_rng_below(&rng, (uint32_t)count)];
        result[r] = of(sample, count);
    }
    if (has_nan(result, EMP_BOOTSTRAP_RESAMPLES)) return;
    gsl_sort(result, 1, EMP_BOOTSTRAP_RESAMPLES);
    *low = result[LOW];
    *high = result[HIGH];
}

emp_interval emp_median_interval(const double *values, int32_t count, uint64_t seed)
{
    double       sorted[EMP_BOOTSTRAP_VALUES];
    emp_interval interval = {NAN, NAN, NAN};

    if (count == 0) return interval;
    resample(&interval.low, &interval.high, median_of, values, count, seed);
    memcpy(sorted, values, (size_t)count * sizeof *values);
    interval.median = median_of(sorted, count);
    return interval;
}

double emp_log_ratio(double a, double b)
{
    if (isinf(a) || isinf(b)) return isinf(a) == isinf(b) ? 0.0 : isinf(a) ? a : -b;
    return log(a / b);
}

emp_ratio emp_ratio_interval(const double *log_ratio, int32_t count, uint64_t seed)
{
    double    copy[EMP_BOOTSTRAP_VALUES];
    emp_ratio ratio = {NAN, NAN, NAN};

    if (count == 0) return ratio;
    resample(&ratio.low, &ratio.high, mean_of, log_ratio, count, seed);
    memcpy(copy, log_ratio, (size_t)count * sizeof *log_ratio);
    return (emp_ratio){exp(mean_of(copy, count)), exp(ratio.low), exp(ratio.high)};
}

/* ---- ranks ---- */

void emp_rank_all(double *rank, const double *value, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        int32_t lower = 0, equal = 0; /* itself included */
        for (int32_t j = 0; j < count; j++) {
            lower += value[j] < value[i];
            equal += value[j] == value[i];
        }
        rank[i] = lower + (equal + 1) / 2.0;
    }
}

/* ---- Wilcoxon's test ---- */

/* P(sum of the ranks of positive differences <= w) under all 2^n signs. Ranks are halves at
 * most, so that twice a rank counts sums: ways[s] of reaching twice a sum of s. */
static emp_status exact_lower_tail(double *p, const double *rank, int32_t n, double w,
                                   emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    last = n * (n + 1), reached = 0;
    double    *ways = EMP_NEW_ARRAY(double, (size_t)last + 1), below = 0;

    if (ways == NULL) EMP_FAIL(EMP_ENOMEM, "sums of %d ranks", n);
    ways[0] = 1.0;
    for (int32_t i = 0; i < n; i++) {
        int32_t twice = (int32_t)lround(2 * rank[i]);
        for (int32_t s = reached; s >= 0; s--) ways[s + twice] += ways[s];
        reached += twice;
    }
    for (int32_t s = 0; s <= (int32_t)lround(2 * w); s++) below += ways[s];
    *p = ldexp(below, -n);

cleanup:
    emp_free(ways);
    return st;
}

/* E(W) = n (n + 1) / 4, Var(W) = sum of squared ranks / 4, which has the correction for
 * ties in it. */
static double normal_lower_tail(const double *rank, int32_t n, double w)
{
    double mean = n * (n + 1.0) / 4, variance = 0;

    for (int32_t i = 0; i < n; i++) variance += rank[i] * rank[i] / 4;
    return gsl_cdf_ugaussian_P((w - mean + 0.5) / sqrt(variance));
}

/* Sizes of differences that are not 0, those above 0 first; sets the number of either. */
static void sort_differences(double *size, const double *difference, int32_t count,
                             int32_t *above, int32_t *n)
{
    *n = 0;
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int32_t i = 0; i < count; i++)
            if (sign * difference[i] > 0) size[(*n)++] = fabs(difference[i]);
        if (sign > 0) *above = *n;
    }
}

emp_status emp_wilcoxon(double *p, const double *difference, int32_t count,
                        emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    n = 0, above = 0;
    double    *size = EMP_NEW_ARRAY(double, 2 * (size_t)count);
    double     sum_above = 0, lower = 0;

    if (size == NULL) EMP_FAIL(EMP_ENOMEM, "%d differences", count);
    double *rank = size + count;
    sort_differences(size, difference, count, &above, &n);
    *p = count > 0 ? 1.0 : NAN;
    if (n == 0) goto cleanup;
    emp_rank_all(rank, size, n);
    for (int32_t i = 0; i < above; i++) sum_above += rank[i];
    /* The distribution is symmetric: the smaller of both sums has the smaller tail. */
    double w = fmin(sum_above, n * (n + 1.0) / 2 - sum_above);
    if (n <= EMP_WILCOXON_EXACT)
        EMP_TRY(exact_lower_tail(&lower, rank, n, w, err));
    else
        lower = normal_lower_tail(rank, n, w);
    *p = fmin(1.0, 2 * lower);

cleanup:
    emp_free(size);
    return st;
}

int32_t emp_wilcoxon_least(int32_t tests, double level)
{
    int32_t n = 1;

    while (!(ldexp(2.0 * tests, -n) < level)) n++;
    return n;
}

/* ---- many tests ---- */

/* How many tests remain when the test of this p comes up: those whose p is no less. */
static int32_t count_remaining(const double *p, int32_t count, double value)
{
    int32_t remaining = 0;

    for (int32_t i = 0; i < count; i++) remaining += p[i] >= value;
    return remaining;
}

void emp_holm(double *corrected, const double *p, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        corrected[i] = isnan(p[i]) ? NAN : 0.0;
        for (int32_t j = 0; j < count; j++) { /* p does not fall from test to test */
            if (p[j] <= p[i])
                corrected[i] = fmax(corrected[i], p[j] * count_remaining(p, count, p[j]));
        }
        if (corrected[i] > 1) corrected[i] = 1;
    }
}

/* ---- rankings ---- */

emp_friedman_test emp_friedman(const double *rank, int32_t rows, int32_t count)
{
    const double mean = (count + 1) / 2.0;
    double       between = 0, within = 0;

    for (int32_t c = 0; c < count; c++) {
        double sum = 0;
        for (int32_t r = 0; r < rows; r++) {
            double deviation = rank[r * count + c] - mean;
            sum += deviation;
            within += deviation * deviation;
        }
        between += sum * sum;
    }
    if (rows < 2 || !(within > 0)) return (emp_friedman_test){NAN, NAN, NAN, NAN};
    double degrees = count - 1.0, statistic = degrees * between / within;
    double left =
        rows * degrees - statistic; /* 0 up to rounding when all rankings agree */
    bool   agree = left <= 1e-12 * rows * degrees;
    double f = agree ? INFINITY : (rows - 1) * statistic / left;
    return (emp_friedman_test){
        .statistic = statistic,
        .p = gsl_cdf_chisq_Q(statistic, degrees),
        .f = f,
        .f_p = agree ? 0 : gsl_cdf_fdist_Q(f, degrees, degrees * (rows - 1))};
}

/* P(range of that many standard normal values <= q)
 *   = count int phi(z) (Phi(z) - Phi(z - q))^(count - 1) dz, z the largest. Simpson's rule. */
static double range_distribution(double q, int32_t count)
{
    enum { STEPS = 2000 };
    const double from = -8, to = 8 + q, step = (to - from) / STEPS;
    double       sum = 0;

    for (int i = 0; i <= STEPS; i++) {
        double z = from + i * step, weight = i == 0 || i == STEPS ? 1
                                             : i % 2 == 1         ? 4
                                                                  : 2;
        double between = gsl_cdf_ugaussian_P(z) - gsl_cdf_ugaussian_P(z - q);
        sum += weight * gsl_ran_ugaussian_pdf(z) * pow(between, count - 1);
    }
    return count * sum * step / 3;
}

double emp_nemenyi_difference(int32_t count, int32_t rows, double level)
{
    double low = 0, high = 20;

    if (count < 2 || rows < 1) return NAN;
    for (int i = 0; i < 50; i++) { /* to the last bits of a double */
        double middle = (low + high) / 2;
        if (range_distribution(middle, count) < 1 - level)
            low = middle;
        else
            high = middle;
    }
    return low / sqrt(2) * sqrt(count * (count + 1.0) / (6.0 * rows));
}
