// SPDX-License-Identifier: GPL-3.0-or-later
/* The model types whose layers differ in kind: attention, scans with a state, feed-forward parts alone. Sources: the
 * configurations and models of huggingface/transformers 5.24, and the configurations of the types that are not in it. */
#include <string.h>

#include "graphs/import/models/families.h"

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

/* ---- Nemotron-H ---- */

/* The kind of a block: "mamba" or M, "attention" or *, "mlp" or -, "moe" or E. */
static char nemotron_block(emp_fields *f, const emp_transformer_model *m, int32_t i)
{
    static const char *const words[] = {"mamba", "attention", "mlp", "moe"};
    static const char        letters[] = "M*-E";
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
    const int32_t heads = emp_fields_integer(linear, "num_heads", -1);
    const int32_t size = emp_fields_integer(linear, "head_dim", -1);
    const bool    is_full = emp_fields_flag(linear, "use_full_rank_gate", false);

    m->scan = (emp_transformer_scan){
        .key_heads = heads,
        .heads = heads,
        .key_size = size,
        .value_size = size,
        .taps = emp_fields_integer(linear, "short_conv_kernel_size", 4),
        .gate_rank = is_full ? 0 : size,
        .has_channel_decay = true,
        .has_float_state = true};
    for (int32_t i = 0; i < m->layer_count; i++)
        if (is_in_list(linear, "kda_layers", i)) m->layer[i].mixer = EMP_MIXER_DELTA_RULE;
    if (f->status == EMP_OK) f->status = linear->status;
}

/* Latent attention without positions in some layers, Kimi Delta Attention in the others. */
void emp_model_kimi_linear(emp_fields *f, emp_transformer_model *m)
{
    emp_fields linear = *f;

    emp_model_deepseek(f, m);
    kimi_names(&m->names);
    m->has_rotary = !emp_fields_flag(f, "mla_use_nope", true);
    if (emp_fields_flag(f, "mla_use_output_gate", false)) m->gate = EMP_GATE_ALL;
    m->expert_size = emp_fields_integer(f, "routed_expert_hidden_size", 0);
    m->has_expert_norm = emp_fields_flag(f, "latent_moe_use_norm", false);
    m->residual_block = emp_fields_integer(f, "attn_res_block_size", 0);
    emp_model_experts(
        f, m, emp_fields_integer(f, "first_k_dense_replace", 0),
        emp_fields_integer(f, "moe_layer_freq", 1),
        emp_model_product(emp_fields_integer(f, "num_shared_experts", 0),
                          emp_fields_integer(f, "moe_intermediate_size", -1)));
    linear.object = emp_fields_find(f, "linear_attn_config");
    kimi_scan(f, &linear, m);
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
