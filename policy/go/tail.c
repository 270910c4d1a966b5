// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/go/net.h"

#include <string.h>

#include "policy/nn/categorical.h"
#include "policy/nn/layers.h"
#include "policy/nn/products.h"

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

/* For one layer: value or gradient of a parameter by its place in the layer. */
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
    emp_real     *sum = work->dsum;

    emp_linear_forward(l->qkv, x, value(p, first, EMP_LAYER_QKV), NULL, N, W, 3 * W,
                       threads);
    if (emp_stop_is_set(work->stop)) return;
    emp_dot_attention_forward(&work->attention, l->mix, l->normalizers, l->qkv);
    if (emp_stop_is_set(work->stop)) return;
    emp_linear_forward(sum, l->mix, value(p, first, EMP_LAYER_MIX),
                       value(p, first, EMP_LAYER_MIX_BIAS), N, W, W, threads);
    emp_layer_norm_forward(l->middle, l->unit1, l->inverse1, sum, x,
                           value(p, first, EMP_LAYER_GAIN_1),
                           value(p, first, EMP_LAYER_BIAS_1), N, W, threads);
    emp_linear_forward(l->hidden, l->middle, value(p, first, EMP_LAYER_WIDEN),
                       value(p, first, EMP_LAYER_WIDEN_BIAS), N, W, F, threads);
    emp_activation_forward(EMP_ACTIVATION_RELU, l->hidden, (int64_t)N * F);
    if (emp_stop_is_set(work->stop)) return;
    emp_linear_forward(sum, l->hidden, value(p, first, EMP_LAYER_NARROW),
                       value(p, first, EMP_LAYER_NARROW_BIAS), N, F, W, threads);
    emp_layer_norm_forward(l->out, l->unit2, l->inverse2, sum, l->middle,
                           value(p, first, EMP_LAYER_GAIN_2),
                           value(p, first, EMP_LAYER_BIAS_2), N, W, threads);
}

/* Keys and values get what they did as memory. That reaches the weights, not the input. */
static void add_memory(emp_real *dqkv, const emp_real *dmemory, int64_t rows, int64_t W)
{
    for (int64_t n = 0; n < rows; n++)
        emp_vector_add(&dqkv[n * 3 * W + W], &dmemory[n * 2 * W], 2 * W);
}

/* From the gradient of a, in work->dsum, to the gradient of x. */
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

/* Slices: what tasks share, then of each task. */
enum { MAP, MAP_BIAS, LAYER, SHARED_SLICES = LAYER + EMP_LAYER_SLICES };
enum { DECISION, GAIN, SHIFT, HEAD, HEAD_BIAS, TASK_SLICES };
_Static_assert((int)EMP_TAIL_MAX_SLICES ==
                   (int)SHARED_SLICES + (int)EMP_TAIL_MAX_TASKS * (int)TASK_SLICES,
               "slices of the largest tail");

static int32_t task_slice(const emp_tail *t, int32_t task, int32_t slice)
{
    return t->first + SHARED_SLICES + task * TASK_SLICES + slice;
}

static int32_t choices_before(const emp_tail *t, int32_t task)
{
    return task == 0 ? t->first_choices : t->task[task - 1].choices;
}

/* ---- parameters ---- */

int32_t emp_tail_slice_count(const emp_tail *t)
{
    return t->count == 0 ? 0 : SHARED_SLICES + t->count * TASK_SLICES;
}

void emp_tail_slices(const emp_tail *t, emp_param_slice *slices, int32_t W,
                     int32_t hidden)
{
    if (t->count == 0) return;
    slices[MAP] = (emp_param_slice){"task map", W, W, 0};
    slices[MAP_BIAS] = (emp_param_slice){"task map bias", 1, W, 0};
    emp_segment_layer_slices(&slices[LAYER], W, hidden);
    for (int32_t k = 0; k < t->count; k++) {
        emp_param_slice *own = &slices[SHARED_SLICES + k * TASK_SLICES];
        const int32_t    A = t->task[k].choices;
        own[DECISION] = (emp_param_slice){"decision before", choices_before(t, k), W, 0};
        own[GAIN] = (emp_param_slice){"task gain", 1, W, 0};
        own[SHIFT] = (emp_param_slice){"task shift", 1, W, 0};
        own[HEAD] = (emp_param_slice){"task head", W, A, 0};
        own[HEAD_BIAS] = (emp_param_slice){"task head bias", 1, A, 0};
    }
}

void emp_tail_randomize(const emp_tail *t, emp_params *params, double head_gain,
                        emp_rng *rng)
{
    if (t->count == 0) return;
    emp_params_glorot(params, t->first + MAP, 1.0, rng);
    emp_segment_layer_randomize(params, t->first + LAYER, rng);
    for (int32_t k = 0; k < t->count; k++) {
        const int32_t gain = task_slice(t, k, GAIN);
        emp_params_glorot(params, task_slice(t, k, DECISION), 1.0, rng);
        emp_params_glorot(params, task_slice(t, k, HEAD), head_gain, rng);
        for (int32_t i = 0; i < params->slice[gain].cols; i++)
            emp_params_value(params, gain)[i] = 1;
    }
}

void emp_tail_allocate(emp_tail *t, const emp_segment_work *work, emp_arrays *arrays)
{
    const size_t rows = (size_t)work->attention.rows;
    const size_t all = rows * (size_t)work->attention.width;
    int32_t      most = t->first_choices;

    if (t->count == 0) return;
    for (int32_t k = 0; k < t->count; k++) {
        emp_tail_task *task = &t->task[k];
        const size_t   choices = rows * (size_t)task->choices;
        most = task->choices > most ? task->choices : most;
        task->p = EMP_ADD_ARRAY(arrays, emp_real, choices);
        task->d_logits = EMP_ADD_ARRAY(arrays, emp_real, choices);
        task->u = EMP_ADD_ARRAY(arrays, emp_real, all);
        task->z = EMP_ADD_ARRAY(arrays, emp_real, all);
        task->unit = EMP_ADD_ARRAY(arrays, emp_real, all);
        task->inverse = EMP_ADD_ARRAY(arrays, emp_real, rows);
        task->dz = EMP_ADD_ARRAY(arrays, emp_real, all);
        emp_segment_layer_allocate(&task->layer, work, arrays);
    }
    t->dp = EMP_ADD_ARRAY(arrays, emp_real, rows * (size_t)most);
    t->rest = EMP_ADD_ARRAY(arrays, emp_real, all);
}

/* ---- passes ---- */

static const emp_real *rows_before(const emp_tail *t, int32_t task, const emp_real *z)
{
    return task == 0 ? z : t->task[task - 1].z;
}

static const emp_real *decisions_before(const emp_tail *t, int32_t task,
                                        const emp_real *p)
{
    return task == 0 ? p : t->task[task - 1].p;
}

static double decide(const emp_tail *t, const emp_segment_work *work,
                     const emp_params *params, int32_t k, const emp_real *z,
                     const emp_real *p)
{
    const emp_tail_task *task = &t->task[k];
    const int32_t        N = work->attention.rows, W = work->attention.width;
    const int32_t        threads = work->attention.threads, before = choices_before(t, k);

    emp_linear_forward(task->u, z, emp_params_value(params, t->first + MAP),
                       emp_params_value(params, t->first + MAP_BIAS), N, W, W, threads);
    emp_blas_gemm_shared(false, false, N, W, before, p, before,
                         emp_params_value(params, task_slice(t, k, DECISION)), W, 1,
                         task->u, W, threads);
    emp_segment_layer_forward(&task->layer, work, params, t->first + LAYER, task->u);
    emp_layer_norm_forward(task->z, task->unit, task->inverse, task->layer.out, z,
                           emp_params_value(params, task_slice(t, k, GAIN)),
                           emp_params_value(params, task_slice(t, k, SHIFT)), N, W,
                           threads);
    emp_linear_forward(task->p, task->z, emp_params_value(params, task_slice(t, k, HEAD)),
                       emp_params_value(params, task_slice(t, k, HEAD_BIAS)), N, W,
                       task->choices, threads);
    return emp_categorical_softmax_rows(task->p, task->choices, N, task->choices) / N;
}

double emp_tail_forward(const emp_tail *t, const emp_segment_work *work,
                        const emp_params *params, const emp_real *z, const emp_real *p)
{
    double entropy = 0.0;

    for (int32_t k = 0; k < t->count; k++)
        entropy +=
            decide(t, work, params, k, rows_before(t, k, z), decisions_before(t, k, p));
    return entropy;
}

/* From gradients by probabilities to those by logits. */
static void add_logits(emp_real *d_logits, const emp_real *dp, const emp_real *p,
                       int32_t rows, int32_t choices)
{
    for (int64_t first = 0; first < (int64_t)rows * choices; first += choices) {
        double mean = 0.0;
        for (int64_t i = first; i < first + choices; i++)
            mean += (double)p[i] * (double)dp[i];
        for (int64_t i = first; i < first + choices; i++)
            d_logits[i] += (emp_real)((double)p[i] * ((double)dp[i] - mean));
    }
}

/* Adds to dz and d_logits of the task before. */
static void task_backward(const emp_tail *t, const emp_segment_work *work,
                          const emp_params *params, int32_t k, emp_real *dz,
                          emp_real *d_logits, const emp_real *z, const emp_real *p)
{
    const emp_tail_task *task = &t->task[k];
    const int32_t        N = work->attention.rows, W = work->attention.width;
    const int32_t        threads = work->attention.threads, before = choices_before(t, k);
    const int32_t        head = task_slice(t, k, HEAD), gain = task_slice(t, k, GAIN);
    const int32_t        decision = task_slice(t, k, DECISION), map = t->first + MAP;
    emp_real            *du = task->dz;

    emp_linear_backward(t->rest, emp_params_gradient(params, head),
                        emp_params_gradient(params, task_slice(t, k, HEAD_BIAS)),
                        task->d_logits, task->z, emp_params_value(params, head), N, W,
                        task->choices, threads);
    emp_vector_add(task->dz, t->rest, (int64_t)N * W);
    emp_layer_norm_backward(task->dz, emp_params_gradient(params, gain),
                            emp_params_gradient(params, task_slice(t, k, SHIFT)),
                            task->dz, task->unit, task->inverse,
                            emp_params_value(params, gain), N, W, threads);
    emp_vector_add(dz, task->dz, (int64_t)N * W);
    emp_segment_layer_backward(&task->layer, work, params, t->first + LAYER, du, task->dz,
                               task->u);
    emp_linear_backward(t->rest, emp_params_gradient(params, map),
                        emp_params_gradient(params, t->first + MAP_BIAS), du, z,
                        emp_params_value(params, map), N, W, W, threads);
    emp_vector_add(dz, t->rest, (int64_t)N * W);
    emp_linear_backward(t->dp, emp_params_gradient(params, decision), NULL, du, p,
                        emp_params_value(params, decision), N, before, W, threads);
    add_logits(d_logits, t->dp, p, N, before);
}

void emp_tail_backward(const emp_tail *t, const emp_segment_work *work,
                       const emp_params *params, emp_real *dz, emp_real *d_logits,
                       const emp_real *z, const emp_real *p)
{
    const size_t bytes =
        (size_t)work->attention.rows * (size_t)work->attention.width * sizeof *dz;

    memset(dz, 0, bytes);
    for (int32_t k = 0; k < t->count; k++) memset(t->task[k].dz, 0, bytes);
    for (int32_t k = t->count - 1; k >= 0; k--)
        task_backward(t, work, params, k, k == 0 ? dz : t->task[k - 1].dz,
                      k == 0 ? d_logits : t->task[k - 1].d_logits, rows_before(t, k, z),
                      decisions_before(t, k, p));
}
