// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/go/agent.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/blas/openblas.h"
#include "policy/nn/flush.h"

/* Streams of random numbers: initial weights, and one per update. */
enum { STREAM_WEIGHTS = 0, STREAM_UPDATES = 1 };

enum { LOSS, REWARD, BASELINE, ENTROPY, GRADIENT_NORM, GREEDY_TIME };

static emp_status init_network(emp_go_agent *a, int32_t devices, emp_error *err)
{
    const emp_go_options *o = &a->options;
    const emp_go_shape    shape = {.type_width = o->type_width,
                                   .width = o->width,
                                   .graph_layers = o->graph_layers,
                                   .layers = o->layers,
                                   .heads = o->heads,
                                   .hidden = o->hidden,
                                   .segment = o->segment,
                                   .modulate = o->modulate,
                                   .has_memory = o->memory,
                                   .devices =
                                    devices > o->max_devices ? devices : o->max_devices,
                                   .threads = a->threads};
    emp_rng               rng;

    EMP_CHECK(emp_go_net_init(&a->net, &shape, &a->features, err));
    emp_rng_init(&rng, a->seed, STREAM_WEIGHTS, 0);
    emp_go_net_randomize(&a->net, o->head_gain, &rng);
    return EMP_OK;
}

static emp_status allocate(emp_go_agent *a, emp_error *err)
{
    const size_t rows = (size_t)a->features.count;
    const size_t all = rows * (size_t)a->net.shape.devices;

    a->ppo = (emp_row_ppo){.rows = a->features.count,
                           .choices = a->net.shape.devices,
                           .clip = a->options.clip_ratio,
                           .above = EMP_ADD_ARRAY(&a->arrays, emp_real, all),
                           .below = EMP_ADD_ARRAY(&a->arrays, emp_real, all)};
    a->drawn_from = EMP_ADD_ARRAY(&a->arrays, emp_real, all);
    a->choice = EMP_ADD_ARRAY(&a->arrays, uint8_t, rows * (size_t)a->options.samples);
    /* nodes that METIS leaves out may make a group more than there are nodes */
    a->gumbel = EMP_ADD_ARRAY(&a->arrays, float,
                              (all + (size_t)a->net.shape.devices) * (size_t)a->threads);
    a->device_of_node = EMP_ADD_ARRAY(&a->arrays, emp_device_id, rows);
    return a->arrays.is_short
               ? EMP_ERROR(EMP_ENOMEM, "samples of %d nodes", a->features.count)
               : EMP_OK;
}

static void name_metrics(emp_go_agent *a)
{
    static const char *const names[EMP_GO_METRICS] = {
        "loss", "reward", "baseline", "entropy", "gradient_norm", "greedy_time_s"};

    for (int32_t i = 0; i < EMP_GO_METRICS; i++)
        a->metric[i] = (emp_method_metric){names[i], NAN};
}

emp_status emp_go_agent_init(emp_go_agent *a, const emp_problem *problem,
                             const emp_go_options    *options,
                             const emp_method_params *params, emp_error *err)
{
    a->options = *options;
    a->seed = params->seed;
    a->budget = params->budget_evaluations;
    a->threads = params->threads < 1 ? 1 : params->threads;
    EMP_CHECK(emp_openblas_open(a->threads, err));
    name_metrics(a);
    EMP_CHECK(emp_node_graph_create(&a->nodes, problem, options->max_nodes, err));
    EMP_CHECK(emp_transferable_init(&a->features, a->nodes, problem, err));
    a->coupling = emp_coupling_none(a->features.count);
    if (options->draws == EMP_DRAWS_COUPLED)
        EMP_CHECK(emp_coupling_init(&a->coupling, a->nodes, &a->features, problem,
                                    params->seed, err));
    EMP_CHECK(init_network(a, problem->machine->device_count, err));
    return allocate(a, err);
}

void emp_go_agent_clear(emp_go_agent *a)
{
    emp_go_net_clear(&a->net);
    emp_coupling_clear(&a->coupling);
    emp_transferable_clear(&a->features);
    emp_node_graph_destroy(a->nodes);
    emp_arrays_clear(&a->arrays);
    *a = (emp_go_agent){0};
}

static void draw(emp_go_agent *a, int32_t sample)
{
    const int32_t devices = a->net.shape.devices;
    const int64_t stride = ((int64_t)a->features.count + 1) * devices;
    emp_rng       rng;

    emp_rng_init(&rng, a->seed, (uint32_t)(STREAM_UPDATES + a->update), (uint32_t)sample);
    emp_coupling_draw(&a->coupling, &a->choice[(int64_t)sample * a->features.count],
                      a->net.p, devices, a->gumbel + stride * omp_get_thread_num(), &rng);
}

void emp_go_agent_propose(emp_go_agent *a, int32_t samples)
{
    const int32_t rows = a->features.count, devices = a->net.shape.devices;
    unsigned      saved = emp_flush_begin();

    a->drawn = samples;
    a->metric[ENTROPY].value = emp_go_net_forward(&a->net);
    memcpy(a->drawn_from, a->net.p,
           (size_t)rows * (size_t)devices * sizeof *a->drawn_from);
    emp_coupling_argmax(a->choice, a->net.p, rows, devices);
#pragma omp parallel for num_threads(a->threads)
    for (int32_t k = 1; k < samples; k++) draw(a, k);
    emp_flush_end(saved);
}

static double reward_of(const emp_go_agent *a, const emp_score *score)
{
    if (a->options.failure == EMP_FAILURE_GRADED)
        return -sqrt(score->step_time_s / a->reference_s) - 3.0 * score->overflow_frac;
    return score->is_feasible ? -sqrt(score->step_time_s) : -10.0;
}

/* Falls from the first to the last weight over the budget. */
static double entropy_weight(const emp_go_agent *a)
{
    const emp_go_options *o = &a->options;
    double done = a->budget > 0 ? fmin(1.0, (double)a->told / (double)a->budget) : 0.0;

    return o->entropy_first + done * (o->entropy_last - o->entropy_first);
}

static void climb(emp_go_agent *a, int32_t samples)
{
    const emp_go_options *o = &a->options;
    const double          entropy = entropy_weight(a);

    for (int32_t epoch = 0; epoch < o->epochs; epoch++) {
        if (epoch > 0) emp_go_net_forward(&a->net);
        emp_row_ppo_gradient(&a->ppo, a->net.d_logits, a->net.p, a->drawn_from, samples,
                             entropy);
        emp_go_net_backward(&a->net);
        a->metric[LOSS].value =
            -emp_row_ppo_objective(&a->ppo, a->net.p, a->drawn_from, samples);
        a->metric[GRADIENT_NORM].value =
            emp_params_ascend(&a->net.params, o->clip, &o->adam);
    }
}

void emp_go_agent_learn(emp_go_agent *a, const emp_score *scores)
{
    const int32_t samples = a->drawn - 1;
    double        reward[EMP_MAX_BATCH], advantage[EMP_MAX_BATCH], sum = 0.0;
    unsigned      saved = emp_flush_begin();

    if (!(a->reference_s > 0.0)) a->reference_s = fmax(scores[0].step_time_s, 1e-9);
    for (int32_t k = 0; k < samples; k++) {
        reward[k] = reward_of(a, &scores[k + 1]);
        sum += reward[k];
    }
    if (samples > 0) {
        emp_rewards_judge(&a->rewards, advantage, reward, samples);
        emp_row_ppo_gather(&a->ppo, a->choice + a->features.count, advantage, samples);
        climb(a, samples);
    }
    a->metric[REWARD].value = samples > 0 ? sum / samples : NAN;
    a->metric[BASELINE].value = a->rewards.mean;
    a->metric[GREEDY_TIME].value = scores[0].step_time_s;
    a->told += a->drawn;
    a->update++;
    emp_flush_end(saved);
}
