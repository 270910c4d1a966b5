// SPDX-License-Identifier: GPL-3.0-or-later
/* How the model types differ. Sources: the configurations and models of huggingface/transformers
 * 4.51 to 5.24, of which each function names what is peculiar to its type. */
#include "graphs/import/models/families.h"

#include <string.h>

#include "base/text/options.h"

/* ---- decoders with layer norms ---- */

static void layer_norms(emp_transformer_model *m, bool has_bias)
{
    m->norm = EMP_NORM_LAYER;
    m->has_final_norm = true;
    m->has_qkv_bias = m->has_output_bias = m->has_mlp_bias = has_bias;
}

static void model_gpt2(emp_fields *f, emp_transformer_model *m)
{
    bool is_bigcode = strcmp(f->family, "gpt_bigcode") == 0;

    layer_norms(m, true);
    m->names = emp_names_gpt2;
    m->has_fused_qkv = true;
    m->position_rows = m->positions;
    if (!is_bigcode) return;
    bool has_one_key = emp_fields_flag(f, "multi_query", true);
    for (int32_t i = 0; i < m->layer_count; i++)
        m->layer[i].kv_heads = has_one_key ? 1 : m->layer[i].heads;
}

static void model_gpt_neo(emp_fields *f, emp_transformer_model *m)
{
    layer_norms(m, true);
    m->names = emp_names_gpt2;
    m->names.q = "attn.attention.q_proj";
    m->names.k = "attn.attention.k_proj";
    m->names.v = "attn.attention.v_proj";
    m->names.output = "attn.attention.out_proj";
    m->position_rows = m->positions;
    m->has_qkv_bias = false;
    int32_t window = emp_fields_integer(f, "window_size", 256);
    for (int32_t i = 1; i < m->layer_count; i += 2) m->layer[i].window = window;
}

static void model_gptj(emp_fields *f, emp_transformer_model *m)
{
    (void)f;
    layer_norms(m, true);
    m->names = emp_names_gpt2;
    m->names.output = "attn.out_proj";
    m->names.up = "mlp.fc_in";
    m->names.down = "mlp.fc_out";
    m->has_qkv_bias = m->has_output_bias = false;
    m->has_rotary = m->has_head_bias = true;
    m->places = EMP_NORMS_PARALLEL;
}

static void model_gpt_neox(emp_fields *f, emp_transformer_model *m)
{
    bool is_parallel = emp_fields_flag(f, "use_parallel_residual", true);

    layer_norms(m, true);
    m->names = emp_names_neox;
    m->has_qkv_bias = m->has_output_bias = emp_fields_flag(f, "attention_bias", true);
    m->has_rotary = m->has_fused_qkv = true;
    m->places = is_parallel ? EMP_NORMS_PARALLEL_2 : EMP_NORMS_BEFORE;
}

static void model_opt(emp_fields *f, emp_transformer_model *m)
{
    bool is_before = emp_fields_flag(f, "do_layer_norm_before", true);

    layer_norms(m, emp_fields_flag(f, "enable_bias", true));
    if (!emp_fields_flag(f, "layer_norm_elementwise_affine", true))
        m->norm = EMP_NORM_LAYER_BARE;
    m->names = emp_names_opt;
    m->position_rows = m->positions < INT32_MAX - 2 ? m->positions + 2 : m->positions;
    m->places = is_before ? EMP_NORMS_BEFORE : EMP_NORMS_AFTER;
    m->has_final_norm =
        is_before && !emp_fields_flag(f, "_remove_final_layer_norm", false);
    if (emp_fields_integer(f, "word_embed_proj_dim", m->hidden) != m->hidden &&
        f->status == EMP_OK)
        f->status =
            emp_error_set(f->err, EMP_EUNSUPPORTED, __FILE__, __LINE__,
                          "\"word_embed_proj_dim\" of an opt model is not its "
                          "\"hidden_size\", and projections of embeddings are not "
                          "known");
}

static void model_bloom(emp_fields *f, emp_transformer_model *m)
{
    (void)f;
    layer_norms(m, true);
    m->names = emp_names_falcon;
    m->has_fused_qkv = m->has_embedding_norm = true;
}

static void model_falcon(emp_fields *f, emp_transformer_model *m)
{
    bool    is_new = emp_fields_flag(f, "new_decoder_architecture", false);
    bool    is_parallel = emp_fields_flag(f, "parallel_attn", true);
    bool    has_one_key = emp_fields_flag(f, "multi_query", true);
    int32_t keys = emp_fields_integer(f, "num_kv_heads|n_head_kv", m->layer[0].heads);
    int32_t norms = emp_fields_integer(f, "num_ln_in_parallel_attn", is_new ? 2 : 1);

    layer_norms(m, emp_fields_flag(f, "bias", false));
    m->names = emp_names_falcon;
    m->has_fused_qkv = true;
    m->has_rotary = !emp_fields_flag(f, "alibi", false);
    m->places = !is_parallel ? EMP_NORMS_BEFORE
                : norms == 2 ? EMP_NORMS_PARALLEL_2
                             : EMP_NORMS_PARALLEL;
    for (int32_t i = 0; i < m->layer_count; i++)
        m->layer[i].kv_heads = is_new ? keys : has_one_key ? 1 : m->layer[i].heads;
}

static void model_mpt(emp_fields *f, emp_transformer_model *m)
{
    (void)f;
    layer_norms(m, false);
    m->norm = EMP_NORM_LAYER_PLAIN;
    m->names = emp_names_mpt;
    m->has_fused_qkv = true;
}

/* Norms of the heads of queries and keys, all with one factor or each with its own. */
static void head_norms(emp_fields *f, emp_transformer_model *m, emp_qk_norm kind)
{
    if (emp_fields_flag(f, "qk_layernorm", false)) m->qk_norm = kind;
    m->names.q_norm = "self_attn.q_layernorm";
    m->names.k_norm = "self_attn.k_layernorm";
}

static void model_phi(emp_fields *f, emp_transformer_model *m)
{
    layer_norms(m, true);
    head_norms(f, m, EMP_QK_NORM_HEAD);
    m->has_qk_norm_bias = true;
    m->names.output = "self_attn.dense";
    m->names.up = "mlp.fc1";
    m->names.down = "mlp.fc2";
    m->names.final_norm = "model.final_layernorm";
    m->has_rotary = m->has_head_bias = true;
    m->places = EMP_NORMS_PARALLEL;
}

static void model_stablelm(emp_fields *f, emp_transformer_model *m)
{
    layer_norms(m, false);
    head_norms(f, m, EMP_QK_NORM_ALL);
    m->has_qkv_bias = emp_fields_flag(f, "use_qkv_bias", false);
    m->is_gated = m->has_rotary = true;
    if (emp_fields_flag(f, "use_parallel_residual", false))
        m->places = EMP_NORMS_PARALLEL;
}

static void model_starcoder2(emp_fields *f, emp_transformer_model *m)
{
    layer_norms(m, emp_fields_flag(f, "use_bias", true));
    m->names.up = "mlp.c_fc";
    m->names.down = "mlp.c_proj";
    m->has_rotary = true;
    emp_model_windows(f, m, emp_model_in_all, 0);
}

static void model_cohere(emp_fields *f, emp_transformer_model *m)
{
    bool is_second = strcmp(f->family, "cohere2") == 0;

    layer_norms(m, emp_fields_flag(f, "attention_bias", false));
    m->norm = EMP_NORM_LAYER_PLAIN;
    if (emp_fields_flag(f, "use_qk_norm", false)) m->qk_norm = EMP_QK_NORM_ALL;
    m->has_mlp_bias = false;
    m->is_gated = m->has_rotary = true;
    m->places = EMP_NORMS_PARALLEL;
    if (is_second)
        emp_model_windows(f, m, emp_model_but_the_last,
                          emp_fields_integer(f, "sliding_window_pattern", 4));
}

static void model_nemotron(emp_fields *f, emp_transformer_model *m)
{
    layer_norms(m, emp_fields_flag(f, "attention_bias", false));
    m->has_mlp_bias = emp_fields_flag(f, "mlp_bias", false);
    m->has_rotary = true;
}

/* The layers from number \a first on. */
static bool from(int32_t layer, int32_t first) { return layer >= first; }

/* ---- decoders with RMS norms, rotary positions and gated layers ---- */

static void llama(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    emp_model_windows(f, m, emp_model_in_all, 0);
}

static void qwen2(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->has_qkv_bias = true;
    m->has_output_bias = false;
    if (emp_fields_flag(f, "use_sliding_window", false))
        emp_model_windows(f, m, from,
                          emp_fields_integer(f, "max_window_layers", m->layer_count));
}

static void qwen3(emp_fields *f, emp_transformer_model *m)
{
    qwen2(f, m);
    m->has_qkv_bias = m->has_output_bias = emp_fields_flag(f, "attention_bias", false);
    m->qk_norm = EMP_QK_NORM_HEAD;
}

/* The first Qwen: one product for queries, keys and values, and half the inner size twice. */
static void qwen(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->names = emp_names_gpt2;
    m->names.gate = "mlp.w2";
    m->names.up = "mlp.w1";
    m->activation = EMP_ACTIVATION_SILU;
    m->has_fused_qkv = m->has_qkv_bias = true;
    m->has_output_bias = m->has_mlp_bias = !emp_fields_flag(f, "no_bias", true);
    for (int32_t i = 0; i < m->layer_count; i++) m->layer[i].inner /= 2;
}

static void qwen2_moe(emp_fields *f, emp_transformer_model *m)
{
    qwen2(f, m);
    m->has_qkv_bias = emp_fields_flag(f, "qkv_bias", true);
    m->has_shared_gate = true;
    m->names.shared = "mlp.shared_expert.*_proj";
    m->names.shared_gate = "mlp.shared_expert_gate";
    emp_model_experts(f, m, 0, emp_fields_integer(f, "decoder_sparse_step", 1),
                      emp_fields_integer(f, "shared_expert_intermediate_size", -1));
}

static void qwen3_moe(emp_fields *f, emp_transformer_model *m)
{
    qwen3(f, m);
    if (emp_fields_flag(f, "use_sliding_window", false))
        emp_model_windows(f, m, emp_model_in_all, 0);
    emp_model_experts(f, m, 0, emp_fields_integer(f, "decoder_sparse_step", 1), 0);
}

/* Names of transformers 5; version 4 and published weights have "block_sparse_moe". */
static void mixtral(emp_fields *f, emp_transformer_model *m)
{
    llama(f, m);
    emp_model_experts(f, m, 0, 1, 0);
}

static void olmoe(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->qk_norm = EMP_QK_NORM_ALL;
    emp_model_experts(f, m, 0, 1, 0);
}

/* OLMo 2 with experts. */
static void flex_olmo(emp_fields *f, emp_transformer_model *m)
{
    olmoe(f, m);
    m->has_wide_norm = true;
    m->places = EMP_NORMS_INSIDE;
}

static void minimax_m2(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->qk_norm =
        emp_fields_flag(f, "use_qk_norm", true) ? EMP_QK_NORM_ALL : EMP_QK_NORM_NONE;
    m->has_correction_bias = emp_fields_flag(f, "use_routing_bias", true);
    m->names.router = "block_sparse_moe.gate";
    m->names.correction = "block_sparse_moe.e_score_correction_bias";
    m->names.experts = "block_sparse_moe.experts.*_proj";
    emp_model_experts(f, m, 0, 1, 0);
}

static void phi3(emp_fields *f, emp_transformer_model *m)
{
    llama(f, m);
    m->has_fused_qkv = m->has_fused_gate = true;
}

/* InternLM's own key of biases, and packed products. */
static void internlm(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->has_fused_qkv = strcmp(f->family, "internlm") != 0;
    m->has_qkv_bias = m->has_output_bias = emp_fields_flag(f, "bias", false);
}

static void seed_oss(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->has_output_bias = emp_fields_flag(f, "attention_out_bias", false);
}

static void olmo(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->norm = EMP_NORM_LAYER_BARE;
}

static void olmo2(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->has_wide_norm = true;
    m->places = EMP_NORMS_INSIDE;
    m->qk_norm = EMP_QK_NORM_ALL;
    if (strcmp(f->family, "olmo3") == 0)
        emp_model_windows(f, m, emp_model_but_the_last, 4);
}

static void smollm3(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    if (emp_fields_flag(f, "use_sliding_window", false))
        emp_model_windows(f, m, emp_model_in_all, 0);
}

static void glm4(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->has_output_bias = false;
    m->has_fused_gate = true;
    if (strcmp(f->family, "glm") == 0) return;
    m->places = EMP_NORMS_SANDWICH;
    m->names.post_1 = "post_self_attn_layernorm";
    m->names.post_2 = "post_mlp_layernorm";
}

static void gpt_oss(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->has_wide_norm = true;
    m->has_qkv_bias = m->has_output_bias = emp_fields_flag(f, "attention_bias", true);
    m->has_sinks = m->has_router_bias = m->has_expert_bias = true;
    m->has_fused_gate = true;
    m->names.router = "mlp.router";
    emp_model_windows(f, m, emp_model_but_the_last, 2);
    emp_model_experts(f, m, 0, 1, 0);
}

/* Windows are chunks: a query sees the keys of its own chunk. Here it sees as many before it. */
static void llama4(emp_fields *f, emp_transformer_model *m)
{
    int32_t inner = m->layer[0].inner;
    int32_t dense = emp_fields_integer(f, "intermediate_size_mlp", inner);

    emp_model_llama_like(f, m);
    m->names.router = "feed_forward.router";
    m->names.experts = "feed_forward.experts.*_proj";
    m->names.shared = "feed_forward.shared_expert.*_proj";
    m->names.shared_gate = "feed_forward.shared_expert";
    m->names.gate = "feed_forward.gate_proj";
    m->names.up = "feed_forward.up_proj";
    m->names.down = "feed_forward.down_proj";
    emp_model_experts(f, m, 0, emp_fields_integer(f, "interleave_moe_layer_step", 1),
                      inner);
    for (int32_t i = 0; i < m->layer_count; i++)
        if (m->layer[i].experts == 0) m->layer[i].inner = dense;
    if (emp_model_layer_types(f, m)) return;
    int32_t chunk = emp_fields_integer(f, "attention_chunk_size", 0);
    for (int32_t i = 0; i < m->layer_count; i++)
        if (emp_model_but_the_last(i, 4)) m->layer[i].window = chunk;
}

/* ---- Gemma ---- */

static void gemma(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->has_wide_norm = true;
}

void emp_model_gemma2(emp_fields *f, emp_transformer_model *m)
{
    gemma(f, m);
    m->places = EMP_NORMS_SANDWICH;
    m->names.norm_2 = "pre_feedforward_layernorm";
    m->has_logit_cap = emp_fields_find(f, "final_logit_softcapping") != NULL;
    emp_model_windows(f, m, emp_model_but_the_last, 2);
}

/* Differentially private Gemma has no norms behind its parts. */
static void vaultgemma(emp_fields *f, emp_transformer_model *m)
{
    emp_model_gemma2(f, m);
    m->places = EMP_NORMS_BEFORE;
}

static void gemma3(emp_fields *f, emp_transformer_model *m)
{
    emp_model_gemma2(f, m);
    m->qk_norm = EMP_QK_NORM_HEAD;
    for (int32_t i = 0; i < m->layer_count; i++) m->layer[i].window = 0;
    emp_model_windows(f, m, emp_model_but_the_last,
                      emp_fields_integer(f, "sliding_window_pattern", 6));
}

/* Layers that see all have wider heads, of which there are fewer, and their keys are their
 * values; the last ones read the keys of an earlier layer of their kind. */
static void gemma4_layer(emp_fields *f, emp_transformer_model *m, int32_t i)
{
    emp_transformer_layer *l = &m->layer[i];
    bool                   is_full = l->window == 0;
    bool                   is_same = emp_fields_flag(f, "attention_k_eq_v", false);
    bool                   is_listed = emp_fields_find(f, "per_layer_config") != NULL;
    int32_t                shared = emp_fields_integer(f, "num_kv_shared_layers", 0);

    if (is_full) {
        l->head_size =
            emp_fields_integer(f, "global_head_dim", is_listed ? l->head_size : 512);
        l->value_size = l->head_size;
        l->keys_are_values = is_same;
        if (is_same)
            l->kv_heads =
                emp_fields_integer(f, "num_global_key_value_heads", l->kv_heads);
    }
    if (shared > 0 && i >= m->layer_count - shared) {
        for (int32_t k = m->layer_count - shared - 1; k >= 0 && l->keys_of < 0; k--)
            if ((m->layer[k].window == 0) == is_full) l->keys_of = k;
        if (emp_fields_flag(f, "use_double_wide_mlp", false)) l->inner *= 2;
    }
}

static void gemma4(emp_fields *f, emp_transformer_model *m)
{
    gemma3(f, m);
    m->has_value_norm = m->has_layer_scale = true;
    m->layer[m->layer_count - 1].window = 0; /* whatever the config says */
    m->layer_embedding = emp_fields_integer(f, "hidden_size_per_layer_input", 0);
    if (m->layer_embedding > 0)
        m->layer_embedding_rows =
            emp_fields_integer(f, "vocab_size_per_layer_input", m->vocabulary);
    for (int32_t i = 0; i < m->layer_count && f->status == EMP_OK; i++)
        if (m->layer[i].inner <= EMP_TRANSFORMER_SIZE_MAX) gemma4_layer(f, m, i);
    if (!emp_fields_flag(f, "enable_moe_block", false)) return;
    int32_t   inner = m->layer[0].inner;
    const int wide = emp_fields_flag(f, "use_double_wide_mlp", false) ? 2 : 1;
    emp_model_experts(f, m, 0, 1, 0);
    m->has_router_scales = true;
    m->names.router = "router";
    m->names.experts = "experts.*_proj";
    for (int32_t i = 0; i < m->layer_count; i++) {
        m->layer[i].inner = m->layer[i].keys_of >= 0 ? wide * inner : inner;
        m->layer[i].has_parallel_norms = true;
    }
}

/* ---- DeepSeek and GLM ---- */

/* DeepSeek's first experts, with plain attention. */
static void deepseek_moe(emp_fields *f, emp_transformer_model *m)
{
    int32_t inner = emp_fields_integer(f, "moe_intermediate_size", -1);

    emp_model_llama_like(f, m);
    emp_model_experts(
        f, m, emp_fields_integer(f, "first_k_dense_replace", 0), 1,
        emp_model_product(emp_fields_integer(f, "n_shared_experts", 0), inner));
}

static void glm4_moe(emp_fields *f, emp_transformer_model *m)
{
    int32_t inner = emp_fields_integer(f, "moe_intermediate_size", -1);

    emp_model_llama_like(f, m);
    m->has_output_bias = false;
    m->qk_norm =
        emp_fields_flag(f, "use_qk_norm", false) ? EMP_QK_NORM_HEAD : EMP_QK_NORM_NONE;
    m->has_correction_bias = true;
    emp_model_experts(
        f, m, emp_fields_integer(f, "first_k_dense_replace", 0), 1,
        emp_model_product(emp_fields_integer(f, "n_shared_experts", 0), inner));
}

/* ---- dense types that differ in one or two parts from others ---- */

static void arcee(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->is_gated = false;
}

/* Swiss AI's Apertus: no gates, an activation with weights of its own. */
static void apertus(emp_fields *f, emp_transformer_model *m)
{
    arcee(f, m);
    if (emp_fields_find(f, "hidden_act") == NULL) emp_model_activate(f, m, "xielu");
    m->qk_norm = EMP_QK_NORM_HEAD;
    m->has_mlp_bias = false;
    m->names.norm_1 = "attention_layernorm";
    m->names.norm_2 = "feedforward_layernorm";
}

static void helium(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->has_wide_norm = true;
    m->has_output_bias = false;
}

/* Norms behind attention and feed-forward layers, and of heads. */
static void exaone4(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->places = EMP_NORMS_INSIDE;
    m->qk_norm = EMP_QK_NORM_HEAD;
    m->has_qkv_bias = m->has_output_bias = m->has_mlp_bias = false;
    emp_model_windows(f, m, emp_model_but_the_last,
                      emp_fields_integer(f, "sliding_window_pattern", 4));
}

static void hunyuan(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->has_mlp_bias = false;
    m->qk_norm = EMP_QK_NORM_HEAD;
    m->names.q_norm = "self_attn.query_layernorm";
    m->names.k_norm = "self_attn.key_layernorm";
}

static void hyperclovax(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    if (!emp_fields_flag(f, "use_post_norm", true)) return;
    m->places = EMP_NORMS_SANDWICH;
    m->names.norm_2 = "post_attention_layernorm";
    m->names.post_1 = "post_norm1";
    m->names.post_2 = "post_norm2";
}

/* ---- such types with experts ---- */

/* Experts that have as many shared ones as the member of that name says, by a bias of the router's choice. */
static void experts_with_shared(emp_fields *f, emp_transformer_model *m, int32_t first,
                                const char *shared)
{
    const int32_t inner = emp_fields_integer(f, "moe_intermediate_size", -1);
    const int32_t count = emp_fields_integer(f, shared, 0);

    m->has_correction_bias = true;
    emp_model_experts(f, m, first, 1, emp_model_product(count, inner));
}

/* The shared expert is as wide as a routed one. */
static void hunyuan_moe(emp_fields *f, emp_transformer_model *m)
{
    const int32_t inner = m->layer[0].inner;

    hunyuan(f, m);
    m->names.router = "mlp.gate.wg";
    m->names.shared = "mlp.shared_mlp.*_proj";
    m->names.shared_gate = "mlp.shared_mlp";
    emp_model_experts(f, m, 0, 1, inner);
}

static void phimoe(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->norm = EMP_NORM_LAYER;
    m->has_mlp_bias = false;
    m->has_head_bias = emp_fields_flag(f, "lm_head_bias", false);
    m->names.router = "mlp.router";
    emp_model_windows(f, m, emp_model_in_all, 0);
    emp_model_experts(f, m, 0, 1, 0);
}

void emp_model_granitemoe(emp_fields *f, emp_transformer_model *m)
{
    const int32_t shared = emp_fields_integer(f, "shared_intermediate_size", 0);

    emp_model_llama_like(f, m);
    m->has_mlp_bias = false;
    m->names.router = "block_sparse_moe.router";
    m->names.experts = "block_sparse_moe.experts.*_proj";
    m->names.shared = "shared_mlp.*_proj";
    m->names.shared_gate = "shared_mlp";
    if (emp_fields_integer(f, "num_local_experts", 0) > 0) {
        emp_model_experts(f, m, 0, 1, shared);
        return;
    }
    m->has_fused_gate = true;
    m->names.gate_up = "shared_mlp.input_linear";
    m->names.down = "shared_mlp.output_linear";
    for (int32_t i = 0; i < m->layer_count; i++) m->layer[i].inner = shared;
}

static void dots1(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->has_mlp_bias = false;
    m->qk_norm = EMP_QK_NORM_HEAD;
    experts_with_shared(f, m, emp_fields_integer(f, "first_k_dense_replace", 0),
                        "n_shared_experts");
    (void)emp_model_layer_types(f, m);
}

static void exaone_moe(emp_fields *f, emp_transformer_model *m)
{
    exaone4(f, m);
    m->places = EMP_NORMS_BEFORE;
    experts_with_shared(f, m, emp_fields_integer(f, "first_k_dense_replace", 1),
                        "num_shared_experts");
}

/* Arcee's Trinity: norms around both parts, and a gate of what attention gives. */
static void afmoe(emp_fields *f, emp_transformer_model *m)
{
    emp_model_llama_like(f, m);
    m->has_wide_norm = true;
    m->has_mlp_bias = false;
    m->places = EMP_NORMS_SANDWICH;
    m->qk_norm = EMP_QK_NORM_HEAD;
    m->gate = EMP_GATE_ALL;
    m->names.output_gate = "self_attn.gate_proj";
    m->names.norm_2 = "pre_mlp_layernorm";
    m->names.post_2 = "post_mlp_layernorm";
    m->names.router = "mlp.router.gate";
    m->names.correction = "mlp.expert_bias";
    experts_with_shared(f, m, emp_fields_integer(f, "num_dense_layers", 1),
                        "num_shared_experts");
    emp_model_windows(f, m, emp_model_but_the_last,
                      emp_fields_integer(f, "global_attn_every_n_layers", 4));
}

/* Baidu's members begin with "moe_". */
static void ernie_moe(emp_fields *f, emp_transformer_model *m)
{
    const int32_t count = emp_fields_integer(f, "moe_num_shared_experts", 0);
    const int32_t inner = emp_fields_integer(f, "moe_intermediate_size", -1);
    const int32_t dense = m->layer[0].inner;
    const int32_t last = emp_fields_integer(f, "moe_layer_end_index", m->layer_count - 1);

    emp_model_llama_like(f, m);
    m->has_correction_bias = true;
    m->has_head_bias = emp_fields_flag(f, "use_bias", false);
    m->names.correction = "mlp.gate.moe_statics.e_score_correction_bias";
    emp_model_experts(f, m, emp_fields_integer(f, "moe_layer_start_index", 1),
                      emp_fields_integer(f, "moe_layer_interval", 1),
                      emp_model_product(count, inner));
    for (int32_t i = last + 1; i < m->layer_count && last >= 0; i++) {
        m->layer[i].experts = 0;
        m->layer[i].inner = dense;
    }
}

/* ---- the table ---- */

static const emp_model_family families[] = {
    {"llama|mistral|ministral|ministral3|granite|exaone|cwm|emu3_text_model|iquestcoder|"
     "internlm3",
     false, llama},
    {"hyperclovax", false, hyperclovax},
    {"ernie4_5|paddleocr_vl_text", true, llama},
    {"arcee", false, arcee},
    {"apertus", false, apertus},
    {"helium", false, helium},
    {"exaone4", false, exaone4},
    {"exaone_moe", false, exaone_moe},
    {"hunyuan_v1_dense", false, hunyuan},
    {"hunyuan_v1_moe", false, hunyuan_moe},
    {"phimoe", false, phimoe},
    {"granitemoe|granitemoeshared", false, emp_model_granitemoe},
    {"dots1", false, dots1},
    {"afmoe", false, afmoe},
    {"ernie4_5_moe", true, ernie_moe},
    {"bamba", false, emp_model_bamba},
    {"granitemoehybrid", false, emp_model_granite_hybrid},
    {"mamba2", false, emp_model_mamba2},
    {"mamba|falcon_mamba", true, emp_model_mamba},
    {"jamba", false, emp_model_jamba},
    {"falcon_h1", false, emp_model_falcon_h1},
    {"lfm2", true, emp_model_lfm2},
    {"lfm2_moe", true, emp_model_lfm2_moe},
    {"qwen3_next", false, emp_model_qwen3_next},
    {"qwen2|mimo|qwen2_vl|qwen2_vl_text|qwen2_5_vl|qwen2_5_vl_text|qwen2_5_omni_text",
     false, qwen2},
    {"qwen3|qwen3_vl_text", false, qwen3},
    {"qwen", false, qwen},
    {"qwen2_moe", false, qwen2_moe},
    {"internlm|internlm2|baichuan", false, internlm},
    {"seed_oss", false, seed_oss},
    {"deepseek", false, deepseek_moe},
    {"qwen3_moe|qwen3_vl_moe_text|qwen3_omni_moe_text|mellum", false, qwen3_moe},
    {"qwen3_5|qwen3_5_text", false, emp_model_qwen3_5},
    {"qwen3_5_moe|qwen3_5_moe_text", false, emp_model_qwen3_5_moe},
    {"mixtral", false, mixtral},
    {"olmo", false, olmo},
    {"olmo2|olmo3", false, olmo2},
    {"olmoe", false, olmoe},
    {"flex_olmo", false, flex_olmo},
    {"phi", false, model_phi},
    {"phi3", false, phi3},
    {"gpt_oss", false, gpt_oss},
    {"llama4_text", false, llama4},
    {"gemma", true, gemma},
    {"gemma2", true, emp_model_gemma2},
    {"vaultgemma", true, vaultgemma},
    {"gemma3_text", true, gemma3},
    {"gemma3n_text", true, emp_model_gemma3n},
    {"gemma4_text", true, gemma4},
    {"deepseek_v2|deepseek_v3|kimi_k2|glm4_moe_lite|youtu|sarvam_mla|minicpm3", false,
     emp_model_deepseek},
    {"glm|glm4|glm4v_text", false, glm4},
    {"glm4_moe|glm4v_moe_text|solar_open|sarvam_moe", false, glm4_moe},
    {"deepseek_v32|glm_moe_dsa", false, emp_model_deepseek_sparse},
    {"deepseek_v4|deepseek_ref", false, emp_model_deepseek_v4},
    {"kimi_linear", false, emp_model_kimi_linear},
    {"minimax|minimax_text_01", false, emp_model_minimax},
    {"minimax_m2", false, minimax_m2},
    {"minimax_m3|minimax_m3_vl|minimax_m3_vl_text", false, emp_model_minimax_m3},
    {"mimo_v2_flash", false, emp_model_mimo_v2},
    {"step3p5|step3p7", false, emp_model_step3p5},
    {"smollm3", true, smollm3},
    {"gpt2|gpt_bigcode", true, model_gpt2},
    {"gpt_neo", true, model_gpt_neo},
    {"gptj|codegen", false, model_gptj},
    {"gpt_neox", false, model_gpt_neox},
    {"opt", true, model_opt},
    {"bloom", true, model_bloom},
    {"falcon", true, model_falcon},
    {"mpt", true, model_mpt},
    {"stablelm", false, model_stablelm},
    {"starcoder2", true, model_starcoder2},
    {"cohere|cohere2", true, model_cohere},
    {"nemotron|jais2", false, model_nemotron},
    {"nemotron_h", false, emp_model_nemotron_h},
    {"nemotron-nas", false, emp_model_nemotron_nas},
    {"bert|roberta|xlm-roberta|camembert", true, emp_model_bert},
    {"modernbert", true, emp_model_modernbert},
    {"t5|mt5|umt5", true, emp_model_t5},
    {"bart|mbart|plbart|blenderbot-small", true, emp_model_bart},
    {"marian", true, emp_model_marian},
    {"m2m_100|pegasus|blenderbot", true, emp_model_pegasus},
    {"whisper", true, emp_model_whisper},
};

enum { FAMILY_COUNT = sizeof families / sizeof *families };

const emp_model_family *emp_model_family_find(const char *type)
{
    for (int32_t i = 0; i < FAMILY_COUNT; i++)
        if (emp_words_find(families[i].types, type, strlen(type)) >= 0)
            return &families[i];
    return NULL;
}

const char *emp_model_family_defaults(const char *type)
{
    /* as transformers 5.24 has them, of types whose configs are published without some */
#define QWEN3_5                                                      \
    " num_attention_heads=16 head_dim=256 linear_conv_kernel_dim=4 " \
    "linear_key_head_dim=128 "                                       \
    "linear_value_head_dim=128 linear_num_key_heads=16 linear_num_value_heads=32 "
    static const struct {
        const char *begin, *defaults;
    } table[] = {
        {"qwen3_5_moe",
         QWEN3_5 "num_key_value_heads=2 moe_intermediate_size=512 "
                 "shared_expert_intermediate_size=512 num_experts_per_tok=8 "
                 "num_experts=256 "},
        {"llama4_text", " attention_chunk_size=8192 "},
        {"mamba", " num_attention_heads=1 "}, /* without attention */
        {"falcon_mamba", " num_attention_heads=1 "},
        {"olmo3", " sliding_window=4096 "},
        {"qwen3_5", QWEN3_5 "num_key_value_heads=4 intermediate_size=12288 "},
        {"nemotron_h", " num_attention_heads=32 num_key_value_heads=8 head_dim=128 "
                       "intermediate_size=21504 ssm_state_size=128 mamba_num_heads=128 "
                       "mamba_head_dim=64 n_groups=8 conv_kernel=4 chunk_size=128 "},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strncmp(type, table[i].begin, strlen(table[i].begin)) == 0)
            return table[i].defaults;
    return NULL;
}
