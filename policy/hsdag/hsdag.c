// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hsdag/hsdag.h"

#include <math.h>
#include <string.h>

#include "base/blas/openblas.h"
#include "base/mem.h"
#include "policy/nn/layers.h"
#include "policy/nn/threads.h"
#include "search/method.h"

const emp_option emp_hsdag_option_list[] = {
    EMP_WORD_OPTION(
        "features", emp_hsdag_options, features, EMP_HSDAG_INPUT_WORDS,
        "what is seen of a set of ops: what the paper lists; type and number, as "
        "the released code; or its costs, which alone make weights that fit other graphs",
        EMP_HSDAG_INPUTS_PAPER, EMP_HSDAG_INPUTS_COSTS),
    EMP_INTEGER_OPTION(
        "nodes", emp_hsdag_options, nodes, 0, 1000000,
        "that ops are merged into at most, before what the paper merges; 0: "
        "as many as there are classes that may move",
        0, 1000),
    EMP_INTEGER_OPTION("width", emp_hsdag_options, width, 1, 1024, "units of each layer",
                       128),
    EMP_INTEGER_OPTION("levels", emp_hsdag_options, levels, 0, EMP_HSDAG_MAX_LEVELS,
                       "of pooling at most; 0: until nothing merges, as released", 2),
    EMP_INTEGER_OPTION("groups_per_device", emp_hsdag_options, groups_per_device, 0, 4096,
                       "groups that pooling leaves, over devices; 0: any number, as "
                       "released",
                       4),
    EMP_REAL_OPTION("dropout", emp_hsdag_options, dropout, 0, 0.9,
                    "probability that a unit is left out, also when placements are drawn",
                    0.2, 0),
    EMP_WORD_OPTION(
        "update", emp_hsdag_options, update, EMP_HSDAG_UPDATE_WORDS,
        "episode: all steps weigh the discounted sum of 1 / seconds; step: each "
        "its own advantage, of -sqrt(seconds), over a moving average",
        EMP_HSDAG_UPDATE_EPISODE, EMP_HSDAG_UPDATE_STEP),
    EMP_REAL_OPTION("discount", emp_hsdag_options, discount, 0, 1,
                    "of update=episode: weight of a step over that of the step after it",
                    0.95),
    EMP_BOOL_OPTION(
        "single", emp_hsdag_options, single,
        "1: all on one device is a placement, 0: it is a failure, as released", 0, 1),
    EMP_INTEGER_OPTION("samples", emp_hsdag_options, learner.samples, 1, EMP_MAX_BATCH,
                       "steps of an episode, each a placement", 20),
    EMP_ADAM_OPTIONS(emp_hsdag_options, learner.adam, 1e-3, "epsilon", 1e-8, 0),
    EMP_CLIP_OPTION(emp_hsdag_options, learner.clip, 1e9, 1),
    EMP_ENTROPY_OPTION(emp_hsdag_options, learner.entropy, 0),
    EMP_REWARD_OPTIONS(emp_hsdag_options, learner.rules, EMP_REWARD_SQRT, 1, 0, 1e9),
    EMP_NO_OPTION};

emp_status emp_hsdag_options_parse(emp_hsdag_options *options, const char *preset,
                                   const char *text, emp_error *err)
{
    static const emp_option_table table = {"hsdag", EMP_HSDAG_PRESETS,
                                           emp_hsdag_option_list};

    emp_hsdag_options plain;

    memset(options, 0, sizeof *options);
    memset(&plain, 0, sizeof plain);
    EMP_CHECK(emp_options_parse(options, &table, preset, text, err));
    EMP_CHECK(emp_options_parse(&plain, &table, preset, NULL, err));
    if (options->update == EMP_HSDAG_UPDATE_EPISODE &&
        memcmp(&options->learner.rules, &plain.learner.rules,
               sizeof plain.learner.rules) != 0)
        return EMP_ERROR(EMP_EINVAL,
                         "hsdag: reward, failure, baseline_* and updates_failures are "
                         "options of update=step; update=episode rewards 1 / seconds");
    if (options->update == EMP_HSDAG_UPDATE_STEP && options->discount != plain.discount)
        return EMP_ERROR(EMP_EINVAL, "hsdag: discount is an option of update=episode; "
                                     "update=step weighs each step by itself");
    return EMP_OK;
}

/* Streams of random numbers: initial weights, and one per episode. */
enum { STREAM_WEIGHTS = 0, STREAM_EPISODES = 1 };

enum { ENTROPY = 3, LOG_PROB, GRADIENT_NORM, GROUPS, METRICS };

static const char *const metric_names[METRICS] = {
    "loss", "reward", "baseline", "entropy", "log_prob", "gradient_norm", "groups"};

/* As the released code counts what did not run. */
static const double FAILURE_S = 1e10;

/* ---- episodes ---- */

static void begin_episode(emp_hsdag_agent *a)
{
    memcpy(a->x, a->inputs.value,
           (size_t)a->coarse.set_count * (size_t)a->inputs.width * sizeof *a->x);
}

static emp_rng run_step(emp_hsdag_agent *a, int32_t step)
{
    emp_rng rng;

    emp_rng_init(&rng, a->learner.draw_seed,
                 (uint32_t)(STREAM_EPISODES + a->learner.update), (uint32_t)step);
    emp_hsdag_net_forward(&a->net, a->x, &rng);
    return rng;
}

static void end_step(emp_hsdag_agent *a)
{
    int32_t width = a->inputs.width;

    for (int64_t v = 0; v < a->coarse.set_count; v++) {
        const emp_real *code = &a->net.code[(int64_t)a->net.group_of_node[v] * width];
        for (int32_t i = 0; i < width; i++) a->x[v * width + i] += code[i];
    }
}

static emp_real *gradient_of_step(const emp_hsdag_agent *a, int32_t step)
{
    return a->gradient + (size_t)step * a->net.params.count;
}

static void propose(emp_learner *learner, int32_t samples)
{
    emp_hsdag_agent *a = (emp_hsdag_agent *)learner;
    int32_t          sets = a->coarse.set_count;
    unsigned         saved = emp_flush_begin();

    learner->drawn = samples;
    begin_episode(a);
    for (int32_t k = 0; k < samples && !emp_stop_is_set(learner->stop); k++) {
        emp_rng rng = run_step(a, k);
        emp_hsdag_net_draw(&a->net, a->device_of_group, &rng);
        for (int32_t v = 0; v < sets; v++)
            a->device[(int64_t)k * sets + v] =
                a->device_of_group[a->net.group_of_node[v]];
        a->log_prob[k] = emp_hsdag_net_log_prob(&a->net, a->device_of_group);
        a->entropy[k] = a->net.entropy;
        a->groups[k] = a->net.group_count;
        emp_hsdag_net_gradient(&a->net, a->x, a->device_of_group, gradient_of_step(a, k));
        end_step(a);
    }
    emp_flush_end(saved);
}

static emp_device_id device(const emp_learner *learner, int32_t sample, int32_t row)
{
    const emp_hsdag_agent *a = (const emp_hsdag_agent *)learner;

    int32_t node = a->nodes->node_of_op[learner->ops->op_of_row[row]];

    return a->device[(int64_t)sample * a->coarse.set_count + a->coarse.set_of_node[node]];
}

/* Adds the gradient of the entropy of an episode, which is drawn again with the same random numbers. */
static void add_entropy(emp_hsdag_agent *a, int32_t steps, double weight)
{
    begin_episode(a);
    for (int32_t k = 0; k < steps && !emp_stop_is_set(a->learner.stop); k++) {
        emp_rng rng = run_step(a, k);
        emp_hsdag_net_draw(&a->net, a->device_of_group, &rng);
        emp_hsdag_net_backward(&a->net, a->x, a->device_of_group, 0.0, weight);
        end_step(a);
    }
}

/* Takes the gradients of the steps drawn last, which are known: they are as short as the parameters. */
static double take_gradients(emp_learner *learner, const double *weight, int32_t own,
                             double entropy)
{
    emp_hsdag_agent  *a = (emp_hsdag_agent *)learner;
    const emp_params *p = &a->net.params;
    double            loss = 0.0;

    emp_params_zero_gradient(&a->net.params);
    for (int32_t k = 0; k < own; k++) {
        emp_vector_add_scaled(p->gradient, gradient_of_step(a, k), (emp_real)weight[k],
                              (int64_t)p->count);
        loss -= weight[k] * a->log_prob[k];
    }
    if (entropy > 0.0) add_entropy(a, own, entropy / own);
    return loss;
}

/* ---- from scores to weights ---- */

static bool is_on_one_device(const emp_hsdag_agent *a, int32_t sample)
{
    const int32_t *device = &a->device[(int64_t)sample * a->coarse.set_count];

    for (int32_t v = 1; v < a->coarse.set_count; v++)
        if (device[v] != device[0]) return false;
    return true;
}

static bool is_failure(const emp_hsdag_agent *a, const emp_score *score, int32_t sample)
{
    return !score->is_feasible || (!a->options.single && is_on_one_device(a, sample));
}

static emp_judgement judge_episode(const emp_hsdag_agent *a, const emp_score *scores,
                                   int32_t count)
{
    emp_judgement j = {.count = count};
    double        sum = 0.0;

    for (int32_t k = 0; k < count; k++) {
        double seconds = is_failure(a, &scores[k], k) ? FAILURE_S : scores[k].step_time_s;
        double reward = 1.0 / fmax(seconds, 1e-9);
        sum = a->options.discount * sum + reward;
        j.reward += reward / count;
    }
    for (int32_t k = 0; k < count; k++) j.weight[k] = sum;
    j.advantage = sum;
    return j;
}

static emp_judgement judge_steps(emp_hsdag_agent *a, const emp_score *scores,
                                 int32_t count)
{
    emp_learner *l = &a->learner;
    emp_score    relative[EMP_MAX_BATCH];

    for (int32_t k = 0; k < count; k++)
        relative[k] = (emp_score){.step_time_s = scores[k].step_time_s / a->reference_s,
                                  .is_feasible = !is_failure(a, &scores[k], k)};
    return emp_reinforce_judge(&l->options.rules, &l->baseline, l->update, relative,
                               count);
}

static emp_judgement judge(emp_learner *learner, const emp_score *scores, int32_t count)
{
    emp_hsdag_agent *a = (emp_hsdag_agent *)learner;

    return a->options.update == EMP_HSDAG_UPDATE_EPISODE ? judge_episode(a, scores, count)
                                                         : judge_steps(a, scores, count);
}

static void report(emp_learner *learner)
{
    const emp_hsdag_agent *a = (const emp_hsdag_agent *)learner;

    learner->metric[ENTROPY].value = emp_learner_mean(a->entropy, learner->drawn);
    learner->metric[LOG_PROB].value = emp_learner_mean(a->log_prob, learner->drawn);
    learner->metric[GROUPS].value = emp_learner_mean(a->groups, learner->drawn);
}

static const emp_learner_type type = {.metric_count = METRICS,
                                      .metrics = metric_names,
                                      .propose = propose,
                                      .device = device,
                                      .take_gradients = take_gradients,
                                      .report = report,
                                      .judge = judge};

/* ---- creation ---- */

static double serial_time(const emp_node_graph *n)
{
    double sum = 0.0;

    for (int32_t v = 0; v < n->node_count; v++) {
        double least = INFINITY;
        for (int32_t d = 0; d < n->device_count; d++)
            if (n->devices[v] >> d & 1)
                least = fmin(least, n->time_s[(int64_t)v * n->device_count + d]);
        sum += least;
    }
    return sum > 0.0 ? sum : 1.0;
}

static emp_status init_network(emp_hsdag_agent *a, int32_t devices, emp_error *err)
{
    const emp_hsdag_options *o = &a->options;
    const emp_hsdag_shape    shape = {.inputs = a->inputs.width,
                                      .width = o->width,
                                      .devices = devices,
                                      .levels = o->levels,
                                      .min_groups = o->groups_per_device * devices,
                                      .dropout = o->dropout};
    emp_rng                  rng;

    EMP_CHECK(
        emp_hsdag_net_init(&a->net, &shape, &a->coarse.graph, a->learner.threads, err));
    emp_rng_init(&rng, a->learner.seed, STREAM_WEIGHTS, 0);
    emp_hsdag_net_randomize(&a->net, &rng);
    emp_learner_add(&a->learner, EMP_LEARNER_NET("", &a->net.params, GRADIENT_NORM));
    return EMP_OK;
}

static emp_status see(emp_hsdag_agent *a, const emp_problem *problem, emp_error *err)
{
    EMP_CHECK(emp_node_graph_create(&a->nodes, problem, a->options.nodes, err));
    EMP_CHECK(emp_hsdag_coarse_init(&a->coarse, a->nodes, err));
    a->reference_s = serial_time(a->nodes);
    return emp_hsdag_inputs_init(&a->inputs, a->options.features, &a->coarse, a->nodes,
                                 a->learner.ops, problem->machine, err);
}

emp_status emp_hsdag_agent_init(emp_hsdag_agent *a, const emp_problem *problem,
                                const emp_hsdag_options *options, uint64_t seed,
                                int32_t threads, emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_op_features *ops = NULL;
    size_t           sets;

    *a = (emp_hsdag_agent){.options = *options};
    EMP_TRY(emp_op_features_create(&ops, problem, err));
    a->learner = emp_learner_start(&type, &options->learner, ops, seed, threads);
    EMP_TRY(emp_openblas_open(err));
    EMP_TRY(see(a, problem, err));
    EMP_TRY(init_network(a, problem->machine->device_count, err));
    sets = (size_t)a->coarse.set_count;
    EMP_TRY(EMP_ALLOC(a->x, sets * (size_t)a->inputs.width));
    EMP_TRY(EMP_ALLOC(a->device, sets * (size_t)options->learner.samples));
    EMP_TRY(EMP_ALLOC(a->device_of_group, sets));
    EMP_TRY(
        EMP_ALLOC(a->gradient, a->net.params.count * (size_t)options->learner.samples));

cleanup:
    if (st != EMP_OK) emp_hsdag_agent_clear(a);
    return st;
}

void emp_hsdag_agent_clear(emp_hsdag_agent *a)
{
    emp_op_features_destroy(a->learner.ops);
    emp_node_graph_destroy(a->nodes);
    emp_hsdag_coarse_clear(&a->coarse);
    emp_hsdag_inputs_clear(&a->inputs);
    emp_hsdag_net_clear(&a->net);
    emp_free(a->x);
    emp_free(a->device);
    emp_free(a->device_of_group);
    emp_free(a->gradient);
    *a = (emp_hsdag_agent){0};
}

static void clear(void *state) { emp_hsdag_agent_clear((emp_hsdag_agent *)state); }

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    emp_hsdag_agent  *agent = (emp_hsdag_agent *)state;
    emp_hsdag_options options = {0};

    EMP_CHECK(emp_hsdag_options_parse(&options, params->preset, params->options, err));
    EMP_CHECK(emp_hsdag_agent_init(agent, problem, &options, params->seed,
                                   params->threads, err));
    agent->learner.stop = agent->net.stop = params->stop;
    return EMP_OK;
}

/* Features that list the types of a graph make networks for that graph. */
static int32_t list_weights(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    const emp_hsdag_agent *a = (const emp_hsdag_agent *)state;

    return a->options.features == EMP_HSDAG_INPUTS_COSTS
               ? emp_learner_list_weights(state, arrays)
               : 0;
}

static const emp_method_learning learning = {.list_weights = list_weights,
                                             .weights_options = "features=costs"};

const emp_method emp_method_hsdag = {
    .name = "hsdag",
    .description = "HSDAG: REINFORCE on groups by a graph parsing network, and devices "
                   "(Duan et al., NeurIPS 2024)",
    .advice = "a learner that groups by the graph's structure",
    .uses_budget = true,
    .uses_seed = true,
    .asks_again = true,
    .presets = EMP_HSDAG_PRESETS,
    .options = emp_hsdag_option_list,
    .state_bytes = sizeof(emp_hsdag_agent),
    .init = init,
    .ask = emp_learner_ask,
    .tell = emp_learner_tell,
    .clear = clear,
    .metrics = emp_learner_metrics,
    .list_state = emp_learner_list_state,
    .learning = &learning};
