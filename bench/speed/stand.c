// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/speed/stand.h"

#include <string.h>

#include "base/blas/openblas.h"
#include "base/mem.h"
#include "policy/nn/threads.h"

/* As the preset `paper` on a graph of 40 types of ops, which are 312 numbers a group. */
enum { TYPES = 40, DEVICES = 5, TYPE_WIDTH = 20 };

static const double   TEMPERATURE = 10.0, TANH_CONSTANT = 5.0, CLIP = 1.0;
static const emp_adam ADAM = {
    .learning_rate = 0.1, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 5.0};

const char *emp_stand_name(emp_stand_kind kind)
{
    static const char *const name[EMP_STAND_COUNT] = {
        [EMP_STAND_PLACER] = "placer",   [EMP_STAND_GROUPER] = "grouper",
        [EMP_STAND_GO] = "go",           [EMP_STAND_PLACETO] = "placeto",
        [EMP_STAND_DOPPLER] = "doppler", [EMP_STAND_HSDAG] = "hsdag",
        [EMP_STAND_GIPH] = "giph"};

    return name[kind];
}

emp_params *emp_stand_parameters(emp_stand *s)
{
    switch (s->params.kind) {
    case EMP_STAND_PLACER: return &s->placer.params;
    case EMP_STAND_GO: return &s->go.net.params;
    case EMP_STAND_PLACETO: return &s->placeto.agent.net.params;
    case EMP_STAND_DOPPLER: return &s->doppler.agent.net[EMP_DOPPLER_PLACER].params;
    case EMP_STAND_HSDAG: return &s->hsdag.net.params;
    case EMP_STAND_GIPH: return &s->giph.params;
    default: return &s->grouper.params;
    }
}

static emp_status init_placer(emp_stand *s, emp_rng *rng, emp_error *err)
{
    int32_t                    steps = s->params.groups;
    const emp_device_net_shape shape = {.inputs = TYPES + EMP_ROW_SIZES + steps,
                                        .hidden = s->params.hidden,
                                        .devices = DEVICES,
                                        .max_steps = steps,
                                        .max_samples = s->params.samples,
                                        .temperature = TEMPERATURE,
                                        .tanh_constant = TANH_CONSTANT};
    size_t                     inputs = (size_t)steps * (size_t)shape.inputs;
    size_t                     actions = (size_t)steps * (size_t)s->params.samples;

    EMP_CHECK(emp_device_net_init(&s->placer, &shape, err));
    emp_device_net_randomize(&s->placer, 1.0, rng);
    EMP_CHECK(EMP_ALLOC(s->x, inputs));
    EMP_CHECK(EMP_ALLOC(s->action, actions));
    EMP_CHECK(EMP_ALLOC(s->weight, (size_t)s->params.samples));
    for (size_t i = 0; i < inputs; i++) s->x[i] = (emp_real)emp_rng_uniform(rng);
    for (size_t i = 0; i < actions; i++)
        s->action[i] = (int32_t)emp_rng_below(rng, DEVICES);
    for (int32_t k = 0; k < s->params.samples; k++)
        s->weight[k] = (emp_real)(emp_rng_normal(rng) / s->params.samples);
    return EMP_OK;
}

static emp_status init_grouper(emp_stand *s, emp_rng *rng, emp_error *err)
{
    int32_t                 rows = s->params.ops;
    const emp_grouper_shape shape = {.hidden = EMP_STAND_GROUPER_HIDDEN,
                                     .groups = s->params.groups,
                                     .type_width = TYPE_WIDTH,
                                     .activation = EMP_ACTIVATION_TANH};

    EMP_CHECK(emp_op_features_create_empty(&s->ops, rows, rows, 0, err));
    s->ops->type_count = TYPES;
    for (int32_t i = 0; i < rows; i++)
        s->ops->type[i] = (int32_t)emp_rng_below(rng, TYPES);
    for (int64_t i = 0; i < (int64_t)rows * EMP_OP_FEATURES; i++)
        s->ops->value[i] = (emp_real)emp_rng_normal(rng);
    EMP_CHECK(emp_grouper_init(&s->grouper, &shape, s->ops, err));
    emp_grouper_randomize(&s->grouper, rng);
    EMP_CHECK(EMP_ALLOC(s->action, (size_t)rows));
    EMP_CHECK(EMP_ALLOC(s->weight, 1));
    for (int32_t i = 0; i < rows; i++)
        s->action[i] = (int32_t)emp_rng_below(rng, (uint32_t)s->params.groups);
    s->weight[0] = 0.25;
    return EMP_OK;
}

emp_status emp_stand_init(emp_stand *s, const emp_stand_params *params, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_rng    rng;

    *s = (emp_stand){.params = *params};
    EMP_TRY(emp_openblas_open(err));
    emp_rng_init(&rng, params->seed, 0, 0);
    switch (params->kind) {
    case EMP_STAND_PLACER: EMP_TRY(init_placer(s, &rng, err)); break;
    case EMP_STAND_GO:
        EMP_TRY(emp_stand_go_init(&s->go, params->ops, params->samples, params->threads,
                                  &rng, err));
        break;
    case EMP_STAND_PLACETO:
        EMP_TRY(emp_stand_placeto_init(&s->placeto, params->groups, &rng, err));
        break;
    case EMP_STAND_DOPPLER:
        EMP_TRY(emp_stand_doppler_init(&s->doppler, params->groups, params->hidden,
                                       params->samples, params->threads, &rng, err));
        break;
    case EMP_STAND_HSDAG:
        EMP_TRY(emp_stand_hsdag_init(&s->hsdag, params->ops, params->hidden,
                                     params->samples, params->threads, &rng, err));
        break;
    case EMP_STAND_GIPH:
        EMP_TRY(emp_stand_giph_init(&s->giph, params->groups, &rng, err));
        break;
    default: EMP_TRY(init_grouper(s, &rng, err));
    }

cleanup:
    if (st != EMP_OK) emp_stand_clear(s);
    return st;
}

void emp_stand_clear(emp_stand *s)
{
    emp_device_net_clear(&s->placer);
    emp_grouper_clear(&s->grouper);
    emp_op_features_destroy(s->ops);
    emp_free(s->x);
    emp_free(s->action);
    emp_free(s->weight);
    emp_stand_go_clear(&s->go);
    emp_stand_placeto_clear(&s->placeto);
    emp_stand_doppler_clear(&s->doppler);
    emp_stand_hsdag_clear(&s->hsdag);
    emp_stand_giph_clear(&s->giph);
    *s = (emp_stand){0};
}

/* Of the planner: forward, backward, clipping, Adam. */
static double update_planner(emp_stand *s, int32_t threads)
{
    const emp_draw draw = {.seed = s->params.seed, .threads = threads};
    emp_params    *p = emp_stand_parameters(s);
    double         loss = 0.0, factor = -1.0;

    p->threads = threads;
    if (s->params.kind == EMP_STAND_PLACER) {
        emp_device_net_run(&s->placer, s->x, s->params.groups, s->params.samples, &draw,
                           &(emp_exploration){0}, s->action);
        for (int32_t k = 0; k < s->params.samples; k++)
            loss -= s->weight[k] * s->placer.log_prob[k];
        emp_device_net_backward(&s->placer, s->weight, 0.0, threads);
    } else {
        emp_grouper_run(&s->grouper, &draw, s->action);
        factor = -s->weight[0];
        loss = factor * s->grouper.log_prob;
    }
    emp_params_scale_gradient(p, factor);
    emp_params_clip(p, CLIP);
    emp_params_adam(p, &ADAM);
    return loss;
}

double emp_stand_update(emp_stand *s, int32_t threads)
{
    unsigned saved = emp_flush_begin();
    double   loss;

    switch (s->params.kind) {
    case EMP_STAND_GO: loss = emp_stand_go_update(&s->go, threads); break;
    case EMP_STAND_PLACETO: loss = emp_stand_placeto_update(&s->placeto, threads); break;
    case EMP_STAND_DOPPLER: loss = emp_stand_doppler_update(&s->doppler, threads); break;
    case EMP_STAND_HSDAG: loss = emp_stand_hsdag_update(&s->hsdag, threads); break;
    case EMP_STAND_GIPH: loss = emp_stand_giph_update(&s->giph); break;
    default: loss = update_planner(s, threads);
    }
    emp_flush_end(saved);
    return loss;
}

/* ---- the file for peers ---- */

static void write_planner(const emp_stand *s, FILE *stream)
{
    bool              is_placer = s->params.kind == EMP_STAND_PLACER;
    const emp_params *p = is_placer ? &s->placer.params : &s->grouper.params;

    fprintf(stream, "%s temperature=%g tanh_constant=%g lr=%g epsilon=%g clip=%g\n",
            emp_stand_name(s->params.kind), TEMPERATURE, TANH_CONSTANT,
            ADAM.learning_rate, ADAM.epsilon, CLIP);
    for (int32_t i = 0; i < p->slice_count; i++)
        emp_stand_write_reals(stream, p->slice[i].name, emp_params_value(p, i),
                              p->slice[i].rows, p->slice[i].cols);
    if (is_placer) {
        emp_stand_write_reals(stream, "x", s->x, s->params.groups,
                              s->placer.shape.inputs);
        emp_stand_write_ints(stream, "device", s->action, s->params.samples,
                             s->params.groups);
        emp_stand_write_doubles(stream, "weight", s->weight, s->params.samples, 1);
    } else {
        emp_stand_write_reals(stream, "value", s->ops->value, s->params.ops,
                              EMP_OP_FEATURES);
        emp_stand_write_ints(stream, "type", s->ops->type, 1, s->params.ops);
        emp_stand_write_ints(stream, "group", s->action, 1, s->params.ops);
        emp_stand_write_doubles(stream, "weight", s->weight, 1, 1);
    }
}

void emp_stand_write(const emp_stand *s, FILE *stream)
{
    switch (s->params.kind) {
    case EMP_STAND_GO: emp_stand_go_write(&s->go, stream); break;
    case EMP_STAND_PLACETO: emp_stand_placeto_write(&s->placeto, stream); break;
    case EMP_STAND_DOPPLER: emp_stand_doppler_write(&s->doppler, stream); break;
    case EMP_STAND_HSDAG: emp_stand_hsdag_write(&s->hsdag, stream); break;
    case EMP_STAND_GIPH: emp_stand_giph_write(&s->giph, stream); break;
    default: write_planner(s, stream);
    }
}

/* ---- how much work that is ---- */

/* Each weight meets each row three times: forward, and for two gradients. */
static emp_stand_work placer_work(const emp_stand *s)
{
    double E = s->placer.shape.inputs, H = s->placer.shape.hidden, D = DEVICES;
    double S = s->params.groups, K = s->params.samples;
    double encoder = 4 * H * H, decoder = 5 * H * H; /* with the query */
    double input = 2 * 2 * S * E * 4 * H, memory = 3 * S * 2 * H * H;
    double image = 3 * (D + 1) * H * 4 * H, out = 3 * K * S * 2 * H * D;
    double attention = 6 * K * S * S * H;
    double weights = 2 * S * encoder + K * S * decoder;

    return (emp_stand_work){.large_flops =
                                2 * (input + memory + image + out + attention + weights),
                            .stream = {{encoder, 2 * 2 * S, 1}, {decoder, 2 * S, K}}};
}

/* Features have no gradient. */
static emp_stand_work grouper_work(const emp_stand *s)
{
    double H = EMP_STAND_GROUPER_HIDDEN, rows = s->params.ops;

    return (emp_stand_work){.large_flops = 2 * rows * H *
                                           (2 * EMP_OP_FEATURES + 3 * s->params.groups)};
}

emp_stand_work emp_stand_work_of(const emp_stand *s)
{
    switch (s->params.kind) {
    case EMP_STAND_PLACER: return placer_work(s);
    case EMP_STAND_GO: return emp_stand_go_work(&s->go);
    case EMP_STAND_PLACETO: return emp_stand_placeto_work(&s->placeto);
    case EMP_STAND_DOPPLER: return emp_stand_doppler_work(&s->doppler);
    case EMP_STAND_HSDAG: return emp_stand_hsdag_work(&s->hsdag);
    case EMP_STAND_GIPH: return emp_stand_giph_work(&s->giph);
    default: return grouper_work(s);
    }
}

double emp_stand_flops(const emp_stand_work *work)
{
    double sum = work->large_flops;

    for (int i = 0; i < 2; i++)
        sum +=
            2 * work->stream[i].weights * work->stream[i].passes * work->stream[i].rows;
    return sum;
}

double emp_stand_stream_bytes(const emp_stand_work *work)
{
    double sum = 0;

    for (int i = 0; i < 2; i++)
        sum +=
            (double)sizeof(emp_real) * work->stream[i].weights * work->stream[i].passes;
    return sum;
}
