// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/speed/limit.h"

#include <math.h>

#include "base/mem.h"
#include "base/work.h"
#include "policy/nn/products.h"

/* The best of some repetitions of a few milliseconds each. */
enum { SIZE = 1024, REPEATS = 7 };

static const double STREAMED_BYTES = 64e6;

/* CPU time where there is one thread: other work on the machine does not count. */
static double now_s(int32_t threads)
{
    return threads > 1 ? emp_clock_now_s() : emp_clock_thread_s();
}

static emp_status gemm_rate(double *flops_per_s, int32_t threads, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     area = (size_t)SIZE * SIZE;
    emp_real  *matrix = EMP_NEW_ARRAY(emp_real, (size_t)(2 + threads) * area);
    double     best_s = INFINITY;

    if (matrix == NULL) EMP_FAIL(EMP_ENOMEM, "matrices of %d rows", SIZE);
    for (size_t i = 0; i < 2 * area; i++) matrix[i] = (emp_real)(i % 7);
    for (int r = 0; r < REPEATS; r++) {
        double start_s = now_s(threads);
#pragma omp parallel for num_threads(threads)
        for (int32_t t = 0; t < threads; t++)
            emp_blas_gemm(false, false, SIZE, SIZE, SIZE, matrix, SIZE, matrix + area,
                          SIZE, 0, matrix + (size_t)(2 + t) * area, SIZE);
        best_s = fmin(best_s, now_s(threads) - start_s);
    }
    *flops_per_s = 2.0 * SIZE * SIZE * SIZE * threads / best_s;

cleanup:
    emp_free(matrix);
    return st;
}

/* Four vectors of sums, so that loads do not wait for additions. */
EMP_KERNEL static float add_up(const float *x, int64_t count)
{
    typedef float vec __attribute__((vector_size(64), aligned(4), may_alias));
    vec           sum[4] = {{0}};
    float         all = 0;

    for (int64_t i = 0; i + 64 <= count; i += 64) {
        for (int v = 0; v < 4; v++) sum[v] += *(const vec *)&x[i + 16 * v];
    }
    for (int v = 0; v < 4; v++) {
        for (int l = 0; l < 16; l++) all += sum[v][l];
    }
    return all;
}

/* Over and over, each pass from where the last one ended: what is still near is used. */
static float sweep(const float *x, int64_t count, int64_t passes)
{
    enum { BLOCK = 8192 };
    int64_t blocks = count / BLOCK;
    float   sum = 0;

    for (int64_t p = 0; p < passes; p++) {
        for (int64_t b = 0; b < blocks; b++)
            sum += add_up(&x[(p % 2 == 0 ? b : blocks - 1 - b) * BLOCK], BLOCK);
    }
    return sum;
}

static emp_status stream_time(double *pass_s, double weights, int32_t threads,
                              emp_error *err)
{
    emp_status st = EMP_OK;
    int64_t    part = (int64_t)(weights / threads / 8192 + 1) * 8192;
    int64_t    passes = 2 + (int64_t)(STREAMED_BYTES / (4.0 * (double)part));
    float     *x = EMP_NEW_ARRAY(float, (size_t)(part * threads));
    double     best_s = INFINITY;
    float      sum = 0;

    if (x == NULL) EMP_FAIL(EMP_ENOMEM, "a stream of %g numbers", weights);
    for (int64_t i = 0; i < part * threads; i++) x[i] = 1;
    for (int r = 0; r < REPEATS; r++) {
        double start_s = now_s(threads);
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
        for (int32_t t = 0; t < threads; t++) sum += sweep(x + t * part, part, passes);
        best_s = fmin(best_s, now_s(threads) - start_s);
    }
    if (!(sum > 0)) EMP_FAIL(EMP_EEXTERNAL, "the sum of ones is %g", (double)sum);
    *pass_s = best_s / (double)passes * weights / (double)(part * threads);

cleanup:
    emp_free(x);
    return st;
}

emp_status emp_limit_measure(double *limit_s, const emp_stand_work *work, int32_t threads,
                             emp_error *err)
{
    double flops_per_s = 0, pass_s = 0;

    EMP_CHECK(gemm_rate(&flops_per_s, threads, err));
    *limit_s = work->large_flops / flops_per_s;
    for (int i = 0; i < 2; i++) {
        double weights = work->stream[i].weights;
        if (weights == 0) continue;
        EMP_CHECK(stream_time(&pass_s, weights, threads, err));
        *limit_s += work->stream[i].passes *
                    fmax(pass_s, 2 * weights * work->stream[i].rows / flops_per_s);
    }
    return EMP_OK;
}
