// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/iterations/plan.h"

#include <math.h>

#include "base/mem.h"
#include "sim/cost/kernel.h"

enum { VOCABULARY = 51200, HALF_BYTES = 2, UPDATE_BYTES = 32, PASSES_OF_HEAD = 6 };

static const double MEMORY_SHARE = 0.8, BACKWARD_MORE = 1.5;

typedef struct {
    const emp_iteration *it;
    const emp_hosts     *hosts;
    double               tokens; /* of a micro-batch */
} planner;

typedef struct {
    double products_s, bytes, sums_s;
} pass;

/* ---- parts of a layer ---- */

static emp_status add_product(double *seconds, const planner *p, double m, double n,
                              double k, emp_error *err)
{
    emp_form form;
    double   product_s;

    EMP_CHECK(emp_product_time(&product_s, &form, p->hosts->gpu,
                               &(emp_product){EMP_FORMAT_FP16, m, n, k, 1.0}, err));
    *seconds += product_s;
    return EMP_OK;
}

/* An all-reduce among GPUs that fill hosts one after another. */
static emp_status time_sum(double *seconds, const planner *p, int32_t gpus, double bytes,
                           emp_error *err)
{
    emp_form form;
    int32_t  inside = gpus < p->hosts->gpus_per_host ? gpus : p->hosts->gpus_per_host;
    double   hosts = ceil((double)gpus / inside);

    *seconds = 0.0;
    if (inside > 1)
        EMP_CHECK(emp_exchange_time(
            seconds, &form, p->hosts->gpu,
            &(emp_exchange){EMP_COLLECTIVE_ALL_REDUCE, EMP_FORMAT_FP16, inside, bytes},
            err));
    *seconds += 2.0 * (hosts - 1.0) / hosts * bytes / p->hosts->host_bytes_per_s;
    return EMP_OK;
}

/* The forward pass of a block. */
static emp_status fill_block(pass *f, const planner *p, emp_error *err)
{
    double h = p->it->hidden, tp = p->it->tensor_parallel, t = p->tokens;
    double s = p->it->sequence, head = h / p->it->heads;
    double heads = fmax(1.0, p->it->heads / tp) * p->it->micro_batch;
    double activation = HALF_BYTES * t * h, scores = HALF_BYTES * heads * s * s, sum_s;

    *f = (pass){0};
    EMP_CHECK(add_product(&f->products_s, p, t, 3.0 * h / tp, h, err));
    EMP_CHECK(add_product(&f->products_s, p, heads * s, s, head, err));
    EMP_CHECK(add_product(&f->products_s, p, heads * s, head, s, err));
    EMP_CHECK(add_product(&f->products_s, p, t, h, h / tp, err));
    EMP_CHECK(add_product(&f->products_s, p, t, 4.0 * h / tp, h, err));
    EMP_CHECK(add_product(&f->products_s, p, t, h, 4.0 * h / tp, err));
    /* two norms and two sums with dropout and residual on all GPUs; gelu, and queries, keys and values
     * brought into order, on a part each; softmax and dropout of the scores */
    f->bytes = (2.0 * 2.0 + 2.0 * 4.0) * activation +
               (2.0 * 4.0 + 2.0 * 3.0) * activation / tp + (2.0 + 2.5) * scores;
    EMP_CHECK(time_sum(&sum_s, p, p->it->tensor_parallel, activation, err));
    f->sums_s = 2.0 * sum_s;
    return EMP_OK;
}

static double stream_s(const planner *p, double bytes)
{
    return bytes / (MEMORY_SHARE * p->hosts->gpu->memory_bytes_per_s);
}

/* ---- stages ---- */

/* The product with the vocabulary, and the loss. */
static emp_status add_head(emp_stage_cost *c, const planner *p, emp_error *err)
{
    double words = (double)VOCABULARY / p->it->tensor_parallel, product_s = 0.0;
    double logits = HALF_BYTES * p->tokens * words;

    EMP_CHECK(add_product(&product_s, p, p->tokens, words, p->it->hidden, err));
    c->forward_s += product_s + stream_s(p, PASSES_OF_HEAD * logits);
    c->backward_s += 2.0 * product_s + stream_s(p, (PASSES_OF_HEAD - 2) * logits);
    return EMP_OK;
}

static emp_status add_replicas(emp_stage_cost *c, const planner *p, double parameters,
                               emp_error *err)
{
    int32_t tp = p->it->tensor_parallel, per_host = p->hosts->gpus_per_host;
    int32_t near = tp < per_host ? per_host / tp : 1; /* replicas in a host */
    double  replicas = p->it->replicas, bytes = HALF_BYTES * parameters;
    double  sharing = tp < per_host ? tp : per_host; /* of a host's network */

    c->update_s = stream_s(p, UPDATE_BYTES * parameters);
    if (p->it->replicas == 1) return EMP_OK;
    if (p->it->replicas <= near)
        return time_sum(&c->reduce_s, p, p->it->replicas, bytes, err);
    c->reduce_s =
        2.0 * (replicas - 1.0) / replicas * bytes * sharing / p->hosts->host_bytes_per_s;
    return EMP_OK;
}

static void add_exchanges(emp_stage_cost *c, const planner *p)
{
    double part = HALF_BYTES * p->tokens * p->it->hidden / p->it->tensor_parallel;
    double part_s = part * p->hosts->gpus_per_host / p->hosts->host_bytes_per_s;

    c->output_s = c->gradient_s = part_s;
    c->is_output_buffered = c->is_gradient_buffered = part <= EMP_BUFFERED_BYTES;
}

static emp_status plan_stage(emp_stage_cost *c, const planner *p, int32_t stage,
                             const pass *f, emp_error *err)
{
    bool   has_more = stage < p->it->layers % p->it->stages;
    double layers = p->it->layers / p->it->stages + has_more, h = p->it->hidden;
    double stream = stream_s(p, f->bytes);
    double forward_s = f->products_s + stream + f->sums_s;
    double backward_s = 2.0 * f->products_s + BACKWARD_MORE * stream + f->sums_s;
    double parameters = 12.0 * h * h * layers;

    c->forward_s = layers * forward_s;
    c->backward_s = layers * (forward_s + backward_s);
    if (stage == 0 || stage + 1 == p->it->stages) parameters += (double)VOCABULARY * h;
    if (stage + 1 == p->it->stages) EMP_CHECK(add_head(c, p, err));
    add_exchanges(c, p);
    return add_replicas(c, p, parameters / p->it->tensor_parallel, err);
}

emp_status emp_transformer_plan(emp_step *step, emp_stage_cost **stages,
                                const emp_iteration *iteration, const emp_hosts *hosts,
                                emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_stage_cost *cost = NULL;
    pass            forward;
    planner p = {iteration, hosts, (double)iteration->micro_batch * iteration->sequence};

    *stages = NULL;
    if (iteration->layers < iteration->stages)
        EMP_FAIL(EMP_EINVAL, "%d stages have %d layers, want one each at least",
                 iteration->stages, iteration->layers);
    EMP_TRY(EMP_ALLOC(cost, (size_t)iteration->stages));
    EMP_TRY(fill_block(&forward, &p, err));
    for (int32_t s = 0; s < iteration->stages; s++)
        EMP_TRY(plan_stage(&cost[s], &p, s, &forward, err));
    *step = (emp_step){.stages = iteration->stages,
                       .replicas = 1,
                       .micro_batches = iteration->micro_batches,
                       .stage = cost};
    *stages = cost;
    cost = NULL;

cleanup:
    emp_free(cost);
    return st;
}
