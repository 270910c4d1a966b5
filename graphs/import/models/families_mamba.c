// SPDX-License-Identifier: GPL-3.0-or-later
/* Model types that mix tokens by Mamba-2 or by short convolutions, alone or in layers between those of attention. Sources:
 * the configurations and models of huggingface/transformers 5.24. */
#include <string.h>

#include "graphs/import/models/families.h"

/* True if the list of layers, where there is one, has another word for layer \a i than attention's. */
static bool is_no_attention(emp_fields *f, const emp_transformer_model *m, int32_t i,
                            const char *list, const char *other)
{
    const char *type = emp_model_layer_text(f, list, i, m->layer_count);

    if (type == NULL || strcmp(type, "full_attention") == 0 ||
        strcmp(type, "attention") == 0)
        return false;
    if (strcmp(type, other) != 0 && strcmp(type, "mamba") != 0)
        emp_model_refuse_layer(f, i, type,
                               "full_attention, linear_attention, mamba and conv");
    return true;
}

/* True if the list of numbers has layer \a i. */
static bool is_in_list(const emp_fields *f, const char *name, int32_t i)
{
    const emp_json *list = emp_fields_find(f, name);

    for (const emp_json *k = emp_json_first(list); k != NULL; k = emp_json_next(k))
        if (emp_json_integer(k) == i) return true;
    return false;
}

/* ---- Mamba-2 ---- */

/* The inner size is `mamba_expand` hidden sizes; heads that are "auto" share it. */
static emp_transformer_scan mamba_scan(emp_fields *f, const emp_transformer_model *m)
{
    const int32_t   heads = emp_fields_integer(f, "mamba_n_heads", -1);
    const emp_json *size = emp_fields_find(f, "mamba_d_head");
    const int32_t   all = emp_fields_integer(
          f, "mamba_d_ssm",
          emp_model_product(emp_fields_integer(f, "mamba_expand", 2), m->hidden));
    const bool is_open = size == NULL || emp_json_string(size) != NULL;

    return (emp_transformer_scan){
        .key_heads = emp_fields_integer(f, "mamba_n_groups", 1),
        .heads = heads,
        .key_size = emp_fields_integer(f, "mamba_d_state", -1),
        .value_size = !is_open    ? emp_fields_integer(f, "mamba_d_head", -1)
                      : heads > 0 ? all / heads
                                  : 0,
        .taps = emp_fields_integer(f, "mamba_d_conv", 4),
        .chunk = emp_fields_integer(f, "mamba_chunk_size", 256),
        .has_bias = emp_fields_flag(f, "mamba_proj_bias", false),
        .has_output_bias = emp_fields_flag(f, "mamba_proj_bias", false),
        .has_taps_bias = emp_fields_flag(f, "mamba_conv_bias", true)};
}

static void set_mamba(emp_fields *f, emp_transformer_model *m, int32_t i)
{
    static const char *const lists[] = {"layer_types", "layers_block_type"};

    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        if (emp_fields_find(f, lists[k]) == NULL) continue;
        if (is_no_attention(f, m, i, lists[k], "linear_attention"))
            m->layer[i].mixer = EMP_MIXER_STATE_SPACE;
        return;
    }
    if (!is_in_list(f, "attn_layer_indices", i))
        m->layer[i].mixer = EMP_MIXER_STATE_SPACE;
}

static void mix_by_mamba(emp_fields *f, emp_transformer_model *m)
{
    m->names.scan = "mamba";
    m->scan = mamba_scan(f, m);
    for (int32_t i = 0; i < m->layer_count && f->status == EMP_OK; i++)
        set_mamba(f, m, i);
}

void emp_model_bamba(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->names.norm_2 = "pre_ff_layernorm";
    m->names.final_norm = "model.final_layernorm";
    m->names.gate = "feed_forward.gate_proj";
    m->names.up = "feed_forward.up_proj";
    m->names.down = "feed_forward.down_proj";
    mix_by_mamba(f, m);
}

/* All layers have attention and Mamba-2 side by side. */
void emp_model_falcon_h1(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->names.norm_2 = "pre_ff_layernorm";
    m->names.final_norm = "model.final_layernorm";
    m->names.gate = "feed_forward.gate_proj";
    m->names.up = "feed_forward.up_proj";
    m->names.down = "feed_forward.down_proj";
    m->names.scan = "mamba";
    m->scan = mamba_scan(f, m);
    m->scan.has_output_bias = emp_fields_flag(f, "projectors_bias", false);
    m->scan.has_no_norm = !emp_fields_flag(f, "mamba_rms_norm", false);
    for (int32_t i = 0; i < m->layer_count; i++) m->layer[i].mixer = EMP_MIXER_BOTH;
}

/* Granite 4: all layers have a shared feed-forward part, and experts beside it if there are any. */
void emp_model_granite_hybrid(emp_fields *f, emp_transformer_model *m)
{
    const char *positions = emp_fields_text(f, "position_embedding_type");

    emp_model_granitemoe(f, m);
    m->has_rotary = positions != NULL && strcmp(positions, "rope") == 0;
    mix_by_mamba(f, m);
}

/* Layers that have a mixer and nothing else. */
static void only_mixers(emp_fields *f, emp_transformer_model *m, emp_mixer mixer)
{
    emp_model_llama_like(f, m);
    m->has_rotary = false;
    m->names.embedding = "model.embeddings";
    m->names.final_norm = "model.norm_f";
    m->names.norm_1 = "norm";
    m->names.scan = m->names.attention = "mixer";
    for (int32_t i = 0; i < m->layer_count; i++) {
        m->layer[i].mixer = mixer;
        m->layer[i].has_no_feed_forward = true;
    }
}

void emp_model_mamba2(emp_fields *f, emp_transformer_model *m)
{
    only_mixers(f, m, EMP_MIXER_STATE_SPACE);
    m->scan = (emp_transformer_scan){
        .key_heads = emp_fields_integer(f, "n_groups", 8),
        .heads = emp_fields_integer(f, "num_heads", -1),
        .key_size = emp_fields_integer(f, "state_size", 128),
        .value_size = emp_fields_integer(f, "head_dim", 64),
        .taps = emp_fields_integer(f, "conv_kernel", 4),
        .chunk = emp_fields_integer(f, "chunk_size", 256),
        .has_bias = emp_fields_flag(f, "use_bias", false),
        .has_output_bias = emp_fields_flag(f, "use_bias", false),
        .has_taps_bias = emp_fields_flag(f, "use_conv_bias", true)};
}

/* ---- Mamba ---- */

/* The rank of steps is a sixteenth of the hidden size where it is "auto". */
static int32_t step_rank(emp_fields *f, const emp_transformer_model *m, const char *name)
{
    const emp_json *rank = emp_fields_find(f, name);

    if (rank == NULL || emp_json_string(rank) != NULL)
        return (int32_t)(((int64_t)m->hidden + 15) / 16);
    return emp_fields_integer(f, name, -1);
}

void emp_model_mamba(emp_fields *f, emp_transformer_model *m)
{
    const int32_t all = emp_model_product(emp_fields_integer(f, "expand", 2), m->hidden);

    only_mixers(f, m, EMP_MIXER_SELECTIVE);
    m->scan = (emp_transformer_scan){
        .key_heads = 1,
        .heads = emp_fields_integer(f, "intermediate_size|d_inner", all),
        .key_size = emp_fields_integer(f, "state_size", 16),
        .value_size = 1,
        .taps = emp_fields_integer(f, "conv_kernel", 4),
        .step_rank = step_rank(f, m, "time_step_rank"),
        .has_step_norms = strcmp(f->family, "falcon_mamba") == 0,
        .has_float_state = true,
        .has_bias = emp_fields_flag(f, "use_bias", false),
        .has_taps_bias = emp_fields_flag(f, "use_conv_bias", true)};
}

/* Jamba: attention in one of some layers and Mamba in the others, experts in one of some. */
void emp_model_jamba(emp_fields *f, emp_transformer_model *m)
{
    const int32_t period = emp_fields_integer(f, "attn_layer_period", 8);
    const int32_t offset = emp_fields_integer(f, "attn_layer_offset", 4);
    const int32_t every = emp_fields_integer(f, "expert_layer_period", 2);
    const int32_t first = emp_fields_integer(f, "expert_layer_offset", 1);
    const int32_t inner = m->layer[0].inner;

    emp_model_llama_like(f, m);
    m->has_rotary = false;
    m->names.norm_2 = "pre_ff_layernorm";
    m->names.final_norm = "model.final_layernorm";
    m->names.gate = "feed_forward.gate_proj";
    m->names.up = "feed_forward.up_proj";
    m->names.down = "feed_forward.down_proj";
    m->names.router = "feed_forward.router";
    m->names.experts = "feed_forward.experts.*_proj";
    m->names.scan = "mamba";
    m->scan = (emp_transformer_scan){
        .key_heads = 1,
        .heads = emp_model_product(emp_fields_integer(f, "mamba_expand", 2), m->hidden),
        .key_size = emp_fields_integer(f, "mamba_d_state", 16),
        .value_size = 1,
        .taps = emp_fields_integer(f, "mamba_d_conv", 4),
        .step_rank = step_rank(f, m, "mamba_dt_rank"),
        .has_step_norms = true,
        .has_step_weights = true,
        .has_float_state = true,
        .has_bias = emp_fields_flag(f, "mamba_proj_bias", false),
        .has_taps_bias = emp_fields_flag(f, "mamba_conv_bias", true)};
    if (emp_fields_integer(f, "num_experts|num_local_experts", 16) > 1)
        emp_model_experts(f, m, 0, 1, 0);
    for (int32_t i = 0; i < m->layer_count; i++) {
        if (period > 0 && i % period != offset) m->layer[i].mixer = EMP_MIXER_SELECTIVE;
        if (every < 1 || i % every == first) continue;
        m->layer[i].experts = 0;
        m->layer[i].inner = inner;
    }
}

/* ---- MiniMax-Text-01 ---- */

/* Attention or lightning attention, by a list of marks as published or of words; without either they take turns. */
static bool is_lightning(emp_fields *f, const emp_transformer_model *m, int32_t i)
{
    if (emp_fields_find(f, "layer_types") != NULL)
        return is_no_attention(f, m, i, "layer_types", "linear_attention");
    return !emp_model_is_marked(f, "attn_type_list", i, i % 2 == 0);
}

void emp_model_minimax(emp_fields *f, emp_transformer_model *m)
{
    const int32_t heads = m->layer[0].heads, size = m->layer[0].head_size;

    emp_model_llama_like(f, m);
    m->places = EMP_NORMS_AROUND;
    m->names.scan = "self_attn";
    m->scan = (emp_transformer_scan){.key_heads = heads,
                                     .heads = heads,
                                     .key_size = size,
                                     .value_size = size,
                                     .taps = 1,
                                     .chunk = emp_fields_integer(f, "block_size", 256)};
    emp_model_experts(f, m, 0, 1, 0);
    for (int32_t i = 0; i < m->layer_count && f->status == EMP_OK; i++)
        if (is_lightning(f, m, i))
            m->layer[i].mixer = EMP_MIXER_LIGHTNING;
        else
            m->layer[i].window = emp_fields_integer(f, "sliding_window", 0);
}

/* ---- LFM2 ---- */

/* LFM2 shrinks the inner size that its config says by a third, and rounds it up. */
static int32_t lfm2_inner(emp_fields *f, int32_t inner)
{
    const emp_json *factor = emp_fields_find(f, "block_ffn_dim_multiplier");
    const int32_t   multiple = emp_fields_integer(f, "block_multiple_of", 256);
    int64_t         size = 2 * (int64_t)emp_fields_integer(f, "block_ff_dim", inner) / 3;

    if (!emp_fields_flag(f, "block_auto_adjust_ff_dim", true))
        return emp_fields_integer(f, "block_ff_dim", inner);
    if (factor == NULL || multiple < 1) return (int32_t)size;
    const double scaled = emp_json_number(factor) * (double)size;
    if (!(scaled > 0.0) || scaled > EMP_TRANSFORMER_SIZE_MAX) return INT32_MAX;
    size = ((int64_t)scaled + multiple - 1) / multiple * multiple;
    return (int32_t)size;
}

static void lfm2_names(emp_transformer_names *n)
{
    n->final_norm = "model.embedding_norm";
    n->norm_1 = "operator_norm";
    n->norm_2 = "ffn_norm";
    n->output = "self_attn.out_proj";
    n->q_norm = "self_attn.q_layernorm";
    n->k_norm = "self_attn.k_layernorm";
    n->gate = "feed_forward.w1";
    n->up = "feed_forward.w3";
    n->down = "feed_forward.w2";
    n->router = "feed_forward.gate";
    n->correction = "feed_forward.expert_bias";
    n->experts = "feed_forward.experts.*_proj";
    n->scan = "conv";
}

static void lfm2_mixers(emp_fields *f, emp_transformer_model *m)
{
    const bool is_listed = emp_fields_find(f, "layer_types") != NULL;
    const bool has_bias = emp_fields_flag(f, "conv_bias", false);

    emp_model_llama_like(f, m);
    m->activation = EMP_ACTIVATION_SILU;
    m->qk_norm = EMP_QK_NORM_HEAD;
    m->has_qkv_bias = m->has_output_bias = m->has_mlp_bias = false;
    lfm2_names(&m->names);
    m->scan = (emp_transformer_scan){.taps = emp_fields_integer(f, "conv_L_cache", 3),
                                     .has_bias = has_bias,
                                     .has_taps_bias = has_bias};
    for (int32_t i = 0; i < m->layer_count && f->status == EMP_OK; i++)
        if (is_listed ? is_no_attention(f, m, i, "layer_types", "conv")
                      : !is_in_list(f, "full_attn_idxs", i))
            m->layer[i].mixer = EMP_MIXER_CONVOLUTION;
}

void emp_model_lfm2(emp_fields *f, emp_transformer_model *m)
{
    const int32_t inner = lfm2_inner(f, m->layer[0].inner);

    lfm2_mixers(f, m);
    for (int32_t i = 0; i < m->layer_count; i++) m->layer[i].inner = inner;
}

void emp_model_lfm2_moe(emp_fields *f, emp_transformer_model *m)
{
    lfm2_mixers(f, m);
    m->has_correction_bias = emp_fields_flag(f, "use_expert_bias", true);
    emp_model_experts(f, m, emp_fields_integer(f, "num_dense_layers", 2), 1, 0);
}
