// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/transformer/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graphs/transformer/model.h"
#include "graphs/transformer/tape.h"

/* GGUF first, so that its names of matrices stay as they are. */
static const emp_transformer_names *const families[] = {
    &emp_names_gguf,   &emp_names_llama, &emp_names_gpt2,
    &emp_names_falcon, &emp_names_neox,  &emp_names_mpt,
    &emp_names_opt,    &emp_names_bert,  &emp_names_roberta};
enum { FAMILIES = sizeof families / sizeof *families };

/* ---- paths ---- */

static bool ends_in(const char *text, size_t length, const char *end)
{
    const size_t size = strlen(end);

    return length > size && memcmp(text + length - size, end, size) == 0;
}

/* The parameters and buffers of a module are named behind its path. */
static size_t cut_own(const char *name, size_t length, bool *is_cache)
{
    static const char *const caches[] = {".key_cache", ".value_cache"};
    static const char *const own[] = {".weight", ".bias",  ".e_score_correction_bias",
                                      ".sinks",  ".scale", ".layer_scalar"};

    *is_cache = false;
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
        if (!ends_in(name, length, caches[i])) continue;
        *is_cache = true;
        return length - strlen(caches[i]);
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (ends_in(name, length, own[i])) return length - strlen(own[i]);
    if (ends_in(name, length, "_bias") || ends_in(name, length, "_scale")) {
        while (length > 0 && name[length - 1] != '.') length--;
        return length > 0 ? length - 1 : 0;
    }
    return length;
}

static bool is_path(const char *name, size_t length, const char *path)
{
    return strlen(path) == length && memcmp(name, path, length) == 0;
}

/* The path itself, or the path of a part of it. */
static bool is_within(const char *name, size_t length, const char *path)
{
    const size_t size = strlen(path);

    if (length < size || memcmp(name, path, size) != 0) return false;
    return length == size || name[size] == '.';
}

/* ---- parts ---- */

static bool find_layer(emp_model_part *part, const char *name, const char *layers)
{
    const size_t size = strlen(layers);
    char        *end;

    if (strncmp(name, layers, size) != 0 || name[size] != '.') return false;
    if (name[size + 1] < '0' || name[size + 1] > '9') return false;
    const long number = strtol(name + size + 1, &end, 10);
    if (number >= EMP_TRANSFORMER_LAYERS_MAX) return false;
    if (*end != '.' && *end != '/' && *end != '\0') return false;
    part->kind = EMP_PART_LAYER;
    part->layer = (int32_t)number;
    part->module = *end == '.' ? end + 1 : end;
    const size_t before = (size_t)(part->module - name);
    part->module_length = part->path_length > before ? part->path_length - before : 0;
    return true;
}

static bool find_outside(emp_model_part *part, const char *name,
                         const emp_transformer_names *n)
{
    const char *const tables[] = {n->embedding, n->positions, n->types,
                                  n->embedding_norm};
    const char *const heads[] = {n->final_norm, n->head, "model.final_layernorm"};

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (is_path(name, part->path_length, tables[i])) part->kind = EMP_PART_EMBEDDING;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (is_within(name, part->path_length, heads[i])) part->kind = EMP_PART_HEAD;
    return part->kind != EMP_PART_OTHER;
}

emp_model_part emp_model_part_of(const char *op_name)
{
    const size_t   length = strcspn(op_name, "/");
    const char    *behind = op_name + length, *round = strstr(behind, EMP_TAPE_ROUND);
    emp_model_part part = {.layer = -1, .module = ""};

    if (*behind == '/' && round != behind) {
        const int size =
            round != NULL ? (int)(round - behind) - 1 : (int)sizeof part.role;
        snprintf(part.role, sizeof part.role, "%.*s", size, behind + 1);
    }
    part.path_length = cut_own(op_name, length, &part.is_cache);
    for (size_t i = 0; i < FAMILIES; i++) {
        if (!find_layer(&part, op_name, families[i]->layer) &&
            !find_outside(&part, op_name, families[i]))
            continue;
        part.names = families[i];
        break;
    }
    return part;
}

/* ---- matrices ---- */

#define PART(name) offsetof(emp_transformer_names, name)
static const size_t whole[] = {
    PART(q),    PART(k),       PART(v),    PART(qkv),    PART(output),     PART(gate),
    PART(up),   PART(gate_up), PART(down), PART(q_a),    PART(q_b),        PART(kv_a),
    PART(kv_b), PART(k_b),     PART(v_b),  PART(router), PART(shared_gate)};
static const size_t starred[] = {PART(experts), PART(shared)};
#undef PART

static const char *const words[] = {"gate", "up", "gate_up", "down"};
enum { WORDS = sizeof words / sizeof *words };

static const char *text_of(const emp_transformer_names *names, size_t part)
{
    const char *text;

    memcpy(&text, (const char *)names + part, sizeof text);
    return text;
}

/* "a.*_b" with a word for the star, if there is one. */
static void fill_star(char out[EMP_PART_NAME_BYTES], const char *pattern,
                      const char *word)
{
    const char *star = strchr(pattern, '*');

    if (star == NULL)
        snprintf(out, EMP_PART_NAME_BYTES, "%s", pattern);
    else
        snprintf(out, EMP_PART_NAME_BYTES, "%.*s%s%s", (int)(star - pattern), pattern,
                 word, star + 1);
}

/* Names that readers of configs give modules of single families, and GGUF's names. */
static const char *const others[][2] = {
    {"block_sparse_moe.experts.*_proj", "ffn_*_exps"},
    {"feed_forward.experts.*_proj", "ffn_*_exps"},
    {"experts.*_proj", "ffn_*_exps"},
    {"mlp.shared_expert.*_proj", "ffn_*_shexp"},
    {"feed_forward.shared_expert.*_proj", "ffn_*_shexp"},
    {"mlp.shared_expert_gate", "ffn_gate_inp_shexp"},
    {"block_sparse_moe.gate", "ffn_gate_inp"},
    {"mlp.router", "ffn_gate_inp"},
    {"mlp.router.gate", "ffn_gate_inp"},
    {"mlp.gate.wg", "ffn_gate_inp"},
    {"block_sparse_moe.router", "ffn_gate_inp"},
    {"feed_forward.gate", "ffn_gate_inp"},
    {"feed_forward.router", "ffn_gate_inp"},
    {"router", "ffn_gate_inp"},
    {"feed_forward.*_proj", "ffn_*"},
    {"mlp.shared_mlp.*_proj", "ffn_*_shexp"},
    {"shared_mlp.*_proj", "ffn_*_shexp"},
    {"shared_mlp.input_linear", "ffn_gate_up"},
    {"shared_mlp.output_linear", "ffn_down"},
    {"feed_forward.w1", "ffn_gate"},
    {"feed_forward.w2", "ffn_down"},
    {"feed_forward.w3", "ffn_up"},
    {"mlp.w2", "ffn_gate"},
    {"mlp.w1", "ffn_up"},
    {"mlp.fc_in", "ffn_up"},
    {"mlp.fc_out", "ffn_down"},
    {"mlp.fc1", "ffn_up"},
    {"mlp.fc2", "ffn_down"},
    {"mlp.c_fc", "ffn_up"},
    {"mlp.c_proj", "ffn_down"},
    {"attn.attention.q_proj", "attn_q"},
    {"attn.attention.k_proj", "attn_k"},
    {"attn.attention.v_proj", "attn_v"},
    {"attn.attention.out_proj", "attn_output"},
    {"attn.out_proj", "attn_output"},
    {"self_attn.dense", "attn_output"},
};

static bool find_other(char out[EMP_PART_NAME_BYTES], const emp_model_part *part)
{
    char text[EMP_PART_NAME_BYTES];

    for (size_t i = 0; i < WORDS * (sizeof others / sizeof *others); i++) {
        fill_star(text, others[i / WORDS][0], words[i % WORDS]);
        if (!is_path(part->module, part->module_length, text)) continue;
        fill_star(out, others[i / WORDS][1], words[i % WORDS]);
        return true;
    }
    return false;
}

static bool find_in(char out[EMP_PART_NAME_BYTES], const emp_model_part *part,
                    const emp_transformer_names *names)
{
    char text[EMP_PART_NAME_BYTES];

    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        if (!is_path(part->module, part->module_length, text_of(names, whole[i])))
            continue;
        snprintf(out, EMP_PART_NAME_BYTES, "%s", text_of(&emp_names_gguf, whole[i]));
        return true;
    }
    for (size_t i = 0; i < 2 * WORDS; i++) {
        fill_star(text, text_of(names, starred[i % 2]), words[i / 2]);
        if (!is_path(part->module, part->module_length, text)) continue;
        fill_star(out, text_of(&emp_names_gguf, starred[i % 2]), words[i / 2]);
        return true;
    }
    return false;
}

/* Families share the names of their layers. */
bool emp_model_part_gguf(char name[EMP_PART_NAME_BYTES], const emp_model_part *part)
{
    if (part->names == NULL || part->module_length == 0) return false;
    for (size_t i = 0; i < FAMILIES; i++)
        if (strcmp(families[i]->layer, part->names->layer) == 0 &&
            find_in(name, part, families[i]))
            return true;
    return find_other(name, part);
}

bool emp_model_part_is_expert(const emp_model_part *part)
{
    char name[EMP_PART_NAME_BYTES], expert[EMP_PART_NAME_BYTES];

    if (!emp_model_part_gguf(name, part)) return false;
    for (size_t i = 0; i < WORDS; i++) {
        fill_star(expert, emp_names_gguf.experts, words[i]);
        if (strcmp(name, expert) == 0) return true;
    }
    return false;
}

bool emp_model_part_is_router(const emp_model_part *part)
{
    char name[EMP_PART_NAME_BYTES];

    return emp_model_part_gguf(name, part) &&
           (strcmp(name, emp_names_gguf.router) == 0 ||
            strcmp(name, emp_names_gguf.shared_gate) == 0);
}

/* Only one kind of file has them under other names. */
#define LATENT                                                                          \
    .expert_in = "mlp.fc1_latent_proj", .expert_out = "mlp.fc2_latent_proj",            \
    .expert_norm = "mlp.routed_expert_norm", .output_gate = "self_attn.g_proj",         \
    .indexer = "self_attn.indexer.", .scan = "linear_attn", .sinks = "self_attn.sinks", \
    .q_a = "self_attn.q_a_proj", .q_a_norm = "self_attn.q_a_layernorm",                 \
    .q_b = "self_attn.q_b_proj", .kv_a = "self_attn.kv_a_proj_with_mqa",                \
    .kv_a_norm = "self_attn.kv_a_layernorm", .kv_b = "self_attn.kv_b_proj",             \
    .k_b = "self_attn.k_b_proj", .v_b = "self_attn.v_b_proj"

/* clang-format off */
/* The names that several kinds of files share. */
#define EXPERTS_OF_MLP                                                               \
    .experts = "mlp.experts.*_proj", .shared = "mlp.shared_experts.*_proj",          \
    .shared_gate = "mlp.shared_experts_gate"
#define NEOX_LAYER(attention_name)                                                   \
    .attention = attention_name, .norm_1 = "input_layernorm", .post_1 = "post_1",    \
    .norm_2 = "post_attention_layernorm", .post_2 = "post_2",                        \
    .q = attention_name ".query", .k = attention_name ".key",                        \
    .v = attention_name ".value", .qkv = attention_name ".query_key_value",          \
    .output = attention_name ".dense", .q_norm = attention_name ".q_norm",           \
    .k_norm = attention_name ".k_norm", .gate = "mlp.gate",                          \
    .up = "mlp.dense_h_to_4h", .gate_up = "mlp.gate_up",                             \
    .down = "mlp.dense_4h_to_h", .router = "mlp.router",                             \
    .correction = "mlp.router.e_score_correction_bias", EXPERTS_OF_MLP, LATENT

const emp_transformer_names emp_names_llama = {
    .embedding = "model.embed_tokens", .positions = "model.embed_positions",
    .types = "model.embed_types", .embedding_norm = "model.embed_norm",
    .final_norm = "model.norm", .head = "lm_head", .layer = "model.layers",
    .attention = "self_attn", .norm_1 = "input_layernorm", .post_1 = "post_attention_layernorm",
    .norm_2 = "post_attention_layernorm", .post_2 = "post_feedforward_layernorm",
    .q = "self_attn.q_proj", .k = "self_attn.k_proj", .v = "self_attn.v_proj",
    .qkv = "self_attn.qkv_proj", .output = "self_attn.o_proj",
    .q_norm = "self_attn.q_norm", .k_norm = "self_attn.k_norm",
    .gate = "mlp.gate_proj", .up = "mlp.up_proj", .gate_up = "mlp.gate_up_proj", .down = "mlp.down_proj",
    .router = "mlp.gate", .correction = "mlp.gate.e_score_correction_bias",
    EXPERTS_OF_MLP, LATENT};

const emp_transformer_names emp_names_gpt2 = {
    .embedding = "transformer.wte", .positions = "transformer.wpe", .types = "transformer.wtt",
    .embedding_norm = "transformer.ln_e", .final_norm = "transformer.ln_f", .head = "lm_head",
    .layer = "transformer.h", .attention = "attn", .norm_1 = "ln_1", .post_1 = "post_1",
    .norm_2 = "ln_2", .post_2 = "post_2", .q = "attn.q_proj", .k = "attn.k_proj", .v = "attn.v_proj",
    .qkv = "attn.c_attn", .output = "attn.c_proj", .q_norm = "attn.q_norm", .k_norm = "attn.k_norm",
    .gate = "mlp.c_gate", .up = "mlp.c_fc", .gate_up = "mlp.c_gate_fc", .down = "mlp.c_proj",
    .router = "mlp.gate", .correction = "mlp.gate.e_score_correction_bias",
    EXPERTS_OF_MLP, LATENT};

const emp_transformer_names emp_names_neox = {
    .embedding = "gpt_neox.embed_in", .positions = "gpt_neox.embed_positions",
    .types = "gpt_neox.embed_types", .embedding_norm = "gpt_neox.embed_norm",
    .final_norm = "gpt_neox.final_layer_norm", .head = "embed_out", .layer = "gpt_neox.layers",
    NEOX_LAYER("attention")};

const emp_transformer_names emp_names_falcon = {
    .embedding = "transformer.word_embeddings", .positions = "transformer.positions",
    .types = "transformer.types", .embedding_norm = "transformer.word_embeddings_layernorm",
    .final_norm = "transformer.ln_f", .head = "lm_head", .layer = "transformer.h",
    NEOX_LAYER("self_attention")};

const emp_transformer_names emp_names_mpt = {
    .embedding = "transformer.wte", .positions = "transformer.wpe", .types = "transformer.wtt",
    .embedding_norm = "transformer.norm_e", .final_norm = "transformer.norm_f", .head = "lm_head",
    .layer = "transformer.blocks", .attention = "attn", .norm_1 = "norm_1", .post_1 = "post_1",
    .norm_2 = "norm_2", .post_2 = "post_2", .q = "attn.q", .k = "attn.k", .v = "attn.v",
    .qkv = "attn.Wqkv", .output = "attn.out_proj", .q_norm = "attn.q_ln", .k_norm = "attn.k_ln",
    .gate = "ffn.gate", .up = "ffn.up_proj", .gate_up = "ffn.gate_up", .down = "ffn.down_proj",
    .router = "ffn.router", .correction = "ffn.router.e_score_correction_bias",
    .experts = "ffn.experts.*_proj", .shared = "ffn.shared.*_proj", .shared_gate = "ffn.shared_gate",
    LATENT};

const emp_transformer_names emp_names_opt = {
    .embedding = "model.decoder.embed_tokens", .positions = "model.decoder.embed_positions",
    .types = "model.decoder.embed_types", .embedding_norm = "model.decoder.embed_norm",
    .final_norm = "model.decoder.final_layer_norm", .head = "lm_head",
    .layer = "model.decoder.layers", .attention = "self_attn",
    .norm_1 = "self_attn_layer_norm", .post_1 = "post_1", .norm_2 = "final_layer_norm", .post_2 = "post_2",
    .q = "self_attn.q_proj", .k = "self_attn.k_proj", .v = "self_attn.v_proj",
    .qkv = "self_attn.qkv_proj", .output = "self_attn.out_proj",
    .q_norm = "self_attn.q_norm", .k_norm = "self_attn.k_norm",
    .gate = "gate", .up = "fc1", .gate_up = "gate_up", .down = "fc2",
    .router = "router", .correction = "router.e_score_correction_bias",
    .experts = "experts.*_proj", .shared = "shared_experts.*_proj", .shared_gate = "shared_experts_gate",
    LATENT};

#define BERT(BASE, HEAD) \
    .pooler = BASE ".pooler", \
    .embedding = BASE ".embeddings.word_embeddings", .positions = BASE ".embeddings.position_embeddings", \
    .types = BASE ".embeddings.token_type_embeddings", .embedding_norm = BASE ".embeddings.LayerNorm", \
    .final_norm = BASE ".encoder.final_norm", .head = HEAD, .layer = BASE ".encoder.layer", \
    .attention = "attention.self", .norm_1 = "attention.output.LayerNorm", .post_1 = "post_1", \
    .norm_2 = "output.LayerNorm", .post_2 = "post_2", \
    .q = "attention.self.query", .k = "attention.self.key", .v = "attention.self.value", \
    .qkv = "attention.self.qkv", .output = "attention.output.dense", \
    .q_norm = "attention.self.q_norm", .k_norm = "attention.self.k_norm", \
    .gate = "intermediate.gate", .up = "intermediate.dense", .gate_up = "intermediate.gate_up", \
    .down = "output.dense", .router = "router", .correction = "router.e_score_correction_bias", \
    .experts = "experts.*_proj", .shared = "shared_experts.*_proj", .shared_gate = "shared_experts_gate", \
    LATENT

const emp_transformer_names emp_names_bert = {
    BERT("bert", "cls.predictions"), .transform = "cls.predictions.transform", .transform_norm = ".LayerNorm"};
const emp_transformer_names emp_names_roberta = {
    BERT("roberta", "lm_head"), .transform = "lm_head", .transform_norm = ".layer_norm"};

const emp_transformer_names emp_names_gguf = {
    .embedding = "token_embd", .positions = "position_embd", .types = "token_types",
    .embedding_norm = "token_embd_norm", .final_norm = "output_norm", .head = "output",
    .layer = "blk", .attention = "attn", .norm_1 = "attn_norm", .post_1 = "post_attention_norm",
    .norm_2 = "ffn_norm", .post_2 = "post_ffw_norm",
    .q = "attn_q", .k = "attn_k", .v = "attn_v", .qkv = "attn_qkv", .output = "attn_output",
    .q_norm = "attn_q_norm", .k_norm = "attn_k_norm",
    .gate = "ffn_gate", .up = "ffn_up", .gate_up = "ffn_gate_up", .down = "ffn_down",
    .router = "ffn_gate_inp", .correction = "exp_probs_b.bias",
    .experts = "ffn_*_exps", .shared = "ffn_*_shexp", .shared_gate = "ffn_gate_inp_shexp",
    .sinks = "attn_sinks.weight", .q_a = "attn_q_a", .q_a_norm = "attn_q_a_norm", .q_b = "attn_q_b",
    .kv_a = "attn_kv_a_mqa", .kv_a_norm = "attn_kv_a_norm", .kv_b = "attn_kv_b", .k_b = "attn_k_b", .v_b = "attn_v_b"};
/* clang-format on */
