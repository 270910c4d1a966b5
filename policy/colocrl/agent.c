// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/colocrl/agent.h"

#include <math.h>
#include <string.h>

#include "policy/nn/blas.h"
#include "policy/nn/flush.h"

/* Streams of random numbers: initial weights, and one per update. */
enum { STREAM_WEIGHTS = 0, STREAM_UPDATES = 1 };

/* Metrics that only the step knows. */
enum { NET_NORM = 5, EMBEDDING_NORM = 6 };

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
                                                    .max_samples = o->samples,
                                                    .temperature = o->temperature,
                                                    .tanh_constant = o->tanh_constant,
                                                    .learned_inputs = a->groups.width},
                            err));
    emp_rng_init(&rng, a->seed, STREAM_WEIGHTS, 0);
    emp_params_glorot(&a->groups.params, 0, 1.0, &rng);
    emp_device_net_randomize(&a->net, o->placer_gain, &rng);
    a->groups.params.threads = a->net.params.threads = a->threads;
    return EMP_OK;
}

static const char *const metric_names[EMP_COLOCRL_METRICS] = {"loss",
                                                              "reward",
                                                              "baseline",
                                                              "placer_entropy",
                                                              "placer_log_prob",
                                                              "placer_gradient_norm",
                                                              "embedding_gradient_norm",
                                                              "groups_used"};

emp_status emp_colocrl_agent_init(emp_colocrl_agent *a, emp_op_features *ops,
                                  const int32_t *group_of_row, int32_t group_count,
                                  int32_t                    device_count,
                                  const emp_colocrl_options *options, uint64_t seed,
                                  int32_t threads, emp_error *err)
{
    emp_status st = EMP_OK;

    *a = (emp_colocrl_agent){.options = *options,
                             .ops = ops,
                             .seed = seed,
                             .draw_seed = seed,
                             .threads = threads < 1 ? 1 : threads};
    if (group_count > options->max_groups) {
        EMP_FAIL(EMP_EINVAL,
                 "colocrl: co-location leaves %d groups, more than max_groups=%d; raise "
                 "it, at a price in memory that grows with its square, or let a method "
                 "such as hdp learn groups",
                 group_count, options->max_groups);
    }
    for (int i = 0; i < EMP_COLOCRL_METRICS; i++)
        a->metric[i] = (emp_placer_metric){metric_names[i], NAN};
    emp_blas_single_thread();
    EMP_TRY(emp_group_embedding_init(&a->groups, ops, group_of_row, group_count,
                                     options->type_width, options->order, seed, err));
    EMP_TRY(init_network(a, device_count, err));

cleanup:
    if (st != EMP_OK) emp_colocrl_agent_clear(a);
    return st;
}

void emp_colocrl_agent_clear(emp_colocrl_agent *a)
{
    emp_op_features_destroy(a->ops);
    emp_group_embedding_clear(&a->groups);
    emp_device_net_clear(&a->net);
    *a = (emp_colocrl_agent){0};
}

void emp_colocrl_agent_propose(emp_colocrl_agent *a, int32_t samples,
                               const int32_t *devices)
{
    const emp_draw        draw = {.seed = a->draw_seed,
                                  .update = (uint32_t)(STREAM_UPDATES + a->update),
                                  .threads = a->threads};
    const emp_exploration explore = {.run_shortest = a->options.run_shortest,
                                     .run_longest = a->options.run_longest};
    unsigned              saved = emp_flush_begin();

    emp_group_embedding_forward(&a->groups, a->threads);
    emp_device_net_run(&a->net, a->groups.x, a->groups.steps, samples, &draw, &explore,
                       devices);
    emp_flush_end(saved);
}

emp_device_id emp_colocrl_agent_device(const emp_colocrl_agent *a, int32_t sample,
                                       int32_t row)
{
    return a->net.device[sample * a->net.steps + a->groups.step_of_row[row]];
}

/* Returns the gradient's norm before clipping. */
static double ascend(emp_params *params, const emp_colocrl_options *o)
{
    const emp_adam adam = {.learning_rate = o->lr,
                           .beta1 = o->beta1,
                           .beta2 = o->beta2,
                           .epsilon = o->epsilon};

    return emp_params_ascend(params, o->clip, &adam);
}

static double mean(const double *values, int32_t count)
{
    double sum = 0.0;

    for (int32_t i = 0; i < count; i++) sum += values[i];
    return sum / count;
}

/* Leaves the gradients of network and embedding; returns the loss. */
static double take_gradients(emp_colocrl_agent *a, const double *weight, int32_t own,
                             double entropy)
{
    double loss = 0.0;

    for (int32_t k = 0; k < own; k++) loss -= weight[k] * a->net.log_prob[k];
    emp_device_net_backward(&a->net, weight, entropy, a->threads);
    emp_group_embedding_backward(&a->groups, a->net.d_x, a->threads);
    return loss;
}

void emp_colocrl_agent_backward(emp_colocrl_agent *a, const emp_score *scores,
                                int32_t count, int32_t first, int32_t own)
{
    const emp_colocrl_options *o = &a->options;
    const emp_reinforce_rules  rules = {.failure = o->failure,
                                        .updates_failures = o->updates_failures,
                                        .baseline_decay = o->baseline_decay,
                                        .baseline_first = o->baseline_first};
    double                     loss = 0.0;
    unsigned                   saved = emp_flush_begin();
    emp_judgement j = emp_reinforce_judge(&rules, &a->baseline, a->update, scores, count);

    a->has_gradient = j.count > 0;
    if (own == 0) {
        emp_params_zero_gradient(&a->groups.params);
        emp_params_zero_gradient(&a->net.params);
    } else if (j.count > 0) {
        loss =
            take_gradients(a, j.weight + first, own, o->entropy * ((double)own / count));
    }
    emp_flush_end(saved);
    const double value[EMP_COLOCRL_METRICS] = {loss,
                                               j.reward,
                                               a->baseline.value,
                                               mean(a->net.entropy, a->net.samples),
                                               mean(a->net.log_prob, a->net.samples),
                                               NAN,
                                               NAN,
                                               a->groups.steps};
    for (int i = 0; i < EMP_COLOCRL_METRICS; i++) a->metric[i].value = value[i];
}

void emp_colocrl_agent_step(emp_colocrl_agent *a)
{
    bool     is_learning = a->has_gradient != 0;
    unsigned saved = emp_flush_begin();

    a->metric[NET_NORM].value = is_learning ? ascend(&a->net.params, &a->options) : 0.0;
    a->metric[EMBEDDING_NORM].value =
        is_learning ? ascend(&a->groups.params, &a->options) : 0.0;
    a->update++;
    emp_flush_end(saved);
}

int32_t emp_colocrl_agent_list_gradient(emp_colocrl_agent *a,
                                        emp_named_array    arrays[EMP_MAX_NAMED_ARRAYS])
{
    emp_params           *types = &a->groups.params, *placer = &a->net.params;
    const emp_named_array all[] = {
        {"has_gradient", EMP_ARRAY_INT32, 1, &a->has_gradient},
        {"embedding_gradient", EMP_ARRAY_REAL, types->count, types->gradient},
        {"placer_gradient", EMP_ARRAY_REAL, placer->count, placer->gradient},
    };

    memcpy(arrays, all, sizeof all);
    return (int32_t)(sizeof all / sizeof *all);
}

int32_t emp_colocrl_agent_list_values(emp_colocrl_agent *a,
                                      emp_named_array    arrays[EMP_MAX_NAMED_ARRAYS])
{
    emp_params           *types = &a->groups.params, *placer = &a->net.params;
    const emp_named_array all[] = {
        {"update", EMP_ARRAY_INT64, 1, &a->update},
        {"embedding_value", EMP_ARRAY_REAL, types->count, types->value},
        {"placer_value", EMP_ARRAY_REAL, placer->count, placer->value},
    };

    memcpy(arrays, all, sizeof all);
    return (int32_t)(sizeof all / sizeof *all);
}

int32_t emp_colocrl_agent_list_state(emp_colocrl_agent *a,
                                     emp_named_array    arrays[EMP_MAX_NAMED_ARRAYS])
{
    emp_params           *types = &a->groups.params, *placer = &a->net.params;
    const emp_named_array all[] = {
        {"update", EMP_ARRAY_INT64, 1, &a->update},
        {"baseline", EMP_ARRAY_DOUBLE, 1, &a->baseline.value},
        {"has_baseline", EMP_ARRAY_INT32, 1, &a->baseline.is_started},
        {"embedding_step", EMP_ARRAY_INT64, 1, &types->step},
        {"embedding_value", EMP_ARRAY_REAL, types->count, types->value},
        {"embedding_moment1", EMP_ARRAY_REAL, types->count, types->moment1},
        {"embedding_moment2", EMP_ARRAY_REAL, types->count, types->moment2},
        {"placer_step", EMP_ARRAY_INT64, 1, &placer->step},
        {"placer_value", EMP_ARRAY_REAL, placer->count, placer->value},
        {"placer_moment1", EMP_ARRAY_REAL, placer->count, placer->moment1},
        {"placer_moment2", EMP_ARRAY_REAL, placer->count, placer->moment2},
    };

    memcpy(arrays, all, sizeof all);
    return (int32_t)(sizeof all / sizeof *all);
}
