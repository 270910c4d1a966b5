// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/categorical.h"

enum { CHUNK = 16 }; /* sampling skips this many entries at a time */

/* Rows that are worked on together, so that one's additions need not wait for each other;
 * and independent sums of each. */
enum { ROWS = 4, LANES = 16 };

__attribute__((always_inline)) static inline emp_real larger(emp_real a, emp_real b)
{
    return a > b ? a : b;
}

/* `half` is a constant after inlining, here and below. */
__attribute__((always_inline)) static inline void add_half(emp_real *lane, const int half)
{
#pragma omp simd
    for (int l = 0; l < half; l++) lane[l] += lane[l + half];
}

__attribute__((always_inline)) static inline emp_real add_lanes(emp_real *lane)
{
    add_half(lane, 8);
    add_half(lane, 4);
    add_half(lane, 2);
    return lane[0] + lane[1];
}

__attribute__((always_inline)) static inline void keep_half(emp_real *lane,
                                                            const int half)
{
#pragma omp simd
    for (int l = 0; l < half; l++) lane[l] = larger(lane[l], lane[l + half]);
}

__attribute__((always_inline)) static inline emp_real largest_lane(emp_real *lane)
{
    keep_half(lane, 8);
    keep_half(lane, 4);
    keep_half(lane, 2);
    return larger(lane[0], lane[1]);
}

/* The largest entry of each row. */
__attribute__((always_inline)) static inline void
find_largest(emp_real *top, const emp_real *x, int64_t stride, int64_t n, const int rows)
{
    emp_real lane[ROWS][LANES];
    int64_t  whole = n / LANES * LANES;

    for (int r = 0; r < rows; r++) {
        for (int l = 0; l < LANES; l++) lane[r][l] = x[r * stride];
    }
    for (int64_t i = 0; i < whole; i += LANES) {
        for (int r = 0; r < rows; r++) {
#pragma omp simd
            for (int l = 0; l < LANES; l++)
                lane[r][l] = larger(lane[r][l], x[r * stride + i + l]);
        }
    }
    for (int r = 0; r < rows; r++) {
        top[r] = largest_lane(lane[r]);
        for (int64_t i = whole; i < n; i++) top[r] = larger(top[r], x[r * stride + i]);
    }
}

/* H = ln Z - sum e^x x / Z with Z = sum e^x, x relative to the largest logit. `rows` is a
 * constant after inlining. */
__attribute__((always_inline)) static inline double
softmax_rows(emp_real *restrict x, int64_t stride, int64_t n, const int rows)
{
    emp_real top[ROWS], sum[ROWS][LANES] = {{0}}, dot[ROWS][LANES] = {{0}};
    int64_t  whole = n / LANES * LANES;
    double   entropy = 0.0, product = 1.0; /* of the Z: one logarithm for all rows */

    find_largest(top, x, stride, n, rows);
    for (int64_t i = 0; i < whole; i += LANES) {
        for (int r = 0; r < rows; r++) {
#pragma omp simd
            for (int l = 0; l < LANES; l++) {
                emp_real below = x[r * stride + i + l] - top[r],
                         e = emp_exp_below_0(below);
                sum[r][l] += e;
                dot[r][l] += e * below;
                x[r * stride + i + l] = e;
            }
        }
    }
    for (int r = 0; r < rows; r++) {
        for (int64_t i = whole; i < n; i++) {
            emp_real below = x[r * stride + i] - top[r], e = emp_exp_below_0(below);
            sum[r][i - whole] += e;
            dot[r][i - whole] += e * below;
            x[r * stride + i] = e;
        }
    }
    for (int r = 0; r < rows; r++) {
        emp_real z = add_lanes(sum[r]), scale = 1 / z;
        for (int64_t i = 0; i < n; i++) x[r * stride + i] *= scale;
        entropy -= (double)add_lanes(dot[r]) / (double)z;
        product *= (double)z;
    }
    return entropy + log(product);
}

EMP_KERNEL static double softmax(emp_real *x, int64_t stride, int64_t rows, int64_t n)
{
    double  entropy = 0.0;
    int64_t r = 0;

    for (; r + ROWS <= rows; r += ROWS)
        entropy += softmax_rows(&x[r * stride], stride, n, ROWS);
    for (; r < rows; r++) entropy += softmax_rows(&x[r * stride], stride, n, 1);
    return entropy;
}

double emp_categorical_softmax(emp_real *row, int32_t count)
{
    return softmax(row, 0, 1, count);
}

double emp_categorical_softmax_rows(emp_real *x, int64_t stride, int32_t rows,
                                    int32_t count)
{
    return softmax(x, stride, rows, count);
}

__attribute__((always_inline)) static inline emp_real sum_chunk(const emp_real *p)
{
    emp_real sum = 0;

#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < CHUNK; i++) sum += p[i];
    return sum;
}

EMP_KERNEL static int32_t sample(const emp_real *p, int32_t count, double u)
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

int32_t emp_categorical_sample(const emp_real *p, int32_t count, double u)
{
    return sample(p, count, u);
}

int32_t emp_categorical_mode(const emp_real *p, int32_t count)
{
    int32_t best = 0;

    for (int32_t i = 1; i < count; i++)
        if (p[i] > p[best]) best = i;
    return best;
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
