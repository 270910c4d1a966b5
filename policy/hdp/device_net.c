// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/device_net.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "policy/nn/attention.h"
#include "policy/nn/categorical.h"
#include "policy/nn/flush.h"
#include "policy/nn/linear.h"
#include "policy/nn/lstm.h"
#include "sim/placement/placer.h"

/* Cuts the workspace into arrays; with base NULL only adds up its size. */
static size_t lay_out(emp_device_net *net, emp_real *base)
{
    size_t S = (size_t)net->shape.max_steps, K = (size_t)net->shape.max_samples;
    size_t H = (size_t)net->shape.hidden, D = (size_t)net->shape.devices, offset = 0;
    const struct {
        emp_real **array;
        size_t     count;
    } parts[] = {{&net->encoder_gates[0], S * 4 * H},
                 {&net->encoder_gates[1], S * 4 * H},
                 {&net->encoder_cell[0], (S + 1) * H},
                 {&net->encoder_cell[1], (S + 1) * H},
                 {&net->states, S * 2 * H},
                 {&net->d_states, S * 2 * H},
                 {&net->memory, S * H},
                 {&net->d_memory, S * H},
                 {&net->image, (D + 1) * 4 * H},
                 {&net->d_image, (D + 1) * 4 * H},
                 {&net->gates, K * S * 4 * H},
                 {&net->cell, K * (S + 1) * H},
                 {&net->query, K * S * H},
                 {&net->weights, K * S * S},
                 {&net->output, K * S * 2 * H},
                 {&net->squashed, K * S * D},
                 {&net->p, K * S * D},
                 {&net->sample_d_memory, K * S * H},
                 {&net->sample_d_v, K * H},
                 {&net->d_hidden, K * H},
                 {&net->d_cell, K * H},
                 {&net->d_output, K * 2 * H},
                 {&net->d_query, K * H},
                 {&net->scratch, K * (S + H)}};

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (base != NULL) *parts[i].array = base + offset;
        offset += (parts[i].count + 15) / 16 * 16;
    }
    return offset;
}

static emp_status init_panels(emp_net_panels *p, int32_t H, int32_t D, emp_error *err)
{
    emp_status st = EMP_OK;

    for (int d = 0; d < 2; d++) {
        EMP_TRY(emp_panels_init(&p->encoder[d], H, 4 * H, err));
        EMP_TRY(emp_panels_init(&p->encoder_t[d], 4 * H, H, err));
    }
    EMP_TRY(emp_panels_init(&p->decoder, H, 4 * H, err));
    EMP_TRY(emp_panels_init(&p->decoder_t, 4 * H, H, err));
    EMP_TRY(emp_panels_init(&p->query, H, H, err));
    EMP_TRY(emp_panels_init(&p->query_t, H, H, err));
    EMP_TRY(emp_panels_init(&p->out, 2 * H, D, err));
    EMP_TRY(emp_panels_init(&p->out_t, D, 2 * H, err));

cleanup:
    return st;
}

emp_status emp_device_net_init(emp_device_net *net, const emp_device_net_shape *shape,
                               emp_error *err)
{
    emp_status            st = EMP_OK;
    int32_t               E = shape->inputs, H = shape->hidden, D = shape->devices;
    size_t                K = (size_t)shape->max_samples, S = (size_t)shape->max_steps;
    const emp_param_slice slices[EMP_NET_SLICES] = {{"forward_input", E, 4 * H, 0},
                                                    {"forward_recurrent", H, 4 * H, 0},
                                                    {"forward_bias", 1, 4 * H, 0},
                                                    {"backward_input", E, 4 * H, 0},
                                                    {"backward_recurrent", H, 4 * H, 0},
                                                    {"backward_bias", 1, 4 * H, 0},
                                                    {"device_embedding", D + 1, H, 0},
                                                    {"decoder_input", H, 4 * H, 0},
                                                    {"decoder_recurrent", H, 4 * H, 0},
                                                    {"decoder_bias", 1, 4 * H, 0},
                                                    {"attention_memory", 2 * H, H, 0},
                                                    {"attention_query", H, H, 0},
                                                    {"attention_v", 1, H, 0},
                                                    {"out", 2 * H, D, 0}};

    *net = (emp_device_net){.shape = *shape};
    EMP_TRY(emp_params_init(&net->params, slices, EMP_NET_SLICES, err));
    EMP_TRY(init_panels(&net->panels, H, D, err));
    net->device = EMP_NEW_ARRAY(int32_t, K * S);
    net->log_prob = EMP_NEW_ARRAY(double, K);
    net->entropy = EMP_NEW_ARRAY(double, K);
    net->work = EMP_NEW_ARRAY(emp_real, lay_out(net, NULL));
    if (!net->device || !net->log_prob || !net->entropy || !net->work) {
        EMP_FAIL(EMP_ENOMEM, "placer network of %d steps", shape->max_steps);
    }
    lay_out(net, net->work);

cleanup:
    if (st != EMP_OK) emp_device_net_clear(net);
    return st;
}

void emp_device_net_clear(emp_device_net *net)
{
    emp_net_panels *p = &net->panels;

    for (int d = 0; d < 2; d++) {
        emp_panels_clear(&p->encoder[d]);
        emp_panels_clear(&p->encoder_t[d]);
    }
    emp_panels_clear(&p->decoder);
    emp_panels_clear(&p->decoder_t);
    emp_panels_clear(&p->query);
    emp_panels_clear(&p->query_t);
    emp_panels_clear(&p->out);
    emp_panels_clear(&p->out_t);
    emp_params_clear(&net->params);
    emp_free(net->device);
    emp_free(net->log_prob);
    emp_free(net->entropy);
    emp_free(net->work);
    *net = (emp_device_net){0};
}

void emp_device_net_randomize(emp_device_net *net, double output_gain, emp_rng *rng)
{
    static const int32_t bias[] = {EMP_NET_ENCODER_BIAS,
                                   EMP_NET_ENCODER_SLICES + EMP_NET_ENCODER_BIAS,
                                   EMP_NET_DECODER_BIAS};
    int32_t              H = net->shape.hidden;

    for (int32_t s = 0; s < EMP_NET_SLICES; s++) {
        emp_params_glorot(&net->params, s, s == EMP_NET_OUT ? output_gain : 1.0, rng);
    }
    for (size_t i = 0; i < sizeof bias / sizeof bias[0]; i++) {
        emp_real *b = emp_params_value(&net->params, bias[i]);
        for (int32_t j = 0; j < 4 * H; j++) b[j] = j / H == 1; /* the forget gates */
    }
}

static void pack_panels(emp_device_net *net)
{
    emp_net_panels *p = &net->panels;

    for (int d = 0; d < 2; d++) {
        const emp_real *w = emp_params_value(&net->params, d * EMP_NET_ENCODER_SLICES +
                                                               EMP_NET_ENCODER_RECURRENT);
        emp_panels_pack(&p->encoder[d], w, false);
        emp_panels_pack(&p->encoder_t[d], w, true);
    }
    const emp_real *decoder = emp_params_value(&net->params, EMP_NET_DECODER_RECURRENT);
    const emp_real *query = emp_params_value(&net->params, EMP_NET_ATTENTION_QUERY);
    const emp_real *out = emp_params_value(&net->params, EMP_NET_OUT);
    emp_panels_pack(&p->decoder, decoder, false);
    emp_panels_pack(&p->decoder_t, decoder, true);
    emp_panels_pack(&p->query, query, false);
    emp_panels_pack(&p->query_t, query, true);
    emp_panels_pack(&p->out, out, false);
    emp_panels_pack(&p->out_t, out, true);
}

static void encode(emp_device_net *net, int32_t threads)
{
    const emp_params *p = &net->params;
    int32_t           S = net->steps, H = net->shape.hidden;

#pragma omp parallel for num_threads(threads)
    for (int d = 0; d < 2; d++) {
        unsigned saved = emp_flush_begin();
        int32_t  first = d * EMP_NET_ENCODER_SLICES;
        emp_linear_forward(net->encoder_gates[d], net->x,
                           emp_params_value(p, first + EMP_NET_ENCODER_INPUT),
                           emp_params_value(p, first + EMP_NET_ENCODER_BIAS), S,
                           net->shape.inputs, 4 * H);
        memset(net->encoder_cell[d], 0, (size_t)H * sizeof(emp_real));
        emp_lstm_forward(net->encoder_gates[d], net->encoder_cell[d],
                         net->states + (int64_t)d * H, 2 * (int64_t)H,
                         &net->panels.encoder[d], S, H, d == 1);
        emp_flush_end(saved);
    }
    emp_linear_forward(net->memory, net->states,
                       emp_params_value(p, EMP_NET_ATTENTION_MEMORY), NULL, S, 2 * H, H);
}

/* A given device may have a probability of 0 in float, and noise may choose one. */
static const double SMALLEST = 1e-38;

/* A sample's source of chance. */
typedef struct {
    emp_rng rng;
    double  renewal; /* probability that a run ends */
    double  gumbel[EMP_MAX_DEVICES];
} chooser;

/* Its Gumbel number is finite. */
static const double SMALLEST_UNIFORM = 1e-38;

static void renew(chooser *c, int32_t count)
{
    for (int32_t d = 0; d < count; d++)
        c->gumbel[d] = -log(-log(fmax(emp_rng_uniform(&c->rng), SMALLEST_UNIFORM)));
}

/* Each sample draws its own mean length of runs, all orders of magnitude alike. */
static void start_chooser(chooser *c, const emp_device_net *net, int32_t sample,
                          const emp_draw *draw, const emp_exploration *explore)
{
    double longest = fmax(1.0, explore->run_longest * net->steps);
    double shortest = fmin(longest, fmax(1.0, explore->run_shortest * net->steps));

    emp_rng_init(&c->rng, draw->seed, draw->update, UINT32_MAX - (uint32_t)sample);
    c->renewal = 1.0 / (shortest * pow(longest / shortest, emp_rng_uniform(&c->rng)));
    renew(c, net->shape.devices);
}

static int32_t draw_device(chooser *c, const emp_real *logits, int32_t count,
                           double noise)
{
    int32_t best = 0;
    double  top = -DBL_MAX;

    if (emp_rng_uniform(&c->rng) < c->renewal) renew(c, count);
    for (int32_t d = 0; d < count; d++) {
        double score = (double)logits[d] + (1.0 + noise) * c->gumbel[d];
        if (score > top) {
            top = score;
            best = d;
        }
    }
    return best;
}

/* Chooses sample k's device of step t from its logits, which are in net->p and become
 * probabilities. */
static void choose(emp_device_net *net, int32_t k, int64_t t, double noise,
                   const int32_t *given, chooser *c)
{
    int64_t   step = (int64_t)k * net->steps + t;
    int32_t   D = net->shape.devices, device = given != NULL ? given[step] : -1;
    emp_real *p = &net->p[step * D], *squashed = &net->squashed[step * D];
    emp_real  C = (emp_real)net->shape.tanh_constant;
    emp_real  T = (emp_real)net->shape.temperature;

    for (int32_t d = 0; d < D; d++) squashed[d] = p[d] / T;
    emp_activation_forward(EMP_ACTIVATION_TANH, squashed, D);
    for (int32_t d = 0; d < D; d++) p[d] = C * squashed[d];
    if (device < 0) device = draw_device(c, p, D, noise);
    net->entropy[k] += emp_categorical_softmax(p, D) / net->steps;
    net->log_prob[k] += log(fmax((double)p[device], SMALLEST));
    net->device[step] = device;
}

/* Samples first .. end-1, in lockstep so that they share each pass over the weights. */
static void decode(emp_device_net *net, int32_t first, int32_t end, const emp_draw *draw,
                   const emp_exploration *explore, const int32_t *given)
{
    int64_t         S = net->steps, H = net->shape.hidden, D = net->shape.devices;
    const emp_real *v = emp_params_value(&net->params, EMP_NET_ATTENTION_V);
    chooser         chance[EMP_MAX_BATCH];

    for (int32_t k = first; k < end; k++) {
        start_chooser(&chance[k], net, k, draw, explore);
        net->log_prob[k] = net->entropy[k] = 0.0;
        memcpy(&net->cell[k * (S + 1) * H], &net->encoder_cell[1][S * H],
               (size_t)H * sizeof(emp_real));
    }
    for (int64_t t = 0; t < S; t++) {
        int64_t   step = first * S + t;
        int32_t   count = end - first;
        emp_real *h_before = t > 0 ? &net->output[(step - 1) * 2 * H] : &net->states[H];
        for (int64_t k = first; k < end; k++) {
            int64_t last = t > 0 ? net->device[k * S + t - 1] : D;
            memcpy(&net->gates[(k * S + t) * 4 * H], &net->image[last * 4 * H],
                   (size_t)(4 * H) * sizeof(emp_real));
        }
        emp_panels_multiply(&net->panels.decoder, &net->gates[step * 4 * H], S * 4 * H,
                            h_before, t > 0 ? S * 2 * H : 0, count);
        for (int64_t k = first; k < end; k++) {
            emp_real *cell = &net->cell[(k * (S + 1) + t) * H];
            emp_lstm_cell_forward(&net->gates[(k * S + t) * 4 * H], cell + H,
                                  &net->output[(k * S + t) * 2 * H], cell, (int32_t)H);
            memset(&net->query[(k * S + t) * H], 0, (size_t)H * sizeof(emp_real));
            memset(&net->p[(k * S + t) * D], 0, (size_t)D * sizeof(emp_real));
        }
        emp_panels_multiply(&net->panels.query, &net->query[step * H], S * H,
                            &net->output[step * 2 * H], S * 2 * H, count);
        for (int64_t k = first; k < end; k++) {
            emp_attention_forward(
                &net->weights[(k * S + t) * S], &net->output[(k * S + t) * 2 * H + H],
                &net->query[(k * S + t) * H], net->memory, v, (int32_t)S, (int32_t)H);
        }
        emp_panels_multiply(&net->panels.out, &net->p[step * D], S * D,
                            &net->output[step * 2 * H], S * 2 * H, count);
        for (int32_t k = first; k < end; k++)
            choose(net, k, t, explore->noise, given, &chance[k]);
    }
}

void emp_device_net_run(emp_device_net *net, const emp_real *x, int32_t steps,
                        int32_t samples, const emp_draw *draw,
                        const emp_exploration *explore, const int32_t *given)
{
    const emp_params *p = &net->params;
    int32_t           H = net->shape.hidden, D = net->shape.devices;
    int32_t           parts = draw->threads < samples ? draw->threads : samples;

    net->x = x;
    net->steps = steps;
    net->samples = samples;
    pack_panels(net);
    encode(net, draw->threads);
    emp_linear_forward(net->image, emp_params_value(p, EMP_NET_DEVICE_EMBEDDING),
                       emp_params_value(p, EMP_NET_DECODER_INPUT),
                       emp_params_value(p, EMP_NET_DECODER_BIAS), D + 1, H, 4 * H);
#pragma omp parallel for num_threads(parts)
    for (int32_t i = 0; i < parts; i++) {
        unsigned saved = emp_flush_begin();
        decode(net, samples * i / parts, samples * (i + 1) / parts, draw, explore, given);
        emp_flush_end(saved);
    }
}
