// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/activation.h"

#include "policy/nn/vmath_internal.h"

EMP_KERNEL static void relu(emp_real *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] = x[i] > 0 ? x[i] : 0;
}

EMP_KERNEL static void relu_backward(emp_real *dy, const emp_real *y, int64_t count)
{
    for (int64_t i = 0; i < count; i++) dy[i] = y[i] > 0 ? dy[i] : 0;
}

EMP_KERNEL static void tanh_all(emp_real *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] = emp_tanh(x[i]);
}

EMP_KERNEL static void tanh_backward(emp_real *dy, const emp_real *y, int64_t count)
{
    for (int64_t i = 0; i < count; i++) dy[i] *= 1 - y[i] * y[i];
}

void emp_activation_forward(emp_activation f, emp_real *x, int64_t count)
{
    if (f == EMP_ACTIVATION_RELU)
        relu(x, count);
    else
        tanh_all(x, count);
}

void emp_activation_backward(emp_activation f, emp_real *dy, const emp_real *y,
                             int64_t count)
{
    if (f == EMP_ACTIVATION_RELU)
        relu_backward(dy, y, count);
    else
        tanh_backward(dy, y, count);
}
