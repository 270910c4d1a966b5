// SPDX-License-Identifier: GPL-3.0-or-later
/* Do weights take the bytes that their quantisation gives them? Mixes beside the bits per weight that llama.cpp
 * publishes; configs beside the layouts of the libraries that wrote them. */
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/models/configs.h"
#include "tests/test.h"

TestSuite(quantised, .init = scratch_create, .fini = graph_tear_down);

/* Bits per weight of the whole file; 0 = not published. Its norms are float32, 0.0005 bits or less; two digits are
 * rounded. Llama 2: examples/quantize/README.md of llama.cpp at b8c1476e. Llama 3.1: tools/quantize/README.md
 * at 311c2c9f. Q2_K of Llama 2 is of an older mix. */
static const char *const mixes[] = {"q2_k",   "q3_k_s", "q3_k_m", "q3_k_l", "q4_k_s",
                                    "q4_k_m", "q5_k_s", "q5_k_m", "q6_k",   "q8_0"};
static const struct {
    const char *model;
    double      bits[COUNT(mixes)];
} published[] = {
    {"Llama-2-7b", {0, 3.50, 3.91, 4.27, 4.58, 4.84, 5.52, 5.68, 6.56, 0}},
    {"Llama-2-13b", {0, 3.48, 3.89, 4.26, 4.56, 4.83, 5.51, 5.67, 6.56, 0}},
    {"Llama-2-70b", {0, 3.47, 3.85, 4.19, 4.53, 4.80, 5.50, 5.65, 6.56, 0}},
    {"meta-llama/Meta-Llama-3.1-8B",
     {3.1593, 3.6429, 0, 4.2979, 4.6672, 4.8944, 5.5704, 5.7036, 6.5633, 8.5008}}};

Test(quantised, mixes_have_the_published_bits_per_weight)
{
    for (size_t i = 0; i < COUNT(published); i++)
        for (size_t m = 0; m < COUNT(mixes); m++) {
            const double want = published[i].bits[m];
            if (want == 0) continue;
            emp_graph *g = config_load(
                published_model_named(published[i].model)->config,
                scratch_print(",batch=1,seq=16,dtype=fp16,phase=decode,quant=%s",
                              mixes[m]));
            double bits = 8.0 * (double)g->parameter_bytes / (double)g->parameter_count;
            cr_expect_lt(fabs(bits / want - 1), 0.006, "%s, %s: %g, not %g",
                         published[i].model, mixes[m], bits, want);
            emp_graph_destroy(g);
        }
}

/* Two layers of hidden size 256; each has a matrix of 512 inputs. */
#define TINY(more)                                                             \
    "{'model_type':'llama','hidden_act':'silu','hidden_size':256,"             \
    "'intermediate_size':512,'num_attention_heads':4,'num_key_value_heads':2," \
    "'num_hidden_layers':2,'vocab_size':1000,'torch_dtype':'bfloat16'" more "}"
#define QUANTISED(members) TINY(",'quantization_config':{'quant_method':" members "}")
#define NVFP4              "'modelopt','quant_algo':'NVFP4'"
#define GROUP(members)                                                                 \
    "'compressed-tensors','config_groups':{'group_0':{'targets':['Linear'],'weights':" \
    "{" members "}"

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

static void expect_bytes(const char *config, double matrices, double tables)
{
    emp_graph   *g = config_load(config, ",batch=1,seq=16,dtype=config,phase=prefill");
    const double want = matrices + tables + 2.0 * NORMS;

    cr_expect_eq(g->parameter_count, MATRICES + TABLES + NORMS);
    cr_expect_float_eq((double)g->parameter_bytes, want, 0.5, "%s: %lld, not %g", config,
                       (long long)g->parameter_bytes, want);
    emp_graph_destroy(g);
}

Test(quantised, configs_give_the_bytes_of_their_layout)
{
    const double n = MATRICES, kept = 2.0 * TABLES;
    const struct {
        const char *config;
        double      matrices, tables;
    } cases[] = {
        /* AutoAWQ: int32 of 8 weights, a float16 scale and a zero of 4 bits for each group */
        {QUANTISED("'awq','bits':4,'group_size':128,'zero_point':true"),
         n * (4 + 20.0 / 128) / 8, kept},
        {QUANTISED("'gptq','bits':8,'group_size':32,'desc_act':false"),
         n * (8 + 24.0 / 32) / 8, kept},
        /* bitsandbytes: a float32 for 64 weights; twice: 8 bits, and a float32 for 256 of these */
        {QUANTISED("'bitsandbytes','load_in_4bit':true,'bnb_4bit_quant_type':'nf4'"),
         n * (4 + 32.0 / 64) / 8, kept},
        {QUANTISED("'bitsandbytes','load_in_8bit':true"), n + 4.0 * ROWS, kept},
        /* modelopt: a byte for 16 weights */
        {QUANTISED(NVFP4 ",'ignore':['lm_head']"), n * (4 + 8.0 / 16) / 8, kept},
        /* DeepSeek: a float32 for 128 x 128 weights */
        {QUANTISED("'fp8','fmt':'e4m3','weight_block_size':[128,128]"),
         n * (1 + 4.0 / (128 * 128)), kept},
        {QUANTISED(GROUP("'num_bits':4,'type':'int','strategy':'group','group_size':64,"
                         "'symmetric':true") "}},'ignore':['lm_head']"),
         n * (4 + 16.0 / 64) / 8, kept},
        /* MLX: float16 scale and bias, of the table and the head, too */
        {TINY(",'quantization':{'group_size':64,'bits':4}"), n * (4 + 32.0 / 64) / 8,
         TABLES * (4 + 32.0 / 64) / 8}};

    for (size_t i = 0; i < COUNT(cases); i++)
        expect_bytes(cases[i].config, cases[i].matrices, cases[i].tables);
}

Test(quantised, modules_are_left_out_by_name_part_pattern_and_expression)
{
    static const char *const forms[] = {"model.layers.1.mlp.down_proj",
                                        "layers.1.mlp.down_proj", "*layers.1.mlp.down*",
                                        "re:.*layers\\\\.1\\\\..*down_proj$"};
    const double             one = (double)HIDDEN * INNER, bits = 4.5 / 8;

    for (size_t i = 0; i < COUNT(forms); i++) {
        expect_bytes(
            scratch_print(QUANTISED(NVFP4 ",'ignore':['lm_head','%s']"), forms[i]),
            bits * (MATRICES - one) + 2 * one, 2.0 * TABLES);
    }
    /* "down" is no component of a name, and the expression is none of POSIX */
    expect_bytes(QUANTISED(NVFP4 ",'ignore':['lm_head','down','re:(']"), bits * MATRICES,
                 2.0 * TABLES);
}

/* The product of layer 0's down_proj is computed in the type that the config says. */
Test(quantised, activations_of_4_bits_are_those_that_the_config_says)
{
#define FP4_GROUP(activations)                                               \
    QUANTISED(GROUP("'num_bits':4,'type':'float','strategy':'tensor_group'," \
                    "'group_size':16") ",'input_activations':" activations "}}")
    static const struct {
        const char *config;
        emp_dtype   computed;
    } cases[] = {
        {QUANTISED(NVFP4), EMP_DTYPE_NVFP4_W4A4},
        {QUANTISED("'modelopt','quant_algo':'W4A16_NVFP4'"), EMP_DTYPE_NONE},
        {QUANTISED(
             "'modelopt','quant_algo':'MIXED_PRECISION','quantized_layers':{"
             "'model.layers.0.mlp.down_proj':{'quant_algo':'NVFP4','group_size':16}}"),
         EMP_DTYPE_NVFP4_W4A4},
        {FP4_GROUP("{'num_bits':4,'type':'float','group_size':16}"),
         EMP_DTYPE_NVFP4_W4A4},
        {FP4_GROUP("null"), EMP_DTYPE_NONE},
        {FP4_GROUP("{'num_bits':8,'type':'float'}"), EMP_DTYPE_NONE}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        emp_graph *g =
            config_load(cases[i].config, ",batch=1,seq=16,dtype=config,phase=prefill");
        const emp_op_cost *cost =
            g->op[graph_find(g, "model.layers.0.mlp.down_proj")].cost;
        cr_expect_eq(cost->computed, cases[i].computed, "%s", cases[i].config);
        cr_expect_eq(cost->weight_bytes, (int64_t)HIDDEN * INNER * 9 / 16);
        emp_graph_destroy(g);
    }
}

/* As nvidia/Llama-3.3-70B-Instruct-FP4 has it. */
#define BESIDE(members)                                                   \
    "{'producer':{'name':'modelopt','version':'0.23.0'},'quantization':{" \
    "'kv_cache_quant_algo':null," members "}}"

static void expect_beside(const char *beside, const char *config, double want,
                          const char *said)
{
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};

    scratch_write_json("hf_quant_config.json", beside);
    emp_graph *g =
        graph_load(config_spec(config, ",phase=decode,batch=1,seq=16"), &notes, NULL);
    cr_expect_float_eq((double)g->parameter_bytes, want + 2.0 * NORMS, 0.5,
                       "%s: %lld, not %g", beside, (long long)g->parameter_bytes,
                       want + 2.0 * NORMS);
    cr_assert_eq(notes.assumption_count, said != NULL, "%s", beside);
    if (said != NULL) {
        cr_expect_not_null(strstr(notes.assumption[0], said), "%s", notes.assumption[0]);
        cr_expect_not_null(strstr(notes.assumption[0], "hf_quant_config.json"));
    }
}

Test(quantised, a_file_beside_the_config_says_how_weights_are_stored)
{
    const double n = MATRICES, kept = 2.0 * TABLES, one = (double)HIDDEN * INNER;
    const double query = (double)HIDDEN * HIDDEN, fp4 = 4.5 / 8;
    const struct {
        const char *beside;
        double      want;
        const char *said;
    } cases[] = {
        {BESIDE("'quant_algo':'FP8','exclude_modules':['lm_head']"), n + kept,
         "(modelopt, FP8)"},
        {BESIDE("'quant_algo':'NVFP4','group_size':16,"
                "'exclude_modules':['lm_head','*.1.mlp.down_proj']"),
         fp4 * (n - one) + 2 * one + kept, "(modelopt, NVFP4)"},
        {BESIDE("'quant_algo':'W4A8_AWQ','group_size':128,'has_zero_point':false,"
                "'pre_quant_scale':true,'exclude_modules':['lm_head']"),
         n * (4 + 16.0 / 128) / 8 + kept, "(modelopt, W4A8_AWQ)"},
        /* modules without entries are not quantised */
        {BESIDE("'quant_algo':'MIXED_PRECISION','quantized_layers':{"
                "'model.layers.0.self_attn.q_proj':{'quant_algo':'FP8'},"
                "'model.layers.1.mlp.down_proj':{'quant_algo':'NVFP4','group_size':16},"
                "'lm_head':{'quant_algo':'W4A16_NVFP4','group_size':16}}"),
         query + fp4 * one + 2 * (n - query - one) + TABLES + fp4 * TABLES / 2,
         "(modelopt, MIXED_PRECISION)"},
        {"{'producer':{}}", 2 * n + kept, NULL}};

    for (size_t i = 0; i < COUNT(cases); i++)
        expect_beside(cases[i].beside, TINY(""), cases[i].want, cases[i].said);
    /* a config that says it itself counts */
    expect_beside(BESIDE("'quant_algo':'FP8'"),
                  QUANTISED("'awq','bits':4,'group_size':128,'zero_point':true"),
                  n * (4 + 20.0 / 128) / 8 + kept, NULL);
}

Test(quantised, a_damaged_file_beside_the_config_is_named)
{
    scratch_write_json("hf_quant_config.json", "{\n'quantization':");
    graph_expect_refused(config_spec(TINY(""), ",phase=decode"), EMP_EFORMAT,
                         "hf_quant_config.json: line ");
    /* a type that the spec gives leaves it unread */
    emp_graph *g = config_load(TINY(""), ",phase=decode,dtype=bf16");
    cr_expect_eq(g->parameter_bytes, 2 * (MATRICES + TABLES + NORMS));
    emp_graph_destroy(g);
}
