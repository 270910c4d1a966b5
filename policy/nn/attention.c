// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/attention.h"

#include "policy/nn/categorical.h"
#include "policy/nn/products.h"
#include "policy/nn/threads.h"
#include "policy/nn/vmath.h"

/* The product of two of them is at most infinite, never 0 times infinity. */
static const emp_real LARGEST = 43;

EMP_KERNEL static void exp_all(emp_real *restrict y, const emp_real *restrict x,
                               int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        emp_real c = x[i] < -LARGEST ? -LARGEST : x[i] > LARGEST ? LARGEST : x[i];
        y[i] = emp_exp(2 * c);
    }
}

void emp_attention_exp(emp_real *y, const emp_real *x, int64_t count)
{
    exp_all(y, x, count);
}

/* r = 1 / (1 + e^{2(q + m)}): then tanh = 1 - 2r, and its derivative is 4 r (1 - r). */
static inline emp_real half_of_rest(emp_real q_exp, emp_real m_exp)
{
    const emp_real large = (emp_real)0x1p59; /* the sum of 1 and this is in range */
    emp_real       x = q_exp * m_exp;

    return emp_reciprocal(1 + (x < large ? x : large));
}

/* Rows of the memory that share the loads of a query. */
enum { ROWS = 4 };

/* Adds to e of `rows` rows (a constant after inlining), A apart. */
__attribute__((always_inline)) static inline void
score_rows(emp_real *restrict e, const emp_real *restrict q_exp,
           const emp_real *restrict m_exp, const emp_real *restrict v, int64_t A,
           int64_t width, const int rows)
{
    emp_real sum[ROWS][16] = {{0}};
    int64_t  vectors = width / 16 * 16;

    for (int64_t j = 0; j < vectors; j += 16) {
        for (int r = 0; r < rows; r++) {
#pragma omp simd
            for (int l = 0; l < 16; l++)
                sum[r][l] +=
                    v[j + l] * (1 - 2 * half_of_rest(q_exp[j + l], m_exp[r * A + j + l]));
        }
    }
    for (int r = 0; r < rows; r++) {
        emp_real all = 0;
        for (int64_t j = vectors; j < width; j++)
            all += v[j] * (1 - 2 * half_of_rest(q_exp[j], m_exp[r * A + j]));
        for (int l = 0; l < 16; l++) all += sum[r][l];
        e[r] += all;
    }
}

EMP_KERNEL static void score(emp_real *e, const emp_real *q_exp, const emp_real *m_exp,
                             const emp_real *v, int64_t A, int64_t width, int64_t count)
{
    int64_t s = 0;

    for (; s + ROWS <= count; s += ROWS)
        score_rows(&e[s], q_exp, &m_exp[s * A], v, A, width, ROWS);
    for (; s < count; s++) score_rows(&e[s], q_exp, &m_exp[s * A], v, A, width, 1);
}

void emp_attention_score(emp_real *e, int64_t e_stride, const emp_real *query,
                         int64_t query_stride, int32_t count, const emp_real *memory_exp,
                         const emp_real *v, int32_t first, int32_t end, int32_t A)
{
    enum { BLOCK = 512 };
    emp_real q_exp[BLOCK];

    for (int64_t n = 0; n < count; n++, e += e_stride, query += query_stride) {
        for (int64_t s = first; s < end; s++) e[s] = 0;
        for (int64_t j = 0; j < A; j += BLOCK) {
            int64_t width = A - j < BLOCK ? A - j : BLOCK;
            exp_all(q_exp, &query[j], width);
            score(&e[first], q_exp, &memory_exp[first * (int64_t)A + j], &v[j], A, width,
                  end - first);
        }
    }
}

EMP_KERNEL static void mix(emp_real *restrict context, const emp_real *restrict a,
                           const emp_real *restrict m, int64_t S, int64_t A)
{
    int64_t s = 0;

    for (int64_t j = 0; j < A; j++) context[j] = 0;
    for (; s + ROWS <= S; s += ROWS, m += ROWS * A) {
        for (int64_t j = 0; j < A; j++) {
            context[j] += a[s] * m[j] + a[s + 1] * m[A + j] + a[s + 2] * m[2 * A + j] +
                          a[s + 3] * m[3 * A + j];
        }
    }
    for (; s < S; s++, m += A) {
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

/* Operations that take as long as one tanh and its gradient. */
enum { ACTIVATION = 16 };

/* With r as above and u = de_s r (1 - r): dm_s += 4 v u, dq = 4 v sum of u, and
 * dv += de_s tanh. For `queries` (a constant after inlining) at a time. */
__attribute__((always_inline)) static inline void
spread(emp_real *restrict query, emp_real *restrict dm, emp_real *restrict dv,
       const emp_real *restrict de, const emp_real *restrict m_exp,
       const emp_real *restrict v, int64_t S, int64_t A, int64_t width, const int queries)
{
    emp_real q_exp[QUERIES][COLUMNS], w[QUERIES][COLUMNS] = {{0}}, sum[COLUMNS] = {0};

    for (int n = 0; n < queries; n++) exp_all(q_exp[n], &query[n * A], width);
    for (int64_t s = 0; s < S; s++, m_exp += A, dm += A) {
#pragma omp simd
        for (int64_t j = 0; j < width; j++) {
            emp_real u_sum = 0, t_sum = 0;
            for (int n = 0; n < queries; n++) {
                emp_real r = half_of_rest(q_exp[n][j], m_exp[j]), d = de[n * S + s] * r;
                emp_real u = d - d * r;
                w[n][j] += u;
                u_sum += u;
                t_sum += de[n * S + s] - 2 * d;
            }
            dm[j] += 4 * v[j] * u_sum;
            sum[j] += t_sum;
        }
    }
    for (int64_t j = 0; j < width; j++) {
        for (int n = 0; n < queries; n++) query[n * A + j] = 4 * v[j] * w[n][j];
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
    int32_t   team = emp_team_size(ACTIVATION * (int64_t)count * S * A, threads);
    emp_real *de = scratch;

    emp_blas_gemm_shared(false, true, count, S, A, past->dcontext, past->dcontext_stride,
                         past->memory, A, 0, de, S, threads);
    emp_blas_gemm_shared(true, false, S, A, count, past->weights, S, past->dcontext,
                         past->dcontext_stride, 1, dmemory, A, threads);
#pragma omp parallel num_threads(team)
    {
        unsigned saved = emp_flush_begin();
#pragma omp for
        for (int64_t n = 0; n < count; n++)
            score_gradient(&de[n * S], &past->weights[n * S], S);
#pragma omp for
        for (int64_t j = 0; j < A; j += COLUMNS) {
            int64_t width = A - j < COLUMNS ? A - j : COLUMNS;
            if (emp_stop_is_set(past->stop)) continue;
            spread_all(query + j, dmemory + j, dv + j, de, past->memory_exp + j,
                       past->v + j, count, S, A, width);
        }
        emp_flush_end(saved);
    }
}
