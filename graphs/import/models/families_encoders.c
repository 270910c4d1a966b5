// SPDX-License-Identifier: GPL-3.0-or-later
/* Model types of encoders, and of an encoder and a decoder that attends to it. There the decoder is the model, and the encoder
 * beside it has members of the config of its own. Sources: the configurations and models of
 * huggingface/transformers 5.24. */
#include <string.h>

#include "graphs/import/models/families.h"

/* ---- encoders without a decoder ---- */

void emp_model_bert(emp_fields *f, emp_transformer_model *m)
{
    bool is_roberta = strcmp(f->family, "bert") != 0;

    m->norm = EMP_NORM_LAYER;
    m->has_qkv_bias = m->has_output_bias = m->has_mlp_bias = true;
    m->names = is_roberta ? emp_names_roberta : emp_names_bert;
    m->is_encoder = m->has_embedding_norm = true;
    m->has_final_norm = false;
    m->places = EMP_NORMS_AFTER;
    m->position_rows = m->positions;
    m->type_rows = emp_fields_integer(f, "type_vocab_size", 2);
    m->has_head_transform = m->has_head_bias = true;
    if (is_roberta && m->positions > 2)
        m->positions -= 2; /* the first two rows are padding */
}

/* ModernBERT: decoders' parts, windows in most layers, and a head that all its classes have. */
void emp_model_modernbert(emp_fields *f, emp_transformer_model *m)
{
    const int32_t period = emp_fields_integer(f, "global_attn_every_n_layers", 3);
    const int32_t half = emp_fields_integer(f, "local_attention", 128) / 2;

    emp_model_llama_like(f, m);
    m->norm =
        emp_fields_flag(f, "norm_bias", false) ? EMP_NORM_LAYER : EMP_NORM_LAYER_PLAIN;
    m->is_encoder = m->has_embedding_norm = m->has_fused_qkv = m->has_fused_gate = true;
    m->has_qkv_bias = m->has_output_bias = emp_fields_flag(f, "attention_bias", false);
    m->has_head_transform = true;
    m->has_head_bias = emp_fields_flag(f, "decoder_bias", true);
    m->lacks_transform_bias = !emp_fields_flag(f, "classifier_bias", false);
    m->names = (emp_transformer_names){
        .embedding = "model.embeddings.tok_embeddings",
        .embedding_norm = "model.embeddings.norm",
        .final_norm = "model.final_norm",
        .head = "decoder",
        .transform = "head",
        .transform_norm = ".norm",
        .layer = "model.layers",
        .attention = "attn",
        .norm_1 = "attn_norm",
        .norm_2 = "mlp_norm",
        .qkv = "attn.Wqkv",
        .output = "attn.Wo",
        .q_norm = "attn.q_norm",
        .k_norm = "attn.k_norm",
        .gate = "mlp.gate",
        .up = "mlp.Wi",
        .gate_up = "mlp.Wi",
        .down = "mlp.Wo",
    };
    m->layer[0].has_no_norm = true;
    const bool is_listed = emp_fields_find(f, "layer_types") != NULL;
    for (int32_t i = 0; i < m->layer_count && f->status == EMP_OK; i++)
        if (is_listed ? emp_model_layer_is(f, "layer_types", i, "sliding_attention")
                      : period > 0 && i % period != 0)
            m->layer[i].window = 2 * half + 1;
}

/* An encoder like the decoder in all that the caller doesn't change; NULL: it failed. */
static emp_transformer_model *add_encoder(emp_fields *f, emp_transformer_model *m,
                                          const char *layers)
{
    const int32_t count = emp_fields_integer(f, layers, -1);

    if (f->status == EMP_OK)
        f->status = emp_transformer_model_add_encoder(m, count, f->err);
    return f->status == EMP_OK ? m->encoder : NULL;
}

/* ---- T5 ---- */

static void t5_names(emp_transformer_names *n, bool is_decoder, bool is_gated)
{
    *n = emp_names_llama;
    n->embedding = "shared";
    n->final_norm = is_decoder ? "decoder.final_layer_norm" : "encoder.final_layer_norm";
    n->layer = is_decoder ? "decoder.block" : "encoder.block";
    n->attention = "layer.0.SelfAttention";
    n->q = "layer.0.SelfAttention.q";
    n->k = "layer.0.SelfAttention.k";
    n->v = "layer.0.SelfAttention.v";
    n->output = "layer.0.SelfAttention.o";
    n->relative = "layer.0.SelfAttention.relative_attention_bias";
    n->norm_1 = "layer.0.layer_norm";
    n->cross = "layer.1.EncDecAttention";
    n->cross_q = "layer.1.EncDecAttention.q";
    n->cross_k = "layer.1.EncDecAttention.k";
    n->cross_v = "layer.1.EncDecAttention.v";
    n->cross_output = "layer.1.EncDecAttention.o";
    n->cross_norm = "layer.1.layer_norm";
    n->norm_2 = is_decoder ? "layer.2.layer_norm" : "layer.1.layer_norm";
    n->gate = is_decoder ? "layer.2.DenseReluDense.wi_0" : "layer.1.DenseReluDense.wi_0";
    n->up = is_decoder ? "layer.2.DenseReluDense.wi_1" : "layer.1.DenseReluDense.wi_1";
    if (!is_gated)
        n->up = is_decoder ? "layer.2.DenseReluDense.wi" : "layer.1.DenseReluDense.wi";
    n->down = is_decoder ? "layer.2.DenseReluDense.wo" : "layer.1.DenseReluDense.wo";
}

/* "gated-gelu" is a gate by the GELU of GPT-2, "relu" a layer without a gate. */
static void t5_feed_forward(emp_fields *f, emp_transformer_model *m)
{
    static const char gated[] = "gated-";
    const bool        is_t5 = strcmp(f->family, "t5") == 0;
    const char       *name = emp_fields_text(f, "feed_forward_proj");

    if (name == NULL) name = is_t5 ? "relu" : "gated-gelu";
    m->is_gated = strncmp(name, gated, strlen(gated)) == 0;
    if (m->is_gated) name += strlen(gated);
    emp_model_activate(f, m,
                       m->is_gated && strcmp(name, "gelu") == 0 ? "gelu_new" : name);
}

void emp_model_t5(emp_fields *f, emp_transformer_model *m)
{
    const int32_t size = emp_fields_integer(f, "d_kv", 64);

    m->norm = EMP_NORM_RMS;
    m->has_final_norm = true;
    m->relative_buckets = emp_fields_integer(f, "relative_attention_num_buckets", 32);
    m->is_relative_shared = strcmp(f->family, "umt5") != 0;
    t5_feed_forward(f, m);
    for (int32_t i = 0; i < m->layer_count; i++)
        m->layer[i].head_size = m->layer[i].value_size = size;
    t5_names(&m->names, true, m->is_gated);
    emp_transformer_model *e = add_encoder(f, m, "num_layers");
    if (e != NULL) t5_names(&e->names, false, m->is_gated);
}

/* ---- BART and its kin ---- */

static void bart_names(emp_transformer_names *n, bool is_decoder)
{
    *n = emp_names_opt;
    n->embedding = "model.shared";
    n->cross = "encoder_attn";
    n->cross_norm = "encoder_attn_layer_norm";
    n->cross_q = "encoder_attn.q_proj";
    n->cross_k = "encoder_attn.k_proj";
    n->cross_v = "encoder_attn.v_proj";
    n->cross_output = "encoder_attn.out_proj";
    n->final_norm = "model.decoder.layer_norm";
    n->embedding_norm = "model.decoder.layernorm_embedding";
    if (is_decoder) return;
    n->layer = "model.encoder.layers";
    n->positions = "model.encoder.embed_positions";
    n->final_norm = "model.encoder.layer_norm";
    n->embedding_norm = "model.encoder.layernorm_embedding";
}

static void set_layers(emp_fields *f, emp_transformer_model *m, const char *heads,
                       const char *inner)
{
    const int32_t count = emp_fields_integer(f, heads, -1);

    for (int32_t i = 0; i < m->layer_count; i++) {
        emp_transformer_layer *l = &m->layer[i];
        l->heads = l->kv_heads = count;
        l->head_size = l->value_size = count > 0 ? m->hidden / count : 0;
        l->inner = emp_fields_integer(f, inner, -1);
    }
}

/* Both stacks with layer norms at \a places and tables of \a spare rows more than positions. */
static emp_transformer_model *bart_stacks(emp_fields *f, emp_transformer_model *m,
                                          emp_norm_places places, emp_position_kind kind,
                                          int32_t spare)
{
    m->norm = EMP_NORM_LAYER;
    m->places = places;
    m->has_final_norm = places == EMP_NORMS_BEFORE;
    m->has_qkv_bias = m->has_output_bias = m->has_mlp_bias = true;
    m->position_kind = kind;
    m->position_rows = m->positions < INT32_MAX - spare ? m->positions + spare : 0;
    bart_names(&m->names, true);
    set_layers(f, m, "decoder_attention_heads", "decoder_ffn_dim");
    emp_transformer_model *e = add_encoder(f, m, "encoder_layers");
    if (e == NULL) return NULL;
    bart_names(&e->names, false);
    set_layers(f, e, "encoder_attention_heads", "encoder_ffn_dim");
    return e;
}

/* Norms behind the parts of a layer, and of embeddings; mBART has norms before them, too. */
void emp_model_bart(emp_fields *f, emp_transformer_model *m)
{
    const bool is_small = strcmp(f->family, "blenderbot-small") == 0;
    const bool is_before = strcmp(f->family, "mbart") == 0;

    m->has_embedding_norm = true;
    (void)bart_stacks(f, m, is_before ? EMP_NORMS_BEFORE : EMP_NORMS_AFTER,
                      EMP_POSITIONS_LEARNED, is_small ? 0 : 2);
}

/* Norms before the parts; sinusoidal positions, which are a parameter, a buffer or learned. */
void emp_model_pegasus(emp_fields *f, emp_transformer_model *m)
{
    const bool is_m2m = strcmp(f->family, "m2m_100") == 0;
    const bool is_pegasus = strcmp(f->family, "pegasus") == 0;

    (void)bart_stacks(f, m, EMP_NORMS_BEFORE,
                      is_m2m       ? EMP_POSITIONS_BUFFER
                      : is_pegasus ? EMP_POSITIONS_FROZEN
                                   : EMP_POSITIONS_LEARNED,
                      is_m2m ? 2 : 0);
}

/* Languages may have vocabularies of their own. */
void emp_model_marian(emp_fields *f, emp_transformer_model *m)
{
    const int32_t          own = emp_fields_integer(f, "decoder_vocab_size", 0);
    emp_transformer_model *e =
        bart_stacks(f, m, EMP_NORMS_AFTER, EMP_POSITIONS_FROZEN, 0);

    if (e == NULL || emp_fields_flag(f, "share_encoder_decoder_embeddings", true)) return;
    e->names.embedding = "model.encoder.embed_tokens";
    m->names.embedding = "model.decoder.embed_tokens";
    if (own > 0) m->vocabulary = own;
}

/* ---- Whisper ---- */

void emp_model_whisper(emp_fields *f, emp_transformer_model *m)
{
    m->positions = emp_fields_integer(f, "max_target_positions", 448);
    m->lacks_key_bias = true;
    emp_transformer_model *e =
        bart_stacks(f, m, EMP_NORMS_BEFORE, EMP_POSITIONS_LEARNED, 0);
    m->names.embedding = "model.decoder.embed_tokens";
    m->names.head = "proj_out";
    if (e == NULL) return;
    e->names.embedding = "model.encoder.conv";
    e->sound_size = emp_fields_integer(f, "num_mel_bins", 80);
    e->positions = e->position_rows = emp_fields_integer(f, "max_source_positions", 1500);
    e->position_kind = EMP_POSITIONS_FROZEN;
}
