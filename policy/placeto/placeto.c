// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/placeto/placeto.h"

#include <math.h>
#include <string.h>

#include "base/blas/openblas.h"
#include "policy/nn/categorical.h"
#include "policy/nn/threads.h"
#include "search/method.h"

/* Streams of random numbers: weights, starts by episode, and draws of each episode. */
enum { STREAM_WEIGHTS = 0, STREAM_STARTS, STREAM_EPISODES };

/* ---- states ---- */

static void divide_by_largest(emp_real *column, int32_t count, int32_t stride)
{
    emp_real largest = 0;

    for (int64_t i = 0; i < count; i++) {
        emp_real size = column[i * stride] < 0 ? -column[i * stride] : column[i * stride];
        if (size > largest) largest = size;
    }
    if (!(largest > 0)) return;
    for (int64_t i = 0; i < count; i++) column[i * stride] /= largest;
}

/* Fills cost and bytes: a node's mean time over the devices, and what others read of it, both
 * over the largest of all nodes. */
static void fill_constants(emp_placeto_agent *a)
{
    const emp_node_graph *g = a->graph;

    for (int32_t v = 0; v < g->node_count; v++) {
        double time = 0.0;
        for (int32_t i = 0; i < a->device_count; i++)
            time += g->time_s[v * g->device_count + a->device[i]];
        a->cost[v] = (emp_real)(time / a->device_count);
        a->bytes[v] = (emp_real)g->output_bytes[v];
    }
    divide_by_largest(a->cost, g->node_count, 1);
    divide_by_largest(a->bytes, g->node_count, 1);
}

static void fill_state(emp_placeto_agent *a, int32_t step, int32_t rollout,
                       const int32_t *device)
{
    const emp_node_graph *g = a->graph;
    int64_t               nodes = g->node_count, d = a->net.shape.inputs;
    int32_t               node = g->order[step];
    emp_real             *x = &a->x[rollout * nodes * d];
    const emp_real       *time =
        &a->time_s[((int64_t)step * a->options.rollouts + rollout) * nodes];

    memset(x, 0, (size_t)(nodes * d) * sizeof *x);
    for (int64_t v = 0; v < nodes; v++) {
        x[v * d] = a->cost[v];
        x[v * d + 1] = a->bytes[v];
        x[v * d + 4] = time[v] - time[node];
        x[v * d + EMP_PLACETO_FEATURES + device[v]] = 1;
    }
    for (int32_t i = 0; i < step; i++) x[g->order[i] * d + 2] = 1;
    x[node * d + 3] = 1;
    divide_by_largest(x + 4, g->node_count, (int32_t)d);
}

/* Fills x for all rollouts before the draw of the step. device is [rollout][node]. */
static void fill_states(emp_placeto_agent *a, int32_t step, const int32_t *device)
{
    for (int32_t k = 0; k < a->rollouts; k++)
        fill_state(a, step, k, &device[k * a->graph->node_count]);
}

/* ---- returns and their averages ---- */

/* Into weight, G_t of every rollout. */
static void sum_returns(emp_placeto_agent *a)
{
    int64_t nodes = a->graph->node_count, stride = a->options.rollouts;

    for (int64_t k = 0; k < a->rollouts; k++) {
        double sum = 0.0;
        for (int64_t t = nodes - 1; t >= 0; t--) {
            double drop = a->value[t * stride + k] - a->value[(t + 1) * stride + k];
            sum = drop + a->options.gamma * sum;
            a->weight[t * stride + k] = sum;
        }
    }
}

void emp_placeto_weigh(emp_placeto_agent *a)
{
    int64_t nodes = a->graph->node_count, stride = a->options.rollouts;
    int64_t window = a->options.window;
    int64_t known = a->learner.update + 1 < window ? a->learner.update + 1 : window;

    sum_returns(a);
    for (int64_t t = 0; t < nodes; t++) {
        double sum = 0.0, baseline = 0.0;
        for (int64_t k = 0; k < a->rollouts; k++) sum += a->weight[t * stride + k];
        a->average[a->learner.update % window * nodes + t] = sum / a->rollouts;
        for (int64_t i = 0; i < known; i++) baseline += a->average[i * nodes + t];
        for (int64_t k = 0; k < a->rollouts; k++)
            a->weight[t * stride + k] -= baseline / (double)known;
    }
}

/* ---- the update ---- */

/* Handles one row of probabilities; returns its part of the loss. */
static double score_row(emp_real *d_logits, emp_real *p, int32_t count, int32_t chosen,
                        double weight)
{
    double loss = -weight * log(fmax((double)p[chosen], 1e-300));

    memcpy(d_logits, p, (size_t)count * sizeof *p);
    emp_categorical_score(d_logits, count, chosen, weight);
    return loss;
}

/* Handles one step of all rollouts. */
static double add_step(emp_placeto_agent *a, int32_t step, double entropy,
                       double *entropy_sum)
{
    emp_real *p = a->net.logits;
    int32_t   nodes = a->graph->node_count, count = a->device_count;
    double    loss = 0.0, odds;

    fill_states(a, step, a->replayed);
    emp_placeto_net_forward(&a->net, a->x, a->graph->order[step], a->rollouts);
    odds = emp_categorical_softmax_rows(p, count, a->rollouts, count);
    for (int32_t k = 0; k < a->rollouts; k++) {
        loss += score_row(&a->d_logits[k * count], &p[k * count], count,
                          a->action[k * nodes + step],
                          a->weight[step * a->options.rollouts + k]);
        emp_categorical_entropy_gradient(&a->d_logits[k * count], &p[k * count], count,
                                         entropy);
    }
    emp_placeto_net_backward(&a->net, a->d_logits);
    *entropy_sum += odds;
    return loss - entropy * odds;
}

double emp_placeto_add_gradients(emp_placeto_agent *a, double entropy)
{
    int32_t nodes = a->graph->node_count;
    double  loss = 0.0, entropy_sum = 0.0;

    for (int32_t k = 0; k < a->rollouts; k++)
        memcpy(&a->replayed[k * nodes], a->start.device,
               (size_t)nodes * sizeof *a->replayed);
    for (int32_t t = 0; t < nodes; t++) {
        loss += add_step(a, t, entropy, &entropy_sum);
        for (int32_t k = 0; k < a->rollouts; k++)
            a->replayed[k * nodes + a->graph->order[t]] = a->action[k * nodes + t];
    }
    a->learner.metric[EMP_PLACETO_ENTROPY].value = entropy_sum / (nodes * a->rollouts);
    return loss;
}

/* From the first value to the last, in a line over the updates that are planned. */
static double scheduled(const emp_placeto_agent *a, double first, double last)
{
    double part =
        a->planned > 1 ? (double)a->learner.update / (double)(a->planned - 1) : 0.0;

    return first + (last - first) * fmin(part, 1.0);
}

static double mean_return(const emp_placeto_agent *a)
{
    double sum = 0.0;

    for (int32_t k = 0; k < a->rollouts; k++)
        sum += a->value[k] - a->value[a->graph->node_count * a->options.rollouts + k];
    return sum / a->rollouts;
}

/* The update of an episode that has ended; sets metrics. */
static void learn(emp_placeto_agent *a)
{
    const emp_placeto_options *o = &a->options;
    const emp_learner_options *first = &o->learner;

    emp_placeto_weigh(a);
    emp_params_zero_gradient(&a->net.params);
    a->learner.metric[EMP_PLACETO_LOSS].value =
        emp_placeto_add_gradients(a, scheduled(a, first->entropy, o->entropy_last));
    a->learner.metric[EMP_PLACETO_RETURN].value = mean_return(a);
    a->learner.options.adam.learning_rate =
        scheduled(a, first->adam.learning_rate, o->lr_last);
    a->learner.has_gradient = 1;
    emp_learner_step(a);
    a->learner.metric[EMP_PLACETO_UPDATES].value = (double)a->learner.update;
}

/* ---- creation ---- */

static emp_placeto_placement add_placement(emp_arrays *arrays, size_t nodes)
{
    return (emp_placeto_placement){.device = EMP_ADD_ARRAY(arrays, int32_t, nodes),
                                   .time_s = EMP_ADD_ARRAY(arrays, emp_real, nodes),
                                   .value = INFINITY};
}

static emp_status allocate(emp_placeto_agent *a, emp_error *err)
{
    emp_arrays *m = &a->arrays;
    size_t      nodes = (size_t)a->graph->node_count, d = (size_t)a->net.shape.inputs;
    size_t      rollouts = (size_t)a->options.rollouts;

    a->start = add_placement(m, nodes);
    a->best = add_placement(m, nodes);
    a->cost = EMP_ADD_ARRAY(m, emp_real, nodes);
    a->bytes = EMP_ADD_ARRAY(m, emp_real, nodes);
    a->now = EMP_ADD_ARRAY(m, int32_t, rollouts * nodes);
    a->action = EMP_ADD_ARRAY(m, int32_t, rollouts * nodes);
    a->time_s = EMP_ADD_ARRAY(m, emp_real, nodes * rollouts * nodes);
    a->value = EMP_ADD_ARRAY(m, double, (nodes + 1) * rollouts);
    a->average = EMP_ADD_ARRAY(m, double, (size_t)a->options.window *nodes);
    a->x = EMP_ADD_ARRAY(m, emp_real, rollouts * nodes * d);
    a->d_logits = EMP_ADD_ARRAY(m, emp_real, rollouts * (size_t)a->device_count);
    a->replayed = EMP_ADD_ARRAY(m, int32_t, rollouts * nodes);
    a->weight = EMP_ADD_ARRAY(m, double, nodes *rollouts);
    a->spread = EMP_ADD_ARRAY(m, emp_device_id, nodes);
    if (m->is_short) return EMP_ERROR(EMP_ENOMEM, "episodes over %zu nodes", nodes);
    return EMP_OK;
}

static void draw_start(emp_placeto_agent *a)
{
    emp_rng rng;

    emp_rng_init(&rng, a->learner.seed, STREAM_STARTS, (uint32_t)a->episode);
    for (int32_t v = 0; v < a->graph->node_count; v++)
        a->start.device[v] =
            a->options.start == EMP_PLACETO_START_FIRST
                ? 0
                : (int32_t)emp_rng_below(&rng, (uint32_t)a->device_count);
    a->step = -1;
}

/* Only GPUs, or all devices where CPUs are asked for or there is one GPU at most. */
static int32_t list_devices(emp_device_id devices[EMP_MAX_DEVICES], const emp_machine *m,
                            bool with_cpus)
{
    bool    with_all = with_cpus || emp_machine_count(m, EMP_DEVICE_GPU) < 2;
    int32_t count = 0;

    for (emp_device_id d = 0; d < m->device_count; d++)
        if (with_all || m->device[d].kind == EMP_DEVICE_GPU) devices[count++] = d;
    return count;
}

/* Updates that there are, as far as is known. */
static int64_t plan(const emp_placeto_options *o, int64_t budget, int32_t nodes)
{
    return o->updates > 0 ? o->updates : budget / ((int64_t)nodes * o->rollouts);
}

/* Legal after a failed init(). */
static void clear(void *state)
{
    emp_placeto_agent *a = (emp_placeto_agent *)state;

    emp_node_graph_destroy(a->graph);
    emp_placeto_net_clear(&a->net);
    emp_arrays_clear(&a->arrays);
    *a = (emp_placeto_agent){0};
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    static const char *const names[EMP_PLACETO_METRICS] = {"loss", "return", "entropy",
                                                           "gradient_norm", "updates"};
    static const emp_learner_type type = {.metric_count = EMP_PLACETO_METRICS,
                                          .metrics = names};
    emp_placeto_agent            *a = (emp_placeto_agent *)state;
    emp_placeto_options           options = {0};
    emp_status                    st = EMP_OK;
    emp_rng                       rng;

    EMP_CHECK(emp_method_options_parse(&options, &emp_method_placeto, params, err));
    *a = (emp_placeto_agent){.options = options};
    EMP_TRY(emp_node_graph_create(&a->graph, problem, options.max_nodes, err));
    a->device_count = list_devices(a->device, problem->machine, options.cpu);
    a->planned = plan(&options, params->budget_evaluations, a->graph->node_count);
    a->learner =
        emp_learner_start(&type, &options.learner, NULL, params->seed, params->threads);
    EMP_TRY(emp_openblas_open(err));
    EMP_TRY(emp_placeto_net_init(
        &a->net, a->graph,
        &(emp_placeto_shape){.inputs = EMP_PLACETO_FEATURES + a->device_count,
                             .devices = a->device_count,
                             .passes = options.passes,
                             .max_rollouts = options.rollouts,
                             .threads = a->learner.threads},
        err));
    emp_learner_add(&a->learner,
                    EMP_LEARNER_NET("net_", &a->net.params, EMP_PLACETO_NORM));
    EMP_TRY(allocate(a, err));
    emp_rng_init(&rng, params->seed, STREAM_WEIGHTS, 0);
    emp_placeto_net_randomize(&a->net, &rng);
    fill_constants(a);
    draw_start(a);

cleanup:
    if (st != EMP_OK) clear(a);
    return st;
}

/* ---- asking ---- */

static bool is_greedy(const emp_placeto_agent *a)
{
    return a->options.greedy_every > 0 && a->episode % a->options.greedy_every == 0;
}

static int32_t draw_device(const emp_placeto_agent *a, int32_t rollout, const emp_real *p)
{
    emp_rng rng;

    if (is_greedy(a)) return emp_categorical_mode(p, a->device_count);
    emp_rng_init(&rng, a->learner.seed, (uint32_t)(STREAM_EPISODES + a->episode),
                 (uint32_t)(a->step * EMP_MAX_BATCH + rollout));
    return emp_categorical_sample(p, a->device_count, emp_rng_uniform(&rng));
}

/* Draws for every rollout, for the node whose turn it is. */
static void draw_devices(emp_placeto_agent *a)
{
    int32_t nodes = a->graph->node_count, node = a->graph->order[a->step];

    fill_states(a, a->step, a->now);
    emp_placeto_net_forward(&a->net, a->x, node, a->rollouts);
    emp_categorical_softmax_rows(a->net.logits, a->device_count, a->rollouts,
                                 a->device_count);
    for (int32_t k = 0; k < a->rollouts; k++) {
        int32_t chosen = draw_device(a, k, &a->net.logits[k * a->device_count]);
        a->action[k * nodes + a->step] = chosen;
        a->now[k * nodes + node] = chosen;
    }
}

/* The rollouts begin at the start, whose score is known. */
static void begin_episode(emp_placeto_agent *a)
{
    size_t nodes = (size_t)a->graph->node_count;

    a->rollouts = is_greedy(a) ? 1 : a->options.rollouts;
    for (size_t k = 0; k < (size_t)a->rollouts; k++) {
        memcpy(&a->now[k * nodes], a->start.device, nodes * sizeof *a->now);
        memcpy(&a->time_s[k * nodes], a->start.time_s, nodes * sizeof *a->time_s);
        a->value[k] = a->start.value;
    }
}

static void propose(emp_placeto_agent *a, const int32_t *device_of_node,
                    emp_device_id *device_of_op)
{
    for (int32_t v = 0; v < a->graph->node_count; v++)
        a->spread[v] = a->device[device_of_node[v]];
    memset(device_of_op, 0, (size_t)a->graph->op_count * sizeof *device_of_op);
    emp_node_graph_spread(a->graph, a->spread, device_of_op);
}

/* A restored state may come from anywhere. */
static bool is_sound(const emp_placeto_agent *a)
{
    const int32_t nodes = a->graph->node_count, devices = a->device_count;
    const int64_t drawn = (int64_t)a->options.rollouts * nodes;

    return emp_count_is_valid(a->episode) && a->step >= -1 && a->step < nodes &&
           a->rollouts >= (a->step > 0) && a->rollouts <= a->options.rollouts &&
           emp_choices_are_valid(a->start.device, nodes, devices) &&
           emp_choices_are_valid(a->best.device, nodes, devices) &&
           emp_choices_are_valid(a->now, drawn, devices) &&
           emp_choices_are_valid(a->action, drawn, devices);
}

/* Proposes the start, or the next placement of each rollout; of only max rollouts if that is fewer,
 * and then the others are given up. Ops in no node are on device 0. */
static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    emp_placeto_agent *a = (emp_placeto_agent *)state;

    if (max < 1)
        return EMP_ERROR(EMP_EINVAL, "asked for %d candidates, want at least 1", max);
    EMP_CHECK(emp_learner_check(&a->learner, err));
    if (!is_sound(a))
        return EMP_ERROR(EMP_EFORMAT, "the saved state of placeto is damaged");
    unsigned saved = emp_flush_begin();

    if (a->step < 0) {
        a->learner.drawn = 1;
        propose(a, a->start.device, candidates[0].device_of_op);
    } else {
        if (a->step == 0) begin_episode(a);
        if (a->rollouts > max) a->rollouts = max;
        draw_devices(a);
        a->learner.drawn = a->rollouts;
        for (int32_t k = 0; k < a->learner.drawn; k++)
            propose(a, &a->now[k * a->graph->node_count], candidates[k].device_of_op);
    }
    *count = a->learner.drawn;
    emp_flush_end(saved);
    return EMP_OK;
}

/* ---- being told ---- */

static double missing_memory(const emp_placeto_options *o, const emp_score *score)
{
    int64_t peak = 0;

    if (o->memory == EMP_PLACETO_OVERFLOW) return score->overflow_frac;
    for (int32_t d = 0; score->result != NULL && d < score->result->device_count; d++)
        if (score->result->peak_bytes[d] > peak) peak = score->result->peak_bytes[d];
    return fmax(0.0, 1e-9 * (double)peak - o->limit_gb);
}

static double value_of(const emp_placeto_agent *a, const emp_score *score)
{
    const emp_placeto_options *o = &a->options;

    return fmin(o->cap,
                score->step_time_s / a->unit_s + o->penalty * missing_memory(o, score));
}

/* When the first op of each node starts. */
static void keep_times(const emp_placeto_agent *a, const emp_score *score, emp_real *to)
{
    const emp_members *ops = &a->graph->ops;

    for (int32_t v = 0; v < a->graph->node_count && score->start_ns != NULL; v++) {
        emp_time_ns first = score->start_ns[ops->member[ops->first[v]]];
        for (int32_t i = ops->first[v]; i < ops->first[v + 1]; i++)
            if (score->start_ns[ops->member[i]] < first)
                first = score->start_ns[ops->member[i]];
        to[v] = (emp_real)(1e-9 * (double)first);
    }
}

static void keep_if_best(emp_placeto_agent *a, const int32_t *device,
                         const emp_score *score, double value)
{
    if (!(value < a->best.value)) return;
    memcpy(a->best.device, device, (size_t)a->graph->node_count * sizeof *device);
    keep_times(a, score, a->best.time_s);
    a->best.value = value;
}

static void end_episode(emp_placeto_agent *a)
{
    size_t nodes = (size_t)a->graph->node_count;

    if (!is_greedy(a)) learn(a);
    a->episode++;
    a->step = 0;
    if (a->options.start == EMP_PLACETO_START_EACH) draw_start(a);
    if (a->options.start != EMP_PLACETO_START_BEST) return;
    memcpy(a->start.device, a->best.device, nodes * sizeof *a->start.device);
    memcpy(a->start.time_s, a->best.time_s, nodes * sizeof *a->start.time_s);
    a->start.value = a->best.value;
}

static void tell_start(emp_placeto_agent *a, const emp_score *score)
{
    if (!(a->unit_s > 0.0))
        a->unit_s = a->options.units == EMP_PLACETO_SECONDS
                        ? 1.0
                        : fmax(score->step_time_s, 1e-9);
    a->start.value = value_of(a, score);
    keep_times(a, score, a->start.time_s);
    keep_if_best(a, a->start.device, score, a->start.value);
    a->step = 0;
}

static void tell_step(emp_placeto_agent *a, const emp_score *scores)
{
    int64_t nodes = a->graph->node_count, stride = a->options.rollouts;

    a->step++;
    for (int64_t k = 0; k < a->rollouts; k++) {
        double value = value_of(a, &scores[k]);
        a->value[a->step * stride + k] = value;
        keep_if_best(a, &a->now[k * nodes], &scores[k], value);
        if (a->step < nodes)
            keep_times(a, &scores[k], &a->time_s[(a->step * stride + k) * nodes]);
    }
    if (a->step == nodes) end_episode(a);
}

/* Goes on to the next step, or episode. */
static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    emp_placeto_agent *a = (emp_placeto_agent *)state;

    if (count != a->learner.drawn)
        return EMP_ERROR(EMP_EINVAL, "told %d scores of %d candidates", count,
                         a->learner.drawn);
    unsigned saved = emp_flush_begin();

    if (a->step < 0)
        tell_start(a, scores);
    else
        tell_step(a, scores);
    emp_flush_end(saved);
    return EMP_OK;
}

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    emp_placeto_agent *a = (emp_placeto_agent *)state;
    const int32_t      count = emp_learner_list_weights(a, arrays);
    size_t nodes = (size_t)a->graph->node_count, rollouts = (size_t)a->options.rollouts;
    const emp_named_array all[] = {
        {"episode", EMP_ARRAY_INT64, 1, &a->episode},
        {"update", EMP_ARRAY_INT64, 1, &a->learner.update},
        {"step", EMP_ARRAY_INT32, 1, &a->step},
        {"rollouts", EMP_ARRAY_INT32, 1, &a->rollouts},
        {"unit_s", EMP_ARRAY_DOUBLE, 1, &a->unit_s},
        {"start_device", EMP_ARRAY_INT32, nodes, a->start.device},
        {"start_time", EMP_ARRAY_REAL, nodes, a->start.time_s},
        {"start_value", EMP_ARRAY_DOUBLE, 1, &a->start.value},
        {"best_device", EMP_ARRAY_INT32, nodes, a->best.device},
        {"best_time", EMP_ARRAY_REAL, nodes, a->best.time_s},
        {"best_value", EMP_ARRAY_DOUBLE, 1, &a->best.value},
        {"device", EMP_ARRAY_INT32, rollouts * nodes, a->now},
        {"action", EMP_ARRAY_INT32, rollouts * nodes, a->action},
        {"time", EMP_ARRAY_REAL, nodes * rollouts * nodes, a->time_s},
        {"value", EMP_ARRAY_DOUBLE, (nodes + 1) * rollouts, a->value},
        {"average", EMP_ARRAY_DOUBLE, (size_t)a->options.window * nodes, a->average}};

    memcpy(&arrays[count], all, sizeof all);
    return count + (int32_t)(sizeof all / sizeof *all);
}

/* ---- the method ---- */

static const emp_option option_list[] = {
    EMP_INTEGER_OPTION("max_nodes", emp_placeto_options, max_nodes, 1, 1024,
                       "groups of ops, and steps of an episode, at most", 64),
    EMP_INTEGER_OPTION("rollouts", emp_placeto_options, rollouts, 1, EMP_MAX_BATCH,
                       "of an episode, from one start; they make one update", 1, 4),
    EMP_BOOL_OPTION("cpu", emp_placeto_options, cpu,
                    "1: CPUs are devices to choose from, too", 0),
    EMP_WORD_OPTION(
        "start", emp_placeto_options, start, "once|first|each|best",
        "where an episode begins: at one random placement, with all ops on the "
        "first device, at a random placement of its own, or at the best so far",
        EMP_PLACETO_START_ONCE, EMP_PLACETO_START_BEST),
    EMP_WORD_OPTION("units", emp_placeto_options, units, "seconds|starts",
                    "in what step times count: seconds, or the first start's step time",
                    EMP_PLACETO_SECONDS, EMP_PLACETO_STARTS),
    EMP_WORD_OPTION("memory", emp_placeto_options, memory, "peak|overflow",
                    "what counts as missing: GB above limit_gb on the fullest device, or "
                    "shares of devices' own memory",
                    EMP_PLACETO_PEAK, EMP_PLACETO_OVERFLOW),
    EMP_REAL_OPTION("penalty", emp_placeto_options, penalty, 0, 1e6,
                    "times what is missing, added to the time", 2, 5),
    EMP_REAL_OPTION("limit_gb", emp_placeto_options, limit_gb, 0, 1e6,
                    "memory of a device that costs nothing, for memory=peak", 8),
    EMP_REAL_OPTION("cap", emp_placeto_options, cap, 1e-3, 1e9,
                    "most that time and penalty count", 10),
    EMP_REAL_OPTION("gamma", emp_placeto_options, gamma, 0, 1,
                    "discount of what later moves gain", 1),
    EMP_INTEGER_OPTION("passes", emp_placeto_options, passes, 1, 64,
                       "of messages, each way", 8),
    EMP_INTEGER_OPTION("window", emp_placeto_options, window, 1, 1000,
                       "episodes that the baseline averages, with the present one", 10),
    EMP_INTEGER_OPTION("greedy_every", emp_placeto_options, greedy_every, 0, 1000000000,
                       "every so many episodes, from the first on, takes the likeliest "
                       "devices and teaches nothing; 0: none",
                       999, 0),
    EMP_ADAM_OPTIONS(emp_placeto_options, learner.adam, EMP_LEARNER_DEFAULTS(1e-3, 3e-3),
                     "epsilon", 1e-8, 0),
    EMP_CLIP_OPTION(emp_placeto_options, learner.clip, 1.25),
    EMP_ENTROPY_OPTION(emp_placeto_options, learner.entropy,
                       EMP_LEARNER_DEFAULTS(1, 0.01)),
    EMP_REAL_OPTION("lr_last", emp_placeto_options, lr_last, 0, 10,
                    "learning rate at the end; between, it falls in a line", 1e-4, 3e-4),
    EMP_REAL_OPTION("entropy_last", emp_placeto_options, entropy_last, 0, 1e6,
                    "that weight at the end", 0),
    EMP_INTEGER_OPTION(
        "updates", emp_placeto_options, updates, 0, 1000000000,
        "updates until the end of both lines; 0: as many as the budget has", 0),
    EMP_NO_OPTION};

static const emp_method_learning learning = {.list_weights = emp_learner_list_weights};

const emp_method emp_method_placeto = {
    .name = "placeto",
    .description = "a graph network that moves one group at a time, and sees each score "
                   "(Placeto; Addanki et al., NeurIPS 2019)",
    .advice = "a comparison with Placeto, a score a move",
    .uses_budget = true,
    .uses_seed = true,
    .needs_times = true,
    .presets = "paper|emplace",
    .options = option_list,
    .state_bytes = sizeof(emp_placeto_agent),
    .init = init,
    .ask = ask,
    .tell = tell,
    .clear = clear,
    .metrics = emp_learner_metrics,
    .list_state = list_state,
    .learning = &learning};
