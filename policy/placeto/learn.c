// SPDX-License-Identifier: GPL-3.0-or-later
#include <math.h>
#include <string.h>

#include "policy/nn/categorical.h"
#include "policy/placeto/learn.h"

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

void emp_placeto_fill_constants(emp_placeto_agent *a)
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

void emp_placeto_fill_states(emp_placeto_agent *a, int32_t step, const int32_t *device)
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
    int64_t known = a->update + 1 < window ? a->update + 1 : window;

    sum_returns(a);
    for (int64_t t = 0; t < nodes; t++) {
        double sum = 0.0, baseline = 0.0;
        for (int64_t k = 0; k < a->rollouts; k++) sum += a->weight[t * stride + k];
        a->average[a->update % window * nodes + t] = sum / a->rollouts;
        for (int64_t i = 0; i < known; i++) baseline += a->average[i * nodes + t];
        for (int64_t k = 0; k < a->rollouts; k++)
            a->weight[t * stride + k] -= baseline / (double)known;
    }
}

/* ---- the update ---- */

/* Of one row of odds; returns its part of the loss. */
static double score_row(emp_real *d_logits, emp_real *p, int32_t count, int32_t chosen,
                        double weight)
{
    double loss = -weight * log(fmax((double)p[chosen], 1e-300));

    memcpy(d_logits, p, (size_t)count * sizeof *p);
    emp_categorical_score(d_logits, count, chosen, weight);
    return loss;
}

/* Of one step of all rollouts. */
static double add_step(emp_placeto_agent *a, int32_t step, double entropy,
                       double *entropy_sum)
{
    emp_real *p = a->net.logits;
    int32_t   nodes = a->graph->node_count, count = a->device_count;
    double    loss = 0.0, odds;

    emp_placeto_fill_states(a, step, a->replayed);
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
    a->metric[EMP_PLACETO_ENTROPY].value = entropy_sum / (nodes * a->rollouts);
    return loss;
}

/* From the first value to the last, in a line over the updates that are planned. */
static double scheduled(const emp_placeto_agent *a, double first, double last)
{
    double part = a->planned > 1 ? (double)a->update / (double)(a->planned - 1) : 0.0;

    return first + (last - first) * fmin(part, 1.0);
}

static double mean_return(const emp_placeto_agent *a)
{
    double sum = 0.0;

    for (int32_t k = 0; k < a->rollouts; k++)
        sum += a->value[k] - a->value[a->graph->node_count * a->options.rollouts + k];
    return sum / a->rollouts;
}

void emp_placeto_learn(emp_placeto_agent *a)
{
    const emp_placeto_options *o = &a->options;
    const emp_adam             adam = {.learning_rate = scheduled(a, o->lr, o->lr_last),
                                       .beta1 = 0.9,
                                       .beta2 = 0.999,
                                       .epsilon = o->epsilon};

    emp_placeto_weigh(a);
    emp_params_zero_gradient(&a->net.params);
    a->metric[EMP_PLACETO_LOSS].value =
        emp_placeto_add_gradients(a, scheduled(a, o->entropy, o->entropy_last));
    a->metric[EMP_PLACETO_NORM].value = emp_params_ascend(&a->net.params, o->clip, &adam);
    a->metric[EMP_PLACETO_RETURN].value = mean_return(a);
    a->update++;
    a->metric[EMP_PLACETO_UPDATES].value = (double)a->update;
}
