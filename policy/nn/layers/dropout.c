// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/layers/dropout.h"

#include "policy/nn/linear.h"

static emp_real scale_of(double rate) { return (emp_real)(1.0 / (1.0 - rate)); }

void emp_relu_dropout_forward(emp_real *x, int64_t count, double rate, emp_rng *rng)
{
    const uint32_t limit = (uint32_t)(rate * 4294967296.0);
    const emp_real scale = scale_of(rate);

    emp_activation_forward(EMP_ACTIVATION_RELU, x, count);
    if (!(rate > 0.0)) return;
    for (int64_t i = 0; i < count; i++)
        x[i] = emp_rng_u32(rng) < limit ? 0 : scale * x[i];
}

EMP_KERNEL static void scale_kept(emp_real *x, int64_t count, emp_real factor)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++) x[i] *= factor;
}

void emp_relu_dropout_backward(emp_real *dy, const emp_real *y, int64_t count,
                               double rate)
{
    emp_activation_backward(EMP_ACTIVATION_RELU, dy, y, count);
    if (rate > 0.0) scale_kept(dy, count, scale_of(rate));
}
