// SPDX-License-Identifier: GPL-3.0-or-later
/* The two networks of the hierarchical planner. */
#include "base/mem.h"
#include "bench/speed/networks.h"
#include "policy/hdp/hdp.h"
#include "policy/seq2seq/device_net.h"

/* As the preset `paper` on a graph of 40 types of ops, which are 312 numbers a group. */
enum { TYPES = 40, DEVICES = 5, TYPE_WIDTH = 20, GROUPER_HIDDEN = 64 };

static const double   TEMPERATURE = 10.0, TANH_CONSTANT = 5.0, CLIP = 1.0;
static const emp_adam ADAM = {
    .learning_rate = 0.1, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 5.0};

/* One of the two. */
typedef struct {
    emp_network_params params;
    emp_device_net     placer;
    emp_grouper        grouper;
    emp_op_features   *ops;    /* of the grouper */
    emp_real          *x;      /* of the placer: [group][input] */
    int32_t           *action; /* devices by sample and group, or groups by op */
    double            *weight; /* [sample] */
} state;

static emp_status init_placer(void *self, const emp_network_params *params, emp_rng *rng,
                              emp_error *err)
{
    state                     *s = (state *)self;
    int32_t                    steps = params->size;
    const emp_device_net_shape shape = {.inputs = TYPES + EMP_ROW_SIZES + steps,
                                        .hidden = params->hidden,
                                        .devices = DEVICES,
                                        .max_steps = steps,
                                        .max_samples = params->samples,
                                        .temperature = TEMPERATURE,
                                        .tanh_constant = TANH_CONSTANT};
    size_t                     inputs = (size_t)steps * (size_t)shape.inputs;
    size_t                     actions = (size_t)steps * (size_t)params->samples;

    s->params = *params;
    EMP_CHECK(emp_device_net_init(&s->placer, &shape, err));
    emp_device_net_randomize(&s->placer, 1.0, rng);
    EMP_CHECK(EMP_ALLOC(s->x, inputs));
    EMP_CHECK(EMP_ALLOC(s->action, actions));
    EMP_CHECK(EMP_ALLOC(s->weight, (size_t)params->samples));
    for (size_t i = 0; i < inputs; i++) s->x[i] = (emp_real)emp_rng_uniform(rng);
    for (size_t i = 0; i < actions; i++)
        s->action[i] = (int32_t)emp_rng_below(rng, DEVICES);
    for (int32_t k = 0; k < params->samples; k++)
        s->weight[k] = (emp_real)(emp_rng_normal(rng) / params->samples);
    return EMP_OK;
}

static emp_status init_grouper(void *self, const emp_network_params *params, emp_rng *rng,
                               emp_error *err)
{
    state                  *s = (state *)self;
    int32_t                 rows = params->size;
    const emp_grouper_shape shape = {.hidden = GROUPER_HIDDEN,
                                     .groups = params->groups,
                                     .type_width = TYPE_WIDTH,
                                     .activation = EMP_ACTIVATION_TANH};

    s->params = *params;
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
        s->action[i] = (int32_t)emp_rng_below(rng, (uint32_t)params->groups);
    s->weight[0] = 0.25;
    return EMP_OK;
}

static void clear(void *self)
{
    state *s = (state *)self;

    emp_device_net_clear(&s->placer);
    emp_grouper_clear(&s->grouper);
    emp_op_features_destroy(s->ops);
    emp_free(s->x);
    emp_free(s->action);
    emp_free(s->weight);
}

/* ---- an update: forward, backward, clipping, Adam; returns minus the weighted ln p ---- */

static void ascend(emp_params *p, double factor)
{
    emp_params_scale_gradient(p, factor);
    emp_params_clip(p, CLIP);
    emp_params_adam(p, &ADAM);
}

static double update_placer(void *self, int32_t threads)
{
    state         *s = (state *)self;
    const emp_draw draw = {.seed = s->params.seed, .threads = threads};
    double         loss = 0.0;

    s->placer.params.threads = threads;
    emp_device_net_run(&s->placer, s->x, s->params.size, s->params.samples, &draw,
                       &(emp_exploration){0}, s->action);
    for (int32_t k = 0; k < s->params.samples; k++)
        loss -= s->weight[k] * s->placer.log_prob[k];
    emp_device_net_backward(&s->placer, s->weight, 0.0, threads);
    ascend(&s->placer.params, -1.0);
    return loss;
}

static double update_grouper(void *self, int32_t threads)
{
    state         *s = (state *)self;
    const emp_draw draw = {.seed = s->params.seed, .threads = threads};

    s->grouper.params.threads = threads;
    emp_grouper_run(&s->grouper, &draw, s->action);
    const double loss = -s->weight[0] * s->grouper.log_prob;
    ascend(&s->grouper.params, -s->weight[0]);
    return loss;
}

/* ---- the file for the peer ---- */

static void write_head(const char *name, const emp_params *p, FILE *stream)
{
    fprintf(stream, "%s temperature=%g tanh_constant=%g lr=%g epsilon=%g clip=%g\n", name,
            TEMPERATURE, TANH_CONSTANT, ADAM.learning_rate, ADAM.epsilon, CLIP);
    for (int32_t i = 0; i < p->slice_count; i++)
        emp_network_write_reals(stream, p->slice[i].name, emp_params_value(p, i),
                                p->slice[i].rows, p->slice[i].cols);
}

static void write_placer(void *self, FILE *stream)
{
    const state *s = (state *)self;

    write_head("placer", &s->placer.params, stream);
    emp_network_write_reals(stream, "x", s->x, s->params.size, s->placer.shape.inputs);
    emp_network_write_ints(stream, "device", s->action, s->params.samples,
                           s->params.size);
    emp_network_write_doubles(stream, "weight", s->weight, s->params.samples, 1);
}

static void write_grouper(void *self, FILE *stream)
{
    const state *s = (state *)self;

    write_head("grouper", &s->grouper.params, stream);
    emp_network_write_reals(stream, "value", s->ops->value, s->params.size,
                            EMP_OP_FEATURES);
    emp_network_write_ints(stream, "type", s->ops->type, 1, s->params.size);
    emp_network_write_ints(stream, "group", s->action, 1, s->params.size);
    emp_network_write_doubles(stream, "weight", s->weight, 1, 1);
}

static emp_params *params_of_placer(void *self)
{
    return &((state *)self)->placer.params;
}

static emp_params *params_of_grouper(void *self)
{
    return &((state *)self)->grouper.params;
}

const emp_network emp_network_placer = {
    "placer",      sizeof(state),    0,           0, init_placer, clear,
    update_placer, params_of_placer, write_placer};

const emp_network emp_network_grouper = {
    "grouper",      sizeof(state),     GROUPER_HIDDEN, 1, init_grouper, clear,
    update_grouper, params_of_grouper, write_grouper};
