// SPDX-License-Identifier: GPL-3.0-or-later
/* A training step of measured layers, cut into micro-batches, stages and replicas.
 *
 * For each replica, layer and micro-batch there is a forward op and a backward op:
 *
 *  - the forward op "layer3/micro5" passes the layer's output on, and holds what the backward pass
 *    needs, until that has run;
 *  - the backward op "gradients/layer3/micro5" passes on the gradient of what the layer read;
 *  - "gradients/stage1/sum" takes no time; it waits for all backward ops of the stage;
 *  - with several replicas "gradients/stage1/all_reduce" sums the gradients of all, once all are there;
 *  - "stage1/update" is the optimizer's;
 *  - if replicas share the optimizer's state, "gradients/stage1/reduce_scatter" sums in place of the
 *    all-reduce, each replica updates its part, and "stage1/all_gather" gives all parts to all.
 *
 * A layer's ops share a device, as do a stage's. Without stages each layer is one by itself,
 * called "layer3". With several replicas names begin with "replica0/". Weights, gradients and the optimizer's
 * state belong to the forward ops of micro-batch 0. A CPU takes EMP_INSTANCE_CPU times as long.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/import/instances/layers.h"
#include "graphs/import/notes/readers.h"
#include "sim/graph/graph_builder.h"

/* The layers on a device model. */
typedef struct {
    const char      *gpu;   /*< its name; "" = any */
    const emp_layer *layer; /*< [layer_count] borrowed */
} emp_pipeline_model;

typedef struct {
    const emp_pipeline_model
                  *model; /*< [model_count]; the first is also for GPUs of no name here */
    int32_t        model_count;     /*< at least 1, at most EMP_STATED_MODELS_MAX */
    int32_t        layer_count;     /*< at least 1 */
    const int32_t *layers_of_stage; /*< [stage_count], or NULL: each layer is a stage */
    int32_t        stage_count;
    int32_t        sequences; /*< of a micro-batch */
    int32_t        micro_batches, replicas;
    emp_schedule   schedule;
    int32_t        element_bytes,
        state_bytes; /*< of an activation; of a parameter, all in all */
    /* Whether update_s of each layer is the time of all layers that were measured together: layers 0, 1, 2 and the
     * last. A stage takes a part of it, by its parameters. Else it is the layer's. */
    bool is_update_shared;
    /* Whether a replica has only its part of the optimizer's state (ZeRO, stage 1). Parameters and
     * gradients, EMP_PIPELINE_WHOLE_BYTES, are whole. */
    bool is_optimizer_sharded;
} emp_pipeline;

/* A parameter and its gradient in fp32. */
enum { EMP_PIPELINE_WHOLE_BYTES = 8 };

enum {
    OPS_MAX = 1 << 19,
    EDGES_MAX = 1 << 24,
    NAME_BYTES = 96,
    EXCHANGED_BYTES = 4,
    MEASURED_BLOCKS = 3
};

typedef struct {
    emp_graph_builder  *builder;
    const emp_pipeline *p;
    emp_op_id          *forward, *backward; /* [layer * micro_batches + micro-batch] */
    emp_op_id          *sum, *update;       /* [replica * stage_count + stage] */
    emp_task           *task;               /* [2 * micro_batches] */
    int32_t            *model;              /* [model_count] of the builder's */
    int32_t             stage_count;
    int32_t             replica;     /* whose ops are being added */
    int32_t             first, last; /* layers of the stage whose ops are being added */
    int32_t             stage;
} maker;

/* The parts of an op that do not depend on the device model. */
typedef struct {
    const char *name, *type;
    bool        is_backward;
    int64_t     persistent_bytes, held_bytes, copy_bytes;
} op_shape;

/* ---- ops ---- */

static const emp_layer *layer_of(const maker *m, int32_t model, int32_t layer)
{
    return &m->p->model[model].layer[layer];
}

static int64_t ns_of(double seconds) { return emp_instance_ns(seconds * 1e3); }

static emp_status check_times(const maker *m, const char *name, const double *seconds,
                              emp_error *err)
{
    for (int32_t i = 0; i < m->p->model_count; i++) {
        if (!(seconds[i] >= 0.0 && seconds[i] * 1e3 <= EMP_INSTANCE_MS_MAX))
            return EMP_ERROR(EMP_EFORMAT, "%s takes %g s, want 0 to %g", name, seconds[i],
                             EMP_INSTANCE_MS_MAX * 1e-3);
    }
    return EMP_OK;
}

/* Adds an op of the stage with a time on each device model. */
static emp_status add_op(emp_op_id *op, const maker *m, const op_shape *shape,
                         const double *seconds, emp_error *err)
{
    char full[EMP_INSTANCE_NAME_BYTES];

    EMP_CHECK(check_times(m, shape->name, seconds, err));
    int64_t       gpu_ns = ns_of(seconds[0]);
    emp_stated_op stated = {
        .cost = {.gpu_ns = gpu_ns,
                 .cpu_ns = gpu_ns * EMP_INSTANCE_CPU,
                 .copy_ns = -1,
                 .colocation = m->replica * m->stage_count + m->stage},
        .kinds = EMP_KIND_CPU | EMP_KIND_GPU,
        .persistent_bytes = shape->persistent_bytes,
        .held_bytes = shape->held_bytes,
        .copy_bytes = shape->copy_bytes};

    if (m->p->replicas > 1)
        snprintf(full, sizeof full, "replica%d/%s", m->replica, shape->name);
    else
        snprintf(full, sizeof full, "%s", shape->name);
    EMP_CHECK(emp_instance_add(m->builder, full, shape->is_backward, shape->type, &stated,
                               op, err));
    if (m->p->model[0].gpu[0] == '\0') return EMP_OK;
    for (int32_t i = 0; i < m->p->model_count; i++)
        EMP_CHECK(emp_graph_builder_state_time(m->builder, *op, m->model[i],
                                               ns_of(seconds[i]), err));
    return EMP_OK;
}

/* Bytes of so many elements of each sequence of a micro-batch. */
static emp_status count_bytes(int64_t *bytes, const maker *m, int64_t elements,
                              emp_error *err)
{
    double exact = (double)elements * m->p->sequences * m->p->element_bytes;

    if (exact > EMP_INSTANCE_BYTES_MAX)
        return EMP_ERROR(EMP_EFORMAT,
                         "a layer has %g bytes of activations, want at most %g", exact,
                         EMP_INSTANCE_BYTES_MAX);
    *bytes = (int64_t)exact;
    return EMP_OK;
}

static bool is_sharded(const maker *m)
{
    return m->p->is_optimizer_sharded && m->p->replicas > 1;
}

/* Bytes of a parameter. */
static double state_bytes(const maker *m)
{
    double rest = (double)m->p->state_bytes - EMP_PIPELINE_WHOLE_BYTES;

    if (!is_sharded(m) || rest <= 0.0) return m->p->state_bytes;
    return EMP_PIPELINE_WHOLE_BYTES + rest / m->p->replicas;
}

static emp_status count_state(int64_t *bytes, const maker *m, int32_t layer,
                              emp_error *err)
{
    double exact = (double)layer_of(m, 0, layer)->parameters * state_bytes(m);

    if (exact > EMP_INSTANCE_BYTES_MAX)
        return EMP_ERROR(EMP_EFORMAT,
                         "layer %d keeps %g bytes of parameters, want at most %g", layer,
                         exact, EMP_INSTANCE_BYTES_MAX);
    *bytes = (int64_t)exact;
    return EMP_OK;
}

static emp_status add_forward(const maker *m, int32_t layer, int32_t micro_batch,
                              emp_error *err)
{
    const emp_layer *l = layer_of(m, 0, layer);
    double           seconds[EMP_STATED_MODELS_MAX];
    char             name[NAME_BYTES];
    op_shape         shape = {.name = name, .type = "Forward"};

    snprintf(name, sizeof name, "layer%d/micro%d", layer, micro_batch);
    EMP_CHECK(count_bytes(&shape.copy_bytes, m, l->output_elements, err));
    EMP_CHECK(count_bytes(&shape.held_bytes, m, l->stored_elements, err));
    if (shape.held_bytes < shape.copy_bytes) shape.held_bytes = shape.copy_bytes;
    if (micro_batch == 0) EMP_CHECK(count_state(&shape.persistent_bytes, m, layer, err));
    for (int32_t i = 0; i < m->p->model_count; i++)
        seconds[i] = layer_of(m, i, layer)->forward_s;
    return add_op(&m->forward[layer * m->p->micro_batches + micro_batch], m, &shape,
                  seconds, err);
}

static emp_status add_backward(const maker *m, int32_t layer, int32_t micro_batch,
                               emp_error *err)
{
    double   seconds[EMP_STATED_MODELS_MAX];
    char     name[NAME_BYTES];
    op_shape shape = {.name = name, .type = "Backward", .is_backward = true};

    snprintf(name, sizeof name, "layer%d/micro%d", layer, micro_batch);
    if (layer > 0)
        EMP_CHECK(count_bytes(&shape.copy_bytes, m,
                              layer_of(m, 0, layer - 1)->output_elements, err));
    shape.held_bytes = shape.copy_bytes;
    for (int32_t i = 0; i < m->p->model_count; i++)
        seconds[i] = layer_of(m, i, layer)->backward_s;
    return add_op(&m->backward[layer * m->p->micro_batches + micro_batch], m, &shape,
                  seconds, err);
}

/* "stage1/update", or "layer1/update" where each layer is a stage. */
static void name_stage_op(char name[NAME_BYTES], const maker *m, const char *what)
{
    snprintf(name, NAME_BYTES, "%s%d/%s", m->p->layers_of_stage ? "stage" : "layer",
             m->stage, what);
}

static double count_parameters(const maker *m, int32_t first, int32_t last)
{
    double sum = 0.0;

    for (int32_t l = first; l <= last; l++) sum += (double)layer_of(m, 0, l)->parameters;
    return sum;
}

/* Parameters of what an update was measured with. */
static double count_measured(const maker *m)
{
    int32_t last = m->p->layer_count - 1;
    int32_t blocks = MEASURED_BLOCKS < last ? MEASURED_BLOCKS : last;
    double  sum = count_parameters(m, last, last);

    return sum + (blocks > 0 ? count_parameters(m, 0, blocks - 1) : 0.0);
}

static double update_s(const maker *m, int32_t model)
{
    double sum = 0.0, measured = count_measured(m);

    if (m->p->is_update_shared && measured > 0.0)
        return layer_of(m, model, m->first)->update_s *
               count_parameters(m, m->first, m->last) / measured;
    for (int32_t l = m->first; l <= m->last; l++) sum += layer_of(m, model, l)->update_s;
    return sum;
}

/* ---- edges ---- */

static emp_status connect(const maker *m, emp_op_id from, emp_op_id to, emp_error *err)
{
    return emp_graph_builder_connect(m->builder, (emp_port){from, 0}, to, err);
}

/* The tensors that layers read from each other, for one micro-batch. */
static emp_status connect_layers(const maker *m, int32_t micro_batch, emp_error *err)
{
    int32_t n = m->p->micro_batches;

    for (int32_t l = 0; l < m->p->layer_count; l++) {
        emp_op_id forward = m->forward[l * n + micro_batch];
        emp_op_id backward = m->backward[l * n + micro_batch];
        EMP_CHECK(connect(m, forward, backward, err));
        if (l + 1 == m->p->layer_count) break;
        EMP_CHECK(connect(m, forward, m->forward[(l + 1) * n + micro_batch], err));
        EMP_CHECK(connect(m, m->backward[(l + 1) * n + micro_batch], backward, err));
    }
    return EMP_OK;
}

/* Each pass of the stage waits for the one before it in the schedule. */
static emp_status order_stage(const maker *m, emp_error *err)
{
    int32_t   n = m->p->micro_batches;
    emp_op_id before = -1;

    emp_schedule_list_passes(m->task, m->p->schedule, m->stage, m->stage_count, n);
    for (int32_t i = 0; i < 2 * n; i++) {
        int32_t   micro_batch = m->task[i].micro_batch;
        emp_op_id begin = m->forward[m->first * n + micro_batch];
        emp_op_id end = m->forward[m->last * n + micro_batch];
        if (m->task[i].kind == EMP_TASK_BACKWARD) {
            begin = m->backward[m->last * n + micro_batch];
            end = m->backward[m->first * n + micro_batch];
        }
        if (before >= 0)
            EMP_CHECK(emp_graph_builder_add_control(m->builder, before, begin, err));
        before = end;
    }
    return EMP_OK;
}

/* ---- stages ---- */

/* The next stage; false: there is none. Stages are gone through from -1 on. */
static bool take_stage(maker *m)
{
    if (++m->stage == m->stage_count) return false;
    m->first = m->stage == 0 ? 0 : m->last + 1;
    m->last =
        m->first + (m->p->layers_of_stage ? m->p->layers_of_stage[m->stage] - 1 : 0);
    return true;
}

static emp_status add_sum(const maker *m, emp_error *err)
{
    static const double nothing[EMP_STATED_MODELS_MAX];
    char                name[NAME_BYTES];
    op_shape            shape = {.name = name, .type = "Sum", .is_backward = true};
    emp_op_id          *sum = &m->sum[m->replica * m->stage_count + m->stage];

    name_stage_op(name, m, "sum");
    EMP_CHECK(add_op(sum, m, &shape, nothing, err));
    for (int32_t i = 0; i < m->p->micro_batches; i++)
        EMP_CHECK(emp_graph_builder_add_control(
            m->builder, m->backward[m->first * m->p->micro_batches + i], *sum, err));
    return EMP_OK;
}

/* Collectives of a stage with its other replicas, once \a after of each has run. */
typedef struct {
    emp_collective   op;
    const char      *name, *type;
    const emp_op_id *after; /* [replica * stage_count + stage] */
    bool             is_backward;
    int32_t          set;
} exchange;

static emp_status add_exchange(emp_op_id *op, const maker *m, const exchange *e,
                               emp_error *err)
{
    static const double nothing[EMP_STATED_MODELS_MAX];
    char                name[NAME_BYTES];
    op_shape shape = {.name = name, .type = e->type, .is_backward = e->is_backward};
    emp_collective_part part = {
        .op = e->op,
        .ranks = m->p->replicas,
        .bytes = (int64_t)(EXCHANGED_BYTES * count_parameters(m, m->first, m->last)),
        .set = e->set};

    name_stage_op(name, m, e->name);
    EMP_CHECK(add_op(op, m, &shape, nothing, err));
    for (int32_t r = 0; r < m->p->replicas; r++)
        EMP_CHECK(emp_graph_builder_add_control(
            m->builder, e->after[r * m->stage_count + m->stage], *op, err));
    return emp_graph_builder_set_collective(m->builder, *op, &part, err);
}

/* Sums of all replicas: whole, or each replica's part. */
static emp_status add_reduce(emp_op_id *op, const maker *m, emp_error *err)
{
    exchange e = {
        EMP_COLLECTIVE_ALL_REDUCE, "all_reduce", "AllReduce", m->sum, true, 1 + m->stage};

    if (is_sharded(m)) {
        e.op = EMP_COLLECTIVE_REDUCE_SCATTER;
        e.name = "reduce_scatter";
        e.type = "ReduceScatter";
    }
    return add_exchange(op, m, &e, err);
}

static emp_status add_gather(const maker *m, emp_error *err)
{
    const exchange e = {
        EMP_COLLECTIVE_ALL_GATHER,    "all_gather", "AllGather", m->update, false,
        1 + m->stage_count + m->stage};
    emp_op_id op;

    return add_exchange(&op, m, &e, err);
}

static emp_status add_update(const maker *m, emp_error *err)
{
    double    seconds[EMP_STATED_MODELS_MAX];
    char      name[NAME_BYTES];
    op_shape  shape = {.name = name, .type = "Update"};
    int32_t   at = m->replica * m->stage_count + m->stage;
    int32_t   parts = is_sharded(m) ? m->p->replicas : 1;
    emp_op_id ready = m->sum[at];

    if (m->p->replicas > 1) EMP_CHECK(add_reduce(&ready, m, err));
    name_stage_op(name, m, "update");
    for (int32_t i = 0; i < m->p->model_count; i++) seconds[i] = update_s(m, i) / parts;
    EMP_CHECK(add_op(&m->update[at], m, &shape, seconds, err));
    return emp_graph_builder_add_control(m->builder, ready, m->update[at], err);
}

static emp_status add_passes(maker *m, emp_error *err)
{
    m->stage = -1;
    while (take_stage(m)) {
        for (int32_t l = m->first; l <= m->last; l++) {
            for (int32_t i = 0; i < m->p->micro_batches; i++)
                EMP_CHECK(add_forward(m, l, i, err));
        }
    }
    m->stage = -1;
    while (take_stage(m)) {
        for (int32_t l = m->first; l <= m->last; l++) {
            for (int32_t i = 0; i < m->p->micro_batches; i++)
                EMP_CHECK(add_backward(m, l, i, err));
        }
    }
    for (int32_t i = 0; i < m->p->micro_batches; i++)
        EMP_CHECK(connect_layers(m, i, err));
    m->stage = -1;
    while (take_stage(m)) {
        if (m->p->schedule != EMP_SCHEDULE_FREE) EMP_CHECK(order_stage(m, err));
        EMP_CHECK(add_sum(m, err));
    }
    return EMP_OK;
}

static emp_status add_replicas(maker *m, emp_error *err)
{
    for (m->replica = 0; m->replica < m->p->replicas; m->replica++)
        EMP_CHECK(add_passes(m, err));
    for (m->replica = 0; m->replica < m->p->replicas; m->replica++) {
        m->stage = -1;
        while (take_stage(m)) EMP_CHECK(add_update(m, err));
    }
    for (m->replica = 0; is_sharded(m) && m->replica < m->p->replicas; m->replica++) {
        m->stage = -1;
        while (take_stage(m)) EMP_CHECK(add_gather(m, err));
    }
    return EMP_OK;
}

/* ---- the whole ---- */

static emp_status check(const emp_pipeline *p, emp_error *err)
{
    double  stages = p->layers_of_stage != NULL ? p->stage_count : p->layer_count;
    double  exchanges = p->is_optimizer_sharded && p->replicas > 1 ? 2.0 : 1.0;
    double  ends = (2.0 + exchanges) * stages; /* a sum, an update, and these, of each */
    double  ops = p->replicas * (2.0 * p->micro_batches * p->layer_count + ends);
    double  sums = (double)p->replicas * p->replicas * stages * exchanges;
    int64_t layers = 0;

    for (int32_t i = 0; p->layers_of_stage != NULL && i < p->stage_count; i++)
        layers += p->layers_of_stage[i];
    if (p->layers_of_stage != NULL && layers != p->layer_count)
        return EMP_ERROR(EMP_EINVAL, "the %d stages have %lld layers, the model has %d",
                         p->stage_count, (long long)layers, p->layer_count);
    if (p->schedule != EMP_SCHEDULE_FREE && p->layers_of_stage == NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "an order of passes is that of stages; name them, as in "
                         "stages=12+14");
    if (ops > OPS_MAX || sums > EDGES_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "%d replicas of %d layers and %d micro-batches are more than %d "
                         "ops, or sum in too many places; take fewer replicas or "
                         "micro-batches",
                         p->replicas, p->layer_count, p->micro_batches, OPS_MAX);
    return EMP_OK;
}

static emp_status name_models(maker *m, emp_error *err)
{
    if (m->p->model[0].gpu[0] == '\0') return EMP_OK;
    for (int32_t i = 0; i < m->p->model_count; i++)
        EMP_CHECK(emp_graph_builder_state_model(m->builder, m->p->model[i].gpu,
                                                &m->model[i], err));
    return EMP_OK;
}

/* Adds the ops of a step. O(replicas layers micro-batches + replicas squared stages).
 * \retval EMP_EINVAL  The stages have not as many layers as there are.
 * \retval EMP_EUNSUPPORTED  More than half a million ops, or an order without stages.
 * \retval EMP_EFORMAT A time or a size that is too large. */
static emp_status pipeline_build(emp_graph_builder *builder, const emp_pipeline *p,
                                 emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     passes = (size_t)p->layer_count * (size_t)p->micro_batches;
    maker      m = {.builder = builder,
                    .p = p,
                    .stage_count =
                   p->layers_of_stage != NULL ? p->stage_count : p->layer_count};

    EMP_CHECK(check(p, err));
    EMP_TRY(EMP_ALLOC(m.forward, passes));
    EMP_TRY(EMP_ALLOC(m.backward, passes));
    EMP_TRY(EMP_ALLOC(m.sum, (size_t)p->replicas * (size_t)m.stage_count));
    EMP_TRY(EMP_ALLOC(m.update, (size_t)p->replicas * (size_t)m.stage_count));
    EMP_TRY(EMP_ALLOC(m.task, 2 * (size_t)p->micro_batches));
    EMP_TRY(EMP_ALLOC(m.model, (size_t)p->model_count));
    EMP_TRY(name_models(&m, err));
    EMP_TRY(add_replicas(&m, err));

cleanup:
    emp_free(m.forward);
    emp_free(m.backward);
    emp_free(m.sum);
    emp_free(m.update);
    emp_free(m.task);
    emp_free(m.model);
    return st;
}

/* Specs of pipelines: "layers:path=layers.tsv,model=OPT-350,tp=2,microbatch=2,micro_batches=8,
 * stages=12+14,schedule=1f1b,replicas=2". A missing model, tp or microbatch is taken from the table's
 * first row that fits the rest; all GPU models that have it count. gpu=NAME lets that one be
 * first, so that GPUs of other models take its times. A path has no comma in it. */

enum { STAGES_MAX = 256 };

typedef struct {
    int32_t tensor_parallel, micro_batch, micro_batches, replicas, schedule;
    int32_t element_bytes, state_bytes, update, optimizer;
} layer_values;

const emp_option emp_layers_options[] = {
    EMP_INTEGER_OPTION("tp", layer_values, tensor_parallel, 0, 1 << 16,
                       "GPUs that share each layer; 0 = as in the table's first row", 0),
    EMP_INTEGER_OPTION("microbatch", layer_values, micro_batch, 0, 1 << 16,
                       "sequences of a micro-batch; 0 = likewise", 0),
    EMP_INTEGER_OPTION("micro_batches", layer_values, micro_batches, 1, 1 << 16,
                       "micro-batches of a step, whose gradients are summed", 1),
    EMP_INTEGER_OPTION("replicas", layer_values, replicas, 1, 1024,
                       "copies of the model, each with micro-batches of its own", 1),
    EMP_WORD_OPTION("schedule", layer_values, schedule, EMP_SCHEDULE_WORDS,
                    "order of the passes of a stage", EMP_SCHEDULE_FREE),
    EMP_INTEGER_OPTION("element_bytes", layer_values, element_bytes, 1, 8,
                       "of an activation", 4),
    EMP_INTEGER_OPTION("state_bytes", layer_values, state_bytes, 0, 64,
                       "of a parameter with its gradient and the optimizer's state", 16),
    EMP_WORD_OPTION(
        "update", layer_values, update, "layer|shared",
        "whose update_s is: the layer's, or one of layers 0, 1, 2 and the last", 0),
    EMP_WORD_OPTION("optimizer", layer_values, optimizer, "whole|sharded",
                    "what each replica keeps of the optimizer's state", 0),
    EMP_NO_OPTION};

/* Texts of a spec, behind the path. */
enum { MODEL = 1, GPU, TABLE, STAGES };

/* "12+14": the layers of each stage. */
static emp_status read_stages(int32_t *layers_of_stage, int32_t *count, const char *text,
                              emp_error *err)
{
    const char *at = text;

    *count = 0;
    while (*at != '\0') {
        char *end;
        long  layers = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : 0;
        if (layers < 1 || layers > EMP_LAYERS_MAX || *count == STAGES_MAX ||
            (*end != '\0' && (*end != '+' || end[1] == '\0')))
            return EMP_ERROR(
                EMP_EINVAL,
                "stages=%.80s: want the layers of each stage, 1 to %d, as in "
                "12+14; at most %d stages",
                text, EMP_LAYERS_MAX, STAGES_MAX);
        layers_of_stage[(*count)++] = (int32_t)layers;
        at = end + (*end == '+');
    }
    return EMP_OK;
}

/* ---- device models ---- */

typedef struct {
    emp_pipeline_model model[EMP_STATED_MODELS_MAX];
    emp_layer         *layer[EMP_STATED_MODELS_MAX]; /* owned */
    int32_t            count, layer_count;
} models;

static void clear_models(models *m)
{
    for (int32_t i = 0; i < m->count; i++) emp_free(m->layer[i]);
    m->count = 0;
}

static bool has_model(const models *m, const char *gpu)
{
    for (int32_t i = 0; i < m->count; i++)
        if (emp_graph_is_same_model(m->model[i].gpu, gpu)) return true;
    return false;
}

static emp_status add_model(models *m, const emp_layer_table *t, const emp_layer_key *key,
                            emp_error *err)
{
    int32_t count;

    if (m->count == EMP_STATED_MODELS_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "%s has more than %d GPU models", t->csv.path,
                         EMP_STATED_MODELS_MAX);
    EMP_CHECK(emp_layer_table_select(&m->layer[m->count], &count, t, key, err));
    m->model[m->count] = (emp_pipeline_model){key->gpu, m->layer[m->count]};
    m->count++;
    if (m->count > 1 && count != m->layer_count)
        return EMP_ERROR(EMP_EFORMAT, "%s has %d layers of %.40s on %.40s, %d on %.40s",
                         t->csv.path, count, key->model, key->gpu, m->layer_count,
                         m->model[0].gpu);
    m->layer_count = count;
    return EMP_OK;
}

/* Fields that the key leaves open come from the first row. */
static emp_status complete_key(emp_layer_key *key, const emp_layer_table *t,
                               emp_error *err)
{
    for (int32_t i = 0; i < t->row_count; i++) {
        const emp_layer_row *row = &t->row[i];
        if (!emp_layer_row_is(row, key)) continue;
        if (key->model == NULL) key->model = row->key.model;
        if (key->gpu == NULL) key->gpu = row->key.gpu;
        key->tensor_parallel = row->key.tensor_parallel;
        key->micro_batch = row->key.micro_batch;
        return EMP_OK;
    }
    return EMP_ERROR(
        EMP_EINVAL, "%s has no layer of model %.40s, gpu %.40s, tp %d, microbatch %d",
        t->csv.path, key->model ? key->model : "(any)", key->gpu ? key->gpu : "(any)",
        key->tensor_parallel, key->micro_batch);
}

/* The GPU of the key first, then the others of the table. */
static emp_status select_models(models *m, const emp_layer_table *t, emp_layer_key *key,
                                emp_error *err)
{
    EMP_CHECK(complete_key(key, t, err));
    EMP_CHECK(add_model(m, t, key, err));
    for (int32_t i = 0; i < t->row_count; i++) {
        emp_layer_key other = *key;
        other.gpu = t->row[i].key.gpu;
        if (!emp_layer_row_is(&t->row[i], &other) || has_model(m, other.gpu)) continue;
        if ((other.gpu[0] == '\0') != (m->model[0].gpu[0] == '\0'))
            return EMP_ERROR(EMP_EFORMAT,
                             "%s, row %d: some rows name a gpu and others none; name "
                             "all or none",
                             t->csv.path, i + 1);
        EMP_CHECK(add_model(m, t, &other, err));
    }
    return EMP_OK;
}

/* ---- graphs ---- */

static const char *text_or_null(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

static emp_status build(emp_graph_builder *builder, const emp_layer_table *t,
                        const emp_spec_parts *parts, const layer_values *v,
                        emp_error *err)
{
    emp_status    st = EMP_OK;
    models        m = {0};
    int32_t       layers_of_stage[STAGES_MAX], stage_count;
    emp_layer_key key = {.table = text_or_null(parts->text[TABLE]),
                         .model = text_or_null(parts->text[MODEL]),
                         .gpu = text_or_null(parts->text[GPU]),
                         .tensor_parallel = v->tensor_parallel,
                         .micro_batch = v->micro_batch};

    EMP_TRY(read_stages(layers_of_stage, &stage_count, parts->text[STAGES], err));
    EMP_TRY(select_models(&m, t, &key, err));
    const emp_pipeline p = {.model = m.model,
                            .model_count = m.count,
                            .layer_count = m.layer_count,
                            .layers_of_stage = stage_count > 0 ? layers_of_stage : NULL,
                            .stage_count = stage_count,
                            .sequences = key.micro_batch,
                            .micro_batches = v->micro_batches,
                            .replicas = v->replicas,
                            .schedule = (emp_schedule)v->schedule,
                            .element_bytes = v->element_bytes,
                            .state_bytes = v->state_bytes,
                            .is_update_shared = v->update == 1,
                            .is_optimizer_sharded = v->optimizer == 1};
    EMP_TRY(pipeline_build(builder, &p, err));

cleanup:
    clear_models(&m);
    return st;
}

emp_status emp_layers_read(emp_graph_builder *builder, emp_reading *r, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_layer_table t = {0};

    EMP_TRY(emp_layer_table_parse(&t, r->bytes, "the table", err));
    EMP_TRY(build(builder, &t, r->spec, (const layer_values *)r->values, err));

cleanup:
    emp_layer_table_clear(&t);
    return st;
}
