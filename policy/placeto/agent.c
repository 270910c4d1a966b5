// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/placeto/agent.h"

#include <math.h>
#include <string.h>

#include "base/blas/openblas.h"
#include "policy/nn/categorical.h"
#include "policy/nn/flush.h"
#include "policy/placeto/learn.h"
#include "search/method.h"

/* Streams of random numbers: weights, starts by episode, and draws of each episode. */
enum { STREAM_WEIGHTS = 0, STREAM_STARTS, STREAM_EPISODES };

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

    emp_rng_init(&rng, a->seed, STREAM_STARTS, (uint32_t)a->episode);
    for (int32_t v = 0; v < a->graph->node_count; v++)
        a->start.device[v] =
            a->options.start == EMP_PLACETO_START_FIRST
                ? 0
                : (int32_t)emp_rng_below(&rng, (uint32_t)a->device_count);
    a->step = -1;
}

emp_status emp_placeto_agent_init(emp_placeto_agent *a, emp_node_graph *graph,
                                  const emp_device_id *devices, int32_t device_count,
                                  const emp_placeto_options *options, int64_t planned,
                                  uint64_t seed, int32_t threads, emp_error *err)
{
    static const char *const names[EMP_PLACETO_METRICS] = {"loss", "return", "entropy",
                                                           "gradient_norm", "updates"};
    emp_status               st = EMP_OK;
    emp_rng                  rng;

    *a = (emp_placeto_agent){.options = *options,
                             .graph = graph,
                             .device_count = device_count,
                             .seed = seed,
                             .planned = planned};
    memcpy(a->device, devices, (size_t)device_count * sizeof *devices);
    for (int32_t i = 0; i < EMP_PLACETO_METRICS; i++)
        a->metric[i] = (emp_method_metric){names[i], NAN};
    EMP_TRY(emp_openblas_open(err));
    EMP_TRY(emp_placeto_net_init(
        &a->net, graph,
        &(emp_placeto_shape){.inputs = EMP_PLACETO_FEATURES + device_count,
                             .devices = device_count,
                             .passes = options->passes,
                             .max_rollouts = options->rollouts,
                             .threads = threads < 1 ? 1 : threads},
        err));
    EMP_TRY(allocate(a, err));
    emp_rng_init(&rng, seed, STREAM_WEIGHTS, 0);
    emp_placeto_net_randomize(&a->net, &rng);
    emp_placeto_fill_constants(a);
    draw_start(a);

cleanup:
    if (st != EMP_OK) emp_placeto_agent_clear(a);
    return st;
}

void emp_placeto_agent_clear(emp_placeto_agent *a)
{
    emp_node_graph_destroy(a->graph);
    emp_placeto_net_clear(&a->net);
    emp_arrays_clear(&a->arrays);
    *a = (emp_placeto_agent){0};
}

/* ---- asking ---- */

static bool is_greedy(const emp_placeto_agent *a)
{
    return a->options.greedy_every > 0 && a->episode % a->options.greedy_every == 0;
}

static int32_t most_likely(const emp_real *p, int32_t count)
{
    int32_t best = 0;

    for (int32_t i = 1; i < count; i++)
        if (p[i] > p[best]) best = i;
    return best;
}

static int32_t draw_device(const emp_placeto_agent *a, int32_t rollout, const emp_real *p)
{
    emp_rng rng;

    if (is_greedy(a)) return most_likely(p, a->device_count);
    emp_rng_init(&rng, a->seed, (uint32_t)(STREAM_EPISODES + a->episode),
                 (uint32_t)(a->step * EMP_MAX_BATCH + rollout));
    return emp_categorical_sample(p, a->device_count, emp_rng_uniform(&rng));
}

/* Of every rollout, for the node whose turn it is. */
static void draw_devices(emp_placeto_agent *a)
{
    int32_t nodes = a->graph->node_count, node = a->graph->order[a->step];

    emp_placeto_fill_states(a, a->step, a->now);
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

    return emp_count_is_valid(a->episode) && emp_count_is_valid(a->update) &&
           emp_count_is_valid(a->net.params.step) && a->step >= -1 && a->step < nodes &&
           a->rollouts >= (a->step > 0) && a->rollouts <= a->options.rollouts &&
           emp_choices_are_valid(a->start.device, nodes, devices) &&
           emp_choices_are_valid(a->best.device, nodes, devices) &&
           emp_choices_are_valid(a->now, drawn, devices) &&
           emp_choices_are_valid(a->action, drawn, devices);
}

emp_status emp_placeto_agent_ask(emp_placeto_agent        *a,
                                 const emp_owned_decision *candidates, int32_t max,
                                 int32_t *count, emp_error *err)
{
    if (!is_sound(a))
        return EMP_ERROR(EMP_EFORMAT, "the saved state of placeto is damaged");
    unsigned saved = emp_flush_begin();

    if (a->step < 0) {
        a->drawn = 1;
        propose(a, a->start.device, candidates[0].device_of_op);
    } else {
        if (a->step == 0) begin_episode(a);
        if (a->rollouts > max) a->rollouts = max;
        draw_devices(a);
        a->drawn = a->rollouts;
        for (int32_t k = 0; k < a->drawn; k++)
            propose(a, &a->now[k * a->graph->node_count], candidates[k].device_of_op);
    }
    *count = a->drawn;
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

    if (!is_greedy(a)) emp_placeto_learn(a);
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

void emp_placeto_agent_tell(emp_placeto_agent *a, const emp_score *scores)
{
    unsigned saved = emp_flush_begin();

    if (a->step < 0)
        tell_start(a, scores);
    else
        tell_step(a, scores);
    emp_flush_end(saved);
}

/* ---- the state ---- */

int32_t emp_placeto_agent_list_weights(emp_placeto_agent *a,
                                       emp_named_array    arrays[EMP_MAX_NAMED_ARRAYS])
{
    emp_params           *p = &a->net.params;
    const emp_named_array all[] = {{"net_step", EMP_ARRAY_INT64, 1, &p->step},
                                   {"net_value", EMP_ARRAY_REAL, p->count, p->value},
                                   {"net_moment1", EMP_ARRAY_REAL, p->count, p->moment1},
                                   {"net_moment2", EMP_ARRAY_REAL, p->count, p->moment2}};

    memcpy(arrays, all, sizeof all);
    return sizeof all / sizeof *all;
}

int32_t emp_placeto_agent_list_state(emp_placeto_agent *a,
                                     emp_named_array    arrays[EMP_MAX_NAMED_ARRAYS])
{
    const int32_t count = emp_placeto_agent_list_weights(a, arrays);
    size_t nodes = (size_t)a->graph->node_count, rollouts = (size_t)a->options.rollouts;
    const emp_named_array all[] = {
        {"episode", EMP_ARRAY_INT64, 1, &a->episode},
        {"update", EMP_ARRAY_INT64, 1, &a->update},
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
