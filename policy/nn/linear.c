// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/linear.h"

#include <string.h>

#include "policy/nn/products.h"
#include "policy/nn/vmath.h"

EMP_KERNEL static void add_row(emp_real *y, const emp_real *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) y[i] += x[i];
}

void emp_vector_add(emp_real *y, const emp_real *x, int64_t count)
{
    add_row(y, x, count);
}

EMP_KERNEL static void add_multiple(emp_real *y, const emp_real *x, emp_real factor,
                                    int64_t count)
{
    for (int64_t i = 0; i < count; i++) y[i] += factor * x[i];
}

void emp_vector_add_scaled(emp_real *y, const emp_real *x, emp_real factor, int64_t count)
{
    add_multiple(y, x, factor, count);
}

void emp_linear_forward(emp_real *y, const emp_real *x, const emp_real *w,
                        const emp_real *b, int32_t B, int32_t C, int32_t K,
                        int32_t threads)
{
    if (emp_tall_suits(B, C, K) &&
        emp_tall_multiply(y, b, 0, x, w, false, B, C, K, threads))
        return;
    if (b != NULL) {
        for (int64_t n = 0; n < B; n++) memcpy(&y[n * K], b, (size_t)K * sizeof *y);
    }
    emp_blas_gemm_shared(false, false, B, K, C, x, C, w, K, b != NULL, y, K, threads);
}

void emp_linear_backward(emp_real *dx, emp_real *dw, emp_real *db, const emp_real *dy,
                         const emp_real *x, const emp_real *w, int32_t B, int32_t C,
                         int32_t K, int32_t threads)
{
    if (dx != NULL)
        emp_blas_gemm_shared(false, true, B, C, K, dy, K, w, K, 0, dx, C, threads);
    emp_blas_gemm_shared(true, false, C, K, B, x, C, dy, K, 1, dw, K, threads);
    if (db != NULL) emp_outer_add_rows(db, dy, K, K, B);
}

void emp_embedding_forward(emp_real *y, const emp_real *e, const int32_t *index,
                           int32_t B, int32_t K)
{
    for (int64_t n = 0; n < B; n++) add_row(&y[n * K], &e[(int64_t)index[n] * K], K);
}

void emp_embedding_backward(emp_real *de, const emp_real *dy, const int32_t *index,
                            int32_t B, int32_t K)
{
    for (int64_t n = 0; n < B; n++) add_row(&de[(int64_t)index[n] * K], &dy[n * K], K);
}

/* ---- activations ------------------------------------------------------------------- */

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

static const emp_real LEAK = (emp_real)0.1;

EMP_KERNEL static void leaky(emp_real *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] = x[i] > 0 ? x[i] : LEAK * x[i];
}

EMP_KERNEL static void leaky_backward(emp_real *dy, const emp_real *y, int64_t count)
{
    for (int64_t i = 0; i < count; i++) dy[i] = y[i] > 0 ? dy[i] : LEAK * dy[i];
}

void emp_activation_forward(emp_activation f, emp_real *x, int64_t count)
{
    switch (f) {
    case EMP_ACTIVATION_RELU: relu(x, count); break;
    case EMP_ACTIVATION_TANH: tanh_all(x, count); break;
    case EMP_ACTIVATION_LEAKY: leaky(x, count); break;
    }
}

void emp_activation_backward(emp_activation f, emp_real *dy, const emp_real *y,
                             int64_t count)
{
    switch (f) {
    case EMP_ACTIVATION_RELU: relu_backward(dy, y, count); break;
    case EMP_ACTIVATION_TANH: tanh_backward(dy, y, count); break;
    case EMP_ACTIVATION_LEAKY: leaky_backward(dy, y, count); break;
    }
}
