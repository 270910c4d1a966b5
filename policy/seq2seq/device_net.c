// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/seq2seq/device_net.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/mem.h"
#include "policy/nn/attention.h"
#include "policy/nn/categorical.h"
#include "policy/nn/layers.h"
#include "policy/nn/products.h"
#include "policy/nn/recurrent.h"
#include "policy/nn/threads.h"
#include "search/method.h"
#include "sim/machine/machine.h"

/* Cuts the workspace into arrays; with base NULL only adds up its size. */
static size_t lay_out(emp_device_net *net, emp_real *base)
{
    size_t S = (size_t)net->shape.max_steps, K = (size_t)net->shape.max_samples;
    size_t H = (size_t)net->shape.hidden, D = (size_t)net->shape.devices, offset = 0;
    size_t L = (size_t)net->shape.learned_inputs;
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
                 {&net->memory_exp, S * H},
                 {&net->image, (D + 1) * 4 * H},
                 {&net->d_image, (D + 1) * 4 * H},
                 {&net->gates, K * S * 4 * H},
                 {&net->cell, K * (S + 1) * H},
                 {&net->query, K * S * H},
                 {&net->weights, K * S * S},
                 {&net->output, K * S * 2 * H},
                 {&net->aligned, S * D},
                 {&net->d_aligned, S * D},
                 {&net->squashed, K * S * D},
                 {&net->p, K * S * D},
                 {&net->d_output, K * S * 2 * H},
                 {&net->d_weights, K * S * S},
                 {&net->d_hidden, K * H},
                 {&net->d_cell, K * H},
                 {&net->sum, H},
                 {&net->d_x, S * L}};

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (base != NULL) *parts[i].array = base + offset;
        offset += (parts[i].count + 15) / 16 * 16;
    }
    return offset;
}

static emp_status init_panels(emp_net_panels *p, int32_t H, int32_t D, emp_error *err)
{
    for (int d = 0; d < 2; d++) {
        EMP_CHECK(emp_panels_init(&p->encoder[d], H, 4 * H, err));
        EMP_CHECK(emp_panels_init(&p->encoder_t[d], 4 * H, H, err));
    }
    EMP_CHECK(emp_panels_init(&p->decoder, H, 4 * H, err));
    EMP_CHECK(emp_panels_init(&p->decoder_t, 4 * H, H, err));
    EMP_CHECK(emp_panels_init(&p->query, H, H, err));
    return emp_panels_init(&p->out, 2 * H, D, err);
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
                                                    {"out", 2 * H, D, 0},
                                                    {"aligned", 2 * H, D, 0}};
    const int32_t         count = EMP_NET_SLICES - !shape->is_aligned;

    *net = (emp_device_net){.shape = *shape};
    EMP_TRY(emp_params_init(&net->params, slices, count, err));
    EMP_TRY(init_panels(&net->panels, H, D, err));
    EMP_TRY(EMP_ALLOC(net->device, K * S));
    EMP_TRY(EMP_ALLOC(net->log_prob, K));
    EMP_TRY(EMP_ALLOC(net->entropy, K));
    EMP_TRY(EMP_ALLOC(net->moved, K));
    EMP_TRY(EMP_ALLOC(net->work, lay_out(net, NULL)));
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
    emp_panels_clear(&p->out);
    emp_params_clear(&net->params);
    emp_free(net->device);
    emp_free(net->log_prob);
    emp_free(net->entropy);
    emp_free(net->moved);
    emp_free(net->work);
    *net = (emp_device_net){0};
}

void emp_device_net_randomize(emp_device_net *net, double output_gain, emp_rng *rng)
{
    static const int32_t bias[] = {EMP_NET_ENCODER_BIAS,
                                   EMP_NET_ENCODER_SLICES + EMP_NET_ENCODER_BIAS,
                                   EMP_NET_DECODER_BIAS};
    int32_t              H = net->shape.hidden;

    for (int32_t s = 0; s < EMP_NET_SLICES - !net->shape.is_aligned; s++) {
        emp_params_glorot(&net->params, s, s >= EMP_NET_OUT ? output_gain : 1.0, rng);
    }
    for (size_t i = 0; i < sizeof bias / sizeof bias[0]; i++) {
        emp_real *b = emp_params_value(&net->params, bias[i]);
        for (int32_t j = 0; j < 4 * H; j++) b[j] = j / H == 1; /* the forget gates */
    }
}

/* Threads that decode: a step has the products of the cells and the attention. */
static int32_t team_of(const emp_device_net *net, int32_t threads)
{
    enum { ACTIVATION = 16 };
    const int64_t H = net->shape.hidden;

    return emp_team_size_of_steps(
        net->samples * H * (5 * H + ACTIVATION * (int64_t)net->steps), threads);
}

static void pack_panels(emp_device_net *net, int32_t threads)
{
    emp_net_panels *p = &net->panels;
    const struct {
        emp_panels *panels;
        int32_t     slice;
        bool        transpose;
    } tasks[] = {
        {&p->encoder[0], EMP_NET_ENCODER_RECURRENT, false},
        {&p->encoder[1], EMP_NET_ENCODER_SLICES + EMP_NET_ENCODER_RECURRENT, false},
        {&p->decoder, EMP_NET_DECODER_RECURRENT, false},
        {&p->query, EMP_NET_ATTENTION_QUERY, false},
        {&p->out, EMP_NET_OUT, false},
        {&p->encoder_t[0], EMP_NET_ENCODER_RECURRENT, true},
        {&p->encoder_t[1], EMP_NET_ENCODER_SLICES + EMP_NET_ENCODER_RECURRENT, true},
        {&p->decoder_t, EMP_NET_DECODER_RECURRENT, true}};

#pragma omp parallel for schedule(dynamic) num_threads(team_of(net, threads))
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
        emp_panels_pack(tasks[i].panels, emp_params_value(&net->params, tasks[i].slice),
                        tasks[i].transpose);
    }
}

static void encode(emp_device_net *net, int32_t threads)
{
    const emp_params *p = &net->params;
    int32_t           S = net->steps, H = net->shape.hidden, D = net->shape.devices;

    for (int d = 0; d < 2; d++) {
        const emp_lstm_shape shape = {1, S, H, d == 1, threads, 0.0};
        int32_t              first = d * EMP_NET_ENCODER_SLICES;
        emp_linear_forward(net->encoder_gates[d], net->x,
                           emp_params_value(p, first + EMP_NET_ENCODER_INPUT),
                           emp_params_value(p, first + EMP_NET_ENCODER_BIAS), S,
                           net->shape.inputs, 4 * H, threads);
        memset(net->encoder_cell[d], 0, (size_t)H * sizeof(emp_real));
        emp_lstm_forward(net->encoder_gates[d], net->encoder_cell[d],
                         net->states + (int64_t)d * H, 2 * (int64_t)H,
                         &net->panels.encoder[d], &shape);
    }
    emp_linear_forward(net->memory, net->states,
                       emp_params_value(p, EMP_NET_ATTENTION_MEMORY), NULL, S, 2 * H, H,
                       threads);
    emp_attention_exp(net->memory_exp, net->memory, (int64_t)S * H);
    memset(net->aligned, 0, (size_t)S * (size_t)D * sizeof(emp_real));
    if (net->shape.is_aligned)
        emp_linear_forward(net->aligned, net->states,
                           emp_params_value(p, EMP_NET_ALIGNED), NULL, S, 2 * H, D,
                           threads);
}

/* A given device may have a probability of 0 in float, and noise may choose one. */
static const double SMALLEST = 1e-38;

/* A sample's source of chance. */
typedef struct {
    emp_rng rng;
    emp_rng normal;  /* for noise of the logits: the same whether devices are given */
    double  renewal; /* probability that a run ends */
    double  gumbel[EMP_MAX_DEVICES]; /* of the run, or of the last stretch, or 0 */
    int32_t stretch_count,
        covered; /* stretches; 1 + the one that gumbel is of, 0: none */
    struct {
        int64_t  first, end;
        uint64_t seed;
    } stretch[EMP_MAX_STRETCHES];
} chooser;

/* Its Gumbel number is finite. */
static const double SMALLEST_UNIFORM = 1e-38;

static void renew(chooser *c, int32_t count)
{
    for (int32_t d = 0; d < count; d++)
        c->gumbel[d] = -log(-log(fmax(emp_rng_uniform(&c->rng), SMALLEST_UNIFORM)));
}

static void draw_stretches(chooser *c, const emp_device_net *net,
                           const emp_exploration *explore)
{
    double count = fmax(1.0, floor(explore->stretches + emp_rng_uniform(&c->rng)));
    double longest = fmax(1.0, explore->stretch_longest * net->steps);

    c->covered = 0;
    memset(c->gumbel, 0, sizeof c->gumbel);
    c->stretch_count = (int32_t)fmin(EMP_MAX_STRETCHES, count);
    for (int32_t i = 0; i < c->stretch_count; i++) {
        int64_t length = (int64_t)(pow(longest, emp_rng_uniform(&c->rng)) + 0.5);
        double  starts = (double)(net->steps + length - 1);
        int64_t first = (int64_t)(emp_rng_uniform(&c->rng) * starts) - (length - 1);
        c->stretch[i].first = first;
        c->stretch[i].end = first + length;
        c->stretch[i].seed = emp_rng_u32(&c->rng);
    }
}

/* Each sample draws its own mean length of runs, all orders of magnitude alike. */
static void start_chooser(chooser *c, const emp_device_net *net, int32_t sample,
                          const emp_draw *draw, const emp_exploration *explore)
{
    double longest = fmax(1.0, explore->run_longest * net->steps);
    double shortest = fmin(longest, fmax(1.0, explore->run_shortest * net->steps));

    emp_rng_init(&c->rng, draw->seed, draw->update, UINT32_MAX - (uint32_t)sample);
    emp_rng_init(&c->normal, draw->seed, draw->update,
                 UINT32_MAX - EMP_MAX_BATCH - (uint32_t)sample);
    c->stretch_count = 0;
    if (explore->stretches > 0) {
        draw_stretches(c, net, explore);
        return;
    }
    c->renewal = 1.0 / (shortest * pow(longest / shortest, emp_rng_uniform(&c->rng)));
    renew(c, net->shape.devices);
}

/* The numbers of the last stretch that covers the step. */
static void cover(chooser *c, int64_t t, int32_t count)
{
    int32_t covered = 0;

    for (int32_t i = 0; i < c->stretch_count; i++)
        if (t >= c->stretch[i].first && t < c->stretch[i].end) covered = i + 1;
    if (covered == c->covered) return;
    c->covered = covered;
    memset(c->gumbel, 0, sizeof c->gumbel);
    if (covered == 0) return;
    emp_rng_init(&c->rng, c->stretch[covered - 1].seed, 0, 0);
    renew(c, count);
}

static int32_t draw_device(chooser *c, const emp_real *logits, int32_t count,
                           double noise, int64_t t)
{
    int32_t best = 0;
    double  top = -DBL_MAX;

    if (c->stretch_count > 0)
        cover(c, t, count);
    else if (emp_rng_uniform(&c->rng) < c->renewal)
        renew(c, count);
    for (int32_t d = 0; d < count; d++) {
        double score = (double)logits[d] + (1.0 + noise) * c->gumbel[d];
        if (score > top) {
            top = score;
            best = d;
        }
    }
    return best;
}

static void add_noise(chooser *c, emp_real *logits, int32_t count, double noise)
{
    double squares = 0.0;

    for (int32_t d = 0; d < count; d++) squares += (double)logits[d] * (double)logits[d];
    double deviation = noise * sqrt(squares / count);
    for (int32_t d = 0; d < count; d++)
        logits[d] += (emp_real)(deviation * emp_rng_normal(&c->normal));
}

/* Chooses sample k's device of step t from its logits, which are in net->p and become
 * probabilities. */
static void choose(emp_device_net *net, int32_t k, int64_t t,
                   const emp_exploration *explore, const int32_t *given, chooser *c)
{
    int64_t   step = (int64_t)k * net->steps + t;
    int32_t   D = net->shape.devices, device = given != NULL ? given[step] : -1;
    emp_real *p = &net->p[step * D], *squashed = &net->squashed[step * D];
    emp_real  C = (emp_real)net->shape.tanh_constant;
    emp_real  T = (emp_real)net->shape.temperature;

    for (int32_t d = 0; d < D; d++) squashed[d] = p[d] / T;
    emp_activation_forward(EMP_ACTIVATION_TANH, squashed, D);
    for (int32_t d = 0; d < D; d++) p[d] = C * squashed[d];
    if (explore->logits_noise > 0) add_noise(c, p, D, explore->logits_noise);
    if (device < 0) device = draw_device(c, p, D, explore->noise, t);
    net->moved[k] += device != emp_categorical_mode(p, D);
    net->entropy[k] += emp_categorical_softmax(p, D) / net->steps;
    net->log_prob[k] += log(fmax((double)p[device], SMALLEST));
    net->device[step] = device;
}

/* The part of each step that one thread does: its columns of the recurrent products, its rows of
 * the attention, its samples of the rest. */
typedef struct {
    emp_panels_pass        pass;
    int32_t                first_row, end_row, first, end;
    emp_team              *team;
    const emp_draw        *draw;
    const emp_exploration *explore;
    const int32_t         *given;
} share;

static share share_of(const emp_device_net *net, int32_t part, int32_t parts)
{
    return (share){.pass = {.part = part, .parts = parts},
                   .first_row = net->steps * part / parts,
                   .end_row = net->steps * (part + 1) / parts,
                   .first = net->samples * part / parts,
                   .end = net->samples * (part + 1) / parts};
}

/* Sums of step t + 1 begin with the state after step t; the image is added later. */
static void multiply_state(emp_device_net *net, const share *m, int64_t t)
{
    int64_t S = net->steps, H = net->shape.hidden;

    if (t < 0) {
        emp_panels_multiply(&net->panels.decoder, net->gates, S * 4 * H, &net->states[H],
                            0, net->samples, m->pass);
        return;
    }
    const emp_real *h = &net->output[t * 2 * H];
    emp_panels_multiply(&net->panels.query, &net->query[t * H], S * H, h, S * 2 * H,
                        net->samples, m->pass);
    if (t + 1 < S) {
        emp_panels_multiply(&net->panels.decoder, &net->gates[(t + 1) * 4 * H], S * 4 * H,
                            h, S * 2 * H, net->samples, m->pass);
    }
}

static void run_cells(emp_device_net *net, const share *m, int64_t t)
{
    int64_t S = net->steps, H = net->shape.hidden, D = net->shape.devices;
    size_t  real = sizeof(emp_real);

    for (int64_t k = m->first; k < m->end; k++) {
        int64_t   step = k * S + t;
        int32_t   last = t > 0 ? net->device[step - 1] : (int32_t)D;
        emp_real *gates = &net->gates[step * 4 * H];
        emp_real *cell = &net->cell[(k * (S + 1) + t) * H];
        emp_embedding_forward(gates, net->image, &last, 1, (int32_t)(4 * H));
        emp_lstm_cell_forward(gates, cell + H, &net->output[step * 2 * H], cell,
                              (int32_t)H);
        memset(&net->query[step * H], 0, (size_t)H * real);
        if (t + 1 < S) memset(gates + 4 * H, 0, (size_t)(4 * H) * real);
    }
}

static void finish_step(emp_device_net *net, const share *m, chooser *chance, int64_t t)
{
    const emp_panels_pass all = {0, 1, false};
    int64_t               S = net->steps, H = net->shape.hidden, D = net->shape.devices;

    for (int64_t k = m->first; k < m->end; k++) {
        int64_t step = k * S + t;
        emp_attention_mix(&net->weights[step * S], &net->output[step * 2 * H + H],
                          net->memory, (int32_t)S, (int32_t)H);
        memcpy(&net->p[step * D], &net->aligned[t * D], (size_t)D * sizeof(emp_real));
    }
    emp_panels_multiply(&net->panels.out, &net->p[(m->first * S + t) * D], S * D,
                        &net->output[(m->first * S + t) * 2 * H], S * 2 * H,
                        m->end - m->first, all);
    for (int32_t k = m->first; k < m->end; k++)
        choose(net, k, t, m->explore, m->given, &chance[k - m->first]);
}

/* All samples in lockstep, so that they share each pass over the weights. */
static void decode(emp_device_net *net, share *m)
{
    int64_t S = net->steps, H = net->shape.hidden;
    chooser chance[EMP_MAX_BATCH];

    for (int32_t k = m->first; k < m->end; k++) {
        start_chooser(&chance[k - m->first], net, k, m->draw, m->explore);
        net->log_prob[k] = net->entropy[k] = 0.0;
        net->moved[k] = 0;
        memcpy(&net->cell[k * (S + 1) * H], &net->encoder_cell[1][S * H],
               (size_t)H * sizeof(emp_real));
        memset(&net->gates[k * S * 4 * H], 0, (size_t)(4 * H) * sizeof(emp_real));
    }
    emp_team_meet(m->team, m->pass.parts);
    multiply_state(net, m, -1);
    emp_team_meet(m->team, m->pass.parts);
    for (int64_t t = 0; t < S; t++) {
        if (m->pass.part == 0) net->is_stopped = emp_stop_is_set(net->stop);
        run_cells(net, m, t);
        emp_team_meet(m->team, m->pass.parts);
        if (net->is_stopped) return; /* all of the team see the same */
        m->pass.descends = !m->pass.descends;
        multiply_state(net, m, t);
        emp_team_meet(m->team, m->pass.parts);
        emp_attention_score(&net->weights[t * S], S * S, &net->query[t * H], S * H,
                            net->samples, net->memory_exp,
                            emp_params_value(&net->params, EMP_NET_ATTENTION_V),
                            m->first_row, m->end_row, (int32_t)H);
        emp_team_meet(m->team, m->pass.parts);
        finish_step(net, m, chance, t);
    }
}

void emp_device_net_run(emp_device_net *net, const emp_real *x, int32_t steps,
                        int32_t samples, const emp_draw *draw,
                        const emp_exploration *explore, const int32_t *given)
{
    const emp_params *p = &net->params;
    int32_t           H = net->shape.hidden, D = net->shape.devices;
    emp_team          team = {0};

    net->x = x;
    net->steps = steps;
    net->samples = samples;
    pack_panels(net, draw->threads);
    encode(net, draw->threads);
    if (emp_stop_is_set(net->stop)) return;
    emp_linear_forward(net->image, emp_params_value(p, EMP_NET_DEVICE_EMBEDDING),
                       emp_params_value(p, EMP_NET_DECODER_INPUT),
                       emp_params_value(p, EMP_NET_DECODER_BIAS), D + 1, H, 4 * H,
                       draw->threads);
#pragma omp parallel num_threads(team_of(net, draw->threads))
    {
        unsigned saved = emp_flush_begin();
        share    m = share_of(net, omp_get_thread_num(), omp_get_num_threads());
        m.team = &team;
        m.draw = draw;
        m.explore = explore;
        m.given = given;
        decode(net, &m);
        emp_flush_end(saved);
    }
}

/* weight (onehot - p) of each placement of the lesson. */
static void add_lesson(const emp_device_net *net, emp_real *d_logits, const emp_real *p,
                       int64_t t, const emp_device_lesson *lesson)
{
    emp_real weight = (emp_real)(lesson->weight / net->samples);

    for (int32_t e = 0; e < lesson->count; e++)
        d_logits[lesson->device[e * net->steps + t]] += weight;
    for (int32_t d = 0; d < net->shape.devices; d++)
        d_logits[d] -= weight * (emp_real)lesson->count * p[d];
}

/* The way back through the placer network. Time loops turn activations into gradients of
 * the gates' sums; all gradients of weights follow from those in large products. */
/* Probabilities become gradients of the logits before tanh:
 *     dl = (w (onehot - p) + entropy term) C (1 - tanh^2) / T. */
static void score_step(emp_device_net *net, int64_t step, double weight, double entropy,
                       const emp_device_lesson *lesson)
{
    int32_t         D = net->shape.devices;
    emp_real       *p = &net->p[step * D];
    const emp_real *squashed = &net->squashed[step * D];
    emp_real        slope = (emp_real)(net->shape.tanh_constant / net->shape.temperature);
    emp_real        extra[EMP_MAX_DEVICES] = {0};

    if (entropy > 0) emp_categorical_entropy_gradient(extra, p, D, entropy);
    if (lesson != NULL) add_lesson(net, extra, p, step % net->steps, lesson);
    emp_categorical_score(p, D, net->device[step], weight);
    for (int32_t d = 0; d < D; d++) {
        p[d] = (p[d] + extra[d]) * slope * (1 - squashed[d] * squashed[d]);
    }
}

static void score_steps(emp_device_net *net, const double *weight, double entropy_weight,
                        const emp_device_lesson *lesson, int32_t threads)
{
    int64_t S = net->steps;
    double  entropy = entropy_weight / ((double)net->samples * net->steps);

#pragma omp parallel for num_threads(team_of(net, threads))
    for (int64_t k = 0; k < net->samples; k++) {
        unsigned saved = emp_flush_begin();
        for (int64_t t = 0; t < S; t++)
            score_step(net, k * S + t, weight[k], entropy, lesson);
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
    const emp_lstm_shape shape = {net->samples, S,       H,
                                  false,        threads, net->shape.gradient_bound};
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

/* Adds to the gradient of the encoder's outputs. */
static void aligned_gradients(emp_device_net *net, int32_t threads)
{
    const emp_params *p = &net->params;
    int32_t           S = net->steps, H = net->shape.hidden, D = net->shape.devices;
    int64_t           count = (int64_t)S * D;

    memset(net->d_aligned, 0, (size_t)count * sizeof(emp_real));
    add_samples(net->d_aligned, net->p, count, count, net->samples);
    emp_blas_gemm_shared(true, false, 2 * H, D, S, net->states, 2 * H, net->d_aligned, D,
                         1, emp_params_gradient(p, EMP_NET_ALIGNED), D, threads);
    emp_blas_gemm_shared(false, true, S, 2 * H, D, net->d_aligned, D,
                         emp_params_value(p, EMP_NET_ALIGNED), D, 1, net->d_states, 2 * H,
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
    if (net->shape.is_aligned) aligned_gradients(net, threads);
    /* The decoders' first state was the backward encoder's last, at position 0. */
    add_samples(&net->d_states[H], net->d_hidden, H, H, net->samples);
    for (int d = 0; d < 2; d++) {
        const emp_lstm_shape shape = {1,      S,       H,
                                      d == 1, threads, net->shape.gradient_bound};
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
    emp_device_net_teach(net, weight, entropy_weight, NULL, threads);
}

void emp_device_net_teach(emp_device_net *net, const double *weight,
                          double entropy_weight, const emp_device_lesson *lesson,
                          int32_t threads)
{
    emp_params_zero_gradient(&net->params);
    score_steps(net, weight, entropy_weight, lesson, threads);
    decode_backward(net, threads);
    if (emp_stop_is_set(net->stop)) return;
    decoder_gradients(net, threads);
    if (emp_stop_is_set(net->stop)) return;
    encoder_backward(net, threads);
    input_gradients(net, threads);
}
