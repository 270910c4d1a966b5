// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/attention.h"

#include "policy/nn/blas.h"
#include "policy/nn/categorical.h"
#include "policy/nn/flush.h"
#include "policy/nn/vmath_internal.h"

EMP_KERNEL static emp_real score(const emp_real *restrict q, const emp_real *restrict m,
                                 const emp_real *restrict v, int64_t A)
{
    emp_real sum = 0;

#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < A; j++) sum += v[j] * emp_tanh(q[j] + m[j]);
    return sum;
}

void emp_attention_score(emp_real *e, int64_t e_stride, const emp_real *query,
                         int64_t query_stride, int32_t count, const emp_real *memory,
                         const emp_real *v, int32_t first, int32_t end, int32_t A)
{
    for (int64_t s = first; s < end; s++) {
        for (int64_t n = 0; n < count; n++)
            e[n * e_stride + s] = score(&query[n * query_stride], &memory[s * A], v, A);
    }
}

EMP_KERNEL static void mix(emp_real *restrict context, const emp_real *restrict a,
                           const emp_real *restrict m, int64_t S, int64_t A)
{
    for (int64_t j = 0; j < A; j++) context[j] = 0;
    for (int64_t s = 0; s < S; s++, m += A) {
        for (int64_t j = 0; j < A; j++) context[j] += a[s] * m[j];
    }
}

void emp_attention_mix(emp_real *e, emp_real *context, const emp_real *memory, int32_t S,
                       int32_t A)
{
    emp_categorical_softmax(e, S);
    mix(context, e, memory, S, A);
}

/* de_s = a_s (da_s - sum_r a_r da_r), from da in place. */
EMP_KERNEL static void score_gradient(emp_real *restrict de, const emp_real *restrict a,
                                      int64_t S)
{
    emp_real mean = 0;

#pragma omp simd reduction(+ : mean)
    for (int64_t s = 0; s < S; s++) mean += a[s] * de[s];
    for (int64_t s = 0; s < S; s++) de[s] = a[s] * (de[s] - mean);
}

/* Columns and queries that go together: their sums stay in the nearest cache. */
enum { COLUMNS = 64, QUERIES = 4 };

/* u = de_s (1 - tanh^2): dm_s += v u, dv += de_s tanh, and w += u (then dq = v w), for
 * `queries` (a constant after inlining) at a time. */
__attribute__((always_inline)) static inline void
spread(emp_real *restrict query, emp_real *restrict dm, emp_real *restrict dv,
       const emp_real *restrict de, const emp_real *restrict m,
       const emp_real *restrict v, int64_t S, int64_t A, int64_t width, const int queries)
{
    emp_real w[QUERIES][COLUMNS] = {{0}}, sum[COLUMNS] = {0};

    for (int64_t s = 0; s < S; s++, m += A, dm += A) {
#pragma omp simd
        for (int64_t j = 0; j < width; j++) {
            emp_real u_sum = 0, t_sum = 0;
            for (int n = 0; n < queries; n++) {
                emp_real t = emp_tanh(query[n * A + j] + m[j]);
                emp_real u = de[n * S + s] * (1 - t * t);
                w[n][j] += u;
                u_sum += u;
                t_sum += de[n * S + s] * t;
            }
            dm[j] += v[j] * u_sum;
            sum[j] += t_sum;
        }
    }
    for (int64_t j = 0; j < width; j++) {
        for (int n = 0; n < queries; n++) query[n * A + j] = v[j] * w[n][j];
        dv[j] += sum[j];
    }
}

EMP_KERNEL static void spread_all(emp_real *query, emp_real *dm, emp_real *dv,
                                  const emp_real *de, const emp_real *m,
                                  const emp_real *v, int64_t count, int64_t S, int64_t A,
                                  int64_t width)
{
    int64_t n = 0;

    for (; n + QUERIES <= count; n += QUERIES)
        spread(&query[n * A], dm, dv, &de[n * S], m, v, S, A, width, QUERIES);
    for (; n < count; n++)
        spread(&query[n * A], dm, dv, &de[n * S], m, v, S, A, width, 1);
}

void emp_attention_backward(emp_real *query, emp_real *dmemory, emp_real *dv,
                            const emp_attention_past *past, emp_real *scratch,
                            int32_t threads)
{
    int32_t   count = past->count, S = past->S, A = past->A;
    emp_real *de = scratch;

    emp_blas_gemm_shared(false, true, count, S, A, past->dcontext, past->dcontext_stride,
                         past->memory, A, 0, de, S, threads);
    emp_blas_gemm_shared(true, false, S, A, count, past->weights, S, past->dcontext,
                         past->dcontext_stride, 1, dmemory, A, threads);
#pragma omp parallel num_threads(threads)
    {
        unsigned saved = emp_flush_begin();
#pragma omp for
        for (int64_t n = 0; n < count; n++)
            score_gradient(&de[n * S], &past->weights[n * S], S);
#pragma omp for
        for (int64_t j = 0; j < A; j += COLUMNS) {
            int64_t width = A - j < COLUMNS ? A - j : COLUMNS;
            spread_all(query + j, dmemory + j, dv + j, de, past->memory + j, past->v + j,
                       count, S, A, width);
        }
        emp_flush_end(saved);
    }
}
