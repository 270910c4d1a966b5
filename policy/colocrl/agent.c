// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/colocrl/agent.h"

#include <math.h>

#include "base/blas/openblas.h"
#include "policy/nn/flush.h"

/* Streams of random numbers: initial weights, and one per update. */
enum { STREAM_WEIGHTS = 0, STREAM_UPDATES = 1 };

enum {
    PLACER_ENTROPY = 3,
    PLACER_LOG_PROB,
    PLACER_NORM,
    EMBEDDING_NORM,
    GROUPS_USED,
    METRICS
};

static emp_status init_network(emp_colocrl_agent *a, int32_t device_count, emp_error *err)
{
    const emp_colocrl_options *o = &a->options;
    emp_rng                    rng;

    EMP_CHECK(
        emp_device_net_init(&a->net,
                            &(emp_device_net_shape){.inputs = a->groups.inputs,
                                                    .hidden = o->hidden,
                                                    .devices = device_count,
                                                    .max_steps = a->groups.steps,
                                                    .max_samples = o->learner.samples,
                                                    .temperature = o->temperature,
                                                    .tanh_constant = o->tanh_constant,
                                                    .learned_inputs = a->groups.width},
                            err));
    emp_rng_init(&rng, a->learner.seed, STREAM_WEIGHTS, 0);
    emp_params_glorot(&a->groups.params, 0, 1.0, &rng);
    emp_device_net_randomize(&a->net, o->placer_gain, &rng);
    emp_learner_add(&a->learner,
                    EMP_LEARNER_NET("embedding_", &a->groups.params, EMBEDDING_NORM));
    emp_learner_add(&a->learner, EMP_LEARNER_NET("placer_", &a->net.params, PLACER_NORM));
    return EMP_OK;
}

static const char *const metric_names[METRICS] = {"loss",
                                                  "reward",
                                                  "baseline",
                                                  "placer_entropy",
                                                  "placer_log_prob",
                                                  "placer_gradient_norm",
                                                  "embedding_gradient_norm",
                                                  "groups_used"};

void emp_colocrl_agent_clear(emp_colocrl_agent *a)
{
    emp_op_features_destroy(a->learner.ops);
    emp_group_embedding_clear(&a->groups);
    emp_device_net_clear(&a->net);
    *a = (emp_colocrl_agent){0};
}

void emp_colocrl_agent_propose(emp_colocrl_agent *a, int32_t samples,
                               const int32_t *devices)
{
    emp_learner          *l = &a->learner;
    const emp_draw        draw = {.seed = l->draw_seed,
                                  .update = (uint32_t)(STREAM_UPDATES + l->update),
                                  .threads = l->threads};
    const emp_exploration explore = {.run_shortest = a->options.run_shortest,
                                     .run_longest = a->options.run_longest};
    unsigned              saved = emp_flush_begin();

    l->drawn = samples;
    emp_group_embedding_forward(&a->groups, l->threads);
    emp_device_net_run(&a->net, a->groups.x, a->groups.steps, samples, &draw, &explore,
                       devices);
    emp_flush_end(saved);
}

static void propose(emp_learner *learner, int32_t samples)
{
    emp_colocrl_agent_propose((emp_colocrl_agent *)learner, samples, NULL);
}

static emp_device_id device(const emp_learner *learner, int32_t sample, int32_t row)
{
    const emp_colocrl_agent *a = (const emp_colocrl_agent *)learner;

    return a->net.device[sample * a->net.steps + a->groups.step_of_row[row]];
}

static double take_gradients(emp_learner *learner, const double *weight, int32_t own,
                             double entropy)
{
    emp_colocrl_agent *a = (emp_colocrl_agent *)learner;
    double             loss = 0.0;

    for (int32_t k = 0; k < own; k++) loss -= weight[k] * a->net.log_prob[k];
    emp_device_net_backward(&a->net, weight, entropy, learner->threads);
    emp_group_embedding_backward(&a->groups, a->net.d_x, learner->threads);
    return loss;
}

static void report(emp_learner *learner)
{
    const emp_colocrl_agent *a = (const emp_colocrl_agent *)learner;
    emp_method_metric       *metric = learner->metric;

    metric[PLACER_ENTROPY].value = emp_learner_mean(a->net.entropy, a->net.samples);
    metric[PLACER_LOG_PROB].value = emp_learner_mean(a->net.log_prob, a->net.samples);
    metric[GROUPS_USED].value = a->groups.steps;
}

static const emp_learner_type type = {.metric_count = METRICS,
                                      .metrics = metric_names,
                                      .propose = propose,
                                      .device = device,
                                      .take_gradients = take_gradients,
                                      .report = report};

emp_status emp_colocrl_agent_init(emp_colocrl_agent *a, emp_op_features *ops,
                                  const int32_t *group_of_row, int32_t group_count,
                                  int32_t                    device_count,
                                  const emp_colocrl_options *options, uint64_t seed,
                                  int32_t threads, emp_error *err)
{
    emp_status st = EMP_OK;

    *a = (emp_colocrl_agent){.options = *options};
    a->learner = emp_learner_start(&type, &options->learner, ops, seed, threads);
    EMP_TRY(emp_openblas_open(err));
    a->learner.options.rules.form = EMP_REWARD_SQRT; /* no option: the paper has one */
    a->learner.options.rules.baseline_mean = false;  /* likewise */
    if (group_count > options->max_groups) {
        EMP_FAIL(EMP_EINVAL,
                 "colocrl: co-location leaves %d groups, more than max_groups=%d; raise "
                 "it, at a price in memory that grows with its square, or let a method "
                 "such as hdp learn groups",
                 group_count, options->max_groups);
    }
    EMP_TRY(emp_group_embedding_init(&a->groups, ops, group_of_row, group_count,
                                     options->type_width, options->order, seed, err));
    EMP_TRY(init_network(a, device_count, err));

cleanup:
    if (st != EMP_OK) emp_colocrl_agent_clear(a);
    return st;
}
