/** \file bench/compare/statistics.h
 * What a comparison of methods says of few, far from normal numbers: an interval of a median,
 * a paired test, its correction for many tests, ranks.
 *
 * Values may be infinite (nothing that fits in memory was found), never NaN unless a function
 * says so. Nothing is drawn but from a stated seed: equal inputs give equal bits.
 */
#ifndef EMP_BENCH_COMPARE_STATISTICS_H
#define EMP_BENCH_COMPARE_STATISTICS_H

#include <stdint.h>

#include "base/error.h"

enum {
    EMP_BOOTSTRAP_RESAMPLES = 2000,
    EMP_BOOTSTRAP_VALUES = 100, /**< at most */
    EMP_WILCOXON_EXACT = 50     /**< differences up to which the test is exact */
};

/** All NaN without values. */
typedef struct {
    double median, low, high;
} emp_interval;

/** The median with its 95 % percentile bootstrap interval (Efron, Ann. Statist. 7(1), 1979):
 * the middle 95 % of the medians of resamples with replacement. With one value the interval
 * is that value: it says nothing. Ends are medians that occurred, never interpolated.
 * \a values: 0 .. EMP_BOOTSTRAP_VALUES of them. O(resamples (count log count)). */
emp_interval emp_median_interval(const double *values, int32_t count, uint64_t seed);

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

/** Holm's step-down correction (Scand. J. Statist. 6(2), 1979): corrected values below 0.05
 * may be called different, with a chance of 5 % at most that any is called so wrongly. NaN,
 * no test, stays and does not count. O(count^3). */
void emp_holm(double *corrected, const double *p, int32_t count);

/** NaN with fewer than two rankings, or when all ranks are equal. */
typedef struct {
    double statistic, p;
} emp_friedman_test;

/** Friedman's test (J. Amer. Statist. Assoc. 32, 1937), corrected for ties, of \a rows
 * rankings of the same \a count things: rank[row][thing] of emp_rank_all(). The statistic
 * has count - 1 degrees of freedom. O(rows count). */
emp_friedman_test emp_friedman(const double *rank, int32_t rows, int32_t count);

#endif /* EMP_BENCH_COMPARE_STATISTICS_H */
