/** \file bench/trials/statistics.h
 * What a comparison of methods says of few, far from normal numbers: intervals of a median and of
 * a mean ratio, a paired test and its correction for many tests, ranks and what is said of them.
 *
 * Values may be infinite (nothing that fits in memory was found), never NaN unless a function
 * says so. Nothing is drawn but from a stated seed: equal inputs give equal bits.
 */
#ifndef EMP_BENCH_TRIALS_STATISTICS_H
#define EMP_BENCH_TRIALS_STATISTICS_H

#include <stdint.h>

#include "base/error.h"

enum {
    EMP_BOOTSTRAP_RESAMPLES = 2000,
    EMP_BOOTSTRAP_VALUES = 128, /**< at most */
    EMP_FRIEDMAN_LEAST =
        11, /**< rankings, for its approximation (Demsar, section 3.2.2) */
    EMP_INTERVAL_LEAST =
        6, /**< values that an interval of a median needs to be less than their range */
    EMP_WILCOXON_EXACT = 50 /**< differences up to which the test is exact */
};

/** All NaN without values. */
typedef struct {
    double median, low, high;
} emp_interval;

/** The median with its 95 % percentile bootstrap interval (Efron, Ann. Statist. 7(1), 1979):
 * the middle 95 % of the medians of resamples with replacement. With one value the interval
 * is that value, and with fewer than EMP_INTERVAL_LEAST it is their range. Ends are medians that occurred, never interpolated.
 * \a values: 0 .. EMP_BOOTSTRAP_VALUES of them. O(resamples (count log count)). */
emp_interval emp_median_interval(const double *values, int32_t count, uint64_t seed);

/** All NaN without values. */
typedef struct {
    double mean, low, high;
} emp_ratio;

/** log(a / b); 0 where both are infinite. Neither is negative. */
double emp_log_ratio(double a, double b);

/** The geometric mean of ratios, exp(mean of \a log_ratio), with its 95 % percentile bootstrap
 * interval. Infinite ratios make the mean infinite; NaN where a resample has ratios of 0 and of
 * infinity. \a log_ratio: 0 .. EMP_BOOTSTRAP_VALUES of them. O(resamples (count + log resamples)). */
emp_ratio emp_ratio_interval(const double *log_ratio, int32_t count, uint64_t seed);

/** Ranks from 1, the lowest first; equal values share the mean of theirs. O(count^2). */
void emp_rank_all(double *rank, const double *value, int32_t count);

/** Two-sided p of Wilcoxon's signed-rank test (Biometrics Bulletin 1(6), 1945) that
 * differences are symmetric around 0. Differences of 0 are dropped, equal sizes share their
 * mean rank. Exact up to EMP_WILCOXON_EXACT differences that remain, given the ranks that they have; else
 * by the normal approximation with corrections for ties and continuity. 1 if all are 0, NaN
 * without any. O(n^3) when exact, else O(n^2).
 * \retval EMP_ENOMEM */
emp_status emp_wilcoxon(double *p, const double *difference, int32_t count,
                        emp_error *err);

/** The fewest differences of which the smallest p that the test can give stays below \a level
 * when \a tests of its kind are corrected for: 2 / 2^n tests < level. */
int32_t emp_wilcoxon_least(int32_t tests, double level);

/** Holm's step-down correction (Scand. J. Statist. 6(2), 1979): corrected values below 0.05
 * may be called different, with a chance of 5 % at most that any is called so wrongly. NaN,
 * no test, stays and does not count. O(count^3). */
void emp_holm(double *corrected, const double *p, int32_t count);

/** NaN with fewer than two rankings, or when all ranks are equal. */
typedef struct {
    double statistic, p; /**< chi-squared of count - 1 degrees of freedom */
    double f,
        f_p; /**< by Iman and Davenport, Commun. Statist. A 9(6), 1980: less conservative;
                        infinity and 0 when all rankings agree */
} emp_friedman_test;

/** Friedman's test (J. Amer. Statist. Assoc. 32, 1937), corrected for ties, of \a rows
 * rankings of the same \a count things: rank[row][thing] of emp_rank_all(). Both p are
 * approximations that EMP_FRIEDMAN_LEAST rows make good. O(rows count). */
emp_friedman_test emp_friedman(const double *rank, int32_t rows, int32_t count);

/** Nemenyi's critical difference (Demsar, J. Mach. Learn. Res. 7, 2006, section 3.2.2): two of
 * \a count things whose mean ranks over \a rows rankings are farther apart differ, with a chance
 * of \a level that any two are called different wrongly. The quantile of the studentized range is
 * integrated here. 2 things or more, NaN otherwise. */
double emp_nemenyi_difference(int32_t count, int32_t rows, double level);

#endif /* EMP_BENCH_TRIALS_STATISTICS_H */
