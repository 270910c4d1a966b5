// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/transformer/model.h"

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
    .experts = "mlp.experts.*_proj", .shared = "mlp.shared_experts.*_proj", .shared_gate = "mlp.shared_experts_gate",
    LATENT};

const emp_transformer_names emp_names_gpt2 = {
    .embedding = "transformer.wte", .positions = "transformer.wpe", .types = "transformer.wtt",
    .embedding_norm = "transformer.ln_e", .final_norm = "transformer.ln_f", .head = "lm_head",
    .layer = "transformer.h", .attention = "attn", .norm_1 = "ln_1", .post_1 = "post_1",
    .norm_2 = "ln_2", .post_2 = "post_2", .q = "attn.q_proj", .k = "attn.k_proj", .v = "attn.v_proj",
    .qkv = "attn.c_attn", .output = "attn.c_proj", .q_norm = "attn.q_norm", .k_norm = "attn.k_norm",
    .gate = "mlp.c_gate", .up = "mlp.c_fc", .gate_up = "mlp.c_gate_fc", .down = "mlp.c_proj",
    .router = "mlp.gate", .correction = "mlp.gate.e_score_correction_bias",
    .experts = "mlp.experts.*_proj", .shared = "mlp.shared_experts.*_proj", .shared_gate = "mlp.shared_experts_gate",
    LATENT};

const emp_transformer_names emp_names_neox = {
    .embedding = "gpt_neox.embed_in", .positions = "gpt_neox.embed_positions",
    .types = "gpt_neox.embed_types", .embedding_norm = "gpt_neox.embed_norm",
    .final_norm = "gpt_neox.final_layer_norm", .head = "embed_out", .layer = "gpt_neox.layers",
    .attention = "attention", .norm_1 = "input_layernorm", .post_1 = "post_1",
    .norm_2 = "post_attention_layernorm", .post_2 = "post_2",
    .q = "attention.query", .k = "attention.key", .v = "attention.value",
    .qkv = "attention.query_key_value", .output = "attention.dense",
    .q_norm = "attention.q_norm", .k_norm = "attention.k_norm",
    .gate = "mlp.gate", .up = "mlp.dense_h_to_4h", .gate_up = "mlp.gate_up", .down = "mlp.dense_4h_to_h",
    .router = "mlp.router", .correction = "mlp.router.e_score_correction_bias",
    .experts = "mlp.experts.*_proj", .shared = "mlp.shared_experts.*_proj", .shared_gate = "mlp.shared_experts_gate",
    LATENT};

const emp_transformer_names emp_names_falcon = {
    .embedding = "transformer.word_embeddings", .positions = "transformer.positions",
    .types = "transformer.types", .embedding_norm = "transformer.word_embeddings_layernorm",
    .final_norm = "transformer.ln_f", .head = "lm_head", .layer = "transformer.h",
    .attention = "self_attention", .norm_1 = "input_layernorm", .post_1 = "post_1",
    .norm_2 = "post_attention_layernorm", .post_2 = "post_2",
    .q = "self_attention.query", .k = "self_attention.key", .v = "self_attention.value",
    .qkv = "self_attention.query_key_value", .output = "self_attention.dense",
    .q_norm = "self_attention.q_norm", .k_norm = "self_attention.k_norm",
    .gate = "mlp.gate", .up = "mlp.dense_h_to_4h", .gate_up = "mlp.gate_up", .down = "mlp.dense_4h_to_h",
    .router = "mlp.router", .correction = "mlp.router.e_score_correction_bias",
    .experts = "mlp.experts.*_proj", .shared = "mlp.shared_experts.*_proj", .shared_gate = "mlp.shared_experts_gate",
    LATENT};

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

const emp_transformer_names emp_names_bert = {BERT("bert", "cls.predictions")};
const emp_transformer_names emp_names_roberta = {BERT("roberta", "lm_head")};

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
