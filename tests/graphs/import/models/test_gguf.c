// SPDX-License-Identifier: GPL-3.0-or-later
/* Do headers of GGUF files give the models of their tensors, with their bytes? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/import/models/gguf.h"
#include "graphs/load.h"
#include "tests/graphs/import/models/gguf_writer.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

TestSuite(gguf, .init = scratch_create, .fini = scratch_remove);

static gguf_writer writer; /* too large for a stack */

/* ggml's types, with the bits of a weight. */
#define F32   0, 32
#define F16   1, 16
#define Q8_0  8, 8.5
#define Q4_K  12, 4.5
#define Q6_K  14, 6.5625
#define MXFP4 39, 4.25

/* ---- models ---- */

typedef struct {
    const char *arch;
    uint32_t    layers, hidden, heads, kv_heads, size, inner, vocabulary;
    uint32_t    experts, chosen;
    bool        is_tied, has_qk_norm, has_qkv_bias, is_sandwich, has_own_size;
    uint32_t    window, extra; /* extra: of its layers, those that predict more tokens */
} shape;

static void write_facts(gguf_writer *w, const shape *s)
{
    gguf_begin(w, s->arch);
    gguf_integer(w, "block_count", s->layers);
    gguf_integer(w, "context_length", 8192);
    gguf_integer(w, "embedding_length", s->hidden);
    gguf_integer(w, "feed_forward_length", s->inner);
    gguf_integer(w, "attention.head_count", s->heads);
    gguf_integer(w, "attention.head_count_kv", s->kv_heads);
    if (s->has_own_size) {
        gguf_integer(w, "attention.key_length", s->size);
        gguf_integer(w, "attention.value_length", s->size);
    }
    if (s->experts > 0) {
        gguf_integer(w, "expert_count", s->experts);
        gguf_integer(w, "expert_used_count", s->chosen);
    }
    if (s->window > 0) gguf_integer(w, "attention.sliding_window", s->window);
    if (s->extra > 0) gguf_integer(w, "nextn_predict_layers", s->extra);
    gguf_texts(w, "tokens", 1000);
}

static void write_attention(gguf_writer *w, const shape *s, int i)
{
    uint64_t h = s->hidden, q = s->heads * s->size, k = s->kv_heads * s->size;

    gguf_layer_tensor(w, i, "attn_norm.weight", F32, h, 0, 0);
    gguf_layer_tensor(w, i, "attn_q.weight", Q4_K, h, q, 0);
    gguf_layer_tensor(w, i, "attn_k.weight", Q4_K, h, k, 0);
    gguf_layer_tensor(w, i, "attn_v.weight", Q6_K, h, k, 0);
    gguf_layer_tensor(w, i, "attn_output.weight", Q4_K, q, h, 0);
    if (s->has_qkv_bias) {
        gguf_layer_tensor(w, i, "attn_q.bias", F32, q, 0, 0);
        gguf_layer_tensor(w, i, "attn_k.bias", F32, k, 0, 0);
        gguf_layer_tensor(w, i, "attn_v.bias", F32, k, 0, 0);
    }
    if (s->has_qk_norm) {
        gguf_layer_tensor(w, i, "attn_q_norm.weight", F32, s->size, 0, 0);
        gguf_layer_tensor(w, i, "attn_k_norm.weight", F32, s->size, 0, 0);
    }
}

static void write_feed_forward(gguf_writer *w, const shape *s, int i)
{
    uint64_t h = s->hidden, f = s->inner, e = s->experts;

    gguf_layer_tensor(w, i, "ffn_norm.weight", F32, h, 0, 0);
    if (s->is_sandwich) {
        gguf_layer_tensor(w, i, "post_attention_norm.weight", F32, h, 0, 0);
        gguf_layer_tensor(w, i, "post_ffw_norm.weight", F32, h, 0, 0);
    }
    if (e > 0) {
        gguf_layer_tensor(w, i, "ffn_gate_inp.weight", F32, h, e, 0);
        gguf_layer_tensor(w, i, "ffn_gate_exps.weight", Q4_K, h, f, e);
        gguf_layer_tensor(w, i, "ffn_up_exps.weight", Q4_K, h, f, e);
        gguf_layer_tensor(w, i, "ffn_down_exps.weight", Q6_K, f, h, e);
    } else {
        gguf_layer_tensor(w, i, "ffn_gate.weight", Q4_K, h, f, 0);
        gguf_layer_tensor(w, i, "ffn_up.weight", Q4_K, h, f, 0);
        gguf_layer_tensor(w, i, "ffn_down.weight", Q6_K, f, h, 0);
    }
}

static void write_model(gguf_writer *w, const shape *s)
{
    write_facts(w, s);
    gguf_tensor(w, "token_embd.weight", Q4_K, s->hidden, s->vocabulary, 0);
    for (uint32_t i = 0; i < s->layers; i++) {
        write_attention(w, s, (int)i);
        write_feed_forward(w, s, (int)i);
    }
    gguf_tensor(w, "output_norm.weight", F32, s->hidden, 0, 0);
    if (!s->is_tied) gguf_tensor(w, "output.weight", Q6_K, s->hidden, s->vocabulary, 0);
    gguf_finish(w);
}

static emp_status load_writer(emp_graph **whole, const char *options, emp_error *err)
{
    char       spec[512];
    emp_graph *step = NULL;

    scratch_write("m.gguf", writer.bytes, writer.size);
    snprintf(spec, sizeof spec, "%s%s%s",
             options[0] == '\0' ? "" : "hf:path=", scratch_path("m.gguf"), options);
    emp_status st = emp_source_load(&step, whole, NULL, spec, err);
    emp_graph_destroy(step);
    return st;
}

/* Published sizes: Llama-3.1-8B, Qwen2.5-7B, Qwen3-8B, Gemma-2-9B, Mixtral-8x7B. */
static const shape shapes[] = {
    {"llama", 32, 4096, 32, 8, 128, 14336, 128256, 0, 0, false, false, false, false,
     false, 0, 0},
    {"qwen2", 28, 3584, 28, 4, 128, 18944, 152064, 0, 0, false, false, true, false, false,
     0, 0},
    {"qwen3", 36, 4096, 32, 8, 128, 12288, 151936, 0, 0, false, true, false, false, true,
     0, 0},
    {"gemma2", 42, 3584, 16, 8, 256, 14336, 256000, 0, 0, true, false, false, true, true,
     0, 0},
    {"llama", 32, 4096, 32, 8, 128, 14336, 32000, 8, 2, false, false, false, false, false,
     0, 0},
};
static const int64_t published[] = {8030261248, 7615616512, 8190735360, 9241705984,
                                    46702792704};

Test(gguf, gives_the_parameters_and_the_bytes_of_its_tensors)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        emp_graph *g = NULL;
        emp_error  err = {0};
        write_model(&writer, &shapes[i]);
        cr_assert_eq(load_writer(&g, "", &err), EMP_OK, "%s", err.msg);
        cr_expect_eq(g->parameter_count, published[i], "%s: %lld", shapes[i].arch,
                     (long long)g->parameter_count);
        cr_expect_eq(g->parameter_count, writer.elements);
        cr_expect_eq((double)g->parameter_bytes, writer.tensor_bytes, "%s: %lld bytes",
                     shapes[i].arch, (long long)g->parameter_bytes);
        cr_expect_eq(g->unknown_op_count, 0);
        cr_expect_str_eq(emp_graph_default_runtime(g), "llama-cpp");
        emp_graph_destroy(g);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* 896 is no multiple of 256, so llama.cpp takes another type; so must a file. */
Test(gguf, refuses_rows_of_no_whole_blocks)
{
    emp_graph *g = NULL;
    emp_error  err = {0};

    write_facts(&writer, &shapes[1]);
    gguf_tensor(&writer, "token_embd.weight", Q4_K, 896, 151936, 0);
    gguf_finish(&writer);
    cr_expect_eq(load_writer(&g, "", &err), EMP_EFORMAT);
    cr_expect_not_null(strstr(err.msg, "no multiple of 256, a block of q4_k"), "%s",
                       err.msg);
}

/* A step reads each weight once, but the table of embeddings: one row. */
Test(gguf, decoding_reads_the_bytes_of_its_weights)
{
    emp_graph *g = NULL;
    emp_error  err = {0};
    double     read = 0, products = 0;

    write_model(&writer, &shapes[0]);
    cr_assert_eq(load_writer(&g, ",seq=16", &err), EMP_OK, "%s", err.msg);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (strcmp(g->type_name[g->type[op]], "Linear") != 0) continue;
        read += (double)g->op[op].cost->bytes_read;
        products += g->op[op].cost->flops;
    }
    double table = 128256.0 * 4096 * 4.5 / 8;
    cr_expect_lt((writer.tensor_bytes - table) / read, 1.0);
    cr_expect_gt((writer.tensor_bytes - table) / read, 0.999);
    cr_expect_lt(products / (2 * (8030261248.0 - 128256.0 * 4096)), 1.0);
    cr_expect_gt(products / (2 * (8030261248.0 - 128256.0 * 4096)), 0.999);
    emp_graph_destroy(g);
}

/* 4 bytes for each word of the vocabulary go to the host. */
Test(gguf, logits_are_copied_to_the_host_that_draws)
{
    emp_graph *g = NULL;

    write_model(&writer, &shapes[0]);
    cr_assert_eq(load_writer(&g, ",seq=16", NULL), EMP_OK);
    const emp_op_id op = emp_graph_find(g, "sample");
    cr_assert_geq(op, 0);
    const emp_tensor *logits = &g->tensor[g->input[g->input_offset[op]]];
    cr_expect_eq(g->op[op].kinds, EMP_KIND_CPU);
    cr_expect(g->is_target[op]);
    cr_expect_eq(logits->copy_bytes, 4 * 128256);
    emp_graph_destroy(g);
    cr_assert_eq(load_writer(&g, ",seq=16,sample=device", NULL), EMP_OK);
    cr_expect_eq(emp_graph_find(g, "sample"), -1);
    emp_graph_destroy(g);
}

Test(gguf, holds_a_cache_of_float16)
{
    emp_graph *g = NULL;
    emp_error  err = {0};
    int64_t    bytes = 0;

    write_model(&writer, &shapes[0]);
    cr_assert_eq(load_writer(&g, ",seq=1000,batch=3", &err), EMP_OK, "%s", err.msg);
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (g->op[op].flags & EMP_OP_IS_STATE) bytes += g->op[op].persistent_bytes;
    cr_expect_eq(bytes, 32LL * 2 * 8 * 128 * 1024 * 3 * 2);
    emp_graph_destroy(g);
    cr_assert_eq(load_writer(&g, ",phase=prefill,seq=64", &err), EMP_OK, "%s", err.msg);
    emp_graph_destroy(g);
}

/* gpt-oss-20b in MXFP4, and DeepSeek-V2-Lite with its two matrices apart. */
static void write_gpt_oss(gguf_writer *w)
{
    gguf_begin(w, "gpt-oss");
    gguf_integer(w, "block_count", 24);
    gguf_integer(w, "embedding_length", 2880);
    gguf_integer(w, "attention.head_count", 64);
    gguf_integer(w, "attention.head_count_kv", 8);
    gguf_integer(w, "attention.key_length", 64);
    gguf_integer(w, "attention.value_length", 64);
    gguf_integer(w, "attention.sliding_window", 128);
    gguf_integer(w, "expert_used_count", 4);
    gguf_tensor(w, "token_embd.weight", Q8_0, 2880, 201088, 0);
    gguf_tensor(w, "output.weight", Q8_0, 2880, 201088, 0);
    gguf_tensor(w, "output_norm.weight", F32, 2880, 0, 0);
    for (int i = 0; i < 24; i++) {
        gguf_layer_tensor(w, i, "attn_norm.weight", F32, 2880, 0, 0);
        gguf_layer_tensor(w, i, "post_attention_norm.weight", F32, 2880, 0, 0);
        gguf_layer_tensor(w, i, "attn_q.weight", Q8_0, 2880, 4096, 0);
        gguf_layer_tensor(w, i, "attn_q.bias", F32, 4096, 0, 0);
        gguf_layer_tensor(w, i, "attn_k.weight", Q8_0, 2880, 512, 0);
        gguf_layer_tensor(w, i, "attn_k.bias", F32, 512, 0, 0);
        gguf_layer_tensor(w, i, "attn_v.weight", Q8_0, 2880, 512, 0);
        gguf_layer_tensor(w, i, "attn_v.bias", F32, 512, 0, 0);
        gguf_layer_tensor(w, i, "attn_output.weight", Q8_0, 4096, 2880, 0);
        gguf_layer_tensor(w, i, "attn_output.bias", F32, 2880, 0, 0);
        gguf_layer_tensor(w, i, "attn_sinks.weight", F32, 64, 0, 0);
        gguf_layer_tensor(w, i, "ffn_gate_inp.weight", F32, 2880, 32, 0);
        gguf_layer_tensor(w, i, "ffn_gate_inp.bias", F32, 32, 0, 0);
        gguf_layer_tensor(w, i, "ffn_gate_exps.weight", MXFP4, 2880, 2880, 32);
        gguf_layer_tensor(w, i, "ffn_gate_exps.bias", F32, 2880, 32, 0);
        gguf_layer_tensor(w, i, "ffn_up_exps.weight", MXFP4, 2880, 2880, 32);
        gguf_layer_tensor(w, i, "ffn_up_exps.bias", F32, 2880, 32, 0);
        gguf_layer_tensor(w, i, "ffn_down_exps.weight", MXFP4, 2880, 2880, 32);
        gguf_layer_tensor(w, i, "ffn_down_exps.bias", F32, 2880, 32, 0);
    }
    gguf_finish(w);
}

static void write_deepseek(gguf_writer *w)
{
    static const char *const experts[] = {"ffn_gate_exps.weight", "ffn_up_exps.weight"};

    gguf_begin(w, "deepseek2");
    gguf_integer(w, "block_count", 27);
    gguf_integer(w, "embedding_length", 2048);
    gguf_integer(w, "attention.head_count", 16);
    gguf_integer(w, "attention.head_count_kv", 1);
    gguf_integer(w, "attention.kv_lora_rank", 512);
    gguf_integer(w, "attention.key_length", 576);
    gguf_integer(w, "attention.value_length", 512);
    gguf_integer(w, "attention.key_length_mla", 192);
    gguf_integer(w, "attention.value_length_mla", 128);
    gguf_integer(w, "rope.dimension_count", 64);
    gguf_integer(w, "expert_used_count", 6);
    gguf_tensor(w, "token_embd.weight", F16, 2048, 102400, 0);
    gguf_tensor(w, "output.weight", F16, 2048, 102400, 0);
    gguf_tensor(w, "output_norm.weight", F32, 2048, 0, 0);
    for (int i = 0; i < 27; i++) {
        gguf_layer_tensor(w, i, "attn_norm.weight", F32, 2048, 0, 0);
        gguf_layer_tensor(w, i, "ffn_norm.weight", F32, 2048, 0, 0);
        gguf_layer_tensor(w, i, "attn_q.weight", F16, 2048, 16 * 192, 0);
        gguf_layer_tensor(w, i, "attn_kv_a_mqa.weight", F16, 2048, 576, 0);
        gguf_layer_tensor(w, i, "attn_kv_a_norm.weight", F32, 512, 0, 0);
        gguf_layer_tensor(w, i, "attn_k_b.weight", F16, 128, 512, 16);
        gguf_layer_tensor(w, i, "attn_v_b.weight", F16, 512, 128, 16);
        gguf_layer_tensor(w, i, "attn_output.weight", F16, 2048, 2048, 0);
        if (i == 0) {
            gguf_layer_tensor(w, i, "ffn_gate.weight", F16, 2048, 10944, 0);
            gguf_layer_tensor(w, i, "ffn_up.weight", F16, 2048, 10944, 0);
            gguf_layer_tensor(w, i, "ffn_down.weight", F16, 10944, 2048, 0);
            continue;
        }
        gguf_layer_tensor(w, i, "ffn_gate_inp.weight", F32, 2048, 64, 0);
        for (int k = 0; k < 2; k++)
            gguf_layer_tensor(w, i, experts[k], F16, 2048, 1408, 64);
        gguf_layer_tensor(w, i, "ffn_down_exps.weight", F16, 1408, 2048, 64);
        gguf_layer_tensor(w, i, "ffn_gate_shexp.weight", F16, 2048, 2816, 0);
        gguf_layer_tensor(w, i, "ffn_up_shexp.weight", F16, 2048, 2816, 0);
        gguf_layer_tensor(w, i, "ffn_down_shexp.weight", F16, 2816, 2048, 0);
    }
    gguf_finish(w);
}

Test(gguf, knows_experts_sinks_and_latent_attention)
{
    static void (*const writers[])(gguf_writer *) = {write_gpt_oss, write_deepseek};
    static const int64_t counts[] = {20914757184, 15706484224};

    for (int i = 0; i < 2; i++) {
        emp_graph *g = NULL;
        emp_error  err = {0};
        writers[i](&writer);
        cr_assert_eq(load_writer(&g, "", &err), EMP_OK, "%s", err.msg);
        cr_expect_eq(g->parameter_count, counts[i], "%d: %lld", i,
                     (long long)g->parameter_count);
        cr_expect_eq((double)g->parameter_bytes, writer.tensor_bytes);
        emp_graph_destroy(g);
    }
}

/* ---- what cannot be read ---- */

static void expect_refused(const char *options, emp_status want, const char *part)
{
    emp_graph *g = NULL;
    emp_error  err = {0};

    cr_expect_eq(load_writer(&g, options, &err), want, "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, part), "\"%s\" in \"%s\"", part, err.msg);
    cr_expect_null(g);
}

Test(gguf, refuses_in_one_sentence)
{
    write_model(&writer, &shapes[0]);
    expect_refused(",phase=train", EMP_EUNSUPPORTED, "are not trained");
    size_t size = writer.size;
    writer.size = size / 2;
    expect_refused("", EMP_EFORMAT, "the header ends too early");
    writer.size = size;
    writer.bytes[4] = 9;
    expect_refused("", EMP_EUNSUPPORTED, "version 9 of GGUF");

    write_facts(&writer, &shapes[0]);
    gguf_tensor(&writer, "token_embd.weight", F16, 4096, 100, 0);
    gguf_finish(&writer);
    expect_refused("", EMP_EINVAL, "layer 0 has no inner size");
    gguf_layer_tensor(&writer, 0, "ssm_in.weight", F16, 4096, 100, 0);
    gguf_finish(&writer);
    expect_refused("", EMP_EUNSUPPORTED, "no part of a transformer");

    write_model(&writer, &shapes[0]);
    gguf_tensor(&writer, "blk.3.attn_extra.weight", F16, 4096, 100, 0);
    gguf_finish(&writer);
    expect_refused("", EMP_EUNSUPPORTED,
                   "\"blk.3.attn_extra.weight\" has no place in what is built");
    gguf_tensor(&writer, "output.weight", F16, 4096, 100, 0);
    gguf_finish(&writer);
    expect_refused("", EMP_EFORMAT, "there are two tensors \"output.weight\"");

    write_facts(&writer, &shapes[0]);
    gguf_tensor(&writer, "token_embd.weight", 77, 16, 4096, 100, 0);
    gguf_finish(&writer);
    expect_refused("", EMP_EUNSUPPORTED, "ggml's type 77");
}

Test(gguf, has_no_training_step_of_an_onnx_model)
{
    emp_graph *step = NULL;
    emp_error  err = {0};
    char       spec[512];

    write_model(&writer, &shapes[0]);
    scratch_write("m.gguf", writer.bytes, writer.size);
    snprintf(spec, sizeof spec, "onnx:path=%s,train=adam", scratch_path("m.gguf"));
    cr_expect_eq(emp_source_load(&step, NULL, NULL, spec, &err), EMP_EINVAL);
    cr_expect_not_null(strstr(err.msg, "--lenient are for ONNX models"), "%s", err.msg);
    cr_expect_null(step);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(gguf, refuses_safetensors_without_a_config)
{
    static const char bytes[] = "\2\0\0\0\0\0\0\0{}";
    emp_graph        *step = NULL;
    emp_error         err = {0};

    scratch_write("m.safetensors", bytes, 10);
    cr_expect_eq(emp_source_load(&step, NULL, NULL, scratch_path("m.safetensors"), &err),
                 EMP_EFORMAT);
    cr_expect_not_null(strstr(err.msg, "hf:path=config.json,weights="));
}

/* A header of more than the first megabyte is read on. */
Test(gguf, reads_headers_of_any_length)
{
    static shape small = {"llama", 1,     256,   2,     2,     128,   256, 256, 0,
                          0,       false, false, false, false, false, 0,   0};
    emp_graph   *g = NULL;
    emp_error    err = {0};

    write_facts(&writer, &small);
    gguf_texts(&writer, "merges", 100000);
    gguf_tensor(&writer, "token_embd.weight", Q4_K, 256, 256, 0);
    write_attention(&writer, &small, 0);
    write_feed_forward(&writer, &small, 0);
    gguf_tensor(&writer, "output_norm.weight", F32, 256, 0, 0);
    gguf_finish(&writer);
    cr_assert_gt(writer.size, 1 << 20);
    cr_assert_eq(load_writer(&g, "", &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(g->parameter_count, writer.elements);
    emp_graph_destroy(g);
}

/* ---- parts ---- */

static shape tiny = {"llama", 1,     256,   2,     2,     128,   256, 256, 0,
                     0,       false, false, false, false, false, 0,   0};

/* A model of one layer in three parts, the first of which has no tensors, as llama.cpp's
 * --no-tensor-first-split writes them; \a tensors are said to be there. */
static int64_t write_parts(uint32_t tensors)
{
    int64_t elements = 0;

    for (uint32_t part = 0; part < 3; part++) {
        char name[64];
        if (part == 0)
            write_facts(&writer, &tiny);
        else
            gguf_begin(&writer, "llama");
        gguf_split(&writer, part, 3, tensors);
        if (part == 1) {
            gguf_tensor(&writer, "token_embd.weight", Q4_K, 256, 256, 0);
            write_attention(&writer, &tiny, 0);
        }
        if (part == 2) {
            write_feed_forward(&writer, &tiny, 0);
            gguf_tensor(&writer, "output_norm.weight", F32, 256, 0, 0);
        }
        gguf_finish(&writer);
        elements += writer.elements;
        snprintf(name, sizeof name, "m-%05u-of-00003.gguf", part + 1);
        scratch_write(name, writer.bytes, writer.size);
    }
    return elements;
}

static void expect_part_refused(const char *name, const char *words)
{
    emp_graph *g = NULL;
    emp_error  err = {0};

    cr_expect_neq(emp_source_load(&g, NULL, NULL, scratch_path(name), &err), EMP_OK);
    cr_expect_not_null(strstr(err.msg, words), "%s, not %s", err.msg, words);
}

Test(gguf, reads_all_parts_from_the_first)
{
    emp_graph *g = NULL;
    emp_error  err = {0};
    int64_t    elements = write_parts(11);

    cr_assert_eq(
        emp_source_load(&g, NULL, NULL, scratch_path("m-00001-of-00003.gguf"), &err),
        EMP_OK, "%s", err.msg);
    cr_expect_eq(g->parameter_count, elements);
    emp_graph_destroy(g);
    expect_part_refused("m-00002-of-00003.gguf",
                        "part 2 of 3 of a model; name the first part");
}

Test(gguf, names_the_part_that_is_missing_or_wrong)
{
    char from[SCRATCH_PATH_BYTES], to[SCRATCH_PATH_BYTES];

    (void)write_parts(12);
    expect_part_refused(
        "m-00001-of-00003.gguf",
        "its 3 parts have 11 tensors, and the first says that they are 12");
    snprintf(from, sizeof from, "%s", scratch_path("m-00003-of-00003.gguf"));
    snprintf(to, sizeof to, "%s", scratch_path("m-00002-of-00003.gguf"));
    cr_assert_eq(rename(from, to), 0);
    expect_part_refused("m-00001-of-00003.gguf", "it says that it is part 3 of 3");
    cr_assert_eq(remove(to), 0);
    expect_part_refused("m-00001-of-00003.gguf",
                        "part 1 of 3, and part 2 is not found at ");
    snprintf(from, sizeof from, "%s", scratch_path("m-00001-of-00003.gguf"));
    snprintf(to, sizeof to, "%s", scratch_path("m.gguf"));
    cr_assert_eq(rename(from, to), 0);
    expect_part_refused("m.gguf",
                        "part 1 of 3 of a model; the others are found beside it");
}

/* llama.cpp reads the key of the window for some kinds only, and gives their layers a window by turns. */
Test(gguf, layers_have_windows_where_llama_cpp_has_them)
{
    static const struct {
        const char *arch, *windowed; /* a letter a layer */
    } kinds[] = {{"llama", "--------"},      {"qwen2", "--------"},
                 {"phi3", "--------"},       {"gemma3", "wwwww-ww"},
                 {"gemma2", "w-w-w-w-"},     {"olmo2", "www-www-"},
                 {"cohere2moe", "-www-www"}, {"plamo3", "wwwwwww-"},
                 {"gemma3n", "wwww-www"},    {"exaone4", "www-www-"}};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const shape s = {.arch = kinds[i].arch,
                         .layers = 8,
                         .hidden = 256,
                         .heads = 4,
                         .kv_heads = 2,
                         .size = 64,
                         .inner = 256,
                         .vocabulary = 512,
                         .window = 16};
        emp_graph  *g = NULL;
        emp_error   err = {0};
        char        windowed[] = "--------", name[64];
        write_model(&writer, &s);
        cr_assert_eq(load_writer(&g, ",seq=4096", &err), EMP_OK, "%s: %s", s.arch,
                     err.msg);
        for (int layer = 0; layer < 8; layer++) {
            snprintf(name, sizeof name, "blk.%d.attn.key_cache", layer);
            const emp_op_id op = emp_graph_find(g, name);
            cr_assert_geq(op, 0, "%s", name);
            if (g->op[op].persistent_bytes < 4096 * 2 * 64 * 2) windowed[layer] = 'w';
        }
        cr_expect_str_eq(windowed, kinds[i].windowed, "%s: %s", s.arch, windowed);
        emp_graph_destroy(g);
    }
}

Test(gguf, layers_that_predict_more_tokens_are_counted)
{
    shape     s = {.arch = "llama",
                   .layers = 5,
                   .hidden = 256,
                   .heads = 4,
                   .kv_heads = 2,
                   .size = 64,
                   .inner = 256,
                   .vocabulary = 512};
    emp_error err = {0};
    int32_t   count = -1;

    for (s.extra = 0; s.extra < 3; s.extra++) {
        write_model(&writer, &s);
        scratch_write("m.gguf", writer.bytes, writer.size);
        cr_assert_eq(emp_gguf_extra_layers(&count, scratch_path("m.gguf"), &err), EMP_OK,
                     "%s", err.msg);
        cr_expect_eq(count, (int32_t)s.extra);
    }
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_gguf_extra_layers(&count, scratch_path("m.gguf"), NULL), (void)0);
    cr_expect_eq(emp_gguf_extra_layers(&count, scratch_path("no.gguf"), &err), EMP_EIO);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(gguf, parts_survive_every_allocation_failure)
{
    emp_graph *g = NULL;
    char       path[SCRATCH_PATH_BYTES];

    (void)write_parts(11);
    snprintf(path, sizeof path, "%s", scratch_path("m-00001-of-00003.gguf"));
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_source_load(&g, NULL, NULL, path, NULL),
                                      emp_graph_destroy(g));
    emp_graph_destroy(g);
}

Test(gguf, survives_every_allocation_failure)
{
    emp_gguf h = {0};

    write_model(&writer, &shapes[0]);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_gguf_parse(&h, writer.bytes, writer.size, NULL),
                                      emp_gguf_clear(&h));
    cr_expect_eq(h.tensor_count, (int32_t)writer.tensor_count);
    emp_gguf_clear(&h);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
