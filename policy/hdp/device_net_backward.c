// SPDX-License-Identifier: GPL-3.0-or-later
/* The way back through the placer network. Time loops turn activations into gradients of
 * the gates' sums; all gradients of weights follow from those in large products. */
#include <string.h>

#include "policy/hdp/device_net.h"
#include "policy/nn/attention.h"
#include "policy/nn/blas.h"
#include "policy/nn/categorical.h"
#include "policy/nn/flush.h"
#include "policy/nn/linear.h"
#include "policy/nn/lstm.h"

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

static void decode_backward(emp_device_net *net, int32_t first, int32_t end,
                            const double *weight, double entropy)
{
    int64_t         S = net->steps, H = net->shape.hidden, D = net->shape.devices;
    const emp_real *v = emp_params_value(&net->params, EMP_NET_ATTENTION_V);
    size_t          real = sizeof(emp_real);
    int32_t         count = end - first;

    memset(&net->sample_d_memory[first * S * H], 0, (size_t)(count * S * H) * real);
    memset(&net->sample_d_v[first * H], 0, (size_t)(count * H) * real);
    memset(&net->d_hidden[first * H], 0, (size_t)(count * H) * real);
    memset(&net->d_cell[first * H], 0, (size_t)(count * H) * real);
    for (int64_t t = S - 1; t >= 0; t--) {
        int64_t step = first * S + t;
        for (int64_t k = first; k < end; k++) {
            score_step(net, k * S + t, weight[k], entropy);
            memset(&net->d_output[k * 2 * H], 0, (size_t)(2 * H) * real);
            memset(&net->d_query[k * H], 0, (size_t)H * real);
        }
        emp_panels_multiply(&net->panels.out_t, &net->d_output[first * 2 * H], 2 * H,
                            &net->p[step * D], S * D, count);
        for (int64_t k = first; k < end; k++) {
            emp_real *query = &net->query[(k * S + t) * H],
                     *d_query = &net->d_query[k * H];
            emp_attention_backward(d_query, &net->sample_d_memory[k * S * H],
                                   &net->sample_d_v[k * H], &net->d_output[k * 2 * H + H],
                                   &net->weights[(k * S + t) * S], query, net->memory, v,
                                   (int32_t)S, (int32_t)H, &net->scratch[k * (S + H)]);
            memcpy(query, d_query, (size_t)H * real);
            for (int64_t j = 0; j < H; j++) {
                net->d_hidden[k * H + j] += net->d_output[k * 2 * H + j];
            }
        }
        emp_panels_multiply(&net->panels.query_t, &net->d_hidden[first * H], H,
                            &net->query[step * H], S * H, count);
        for (int64_t k = first; k < end; k++) {
            emp_real *cell = &net->cell[(k * (S + 1) + t) * H];
            emp_lstm_cell_backward(&net->gates[(k * S + t) * 4 * H], &net->d_cell[k * H],
                                   &net->d_hidden[k * H], cell + H, cell, (int32_t)H);
        }
        memset(&net->d_hidden[first * H], 0, (size_t)(count * H) * real);
        emp_panels_multiply(&net->panels.decoder_t, &net->d_hidden[first * H], H,
                            &net->gates[step * 4 * H], S * 4 * H, count);
    }
}

/* sum[i] = part[0][i] + part[1][i] + ..., in that order. */
static void add_samples(emp_real *sum, const emp_real *part, int64_t count,
                        int32_t samples)
{
    for (int64_t k = 0; k < samples; k++) {
        for (int64_t i = 0; i < count; i++) sum[i] += part[k * count + i];
    }
}

static void decoder_gradients(emp_device_net *net)
{
    const emp_params *p = &net->params;
    int32_t           S = net->steps, H = net->shape.hidden, D = net->shape.devices;
    int32_t           rows = net->samples * S;

    emp_blas_gemm(true, false, 2 * H, D, rows, net->output, 2 * H, net->p, D, 1,
                  emp_params_gradient(p, EMP_NET_OUT), D);
    emp_blas_gemm(true, false, H, H, rows, net->output, 2 * H, net->query, H, 1,
                  emp_params_gradient(p, EMP_NET_ATTENTION_QUERY), H);
    add_samples(emp_params_gradient(p, EMP_NET_ATTENTION_V), net->sample_d_v, H,
                net->samples);

    emp_real *d_recurrent = emp_params_gradient(p, EMP_NET_DECODER_RECURRENT);
    memset(net->d_image, 0, (size_t)(D + 1) * 4 * (size_t)H * sizeof(emp_real));
    for (int64_t k = 0; k < net->samples; k++) {
        const emp_real *dz = &net->gates[k * S * 4 * H];
        emp_lstm_recurrent_gradient(d_recurrent, &net->output[k * S * 2 * H],
                                    2 * (int64_t)H, dz, S, H, false);
        emp_blas_gemm(true, false, H, 4 * H, 1, &net->states[H], H, dz, 4 * H, 1,
                      d_recurrent, 4 * H);
        emp_embedding_backward(net->d_image, dz, &(int32_t){D}, 1, 4 * H);
        emp_embedding_backward(net->d_image, dz + 4 * (int64_t)H, &net->device[k * S],
                               S - 1, 4 * H);
    }
    emp_linear_backward(emp_params_gradient(p, EMP_NET_DEVICE_EMBEDDING),
                        emp_params_gradient(p, EMP_NET_DECODER_INPUT),
                        emp_params_gradient(p, EMP_NET_DECODER_BIAS), net->d_image,
                        emp_params_value(p, EMP_NET_DEVICE_EMBEDDING),
                        emp_params_value(p, EMP_NET_DECODER_INPUT), D + 1, H, 4 * H);
}

static void encoder_backward(emp_device_net *net, int32_t threads)
{
    const emp_params *p = &net->params;
    int32_t           S = net->steps, H = net->shape.hidden;

    memset(net->d_memory, 0, (size_t)S * (size_t)H * sizeof(emp_real));
    add_samples(net->d_memory, net->sample_d_memory, (int64_t)S * H, net->samples);
    emp_linear_backward(net->d_states, emp_params_gradient(p, EMP_NET_ATTENTION_MEMORY),
                        NULL, net->d_memory, net->states,
                        emp_params_value(p, EMP_NET_ATTENTION_MEMORY), S, 2 * H, H);
    /* The decoders' first state was the backward encoder's last, at position 0. */
    add_samples(&net->d_states[H], net->d_hidden, H, net->samples);
    memset(net->scratch, 0, (size_t)H * sizeof(emp_real));
    add_samples(net->scratch, net->d_cell, H, net->samples);
    memset(net->d_query, 0, (size_t)H * sizeof(emp_real));
#pragma omp parallel for num_threads(threads)
    for (int d = 0; d < 2; d++) {
        unsigned  saved = emp_flush_begin();
        int32_t   first = d * EMP_NET_ENCODER_SLICES;
        emp_real *dz = net->encoder_gates[d];
        emp_lstm_backward(dz, net->d_states + (int64_t)d * H, 2 * (int64_t)H,
                          d == 1 ? net->scratch : net->d_query, net->encoder_cell[d],
                          &net->panels.encoder_t[d], S, H, d == 1);
        emp_lstm_recurrent_gradient(
            emp_params_gradient(p, first + EMP_NET_ENCODER_RECURRENT),
            net->states + (int64_t)d * H, 2 * (int64_t)H, dz, S, H, d == 1);
        emp_linear_backward(NULL, emp_params_gradient(p, first + EMP_NET_ENCODER_INPUT),
                            emp_params_gradient(p, first + EMP_NET_ENCODER_BIAS), dz,
                            net->x, emp_params_value(p, first + EMP_NET_ENCODER_INPUT), S,
                            net->shape.inputs, 4 * H);
        emp_flush_end(saved);
    }
}

void emp_device_net_backward(emp_device_net *net, const double *weight,
                             double entropy_weight, int32_t threads)
{
    int32_t samples = net->samples, parts = threads < samples ? threads : samples;
    double  entropy = entropy_weight / ((double)samples * net->steps);

    emp_params_zero_gradient(&net->params);
#pragma omp parallel for num_threads(parts)
    for (int32_t i = 0; i < parts; i++) {
        unsigned saved = emp_flush_begin();
        decode_backward(net, samples * i / parts, samples * (i + 1) / parts, weight,
                        entropy);
        emp_flush_end(saved);
    }
    decoder_gradients(net);
    encoder_backward(net, threads);
}
