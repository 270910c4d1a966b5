// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/recurrent/gru.h"

#include "policy/nn/vmath.h"

EMP_KERNEL static void gru_cell_forward(emp_real *restrict gates, emp_real *restrict next,
                                        const emp_real *restrict u,
                                        const emp_real *restrict h, int64_t H)
{
#pragma omp simd
    for (int64_t j = 0; j < H; j++) {
        emp_real r = emp_sigmoid(gates[j] + u[j]);
        emp_real z = emp_sigmoid(gates[H + j] + u[H + j]);
        emp_real n = emp_tanh(gates[2 * H + j] + r * u[2 * H + j]);
        next[j] = n + z * (h[j] - n);
        gates[j] = r;
        gates[H + j] = z;
        gates[2 * H + j] = n;
    }
}

EMP_KERNEL static void gru_cell_backward(emp_real *restrict gates, emp_real *restrict u,
                                         emp_real *restrict dh,
                                         const emp_real *restrict h, int64_t H)
{
#pragma omp simd
    for (int64_t j = 0; j < H; j++) {
        emp_real r = gates[j], z = gates[H + j], n = gates[2 * H + j];
        emp_real dn = dh[j] * (1 - z) * (1 - n * n);
        emp_real dz = dh[j] * (h[j] - n) * z * (1 - z);
        emp_real dr = dn * u[2 * H + j] * r * (1 - r);
        gates[j] = dr;
        gates[H + j] = dz;
        gates[2 * H + j] = dn;
        u[j] = dr;
        u[H + j] = dz;
        u[2 * H + j] = dn * r;
        dh[j] *= z;
    }
}

void emp_gru_forward(emp_real *gates, emp_real *next, const emp_real *u,
                     const emp_real *h, int32_t B, int32_t H)
{
    for (int64_t b = 0; b < B; b++)
        gru_cell_forward(&gates[b * 3 * H], &next[b * H], &u[b * 3 * H], &h[b * H], H);
}

void emp_gru_backward(emp_real *gates, emp_real *u, emp_real *dh, const emp_real *h,
                      int32_t B, int32_t H)
{
    for (int64_t b = 0; b < B; b++)
        gru_cell_backward(&gates[b * 3 * H], &u[b * 3 * H], &dh[b * H], &h[b * H], H);
}
