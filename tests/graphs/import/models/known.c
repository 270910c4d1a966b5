// SPDX-License-Identifier: GPL-3.0-or-later
/* Counts are those that the models' pages on huggingface.co give for their safetensors files, or
 * for which they cite a number; where the page counts other parts too (eyes, scales of
 * quantisation, heads that predict more tokens), a second formula stands here. */
#include "tests/graphs/import/models/known.h"

#include <stddef.h>

static const char page[] = "the model's page: parameters of its safetensors";
static const char formula[] = "a second formula; the page counts other parts, too";

/* Weights of attention, and of `n` matrices of hidden x inner. */
#define ATTENTION(hidden, q, kv)   ((hidden) * (2.0 * (q) + 2.0 * (kv)))
#define MATRICES(n, hidden, inner) ((double)(n) * (hidden) * (inner))

/* clang-format off */
const known_model known_models[] = {
    {"Llama-2-7b", "\"model_type\":\"llama\",\"hidden_act\":\"silu\",\"hidden_size\":4096,\"intermediate_size\":11008,"
     "\"num_attention_heads\":32,\"num_hidden_layers\":32,\"num_key_value_heads\":32,\"vocab_size\":32000",
     6738415616, page, 32, ATTENTION(4096, 4096, 4096) + MATRICES(3, 4096, 11008), 32000.0 * 4096, 2 * 4096, 0, 0},
    {"Llama-2-13b", "\"model_type\":\"llama\",\"hidden_act\":\"silu\",\"hidden_size\":5120,\"intermediate_size\":13824,"
     "\"num_attention_heads\":40,\"num_hidden_layers\":40,\"num_key_value_heads\":40,\"vocab_size\":32000",
     13015864320, page, 40, ATTENTION(5120, 5120, 5120) + MATRICES(3, 5120, 13824), 32000.0 * 5120, 2 * 5120, 0, 0},
    {"Llama-2-70b", "\"model_type\":\"llama\",\"hidden_act\":\"silu\",\"hidden_size\":8192,\"intermediate_size\":28672,"
     "\"num_attention_heads\":64,\"num_hidden_layers\":80,\"num_key_value_heads\":8,\"vocab_size\":32000",
     68976648192, page, 80, ATTENTION(8192, 8192, 1024) + MATRICES(3, 8192, 28672), 32000.0 * 8192, 2 * 8192, 0, 0},
    {"meta-llama--Meta-Llama-3.1-8B", "\"model_type\":\"llama\",\"hidden_act\":\"silu\",\"hidden_size\":4096,"
     "\"intermediate_size\":14336,\"num_attention_heads\":32,\"num_hidden_layers\":32,\"num_key_value_heads\":8,"
     "\"vocab_size\":128256,\"tie_word_embeddings\":false",
     8030261248, page, 32, ATTENTION(4096, 4096, 1024) + MATRICES(3, 4096, 14336), 128256.0 * 4096, 2 * 4096, 0, 0},
    {"meta-llama--Meta-Llama-3.1-70B", "\"model_type\":\"llama\",\"hidden_act\":\"silu\",\"hidden_size\":8192,"
     "\"intermediate_size\":28672,\"num_attention_heads\":64,\"num_hidden_layers\":80,\"num_key_value_heads\":8,"
     "\"vocab_size\":128256",
     70553706496, page, 80, ATTENTION(8192, 8192, 1024) + MATRICES(3, 8192, 28672), 128256.0 * 8192, 2 * 8192, 0, 0},
    {"meta-llama--Meta-Llama-3.1-405B", "\"model_type\":\"llama\",\"hidden_act\":\"silu\",\"hidden_size\":16384,"
     "\"intermediate_size\":53248,\"num_attention_heads\":128,\"num_hidden_layers\":126,\"num_key_value_heads\":8,"
     "\"vocab_size\":128256",
     405853388800, page, 126, ATTENTION(16384, 16384, 1024) + MATRICES(3, 16384, 53248), 128256.0 * 16384, 2 * 16384, 0, 0},
    {"meta-llama--Llama-4-Scout-17B-16E-Instruct", "\"model_type\":\"llama4\",\"text_config\":{\"model_type\":\"llama4_text\","
     "\"hidden_act\":\"silu\",\"hidden_size\":5120,\"head_dim\":128,\"intermediate_size\":8192,\"intermediate_size_mlp\":16384,"
     "\"interleave_moe_layer_step\":1,\"num_attention_heads\":40,\"num_hidden_layers\":48,\"num_key_value_heads\":8,"
     "\"num_local_experts\":16,\"num_experts_per_tok\":1,\"attention_chunk_size\":8192,\"vocab_size\":202048}",
     /* 48 layers: attention, 16 + 1 experts of three matrices, router, two norms; embeddings, head, norm */
     48 * (5120LL * (2 * 5120 + 2 * 1024) + 17 * 3LL * 5120 * 8192 + 16 * 5120 + 2 * 5120) + 2 * 202048LL * 5120 + 5120, formula,
     48, ATTENTION(5120, 5120, 1024) + MATRICES(3 * 2, 5120, 8192) + 16 * 5120, 202048.0 * 5120, 2 * 5120, 36, 8192},
    {"Mistral-7B-v0.3", "\"model_type\":\"mistral\",\"hidden_act\":\"silu\",\"hidden_size\":4096,\"intermediate_size\":14336,"
     "\"num_attention_heads\":32,\"num_hidden_layers\":32,\"num_key_value_heads\":8,\"vocab_size\":32768,\"sliding_window\":null",
     7248023552, page, 32, ATTENTION(4096, 4096, 1024) + MATRICES(3, 4096, 14336), 32768.0 * 4096, 2 * 4096, 0, 0},
    {"mistralai--Mixtral-8x7B-v0.1", "\"model_type\":\"mixtral\",\"hidden_act\":\"silu\",\"hidden_size\":4096,"
     "\"intermediate_size\":14336,\"num_attention_heads\":32,\"num_hidden_layers\":32,\"num_key_value_heads\":8,"
     "\"num_local_experts\":8,\"num_experts_per_tok\":2,\"vocab_size\":32000",
     46702792704, page, 32, ATTENTION(4096, 4096, 1024) + MATRICES(3 * 2, 4096, 14336) + 8 * 4096, 32000.0 * 4096, 2 * 4096, 0, 0},
    {"mistralai--Mixtral-8x22B-v0.1", "\"model_type\":\"mixtral\",\"hidden_act\":\"silu\",\"hidden_size\":6144,"
     "\"intermediate_size\":16384,\"num_attention_heads\":48,\"num_hidden_layers\":56,\"num_key_value_heads\":8,"
     "\"num_local_experts\":8,\"num_experts_per_tok\":2,\"vocab_size\":32000",
     140620634112, page, 56, ATTENTION(6144, 6144, 1024) + MATRICES(3 * 2, 6144, 16384) + 8 * 6144, 32000.0 * 6144, 2 * 6144, 0, 0},
    {"Qwen--Qwen3-0.6B", "\"model_type\":\"qwen3\",\"hidden_act\":\"silu\",\"hidden_size\":1024,\"intermediate_size\":3072,"
     "\"head_dim\":128,\"num_attention_heads\":16,\"num_hidden_layers\":28,\"num_key_value_heads\":8,\"vocab_size\":151936,"
     "\"tie_word_embeddings\":true",
     596049920, "the technical report: 0.6 B, with tied embeddings", 28, ATTENTION(1024, 2048, 1024) + MATRICES(3, 1024, 3072),
     151936.0 * 1024, 2 * 2048, 0, 0},
    {"Qwen--Qwen3-1.7B", "\"model_type\":\"qwen3\",\"hidden_act\":\"silu\",\"hidden_size\":2048,\"intermediate_size\":6144,"
     "\"head_dim\":128,\"num_attention_heads\":16,\"num_hidden_layers\":28,\"num_key_value_heads\":8,\"vocab_size\":151936,"
     "\"tie_word_embeddings\":true",
     1720574976, "the technical report: 1.7 B, with tied embeddings", 28, ATTENTION(2048, 2048, 1024) + MATRICES(3, 2048, 6144),
     151936.0 * 2048, 2 * 2048, 0, 0},
    {"Qwen--Qwen3-8B", "\"model_type\":\"qwen3\",\"hidden_act\":\"silu\",\"hidden_size\":4096,\"intermediate_size\":12288,"
     "\"head_dim\":128,\"num_attention_heads\":32,\"num_hidden_layers\":36,\"num_key_value_heads\":8,\"vocab_size\":151936",
     8190735360, page, 36, ATTENTION(4096, 4096, 1024) + MATRICES(3, 4096, 12288), 151936.0 * 4096, 2 * 4096, 0, 0},
    {"Qwen--Qwen3-32B", "\"model_type\":\"qwen3\",\"hidden_act\":\"silu\",\"hidden_size\":5120,\"intermediate_size\":25600,"
     "\"head_dim\":128,\"num_attention_heads\":64,\"num_hidden_layers\":64,\"num_key_value_heads\":8,\"vocab_size\":151936",
     32762123264, page, 64, ATTENTION(5120, 8192, 1024) + MATRICES(3, 5120, 25600), 151936.0 * 5120, 2 * 8192, 0, 0},
    {"Qwen--Qwen3-30B-A3B", "\"model_type\":\"qwen3_moe\",\"hidden_act\":\"silu\",\"hidden_size\":2048,\"intermediate_size\":6144,"
     "\"moe_intermediate_size\":768,\"head_dim\":128,\"num_attention_heads\":32,\"num_hidden_layers\":48,\"num_key_value_heads\":4,"
     "\"num_experts\":128,\"num_experts_per_tok\":8,\"decoder_sparse_step\":1,\"mlp_only_layers\":[],\"vocab_size\":151936",
     30532122624, page, 48, ATTENTION(2048, 4096, 512) + MATRICES(3 * 8, 2048, 768) + 128 * 2048, 151936.0 * 2048, 2 * 4096, 0, 0},
    {"Qwen--Qwen3-235B-A22B", "\"model_type\":\"qwen3_moe\",\"hidden_act\":\"silu\",\"hidden_size\":4096,"
     "\"intermediate_size\":12288,\"moe_intermediate_size\":1536,\"head_dim\":128,\"num_attention_heads\":64,"
     "\"num_hidden_layers\":94,\"num_key_value_heads\":4,\"num_experts\":128,\"num_experts_per_tok\":8,\"vocab_size\":151936",
     235093634560, page, 94, ATTENTION(4096, 8192, 512) + MATRICES(3 * 8, 4096, 1536) + 128 * 4096, 151936.0 * 4096, 2 * 8192, 0, 0},
    {"deepseek-ai--DeepSeek-V3", "\"model_type\":\"deepseek_v3\",\"hidden_act\":\"silu\",\"hidden_size\":7168,"
     "\"intermediate_size\":18432,\"moe_intermediate_size\":2048,\"num_attention_heads\":128,\"num_hidden_layers\":61,"
     "\"num_key_value_heads\":128,\"n_routed_experts\":256,\"num_experts_per_tok\":8,\"n_shared_experts\":1,"
     "\"first_k_dense_replace\":3,\"moe_layer_freq\":1,\"q_lora_rank\":1536,\"kv_lora_rank\":512,\"qk_nope_head_dim\":128,"
     "\"qk_rope_head_dim\":64,\"v_head_dim\":128,\"vocab_size\":129280",
     671026419200, "the page without the head that predicts a second token", 61,
     7168.0 * 1536 + 1536.0 * 128 * 192 + 7168.0 * 576 + 512.0 * 128 * 256 + 128.0 * 128 * 7168 +
         (3 * MATRICES(3, 7168, 18432) + 58 * (MATRICES(3 * 9, 7168, 2048) + 256 * 7168)) / 61,
     129280.0 * 7168, 128 * (192 + 128), 0, 0},
    {"moonshotai--Kimi-K2-Instruct", "\"model_type\":\"kimi_k2\",\"hidden_act\":\"silu\",\"hidden_size\":7168,"
     "\"intermediate_size\":18432,\"moe_intermediate_size\":2048,\"num_attention_heads\":64,\"num_hidden_layers\":61,"
     "\"num_key_value_heads\":64,\"n_routed_experts\":384,\"num_experts_per_tok\":8,\"n_shared_experts\":1,"
     "\"first_k_dense_replace\":1,\"moe_layer_freq\":1,\"q_lora_rank\":1536,\"kv_lora_rank\":512,\"qk_nope_head_dim\":128,"
     "\"qk_rope_head_dim\":64,\"v_head_dim\":128,\"vocab_size\":163840",
     /* 61 layers: latent attention with its norms, two norms; 1 dense; 60 of 384 + 1 experts, router with a bias */
     61 * (7168LL * 1536 + 1536 + 1536LL * 64 * 192 + 7168 * 576LL + 512 + 512LL * 64 * 256 + 64 * 128 * 7168LL + 2 * 7168) +
         3LL * 7168 * 18432 + 60 * (385 * 3LL * 7168 * 2048 + 384 * 7168LL + 384) + 2 * 163840LL * 7168 + 7168,
     formula, 61,
     7168.0 * 1536 + 1536.0 * 64 * 192 + 7168.0 * 576 + 512.0 * 64 * 256 + 64.0 * 128 * 7168 +
         (MATRICES(3, 7168, 18432) + 60 * (MATRICES(3 * 9, 7168, 2048) + 384 * 7168)) / 61,
     163840.0 * 7168, 64 * (192 + 128), 0, 0},
    {"openai--gpt-oss-20b", "\"model_type\":\"gpt_oss\",\"hidden_act\":\"silu\",\"hidden_size\":2880,\"intermediate_size\":2880,"
     "\"head_dim\":64,\"num_attention_heads\":64,\"num_hidden_layers\":24,\"num_key_value_heads\":8,\"num_local_experts\":32,"
     "\"num_experts_per_tok\":4,\"attention_bias\":true,\"sliding_window\":128,\"vocab_size\":201088",
     20914757184, "the model card: 20.91 B", 24, ATTENTION(2880, 4096, 512) + MATRICES(3 * 4, 2880, 2880) + 32 * 2880,
     201088.0 * 2880, 2 * 4096, 12, 128},
    {"openai--gpt-oss-120b", "\"model_type\":\"gpt_oss\",\"hidden_act\":\"silu\",\"hidden_size\":2880,\"intermediate_size\":2880,"
     "\"head_dim\":64,\"num_attention_heads\":64,\"num_hidden_layers\":36,\"num_key_value_heads\":8,\"num_local_experts\":128,"
     "\"num_experts_per_tok\":4,\"attention_bias\":true,\"sliding_window\":128,\"vocab_size\":201088",
     116829156672, "the model card: 116.83 B", 36, ATTENTION(2880, 4096, 512) + MATRICES(3 * 4, 2880, 2880) + 128 * 2880,
     201088.0 * 2880, 2 * 4096, 18, 128},
    {"gemma-2-9b", "\"model_type\":\"gemma2\",\"hidden_activation\":\"gelu_pytorch_tanh\",\"hidden_size\":3584,"
     "\"intermediate_size\":14336,\"head_dim\":256,\"num_attention_heads\":16,\"num_hidden_layers\":42,\"num_key_value_heads\":8,"
     "\"sliding_window\":4096,\"final_logit_softcapping\":30.0,\"vocab_size\":256000",
     9241705984, page, 42, ATTENTION(3584, 4096, 2048) + MATRICES(3, 3584, 14336), 256000.0 * 3584, 2 * 4096, 21, 4096},
    {"gemma-2-27b", "\"model_type\":\"gemma2\",\"hidden_activation\":\"gelu_pytorch_tanh\",\"hidden_size\":4608,"
     "\"intermediate_size\":36864,\"head_dim\":128,\"num_attention_heads\":32,\"num_hidden_layers\":46,\"num_key_value_heads\":16,"
     "\"sliding_window\":4096,\"vocab_size\":256000",
     27227128320, page, 46, ATTENTION(4608, 4096, 2048) + MATRICES(3, 4608, 36864), 256000.0 * 4608, 2 * 4096, 23, 4096},
    {"google--gemma-4-26B-A4B", "\"model_type\":\"gemma4\",\"text_config\":{\"model_type\":\"gemma4_text\","
     "\"hidden_activation\":\"gelu_pytorch_tanh\",\"hidden_size\":2816,\"intermediate_size\":2112,\"moe_intermediate_size\":704,"
     "\"head_dim\":256,\"global_head_dim\":512,\"num_attention_heads\":16,\"num_hidden_layers\":30,\"num_key_value_heads\":8,"
     "\"num_global_key_value_heads\":2,\"attention_k_eq_v\":true,\"enable_moe_block\":true,\"num_experts\":128,"
     "\"top_k_experts\":8,\"sliding_window\":1024,\"sliding_window_pattern\":6,\"vocab_size\":262144}",
     /* 25 layers with a window, 5 whose keys are their values; 2 + 256 of q and k norms, 7 norms, dense, experts, router */
     25 * (2816LL * (2 * 4096 + 2 * 2048) + 2 * 256) + 5 * (2816LL * (2 * 8192 + 1024) + 2 * 512) +
         30 * (7 * 2816LL + 3LL * 2816 * 2112 + 128 * 3LL * 2816 * 704 + 128 * 2816LL + 2816 + 128) + 262144LL * 2816 + 2816,
     "a second formula; the page: 25.2 B", 30,
     (25 * ATTENTION(2816, 4096, 2048) + 5 * 2816.0 * (2 * 8192 + 1024)) / 30 + MATRICES(3, 2816, 2112) +
         MATRICES(3 * 8, 2816, 704) + 128 * 2816,
     262144.0 * 2816, (25 * 2 * 4096 + 5 * 2 * 8192) / 30.0, 25, 1024},
    {"gpt2", "\"model_type\":\"gpt2\",\"activation_function\":\"gelu_new\",\"n_embd\":768,\"n_head\":12,\"n_layer\":12,"
     "\"n_positions\":1024,\"vocab_size\":50257",
     124439808, page, 12, ATTENTION(768, 768, 768) + MATRICES(2, 768, 3072), 50257.0 * 768, 2 * 768, 0, 0},
    {"gpt2-medium", "\"model_type\":\"gpt2\",\"activation_function\":\"gelu_new\",\"n_embd\":1024,\"n_head\":16,\"n_layer\":24,"
     "\"n_positions\":1024,\"vocab_size\":50257",
     354823168, page, 24, ATTENTION(1024, 1024, 1024) + MATRICES(2, 1024, 4096), 50257.0 * 1024, 2 * 1024, 0, 0},

    /* Types of which the shared files have no model. */
    {NULL, "\"model_type\":\"bert\",\"architectures\":[\"BertModel\"],\"hidden_act\":\"gelu\",\"hidden_size\":768,"
     "\"intermediate_size\":3072,\"max_position_embeddings\":512,\"num_attention_heads\":12,\"num_hidden_layers\":12,"
     "\"type_vocab_size\":2,\"vocab_size\":30522",
     109482240, "bert-base-uncased: BertModel.num_parameters()", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"bert\",\"architectures\":[\"BertForMaskedLM\"],\"hidden_act\":\"gelu\",\"hidden_size\":768,"
     "\"intermediate_size\":3072,\"max_position_embeddings\":512,\"num_attention_heads\":12,\"num_hidden_layers\":12,"
     "\"type_vocab_size\":2,\"vocab_size\":30522",
     109514298, "bert-base-uncased: BertForMaskedLM.num_parameters()", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"roberta\",\"architectures\":[\"RobertaForMaskedLM\"],\"hidden_act\":\"gelu\",\"hidden_size\":768,"
     "\"intermediate_size\":3072,\"max_position_embeddings\":514,\"num_attention_heads\":12,\"num_hidden_layers\":12,"
     "\"type_vocab_size\":1,\"vocab_size\":50265",
     124697433, "roberta-base: RobertaForMaskedLM.num_parameters()", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"opt\",\"activation_function\":\"relu\",\"hidden_size\":768,\"ffn_dim\":3072,"
     "\"max_position_embeddings\":2048,\"num_attention_heads\":12,\"num_hidden_layers\":12,\"word_embed_proj_dim\":768,"
     "\"vocab_size\":50272",
     125239296, "opt-125m: num_parameters()", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"gpt_neox\",\"hidden_act\":\"gelu\",\"hidden_size\":768,\"intermediate_size\":3072,"
     "\"max_position_embeddings\":2048,\"num_attention_heads\":12,\"num_hidden_layers\":12,\"vocab_size\":50304",
     162322944, "pythia-160m: 162,322,944 parameters", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"bloom\",\"hidden_size\":1024,\"n_layer\":24,\"num_attention_heads\":16,\"vocab_size\":250880",
     559214592, "bloom-560m: 559,214,592 parameters", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"phi\",\"hidden_act\":\"gelu_new\",\"hidden_size\":2560,\"intermediate_size\":10240,"
     "\"num_attention_heads\":32,\"num_hidden_layers\":32,\"vocab_size\":51200",
     2779683840, "phi-2: 2.78 B", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"phi3\",\"hidden_act\":\"silu\",\"hidden_size\":3072,\"intermediate_size\":8192,"
     "\"num_attention_heads\":32,\"num_hidden_layers\":32,\"vocab_size\":32064",
     3821079552, "Phi-3-mini: 3,821,079,552 parameters", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"qwen2\",\"hidden_act\":\"silu\",\"hidden_size\":896,\"intermediate_size\":4864,"
     "\"num_attention_heads\":14,\"num_hidden_layers\":24,\"num_key_value_heads\":2,\"tie_word_embeddings\":true,"
     "\"vocab_size\":151936",
     494032768, "Qwen2.5-0.5B: 494,032,768 parameters", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"gemma\",\"hidden_act\":\"gelu\",\"hidden_size\":2048,\"head_dim\":256,"
     "\"intermediate_size\":16384,\"num_attention_heads\":8,\"num_hidden_layers\":18,\"num_key_value_heads\":1,"
     "\"vocab_size\":256000",
     2506172416, "gemma-2b: 2,506,172,416 parameters", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"gemma3_text\",\"hidden_activation\":\"gelu_pytorch_tanh\",\"hidden_size\":1152,\"head_dim\":256,"
     "\"intermediate_size\":6912,\"num_attention_heads\":4,\"num_hidden_layers\":26,\"num_key_value_heads\":1,"
     "\"sliding_window\":512,\"vocab_size\":262144",
     999885952, "gemma-3-1b: 999,885,952 parameters", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"qwen2_moe\",\"hidden_act\":\"silu\",\"hidden_size\":2048,\"intermediate_size\":5632,"
     "\"moe_intermediate_size\":1408,\"shared_expert_intermediate_size\":5632,\"num_attention_heads\":16,"
     "\"num_hidden_layers\":24,\"num_key_value_heads\":16,\"num_experts\":60,\"num_experts_per_tok\":4,\"vocab_size\":151936",
     14315784192, "Qwen1.5-MoE-A2.7B: 14,315,784,192 parameters", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"deepseek_v2\",\"hidden_act\":\"silu\",\"hidden_size\":2048,\"intermediate_size\":10944,"
     "\"moe_intermediate_size\":1408,\"num_attention_heads\":16,\"num_hidden_layers\":27,\"n_routed_experts\":64,"
     "\"num_experts_per_tok\":6,\"n_shared_experts\":2,\"first_k_dense_replace\":1,\"q_lora_rank\":null,\"kv_lora_rank\":512,"
     "\"qk_nope_head_dim\":128,\"qk_rope_head_dim\":64,\"v_head_dim\":128,\"vocab_size\":102400",
     15706484224, "DeepSeek-V2-Lite: 15,706,484,224 parameters", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"olmoe\",\"hidden_act\":\"silu\",\"hidden_size\":2048,\"intermediate_size\":1024,"
     "\"num_attention_heads\":16,\"num_hidden_layers\":16,\"num_key_value_heads\":16,\"num_experts\":64,"
     "\"num_experts_per_tok\":8,\"vocab_size\":50304",
     6919161856, "OLMoE-1B-7B: 6,919,161,856 parameters", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"falcon\",\"hidden_size\":4544,\"num_attention_heads\":71,\"num_hidden_layers\":32,"
     "\"multi_query\":true,\"parallel_attn\":true,\"bias\":false,\"vocab_size\":65024",
     6921720704, "falcon-7b: 6,921,720,704 parameters, its head tied", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"qwen\",\"hidden_size\":4096,\"intermediate_size\":22016,\"num_attention_heads\":32,"
     "\"num_hidden_layers\":32,\"no_bias\":true,\"tie_word_embeddings\":false,\"vocab_size\":151936",
     7721324544, "Qwen-7B: 7,721,324,544 parameters", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"baichuan\",\"hidden_act\":\"silu\",\"hidden_size\":4096,\"intermediate_size\":11008,"
     "\"num_attention_heads\":32,\"num_hidden_layers\":32,\"vocab_size\":64000",
     7000559616, "Baichuan-7B: 7,000,559,616 parameters", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"deepseek\",\"hidden_act\":\"silu\",\"hidden_size\":2048,\"intermediate_size\":10944,"
     "\"moe_intermediate_size\":1408,\"num_attention_heads\":16,\"num_hidden_layers\":28,\"num_key_value_heads\":16,"
     "\"n_routed_experts\":64,\"num_experts_per_tok\":6,\"n_shared_experts\":2,\"first_k_dense_replace\":1,"
     "\"vocab_size\":102400",
     16375728128, "deepseek-moe-16b: 16,375,728,128 parameters", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"mpt\",\"d_model\":4096,\"n_heads\":32,\"n_layers\":32,\"expansion_ratio\":4,\"max_seq_len\":2048,"
     "\"vocab_size\":50432",
     6649286656, "mpt-7b: 6,649,286,656 parameters", 0, 0, 0, 0, 0, 0},
    {NULL, "\"model_type\":\"starcoder2\",\"hidden_act\":\"gelu_pytorch_tanh\",\"hidden_size\":3072,"
     "\"intermediate_size\":12288,\"num_attention_heads\":24,\"num_hidden_layers\":30,\"num_key_value_heads\":2,"
     "\"sliding_window\":4096,\"vocab_size\":49152",
     3030371328, "starcoder2-3b: 3,030,371,328 parameters", 0, 0, 0, 0, 0, 0},
};
/* clang-format on */

const int32_t known_model_count = sizeof known_models / sizeof known_models[0];
