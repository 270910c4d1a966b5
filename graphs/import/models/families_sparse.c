// SPDX-License-Identifier: GPL-3.0-or-later
/* The model types whose attention sees some of the keys: by an indexer, by windows in most layers. Sources: the
 * configurations and models of huggingface/transformers 5.24. */
#include <string.h>

#include "graphs/import/models/families.h"

/* A member of an object in the config, with the failures of both. */
static emp_fields within(const emp_fields *f, const char *name)
{
    emp_fields part = *f;

    part.object = emp_fields_find(f, name);
    return part;
}

/* ---- DeepSeek-V3.2 and GLM-5 ---- */

/* A layer runs its own indexer or takes what an earlier one has chosen: by a list, or one of each `freq` layers. */
static emp_indexer indexer_of(emp_fields *f, int32_t i, int32_t layers)
{
    if (emp_fields_find(f, "indexer_types") != NULL) {
        const char *type = emp_model_layer_text(f, "indexer_types", i, layers);
        if (type == NULL || strcmp(type, "full") == 0) return EMP_INDEXER_OWN;
        if (strcmp(type, "shared") != 0)
            emp_model_refuse_layer(f, i, type, "full and shared");
        return EMP_INDEXER_SHARED;
    }
    const int32_t freq = emp_fields_integer(f, "index_topk_freq", 1);
    const int32_t offset = emp_fields_integer(f, "index_skip_topk_offset", 2);
    const int64_t at = (int64_t)i - offset + 1;
    return at <= 0 || freq < 2 || at % freq == 0 ? EMP_INDEXER_OWN : EMP_INDEXER_SHARED;
}

void emp_model_deepseek_sparse(emp_fields *f, emp_transformer_model *m)
{
    emp_model_deepseek(f, m);
    m->index =
        (emp_transformer_indexer){.heads = emp_fields_integer(f, "index_n_heads", -1),
                                  .size = emp_fields_integer(f, "index_head_dim", -1),
                                  .chosen = emp_fields_integer(f, "index_topk", -1)};
    for (int32_t i = 0; i < m->layer_count && f->status == EMP_OK; i++)
        m->layer[i].indexer = indexer_of(f, i, m->layer_count);
}

/* ---- MiniMax-M3 ---- */

static void minimax_names(emp_transformer_names *n)
{
    n->router = "block_sparse_moe.gate";
    n->correction = "block_sparse_moe.e_score_correction_bias";
    n->experts = "block_sparse_moe.experts.*_proj";
    n->shared = "block_sparse_moe.shared_experts.*_proj";
    n->shared_gate = "block_sparse_moe.shared_experts";
    n->indexer = "self_attn.index_";
}

void emp_model_minimax_m3(emp_fields *f, emp_transformer_model *m)
{
    emp_fields    sparse = within(f, "sparse_attention_config");
    const int32_t experts = emp_fields_integer(f, "n_shared_experts", 0);
    const int32_t inner = emp_fields_integer(f, "shared_intermediate_size", 0);
    const int32_t dense =
        emp_fields_integer(f, "dense_intermediate_size", m->layer[0].inner);

    emp_model_llama_like(f, m);
    m->qk_norm =
        emp_fields_flag(f, "use_qk_norm", true) ? EMP_QK_NORM_HEAD : EMP_QK_NORM_NONE;
    m->has_correction_bias = emp_fields_flag(f, "use_routing_bias", true);
    minimax_names(&m->names);
    emp_model_experts(f, m, 0, 1, emp_model_product(experts, inner));
    for (int32_t i = 0; i < m->layer_count; i++)
        if (m->layer[i].experts == 0) m->layer[i].inner = dense;
    if (sparse.object == NULL || !emp_fields_flag(&sparse, "use_sparse_attention", true))
        return;
    const int32_t blocks = emp_fields_integer(&sparse, "sparse_topk_blocks", -1);
    const int32_t block = emp_fields_integer(&sparse, "sparse_block_size", -1);
    m->index = (emp_transformer_indexer){
        .heads = emp_fields_integer(&sparse, "sparse_num_index_heads", -1),
        .size = emp_fields_integer(&sparse, "sparse_index_dim", -1),
        .chosen = emp_model_product(blocks, block),
        .block = block};
    for (int32_t i = 0; i < m->layer_count; i++)
        if (emp_model_is_marked(&sparse, "sparse_attention_freq", i, true))
            m->layer[i].indexer = EMP_INDEXER_OWN;
    if (f->status == EMP_OK) f->status = sparse.status;
}

/* ---- DeepSeek-V4 ---- */

enum { INDEXED = 4 }; /* tokens of a compressed key where an indexer chooses keys */

static void deepseek_v4_layer(emp_fields *f, emp_transformer_model *m, int32_t i)
{
    const emp_json        *strides = emp_fields_find(f, "compress_ratios");
    const emp_json        *stride = emp_fields_at(strides, i);
    emp_transformer_layer *l = &m->layer[i];
    const int64_t          tokens = emp_json_integer(stride);

    if (!emp_json_is(stride, EMP_JSON_INTEGER) || tokens < 0 || tokens > INT32_MAX) {
        if (f->status == EMP_OK)
            f->status =
                emp_error_set(f->err, EMP_EFORMAT, __FILE__, __LINE__,
                              "\"compress_ratios\" has no number for layer %d", i);
        return;
    }
    l->mixer = EMP_MIXER_COMPRESSED;
    l->stride = (int32_t)tokens;
    l->indexer = tokens == INDEXED ? EMP_INDEXER_OWN : EMP_INDEXER_NONE;
    l->kv_heads = 1;
    l->value_size = l->head_size;
    l->window = emp_fields_integer(f, "sliding_window", -1);
    l->is_hashed = i < emp_fields_integer(f, "num_hash_layers", 0);
}

void emp_model_deepseek_v4(emp_fields *f, emp_transformer_model *m)
{
    const int32_t inner = emp_fields_integer(f, "moe_intermediate_size", -1);
    const int32_t shared = emp_fields_integer(f, "n_shared_experts", 0);

    emp_model_llama_like(f, m);
    m->activation = EMP_ACTIVATION_SILU;
    m->has_sinks = m->has_correction_bias = true;
    m->query_rank = emp_fields_integer(f, "q_lora_rank", -1);
    m->output_rank = emp_fields_integer(f, "o_lora_rank", -1);
    m->output_groups = emp_fields_integer(f, "o_groups", -1);
    m->streams = emp_fields_integer(f, "hc_mult", -1);
    m->index =
        (emp_transformer_indexer){.heads = emp_fields_integer(f, "index_n_heads", -1),
                                  .size = emp_fields_integer(f, "index_head_dim", -1),
                                  .chosen = emp_fields_integer(f, "index_topk", -1)};
    emp_model_experts(f, m, 0, 1, emp_model_product(shared, inner));
    for (int32_t i = 0; i < m->layer_count && f->status == EMP_OK; i++)
        deepseek_v4_layer(f, m, i);
}

/* ---- windows in most layers ---- */

static void mimo_layer(emp_fields *f, emp_transformer_layer *l, bool has_window)
{
    l->value_size = emp_fields_integer(f, "v_head_dim", l->head_size);
    if (!has_window) return;
    l->window = emp_fields_integer(f, "sliding_window_size|sliding_window", -1);
    l->heads = emp_fields_integer(f, "swa_num_attention_heads", l->heads);
    l->kv_heads = emp_fields_integer(f, "swa_num_key_value_heads", l->kv_heads);
    l->head_size = emp_fields_integer(f, "swa_head_dim", l->head_size);
    l->value_size = emp_fields_integer(f, "swa_v_head_dim", l->value_size);
}

void emp_model_mimo_v2(emp_fields *f, emp_transformer_model *m)
{
    const bool has_full_sinks = emp_fields_flag(f, "add_full_attention_sink_bias", false);
    const bool has_sinks = emp_fields_flag(f, "add_swa_attention_sink_bias", false);

    emp_model_llama_like(f, m);
    m->has_output_bias = false;
    m->has_sinks = has_sinks || has_full_sinks;
    m->has_window_sinks = !has_full_sinks;
    m->has_correction_bias = true;
    emp_model_experts(f, m, 0, 1, 0);
    for (int32_t i = 0; i < m->layer_count && f->status == EMP_OK; i++)
        mimo_layer(f, &m->layer[i],
                   emp_model_is_marked(f, "hybrid_layer_pattern", i,
                                       i > 0 && emp_model_but_the_last(i, 6)));
}

/* The first layer with experts: "moe_layers_enum" lists their numbers in a text. */
static int32_t step_first_expert(emp_fields *f)
{
    const char *list = emp_json_string(emp_fields_find(f, "moe_layers_enum"));
    int32_t     first = 0;

    if (list == NULL) return emp_fields_integer(f, "first_k_dense_replace", 3);
    for (; *list >= '0' && *list <= '9' && first < EMP_TRANSFORMER_LAYERS_MAX; list++)
        first = 10 * first + (*list - '0');
    return first;
}

void emp_model_step3p5(emp_fields *f, emp_transformer_model *m)
{
    emp_fields    other = within(f, "attention_other_setting");
    const int32_t shared = emp_fields_integer(f, "share_expert_dim", 0);
    int32_t       heads = emp_fields_integer(f, "num_sliding_attention_heads", 0);

    emp_model_llama_like(f, m);
    m->activation = EMP_ACTIVATION_SILU;
    m->qk_norm = EMP_QK_NORM_HEAD;
    m->gate = EMP_GATE_HEAD;
    m->has_correction_bias = emp_fields_flag(f, "use_moe_router_bias", true);
    emp_model_experts(f, m, step_first_expert(f), 1, shared);
    (void)emp_model_layer_types(f, m);
    if (heads == 0 && other.object != NULL)
        heads = emp_fields_integer(&other, "num_attention_heads", 0);
    for (int32_t i = 0; i < m->layer_count && heads > 0; i++)
        if (m->layer[i].window > 0) m->layer[i].heads = heads;
    if (f->status == EMP_OK) f->status = other.status;
}
