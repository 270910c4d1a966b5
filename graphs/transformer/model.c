// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/transformer/model.h"

#include <stdio.h>

#include "base/mem.h"

emp_status emp_transformer_model_init(emp_transformer_model *model, int64_t layer_count,
                                      emp_error *err)
{
    *model = (emp_transformer_model){0};
    if (layer_count < 1 || layer_count > EMP_TRANSFORMER_LAYERS_MAX)
        return EMP_ERROR(EMP_EINVAL, "%lld layers, must be 1 to %d",
                         (long long)layer_count, EMP_TRANSFORMER_LAYERS_MAX);
    EMP_CHECK(EMP_ALLOC(model->layer, (size_t)layer_count));
    model->layer_count = (int32_t)layer_count;
    for (int32_t i = 0; i < model->layer_count; i++) model->layer[i].keys_of = -1;
    return EMP_OK;
}

void emp_transformer_model_clear(emp_transformer_model *model)
{
    if (model->encoder != NULL) emp_free(model->encoder->layer);
    emp_free(model->encoder);
    emp_free(model->layer);
    *model = (emp_transformer_model){0};
}

emp_status emp_transformer_model_add_encoder(emp_transformer_model *model,
                                             int64_t layer_count, emp_error *err)
{
    emp_transformer_model  own, *e;
    emp_transformer_layer *layer;

    EMP_CHECK(emp_transformer_model_init(&own, layer_count, err));
    layer = own.layer;
    own = *model;
    own.layer = layer;
    own.layer_count = (int32_t)layer_count;
    own.is_encoder = true;
    own.has_head = false;
    for (int32_t i = 0; i < own.layer_count; i++) layer[i] = model->layer[0];
    e = EMP_NEW_ARRAY(emp_transformer_model, 1);
    if (e == NULL) {
        emp_free(layer);
        return EMP_ERROR(EMP_ENOMEM, "an encoder");
    }
    *e = own;
    model->encoder = e;
    return EMP_OK;
}

void emp_transformer_model_keep_encoder(emp_transformer_model *model)
{
    emp_transformer_model *e = model->encoder;

    emp_free(model->layer);
    *model = *e;
    emp_free(e);
}

static emp_status check_range(int64_t value, int64_t low, int64_t high, const char *what,
                              int32_t layer, emp_error *err)
{
    char where[32] = "";

    if (value >= low && value <= high) return EMP_OK;
    if (layer >= 0) snprintf(where, sizeof where, "layer %d: ", layer);
    return EMP_ERROR(EMP_EINVAL, "%s%s is %lld, must be %lld to %lld", where, what,
                     (long long)value, (long long)low, (long long)high);
}

static emp_status check_attention(const emp_transformer_model *m, int32_t i,
                                  emp_error *err)
{
    const emp_transformer_layer *l = &m->layer[i];
    const int64_t                most = EMP_TRANSFORMER_SIZE_MAX;

    EMP_CHECK(check_range(l->heads, 1, most, "the number of heads", i, err));
    EMP_CHECK(check_range(l->kv_heads, 1, l->heads, "the number of key heads", i, err));
    EMP_CHECK(check_range(l->head_size, 1, most, "the size of a head", i, err));
    EMP_CHECK(check_range(l->value_size, 1, most, "the size of a head's values", i, err));
    EMP_CHECK(check_range((int64_t)l->heads * l->head_size, 1, most,
                          "the size of all heads", i, err));
    EMP_CHECK(check_range((int64_t)l->heads * l->value_size, 1, most,
                          "the size of all values", i, err));
    EMP_CHECK(check_range(l->window, 0, INT32_MAX, "the window", i, err));
    EMP_CHECK(
        check_range(l->keys_of, -1, i - 1, "the layer whose keys it reads", i, err));
    if (l->heads % l->kv_heads != 0)
        return EMP_ERROR(EMP_EINVAL,
                         "layer %d: %d heads cannot share %d key heads evenly", i,
                         l->heads, l->kv_heads);
    return EMP_OK;
}

static emp_status check_scan(const emp_transformer_model *m, emp_error *err)
{
    const emp_transformer_scan *c = &m->scan;
    const int64_t               most = EMP_TRANSFORMER_SIZE_MAX;

    EMP_CHECK(check_range(c->heads, 1, most, "the number of a scan's heads", -1, err));
    EMP_CHECK(check_range(c->key_heads, 1, c->heads, "the key heads of a scan", -1, err));
    EMP_CHECK(check_range(c->key_size, 1, most, "the size of a scan's keys", -1, err));
    EMP_CHECK(
        check_range(c->value_size, 1, most, "the size of a scan's values", -1, err));
    EMP_CHECK(check_range((int64_t)c->heads * c->key_size, 1, most,
                          "the size of all keys of a scan", -1, err));
    EMP_CHECK(check_range((int64_t)c->heads * c->value_size, 1, most,
                          "the size of all values of a scan", -1, err));
    EMP_CHECK(check_range(c->taps, 1, 1 << 10, "the taps of a convolution", -1, err));
    EMP_CHECK(check_range(c->chunk, 0, 1 << 20, "the chunk of a scan", -1, err));
    EMP_CHECK(check_range(c->gate_rank, 0, most, "the rank of a scan's gate", -1, err));
    EMP_CHECK(check_range(c->step_rank, 0, most, "the rank of a scan's steps", -1, err));
    if (c->heads % c->key_heads != 0)
        return EMP_ERROR(EMP_EINVAL,
                         "%d heads of a scan cannot share %d key heads evenly", c->heads,
                         c->key_heads);
    return EMP_OK;
}

static emp_status check_compressed(const emp_transformer_model *m, int32_t i,
                                   emp_error *err)
{
    const emp_transformer_layer *l = &m->layer[i];
    const int64_t                most = EMP_TRANSFORMER_SIZE_MAX;

    EMP_CHECK(check_range(m->query_rank, 1, most, "the rank of queries", -1, err));
    EMP_CHECK(
        check_range(l->stride, 0, 1 << 20, "the tokens of a compressed key", i, err));
    EMP_CHECK(check_range(m->output_groups, 1, l->heads, "the groups of heads", -1, err));
    EMP_CHECK(
        check_range(m->output_rank, 1, most, "the rank of a group's product", -1, err));
    EMP_CHECK(check_range((int64_t)m->output_groups * m->output_rank, 1, most,
                          "the size of all groups' products", -1, err));
    if (l->heads % m->output_groups != 0)
        return EMP_ERROR(EMP_EINVAL, "layer %d: %d heads make no %d even groups", i,
                         l->heads, m->output_groups);
    return EMP_OK;
}

static emp_status check_indexer(const emp_transformer_model *m, int32_t i, emp_error *err)
{
    const emp_transformer_indexer *c = &m->index;
    const int64_t                  most = EMP_TRANSFORMER_SIZE_MAX;
    bool                           has_own = false;

    if (m->layer[i].indexer == EMP_INDEXER_NONE) return EMP_OK;
    for (int32_t k = 0; k <= i; k++)
        has_own = has_own || m->layer[k].indexer == EMP_INDEXER_OWN;
    if (!has_own)
        return EMP_ERROR(
            EMP_EINVAL,
            "layer %d shares the indexer of an earlier layer, and none has one", i);
    EMP_CHECK(check_range(c->heads, 1, most, "the heads of an indexer", i, err));
    EMP_CHECK(check_range(c->size, 1, most, "the size of an indexer's heads", i, err));
    EMP_CHECK(check_range((int64_t)c->heads * c->size, 1, most,
                          "the size of all heads of an indexer", i, err));
    EMP_CHECK(check_range(c->block, 0, INT32_MAX, "the block of an indexer", i, err));
    return check_range(c->chosen, 1, INT32_MAX, "the keys that an indexer chooses", i,
                       err);
}

static emp_status check_mixer(const emp_transformer_model *m, int32_t i, emp_error *err)
{
    switch (m->layer[i].mixer) {
    case EMP_MIXER_BOTH: EMP_CHECK(check_scan(m, err)); break;
    case EMP_MIXER_DELTA_RULE:
    case EMP_MIXER_STATE_SPACE:
    case EMP_MIXER_SELECTIVE:
    case EMP_MIXER_LIGHTNING: return check_scan(m, err);
    case EMP_MIXER_CONVOLUTION:
        return check_range(m->scan.taps, 1, 1 << 10, "the taps of a convolution", i, err);
    case EMP_MIXER_LINEAR:
    case EMP_MIXER_NONE: return EMP_OK;
    default: break;
    }
    EMP_CHECK(check_attention(m, i, err));
    EMP_CHECK(check_indexer(m, i, err));
    if (m->layer[i].mixer == EMP_MIXER_COMPRESSED) return check_compressed(m, i, err);
    if (!emp_transformer_is_latent(m)) return EMP_OK;
    return check_range(m->rotary_size, 1, m->layer[i].head_size - 1,
                       "the rotated part of a head", i, err);
}

static emp_status check_feed_forward(const emp_transformer_model *m, int32_t i,
                                     emp_error *err)
{
    const emp_transformer_layer *l = &m->layer[i];
    const int64_t                most = EMP_TRANSFORMER_SIZE_MAX;

    EMP_CHECK(check_range(l->inner, 0, most, "the inner size", i, err));
    EMP_CHECK(check_range(l->shared_inner, 0, most, "the shared inner size", i, err));
    if (l->has_no_feed_forward || l->is_feed_forward_linear) return EMP_OK;
    if (l->experts == 0 && l->inner == 0)
        return EMP_ERROR(EMP_EINVAL, "layer %d has no inner size", i);
    if (l->experts == 0) return EMP_OK;
    EMP_CHECK(check_range(l->experts, 1, EMP_TRANSFORMER_EXPERTS_MAX,
                          "the number of experts", i, err));
    EMP_CHECK(check_range(l->chosen, 1, l->experts, "the experts of a token", i, err));
    return check_range(l->expert_inner, 1, most, "the inner size of an expert", i, err);
}

static emp_status check_sizes(const emp_transformer_model *m, emp_error *err)
{
    const int64_t most = EMP_TRANSFORMER_SIZE_MAX;

    EMP_CHECK(check_range(m->vocabulary, 1, EMP_TRANSFORMER_VOCABULARY_MAX,
                          "the vocabulary", -1, err));
    EMP_CHECK(check_range(m->hidden, 1, most, "the hidden size", -1, err));
    EMP_CHECK(check_range(m->position_rows, 0, EMP_TRANSFORMER_VOCABULARY_MAX,
                          "the table of positions", -1, err));
    EMP_CHECK(check_range(m->type_rows, 0, EMP_TRANSFORMER_VOCABULARY_MAX,
                          "the table of token types", -1, err));
    EMP_CHECK(check_range(m->query_rank, 0, most, "the rank of queries", -1, err));
    EMP_CHECK(check_range(m->key_rank, 0, most, "the rank of keys", -1, err));
    EMP_CHECK(check_range(m->relative_buckets, 0, 1 << 16,
                          "the number of buckets of distances", -1, err));
    EMP_CHECK(
        check_range(m->sound_size, 0, 1 << 16, "the size of a frame of sound", -1, err));
    if (m->sound_size > 0)
        EMP_CHECK(check_range(m->positions, 1, EMP_TRANSFORMER_VOCABULARY_MAX,
                              "the number of positions of sound", -1, err));
    EMP_CHECK(
        check_range(m->layer_embedding, 0, 1 << 14, "the embedding of a layer", -1, err));
    EMP_CHECK(check_range(m->streams, 0, 1 << 10, "the number of streams", -1, err));
    EMP_CHECK(check_range(m->alternates, 0, EMP_TRANSFORMER_ALTERNATES_MAX,
                          "the number of streams", -1, err));
    EMP_CHECK(check_range(m->laurel_rank, m->alternates > 0 ? 1 : 0, most,
                          "the rank beside attention", -1, err));
    EMP_CHECK(check_range(m->streams * (int64_t)m->hidden, 0, most,
                          "the size of all streams", -1, err));
    EMP_CHECK(check_range(m->residual_block, 0, EMP_TRANSFORMER_LAYERS_MAX,
                          "the layers of a block", -1, err));
    EMP_CHECK(
        check_range(m->expert_size, 0, most, "the size of what experts read", -1, err));
    return check_range(m->layer_embedding_rows, 0, EMP_TRANSFORMER_VOCABULARY_MAX,
                       "the table of layers' embeddings", -1, err);
}

static emp_status check_stack(const emp_transformer_model *m, emp_error *err)
{
    EMP_CHECK(check_sizes(m, err));
    for (int32_t i = 0; i < m->layer_count; i++) {
        EMP_CHECK(check_mixer(m, i, err));
        EMP_CHECK(check_feed_forward(m, i, err));
    }
    return EMP_OK;
}

emp_status emp_transformer_model_check(const emp_transformer_model *m, emp_error *err)
{
    if (m->encoder != NULL) EMP_CHECK(check_stack(m->encoder, err));
    return check_stack(m, err);
}

bool emp_transformer_has_plain_keys(const emp_transformer_model *m)
{
    for (int32_t i = 0; i < m->layer_count; i++) {
        const emp_mixer mixer = m->layer[i].mixer;
        if (mixer == EMP_MIXER_COMPRESSED || mixer == EMP_MIXER_DELTA_RULE ||
            mixer == EMP_MIXER_STATE_SPACE || mixer == EMP_MIXER_SELECTIVE ||
            mixer == EMP_MIXER_LIGHTNING || mixer == EMP_MIXER_BOTH ||
            mixer == EMP_MIXER_CONVOLUTION || m->layer[i].indexer != EMP_INDEXER_NONE)
            return false;
    }
    return !emp_transformer_is_latent(m) && m->encoder == NULL;
}
