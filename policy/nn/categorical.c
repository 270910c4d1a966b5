// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/categorical.h"

#include "policy/nn/vmath_internal.h"

enum { CHUNK = 16 }; /* sampling skips this many entries at a time */

/* H = ln Z - sum e^x x / Z with Z = sum e^x, x relative to the largest logit. */
EMP_KERNEL static double softmax(emp_real *restrict x, int64_t n)
{
    emp_real top = x[0], sum = 0, dot = 0;

#pragma omp simd reduction(max : top)
    for (int64_t i = 0; i < n; i++) top = x[i] > top ? x[i] : top;
#pragma omp simd reduction(+ : sum, dot)
    for (int64_t i = 0; i < n; i++) {
        emp_real below = x[i] - top, e = emp_exp(below);
        sum += e;
        dot += e * below;
        x[i] = e;
    }
    emp_real scale = 1 / sum;
    for (int64_t i = 0; i < n; i++) x[i] *= scale;
    return log((double)sum) - (double)dot / (double)sum;
}

double emp_categorical_softmax(emp_real *row, int32_t count)
{
    return softmax(row, count);
}

EMP_KERNEL static emp_real sum_chunk(const emp_real *p)
{
    emp_real sum = 0;

#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < CHUNK; i++) sum += p[i];
    return sum;
}

int32_t emp_categorical_sample(const emp_real *p, int32_t count, double u)
{
    double  left = u;
    int32_t i = 0;

    while (i + CHUNK < count) {
        double sum = (double)sum_chunk(&p[i]);
        if (left < sum) break;
        left -= sum;
        i += CHUNK;
    }
    for (; i < count; i++) {
        if (left < (double)p[i]) return i;
        left -= (double)p[i];
    }
    do i--; /* rounding left a rest: the last index that can happen takes it */
    while (i > 0 && !(p[i] > 0));
    return i;
}

void emp_categorical_score(emp_real *p, int32_t count, int32_t chosen, double weight)
{
    emp_real w = (emp_real)weight;

    for (int32_t i = 0; i < count; i++) p[i] *= -w;
    p[chosen] += w;
}

/* dH / dl_i = -p_i (ln p_i + H). */
void emp_categorical_entropy_gradient(emp_real *dlogits, const emp_real *p, int32_t count,
                                      double weight)
{
    double entropy = 0.0;

    for (int32_t i = 0; i < count; i++) {
        if (p[i] > 0) entropy -= (double)p[i] * log((double)p[i]);
    }
    for (int32_t i = 0; i < count; i++) {
        if (!(p[i] > 0)) continue;
        dlogits[i] -= (emp_real)(weight * (double)p[i] * (log((double)p[i]) + entropy));
    }
}
