// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/op_agent.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "policy/hdp/update.h"
#include "policy/nn/blas.h"
#include "policy/nn/flush.h"

/* Streams of random numbers: initial weights, and one per sample. */
enum { STREAM_WEIGHTS = 0, STREAM_SAMPLES = 1 };

/* A metric that only the step knows. */
enum { GRADIENT_NORM = 5 };

static const char *const metric_names[EMP_OP_AGENT_METRICS] = {
    "loss", "reward", "baseline", "entropy", "log_prob", "gradient_norm"};

emp_status emp_op_agent_init(emp_op_agent *a, const emp_op_features *ops,
                             int32_t device_count, const emp_hdp_options *o,
                             uint64_t seed, int32_t threads, emp_error *err)
{
    emp_status              st = EMP_OK;
    size_t                  samples = (size_t)o->samples;
    const emp_grouper_shape shape = {.hidden = o->grouper_hidden,
                                     .groups = device_count,
                                     .type_width = o->type_width,
                                     .activation = EMP_ACTIVATION_TANH};
    emp_rng                 rng;

    *a = (emp_op_agent){.options = *o,
                        .ops = ops,
                        .draw_seed = seed,
                        .threads = threads < 1 ? 1 : threads};
    for (int i = 0; i < EMP_OP_AGENT_METRICS; i++)
        a->metric[i] = (emp_placer_metric){metric_names[i], NAN};
    emp_blas_single_thread();
    EMP_TRY(emp_grouper_init(&a->net, &shape, ops, err));
    a->net.params.threads = a->threads;
    emp_rng_init(&rng, seed, STREAM_WEIGHTS, 0);
    emp_grouper_randomize(&a->net, &rng);
    a->device = EMP_NEW_ARRAY(int32_t, samples * (size_t)ops->row_count);
    a->gradient = EMP_NEW_ARRAY(emp_real, samples * a->net.params.count);
    if (a->device == NULL || a->gradient == NULL)
        EMP_FAIL(EMP_ENOMEM, "%zu samples of %d ops", samples, ops->row_count);

cleanup:
    if (st != EMP_OK) emp_op_agent_clear(a);
    return st;
}

void emp_op_agent_clear(emp_op_agent *a)
{
    emp_grouper_clear(&a->net);
    emp_free(a->device);
    emp_free(a->gradient);
    *a = (emp_op_agent){0};
}

void emp_op_agent_propose(emp_op_agent *a, int32_t samples)
{
    const emp_params *p = &a->net.params;
    size_t            rows = (size_t)a->ops->row_count;
    unsigned          saved = emp_flush_begin();

    a->samples = samples;
    a->entropy = 0.0;
    for (int32_t k = 0; k < samples; k++) {
        int64_t        stream = STREAM_SAMPLES + a->update * a->options.samples;
        const emp_draw draw = {.seed = a->draw_seed,
                               .update = (uint32_t)(stream + k),
                               .threads = a->threads};
        emp_grouper_run(&a->net, &draw, NULL);
        memcpy(&a->device[(size_t)k * rows], a->net.group_of_row,
               rows * sizeof *a->device);
        memcpy(&a->gradient[(size_t)k * p->count], p->gradient,
               p->count * sizeof *a->gradient);
        a->log_prob[k] = a->net.log_prob;
        a->entropy += a->net.entropy / samples;
    }
    emp_flush_end(saved);
}

emp_device_id emp_op_agent_device(const emp_op_agent *a, int32_t sample, int32_t row)
{
    return a->device[(int64_t)sample * a->ops->row_count + row];
}

/* Leaves the gradient of the sum of weight x log p over the samples; returns the loss. */
static double take_gradient(emp_op_agent *a, const double *weight, int32_t own)
{
    emp_params *p = &a->net.params;
    double      loss = 0.0;

    emp_params_zero_gradient(p);
    for (int32_t k = 0; k < own; k++) {
        const emp_real *gradient = &a->gradient[(size_t)k * p->count];
        for (size_t i = 0; i < p->count; i++)
            p->gradient[i] += (emp_real)weight[k] * gradient[i];
        loss -= weight[k] * a->log_prob[k];
    }
    return loss;
}

static double mean_log_prob(const emp_op_agent *a)
{
    double sum = 0.0;

    for (int32_t k = 0; k < a->samples; k++) sum += a->log_prob[k];
    return a->samples > 0 ? sum / a->samples : NAN;
}

void emp_op_agent_backward(emp_op_agent *a, const emp_score *scores, int32_t count,
                           int32_t first, int32_t own)
{
    const emp_reinforce_rules rules = emp_hdp_rules(&a->options);
    unsigned                  saved = emp_flush_begin();
    emp_judgement j = emp_reinforce_judge(&rules, &a->baseline, a->update, scores, count);
    double        loss = take_gradient(a, j.weight + first, j.count > 0 ? own : 0);

    a->has_gradient = j.count > 0;
    emp_flush_end(saved);
    const double value[EMP_OP_AGENT_METRICS] = {
        loss, j.reward, a->baseline.value, a->entropy, mean_log_prob(a), NAN};
    for (int i = 0; i < EMP_OP_AGENT_METRICS; i++) a->metric[i].value = value[i];
}

void emp_op_agent_step(emp_op_agent *a)
{
    unsigned saved = emp_flush_begin();

    a->metric[GRADIENT_NORM].value =
        a->has_gradient != 0 ? emp_hdp_ascend(&a->net.params, &a->options) : 0.0;
    a->update++;
    emp_flush_end(saved);
}

int32_t emp_op_agent_list_gradient(emp_op_agent   *a,
                                   emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    emp_params *p = &a->net.params;

    arrays[0] = (emp_named_array){"has_gradient", EMP_ARRAY_INT32, 1, &a->has_gradient};
    arrays[1] = (emp_named_array){"gradient", EMP_ARRAY_REAL, p->count, p->gradient};
    return 2;
}

int32_t emp_op_agent_list_values(emp_op_agent   *a,
                                 emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    emp_params *p = &a->net.params;

    arrays[0] = (emp_named_array){"update", EMP_ARRAY_INT64, 1, &a->update};
    arrays[1] = (emp_named_array){"value", EMP_ARRAY_REAL, p->count, p->value};
    return 2;
}

int32_t emp_op_agent_list_state(emp_op_agent   *a,
                                emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    emp_params           *p = &a->net.params;
    const emp_named_array all[] = {
        {"update", EMP_ARRAY_INT64, 1, &a->update},
        {"baseline", EMP_ARRAY_DOUBLE, 1, &a->baseline.value},
        {"has_baseline", EMP_ARRAY_INT32, 1, &a->baseline.is_started},
        {"step", EMP_ARRAY_INT64, 1, &p->step},
        {"value", EMP_ARRAY_REAL, p->count, p->value},
        {"moment1", EMP_ARRAY_REAL, p->count, p->moment1},
        {"moment2", EMP_ARRAY_REAL, p->count, p->moment2},
    };

    memcpy(arrays, all, sizeof all);
    return (int32_t)(sizeof all / sizeof *all);
}
