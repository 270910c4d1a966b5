// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/op_agent.h"

#include <math.h>
#include <string.h>

#include "base/blas/openblas.h"
#include "base/mem.h"
#include "policy/nn/flush.h"

/* Streams of random numbers: initial weights, and one per sample. */
enum { STREAM_WEIGHTS = 0, STREAM_SAMPLES = 1 };

enum { ENTROPY = 3, LOG_PROB, GRADIENT_NORM, METRICS };

static const char *const metric_names[METRICS] = {"loss",    "reward",   "baseline",
                                                  "entropy", "log_prob", "gradient_norm"};

void emp_op_agent_clear(emp_op_agent *a)
{
    emp_op_features_destroy(a->learner.ops);
    emp_grouper_clear(&a->net);
    emp_free(a->device);
    emp_free(a->gradient);
    *a = (emp_op_agent){0};
}

void emp_op_agent_propose(emp_op_agent *a, int32_t samples)
{
    emp_learner      *l = &a->learner;
    const emp_params *p = &a->net.params;
    size_t            rows = (size_t)l->ops->row_count;
    unsigned          saved = emp_flush_begin();

    l->drawn = samples;
    a->entropy = 0.0;
    for (int32_t k = 0; k < samples; k++) {
        int64_t        stream = STREAM_SAMPLES + l->update * l->options.samples;
        const emp_draw draw = {.seed = l->draw_seed,
                               .update = (uint32_t)(stream + k),
                               .threads = l->threads};
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

static void propose(emp_learner *learner, int32_t samples)
{
    emp_op_agent_propose((emp_op_agent *)learner, samples);
}

static emp_device_id device(const emp_learner *learner, int32_t sample, int32_t row)
{
    const emp_op_agent *a = (const emp_op_agent *)learner;

    return a->device[(int64_t)sample * learner->ops->row_count + row];
}

static double take_gradients(emp_learner *learner, const double *weight, int32_t own,
                             double entropy)
{
    emp_op_agent *a = (emp_op_agent *)learner;
    emp_params   *p = &a->net.params;
    double        loss = 0.0;

    (void)entropy; /* that of the placer, which this policy lacks */
    emp_params_zero_gradient(p);
    for (int32_t k = 0; k < own; k++) {
        const emp_real *gradient = &a->gradient[(size_t)k * p->count];
        for (size_t i = 0; i < p->count; i++)
            p->gradient[i] += (emp_real)weight[k] * gradient[i];
        loss -= weight[k] * a->log_prob[k];
    }
    return loss;
}

static void report(emp_learner *learner)
{
    const emp_op_agent *a = (const emp_op_agent *)learner;

    learner->metric[ENTROPY].value = a->entropy;
    learner->metric[LOG_PROB].value = emp_learner_mean(a->log_prob, learner->drawn);
}

static const emp_learner_type type = {.metric_count = METRICS,
                                      .metrics = metric_names,
                                      .propose = propose,
                                      .device = device,
                                      .take_gradients = take_gradients,
                                      .report = report};

emp_status emp_op_agent_init(emp_op_agent *a, emp_op_features *ops, int32_t device_count,
                             const emp_hdp_options *o, uint64_t seed, int32_t threads,
                             emp_error *err)
{
    emp_status              st = EMP_OK;
    size_t                  samples = (size_t)o->learner.samples;
    const emp_grouper_shape shape = {.hidden = o->grouper_hidden,
                                     .groups = device_count,
                                     .type_width = o->type_width,
                                     .activation = EMP_ACTIVATION_TANH};
    emp_rng                 rng;

    *a = (emp_op_agent){0};
    a->learner = emp_learner_start(&type, &o->learner, ops, seed, threads);
    EMP_TRY(emp_openblas_open(err));
    EMP_TRY(emp_grouper_init(&a->net, &shape, ops, err));
    emp_learner_add(&a->learner, EMP_LEARNER_NET("", &a->net.params, GRADIENT_NORM));
    emp_rng_init(&rng, seed, STREAM_WEIGHTS, 0);
    emp_grouper_randomize(&a->net, &rng);
    EMP_TRY(EMP_ALLOC(a->device, samples * (size_t)ops->row_count));
    EMP_TRY(EMP_ALLOC(a->gradient, samples * a->net.params.count));

cleanup:
    if (st != EMP_OK) emp_op_agent_clear(a);
    return st;
}
