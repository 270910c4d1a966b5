// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/lstm.h"

#include "policy/nn/blas.h"
#include "policy/nn/vmath_internal.h"

EMP_KERNEL static void cell_forward(emp_real *restrict gates, emp_real *restrict c,
                                    emp_real *restrict h,
                                    const emp_real *restrict c_previous, int64_t H)
{
#pragma omp simd
    for (int64_t j = 0; j < H; j++) {
        emp_real i = emp_sigmoid(gates[j]), f = emp_sigmoid(gates[H + j]);
        emp_real o = emp_sigmoid(gates[2 * H + j]), g = emp_tanh(gates[3 * H + j]);
        c[j] = f * c_previous[j] + i * g;
        h[j] = o * emp_tanh(c[j]);
        gates[j] = i;
        gates[H + j] = f;
        gates[2 * H + j] = o;
        gates[3 * H + j] = g;
    }
}

EMP_KERNEL static void cell_backward(emp_real *restrict gates, emp_real *restrict dc,
                                     const emp_real *restrict dh,
                                     const emp_real *restrict c,
                                     const emp_real *restrict c_previous, int64_t H)
{
#pragma omp simd
    for (int64_t j = 0; j < H; j++) {
        emp_real i = gates[j], f = gates[H + j], o = gates[2 * H + j];
        emp_real g = gates[3 * H + j], s = emp_tanh(c[j]);
        emp_real d = dc[j] + dh[j] * o * (1 - s * s);
        gates[j] = d * g * i * (1 - i);
        gates[H + j] = d * c_previous[j] * f * (1 - f);
        gates[2 * H + j] = dh[j] * s * o * (1 - o);
        gates[3 * H + j] = d * i * (1 - g * g);
        dc[j] = d * f;
    }
}

void emp_lstm_cell_forward(emp_real *gates, emp_real *c, emp_real *h,
                           const emp_real *c_previous, int32_t H)
{
    cell_forward(gates, c, h, c_previous, H);
}

void emp_lstm_cell_backward(emp_real *gates, emp_real *dc, const emp_real *dh,
                            const emp_real *c, const emp_real *c_previous, int32_t H)
{
    cell_backward(gates, dc, dh, c, c_previous, H);
}

void emp_lstm_forward(emp_real *gates, emp_real *c, emp_real *h, int64_t h_stride,
                      const emp_panels *recurrent, int32_t T, int32_t H, bool reverse)
{
    int64_t ahead = reverse ? -1 : 1, t = reverse ? T - 1 : 0;

    for (int64_t s = 0; s < T; s++, t += ahead) {
        emp_real *z = &gates[t * 4 * H];
        if (s > 0) emp_panels_multiply(recurrent, z, 0, &h[(t - ahead) * h_stride], 0, 1);
        cell_forward(z, &c[(s + 1) * H], &h[t * h_stride], &c[s * H], H);
    }
}

void emp_lstm_backward(emp_real *gates, emp_real *dh, int64_t h_stride, emp_real *dc,
                       const emp_real *c, const emp_panels *recurrent_t, int32_t T,
                       int32_t H, bool reverse)
{
    int64_t ahead = reverse ? -1 : 1, t = reverse ? 0 : T - 1;

    for (int64_t s = T - 1; s >= 0; s--, t -= ahead) {
        emp_real *z = &gates[t * 4 * H];
        cell_backward(z, dc, &dh[t * h_stride], &c[(s + 1) * H], &c[s * H], H);
        if (s > 0) {
            emp_panels_multiply(recurrent_t, &dh[(t - ahead) * h_stride], 0, z, 0, 1);
        }
    }
}

void emp_lstm_recurrent_gradient(emp_real *dw, const emp_real *h, int64_t h_stride,
                                 const emp_real *dz, int32_t T, int32_t H, bool reverse)
{
    const emp_real *h_before = reverse ? h + h_stride : h;
    const emp_real *dz_after = reverse ? dz : dz + (int64_t)4 * H;

    if (T < 2) return;
    emp_blas_gemm(true, false, H, 4 * H, T - 1, h_before, (int32_t)h_stride, dz_after,
                  4 * H, 1, dw, 4 * H);
}
