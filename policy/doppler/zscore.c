// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/doppler/zscore.h"

#include <math.h>

static const double FLOOR = 1e-6;

enum { CHUNK = 32 }; /* columns that are summed side by side */

typedef double sums[CHUNK];

EMP_KERNEL static void column_mean(sums mean, const emp_real *x, int64_t stride,
                                   int32_t B, int32_t K)
{
    for (int32_t k = 0; k < K; k++) mean[k] = 0.0;
    for (int64_t b = 0; b < B; b++)
        for (int32_t k = 0; k < K; k++) mean[k] += (double)x[b * stride + k];
    for (int32_t k = 0; k < K; k++) mean[k] /= B;
}

EMP_KERNEL static void deviation_of(sums deviation, const sums mean, const emp_real *x,
                                    int64_t stride, int32_t B, int32_t K)
{
    for (int32_t k = 0; k < K; k++) deviation[k] = 0.0;
    for (int64_t b = 0; b < B; b++) {
        for (int32_t k = 0; k < K; k++) {
            const double off = (double)x[b * stride + k] - mean[k];
            deviation[k] += off * off;
        }
    }
    for (int32_t k = 0; k < K; k++) deviation[k] = sqrt(deviation[k] / B);
}

EMP_KERNEL static void scale_column(emp_real *x, int64_t stride, const sums mean,
                                    const sums factor, int32_t B, int32_t K)
{
    for (int64_t b = 0; b < B; b++)
        for (int32_t k = 0; k < K; k++)
            x[b * stride + k] =
                (emp_real)(((double)x[b * stride + k] - mean[k]) * factor[k]);
}

static void forward(emp_real *x, int64_t stride, emp_real *deviation, int32_t B,
                    int32_t K)
{
    sums mean, s, factor;

    column_mean(mean, x, stride, B, K);
    deviation_of(s, mean, x, stride, B, K);
    for (int32_t k = 0; k < K; k++) {
        const int is_equal = s[k] <= EMP_ZSCORE_EQUAL;
        factor[k] = is_equal ? 0.0 : 1.0 / (s[k] + FLOOR);
        deviation[k] = is_equal ? 0 : (emp_real)s[k];
    }
    scale_column(x, stride, mean, factor, B, K);
}

void emp_zscore_forward(emp_real *x, int64_t stride, emp_real *deviation, int32_t B,
                        int32_t K)
{
    for (int32_t k = 0; k < K; k += CHUNK)
        forward(x + k, stride, deviation + k, B, K - k < CHUNK ? K - k : CHUNK);
}

EMP_KERNEL static void mean_along(sums mean, const emp_real *dy, const emp_real *y,
                                  int64_t stride, int32_t B, int32_t K)
{
    for (int32_t k = 0; k < K; k++) mean[k] = 0.0;
    for (int64_t b = 0; b < B; b++)
        for (int32_t k = 0; k < K; k++)
            mean[k] += (double)dy[b * stride + k] * (double)y[b * stride + k];
    for (int32_t k = 0; k < K; k++) mean[k] /= B;
}

EMP_KERNEL static void turn(emp_real *dy, const emp_real *y, int64_t stride,
                            const sums mean, const sums factor, const sums along,
                            int32_t B, int32_t K)
{
    for (int64_t b = 0; b < B; b++)
        for (int32_t k = 0; k < K; k++)
            dy[b * stride + k] =
                (emp_real)(((double)dy[b * stride + k] - mean[k]) * factor[k] -
                           (double)y[b * stride + k] * along[k]);
}

/* dx = (dy - mean dy) / (s + 1e-6) - y mean(dy y) / s */
static void backward(emp_real *dy, const emp_real *y, int64_t stride,
                     const emp_real *deviation, int32_t B, int32_t K)
{
    sums mean, along, factor;

    column_mean(mean, dy, stride, B, K);
    mean_along(along, dy, y, stride, B, K);
    for (int32_t k = 0; k < K; k++) {
        const double s = (double)deviation[k];
        factor[k] = s > 0.0 ? 1.0 / (s + FLOOR) : 0.0;
        along[k] = s > 0.0 ? along[k] / s : 0.0;
    }
    turn(dy, y, stride, mean, factor, along, B, K);
}

void emp_zscore_backward(emp_real *dy, const emp_real *y, int64_t stride,
                         const emp_real *deviation, int32_t B, int32_t K)
{
    for (int32_t k = 0; k < K; k += CHUNK)
        backward(dy + k, y + k, stride, deviation + k, B, K - k < CHUNK ? K - k : CHUNK);
}
