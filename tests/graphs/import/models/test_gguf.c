// SPDX-License-Identifier: GPL-3.0-or-later
/* Do headers of GGUF files give the models of their tensors, with their bytes? */
#include "graphs/import/models/gguf.h"
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/models/gguf_writer.h"
#include "tests/test.h"

TestSuite(gguf, .init = scratch_create, .fini = graph_tear_down);

static gguf_writer writer; /* too large for a stack */

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
    gguf_integers_of(
        w,
        scratch_print(
            "block_count=%u context_length=8192 embedding_length=%u "
            "feed_forward_length=%u attention.head_count=%u attention.head_count_kv=%u",
            s->layers, s->hidden, s->inner, s->heads, s->kv_heads));
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
    uint32_t h = s->hidden, q = s->heads * s->size, k = s->kv_heads * s->size;

    gguf_tensors(
        w, i,
        "attn_norm F32 %u; attn_q Q4_K %ux%u; attn_k Q4_K %ux%u; attn_v Q6_K %ux%u;"
        "attn_output Q4_K %ux%u",
        h, h, q, h, k, h, k, q, h);
    if (s->has_qkv_bias)
        gguf_tensors(w, i, "attn_q.bias F32 %u; attn_k.bias F32 %u; attn_v.bias F32 %u",
                     q, k, k);
    if (s->has_qk_norm)
        gguf_tensors(w, i, "attn_q_norm F32 %u; attn_k_norm F32 %u", s->size, s->size);
}

static void write_feed_forward(gguf_writer *w, const shape *s, int i)
{
    uint32_t h = s->hidden, f = s->inner, e = s->experts;

    gguf_tensors(w, i, "ffn_norm F32 %u", h);
    if (s->is_sandwich)
        gguf_tensors(w, i, "post_attention_norm F32 %u; post_ffw_norm F32 %u", h, h);
    if (e > 0)
        gguf_tensors(w, i,
                     "ffn_gate_inp F32 %ux%u; ffn_gate_exps Q4_K %ux%ux%u;"
                     "ffn_up_exps Q4_K %ux%ux%u; ffn_down_exps Q6_K %ux%ux%u",
                     h, e, h, f, e, h, f, e, f, h, e);
    else
        gguf_tensors(w, i, "ffn_gate Q4_K %ux%u; ffn_up Q4_K %ux%u; ffn_down Q6_K %ux%u",
                     h, f, h, f, f, h);
}

static void write_model(gguf_writer *w, const shape *s)
{
    write_facts(w, s);
    gguf_tensors(w, -1, "token_embd Q4_K %ux%u", s->hidden, s->vocabulary);
    for (uint32_t i = 0; i < s->layers; i++) {
        write_attention(w, s, (int)i);
        write_feed_forward(w, s, (int)i);
    }
    gguf_tensors(w, -1, "output_norm F32 %u", s->hidden);
    if (!s->is_tied) gguf_tensors(w, -1, "output Q6_K %ux%u", s->hidden, s->vocabulary);
    gguf_finish(w);
}

static const char *spec_of(const char *options)
{
    scratch_write("m.gguf", writer.bytes, writer.size);
    return scratch_print(
        "%s%s%s", options[0] == '\0' ? "" : "hf:path=", scratch_path("m.gguf"), options);
}

static emp_graph *load(const char *options)
{
    return graph_load(spec_of(options), NULL, NULL);
}

/* Published sizes: Llama-3.1-8B, Qwen2.5-7B, Qwen3-8B, Gemma-2-9B, Mixtral-8x7B. */
static const struct {
    shape   shape;
    int64_t parameters;
} models[] = {
    {{.arch = "llama", 32, 4096, 32, 8, 128, 14336, 128256}, 8030261248},
    {{.arch = "qwen2", 28, 3584, 28, 4, 128, 18944, 152064, .has_qkv_bias = true},
     7615616512},
    {{.arch = "qwen3",
      36,
      4096,
      32,
      8,
      128,
      12288,
      151936,
      .has_qk_norm = true,
      .has_own_size = true},
     8190735360},
    {{.arch = "gemma2",
      42,
      3584,
      16,
      8,
      256,
      14336,
      256000,
      .is_tied = true,
      .is_sandwich = true,
      .has_own_size = true},
     9241705984},
    {{.arch = "llama", 32, 4096, 32, 8, 128, 14336, 32000, 8, 2, .window = 0},
     46702792704},
};

static const shape *const llama = &models[0].shape;
static const shape        tiny = {.arch = "llama", 1, 256, 2, 2, 128, 256, 256};

/* gpt-oss-20b in MXFP4, and DeepSeek-V2-Lite with its two matrices apart. */
static void write_gpt_oss(gguf_writer *w)
{
    gguf_begin(w, "gpt-oss");
    gguf_integers_of(w, "block_count=24 embedding_length=2880 attention.head_count=64 "
                        "attention.head_count_kv=8 attention.key_length=64 "
                        "attention.value_length=64 attention.sliding_window=128 "
                        "expert_used_count=4");
    gguf_tensors(w, -1,
                 "token_embd Q8_0 2880x201088; output Q8_0 2880x201088;"
                 "output_norm F32 2880");
    for (int i = 0; i < 24; i++)
        gguf_tensors(
            w, i,
            "attn_norm F32 2880; post_attention_norm F32 2880; attn_q Q8_0 2880x4096;"
            "attn_q.bias F32 4096; attn_k Q8_0 2880x512; attn_k.bias F32 512;"
            "attn_v Q8_0 2880x512; attn_v.bias F32 512; attn_output Q8_0 4096x2880;"
            "attn_output.bias F32 2880; attn_sinks F32 64; ffn_gate_inp F32 2880x32;"
            "ffn_gate_inp.bias F32 32; ffn_gate_exps MXFP4 2880x2880x32;"
            "ffn_gate_exps.bias F32 2880x32; ffn_up_exps MXFP4 2880x2880x32;"
            "ffn_up_exps.bias F32 2880x32; ffn_down_exps MXFP4 2880x2880x32;"
            "ffn_down_exps.bias F32 2880x32");
    gguf_finish(w);
}

static void write_deepseek(gguf_writer *w)
{
    gguf_begin(w, "deepseek2");
    gguf_integers_of(w, "block_count=27 embedding_length=2048 attention.head_count=16 "
                        "attention.head_count_kv=1 attention.kv_lora_rank=512 "
                        "attention.key_length=576 attention.value_length=512 "
                        "attention.key_length_mla=192 attention.value_length_mla=128 "
                        "rope.dimension_count=64 expert_used_count=6");
    gguf_tensors(w, -1,
                 "token_embd F16 2048x102400; output F16 2048x102400;"
                 "output_norm F32 2048");
    for (int i = 0; i < 27; i++) {
        gguf_tensors(w, i,
                     "attn_norm F32 2048; ffn_norm F32 2048; attn_q F16 2048x3072;"
                     "attn_kv_a_mqa F16 2048x576; attn_kv_a_norm F32 512;"
                     "attn_k_b F16 128x512x16; attn_v_b F16 512x128x16;"
                     "attn_output F16 2048x2048");
        gguf_tensors(w, i,
                     i == 0
                         ? "ffn_gate F16 2048x10944; ffn_up F16 2048x10944;"
                           "ffn_down F16 10944x2048"
                         : "ffn_gate_inp F32 2048x64; ffn_gate_exps F16 2048x1408x64;"
                           "ffn_up_exps F16 2048x1408x64; ffn_down_exps F16 1408x2048x64;"
                           "ffn_gate_shexp F16 2048x2816; ffn_up_shexp F16 2048x2816;"
                           "ffn_down_shexp F16 2816x2048");
    }
    gguf_finish(w);
}

static void expect_tensors(int64_t parameters)
{
    emp_graph *g = load("");

    cr_expect_eq(g->parameter_count, parameters, "%lld", (long long)g->parameter_count);
    cr_expect_eq(g->parameter_count, writer.elements);
    cr_expect_eq((double)g->parameter_bytes, writer.tensor_bytes, "%lld bytes",
                 (long long)g->parameter_bytes);
    cr_expect_eq(g->unknown_op_count, 0);
    cr_expect_str_eq(emp_graph_default_runtime(g), "llama-cpp");
}

Test(gguf, gives_the_parameters_and_the_bytes_of_its_tensors)
{
    for (size_t i = 0; i < COUNT(models); i++) {
        write_model(&writer, &models[i].shape);
        expect_tensors(models[i].parameters);
    }
    write_gpt_oss(&writer);
    expect_tensors(20914757184);
    write_deepseek(&writer);
    expect_tensors(15706484224);
    /* a header of more than the first megabyte is read on */
    write_facts(&writer, &tiny);
    gguf_texts(&writer, "merges", 100000);
    gguf_tensors(&writer, -1, "token_embd Q4_K 256x256; output_norm F32 256");
    write_attention(&writer, &tiny, 0);
    write_feed_forward(&writer, &tiny, 0);
    gguf_finish(&writer);
    cr_assert_gt(writer.size, 1 << 20);
    expect_tensors(writer.elements);
}

/* A step reads each weight once, but the table of embeddings: one row. */
Test(gguf, decoding_reads_the_bytes_of_its_weights)
{
    double read = 0, products = 0;

    write_model(&writer, llama);
    emp_graph *g = load(",seq=16");
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
}

/* 4 bytes for each word of the vocabulary go to the host. */
Test(gguf, logits_are_copied_to_the_host_that_draws)
{
    write_model(&writer, llama);
    emp_graph        *g = load(",seq=16");
    const emp_op_id   op = graph_find(g, "sample");
    const emp_tensor *logits = &g->tensor[g->input[g->input_offset[op]]];
    cr_expect_eq(g->op[op].kinds, EMP_KIND_CPU);
    cr_expect(g->is_target[op]);
    cr_expect_eq(logits->copy_bytes, 4 * 128256);
    g = load(",seq=16,sample=device");
    cr_expect_eq(emp_graph_find(g, "sample"), -1);
}

Test(gguf, holds_a_cache_of_float16)
{
    int64_t bytes = 0;

    write_model(&writer, llama);
    emp_graph *g = load(",seq=1000,batch=3");
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (g->op[op].flags & EMP_OP_IS_STATE) bytes += g->op[op].persistent_bytes;
    cr_expect_eq(bytes, 32LL * 2 * 8 * 128 * 1024 * 3 * 2);
    (void)load(",phase=prefill,seq=64");
}

/* A key whose name ends in that of another is not that other. */
Test(gguf, micro_batches_leave_the_batch_at_one)
{
    emp_graph *graph = NULL;

    write_model(&writer, llama);
    const double flops = load(",phase=prefill,seq=64,ubatch=32")->flops;
    cr_expect_float_eq(flops, load(",phase=prefill,seq=64,ubatch=32,batch=1")->flops,
                       1e-9 * flops);
    EXPECT_FAILS(emp_graph_load(&graph, spec_of(",quant=q4_k_m"), &err),
                 "are for a config");
}

Test(gguf, faults_of_headers_are_named)
{
    static const struct {
        const char *tensors;
        emp_status  status;
        const char *part;
    } cases[] = {
        {"v.patch_embd F16 4096x100", EMP_EINVAL, "no language model"},
        {"token_embd F16 4096x100", EMP_EINVAL, "layer 0 has no inner size"},
        {"token_embd F16 4096x100; blk.0.ssm_in.weight F16 4096x100", EMP_EUNSUPPORTED,
         "no part of a transformer"},
        /* 896 is no multiple of 256, so llama.cpp takes another type; so must a file */
        {"token_embd Q4_K 896x151936", EMP_EFORMAT, "256, a block of q4_k"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        write_facts(&writer, llama);
        gguf_tensors(&writer, -1, cases[i].tensors);
        gguf_finish(&writer);
        graph_expect_refused(spec_of(""), cases[i].status, cases[i].part);
    }
    write_facts(&writer, llama);
    gguf_tensor(&writer, "token_embd.weight", 77, 16, 4096, 100, 0);
    gguf_finish(&writer);
    graph_expect_refused(spec_of(""), EMP_EUNSUPPORTED, "ggml's type 77");
    write_model(&writer, llama);
    graph_expect_refused(spec_of(",phase=train"), EMP_EUNSUPPORTED, "trained");
    gguf_tensors(&writer, 3, "attn_extra F16 4096x100");
    gguf_finish(&writer);
    graph_expect_refused(spec_of(""), EMP_EUNSUPPORTED, "\"blk.3.attn_extra.weight\"");
    gguf_tensors(&writer, -1, "output F16 4096x100");
    gguf_finish(&writer);
    graph_expect_refused(spec_of(""), EMP_EFORMAT, "two tensors \"output.weight\"");
    writer.size /= 2;
    graph_expect_refused(spec_of(""), EMP_EFORMAT, "ends too early");
    writer.bytes[4] = 9;
    graph_expect_refused(spec_of(""), EMP_EUNSUPPORTED, "version 9");
}

Test(gguf, is_no_onnx_model_and_safetensors_need_a_config)
{
    write_model(&writer, &tiny);
    scratch_write("m.gguf", writer.bytes, writer.size);
    graph_expect_refused(scratch_print("onnx:path=%s,train=adam", scratch_path("m.gguf")),
                         EMP_OK, "ONNX");
    scratch_write("m.safetensors", "\2\0\0\0\0\0\0\0{}", 10);
    graph_expect_refused(scratch_path("m.safetensors"), EMP_OK,
                         "hf:path=config.json,weights=");
}

/* A model of one layer in three parts, the first of which has no tensors, as llama.cpp's
 * --no-tensor-first-split writes them; \a tensors are said to be there. */
static int64_t write_parts(uint32_t tensors)
{
    int64_t elements = 0;

    for (uint32_t part = 0; part < 3; part++) {
        if (part == 0)
            write_facts(&writer, &tiny);
        else
            gguf_begin(&writer, "llama");
        gguf_split(&writer, part, 3, tensors);
        if (part == 1) {
            gguf_tensors(&writer, -1, "token_embd Q4_K 256x256");
            write_attention(&writer, &tiny, 0);
        }
        if (part == 2) {
            write_feed_forward(&writer, &tiny, 0);
            gguf_tensors(&writer, -1, "output_norm F32 256");
        }
        gguf_finish(&writer);
        elements += writer.elements;
        scratch_write(scratch_print("m-%05u-of-00003.gguf", part + 1), writer.bytes,
                      writer.size);
    }
    return elements;
}

#define FIRST  "m-00001-of-00003.gguf"
#define SECOND "m-00002-of-00003.gguf"
#define THIRD  "m-00003-of-00003.gguf"

static void rename_part(const char *from, const char *to)
{
    cr_assert_eq(rename(scratch_path(from), scratch_path(to)), 0);
}

Test(gguf, all_parts_are_read_from_the_first)
{
    int64_t elements = write_parts(11);
    cr_expect_eq(graph_load(scratch_path(FIRST), NULL, NULL)->parameter_count, elements);
    graph_expect_refused(scratch_path(SECOND), EMP_OK, "part 2 of 3");
    (void)write_parts(12);
    graph_expect_refused(scratch_path(FIRST), EMP_OK,
                         "11 tensors, and the first says that they are 12");
    rename_part(THIRD, SECOND);
    graph_expect_refused(scratch_path(FIRST), EMP_OK, "part 3 of 3");
    cr_assert_eq(remove(scratch_path(SECOND)), 0);
    graph_expect_refused(scratch_path(FIRST), EMP_OK, "part 2 is not found");
    rename_part(FIRST, "m.gguf");
    graph_expect_refused(scratch_path("m.gguf"), EMP_OK, "part 1 of 3");
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
        const shape s = {.arch = kinds[i].arch, 8, 256, 4, 2, 64, 256, 512, .window = 16};
        char        windowed[] = "--------";
        write_model(&writer, &s);
        emp_graph *g = load(",seq=4096");
        for (int layer = 0; layer < 8; layer++)
            if (g->op[graph_find(g, scratch_print("blk.%d.attn.key_cache", layer))]
                    .persistent_bytes < 4096 * 2 * 64 * 2)
                windowed[layer] = 'w';
        cr_expect_str_eq(windowed, kinds[i].windowed, "%s: %s", s.arch, windowed);
    }
}

Test(gguf, layers_that_predict_more_tokens_are_counted)
{
    shape     s = {.arch = "llama", 5, 256, 4, 2, 64, 256, 512};
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
}

Test(gguf, survives_every_allocation_failure)
{
    emp_gguf h = {0};

    write_model(&writer, llama);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_gguf_parse(&h, writer.bytes, writer.size, NULL),
                                      emp_gguf_clear(&h));
    cr_expect_eq(h.tensor_count, (int32_t)writer.tensor_count);
    emp_gguf_clear(&h);
    (void)write_parts(11);
    graph_survives(scratch_path(FIRST));
}
