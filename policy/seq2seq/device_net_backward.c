// SPDX-License-Identifier: GPL-3.0-or-later
/* The way back through the placer network. Time loops turn activations into gradients of
 * the gates' sums; all gradients of weights follow from those in large products. */
#include <string.h>

#include "policy/nn/blas.h"
#include "policy/nn/categorical.h"
#include "policy/nn/flush.h"
#include "policy/nn/layers/attention.h"
#include "policy/nn/linear.h"
#include "policy/nn/recurrent/lstm.h"
#include "policy/seq2seq/device_net.h"
#include "sim/machine/machine.h"

/* Probabilities become gradients of the logits before tanh:
 *     dl = (w (onehot - p) + entropy term) C (1 - tanh^2) / T. */
static void score_step(emp_device_net *net, int64_t step, double weight, double entropy)
{
    int32_t         D = net->shape.devices;
    emp_real       *p = &net->p[step * D];
    const emp_real *squashed = &net->squashed[step * D];
    emp_real        slope = (emp_real)(net->shape.tanh_constant / net->shape.temperature);
    emp_real        extra[EMP_MAX_DEVICES] = {0};

    if (entropy > 0) emp_categorical_entropy_gradient(extra, p, D, entropy);
    emp_categorical_score(p, D, net->device[step], weight);
    for (int32_t d = 0; d < D; d++) {
        p[d] = (p[d] + extra[d]) * slope * (1 - squashed[d] * squashed[d]);
    }
}

static void score_steps(emp_device_net *net, const double *weight, double entropy_weight,
                        int32_t threads)
{
    int64_t S = net->steps;
    double  entropy = entropy_weight / ((double)net->samples * net->steps);

#pragma omp parallel for num_threads(threads)
    for (int64_t k = 0; k < net->samples; k++) {
        unsigned saved = emp_flush_begin();
        for (int64_t t = 0; t < S; t++) score_step(net, k * S + t, weight[k], entropy);
        emp_flush_end(saved);
    }
}

/* Back through the decoder: outputs and attention of all steps at once, then step by step
 * through the cells. */
static void decode_backward(emp_device_net *net, int32_t threads)
{
    const emp_params    *p = &net->params;
    int32_t              S = net->steps, H = net->shape.hidden, D = net->shape.devices;
    int32_t              rows = net->samples * S;
    const emp_lstm_shape shape = {net->samples, S, H, false, threads};
    size_t               real = sizeof(emp_real);

    emp_blas_gemm_shared(false, true, rows, 2 * H, D, net->p, D,
                         emp_params_value(p, EMP_NET_OUT), D, 0, net->d_output, 2 * H,
                         threads);
    memset(net->d_memory, 0, (size_t)S * (size_t)H * real);
    emp_attention_backward(
        net->query, net->d_memory, emp_params_gradient(p, EMP_NET_ATTENTION_V),
        &(emp_attention_past){.count = rows,
                              .S = S,
                              .A = H,
                              .weights = net->weights,
                              .dcontext = net->d_output + H,
                              .dcontext_stride = 2 * H,
                              .memory = net->memory,
                              .memory_exp = net->memory_exp,
                              .v = emp_params_value(p, EMP_NET_ATTENTION_V),
                              .stop = net->stop},
        net->d_weights, threads);
    if (emp_stop_is_set(net->stop)) return;
    emp_blas_gemm_shared(false, true, rows, H, H, net->query, H,
                         emp_params_value(p, EMP_NET_ATTENTION_QUERY), H, 1,
                         net->d_output, 2 * H, threads);
    memset(net->d_cell, 0, (size_t)net->samples * (size_t)H * real);
    emp_lstm_backward(net->gates, net->d_output, 2 * (int64_t)H, net->d_cell, net->cell,
                      &net->panels.decoder_t, &shape);
    memset(net->d_hidden, 0, (size_t)net->samples * (size_t)H * real);
    emp_panels_multiply(&net->panels.decoder_t, net->d_hidden, H, net->gates,
                        (int64_t)S * 4 * H, net->samples, (emp_panels_pass){0, 1, false});
}

/* sum[i] += part[0][i] + part[1][i] + ..., in that order; parts are `stride` apart. */
static void add_samples(emp_real *sum, const emp_real *part, int64_t count,
                        int64_t stride, int32_t samples)
{
    for (int64_t k = 0; k < samples; k++) {
        for (int64_t i = 0; i < count; i++) sum[i] += part[k * stride + i];
    }
}

static void decoder_gradients(emp_device_net *net, int32_t threads)
{
    const emp_params *p = &net->params;
    int32_t           S = net->steps, H = net->shape.hidden, D = net->shape.devices;
    int32_t           rows = net->samples * S;

    emp_blas_gemm_shared(true, false, 2 * H, D, rows, net->output, 2 * H, net->p, D, 1,
                         emp_params_gradient(p, EMP_NET_OUT), D, threads);
    emp_blas_gemm_shared(true, false, H, H, rows, net->output, 2 * H, net->query, H, 1,
                         emp_params_gradient(p, EMP_NET_ATTENTION_QUERY), H, threads);

    emp_real *d_recurrent = emp_params_gradient(p, EMP_NET_DECODER_RECURRENT);
    memset(net->d_image, 0, (size_t)(D + 1) * 4 * (size_t)H * sizeof(emp_real));
    for (int64_t k = 0; k < net->samples; k++) {
        const emp_real *dz = &net->gates[k * S * 4 * H];
        emp_lstm_recurrent_gradient(d_recurrent, &net->output[k * S * 2 * H],
                                    2 * (int64_t)H, dz, S, H, false, threads);
        emp_embedding_backward(net->d_image, dz + 4 * (int64_t)H, &net->device[k * S],
                               S - 1, 4 * H);
    }
    /* All samples begin with the same state and the same row of the embedding. */
    emp_real *first = &net->d_image[(int64_t)D * 4 * H];
    add_samples(first, net->gates, 4 * H, (int64_t)S * 4 * H, net->samples);
    emp_blas_gemm_shared(true, false, H, 4 * H, 1, &net->states[H], H, first, 4 * H, 1,
                         d_recurrent, 4 * H, threads);
    emp_linear_backward(emp_params_gradient(p, EMP_NET_DEVICE_EMBEDDING),
                        emp_params_gradient(p, EMP_NET_DECODER_INPUT),
                        emp_params_gradient(p, EMP_NET_DECODER_BIAS), net->d_image,
                        emp_params_value(p, EMP_NET_DEVICE_EMBEDDING),
                        emp_params_value(p, EMP_NET_DECODER_INPUT), D + 1, H, 4 * H,
                        threads);
}

static void encoder_backward(emp_device_net *net, int32_t threads)
{
    const emp_params *p = &net->params;
    int32_t           S = net->steps, H = net->shape.hidden;

    emp_linear_backward(net->d_states, emp_params_gradient(p, EMP_NET_ATTENTION_MEMORY),
                        NULL, net->d_memory, net->states,
                        emp_params_value(p, EMP_NET_ATTENTION_MEMORY), S, 2 * H, H,
                        threads);
    /* The decoders' first state was the backward encoder's last, at position 0. */
    add_samples(&net->d_states[H], net->d_hidden, H, H, net->samples);
    for (int d = 0; d < 2; d++) {
        const emp_lstm_shape shape = {1, S, H, d == 1, threads};
        int32_t              first = d * EMP_NET_ENCODER_SLICES;
        emp_real            *dz = net->encoder_gates[d];
        memset(net->sum, 0, (size_t)H * sizeof(emp_real));
        if (d == 1) add_samples(net->sum, net->d_cell, H, H, net->samples);
        emp_lstm_backward(dz, net->d_states + (int64_t)d * H, 2 * (int64_t)H, net->sum,
                          net->encoder_cell[d], &net->panels.encoder_t[d], &shape);
        emp_lstm_recurrent_gradient(
            emp_params_gradient(p, first + EMP_NET_ENCODER_RECURRENT),
            net->states + (int64_t)d * H, 2 * (int64_t)H, dz, S, H, d == 1, threads);
        emp_linear_backward(NULL, emp_params_gradient(p, first + EMP_NET_ENCODER_INPUT),
                            emp_params_gradient(p, first + EMP_NET_ENCODER_BIAS), dz,
                            net->x, emp_params_value(p, first + EMP_NET_ENCODER_INPUT), S,
                            net->shape.inputs, 4 * H, threads);
    }
}

/* x enters both encoders by a linear map: d_x = dz_forward W' + dz_backward W', of the first
 * rows of W. */
static void input_gradients(emp_device_net *net, int32_t threads)
{
    int32_t S = net->steps, H = net->shape.hidden, L = net->shape.learned_inputs;

    for (int d = 0; d < 2 && L > 0; d++) {
        int32_t slice = d * EMP_NET_ENCODER_SLICES + EMP_NET_ENCODER_INPUT;
        emp_blas_gemm_shared(false, true, S, L, 4 * H, net->encoder_gates[d], 4 * H,
                             emp_params_value(&net->params, slice), 4 * H, d == 1,
                             net->d_x, L, threads);
    }
}

void emp_device_net_backward(emp_device_net *net, const double *weight,
                             double entropy_weight, int32_t threads)
{
    emp_params_zero_gradient(&net->params);
    score_steps(net, weight, entropy_weight, threads);
    decode_backward(net, threads);
    if (emp_stop_is_set(net->stop)) return;
    decoder_gradients(net, threads);
    if (emp_stop_is_set(net->stop)) return;
    encoder_backward(net, threads);
    input_gradients(net, threads);
}
