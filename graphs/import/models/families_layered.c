// SPDX-License-Identifier: GPL-3.0-or-later
/* Model types whose layers differ: attention that sees some of the keys, by an indexer or by windows, and below hybrids. Sources: the
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

void emp_model_deepseek(emp_fields *f, emp_transformer_model *m)
{
    int32_t plain = emp_fields_integer(f, "qk_nope_head_dim", -1);
    int32_t value = emp_fields_integer(f, "v_head_dim", -1);
    int32_t inner = emp_fields_integer(f, "moe_intermediate_size", 0);

    emp_model_llama_like(f, m);
    m->has_output_bias = emp_fields_flag(f, "attention_bias", false);
    if (strcmp(f->family, "deepseek_v2") != 0 && strcmp(f->family, "minicpm3") != 0)
        m->has_mlp_bias = false;
    m->query_rank = emp_fields_integer(f, "q_lora_rank", 0);
    m->key_rank = emp_fields_integer(f, "kv_lora_rank", -1);
    m->rotary_size = emp_fields_integer(f, "qk_rope_head_dim", -1);
    m->has_correction_bias = strcmp(f->family, "deepseek_v2") != 0;
    for (int32_t i = 0; i < m->layer_count; i++) {
        int64_t size = (int64_t)plain + m->rotary_size;
        m->layer[i].head_size = size > INT32_MAX ? INT32_MAX : (int32_t)size;
        m->layer[i].value_size = value;
        m->layer[i].kv_heads = m->layer[i].heads;
    }
    if (emp_fields_find(f, "n_routed_experts") == NULL) return;
    emp_model_experts(
        f, m, emp_fields_integer(f, "first_k_dense_replace", 0),
        emp_fields_integer(f, "moe_layer_freq", 1),
        emp_model_product(emp_fields_integer(f, "n_shared_experts", 0), inner));
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

/* Configs as published have the sizes of indexers in an object of their own and a list of marks; those that
 * transformers 5 writes have both in members of the config. */
static void minimax_indexers(emp_fields *f, emp_transformer_model *m)
{
    emp_fields own = within(f, "sparse_attention_config");
    const bool is_flat = own.object == NULL;

    if (is_flat) own.object = f->object;
    if (is_flat && emp_fields_find(f, "index_n_heads") == NULL) return;
    if (!emp_fields_flag(&own, "use_sparse_attention", true)) return;
    const int32_t blocks =
        emp_fields_integer(&own, "sparse_topk_blocks|index_topk_blocks", -1);
    const int32_t block =
        emp_fields_integer(&own, "sparse_block_size|index_block_size", -1);
    m->index = (emp_transformer_indexer){
        .heads = emp_fields_integer(&own, "sparse_num_index_heads|index_n_heads", -1),
        .size = emp_fields_integer(&own, "sparse_index_dim|index_head_dim", -1),
        .chosen = emp_model_product(blocks, block),
        .block = block};
    for (int32_t i = 0; i < m->layer_count; i++)
        if (is_flat ? emp_model_layer_is(f, "layer_types", i, "minimax_m3_sparse")
                    : emp_model_is_marked(&own, "sparse_attention_freq", i, true))
            m->layer[i].indexer = EMP_INDEXER_OWN;
    if (f->status == EMP_OK) f->status = own.status;
}

void emp_model_minimax_m3(emp_fields *f, emp_transformer_model *m)
{
    const int32_t experts = emp_fields_integer(f, "n_shared_experts", 1);
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
    minimax_indexers(f, m);
}

/* ---- DeepSeek-V4 ---- */

enum { INDEXED = 4 }; /* tokens of a compressed key where an indexer chooses keys */

/* Tokens of a compressed key, by a list of numbers or, as transformers 5 writes it, of the kinds that have them; -1:
 * neither says so. */
static int64_t deepseek_v4_stride(emp_fields *f, const emp_transformer_model *m,
                                  int32_t i)
{
    static const char *const kinds[] = {"compressed_sparse_attention",
                                        "heavily_compressed_attention"};
    const emp_json *stride = emp_fields_at(emp_fields_find(f, "compress_ratios"), i);

    if (emp_json_is(stride, EMP_JSON_INTEGER)) return emp_json_integer(stride);
    if (emp_fields_find(f, "compress_ratios") != NULL ||
        emp_fields_find(f, "layer_types") == NULL)
        return -1;
    const char *type = emp_model_layer_text(f, "layer_types", i, m->layer_count);
    if (type == NULL || strcmp(type, "sliding_attention") == 0) return 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        emp_fields rates = within(f, "compress_rates");
        if (strcmp(type, kinds[k]) != 0) continue;
        return emp_fields_integer(&rates, kinds[k], k == 0 ? INDEXED : 128);
    }
    emp_model_refuse_layer(f, i, type,
                           "sliding_attention, compressed_sparse_attention and "
                           "heavily_compressed_attention");
    return 0;
}

static void deepseek_v4_layer(emp_fields *f, emp_transformer_model *m, int32_t i)
{
    emp_transformer_layer *l = &m->layer[i];
    const int64_t          tokens = deepseek_v4_stride(f, m, i);
    const bool             is_listed = emp_fields_find(f, "mlp_layer_types") != NULL;

    if (tokens < 0 || tokens > INT32_MAX) {
        if (f->status == EMP_OK)
            f->status =
                emp_error_set(f->err, EMP_EFORMAT, __FILE__, __LINE__,
                              "\"compress_ratios\" has no number for layer %d", i);
        return;
    }
    l->mixer = EMP_MIXER_COMPRESSED;
    l->stride = (int32_t)tokens;
    l->indexer = tokens == INDEXED || emp_model_layer_is(f, "layer_types", i,
                                                         "compressed_sparse_attention")
                     ? EMP_INDEXER_OWN
                     : EMP_INDEXER_NONE;
    l->kv_heads = 1;
    l->value_size = l->head_size;
    l->window = emp_fields_integer(f, "sliding_window", -1);
    l->is_hashed = is_listed ? emp_model_layer_is(f, "mlp_layer_types", i, "hash_moe")
                             : i < emp_fields_integer(f, "num_hash_layers", 0);
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

/* \a is_flat: the config is as transformers 5 writes it. */
static void mimo_layer(emp_fields *f, emp_transformer_layer *l, bool has_window,
                       bool is_flat)
{
    const int32_t keys = is_flat ? emp_model_product(2, l->kv_heads) : l->kv_heads;

    l->value_size = emp_fields_integer(f, "v_head_dim", l->head_size);
    if (!has_window) return;
    l->window = emp_fields_integer(f, "sliding_window_size|sliding_window", -1);
    l->heads = emp_fields_integer(f, "swa_num_attention_heads", l->heads);
    l->kv_heads = emp_fields_integer(f, "swa_num_key_value_heads", keys);
    l->head_size = emp_fields_integer(f, "swa_head_dim", l->head_size);
    l->value_size = emp_fields_integer(f, "swa_v_head_dim", l->value_size);
}

void emp_model_mimo_v2(emp_fields *f, emp_transformer_model *m)
{
    const bool is_flat = emp_fields_find(f, "layer_types") != NULL;
    const bool has_full_sinks = emp_fields_flag(f, "add_full_attention_sink_bias", false);
    const bool has_sinks = emp_fields_flag(f, "add_swa_attention_sink_bias", is_flat);

    emp_model_llama_like(f, m);
    m->has_output_bias = false;
    m->has_sinks = has_sinks || has_full_sinks;
    m->has_window_sinks = !has_full_sinks;
    m->has_correction_bias = true;
    emp_model_experts(f, m, 0, 1, 0);
    for (int32_t i = 0; i < m->layer_count && f->status == EMP_OK; i++)
        mimo_layer(f, &m->layer[i],
                   is_flat ? emp_model_layer_is(f, "layer_types", i, "sliding_attention")
                           : emp_model_is_marked(f, "hybrid_layer_pattern", i,
                                                 i > 0 && emp_model_but_the_last(i, 6)),
                   is_flat);
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

/* The model types whose layers differ in kind: attention, scans with a state, only feed-forward parts. Sources: the
 * configurations and models of huggingface/transformers 5.24, and the configurations of the types that are not in it. */

static bool is_word(const char *text, const char *word)
{
    return text != NULL && strcmp(text, word) == 0;
}

/* The scan's state is float32 if the config says so, or says nothing and \a otherwise holds. */
static bool has_float_state(emp_fields *f, bool otherwise)
{
    const char *name = emp_fields_text(f, "mamba_ssm_cache_dtype|mamba_ssm_dtype");

    return name == NULL ? otherwise : strcmp(name, "float32") == 0;
}

/* ---- Qwen3.5 ---- */

static void qwen3_5_layer(emp_fields *f, emp_transformer_model *m, int32_t i)
{
    const bool  is_listed = emp_fields_find(f, "layer_types") != NULL;
    const char *type =
        is_listed ? emp_model_layer_text(f, "layer_types", i, m->layer_count) : NULL;
    const int32_t interval = emp_fields_integer(f, "full_attention_interval", 4);

    if (is_word(type, "linear_attention") ||
        (!is_listed && emp_model_but_the_last(i, interval)))
        m->layer[i].mixer = EMP_MIXER_DELTA_RULE;
    else if (type != NULL && !is_word(type, "full_attention"))
        emp_model_refuse_layer(f, i, type, "full_attention and linear_attention");
}

void emp_model_qwen3_5(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->has_wide_norm = true;
    m->qk_norm = EMP_QK_NORM_HEAD;
    m->gate = EMP_GATE_IN_QUERY;
    m->scan = (emp_transformer_scan){
        .key_heads = emp_fields_integer(f, "linear_num_key_heads", -1),
        .heads = emp_fields_integer(f, "linear_num_value_heads", -1),
        .key_size = emp_fields_integer(f, "linear_key_head_dim", -1),
        .value_size = emp_fields_integer(f, "linear_value_head_dim", -1),
        .taps = emp_fields_integer(f, "linear_conv_kernel_dim", 4),
        .has_float_state = has_float_state(f, true)};
    for (int32_t i = 0; i < m->layer_count && f->status == EMP_OK; i++)
        qwen3_5_layer(f, m, i);
}

void emp_model_qwen3_5_moe(emp_fields *f, emp_transformer_model *m)
{
    emp_model_qwen3_5(f, m);
    m->has_shared_gate = true;
    m->names.shared = "mlp.shared_expert.*_proj";
    m->names.shared_gate = "mlp.shared_expert_gate";
    emp_model_experts(f, m, 0, 1,
                      emp_fields_integer(f, "shared_expert_intermediate_size", -1));
}

/* Qwen3-Next has one product for queries, keys, values and gates, and one for the two factors of the state. */
void emp_model_qwen3_next(emp_fields *f, emp_transformer_model *m)
{
    emp_model_qwen3_5(f, m);
    m->scan.has_fused_products = true;
    m->has_shared_gate = true;
    m->names.shared = "mlp.shared_expert.*_proj";
    m->names.shared_gate = "mlp.shared_expert_gate";
    emp_model_experts(f, m, 0, emp_fields_integer(f, "decoder_sparse_step", 1),
                      emp_fields_integer(f, "shared_expert_intermediate_size", -1));
}

/* ---- Nemotron-H ---- */

/* The kind of a block: "mamba" or M, "attention" or *, "mlp" or -, "moe" or E; transformers 5 writes other words. */
static char nemotron_block(emp_fields *f, const emp_transformer_model *m, int32_t i)
{
    static const char *const words[] = {"mamba", "attention",        "mlp",
                                        "moe",   "linear_attention", "full_attention"};
    static const char        letters[] = "M*-EM*";
    const char              *pattern = emp_fields_text(f, "hybrid_override_pattern");
    char                     letter[2] = "";
    const char              *word = letter;

    if (pattern != NULL && (size_t)i < strlen(pattern)) {
        letter[0] = pattern[i];
        if (strchr(letters, pattern[i]) != NULL) return pattern[i];
    } else {
        word = emp_model_layer_text(f, "layers_block_type", i, m->layer_count);
        for (size_t k = 0; word != NULL && k < sizeof words / sizeof *words; k++)
            if (strcmp(word, words[k]) == 0) return letters[k];
    }
    if (word != NULL) emp_model_refuse_layer(f, i, word, "mamba, attention, mlp and moe");
    return '\0';
}

static void nemotron_names(emp_transformer_names *n)
{
    n->embedding = "model.embeddings";
    n->final_norm = "model.norm_f";
    n->norm_1 = n->norm_2 = "norm";
    n->attention = n->scan = "mixer";
    n->q = "mixer.q_proj";
    n->k = "mixer.k_proj";
    n->v = "mixer.v_proj";
    n->output = "mixer.o_proj";
    n->up = "mixer.up_proj";
    n->down = "mixer.down_proj";
    n->router = "mixer.gate";
    n->correction = "mixer.gate.e_score_correction_bias";
    n->experts = "mixer.experts.*_proj";
    n->shared = "mixer.shared_experts.*_proj";
    n->shared_gate = "mixer.shared_experts_gate";
    n->expert_in = "mixer.fc1_latent_proj";
    n->expert_out = "mixer.fc2_latent_proj";
}

static void nemotron_experts(emp_fields *f, emp_transformer_layer *l)
{
    l->experts = emp_fields_integer(f, "n_routed_experts", -1);
    l->chosen = emp_fields_integer(f, "num_experts_per_tok", -1);
    l->expert_inner = emp_fields_integer(f, "moe_intermediate_size", -1);
    l->shared_inner = emp_fields_integer(f, "moe_shared_expert_intermediate_size", 0);
    l->inner = 0;
}

/* A block has one part: a mixer or a feed-forward layer. There are no positions. */
void emp_model_nemotron_h(emp_fields *f, emp_transformer_model *m)
{
    const bool has_bias = emp_fields_flag(f, "use_bias", false);

    m->norm = EMP_NORM_RMS;
    m->has_final_norm = true;
    m->has_qkv_bias = m->has_output_bias = emp_fields_flag(f, "attention_bias", false);
    m->has_mlp_bias = emp_fields_flag(f, "mlp_bias", false);
    m->has_correction_bias = true;
    m->is_head_tied = false; /* whatever the config says */
    m->expert_size = emp_fields_integer(f, "moe_latent_size", 0);
    nemotron_names(&m->names);
    for (int32_t i = 0; i < m->layer_count && f->status == EMP_OK; i++) {
        emp_transformer_layer *l = &m->layer[i];
        const char             kind = nemotron_block(f, m, i);
        l->mixer = kind == 'M'   ? EMP_MIXER_STATE_SPACE
                   : kind == '*' ? EMP_MIXER_ATTENTION
                                 : EMP_MIXER_NONE;
        l->has_no_feed_forward = kind == 'M' || kind == '*';
        if (kind == 'E') nemotron_experts(f, l);
        if (kind != 'M' || m->scan.heads > 0) continue;
        m->scan = (emp_transformer_scan){
            .key_heads = emp_fields_integer(f, "n_groups", -1),
            .heads = emp_fields_integer(f, "mamba_num_heads", -1),
            .key_size = emp_fields_integer(f, "ssm_state_size", -1),
            .value_size = emp_fields_integer(f, "mamba_head_dim", -1),
            .taps = emp_fields_integer(f, "conv_kernel", 4),
            .chunk = emp_fields_integer(f, "chunk_size", 128),
            .has_bias = has_bias,
            .has_output_bias = has_bias,
            .has_taps_bias = emp_fields_flag(f, "use_conv_bias", true),
            .has_float_state = has_float_state(f, false)};
    }
}

/* ---- Kimi Linear and Kimi K3 ---- */

/* True if the list has the layer, by numbers from 1 on. */
static bool is_in_list(const emp_fields *f, const char *name, int32_t i)
{
    const emp_json *list = emp_fields_find(f, name);

    for (const emp_json *k = emp_json_first(list); k != NULL; k = emp_json_next(k))
        if (emp_json_integer(k) == (int64_t)i + 1) return true;
    return false;
}

static void kimi_names(emp_transformer_names *n)
{
    n->scan = "self_attn";
    n->router = "block_sparse_moe.gate";
    n->correction = "block_sparse_moe.gate.e_score_correction_bias";
    n->experts = "block_sparse_moe.experts.*_proj";
    n->shared = "block_sparse_moe.shared_experts.*_proj";
    n->shared_gate = "block_sparse_moe.shared_experts";
    n->expert_in = "block_sparse_moe.routed_expert_down_proj";
    n->expert_out = "block_sparse_moe.routed_expert_up_proj";
    n->expert_norm = "block_sparse_moe.routed_expert_norm";
}

static void kimi_scan(emp_fields *f, emp_fields *linear, emp_transformer_model *m)
{
    const bool    is_flat = linear->object == f->object;
    const int32_t heads =
        emp_fields_integer(linear, is_flat ? "linear_num_heads" : "num_heads", -1);
    const int32_t size =
        emp_fields_integer(linear, is_flat ? "linear_head_dim" : "head_dim", -1);
    const bool is_full = emp_fields_flag(linear, "use_full_rank_gate", false);

    m->scan = (emp_transformer_scan){
        .key_heads = heads,
        .heads = heads,
        .key_size = size,
        .value_size = size,
        .taps = emp_fields_integer(linear,
                                   "short_conv_kernel_size|linear_conv_kernel_dim", 4),
        .gate_rank = is_full ? 0 : size,
        .has_channel_decay = true,
        .has_float_state = true};
    for (int32_t i = 0; i < m->layer_count; i++)
        if (is_flat ? emp_model_layer_is(f, "layer_types", i, "linear_attention")
                    : is_in_list(linear, "kda_layers", i))
            m->layer[i].mixer = EMP_MIXER_DELTA_RULE;
    if (f->status == EMP_OK) f->status = linear->status;
}

/* Latent attention without positions in some layers, Kimi Delta Attention in the others. The sizes of the latter are an
 * object of the config as it is published, and members of the config as transformers 5 writes it. */
void emp_model_kimi_linear(emp_fields *f, emp_transformer_model *m)
{
    emp_fields linear = *f;

    emp_model_deepseek(f, m);
    kimi_names(&m->names);
    m->is_head_tied = false; /* whatever the config says */
    m->has_rotary = !emp_fields_flag(f, "mla_use_nope", true);
    if (emp_fields_flag(f, "mla_use_output_gate", false)) m->gate = EMP_GATE_ALL;
    m->expert_size = emp_fields_integer(f, "routed_expert_hidden_size", 0);
    m->has_expert_norm = emp_fields_flag(f, "latent_moe_use_norm", false);
    m->residual_block = emp_fields_integer(f, "attn_res_block_size", 0);
    emp_model_experts(
        f, m, emp_fields_integer(f, "first_k_dense_replace", 0),
        emp_fields_integer(f, "moe_layer_freq", 1),
        emp_model_product(emp_fields_integer(f, "num_shared_experts|n_shared_experts", 0),
                          emp_fields_integer(f, "moe_intermediate_size", -1)));
    linear.object = emp_fields_find(f, "linear_attn_config");
    if (linear.object == NULL) linear.object = f->object;
    kimi_scan(f, &linear, m);
}

/* ---- Gemma 3n ---- */

/* A size of each layer from the list of that name. */
static int32_t size_in_list(const emp_fields *f, const char *name, int32_t i)
{
    const int64_t size = emp_json_integer(emp_fields_at(emp_fields_find(f, name), i));

    return size < 0 || size > INT32_MAX ? 0 : (int32_t)size;
}

static void gemma3n_layer(emp_fields *f, emp_transformer_model *m, int32_t i)
{
    emp_transformer_layer *l = &m->layer[i];
    const emp_json        *sparse = emp_fields_find(f, "activation_sparsity_pattern");
    const int32_t          first =
        m->layer_count - emp_fields_integer(f, "num_kv_shared_layers", 15);

    if (emp_json_is(emp_fields_find(f, "intermediate_size"), EMP_JSON_ARRAY))
        l->inner = size_in_list(f, "intermediate_size", i);
    l->is_sparse = emp_json_count(sparse) > 0
                       ? emp_json_number(emp_fields_at(sparse, i)) > 0
                       : m->layer_count > 10 && i < 10;
    for (int32_t k = first - 1; i >= first && k >= 0 && l->keys_of < 0; k--)
        if ((m->layer[k].window == 0) == (l->window == 0)) l->keys_of = k;
}

/* Streams, embeddings of layers, and gates of which few count in the first layers; the last layers read the keys of an
 * earlier one of their kind. */
void emp_model_gemma3n(emp_fields *f, emp_transformer_model *m)
{
    emp_model_gemma2(f, m);
    m->qk_norm = EMP_QK_NORM_HEAD;
    m->has_value_norm = true;
    m->alternates = emp_fields_integer(f, "altup_num_inputs", 4);
    m->laurel_rank = emp_fields_integer(f, "laurel_rank", 64);
    m->layer_embedding = emp_fields_integer(f, "hidden_size_per_layer_input", 256);
    m->layer_embedding_rows = emp_fields_integer(f, "vocab_size_per_layer_input", 262144);
    for (int32_t i = 0; i < m->layer_count; i++) m->layer[i].window = 0;
    emp_model_windows(f, m, emp_model_but_the_last, 5);
    for (int32_t i = 0; i < m->layer_count; i++) gemma3n_layer(f, m, i);
}

/* ---- Nemotron-NAS ---- */

/* An inner size by its ratio, as DeciLM has it: two thirds, in multiples of 256. */
static int32_t nas_inner(emp_fields *f, int32_t hidden)
{
    const double ratio = emp_json_number(emp_fields_find(f, "ffn_mult"));
    const double size = 2.0 * ratio * hidden / 3.0;

    if (!(ratio > 0.0) || size > EMP_TRANSFORMER_SIZE_MAX) return INT32_MAX;
    return ((int32_t)size + 255) / 256 * 256;
}

static void nas_attention(emp_fields *f, emp_transformer_layer *l)
{
    const int32_t group = emp_fields_integer(f, "n_heads_in_group", 1);

    l->mixer = emp_fields_flag(f, "no_op", false)                 ? EMP_MIXER_NONE
               : emp_fields_flag(f, "replace_with_linear", false) ? EMP_MIXER_LINEAR
                                                                  : EMP_MIXER_ATTENTION;
    l->kv_heads = group > 0 ? l->heads / group : 0;
    l->window = emp_fields_integer(f, "window_length", 0);
}

/* The layers have parts by the list "block_configs": some lack attention or a feed-forward part, others have a matrix in
 * its place. */
void emp_model_nemotron_nas(emp_fields *f, emp_transformer_model *m)
{
    const emp_json *blocks = emp_fields_find(f, "block_configs");

    emp_model_llama_like(f, m);
    for (int32_t i = 0; i < m->layer_count && f->status == EMP_OK; i++) {
        const emp_json *block = emp_fields_at(blocks, i);
        emp_fields      attention = *f, forward = *f;
        attention.object = emp_json_get(block, "attention");
        forward.object = emp_json_get(block, "ffn");
        if (attention.object == NULL || forward.object == NULL) {
            f->status = emp_error_set(
                f->err, EMP_EFORMAT, __FILE__, __LINE__,
                "\"block_configs\" has no attention and ffn for layer %d", i);
            return;
        }
        nas_attention(&attention, &m->layer[i]);
        if (emp_fields_flag(&forward, "no_op", false))
            m->layer[i].has_no_feed_forward = true;
        else if (emp_fields_flag(&forward, "replace_with_linear", false))
            m->layer[i].is_feed_forward_linear = true;
        else
            m->layer[i].inner = nas_inner(&forward, m->hidden);
        f->status = attention.status != EMP_OK ? attention.status : forward.status;
    }
}
