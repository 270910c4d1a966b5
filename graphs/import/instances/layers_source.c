// SPDX-License-Identifier: GPL-3.0-or-later
/* Specs of pipelines: "layers:path=layers.tsv,model=OPT-350,tp=2,microbatch=2,micro_batches=8,
 * stages=12+14,schedule=1f1b,replicas=2". What is not said of model, tp and microbatch is that of the
 * table's first row that fits the rest; all GPU models that have it count. gpu=NAME lets that one be
 * first, so that GPUs of other models take its times. A path has no comma in it. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/import/instances/instance.h"
#include "graphs/import/instances/pipeline.h"

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

/* What the key leaves open is that of the first row. */
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
    EMP_TRY(emp_pipeline_build(builder, &p, err));

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
