// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/graphs/import/models/known.h"

/* Weights of attention, and of `n` matrices of hidden x inner. */
#define ATTENTION(hidden, q, kv)   ((hidden) * (2.0 * (q) + 2.0 * (kv)))
#define MATRICES(n, hidden, inner) ((double)(n) * (hidden) * (inner))

/* Layers of attention and three matrices, or so many of experts and a router. */
#define DENSE(name, layers, hidden, q, kv, inner, vocab, windowed, window)      \
    {                                                                           \
        name, 0, layers, ATTENTION(hidden, q, kv) + MATRICES(3, hidden, inner), \
            (double)(vocab) * (hidden), 2 * (q), windowed, window               \
    }
#define EXPERTS(name, layers, hidden, q, kv, chosen, inner, experts, vocab, windowed, \
                window)                                                               \
    {                                                                                 \
        name, 0, layers,                                                              \
            ATTENTION(hidden, q, kv) + MATRICES(3 * (chosen), hidden, inner) +        \
                (double)(experts) * (hidden),                                         \
            (double)(vocab) * (hidden), 2 * (q), windowed, window                     \
    }

/* clang-format off */
const known_model known_models[] = {
    DENSE("Llama-2-7b", 32, 4096, 4096, 4096, 11008, 32000, 0, 0),
    DENSE("Llama-2-13b", 40, 5120, 5120, 5120, 13824, 32000, 0, 0),
    DENSE("Llama-2-70b", 80, 8192, 8192, 1024, 28672, 32000, 0, 0),
    DENSE("meta-llama/Meta-Llama-3.1-8B", 32, 4096, 4096, 1024, 14336, 128256, 0, 0),
    DENSE("meta-llama/Meta-Llama-3.1-70B", 80, 8192, 8192, 1024, 28672, 128256, 0, 0),
    DENSE("meta-llama/Meta-Llama-3.1-405B", 126, 16384, 16384, 1024, 53248, 128256, 0, 0),
    /* 48 layers: attention, 16 + 1 experts of three matrices, router, two norms; embeddings, head, norm */
    {"meta-llama/Llama-4-Scout-17B-16E-Instruct", 48 * (5120LL * (2 * 5120 + 2 * 1024) + 17 * 3LL * 5120 * 8192 + 16 * 5120 + 2
     * 5120) + 2 * 202048LL * 5120 + 5120, 48, ATTENTION(5120, 5120, 1024) + MATRICES(3 * 2, 5120, 8192) + 16 * 5120, 202048.0 *
     5120, 2 * 5120, 36, 8192},
    DENSE("Mistral-7B-v0.3", 32, 4096, 4096, 1024, 14336, 32768, 0, 0),
    EXPERTS("mistralai/Mixtral-8x7B-v0.1", 32, 4096, 4096, 1024, 2, 14336, 8, 32000, 0, 0),
    EXPERTS("mistralai/Mixtral-8x22B-v0.1", 56, 6144, 6144, 1024, 2, 16384, 8, 32000, 0, 0),
    DENSE("Qwen/Qwen3-0.6B", 28, 1024, 2048, 1024, 3072, 151936, 0, 0),
    DENSE("Qwen/Qwen3-1.7B", 28, 2048, 2048, 1024, 6144, 151936, 0, 0),
    DENSE("Qwen/Qwen3-8B", 36, 4096, 4096, 1024, 12288, 151936, 0, 0),
    DENSE("Qwen/Qwen3-32B", 64, 5120, 8192, 1024, 25600, 151936, 0, 0),
    EXPERTS("Qwen/Qwen3-30B-A3B", 48, 2048, 4096, 512, 8, 768, 128, 151936, 0, 0),
    EXPERTS("Qwen/Qwen3-235B-A22B", 94, 4096, 8192, 512, 8, 1536, 128, 151936, 0, 0),
    {"deepseek-ai/DeepSeek-V3", 0, 61, 7168.0 * 1536 + 1536.0 * 128 * 192 + 7168.0 * 576 + 512.0 * 128 * 256 + 128.0 * 128 *
     7168 + (3 * MATRICES(3, 7168, 18432) + 58 * (MATRICES(3 * 9, 7168, 2048) + 256 * 7168)) / 61, 129280.0 * 7168, 128 * (192 +
     128), 0, 0},
    /* 61 layers: latent attention with its norms, two norms; 1 dense; 60 of 384 + 1 experts, router with a bias */
    {"moonshotai/Kimi-K2-Instruct", 61 * (7168LL * 1536 + 1536 + 1536LL * 64 * 192 + 7168 * 576LL + 512 + 512LL * 64 * 256 + 64
     * 128 * 7168LL + 2 * 7168) + 3LL * 7168 * 18432 + 60 * (385 * 3LL * 7168 * 2048 + 384 * 7168LL + 384) + 2 * 163840LL * 7168
     + 7168, 61, 7168.0 * 1536 + 1536.0 * 64 * 192 + 7168.0 * 576 + 512.0 * 64 * 256 + 64.0 * 128 * 7168 + (MATRICES(3, 7168,
     18432) + 60 * (MATRICES(3 * 9, 7168, 2048) + 384 * 7168)) / 61, 163840.0 * 7168, 64 * (192 + 128), 0, 0},
    EXPERTS("openai/gpt-oss-20b", 24, 2880, 4096, 512, 4, 2880, 32, 201088, 12, 128),
    EXPERTS("openai/gpt-oss-120b", 36, 2880, 4096, 512, 4, 2880, 128, 201088, 18, 128),
    DENSE("gemma-2-9b", 42, 3584, 4096, 2048, 14336, 256000, 21, 4096),
    DENSE("gemma-2-27b", 46, 4608, 4096, 2048, 36864, 256000, 23, 4096),
    /* 25 layers with a window, 5 whose keys are their values; 2 + 256 of q and k norms, 7 norms, dense, experts, router */
    {"google/gemma-4-26B-A4B", 0, 30, (25 * ATTENTION(2816, 4096, 2048) + 5 * 2816.0 * (2 * 8192 + 1024)) / 30 + MATRICES(3,
     2816, 2112) + MATRICES(3 * 8, 2816, 704) + 128 * 2816, 262144.0 * 2816, (25 * 2 * 4096 + 5 * 2 * 8192) / 30.0, 25, 1024},
    {"gpt2", 0, 12, ATTENTION(768, 768, 768) + MATRICES(2, 768, 3072), 50257.0 * 768, 2 * 768, 0, 0},
    {"gpt2-medium", 0, 24, ATTENTION(1024, 1024, 1024) + MATRICES(2, 1024, 4096), 50257.0 * 1024, 2 * 1024, 0, 0},
};
/* clang-format on */

const int32_t known_model_count = sizeof known_models / sizeof *known_models;

/* Twice as many operations as weights; scores and sums of attention; a step of a scan. */
#define TWICE(weights)             (2.0 * (weights))
#define ATTEND(heads, keys, sizes) (2.0 * (heads) * (keys) * (sizes))
#define INDEX(heads, keys, size)   ((double)(keys) * (heads) * (2.0 * (size) + 2.0))
#define DELTA(heads, key, value)   (7.0 * (heads) * (key) * (value))
#define SPACE(heads, key, value)   (5.0 * (heads) * (key) * (value))

#define T    HYBRID_TOKENS
#define L(n) ((int64_t)(n))

/* clang-format off */
const known_hybrid known_hybrids[] = {
    {"Qwen/Qwen3.5-27B", 0,
     48 * (TWICE(5120.0 * (10240 + 6144 + 2 * 48) + 6144.0 * 5120 + 4 * 10240) + DELTA(48, 128, 128)) +
         16 * (TWICE(5120.0 * (2 * 6144 + 2 * 1024) + 6144.0 * 5120) + ATTEND(24, T, 512)) +
         TWICE(64 * 3.0 * 5120 * 17408 + 248320.0 * 5120),
     48 * (L(48) * 128 * 128 * 4 + 10240 * 3 * 2) + 16 * L(T) * 4 * 512 * 2},
    {"Qwen/Qwen3.5-35B-A3B", 0,
     30 * (TWICE(2048.0 * (8192 + 4096 + 2 * 32) + 4096.0 * 2048 + 4 * 8192) + DELTA(32, 128, 128)) +
         10 * (TWICE(2048.0 * (2 * 4096 + 2 * 512) + 4096.0 * 2048) + ATTEND(16, T, 512)) +
         TWICE(40 * (2048.0 * 256 + 9 * 3.0 * 2048 * 512 + 2048) + 248320.0 * 2048),
     30 * (L(32) * 128 * 128 * 4 + 8192 * 3 * 2) + 10 * L(T) * 2 * 512 * 2},
    {"nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B", 0,
     23 * (TWICE(2688.0 * (2 * 4096 + 2048 + 64) + 4096.0 * 2688 + 4 * 6144) + SPACE(64, 128, 64)) +
         6 * (TWICE(2688.0 * (4096 + 2 * 256) + 4096.0 * 2688) + ATTEND(32, T, 256)) +
         TWICE(23 * (2688.0 * 128 + 6 * 2.0 * 2688 * 1856 + 2.0 * 2688 * 3712) + 131072.0 * 2688),
     23 * (L(64) * 128 * 64 * 4 + 6144 * 3 * 2) + 6 * L(T) * 2 * 256 * 2},
    {"nvidia/NVIDIA-Nemotron-3-Super-120B-A12B", 0,
     40 * (TWICE(4096.0 * (2 * 8192 + 2048 + 128) + 8192.0 * 4096 + 4 * 10240) + SPACE(128, 128, 64)) +
         8 * (TWICE(4096.0 * (4096 + 2 * 256) + 4096.0 * 4096) + ATTEND(32, T, 256)) +
         TWICE(40 * (4096.0 * 512 + 2 * 4096.0 * 1024 + 22 * 2.0 * 1024 * 2688 + 2.0 * 4096 * 5376) + 131072.0 * 4096),
     40 * (L(128) * 128 * 64 * 4 + 10240 * 3 * 2) + 8 * L(T) * 2 * 256 * 2},
    {"deepseek-ai/DeepSeek-V3.2", 0,
     61 * (TWICE(7168.0 * 1536 + 1536.0 * 128 * 192 + 7168.0 * 576 + 512.0 * 128 * 256 + 128.0 * 128 * 7168 +
                 1536.0 * 64 * 128 + 7168.0 * (128 + 64)) + ATTEND(128, 2048, 576 + 512) + INDEX(64, T, 128)) +
         TWICE(3 * 3.0 * 7168 * 18432 + 58 * (7168.0 * 256 + 9 * 3.0 * 7168 * 2048) + 129280.0 * 7168),
     61 * L(T) * (576 + 128) * 2},
    /* 21 layers have an indexer: the first three, and one of each four */
    {"zai-org/GLM-5.2", 0,
     78 * (TWICE(6144.0 * 2048 + 2048.0 * 64 * 256 + 6144.0 * 576 + 512.0 * 64 * 448 + 64.0 * 256 * 6144) +
           ATTEND(64, 2048, 576 + 512)) +
         21 * (TWICE(2048.0 * 32 * 128 + 6144.0 * (128 + 32)) + INDEX(32, T, 128)) +
         TWICE(3 * 3.0 * 6144 * 12288 + 75 * (6144.0 * 256 + 9 * 3.0 * 6144 * 2048) + 154880.0 * 6144),
     (78 * L(576) + 21 * 128) * T * 2},
    {"XiaomiMiMo/MiMo-V2-Flash", 0,
     9 * (TWICE(4096.0 * (64 * 192 + 4 * 320) + 8192.0 * 4096) + ATTEND(64, T, 320)) +
         39 * (TWICE(4096.0 * (64 * 192 + 8 * 320) + 8192.0 * 4096) + ATTEND(64, 128, 320)) +
         TWICE(3.0 * 4096 * 16384 + 47 * (4096.0 * 256 + 8 * 3.0 * 4096 * 2048) + 152576.0 * 4096),
     9 * L(T) * 4 * 320 * 2 + 39 * L(128) * 8 * 320 * 2},
    {"stepfun-ai/Step-3.7-Flash", 0,
     12 * ATTEND(64, T, 256) + 33 * ATTEND(64, 512, 256) +
         TWICE(45 * (4096.0 * (2 * 8192 + 2 * 1024 + 64)) + 3 * 3.0 * 4096 * 11264 +
               42 * (4096.0 * 288 + 9 * 3.0 * 4096 * 1280) + 128896.0 * 4096),
     12 * L(T) * 8 * 256 * 2 + 33 * L(512) * 8 * 256 * 2},
    {"nvidia/Llama-3_3-Nemotron-Super-49B-v1", 0,
     49 * (TWICE(2 * 8192.0 * 8192 + 2 * 8192.0 * 1024) + ATTEND(64, T, 256)) +
         TWICE(3 * 8192.0 * (49 * 28672.0 + 6 * 14336.0 + 17920 + 10 * 7168.0 + 8 * 5632.0 + 6 * 2816.0) + 128256.0 * 8192),
     49 * L(T) * 2 * 1024 * 2},
    {"MiniMaxAI/MiniMax-M3", 0,
     3 * ATTEND(64, T, 256) + 57 * (ATTEND(64, 2048, 256) + INDEX(4, T, 128) + TWICE(6144.0 * (512 + 128))) +
         TWICE(60 * 6144.0 * (2 * 8192 + 2 * 512) + 3 * 3.0 * 6144 * 12288 + 57 * (6144.0 * 128 + 5 * 3.0 * 6144 * 3072) +
               200064.0 * 6144),
     60 * L(T) * 4 * 256 * 2 + 57 * L(T) * 128 * 2},
    {"moonshotai/Kimi-Linear-48B-A3B", 0,
     20 * (TWICE(2304.0 * (3 * 4096 + 2 * 128 + 32) + 2 * 128.0 * 4096 + 4096.0 * 2304 + 4 * 3 * 4096) + DELTA(32, 128, 128)) +
         7 * (TWICE(2304.0 * (32 * 192 + 576) + 512.0 * 32 * 256 + 4096.0 * 2304) + ATTEND(32, T, 576 + 512)) +
         TWICE(3.0 * 2304 * 9216 + 26 * (2304.0 * 256 + 9 * 3.0 * 2304 * 1024) + 163840.0 * 2304),
     20 * (L(32) * 128 * 128 * 4 + 3 * 4096 * 3 * 2) + 7 * L(T) * 576 * 2},
    /* 69 layers of Kimi Delta Attention, 24 of latent attention; experts of a latent size; two vectors for each mix of
     * blocks, but for the first, which has no block to mix */
    {"moonshotai/Kimi-K3", 69 * (L(7168) * (3 * 12288 + 128 + 96 + 12288) + 128 * L(12288) + 12288 * L(7168) + 3 * 4 * 12288 + 96 + 12288 + 128) +
         24 * (L(7168) * 1536 + 1536 + L(1536) * 96 * 192 + L(7168) * 576 + 512 + L(512) * 96 * 256 + 2 * L(12288) * 7168) +
         3 * L(7168) * 33792 + 92 * (L(7168) * 896 + 896 + 2 * L(7168) * 3584 + 3584 + 896 * 3 * L(3584) * 3072 +
                                    3 * L(7168) * 6144) +
         93 * 2 * 7168 + (93 * 2 - 1 + 1) * 2 * 7168 + 2 * L(163840) * 7168 + 7168,
     69 * (TWICE(7168.0 * (4 * 12288 + 128 + 96) + 128.0 * 12288 + 12288.0 * 7168 + 4 * 3 * 12288) + DELTA(96, 128, 128)) +
         24 * (TWICE(7168.0 * 1536 + 1536.0 * 96 * 192 + 7168.0 * 576 + 512.0 * 96 * 256 + 2 * 12288.0 * 7168) +
               ATTEND(96, T, 576 + 512)) +
         TWICE(3.0 * 7168 * 33792 + 92 * (7168.0 * 896 + 2 * 7168.0 * 3584 + 16 * 3.0 * 3584 * 3072 + 3.0 * 7168 * 6144) +
               163840.0 * 7168),
     69 * (L(96) * 128 * 128 * 4 + 3 * 12288 * 3 * 2) + 24 * L(T) * 576 * 2},
    /* 21 layers with an indexer and keys of 4 tokens, 20 with keys of 128, 2 with a window */
    {"deepseek-ai/DeepSeek-V4-Flash", 0,
     TWICE(43 * (4096.0 * 1024 + 1024.0 * 32768 + 4096.0 * 512 + 32768.0 * 1024 + 8192.0 * 4096 + 2 * 24.0 * 16384 +
                 4096.0 * 256 + 7 * 3.0 * 4096 * 2048) + 4.0 * 16384 + 129280.0 * 4096) +
         21 * (TWICE(2 * 4096.0 * (1024 + 256) + 1024.0 * 8192 + 4096.0 * 64) + ATTEND(64, 128 + 512, 1024) +
               INDEX(64, T / 4, 128)) +
         20 * (TWICE(2 * 4096.0 * 512) + ATTEND(64, 128 + T / 128, 1024)) + 2 * ATTEND(64, 128, 1024),
     43 * L(128) * 512 * 2 + 21 * (L(T) / 4 * (512 + 128) * 2 + 8 * 2 * (1024 + 256) * 4) +
         20 * (L(T) / 128 * 512 * 2 + 128 * 2 * 512 * 4) + 3 * L(129280) * 6 * 4},
};
/* clang-format on */

const int32_t known_hybrid_count = sizeof known_hybrids / sizeof *known_hybrids;
