// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/layers/layer_norm.h"

#include <math.h>

#include "policy/nn/flush.h"

static const emp_real EPSILON = (emp_real)1e-5;

static emp_real inverse_root(emp_real variance)
{
#ifdef EMP_REAL_DOUBLE
    return 1 / sqrt(variance + EPSILON);
#else
    return 1 / sqrtf(variance + EPSILON);
#endif
}

EMP_KERNEL static emp_real sum_of(const emp_real *x, int64_t K)
{
    emp_real sum = 0;

#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < K; i++) sum += x[i];
    return sum;
}

EMP_KERNEL static emp_real sum_of_deviations(const emp_real *x, emp_real mean, int64_t K)
{
    emp_real sum = 0;

#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < K; i++) sum += (x[i] - mean) * (x[i] - mean);
    return sum;
}

EMP_KERNEL static void normalize(emp_real *y, emp_real *normal, const emp_real *x,
                                 emp_real mean, emp_real inverse, const emp_real *gain,
                                 const emp_real *shift, int64_t K)
{
#pragma omp simd
    for (int64_t i = 0; i < K; i++) {
        emp_real n = (x[i] - mean) * inverse;
        normal[i] = n;
        y[i] = gain[i] * n + shift[i];
    }
}

void emp_layer_norm_forward(emp_real *y, emp_real *normal, emp_real *inverse,
                            const emp_real *x, const emp_real *gain,
                            const emp_real *shift, int32_t B, int32_t K, int32_t threads)
{
#pragma omp parallel for num_threads(threads)
    for (int64_t r = 0; r < B; r++) {
        unsigned saved = emp_flush_begin();
        emp_real mean = sum_of(&x[r * K], K) / (emp_real)K;
        inverse[r] = inverse_root(sum_of_deviations(&x[r * K], mean, K) / (emp_real)K);
        normalize(&y[r * K], &normal[r * K], &x[r * K], mean, inverse[r], gain, shift, K);
        emp_flush_end(saved);
    }
}

EMP_KERNEL static void add_to_sum(emp_real *dgain, emp_real *dshift, const emp_real *dy,
                                  const emp_real *normal, int64_t K)
{
#pragma omp simd
    for (int64_t i = 0; i < K; i++) {
        dgain[i] += dy[i] * normal[i];
        dshift[i] += dy[i];
    }
}

EMP_KERNEL static void row_backward(emp_real *dx, const emp_real *dy,
                                    const emp_real *normal, emp_real inverse,
                                    const emp_real *gain, int64_t K)
{
    emp_real sum = 0, dot = 0;

#pragma omp simd reduction(+ : sum, dot)
    for (int64_t i = 0; i < K; i++) {
        sum += gain[i] * dy[i];
        dot += gain[i] * dy[i] * normal[i];
    }
    sum /= (emp_real)K;
    dot /= (emp_real)K;
#pragma omp simd
    for (int64_t i = 0; i < K; i++)
        dx[i] = inverse * (gain[i] * dy[i] - sum - normal[i] * dot);
}

void emp_layer_norm_backward(emp_real *dx, emp_real *dgain, emp_real *dshift,
                             const emp_real *dy, const emp_real *normal,
                             const emp_real *inverse, const emp_real *gain, int32_t B,
                             int32_t K, int32_t threads)
{
    for (int64_t r = 0; r < B; r++)
        add_to_sum(dgain, dshift, &dy[r * K], &normal[r * K], K);
#pragma omp parallel for num_threads(threads)
    for (int64_t r = 0; r < B; r++) {
        unsigned saved = emp_flush_begin();
        row_backward(&dx[r * K], &dy[r * K], &normal[r * K], inverse[r], gain, K);
        emp_flush_end(saved);
    }
}
