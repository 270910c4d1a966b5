// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/attention.h"

#include "policy/nn/categorical.h"
#include "policy/nn/vmath_internal.h"

EMP_KERNEL static void score(emp_real *restrict e, const emp_real *restrict q,
                             const emp_real *restrict m, const emp_real *restrict v,
                             int64_t S, int64_t A)
{
    for (int64_t s = 0; s < S; s++, m += A) {
        emp_real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < A; j++) sum += v[j] * emp_tanh(q[j] + m[j]);
        e[s] = sum;
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

/* de_s = a_s (m_s . dcontext - sum_r a_r m_r . dcontext). */
EMP_KERNEL static void score_gradient(emp_real *restrict de,
                                      const emp_real *restrict dcontext,
                                      const emp_real *restrict a,
                                      const emp_real *restrict m, int64_t S, int64_t A)
{
    emp_real mean = 0;

    for (int64_t s = 0; s < S; s++, m += A) {
        emp_real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < A; j++) sum += m[j] * dcontext[j];
        de[s] = sum;
        mean += a[s] * sum;
    }
    for (int64_t s = 0; s < S; s++) de[s] = a[s] * (de[s] - mean);
}

/* u = de_s (1 - tanh^2): dm_s += v u + a_s dcontext, w += u (then dq = v w), and
 * dv += de_s tanh. */
EMP_KERNEL static void spread(emp_real *restrict w, emp_real *restrict dm,
                              emp_real *restrict dv, const emp_real *restrict de,
                              const emp_real *restrict dcontext,
                              const emp_real *restrict a, const emp_real *restrict q,
                              const emp_real *restrict m, const emp_real *restrict v,
                              int64_t S, int64_t A)
{
    for (int64_t s = 0; s < S; s++, m += A, dm += A) {
#pragma omp simd
        for (int64_t j = 0; j < A; j++) {
            emp_real t = emp_tanh(q[j] + m[j]);
            emp_real u = de[s] * (1 - t * t);
            w[j] += u;
            dm[j] += v[j] * u + a[s] * dcontext[j];
            dv[j] += de[s] * t;
        }
    }
}

void emp_attention_forward(emp_real *weights, emp_real *context, const emp_real *query,
                           const emp_real *memory, const emp_real *v, int32_t S,
                           int32_t A)
{
    score(weights, query, memory, v, S, A);
    emp_categorical_softmax(weights, S);
    mix(context, weights, memory, S, A);
}

void emp_attention_backward(emp_real *dquery, emp_real *dmemory, emp_real *dv,
                            const emp_real *dcontext, const emp_real *weights,
                            const emp_real *query, const emp_real *memory,
                            const emp_real *v, int32_t S, int32_t A, emp_real *scratch)
{
    emp_real *de = scratch, *w = scratch + S;

    score_gradient(de, dcontext, weights, memory, S, A);
    for (int32_t j = 0; j < A; j++) w[j] = 0;
    spread(w, dmemory, dv, de, dcontext, weights, query, memory, v, S, A);
    for (int32_t j = 0; j < A; j++) dquery[j] += v[j] * w[j];
}
