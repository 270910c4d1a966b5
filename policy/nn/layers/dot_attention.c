// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/layers/dot_attention.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "policy/nn/blas.h"
#include "policy/nn/categorical.h"
#include "policy/nn/flush.h"

/* What one head of one segment works on. */
typedef struct {
    int32_t  first, count; /* its rows */
    int32_t  memory;       /* rows before them that it sees */
    int32_t  column, size; /* of the head in a row's query */
    emp_real scale;
} head;

static int32_t keys_of(const head *h) { return h->memory + h->count; }

static head head_at(const emp_dot_attention *a, int32_t segment, int32_t number)
{
    int32_t first = segment * a->segment, left = a->rows - first;
    head    h = {.first = first,
                 .count = left < a->segment ? left : a->segment,
                 .memory = a->has_memory && segment > 0 ? a->segment : 0,
                 .size = a->width / a->heads};

    h.column = number * h.size;
    h.scale = (emp_real)(1.0 / sqrt((double)h.size));
    return h;
}

static int32_t segments_of(const emp_dot_attention *a)
{
    return (a->rows + a->segment - 1) / a->segment;
}

static size_t scores_of_thread(const emp_dot_attention *a)
{
    return 2 * (size_t)a->segment * (size_t)a->segment;
}

size_t emp_dot_attention_scratch(const emp_dot_attention *a)
{
    return 2 * scores_of_thread(a) * (size_t)a->threads;
}

EMP_KERNEL static void scale_scores(emp_real *x, int64_t count, emp_real factor)
{
    for (int64_t i = 0; i < count; i++) x[i] *= factor;
}

/* The weights (count, keys) of a head. */
static void attend(const emp_dot_attention *a, const head *h, emp_real *p,
                   const emp_real *qkv)
{
    const int32_t   stride = 3 * a->width, keys = keys_of(h);
    const emp_real *q = &qkv[(int64_t)h->first * stride + h->column];
    const emp_real *k =
        &qkv[(int64_t)(h->first - h->memory) * stride + a->width + h->column];

    emp_blas_gemm(false, true, h->count, keys, h->size, q, stride, k, stride, 0, p, keys);
    scale_scores(p, (int64_t)h->count * keys, h->scale);
    emp_categorical_softmax_rows(p, keys, h->count, keys);
}

static void run_forward(const emp_dot_attention *a, const head *h, emp_real *p,
                        emp_real *out, const emp_real *qkv)
{
    const int32_t   stride = 3 * a->width, keys = keys_of(h);
    const emp_real *v =
        &qkv[(int64_t)(h->first - h->memory) * stride + 2 * a->width + h->column];

    attend(a, h, p, qkv);
    emp_blas_gemm(false, false, h->count, h->size, keys, p, keys, v, stride, 0,
                  &out[(int64_t)h->first * a->width + h->column], a->width);
}

void emp_dot_attention_forward(const emp_dot_attention *a, emp_real *out,
                               const emp_real *qkv)
{
    const int32_t segments = segments_of(a);

#pragma omp parallel for num_threads(a->threads) collapse(2)
    for (int32_t s = 0; s < segments; s++) {
        for (int32_t n = 0; n < a->heads; n++) {
            unsigned  saved = emp_flush_begin();
            head      h = head_at(a, s, n);
            emp_real *p =
                a->scratch + 2 * scores_of_thread(a) * (size_t)omp_get_thread_num();
            run_forward(a, &h, p, out, qkv);
            emp_flush_end(saved);
        }
    }
}

/* dS = P (dP - rowsum(dP P)), times the scale, in place of dP. */
EMP_KERNEL static void softmax_gradient(emp_real *restrict dp, const emp_real *restrict p,
                                        int64_t count, emp_real scale)
{
    emp_real mean = 0;

#pragma omp simd reduction(+ : mean)
    for (int64_t i = 0; i < count; i++) mean += p[i] * dp[i];
    for (int64_t i = 0; i < count; i++) dp[i] = scale * p[i] * (dp[i] - mean);
}

static void run_backward(const emp_dot_attention *a, const head *h, emp_real *p,
                         emp_real *dqkv, emp_real *dmemory, const emp_real *dout,
                         const emp_real *qkv)
{
    const int32_t   stride = 3 * a->width, narrow = 2 * a->width, keys = keys_of(h);
    const int64_t   first = h->first, seen = first - h->memory;
    emp_real       *ds = p + scores_of_thread(a);
    const emp_real *d = &dout[first * a->width + h->column];
    const emp_real *q = &qkv[first * stride + h->column];
    const emp_real *k = &qkv[seen * stride + a->width + h->column];
    const emp_real *v = &qkv[seen * stride + 2 * a->width + h->column];
    emp_real       *dq = &dqkv[first * stride + h->column];

    attend(a, h, p, qkv);
    emp_blas_gemm(false, true, h->count, keys, h->size, d, a->width, v, stride, 0, ds,
                  keys);
    emp_blas_gemm(true, false, h->count, h->size, h->count, p + h->memory, keys, d,
                  a->width, 0, dq + 2 * a->width, stride);
    if (h->memory > 0)
        emp_blas_gemm(true, false, h->memory, h->size, h->count, p, keys, d, a->width, 0,
                      &dmemory[seen * narrow + a->width + h->column], narrow);
    for (int64_t r = 0; r < h->count; r++)
        softmax_gradient(&ds[r * keys], &p[r * keys], keys, h->scale);
    emp_blas_gemm(false, false, h->count, h->size, keys, ds, keys, k, stride, 0, dq,
                  stride);
    emp_blas_gemm(true, false, h->count, h->size, h->count, ds + h->memory, keys, q,
                  stride, 0, dq + a->width, stride);
    if (h->memory > 0)
        emp_blas_gemm(true, false, h->memory, h->size, h->count, ds, keys, q, stride, 0,
                      &dmemory[seen * narrow + h->column], narrow);
}

/* Rows that are nobody's memory. */
static void clear_unseen(const emp_dot_attention *a, emp_real *dmemory)
{
    int64_t first = a->has_memory ? (int64_t)(segments_of(a) - 1) * a->segment : 0;
    int64_t narrow = 2 * (int64_t)a->width;

    memset(&dmemory[first * narrow], 0,
           (size_t)((a->rows - first) * narrow) * sizeof *dmemory);
}

void emp_dot_attention_backward(const emp_dot_attention *a, emp_real *dqkv,
                                emp_real *dmemory, const emp_real *dout,
                                const emp_real *qkv)
{
    const int32_t segments = segments_of(a);

    clear_unseen(a, dmemory);
#pragma omp parallel for num_threads(a->threads) collapse(2)
    for (int32_t s = 0; s < segments; s++) {
        for (int32_t n = 0; n < a->heads; n++) {
            unsigned  saved = emp_flush_begin();
            head      h = head_at(a, s, n);
            emp_real *p =
                a->scratch + 2 * scores_of_thread(a) * (size_t)omp_get_thread_num();
            run_backward(a, &h, p, dqkv, dmemory, dout, qkv);
            emp_flush_end(saved);
        }
    }
}
