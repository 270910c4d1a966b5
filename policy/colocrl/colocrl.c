// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/colocrl/colocrl.h"

#include <math.h>
#include <string.h>

#include "base/blas/openblas.h"
#include "base/mem.h"
#include "policy/nn/products.h"
#include "policy/nn/threads.h"
#include "search/groups/class_groups.h"
#include "search/groups/colocation_groups.h"

/* Numbers the groups that have members by their place in the sequence. */
static emp_status number_steps(emp_group_embedding *e, const emp_op_features *ops,
                               const int32_t *group_of_row, int32_t group_count,
                               emp_group_sequence sequence, uint64_t seed, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     groups = (size_t)group_count;
    emp_arrays scratch = {0};
    int32_t   *order = EMP_ADD_ARRAY(&scratch, int32_t, groups);
    int32_t   *step_of_group = EMP_ADD_ARRAY(&scratch, int32_t, groups);
    double    *sum = EMP_ADD_ARRAY(&scratch, double, 2 * groups);

    e->step_of_row = EMP_ADD_ARRAY(&e->arrays, int32_t, (size_t)ops->row_count);
    if (scratch.is_short || e->arrays.is_short)
        EMP_FAIL(EMP_ENOMEM, "order of %d groups", group_count);
    e->steps = emp_group_order(order, ops, group_of_row, group_count, sequence, false,
                               seed, sum);
    for (int32_t s = 0; s < e->steps; s++) step_of_group[order[s]] = s;
    for (int32_t r = 0; r < ops->row_count; r++)
        e->step_of_row[r] = step_of_group[group_of_row[r]];

cleanup:
    emp_arrays_clear(&scratch);
    return st;
}

static emp_status fill_shares(emp_group_embedding *e, const emp_op_features *ops,
                              emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t   *members = EMP_NEW_ARRAY(int32_t, (size_t)e->steps);

    e->share = EMP_ADD_ARRAY(&e->arrays, emp_real, (size_t)e->steps * (size_t)e->types);
    if (members == NULL || e->arrays.is_short)
        EMP_FAIL(EMP_ENOMEM, "op types of %d groups", e->steps);
    for (int32_t r = 0; r < ops->row_count; r++) {
        members[e->step_of_row[r]]++;
        e->share[(int64_t)e->step_of_row[r] * e->types + ops->type[r]] += 1;
    }
    for (int64_t s = 0; s < e->steps; s++) {
        for (int32_t t = 0; t < e->types; t++)
            e->share[s * e->types + t] /= (emp_real)members[s];
    }

cleanup:
    emp_free(members);
    return st;
}

/* Sizes and adjacency stand behind the type counts in the features of groups; here they
 * stand behind the embedding. */
static emp_status fill_fixed_part(emp_group_embedding *e, const emp_op_features *ops,
                                  emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     steps = (size_t)e->steps;
    int64_t    count = emp_group_feature_count(ops, e->steps);
    emp_arrays scratch = {0};
    int32_t   *order = EMP_ADD_ARRAY(&scratch, int32_t, steps);
    int32_t   *work = EMP_ADD_ARRAY(&scratch, int32_t, steps);
    emp_real  *features = EMP_ADD_ARRAY(&scratch, emp_real, steps * (size_t)count);

    e->x = EMP_ADD_ARRAY(&e->arrays, emp_real, steps * (size_t)e->inputs);
    if (scratch.is_short || e->arrays.is_short)
        EMP_FAIL(EMP_ENOMEM, "features of %d groups", e->steps);
    for (int32_t s = 0; s < e->steps; s++) order[s] = s;
    emp_group_features(features, ops, e->step_of_row, e->steps, order, e->steps, work);
    for (int64_t s = 0; s < e->steps; s++)
        memcpy(&e->x[s * e->inputs + e->width], &features[s * count + e->types],
               (size_t)(e->inputs - e->width) * sizeof *e->x);

cleanup:
    emp_arrays_clear(&scratch);
    return st;
}

static void embedding_clear(emp_group_embedding *e)
{
    emp_arrays_clear(&e->arrays);
    emp_params_clear(&e->params);
    *e = (emp_group_embedding){0};
}

/* group_of_row gives each row of ops a group of 0 .. group_count-1; seed is for
 * a random order.
 * O(rows + edges + groups^2). \retval EMP_ENOMEM */
static emp_status embedding_init(emp_group_embedding *e, const emp_op_features *ops,
                                 const int32_t *group_of_row, int32_t group_count,
                                 int32_t width, emp_group_sequence sequence,
                                 uint64_t seed, emp_error *err)
{
    emp_status            st = EMP_OK;
    const emp_param_slice slice = {"type_embedding", ops->type_count, width, 0};

    *e = (emp_group_embedding){.types = ops->type_count, .width = width};
    EMP_TRY(number_steps(e, ops, group_of_row, group_count, sequence, seed, err));
    e->inputs = width + EMP_ROW_SIZES + e->steps;
    EMP_TRY(fill_shares(e, ops, err));
    EMP_TRY(fill_fixed_part(e, ops, err));
    EMP_TRY(emp_params_init(&e->params, &slice, 1, err));

cleanup:
    if (st != EMP_OK) embedding_clear(e);
    return st;
}

/* Brings x up to date with the embedding. */
static void embedding_forward(emp_group_embedding *e, int32_t threads)
{
    emp_blas_gemm_shared(false, false, e->steps, e->width, e->types, e->share, e->types,
                         emp_params_value(&e->params, 0), e->width, 0, e->x, e->inputs,
                         threads);
}

/* Sets the embedding's gradient from d_x, (steps, width). */
static void embedding_backward(emp_group_embedding *e, const emp_real *d_x,
                               int32_t threads)
{
    emp_blas_gemm_shared(true, false, e->types, e->width, e->steps, e->share, e->types,
                         d_x, e->width, 0, emp_params_gradient(&e->params, 0), e->width,
                         threads);
}

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
    embedding_clear(&a->groups);
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
    embedding_forward(&a->groups, l->threads);
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
    embedding_backward(&a->groups, a->net.d_x, learner->threads);
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
    a->learner.options.rules.baseline_mean = false; /* no option: the paper's moves */
    if (group_count > options->max_groups) {
        EMP_FAIL(EMP_EINVAL,
                 "colocrl: co-location leaves %d groups, more than max_groups=%d; raise "
                 "it, at a price in memory that grows with its square, or take method "
                 "hdp, which joins them to 256",
                 group_count, options->max_groups);
    }
    EMP_TRY(embedding_init(&a->groups, ops, group_of_row, group_count,
                           options->type_width, options->order, seed, err));
    EMP_TRY(init_network(a, device_count, err));

cleanup:
    if (st != EMP_OK) emp_colocrl_agent_clear(a);
    return st;
}

static void clear(void *state) { emp_colocrl_agent_clear((emp_colocrl_agent *)state); }

/* Largest group of a cut over the mean, as of policy/hdp. */
#define IMBALANCE 2.0

static emp_status group_classes(int32_t *group_of_class, int32_t *group_count,
                                const emp_problem *problem, const emp_colocrl_options *o,
                                const emp_method_params *params, emp_error *err)
{
    const emp_class_groups_params cut = {.kind = o->groups,
                                         .count = o->count,
                                         .imbalance = IMBALANCE,
                                         .seed = params->seed,
                                         .stop = params->stop};
    const uint32_t rules = (o->gradients ? (uint32_t)EMP_COLOCATION_GRADIENTS : 0) |
                           (o->readers ? (uint32_t)EMP_COLOCATION_READERS : 0) |
                           (o->layers ? (uint32_t)EMP_COLOCATION_LAYERS : 0);

    if (o->groups != EMP_CLASS_GROUPS_COLOCRL)
        return emp_class_groups(group_of_class, group_count, problem, &cut, err);
    return emp_colocation_groups_by(group_of_class, group_count, problem, rules, err);
}

/* Closes the gaps that groups without rows leave. Rows without a group share one more, the last. */
static emp_status number_groups(int32_t *group_of_row, int32_t row_count,
                                int32_t *group_count, emp_error *err)
{
    const int32_t rest = *group_count;
    int32_t      *number = EMP_NEW_ARRAY(int32_t, (size_t)rest + 1), count = 0;

    if (number == NULL) return EMP_ERROR(EMP_ENOMEM, "numbers of %d groups", rest);
    for (int32_t r = 0; r < row_count; r++) {
        if (group_of_row[r] < 0) group_of_row[r] = rest;
        number[group_of_row[r]] = 1;
    }
    for (int32_t g = 0; g <= rest; g++)
        if (number[g] != 0) number[g] = count++;
    for (int32_t r = 0; r < row_count; r++) group_of_row[r] = number[group_of_row[r]];
    *group_count = count;
    emp_free(number);
    return EMP_OK;
}

/* The group of each row. Rows of several hosts' CPUs, which the rules leave out, share one
 * more group. */
static emp_status group_rows(int32_t **out, int32_t *group_count,
                             const emp_problem *problem, const emp_op_features *ops,
                             const emp_colocrl_options *options,
                             const emp_method_params *params, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t *group_of_class = EMP_NEW_ARRAY(int32_t, (size_t)problem->graph->class_count);
    int32_t *group = EMP_NEW_ARRAY(int32_t, (size_t)ops->row_count);

    if (group == NULL || group_of_class == NULL)
        EMP_FAIL(EMP_ENOMEM, "groups of %d ops", ops->row_count);
    EMP_TRY(group_classes(group_of_class, group_count, problem, options, params, err));
    for (int32_t r = 0; r < ops->row_count; r++)
        group[r] = group_of_class[problem->graph->op[ops->op_of_row[r]].colocation_class];
    EMP_TRY(number_groups(group, ops->row_count, group_count, err));
    *out = group;
    group = NULL;

cleanup:
    emp_free(group_of_class);
    emp_free(group);
    return st;
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    emp_status          st = EMP_OK;
    emp_colocrl_agent  *agent = (emp_colocrl_agent *)state;
    int32_t            *group_of_row = NULL, group_count = 0;
    emp_colocrl_options options = {0};

    EMP_TRY(emp_method_options_parse(&options, &emp_method_colocrl, params, err));
    EMP_TRY(emp_op_features_create(&agent->learner.ops, problem, err));
    EMP_TRY(group_rows(&group_of_row, &group_count, problem, agent->learner.ops, &options,
                       params, err));
    EMP_TRY(emp_colocrl_agent_init(agent, agent->learner.ops, group_of_row, group_count,
                                   problem->machine->device_count, &options, params->seed,
                                   params->threads, err));
    agent->learner.stop = agent->net.stop = params->stop;
    agent->learner.draw_seed = emp_rng_seed_of_rank(params->seed, params->rank);

cleanup:
    emp_free(group_of_row);
    return st;
}

static const emp_option option_list[] = {
    EMP_INTEGER_OPTION("max_groups", emp_colocrl_options, max_groups, 1, 16384,
                       "groups that the rules may leave; more are refused, as memory "
                       "grows with the square",
                       2048),
    EMP_INTEGER_OPTION("type_width", emp_colocrl_options, type_width, 1, 256,
                       "width of the embedding of op types", 20),
    EMP_INTEGER_OPTION("hidden", emp_colocrl_options, hidden, 1, 4096,
                       "cells of each LSTM, width of the attention", 256),
    EMP_REAL_OPTION("temperature", emp_colocrl_options, temperature, 1e-3, 1e6,
                    "T in C tanh(logit / T)", 10),
    EMP_REAL_OPTION("tanh_constant", emp_colocrl_options, tanh_constant, 1e-3, 1e6,
                    "C in C tanh(logit / T)", 5),
    EMP_INTEGER_OPTION("samples", emp_colocrl_options, learner.samples, 1, EMP_MAX_BATCH,
                       "placements per update (k)", 4),
    EMP_ADAM_OPTIONS(emp_colocrl_options, learner.adam, 0.03, "epsilon", 5, 0),
    EMP_CLIP_OPTION(emp_colocrl_options, learner.clip, 1),
    EMP_ENTROPY_OPTION(emp_colocrl_options, learner.entropy, 0),
    EMP_REWARD_OPTIONS(emp_colocrl_options, learner.rules, EMP_REWARD_SQRT, 0, 0, 5000),
    EMP_REAL_OPTION("run_shortest", emp_colocrl_options, run_shortest, 0, 1,
                    "part of the groups that share a draw: least", 0.03),
    EMP_REAL_OPTION("run_longest", emp_colocrl_options, run_longest, 0, 1,
                    "and most; 0: all draws are independent", 1),
    EMP_REAL_OPTION("placer_gain", emp_colocrl_options, placer_gain, 0, 1e6,
                    "initial scale of the network's last layer", 1),
    EMP_WORD_OPTION("order", emp_colocrl_options, order, EMP_GROUP_SEQUENCE_WORDS,
                    "of groups given to the network: mean position of their ops, their "
                    "number (first op), random, or last position first",
                    EMP_ORDER_POSITION),
    EMP_WORD_OPTION("groups", emp_colocrl_options, groups, EMP_CLASS_GROUPING_WORDS,
                    "how groups are made; colocrl: by the three rules",
                    EMP_CLASS_GROUPS_COLOCRL),
    EMP_INTEGER_OPTION("count", emp_colocrl_options, count, 1, 16384,
                       "groups at most, unless rules make them", 256),
    EMP_BOOL_OPTION("gradients", emp_colocrl_options, gradients,
                    "rule 1: a gradient stands with its op", true),
    EMP_BOOL_OPTION("readers", emp_colocrl_options, readers,
                    "rule 2: what one group alone reads goes into it", true),
    EMP_BOOL_OPTION("layers", emp_colocrl_options, layers,
                    "rule 3: a convolution, a pooling or a step of a cell is one group",
                    true),
    EMP_NO_OPTION};

static const emp_method_learning learning = {.sharing = &emp_learner_sharing};

const emp_method emp_method_colocrl = {
    .name = "colocrl",
    .description = "REINFORCE on devices of groups that rules make (Mirhoseini et al., "
                   "ICML 2017)",
    .advice = "the learner before hdp, with groups that rules make",
    .uses_budget = true,
    .uses_seed = true,
    .asks_again = true,
    .presets = "paper",
    .options = option_list,
    .state_bytes = sizeof(emp_colocrl_agent),
    .init = init,
    .ask = emp_learner_ask,
    .tell = emp_learner_tell,
    .clear = clear,
    .metrics = emp_learner_metrics,
    .list_state = emp_learner_list_state,
    .learning = &learning};
