// SPDX-License-Identifier: GPL-3.0-or-later
/* Do weights take the bytes that their quantisation gives them? Mixes beside the bits per weight that llama.cpp
 * publishes; configs beside the layouts of the libraries that wrote them. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/load.h"
#include "tests/graphs/import/models/known.h"
#include "tests/support/scratch.h"

TestSuite(quantised, .init = scratch_create, .fini = scratch_remove);

static emp_graph *load(const char *members, const char *options)
{
    char       text[8192], spec[512];
    emp_graph *step = NULL;
    emp_error  err = {0};

    snprintf(text, sizeof text, "{%s}", members);
    scratch_write("config.json", text, strlen(text));
    snprintf(spec, sizeof spec, "hf:path=%s,batch=1,seq=16,dtype=%s",
             scratch_path("config.json"), options);
    cr_assert_eq(emp_source_load(&step, NULL, NULL, spec, &err), EMP_OK, "%s", err.msg);
    return step;
}

/* Bits per weight of the whole file. Its norms are float32, 0.0005 bits or less; two digits are
 * rounded. Llama 2: examples/quantize/README.md of llama.cpp at b8c1476e. Llama 3.1: tools/quantize/README.md
 * at 311c2c9f. Q2_K of Llama 2 is of an older mix. */
static const struct {
    const char *file, *name;
    double      bits;
} published[] = {{"Llama-2-7b", "q3_k_s", 3.50},
                 {"Llama-2-7b", "q3_k_m", 3.91},
                 {"Llama-2-7b", "q3_k_l", 4.27},
                 {"Llama-2-7b", "q4_k_s", 4.58},
                 {"Llama-2-7b", "q4_k_m", 4.84},
                 {"Llama-2-7b", "q5_k_s", 5.52},
                 {"Llama-2-7b", "q5_k_m", 5.68},
                 {"Llama-2-7b", "q6_k", 6.56},
                 {"Llama-2-13b", "q3_k_s", 3.48},
                 {"Llama-2-13b", "q3_k_m", 3.89},
                 {"Llama-2-13b", "q3_k_l", 4.26},
                 {"Llama-2-13b", "q4_k_s", 4.56},
                 {"Llama-2-13b", "q4_k_m", 4.83},
                 {"Llama-2-13b", "q5_k_s", 5.51},
                 {"Llama-2-13b", "q5_k_m", 5.67},
                 {"Llama-2-13b", "q6_k", 6.56},
                 {"Llama-2-70b", "q3_k_s", 3.47},
                 {"Llama-2-70b", "q3_k_m", 3.85},
                 {"Llama-2-70b", "q3_k_l", 4.19},
                 {"Llama-2-70b", "q4_k_s", 4.53},
                 {"Llama-2-70b", "q4_k_m", 4.80},
                 {"Llama-2-70b", "q5_k_s", 5.50},
                 {"Llama-2-70b", "q5_k_m", 5.65},
                 {"Llama-2-70b", "q6_k", 6.56},
                 {"meta-llama--Meta-Llama-3.1-8B", "q2_k", 3.1593},
                 {"meta-llama--Meta-Llama-3.1-8B", "q3_k_s", 3.6429},
                 {"meta-llama--Meta-Llama-3.1-8B", "q3_k_l", 4.2979},
                 {"meta-llama--Meta-Llama-3.1-8B", "q4_k_s", 4.6672},
                 {"meta-llama--Meta-Llama-3.1-8B", "q4_k_m", 4.8944},
                 {"meta-llama--Meta-Llama-3.1-8B", "q5_k_s", 5.5704},
                 {"meta-llama--Meta-Llama-3.1-8B", "q5_k_m", 5.7036},
                 {"meta-llama--Meta-Llama-3.1-8B", "q6_k", 6.5633},
                 {"meta-llama--Meta-Llama-3.1-8B", "q8_0", 8.5008}};

static const char *config_of(const char *file)
{
    for (int32_t i = 0; i < known_model_count; i++)
        if (known_models[i].file != NULL && strcmp(known_models[i].file, file) == 0)
            return known_models[i].config;
    cr_assert_fail("no model %s", file);
    return NULL;
}

Test(quantised, mixes_have_the_published_bits_per_weight)
{
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        char options[64];
        snprintf(options, sizeof options, "fp16,phase=decode,quant=%s",
                 published[i].name);
        emp_graph *g = load(config_of(published[i].file), options);
        double     bits = 8.0 * (double)g->parameter_bytes / (double)g->parameter_count;
        cr_expect_lt(fabs(bits / published[i].bits - 1), 0.006, "%s, %s: %g, not %g",
                     published[i].file, published[i].name, bits, published[i].bits);
        emp_graph_destroy(g);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Two layers of hidden size 256; each has a matrix of 512 inputs. */
#define TINY                                                                         \
    "\"model_type\":\"llama\",\"hidden_act\":\"silu\",\"hidden_size\":256,"          \
    "\"intermediate_size\":512,\"num_attention_heads\":4,\"num_key_value_heads\":2," \
    "\"num_hidden_layers\":2,\"vocab_size\":1000,\"torch_dtype\":\"bfloat16\""

enum {
    LAYERS = 2,
    HIDDEN = 256,
    INNER = 512,
    KEYS = 128,
    VOCABULARY = 1000,
    ATTENTION = HIDDEN * (2 * HIDDEN + 2 * KEYS), /* weights of a layer */
    FORWARD = 3 * HIDDEN * INNER,
    MATRICES = LAYERS * (ATTENTION + FORWARD),
    ROWS = LAYERS * (2 * HIDDEN + 2 * KEYS + 2 * INNER + HIDDEN), /* outputs of them */
    TABLES = 2 * HIDDEN * VOCABULARY,                             /* and head */
    NORMS = (2 * LAYERS + 1) * HIDDEN
};

static void expect_bytes(const char *quantization, double matrices, double tables)
{
    char members[2048];

    snprintf(members, sizeof members, TINY ",%s", quantization);
    emp_graph   *g = load(members, "config,phase=prefill");
    const double want = matrices + tables + 2.0 * NORMS;
    cr_expect_eq(g->parameter_count, MATRICES + TABLES + NORMS);
    cr_expect_float_eq((double)g->parameter_bytes, want, 0.5, "%s: %lld, not %g",
                       quantization, (long long)g->parameter_bytes, want);
    emp_graph_destroy(g);
}

Test(quantised, configs_give_the_bytes_of_their_layout)
{
    const double n = MATRICES, kept = 2.0 * TABLES;

    /* AutoAWQ: int32 of 8 weights, a float16 scale and a zero of 4 bits for each group */
    expect_bytes("\"quantization_config\":{\"quant_method\":\"awq\",\"bits\":4,"
                 "\"group_size\":128,\"zero_point\":true}",
                 n * (4 + 20.0 / 128) / 8, kept);
    expect_bytes("\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":8,"
                 "\"group_size\":32,\"desc_act\":false}",
                 n * (8 + 24.0 / 32) / 8, kept);
    /* bitsandbytes: a float32 for 64 weights; twice: 8 bits, and a float32 for 256 of these */
    expect_bytes("\"quantization_config\":{\"quant_method\":\"bitsandbytes\","
                 "\"load_in_4bit\":true,\"bnb_4bit_quant_type\":\"nf4\"}",
                 n * (4 + 32.0 / 64) / 8, kept);
    expect_bytes("\"quantization_config\":{\"quant_method\":\"bitsandbytes\","
                 "\"load_in_8bit\":true}",
                 n + 4.0 * ROWS, kept);
    /* modelopt: a byte for 16 weights */
    expect_bytes("\"quantization_config\":{\"quant_method\":\"modelopt\",\"quant_algo\":"
                 "\"NVFP4\",\"ignore\":[\"lm_head\"]}",
                 n * (4 + 8.0 / 16) / 8, kept);
    /* DeepSeek: a float32 for 128 x 128 weights */
    expect_bytes("\"quantization_config\":{\"quant_method\":\"fp8\",\"fmt\":\"e4m3\","
                 "\"weight_block_size\":[128,128]}",
                 n * (1 + 4.0 / (128 * 128)), kept);
    expect_bytes(
        "\"quantization_config\":{\"quant_method\":\"compressed-tensors\","
        "\"config_groups\":{\"group_0\":{\"targets\":[\"Linear\"],\"weights\":{"
        "\"num_bits\":4,\"type\":\"int\",\"strategy\":\"group\",\"group_size\":64,"
        "\"symmetric\":true}}},\"ignore\":[\"lm_head\"]}",
        n * (4 + 16.0 / 64) / 8, kept);
    /* MLX: float16 scale and bias, of the table and the head, too */
    expect_bytes("\"quantization\":{\"group_size\":64,\"bits\":4}",
                 n * (4 + 32.0 / 64) / 8, TABLES * (4 + 32.0 / 64) / 8);
}

Test(quantised, modules_are_left_out_by_name_part_pattern_and_expression)
{
    static const char *const forms[] = {"model.layers.1.mlp.down_proj",
                                        "layers.1.mlp.down_proj", "*layers.1.mlp.down*",
                                        "re:.*layers\\\\.1\\\\..*down_proj$"};
    const double             one = (double)HIDDEN * INNER, bits = 4.5 / 8;

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "\"quantization_config\":{\"quant_method\":\"modelopt\",\"quant_algo\":"
                 "\"NVFP4\",\"ignore\":[\"lm_head\",\"%s\"]}",
                 forms[i]);
        expect_bytes(text, bits * (MATRICES - one) + 2 * one, 2.0 * TABLES);
    }
    /* "down" is no component of a name, and the expression is none of POSIX */
    expect_bytes("\"quantization_config\":{\"quant_method\":\"modelopt\",\"quant_algo\":"
                 "\"NVFP4\",\"ignore\":[\"lm_head\",\"down\",\"re:(\"]}",
                 bits * MATRICES, 2.0 * TABLES);
}

/* What the product of layer 0's down_proj is computed in. */
static void expect_computed(const char *quantization, emp_dtype computed)
{
    char members[2048];

    snprintf(members, sizeof members, TINY ",\"quantization_config\":{%s}", quantization);
    emp_graph *g = load(members, "config,phase=prefill");
    int32_t    seen = 0;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (strcmp(g->name[op], "model.layers.0.mlp.down_proj") != 0) continue;
        cr_expect_eq(g->op[op].cost->computed, computed, "%s", quantization);
        cr_expect_eq(g->op[op].cost->weight_bytes, (int64_t)HIDDEN * INNER * 9 / 16);
        seen++;
    }
    cr_expect_eq(seen, 1);
    emp_graph_destroy(g);
}

#define FP4_GROUP(activations)                                                 \
    "\"quant_method\":\"compressed-tensors\",\"config_groups\":{\"group_0\":{" \
    "\"targets\":[\"Linear\"],\"weights\":{\"num_bits\":4,\"type\":\"float\"," \
    "\"strategy\":\"tensor_group\",\"group_size\":16},\"input_"                \
    "activations\":" activations "}}"

Test(quantised, activations_of_4_bits_are_those_that_the_config_says)
{
    expect_computed("\"quant_method\":\"modelopt\",\"quant_algo\":\"NVFP4\"",
                    EMP_DTYPE_NVFP4_W4A4);
    expect_computed("\"quant_method\":\"modelopt\",\"quant_algo\":\"W4A16_NVFP4\"",
                    EMP_DTYPE_NONE);
    expect_computed(
        "\"quant_method\":\"modelopt\",\"quant_algo\":\"MIXED_PRECISION\","
        "\"quantized_layers\":{\"model.layers.0.mlp.down_proj\":{\"quant_algo\":"
        "\"NVFP4\",\"group_size\":16}}",
        EMP_DTYPE_NVFP4_W4A4);
    expect_computed(FP4_GROUP("{\"num_bits\":4,\"type\":\"float\",\"group_size\":16}"),
                    EMP_DTYPE_NVFP4_W4A4);
    expect_computed(FP4_GROUP("null"), EMP_DTYPE_NONE);
    expect_computed(FP4_GROUP("{\"num_bits\":8,\"type\":\"float\"}"), EMP_DTYPE_NONE);
}

/* ---- hf_quant_config.json, as modelopt writes it beside a config ---- */

/* As nvidia/Llama-3.3-70B-Instruct-FP4 has it. */
#define BESIDE(members)                                                               \
    "{\"producer\":{\"name\":\"modelopt\",\"version\":\"0.23.0\"},\"quantization\":{" \
    "\"kv_cache_quant_algo\":null," members "}}"

static void expect_beside(const char *beside, const char *own, double matrices,
                          double tables, const char *said)
{
    char             text[4096], spec[SCRATCH_PATH_BYTES + 64];
    emp_graph       *g = NULL;
    emp_import_notes notes = {0};
    emp_error        err = {0};
    const double     want = matrices + tables + 2.0 * NORMS;

    snprintf(text, sizeof text, "{" TINY "%s}", own);
    scratch_write("config.json", text, strlen(text));
    scratch_write("hf_quant_config.json", beside, strlen(beside));
    snprintf(spec, sizeof spec, "hf:path=%s,phase=decode,batch=1,seq=16",
             scratch_path("config.json"));
    cr_assert_eq(emp_source_load_noted(&g, NULL, NULL, &notes, spec, &err), EMP_OK, "%s",
                 err.msg);
    cr_expect_float_eq((double)g->parameter_bytes, want, 0.5, "%s: %lld, not %g", beside,
                       (long long)g->parameter_bytes, want);
    cr_assert_eq(notes.assumption_count, said != NULL, "%s", beside);
    if (said != NULL) {
        cr_expect_not_null(strstr(notes.assumption[0], said), "%s", notes.assumption[0]);
        cr_expect_not_null(
            strstr(notes.assumption[0], scratch_path("hf_quant_config.json")));
    }
    emp_import_notes_clear(&notes);
    emp_graph_destroy(g);
}

Test(quantised, a_file_beside_the_config_says_how_weights_are_stored)
{
    const double n = MATRICES, kept = 2.0 * TABLES, one = (double)HIDDEN * INNER;
    const double query = (double)HIDDEN * HIDDEN, fp4 = 4.5 / 8;

    expect_beside(BESIDE("\"quant_algo\":\"FP8\",\"exclude_modules\":[\"lm_head\"]"), "",
                  n, kept, "(modelopt, FP8)");
    expect_beside(BESIDE("\"quant_algo\":\"NVFP4\",\"group_size\":16,"
                         "\"exclude_modules\":[\"lm_head\",\"*.1.mlp.down_proj\"]"),
                  "", fp4 * (n - one) + 2 * one, kept, "(modelopt, NVFP4)");
    expect_beside(
        BESIDE("\"quant_algo\":\"W4A8_AWQ\",\"group_size\":128,\"has_zero_point\":"
               "false,\"pre_quant_scale\":true,\"exclude_modules\":[\"lm_head\"]"),
        "", n * (4 + 16.0 / 128) / 8, kept, "(modelopt, W4A8_AWQ)");
    /* what has no entry of its own is not quantised */
    expect_beside(
        BESIDE("\"quant_algo\":\"MIXED_PRECISION\",\"quantized_layers\":{"
               "\"model.layers.0.self_attn.q_proj\":{\"quant_algo\":\"FP8\"},"
               "\"model.layers.1.mlp.down_proj\":{\"quant_algo\":\"NVFP4\","
               "\"group_size\":16},"
               "\"lm_head\":{\"quant_algo\":\"W4A16_NVFP4\",\"group_size\":16}}"),
        "", query + fp4 * one + 2 * (n - query - one), TABLES + fp4 * TABLES / 2,
        "(modelopt, MIXED_PRECISION)");
    /* a config that says it itself counts */
    expect_beside(BESIDE("\"quant_algo\":\"FP8\""),
                  ",\"quantization_config\":{\"quant_method\":\"awq\",\"bits\":4,"
                  "\"group_size\":128,\"zero_point\":true}",
                  n * (4 + 20.0 / 128) / 8, kept, NULL);
    expect_beside("{\"producer\":{}}", "", 2 * n, kept, NULL);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(quantised, a_damaged_file_beside_the_config_is_named)
{
    char       text[2048], spec[SCRATCH_PATH_BYTES + 64];
    emp_graph *g = NULL;
    emp_error  err = {0};

    snprintf(text, sizeof text, "{" TINY "}");
    scratch_write("config.json", text, strlen(text));
    scratch_write("hf_quant_config.json", "{\n\"quantization\":", 17);
    snprintf(spec, sizeof spec, "hf:path=%s,phase=decode", scratch_path("config.json"));
    cr_expect_eq(emp_source_load(&g, NULL, NULL, spec, &err), EMP_EFORMAT);
    cr_expect_not_null(strstr(err.msg, "hf_quant_config.json: line "), "%s", err.msg);
    /* a type that the spec gives leaves it unread */
    snprintf(spec, sizeof spec, "hf:path=%s,phase=decode,dtype=bf16",
             scratch_path("config.json"));
    cr_expect_eq(emp_source_load(&g, NULL, NULL, spec, &err), EMP_OK);
    cr_expect_eq(g->parameter_bytes, 2 * (MATRICES + TABLES + NORMS));
    emp_graph_destroy(g);
}

Test(quantised, a_training_step_refuses_a_name)
{
    char       text[2048], spec[512];
    emp_graph *step = NULL;
    emp_error  err = {0};

    snprintf(text, sizeof text, "{" TINY "}");
    scratch_write("config.json", text, strlen(text));
    snprintf(spec, sizeof spec, "hf:path=%s,quant=q4_0", scratch_path("config.json"));
    cr_expect_eq(emp_source_load(&step, NULL, NULL, spec, &err), EMP_EUNSUPPORTED);
    cr_expect_not_null(strstr(err.msg, "quant is for phase=prefill and phase=decode"),
                       "%s", err.msg);
}
