// SPDX-License-Identifier: GPL-3.0-or-later
/* The model types with layer norms: GPT and its kin, and encoders. Sources as in families.c. */
#include <string.h>

#include "base/text/text.h"
#include "graphs/import/models/families.h"

/* ---- decoders with layer norms ---- */

static void layer_norms(emp_transformer_model *m, bool has_bias)
{
    m->norm = EMP_NORM_LAYER;
    m->has_final_norm = true;
    m->has_qkv_bias = m->has_output_bias = m->has_mlp_bias = has_bias;
}

void emp_model_gpt2(emp_fields *f, emp_transformer_model *m)
{
    bool is_bigcode = strcmp(f->family, "gpt_bigcode") == 0;

    layer_norms(m, true);
    m->names = emp_names_gpt2;
    m->has_fused_qkv = true;
    m->position_rows = m->positions;
    if (is_bigcode && emp_fields_flag(f, "multi_query", true))
        for (int32_t i = 0; i < m->layer_count; i++) m->layer[i].kv_heads = 1;
}

void emp_model_gpt_neo(emp_fields *f, emp_transformer_model *m)
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

void emp_model_gptj(emp_fields *f, emp_transformer_model *m)
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

void emp_model_gpt_neox(emp_fields *f, emp_transformer_model *m)
{
    bool is_parallel = emp_fields_flag(f, "use_parallel_residual", true);

    layer_norms(m, true);
    m->names = emp_names_neox;
    m->has_qkv_bias = m->has_output_bias = emp_fields_flag(f, "attention_bias", true);
    m->has_rotary = m->has_fused_qkv = true;
    m->places = is_parallel ? EMP_NORMS_PARALLEL_2 : EMP_NORMS_BEFORE;
}

void emp_model_opt(emp_fields *f, emp_transformer_model *m)
{
    bool is_before = emp_fields_flag(f, "do_layer_norm_before", true);

    layer_norms(m, emp_fields_flag(f, "enable_bias", true));
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

void emp_model_bloom(emp_fields *f, emp_transformer_model *m)
{
    (void)f;
    layer_norms(m, true);
    m->names = emp_names_falcon;
    m->has_fused_qkv = m->has_embedding_norm = true;
}

void emp_model_falcon(emp_fields *f, emp_transformer_model *m)
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

void emp_model_mpt(emp_fields *f, emp_transformer_model *m)
{
    (void)f;
    layer_norms(m, false);
    m->norm = EMP_NORM_LAYER_PLAIN;
    m->names = emp_names_mpt;
    m->has_fused_qkv = true;
}

void emp_model_phi(emp_fields *f, emp_transformer_model *m)
{
    (void)f;
    layer_norms(m, true);
    m->names.output = "self_attn.dense";
    m->names.up = "mlp.fc1";
    m->names.down = "mlp.fc2";
    m->names.final_norm = "model.final_layernorm";
    m->has_rotary = m->has_head_bias = true;
    m->places = EMP_NORMS_PARALLEL;
}

void emp_model_stablelm(emp_fields *f, emp_transformer_model *m)
{
    layer_norms(m, false);
    m->has_qkv_bias = emp_fields_flag(f, "use_qkv_bias", false);
    m->is_gated = m->has_rotary = true;
    if (emp_fields_flag(f, "use_parallel_residual", false))
        m->places = EMP_NORMS_PARALLEL;
}

void emp_model_starcoder2(emp_fields *f, emp_transformer_model *m)
{
    layer_norms(m, emp_fields_flag(f, "use_bias", true));
    m->names.up = "mlp.c_fc";
    m->names.down = "mlp.c_proj";
    m->has_rotary = true;
    emp_model_windows(f, m, emp_model_in_all, 0);
}

void emp_model_cohere(emp_fields *f, emp_transformer_model *m)
{
    bool is_second = strcmp(f->family, "cohere2") == 0;

    layer_norms(m, emp_fields_flag(f, "attention_bias", false));
    m->norm = EMP_NORM_LAYER_PLAIN;
    m->has_mlp_bias = false;
    m->is_gated = m->has_rotary = true;
    m->places = EMP_NORMS_PARALLEL;
    if (is_second)
        emp_model_windows(f, m, emp_model_but_the_last,
                          emp_fields_integer(f, "sliding_window_pattern", 4));
}

void emp_model_nemotron(emp_fields *f, emp_transformer_model *m)
{
    layer_norms(m, emp_fields_flag(f, "attention_bias", false));
    m->has_mlp_bias = emp_fields_flag(f, "mlp_bias", false);
    m->has_rotary = true;
}

/* ---- encoders ---- */

/* The first of "architectures" ends in that word. */
static bool is_made_for(const emp_fields *f, const char *ending)
{
    const emp_json *first = emp_json_first(emp_fields_find(f, "architectures"));
    const char     *text = emp_json_string(first);

    return text != NULL && emp_text_ends_in(text, ending);
}

void emp_model_bert(emp_fields *f, emp_transformer_model *m)
{
    bool is_roberta = strcmp(f->family, "bert") != 0;
    bool is_both = is_made_for(f, "ForPreTraining");

    layer_norms(m, true);
    m->names = is_roberta ? emp_names_roberta : emp_names_bert;
    m->is_encoder = m->has_embedding_norm = true;
    m->has_final_norm = false;
    m->places = EMP_NORMS_AFTER;
    m->position_rows = m->positions;
    m->type_rows = emp_fields_integer(f, "type_vocab_size", 2);
    m->has_head = is_both || is_made_for(f, "ForMaskedLM");
    m->has_head_transform = m->has_head_bias = true;
    m->has_next_sentence = is_both && !is_roberta;
    m->has_pooler = !m->has_head || m->has_next_sentence;
    if (is_roberta && m->positions > 2)
        m->positions -= 2; /* the first two rows are padding */
}
