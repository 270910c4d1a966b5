// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/go/segment_layer.h"

#include "policy/nn/blas.h"
#include "policy/nn/layers/layer_norm.h"
#include "policy/nn/linear.h"

void emp_segment_layer_slices(emp_param_slice *slices, int32_t width, int32_t hidden)
{
    const emp_param_slice all[EMP_LAYER_SLICES] = {
        [EMP_LAYER_QKV] = {"query, key and value", width, 3 * width, 0},
        [EMP_LAYER_MIX] = {"mix", width, width, 0},
        [EMP_LAYER_MIX_BIAS] = {"mix bias", 1, width, 0},
        [EMP_LAYER_GAIN_1] = {"first gain", 1, width, 0},
        [EMP_LAYER_BIAS_1] = {"first bias", 1, width, 0},
        [EMP_LAYER_WIDEN] = {"widen", width, hidden, 0},
        [EMP_LAYER_WIDEN_BIAS] = {"widen bias", 1, hidden, 0},
        [EMP_LAYER_NARROW] = {"narrow", hidden, width, 0},
        [EMP_LAYER_NARROW_BIAS] = {"narrow bias", 1, width, 0},
        [EMP_LAYER_GAIN_2] = {"second gain", 1, width, 0},
        [EMP_LAYER_BIAS_2] = {"second bias", 1, width, 0}};

    for (int32_t i = 0; i < EMP_LAYER_SLICES; i++) slices[i] = all[i];
}

static void set_ones(const emp_params *params, int32_t slice)
{
    emp_real *value = emp_params_value(params, slice);

    for (int32_t i = 0; i < params->slice[slice].cols; i++) value[i] = 1;
}

void emp_segment_layer_randomize(emp_params *params, int32_t first, emp_rng *rng)
{
    static const int32_t weights[] = {EMP_LAYER_QKV, EMP_LAYER_MIX, EMP_LAYER_WIDEN,
                                      EMP_LAYER_NARROW};

    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        emp_params_glorot(params, first + weights[i], 1.0, rng);
    set_ones(params, first + EMP_LAYER_GAIN_1);
    set_ones(params, first + EMP_LAYER_GAIN_2);
}

void emp_segment_layer_allocate(emp_segment_layer *l, const emp_segment_work *work,
                                emp_arrays *arrays)
{
    const size_t rows = (size_t)work->attention.rows;
    const size_t all = rows * (size_t)work->attention.width;

    l->qkv = EMP_ADD_ARRAY(arrays, emp_real, 3 * all);
    l->mix = EMP_ADD_ARRAY(arrays, emp_real, all);
    l->normalizers =
        EMP_ADD_ARRAY(arrays, emp_real, emp_dot_attention_normalizers(&work->attention));
    l->unit1 = EMP_ADD_ARRAY(arrays, emp_real, all);
    l->unit2 = EMP_ADD_ARRAY(arrays, emp_real, all);
    l->inverse1 = EMP_ADD_ARRAY(arrays, emp_real, rows);
    l->inverse2 = EMP_ADD_ARRAY(arrays, emp_real, rows);
    l->middle = EMP_ADD_ARRAY(arrays, emp_real, all);
    l->hidden = EMP_ADD_ARRAY(arrays, emp_real, rows * (size_t)work->hidden);
    l->out = EMP_ADD_ARRAY(arrays, emp_real, all);
}

void emp_segment_work_allocate(emp_segment_work *w, emp_arrays *arrays)
{
    const size_t rows = (size_t)w->attention.rows;
    const size_t all = rows * (size_t)w->attention.width;

    w->wide = EMP_ADD_ARRAY(arrays, emp_real, rows * (size_t)w->hidden);
    w->dqkv = EMP_ADD_ARRAY(arrays, emp_real, 3 * all);
    w->dmemory = EMP_ADD_ARRAY(arrays, emp_real, 2 * all);
    w->dsum = EMP_ADD_ARRAY(arrays, emp_real, all);
    w->attention.scratch =
        EMP_ADD_ARRAY(arrays, emp_real, emp_dot_attention_scratch(&w->attention));
}

/* Of one layer: value or gradient of a parameter by its place in the layer. */
static const emp_real *value(const emp_params *p, int32_t first, int32_t slice)
{
    return emp_params_value(p, first + slice);
}

static emp_real *gradient(const emp_params *p, int32_t first, int32_t slice)
{
    return emp_params_gradient(p, first + slice);
}

void emp_segment_layer_forward(const emp_segment_layer *l, const emp_segment_work *work,
                               const emp_params *p, int32_t first, const emp_real *x)
{
    const int32_t N = work->attention.rows, W = work->attention.width, F = work->hidden;
    const int32_t threads = work->attention.threads;
    const int64_t all = (int64_t)N * W;
    emp_real     *sum = work->dsum;

    emp_linear_forward(l->qkv, x, value(p, first, EMP_LAYER_QKV), NULL, N, W, 3 * W,
                       threads);
    if (emp_stop_is_set(work->stop)) return;
    emp_dot_attention_forward(&work->attention, l->mix, l->normalizers, l->qkv);
    if (emp_stop_is_set(work->stop)) return;
    emp_linear_forward(sum, l->mix, value(p, first, EMP_LAYER_MIX),
                       value(p, first, EMP_LAYER_MIX_BIAS), N, W, W, threads);
    emp_vector_add(sum, x, all);
    emp_layer_norm_forward(l->middle, l->unit1, l->inverse1, sum,
                           value(p, first, EMP_LAYER_GAIN_1),
                           value(p, first, EMP_LAYER_BIAS_1), N, W, threads);
    emp_linear_forward(l->hidden, l->middle, value(p, first, EMP_LAYER_WIDEN),
                       value(p, first, EMP_LAYER_WIDEN_BIAS), N, W, F, threads);
    emp_activation_forward(EMP_ACTIVATION_RELU, l->hidden, (int64_t)N * F);
    if (emp_stop_is_set(work->stop)) return;
    emp_linear_forward(sum, l->hidden, value(p, first, EMP_LAYER_NARROW),
                       value(p, first, EMP_LAYER_NARROW_BIAS), N, F, W, threads);
    emp_vector_add(sum, l->middle, all);
    emp_layer_norm_forward(l->out, l->unit2, l->inverse2, sum,
                           value(p, first, EMP_LAYER_GAIN_2),
                           value(p, first, EMP_LAYER_BIAS_2), N, W, threads);
}

/* Keys and values get what they did as memory. That reaches the weights, not the input. */
static void add_memory(emp_real *dqkv, const emp_real *dmemory, int64_t rows, int64_t W)
{
    for (int64_t n = 0; n < rows; n++)
        emp_vector_add(&dqkv[n * 3 * W + W], &dmemory[n * 2 * W], 2 * W);
}

/* From the gradient of a, in work->dsum, to that of x. */
static void attention_backward(const emp_segment_layer *l, const emp_segment_work *work,
                               const emp_params *p, int32_t first, emp_real *dx,
                               const emp_real *x)
{
    const int32_t N = work->attention.rows, W = work->attention.width;
    const int32_t threads = work->attention.threads;
    emp_real     *dsum = work->dsum, *dmix = dx, *dqkv = work->dqkv;

    emp_layer_norm_backward(
        dsum, gradient(p, first, EMP_LAYER_GAIN_1), gradient(p, first, EMP_LAYER_BIAS_1),
        dsum, l->unit1, l->inverse1, value(p, first, EMP_LAYER_GAIN_1), N, W, threads);
    emp_linear_backward(dmix, gradient(p, first, EMP_LAYER_MIX),
                        gradient(p, first, EMP_LAYER_MIX_BIAS), dsum, l->mix,
                        value(p, first, EMP_LAYER_MIX), N, W, W, threads);
    if (emp_stop_is_set(work->stop)) return;
    emp_dot_attention_backward(&work->attention, dqkv, work->dmemory, dmix, l->mix,
                               l->normalizers, l->qkv);
    if (emp_stop_is_set(work->stop)) return;
    emp_blas_gemm_shared(false, true, N, W, 3 * W, dqkv, 3 * W,
                         value(p, first, EMP_LAYER_QKV), 3 * W, 0, dx, W, threads);
    emp_vector_add(dx, dsum, (int64_t)N * W);
    add_memory(dqkv, work->dmemory, N, W);
    emp_linear_backward(NULL, gradient(p, first, EMP_LAYER_QKV), NULL, dqkv, x, NULL, N,
                        W, 3 * W, threads);
}

void emp_segment_layer_backward(const emp_segment_layer *l, const emp_segment_work *work,
                                const emp_params *p, int32_t first, emp_real *dx,
                                const emp_real *dout, const emp_real *x)
{
    const int32_t N = work->attention.rows, W = work->attention.width, F = work->hidden;
    const int32_t threads = work->attention.threads;
    emp_real     *dsum = work->dsum;

    emp_layer_norm_backward(
        dx, gradient(p, first, EMP_LAYER_GAIN_2), gradient(p, first, EMP_LAYER_BIAS_2),
        dout, l->unit2, l->inverse2, value(p, first, EMP_LAYER_GAIN_2), N, W, threads);
    emp_linear_backward(work->wide, gradient(p, first, EMP_LAYER_NARROW),
                        gradient(p, first, EMP_LAYER_NARROW_BIAS), dx, l->hidden,
                        value(p, first, EMP_LAYER_NARROW), N, F, W, threads);
    if (emp_stop_is_set(work->stop)) return;
    emp_activation_backward(EMP_ACTIVATION_RELU, work->wide, l->hidden, (int64_t)N * F);
    emp_linear_backward(dsum, gradient(p, first, EMP_LAYER_WIDEN),
                        gradient(p, first, EMP_LAYER_WIDEN_BIAS), work->wide, l->middle,
                        value(p, first, EMP_LAYER_WIDEN), N, W, F, threads);
    if (emp_stop_is_set(work->stop)) return;
    emp_vector_add(dsum, dx, (int64_t)N * W);
    attention_backward(l, work, p, first, dx, x);
}
