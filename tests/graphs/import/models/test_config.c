// SPDX-License-Identifier: GPL-3.0-or-later
/* Do configs give the models whose sizes are published, and steps with the FLOPs that they have on
 * paper? */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/text/json.h"
#include "graphs/import/models/families.h"
#include "graphs/load.h"
#include "tests/graphs/import/models/known.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

enum { LONG_BYTES = 3 << 19 };

TestSuite(config, .init = scratch_create, .fini = scratch_remove);

/* The step of a spec whose path is the scratch file "config.json" of that text. */
static emp_status load(emp_graph **whole, emp_graph **step, const char *members,
                       const char *options, emp_error *err)
{
    char text[4096], spec[512];

    snprintf(text, sizeof text, "{%s}", members);
    scratch_write("config.json", text, strlen(text));
    snprintf(spec, sizeof spec, "hf:path=%s%s", scratch_path("config.json"), options);
    return emp_source_load(step, whole, NULL, spec, err);
}

static emp_graph *load_whole(const char *members, const char *options)
{
    emp_graph *whole = NULL, *step = NULL;
    emp_error  err = {0};

    cr_assert_eq(load(&whole, &step, members, options, &err), EMP_OK, "%s", err.msg);
    emp_graph_destroy(step);
    return whole;
}

Test(config, gives_the_published_parameters)
{
    for (int32_t i = 0; i < known_model_count; i++) {
        const known_model *k = &known_models[i];
        emp_graph         *g = load_whole(k->config, ",phase=prefill,batch=1,seq=16");
        cr_expect_eq(g->parameter_count, k->parameters, "%s: %lld, want %lld by %s",
                     k->config, (long long)g->parameter_count, (long long)k->parameters,
                     k->source);
        cr_expect_eq(g->unknown_op_count, 0);
        cr_expect_eq(g->unknown_shape_count, 0);
        emp_graph_destroy(g);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Every phase holds the same weights. */
Test(config, gives_the_same_parameters_in_each_phase)
{
    for (int32_t i = 0; i < known_model_count; i++) {
        const known_model *k = &known_models[i];
        if (k->layers == 0) continue; /* some of the others have no loss or no cache */
        emp_graph *train = load_whole(k->config, ",batch=1,seq=16");
        emp_graph *decode = load_whole(k->config, ",phase=decode,batch=1,seq=16");
        cr_expect_eq(train->parameter_count, k->parameters, "%s trains %lld", k->file,
                     (long long)train->parameter_count);
        cr_expect_eq(decode->parameter_count, k->parameters, "%s writes with %lld",
                     k->file, (long long)decode->parameter_count);
        emp_graph_destroy(train);
        emp_graph_destroy(decode);
    }
}

/* ---- FLOPs on paper ---- */

enum { SEQUENCE = 1024, BATCH = 2 };

static double pairs(int32_t window)
{
    double sum = 0;

    for (int32_t i = 1; i <= SEQUENCE; i++) sum += i < window ? i : window;
    return sum;
}

/* 6 N D of the weights that a token is multiplied by, and attention: two products of the pairs that
 * the mask leaves forward, and five backward. */
static double training_flops(const known_model *k)
{
    double tokens = (double)BATCH * SEQUENCE;
    double narrow = k->windowed * pairs(k->window);
    double wide = (k->layers - k->windowed) * pairs(SEQUENCE);

    return 6 * (k->layers * k->per_layer + k->head) * tokens +
           3.5 * 2 * BATCH * k->heads * (narrow + wide);
}

Test(config, gives_the_training_flops_of_the_formula)
{
    char options[64];

    snprintf(options, sizeof options, ",batch=%d,seq=%d", BATCH, SEQUENCE);
    for (int32_t i = 0; i < known_model_count; i++) {
        const known_model *k = &known_models[i];
        if (k->layers == 0) continue;
        emp_graph *whole = NULL, *step = NULL;
        emp_error  err = {0};
        double     want = training_flops(k), updates = 0;
        cr_assert_eq(load(&whole, &step, k->config, options, &err), EMP_OK, "%s",
                     err.msg);
        for (emp_op_id op = 0; op < step->op_count; op++)
            if (step->op[op].cost->op_class == EMP_OP_OPTIMIZER)
                updates += step->op[op].cost->flops;
        cr_expect_lt(fabs((step->flops - updates) / want - 1), 0.02,
                     "%s: %.4g FLOP, want %.4g", k->file, step->flops - updates, want);
        emp_graph_destroy(whole);
        emp_graph_destroy(step);
    }
}

/* ---- the shared files ---- */

static void shared_path(char path[512], const char *name)
{
    const char *source = getenv("EMP_SOURCE_DIR");

    snprintf(path, 512, "%s/../shared/profiles/modern/model_configs/%s.json",
             source != NULL ? source : ".", name);
}

Test(config, reads_the_configs_as_they_are_published)
{
    int32_t read = 0;
    char    path[512], spec[600];

    for (int32_t i = 0; i < known_model_count; i++) {
        const known_model *k = &known_models[i];
        if (k->file == NULL) continue;
        shared_path(path, k->file);
        if (access(path, R_OK) != 0) continue;
        emp_graph *whole = NULL, *step = NULL;
        emp_error  err = {0};
        snprintf(spec, sizeof spec, "hf:path=%s,phase=decode,batch=1", path);
        cr_assert_eq(emp_source_load(&step, &whole, NULL, spec, &err), EMP_OK, "%s",
                     err.msg);
        cr_expect_eq(whole->parameter_count, k->parameters, "%s", k->file);
        emp_graph_destroy(whole);
        emp_graph_destroy(step);
        read++;
    }
    if (read == 0) cr_skip_test("the shared configs are not here");
    cr_expect_eq(read, 25);
}

/* ---- memory ---- */

#define TINY                                                                       \
    "\"model_type\":\"llama\",\"hidden_act\":\"silu\",\"hidden_size\":64,"         \
    "\"intermediate_size\":128,\"num_attention_heads\":4,\"num_hidden_layers\":2," \
    "\"num_key_value_heads\":2,\"vocab_size\":100,\"torch_dtype\":\"bfloat16\""

static int64_t persistent(const emp_graph *g)
{
    int64_t bytes = 0;

    for (emp_op_id op = 0; op < g->op_count; op++) bytes += g->op[op].persistent_bytes;
    return bytes;
}

Test(config, holds_states_of_adam_in_float32)
{
    emp_graph *g = load_whole(TINY, ",batch=1,seq=8");
    int64_t    count = g->parameter_count;

    cr_expect_eq(g->parameter_bytes, 2 * count);
    cr_expect_eq(persistent(g), (2 + 4 + 4 + 4) * count);
    emp_graph_destroy(g);
    g = load_whole(TINY, ",batch=1,seq=8,master=0");
    cr_expect_eq(persistent(g), (2 + 4 + 4) * count);
    emp_graph_destroy(g);
    g = load_whole(TINY, ",batch=1,seq=8,optimizer=sgd,dtype=fp32");
    cr_expect_eq(persistent(g), 4 * count);
    emp_graph_destroy(g);
}

/* Keys and values of 2 layers x 2 heads x 16, for 3 sequences of 50 tokens, 2 bytes each. */
Test(config, holds_keys_and_values_in_a_cache)
{
    static const char *const phases[] = {",phase=decode,batch=3,seq=50",
                                         ",phase=prefill,batch=3,seq=50"};

    for (int i = 0; i < 2; i++) {
        emp_graph *g = load_whole(TINY, phases[i]);
        cr_expect_eq(persistent(g),
                     2 * g->parameter_count + 2LL * 2 * (2 * 2 * 16) * 3 * 50);
        emp_graph_destroy(g);
    }
    emp_graph *g = load_whole(TINY ",\"layer_types\":[\"sliding_attention\","
                                   "\"full_attention\"],\"sliding_window\":10",
                              phases[0]);
    cr_expect_eq(persistent(g),
                 2 * g->parameter_count + 2LL * (2 * 2 * 16) * 3 * (50 + 10));
    emp_graph_destroy(g);
}

/* The latent vector and the rotated key alone: 2 x (512 + 64) bytes a token and layer. */
Test(config, caches_of_latent_attention_hold_the_vector)
{
    const known_model *k = NULL;

    for (int32_t i = 0; i < known_model_count; i++)
        if (known_models[i].file != NULL &&
            strcmp(known_models[i].file, "deepseek-ai--DeepSeek-V3") == 0)
            k = &known_models[i];
    cr_assert_not_null(k);
    emp_graph *g = load_whole(k->config, ",phase=decode,batch=1,seq=4096,dtype=bf16");
    cr_expect_eq(persistent(g), 2 * k->parameters + 61LL * 2 * 576 * 4096);
    emp_graph_destroy(g);
}

/* Quantised or not: what holds or multiplies weights can be on a GPU. */
static void expect_gpu_kernels(const emp_graph *g)
{
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (g->op[op].persistent_bytes > 0 || g->op[op].cost->flops > 0.0)
            cr_expect(g->op[op].kinds & EMP_KIND_GPU, "%s", g->name[op]);
}

/* gpt-oss-20b as it is published: experts in MXFP4, all else in bfloat16, 13.76 GB. */
Test(config, holds_weights_as_they_are_quantised)
{
    static const char mxfp4[] = ",\"quantization_config\":{\"quant_method\":\"mxfp4\"}";
    static const char fp8[] = ",\"quantization_config\":{\"quant_method\":\"fp8\"}";
    char              config[2048];

    for (int32_t i = 0; i < known_model_count; i++) {
        const known_model *k = &known_models[i];
        if (k->file == NULL || strcmp(k->file, "openai--gpt-oss-20b") != 0) continue;
        snprintf(config, sizeof config, "%s%s", k->config, mxfp4);
        emp_graph    *g = load_whole(config, ",phase=decode,batch=1,seq=16");
        const int64_t experts = 24LL * 32 * 3 * 2880 * 2880;
        cr_expect_eq(g->parameter_bytes,
                     2 * (k->parameters - experts) + experts / 32 * 17);
        expect_gpu_kernels(g);
        emp_graph_destroy(g);
        g = load_whole(config, ",phase=decode,batch=1,seq=16,dtype=bf16");
        cr_expect_eq(g->parameter_bytes, 2 * k->parameters);
        emp_graph_destroy(g);
        g = load_whole(config, ",batch=1,seq=16");
        cr_expect_eq(g->parameter_bytes, 2 * k->parameters, "training is not quantised");
        emp_graph_destroy(g);
    }
    /* of the small model the matrices of layers; tables, head and norms are of 2 bytes */
    const int64_t matrices = 2 * (64 * (64 + 32 + 32 + 64) + 3 * 64 * 128);
    snprintf(config, sizeof config, "%s%s", TINY, fp8);
    emp_graph *g = load_whole(config, ",phase=prefill,batch=1,seq=16");
    cr_expect_eq(g->parameter_bytes, 2 * g->parameter_count - matrices);
    expect_gpu_kernels(g);
    emp_graph_destroy(g);
}

/* ---- what is left out ---- */

static const char unread_awq[] =
    TINY ",\"quantization_config\":{\"quant_method\":\"awq\",\"bits\":4}";

/* The warnings about a config, one behind the other, in \a text. */
static const char *warnings_of(char text[2048], const char *members, const char *options)
{
    emp_import_notes notes = {0};
    emp_graph       *step = NULL;
    char             spec[512], config[4096];
    emp_error        err = {0};

    snprintf(config, sizeof config, "{%s}", members);
    scratch_write("config.json", config, strlen(config));
    snprintf(spec, sizeof spec, "hf:path=%s%s", scratch_path("config.json"), options);
    cr_assert_eq(emp_source_load_noted(&step, NULL, NULL, &notes, spec, &err), EMP_OK,
                 "%s", err.msg);
    text[0] = '\0';
    for (int32_t i = 0; i < notes.warning_count; i++) {
        strcat(text, notes.warning[i]);
        strcat(text, "\n");
    }
    emp_import_notes_clear(&notes);
    emp_graph_destroy(step);
    return text;
}

/* The model has 86,848 parameters of 2 bytes. */
Test(config, quantization_that_is_not_read_is_a_warning_with_bytes)
{
    static const struct {
        const char *object, *method;
    } all[] = {
        {"\"quantization_config\":{\"quant_method\":\"awq\",\"bits\":4,\"group_size\":"
         "96}",
         "awq, 4 bits"},
        {"\"quantization_config\":{\"quant_method\":\"aqlm\"}", "aqlm"},
        {"\"quantization_config\":{\"quant_method\":\"modelopt\",\"quant_algo\":"
         "\"INT8_SQ\"}",
         "modelopt, INT8_SQ"},
        {"\"text_config\":{" TINY ",\"quantization_config\":{\"quant_method\":"
         "\"compressed-tensors\",\"config_groups\":{\"group_0\":{\"weights\":{"
         "\"num_bits\":7}}}}}",
         "compressed-tensors, 7 bits"},
        {"\"quantization\":{\"bits\":3,\"group_size\":48}", "of no named method, 3 bits"},
    };
    char text[2048], want[256], members[1024];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(members, sizeof members, TINY ",%s", all[i].object);
        snprintf(want, sizeof want,
                 "weights are quantized in a way that is not read (%s): they count as "
                 "bfloat16, 169.6 KiB in all\n",
                 all[i].method);
        cr_expect_str_eq(warnings_of(text, members, ",phase=decode,batch=1,seq=8"), want);
    }
}

Test(config, a_cache_in_eight_bits_is_a_warning)
{
    static const char *const cases[][2] = {
        {"\"kv_cache_scheme\":{\"dynamic\":false,\"num_bits\":8,\"type\":\"float\"}",
         "keys and values are cached as bfloat16: \"kv_cache_scheme\" (8 bits) is left "
         "out\n"},
        {"\"kv_cache_quant_algo\":\"FP8\"",
         "keys and values are cached as bfloat16: "
         "\"kv_cache_quant_algo\" (FP8) is left out\n"},
        {"\"kv_cache_scheme\":null", ""}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048], members[1024];
        snprintf(members, sizeof members,
                 TINY ",\"quantization_config\":{\"quant_method\":\"fp8\",%s}",
                 cases[i][0]);
        cr_expect_str_eq(warnings_of(text, members, ",phase=decode,batch=1,seq=8"),
                         cases[i][1]);
    }
}

/* Rows of 64 weights are no groups of 128; those of 128 are. */
Test(config, matrices_without_whole_groups_are_a_warning)
{
    static const char awq[] = TINY ",\"quantization_config\":{\"quant_method\":\"awq\","
                                   "\"bits\":4,\"group_size\":128}";
    char              text[2048];

    warnings_of(text, awq, ",phase=decode,batch=1,seq=8");
    cr_expect_not_null(strstr(text, "12 matrices have rows that are no whole groups of "
                                    "their quantization (awq, 4 bits): they count as "
                                    "bfloat16"),
                       "%s", text);
}

Test(config, trained_weights_leave_their_quantization_out_with_a_warning)
{
    static const char fp8[] = TINY ",\"quantization_config\":{\"quant_method\":\"fp8\"}";
    char              text[2048];

    warnings_of(text, fp8, ",phase=train,batch=1,seq=8");
    cr_expect_not_null(strstr(text, "their quantization (fp8) is left out"), "%s", text);
    cr_expect_str_eq(warnings_of(text, fp8, ",phase=decode,batch=1,seq=8"), "");
    cr_expect_str_eq(
        warnings_of(text, unread_awq, ",phase=decode,batch=1,seq=8,dtype=fp16"), "",
        "a type that is asked for");
    cr_expect_str_eq(warnings_of(text, TINY ",\"quantization_config\":null", ""), "");
}

/* 2 layers of 4 x 32 x 32 + 2 x 32 x 128 weights, and patches of 3 x 4 x 4: 26,112 in bfloat16. */
Test(config, towers_that_are_left_out_are_a_warning_with_bytes)
{
    static const char vision[] =
        TINY ",\"vision_config\":{\"num_hidden_layers\":2,\"hidden_size\":32,"
             "\"intermediate_size\":128,\"patch_size\":4}";
    static const char audio[] = TINY ",\"vision_config\":null,\"audio_config\":{\"x\":1}";
    char              text[2048];

    cr_expect_str_eq(warnings_of(text, vision, ",batch=1,seq=8"),
                     "the vision tower (\"vision_config\") is left out: about 26.1 k "
                     "parameters, 51 KiB in bfloat16\n");
    cr_expect_str_eq(
        warnings_of(text, audio, ",batch=1,seq=8"),
        "the audio tower (\"audio_config\") is left out; its config does not "
        "say how large it is\n");
}

/* Sizes of published towers. Counts are those of the modules of transformers 5.24 on the device "meta". */
Test(config, towers_of_known_families_are_counted_with_their_projectors)
{
#define QWEN_VISION                                                                    \
    "\"model_type\":\"qwen3_vl\",\"depth\":27,\"hidden_size\":1152,\"in_channels\":3," \
    "\"intermediate_size\":4304,\"num_position_embeddings\":2304,\"patch_size\":16,"   \
    "\"spatial_merge_size\":2,\"temporal_patch_size\":2"
    static const struct {
        const char *type, *vision, *parameters;
    } cases[] = {
        {"qwen3_vl",
         QWEN_VISION ",\"out_hidden_size\":4096,\"deepstack_visual_indexes\":[8,16,24]",
         "576388336"},
        {"qwen3_vl", QWEN_VISION ",\"out_hidden_size\":5120", "460730096"},
        {"gemma4",
         "\"model_type\":\"gemma4_vision\",\"head_dim\":72,\"hidden_size\":1152,"
         "\"intermediate_size\":4304,\"num_hidden_layers\":27,\"patch_size\":16,"
         "\"position_embedding_size\":10240",
         "572792112"},
        {"kimi_k25",
         "\"init_pos_emb_height\":64,\"init_pos_emb_width\":64,\"merge_kernel_size\":[2,"
         "2],"
         "\"patch_size\":14,\"vt_hidden_size\":1152,\"vt_intermediate_size\":4304,"
         "\"vt_num_hidden_layers\":27",
         "471143920"},
        {"minimax_m3_vl",
         "\"hidden_size\":1280,\"num_hidden_layers\":32,\"intermediate_size\":5120,"
         "\"patch_size\":14,\"num_channels\":3,\"img_token_compression_config\":"
         "{\"spatial_merge_size\":2,\"temporal_patch_size\":2}",
         "865567232"}};
    static const int32_t text[] = {4096, 5120, 2816, 7168, 6144}; /* hidden sizes */

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char              config[1024], want[64];
        emp_json_document d = {0};
        emp_import_notes  notes = {0};
        snprintf(config, sizeof config,
                 "{\"model_type\":\"%s\",\"projector_hidden_size\":6144,\"text_config\":"
                 "{\"hidden_size\":%d},\"vision_config\":{%s}}",
                 cases[i].type, text[i], cases[i].vision);
        snprintf(want, sizeof want, "is left out: %s parameters", cases[i].parameters);
        cr_assert_eq(emp_json_parse(&d, config, strlen(config), NULL), EMP_OK);
        emp_towers_note(&notes, d.root, EMP_DTYPE_BFLOAT16);
        cr_assert_eq(notes.warning_count, 1);
        cr_expect_not_null(strstr(notes.warning[0], want), "%s: %s", cases[i].type,
                           notes.warning[0]);
        emp_import_notes_clear(&notes);
        emp_json_clear(&d);
    }
}

/* ---- structure ---- */

static emp_op_id find(const emp_graph *g, const char *name)
{
    emp_op_id op = emp_graph_find(g, name);

    cr_assert_geq(op, 0, "no op \"%s\"", name);
    return op;
}

static int32_t class_of(const emp_graph *g, const char *name)
{
    return g->op[find(g, name)].colocation_class;
}

/* As a device map by module path would have it. */
Test(config, binds_a_module_to_one_device)
{
    emp_graph *g = load_whole(TINY, ",batch=1,seq=8");
    int32_t    q = class_of(g, "model.layers.1.self_attn.q_proj");

    cr_expect_eq(class_of(g, "model.layers.1.self_attn.q_proj.weight"), q);
    cr_expect_eq(class_of(g, "model.layers.1.self_attn.q_proj.weight/exp_avg"), q);
    cr_expect_eq(class_of(g, "model.layers.1.self_attn.q_proj.weight/update"), q);
    cr_expect_eq(class_of(g, "model.layers.1.self_attn.q_proj/grad_weight"), q);
    cr_expect_eq(class_of(g, "model.layers.1.self_attn.q_proj/grad_input"), q);
    cr_expect_neq(class_of(g, "model.layers.1.self_attn.k_proj"), q);
    cr_expect_neq(class_of(g, "model.layers.0.self_attn.q_proj"), q);
    cr_expect_eq(class_of(g, "model.layers.1.self_attn"),
                 class_of(g, "model.layers.1.self_attn/grad"));
    emp_graph_destroy(g);
}

Test(config, tied_heads_share_the_table)
{
    emp_graph *g = load_whole(TINY ",\"tie_word_embeddings\":true", ",batch=1,seq=8");

    cr_expect_eq(class_of(g, "lm_head"), class_of(g, "model.embed_tokens.weight"));
    cr_expect_eq(emp_graph_find(g, "lm_head.weight"), -1);
    emp_graph_destroy(g);
    g = load_whole(TINY, ",batch=1,seq=8");
    cr_expect_neq(class_of(g, "lm_head.weight"),
                  class_of(g, "model.embed_tokens.weight"));
    emp_graph_destroy(g);
}

/* Each weight has an update, and each update waits for all gradients. */
Test(config, every_weight_is_updated)
{
    for (int32_t i = 0; i < known_model_count; i++) {
        const known_model *k = &known_models[i];
        if (k->layers == 0) continue;
        emp_graph *g = load_whole(k->config, ",batch=1,seq=4");
        int32_t    weights = 0, updates = 0;
        for (emp_op_id op = 0; op < g->op_count; op++) {
            const char *name = g->name[op], *last = strrchr(name, '/');
            bool        is_state = last != NULL && (strcmp(last, "/exp_avg") == 0 ||
                                             strcmp(last, "/exp_avg_sq") == 0 ||
                                             strcmp(last, "/master") == 0);
            weights += (g->op[op].flags & EMP_OP_IS_VARIABLE) && !is_state &&
                       !(g->op[op].flags & EMP_OP_IS_STATE);
            if (last == NULL || strcmp(last, "/update") != 0) continue;
            updates++;
            const emp_tensor *weight = &g->tensor[g->input[g->input_offset[op]]];
            const emp_tensor *gradient =
                &g->tensor[g->input[g->input_offset[op + 1] - 1]];
            cr_expect(emp_shape_equal(weight->shape, gradient->shape),
                      "%s: the gradient has another shape", name);
        }
        cr_expect_eq(weights, updates, "%s: %d weights, %d updates", k->file, weights,
                     updates);
        emp_graph_destroy(g);
    }
}

/* ---- what cannot be read ---- */

static void expect_refused(const char *members, const char *options, emp_status want,
                           const char *part)
{
    emp_graph *whole = NULL, *step = NULL;
    emp_error  err = {0};

    cr_expect_eq(load(&whole, &step, members, options, &err), want, "%s: %s", members,
                 err.msg);
    cr_expect_not_null(strstr(err.msg, part), "\"%s\" in \"%s\"", part, err.msg);
    cr_expect_null(step);
    emp_graph_destroy(whole);
    emp_graph_destroy(step);
}

Test(config, refuses_in_one_sentence)
{
    expect_refused(
        "\"model_type\":\"t5\"", "", EMP_EUNSUPPORTED,
        "the model type \"t5\" is not known; there are llama, qwen2, qwen3, qwen");
    expect_refused("\"model_type\":\"t5\"", "", EMP_EUNSUPPORTED, "bert and their kin");
    expect_refused("\"hidden_size\":3", "", EMP_EFORMAT, "\"model_type\" is missing");
    expect_refused("\"model_type\":\"llama\",\"num_hidden_layers\":2", "", EMP_EFORMAT,
                   "\"num_attention_heads\" of a llama model is missing");
    expect_refused(TINY ",\"head_dim\":-5", "", EMP_EFORMAT, "\"head_dim\"");
    expect_refused(TINY ",\"head_dim\":5000000", "", EMP_EINVAL,
                   "the size of a head is 5000000");
    expect_refused(TINY ",\"sliding_window\":\"wide\"", "", EMP_EFORMAT,
                   "\"sliding_window\"");
    expect_refused(TINY ",\"attention_bias\":3", "", EMP_EFORMAT,
                   "is neither true nor false");
    expect_refused(TINY ",\"layer_types\":[\"full_attention\"]", "", EMP_EFORMAT,
                   "1 texts for 2 layers");
    expect_refused(TINY ",\"layer_types\":[\"linear_attention\",\"full_attention\"]", "",
                   EMP_EUNSUPPORTED, "\"linear_attention\"");
    expect_refused("\"model_type\":\"llama\",\"hidden_act\":\"softsign\","
                   "\"hidden_size\":64,\"num_attention_heads\":4,"
                   "\"num_hidden_layers\":2,\"vocab_size\":100",
                   "", EMP_EUNSUPPORTED, "the activation \"softsign\"");
    expect_refused("\"model_type\":\"llama\",\"hidden_size\":64,"
                   "\"num_attention_heads\":4,\"num_key_value_heads\":3,"
                   "\"num_hidden_layers\":2,\"vocab_size\":100",
                   "", EMP_EINVAL, "4 heads cannot share 3 key heads");
    expect_refused(TINY, ",phase=sleep", EMP_EINVAL, "train");
    expect_refused(TINY, ",batch=0", EMP_EINVAL, "batch");
    expect_refused(TINY, ",sequence=5", EMP_EINVAL, "seq");
    expect_refused(TINY, ",batch=1048576,seq=16777216", EMP_EINVAL, "tokens");
}

Test(config, refuses_steps_that_a_model_does_not_have)
{
    static const char bert[] =
        "\"model_type\":\"bert\",\"hidden_size\":64,\"num_attention_heads\":4,"
        "\"num_hidden_layers\":2,\"max_position_embeddings\":32,\"vocab_size\":100";

    expect_refused(bert, ",phase=decode,seq=8", EMP_EUNSUPPORTED, "an encoder writes no");
    expect_refused(bert, ",seq=8", EMP_EUNSUPPORTED, "no head");
    expect_refused(bert, ",phase=prefill,seq=33", EMP_EINVAL, "learned 32 positions");
}

/* The file itself is a graph with the defaults of all keys. */
Test(config, is_a_graph_file)
{
    emp_graph *file = NULL, *spec = NULL, *whole = NULL;
    emp_error  err = {0};

    cr_assert_eq(load(&whole, &spec, TINY, "", &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_source_load(&file, NULL, NULL, scratch_path("config.json"), &err),
                 EMP_OK, "%s", err.msg);
    cr_expect_eq(file->hash, spec->hash);
    emp_graph_destroy(file);
    emp_graph_destroy(spec);
    emp_graph_destroy(whole);
    scratch_write("config.json", "{\"model_type\": 3}", 17);
    cr_expect_neq(emp_source_load(&file, NULL, NULL, scratch_path("config.json"), &err),
                  EMP_OK);
}

/* json.dumps() writes Infinity and NaN: where nothing reads them they change nothing. */
Test(config, reads_numbers_that_are_not_finite_as_python_writes_them)
{
    static const char odd[] =
        TINY ",\"time_step_limit\":[0.0,Infinity,-Infinity],\"attention_scale\":NaN";
    emp_graph *plain = load_whole(TINY, ""), *g = load_whole(odd, "");

    cr_expect_eq(g->hash, plain->hash);
    emp_graph_destroy(g);
    emp_graph_destroy(plain);
    expect_refused(TINY ",\"head_dim\":Infinity", "", EMP_EFORMAT,
                   "\"head_dim\" of a llama model is no whole number");
    expect_refused(TINY ",\"attention_bias\":NaN", "", EMP_EFORMAT,
                   "is neither true nor false");
    expect_refused("\"model_type\":-Infinity", "", EMP_EFORMAT, "is no text");
}

/* Quantised models list the modules that are not; then a config has more than a mebibyte. */
static size_t write_long_config(char *text)
{
    size_t used = (size_t)sprintf(text, "{%s,\"ignored\":[\"x\"", TINY);

    while (used < LONG_BYTES)
        used += (size_t)sprintf(text + used, ",\"model.layers.%zu.self_attn\"", used);
    return used + (size_t)sprintf(text + used, "]}");
}

static void expect_hash_of_tiny(const char *name, bool is_spec)
{
    emp_graph *tiny = load_whole(TINY, ""), *g = NULL, *step = NULL;
    emp_error  err = {0};
    char       spec[512];

    snprintf(spec, sizeof spec, "%s%s", is_spec ? "hf:path=" : "", scratch_path(name));
    cr_assert_eq(emp_source_load(&step, &g, NULL, spec, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(g->hash, tiny->hash, "%s", spec);
    emp_graph_destroy(g);
    emp_graph_destroy(step);
    emp_graph_destroy(tiny);
}

Test(config, may_be_long_and_packed)
{
    char  *text = emp_calloc(LONG_BYTES + 4096, 1);
    size_t size = write_long_config(text);
    gzFile packed = gzopen(scratch_path("packed"), "wb");

    scratch_write("long.json", text, size);
    cr_assert_eq(gzwrite(packed, text, (unsigned)size), (int)size);
    cr_assert_eq(gzclose(packed), Z_OK);
    emp_free(text);
    for (int is_spec = 0; is_spec < 2; is_spec++) {
        expect_hash_of_tiny("long.json", is_spec);
        expect_hash_of_tiny("packed", is_spec);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(config, refuses_specs_without_a_config)
{
    emp_graph *step = NULL;
    emp_error  err = {0};

    cr_expect_eq(emp_source_load(&step, NULL, NULL, "hf", &err), EMP_EINVAL);
    err = (emp_error){0};
    cr_expect_eq(emp_source_load(&step, NULL, NULL, "hf:batch=3", &err), EMP_EINVAL);
    cr_expect_not_null(strstr(err.msg, "hf needs the path of a file"));
    err = (emp_error){0};
    cr_expect_eq(emp_source_load(&step, NULL, NULL, "hf:path=/nowhere.json", &err),
                 EMP_EIO);
}

Test(config, survives_every_allocation_failure)
{
    emp_graph       *whole = NULL, *step = NULL;
    emp_import_notes notes = {0};
    char             text[1024];

    snprintf(text, sizeof text, "{%s}", unread_awq);
    scratch_write("config.json", text, strlen(text));
    char spec[512];
    snprintf(spec, sizeof spec, "hf:path=%s,batch=1,seq=4", scratch_path("config.json"));
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_source_load_noted(&step, &whole, NULL, &notes, spec, NULL),
        emp_import_notes_clear(&notes));
    emp_import_notes_clear(&notes);
    emp_graph_destroy(whole);
    emp_graph_destroy(step);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
