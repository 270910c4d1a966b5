// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/agent.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "policy/features/group_features.h"
#include "policy/hdp/update.h"
#include "policy/nn/blas.h"
#include "policy/nn/flush.h"

/* Streams of random numbers: initial weights, and one per update. */
enum { STREAM_WEIGHTS = 0, STREAM_UPDATES = 1 };

/* Metrics that only the step knows. */
enum { GROUPER_NORM = 7, PLACER_NORM = 8 };

static const char *const metric_names[EMP_HDP_METRICS] = {"loss",
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
                               a->ops, err));
    EMP_CHECK(emp_device_net_init(
        &a->net,
        &(emp_device_net_shape){.inputs = emp_group_feature_count(a->ops, o->groups),
                                .hidden = o->hidden,
                                .devices = device_count,
                                .max_steps = o->groups,
                                .max_samples = o->samples,
                                .temperature = o->temperature,
                                .tanh_constant = o->tanh_constant},
        err));
    emp_rng_init(&rng, a->seed, STREAM_WEIGHTS, 0);
    if (o->ranges)
        EMP_CHECK(
            emp_grouper_start_ranges(&a->grouper, RANGES_SLOPE, RANGES_GAIN, &rng, err));
    else
        emp_grouper_randomize(&a->grouper, &rng);
    emp_device_net_randomize(&a->net, o->placer_gain, &rng);
    return EMP_OK;
}

emp_status emp_hdp_agent_init(emp_hdp_agent *a, emp_op_features *ops,
                              int32_t device_count, const emp_hdp_options *options,
                              uint64_t seed, int32_t threads, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     groups = (size_t)options->groups;

    *a = (emp_hdp_agent){.options = *options,
                         .ops = ops,
                         .seed = seed,
                         .draw_seed = seed,
                         .threads = threads < 1 ? 1 : threads};
    for (int i = 0; i < EMP_HDP_METRICS; i++)
        a->metric[i] = (emp_placer_metric){metric_names[i], NAN};
    emp_blas_single_thread();
    EMP_TRY(init_networks(a, device_count, err));
    a->grouper.params.threads = a->net.params.threads = a->threads;
    a->order = EMP_NEW_ARRAY(int32_t, groups);
    a->step_of_group = EMP_NEW_ARRAY(int32_t, groups);
    a->group_sums = EMP_NEW_ARRAY(double, 2 * groups);
    a->x = EMP_NEW_ARRAY(emp_real, groups * (size_t)a->net.shape.inputs);
    if (!a->order || !a->step_of_group || !a->group_sums || !a->x) {
        EMP_FAIL(EMP_ENOMEM, "features of %zu groups", groups);
    }

cleanup:
    if (st != EMP_OK) emp_hdp_agent_clear(a);
    return st;
}

void emp_hdp_agent_clear(emp_hdp_agent *a)
{
    emp_op_features_destroy(a->ops);
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
           (size_t)a->ops->row_count * sizeof *a->fixed_groups);
}

void emp_hdp_agent_propose(emp_hdp_agent *a, int32_t samples, const int32_t *groups,
                           const int32_t *devices)
{
    const emp_hdp_options *o = &a->options;
    int32_t                group_count = a->grouper.shape.groups;
    bool                   is_noisy = (double)a->update < o->updates_noise;
    const emp_draw         draw = {.seed = a->draw_seed,
                                   .update = (uint32_t)(STREAM_UPDATES + a->update),
                                   .threads = a->threads};
    const emp_exploration  explore = {.noise = is_noisy ? o->noise : 0.0,
                                      .run_shortest = o->run_shortest,
                                      .run_longest = o->run_longest};
    unsigned               saved = emp_flush_begin();

    group_ops(a, &draw, groups);
    a->used = emp_group_order(a->order, a->ops, a->grouper.group_of_row, group_count,
                              o->order, a->seed, a->group_sums);
    emp_group_features(a->x, a->ops, a->grouper.group_of_row, group_count, a->order,
                       a->used, a->step_of_group);
    emp_device_net_run(&a->net, a->x, a->used, samples, &draw, &explore, devices);
    emp_flush_end(saved);
}

emp_device_id emp_hdp_agent_device(const emp_hdp_agent *a, int32_t sample, int32_t row)
{
    int32_t step = a->step_of_group[a->grouper.group_of_row[row]];

    return a->net.device[sample * a->net.steps + step];
}

static double sum_of(const double *values, int32_t count)
{
    double sum = 0.0;

    for (int32_t i = 0; i < count; i++) sum += values[i];
    return sum;
}

static double mean(const double *values, int32_t count)
{
    return sum_of(values, count) / count;
}

/* Leaves the gradients of both networks, that of the one grouping weighted by all of its
 * samples; returns the loss. */
static double take_gradients(emp_hdp_agent *a, const double *weight, int32_t own,
                             double entropy)
{
    double advantage = sum_of(weight, own);
    double loss = -advantage * a->grouper.log_prob;

    for (int32_t k = 0; k < own; k++) loss -= weight[k] * a->net.log_prob[k];
    if (a->fixed_groups == NULL) emp_params_scale_gradient(&a->grouper.params, advantage);
    emp_device_net_backward(&a->net, weight, entropy, a->threads);
    return loss;
}

void emp_hdp_agent_backward(emp_hdp_agent *a, const emp_score *scores, int32_t count,
                            int32_t first, int32_t own)
{
    const emp_hdp_options    *o = &a->options;
    const emp_reinforce_rules rules = emp_hdp_rules(o);
    emp_judgement             j;
    double                    loss = 0.0;
    unsigned                  saved = emp_flush_begin();

    j = emp_reinforce_judge(&rules, &a->baseline, a->update, scores, count);
    a->has_gradient = j.count > 0;
    if (own == 0) {
        emp_params_zero_gradient(&a->grouper.params);
        emp_params_zero_gradient(&a->net.params);
    } else if (j.count > 0) {
        loss =
            take_gradients(a, j.weight + first, own, o->entropy * ((double)own / count));
    }
    emp_flush_end(saved);
    const double value[EMP_HDP_METRICS] = {loss,
                                           j.reward,
                                           a->baseline.value,
                                           a->grouper.entropy,
                                           mean(a->net.entropy, a->net.samples),
                                           a->grouper.log_prob,
                                           mean(a->net.log_prob, a->net.samples),
                                           NAN,
                                           NAN,
                                           a->used};
    for (int i = 0; i < EMP_HDP_METRICS; i++) a->metric[i].value = value[i];
}

void emp_hdp_agent_step(emp_hdp_agent *a)
{
    const emp_hdp_options *o = &a->options;
    double                 grouper_norm = 0.0, placer_norm = 0.0;
    unsigned               saved = emp_flush_begin();

    if (a->has_gradient != 0) {
        if (a->fixed_groups == NULL) grouper_norm = emp_hdp_ascend(&a->grouper.params, o);
        placer_norm = emp_hdp_ascend(&a->net.params, o);
    }
    a->update++;
    emp_flush_end(saved);
    a->metric[GROUPER_NORM].value = grouper_norm;
    a->metric[PLACER_NORM].value = placer_norm;
}

int32_t emp_hdp_agent_list_gradient(emp_hdp_agent  *a,
                                    emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    emp_params           *grouper = &a->grouper.params, *placer = &a->net.params;
    const emp_named_array all[] = {
        {"has_gradient", EMP_ARRAY_INT32, 1, &a->has_gradient},
        {"placer_gradient", EMP_ARRAY_REAL, placer->count, placer->gradient},
        {"grouper_gradient", EMP_ARRAY_REAL, grouper->count, grouper->gradient},
    };

    memcpy(arrays, all, sizeof all);
    return a->fixed_groups == NULL ? 3 : 2;
}

int32_t emp_hdp_agent_list_values(emp_hdp_agent  *a,
                                  emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    emp_params           *grouper = &a->grouper.params, *placer = &a->net.params;
    const emp_named_array all[] = {
        {"update", EMP_ARRAY_INT64, 1, &a->update},
        {"placer_value", EMP_ARRAY_REAL, placer->count, placer->value},
        {"grouper_value", EMP_ARRAY_REAL, grouper->count, grouper->value},
    };

    memcpy(arrays, all, sizeof all);
    return a->fixed_groups == NULL ? 3 : 2;
}

int32_t emp_hdp_agent_list_state(emp_hdp_agent  *a,
                                 emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    emp_params           *grouper = &a->grouper.params, *placer = &a->net.params;
    const emp_named_array all[] = {
        {"update", EMP_ARRAY_INT64, 1, &a->update},
        {"baseline", EMP_ARRAY_DOUBLE, 1, &a->baseline.value},
        {"has_baseline", EMP_ARRAY_INT32, 1, &a->baseline.is_started},
        {"grouper_step", EMP_ARRAY_INT64, 1, &grouper->step},
        {"grouper_value", EMP_ARRAY_REAL, grouper->count, grouper->value},
        {"grouper_moment1", EMP_ARRAY_REAL, grouper->count, grouper->moment1},
        {"grouper_moment2", EMP_ARRAY_REAL, grouper->count, grouper->moment2},
        {"placer_step", EMP_ARRAY_INT64, 1, &placer->step},
        {"placer_value", EMP_ARRAY_REAL, placer->count, placer->value},
        {"placer_moment1", EMP_ARRAY_REAL, placer->count, placer->moment1},
        {"placer_moment2", EMP_ARRAY_REAL, placer->count, placer->moment2},
    };

    memcpy(arrays, all, sizeof all);
    return sizeof all / sizeof *all;
}
