// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/layers/gate.h"

#include <string.h>

#include "policy/nn/vmath.h"

EMP_KERNEL static void sigmoid_all(emp_real *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] = emp_sigmoid(x[i]);
}

void emp_sigmoid_forward(emp_real *x, int64_t count) { sigmoid_all(x, count); }

EMP_KERNEL static void sigmoid_gradient(emp_real *restrict dy, const emp_real *restrict y,
                                        int64_t count)
{
    for (int64_t i = 0; i < count; i++) dy[i] *= y[i] * (1 - y[i]);
}

void emp_sigmoid_backward(emp_real *dy, const emp_real *y, int64_t count)
{
    sigmoid_gradient(dy, y, count);
}

EMP_KERNEL static void gate_row(emp_real *y, const emp_real *z, const emp_real *s,
                                int32_t C)
{
    for (int32_t i = 0; i < C; i++) y[i] = 2 * s[i] * z[i];
}

void emp_gate_forward(emp_real *y, const emp_real *z, const emp_real *s,
                      int32_t gate_rows, int32_t B, int32_t C, int32_t threads)
{
#pragma omp parallel for num_threads(threads)
    for (int64_t n = 0; n < B; n++)
        gate_row(&y[n * C], &z[n * C], gate_rows == 1 ? s : &s[n * C], C);
}

EMP_KERNEL static void add_products(emp_real *restrict ds, const emp_real *dy,
                                    const emp_real *z, int32_t C)
{
    for (int32_t i = 0; i < C; i++) ds[i] += 2 * dy[i] * z[i];
}

void emp_gate_backward(emp_real *dz, emp_real *ds, const emp_real *dy, const emp_real *z,
                       const emp_real *s, int32_t gate_rows, int32_t B, int32_t C,
                       int32_t threads)
{
    memset(ds, 0, (size_t)gate_rows * (size_t)C * sizeof *ds);
    for (int64_t n = 0; n < B; n++)
        add_products(gate_rows == 1 ? ds : &ds[n * C], &dy[n * C], &z[n * C], C);
    emp_gate_forward(dz, dy, s, gate_rows, B, C, threads);
}
