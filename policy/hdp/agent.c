// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/agent.h"

#include <math.h>
#include <string.h>

#include "base/blas/openblas.h"
#include "base/mem.h"
#include "policy/features/group_features.h"
#include "policy/nn/flush.h"

/* Streams of random numbers: initial weights, and one per update. */
enum { STREAM_WEIGHTS = 0, STREAM_UPDATES = 1 };

enum {
    GROUPER_ENTROPY = 3,
    PLACER_ENTROPY,
    GROUPER_LOG_PROB,
    PLACER_LOG_PROB,
    GROUPER_NORM,
    PLACER_NORM,
    GROUPS_USED,
    METRICS
};

static const char *const metric_names[METRICS] = {"loss",
                                                  "reward",
                                                  "baseline",
                                                  "grouper_entropy",
                                                  "placer_entropy",
                                                  "grouper_log_prob",
                                                  "placer_log_prob",
                                                  "grouper_gradient_norm",
                                                  "placer_gradient_norm",
                                                  "groups_used"};

/* How steep the hidden units are that tell the first groups, and how sharply they do. */
static const double RANGES_SLOPE = 10.0, RANGES_GAIN = 3000.0;

static emp_status init_networks(emp_hdp_agent *a, int32_t device_count, emp_error *err)
{
    const emp_hdp_options *o = &a->options;
    emp_rng                rng;

    EMP_CHECK(emp_grouper_init(&a->grouper,
                               &(emp_grouper_shape){.hidden = o->grouper_hidden,
                                                    .groups = o->groups,
                                                    .type_width = o->type_width,
                                                    .activation = EMP_ACTIVATION_TANH},
                               a->learner.ops, err));
    EMP_CHECK(emp_device_net_init(
        &a->net,
        &(emp_device_net_shape){.inputs =
                                    emp_group_feature_count(a->learner.ops, o->groups),
                                .hidden = o->hidden,
                                .devices = device_count,
                                .max_steps = o->groups,
                                .max_samples = o->learner.samples,
                                .temperature = o->temperature,
                                .tanh_constant = o->tanh_constant},
        err));
    emp_rng_init(&rng, a->learner.seed, STREAM_WEIGHTS, 0);
    if (o->ranges)
        EMP_CHECK(
            emp_grouper_start_ranges(&a->grouper, RANGES_SLOPE, RANGES_GAIN, &rng, err));
    else
        emp_grouper_randomize(&a->grouper, &rng);
    emp_device_net_randomize(&a->net, o->placer_gain, &rng);
    return EMP_OK;
}

void emp_hdp_agent_clear(emp_hdp_agent *a)
{
    emp_op_features_destroy(a->learner.ops);
    emp_grouper_clear(&a->grouper);
    emp_device_net_clear(&a->net);
    emp_free(a->order);
    emp_free(a->step_of_group);
    emp_free(a->group_sums);
    emp_free(a->x);
    *a = (emp_hdp_agent){0};
}

/* Draws a grouping, or takes the one that is given or fixed. */
static void group_ops(emp_hdp_agent *a, const emp_draw *draw, const int32_t *given)
{
    if (given != NULL || a->fixed_groups == NULL) {
        emp_grouper_run(&a->grouper, draw, given);
        return;
    }
    memcpy(a->grouper.group_of_row, a->fixed_groups,
           (size_t)a->learner.ops->row_count * sizeof *a->fixed_groups);
}

static emp_draw draw_of(const emp_learner *l, uint64_t seed)
{
    return (emp_draw){.seed = seed,
                      .update = (uint32_t)(STREAM_UPDATES + l->update),
                      .threads = l->threads};
}

/* Sets that of the grouper, too. */
static emp_exploration explore(emp_hdp_agent *a)
{
    const emp_hdp_options *o = &a->options;
    double                 noise = a->learner.update < o->updates_noise ? o->noise : 0.0;
    bool                   is_gaussian = o->noise_form == EMP_NOISE_GAUSSIAN;

    a->grouper.noise = is_gaussian ? noise : 0.0;
    return (emp_exploration){.noise = is_gaussian ? 0.0 : noise,
                             .logits_noise = is_gaussian ? noise : 0.0,
                             .run_shortest = o->run_shortest,
                             .run_longest = o->run_longest};
}

void emp_hdp_agent_propose(emp_hdp_agent *a, int32_t samples, const int32_t *groups,
                           const int32_t *devices)
{
    const emp_hdp_options *o = &a->options;
    emp_learner           *l = &a->learner;
    int32_t                group_count = a->grouper.shape.groups;
    const emp_draw         draw = draw_of(l, l->draw_seed);
    const emp_exploration  how = explore(a);
    unsigned               saved = emp_flush_begin();

    l->drawn = samples;
    group_ops(a, &draw, groups);
    a->used = emp_group_order(a->order, l->ops, a->grouper.group_of_row, group_count,
                              o->order, o->empty_groups, l->seed, a->group_sums);
    emp_group_features(a->x, l->ops, a->grouper.group_of_row, group_count, a->order,
                       a->used, a->step_of_group);
    emp_device_net_run(&a->net, a->x, a->used, samples, &draw, &how, devices);
    emp_flush_end(saved);
}

/* The defect of the released code: its update runs the networks anew, which draw other
 * groups and devices, and feeds the placer no groups. */
static void draw_anew(emp_hdp_agent *a)
{
    emp_learner          *l = &a->learner;
    const emp_draw        draw = draw_of(l, ~l->draw_seed);
    const emp_exploration how = explore(a);

    group_ops(a, &draw, NULL);
    memset(a->x, 0, (size_t)a->used * (size_t)a->net.shape.inputs * sizeof *a->x);
    emp_device_net_run(&a->net, a->x, a->used, l->drawn, &draw, &how, NULL);
}

static void propose(emp_learner *learner, int32_t samples)
{
    emp_hdp_agent_propose((emp_hdp_agent *)learner, samples, NULL, NULL);
}

static emp_device_id device(const emp_learner *learner, int32_t sample, int32_t row)
{
    const emp_hdp_agent *a = (const emp_hdp_agent *)learner;
    int32_t              step = a->step_of_group[a->grouper.group_of_row[row]];

    return a->net.device[sample * a->net.steps + step];
}

/* The gradient of the one grouping is weighted by all of its samples. */
static double take_gradients(emp_learner *learner, const double *weight, int32_t own,
                             double entropy)
{
    emp_hdp_agent *a = (emp_hdp_agent *)learner;
    double         advantage = 0.0, loss;

    if (a->options.redraw) draw_anew(a);
    for (int32_t k = 0; k < own; k++) advantage += weight[k];
    loss = -advantage * a->grouper.log_prob;
    for (int32_t k = 0; k < own; k++) loss -= weight[k] * a->net.log_prob[k];
    if (a->fixed_groups == NULL) emp_params_scale_gradient(&a->grouper.params, advantage);
    emp_device_net_backward(&a->net, weight, entropy, learner->threads);
    return loss;
}

static void report(emp_learner *learner)
{
    const emp_hdp_agent *a = (const emp_hdp_agent *)learner;
    emp_method_metric   *metric = learner->metric;

    metric[GROUPER_ENTROPY].value = a->grouper.entropy;
    metric[PLACER_ENTROPY].value = emp_learner_mean(a->net.entropy, a->net.samples);
    metric[GROUPER_LOG_PROB].value = a->grouper.log_prob;
    metric[PLACER_LOG_PROB].value = emp_learner_mean(a->net.log_prob, a->net.samples);
    metric[GROUPS_USED].value = a->used;
}

static const emp_learner_type type = {.metric_count = METRICS,
                                      .metrics = metric_names,
                                      .propose = propose,
                                      .device = device,
                                      .take_gradients = take_gradients,
                                      .report = report};

emp_status emp_hdp_agent_init(emp_hdp_agent *a, emp_op_features *ops,
                              int32_t device_count, const emp_hdp_options *options,
                              uint64_t seed, int32_t threads, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     groups = (size_t)options->groups;

    *a = (emp_hdp_agent){.options = *options};
    a->learner = emp_learner_start(&type, &options->learner, ops, seed, threads);
    EMP_TRY(emp_openblas_open(err));
    EMP_TRY(init_networks(a, device_count, err));
    emp_learner_add(&a->learner,
                    EMP_LEARNER_NET("grouper_", &a->grouper.params, GROUPER_NORM));
    emp_learner_add(&a->learner, EMP_LEARNER_NET("placer_", &a->net.params, PLACER_NORM));
    EMP_TRY(EMP_ALLOC(a->order, groups));
    EMP_TRY(EMP_ALLOC(a->step_of_group, groups));
    EMP_TRY(EMP_ALLOC(a->group_sums, 2 * groups));
    EMP_TRY(EMP_ALLOC(a->x, groups * (size_t)a->net.shape.inputs));

cleanup:
    if (st != EMP_OK) emp_hdp_agent_clear(a);
    return st;
}

void emp_hdp_agent_fix_groups(emp_hdp_agent *a, const int32_t *groups)
{
    a->fixed_groups = groups;
    a->learner.net[0].is_fixed = true;
}
