// SPDX-License-Identifier: GPL-3.0-or-later
/* Do models with scans, indexers and compressed keys have the parameters that are published, and a token the FLOPs and a
 * sequence the bytes that they have on paper? */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/load.h"
#include "tests/graphs/import/models/known_hybrid.h"
#include "tests/graphs/import/models/published.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

enum { TEXT_BYTES = 2048 };

TestSuite(hybrid, .init = scratch_create, .fini = scratch_remove);

/* The step of a spec whose path is the scratch file "config.json" of that text. */
static emp_status load(emp_graph **whole, emp_graph **step, const char *config,
                       const char *options, emp_error *err)
{
    char spec[512];

    scratch_write("config.json", config, strlen(config));
    snprintf(spec, sizeof spec, "hf:path=%s%s", scratch_path("config.json"), options);
    return emp_source_load(step, whole, NULL, spec, err);
}

static emp_graph *load_whole(const published_model *m, const char *options)
{
    emp_graph *whole = NULL, *step = NULL;
    emp_error  err = {0};

    cr_assert_eq(load(&whole, &step, m->config, options, &err), EMP_OK, "%s%s: %s",
                 m->name, options, err.msg);
    emp_graph_destroy(step);
    return whole;
}

static emp_op_id find(const emp_graph *g, const char *name)
{
    emp_op_id op = emp_graph_find(g, name);

    cr_assert_geq(op, 0, "no op \"%s\"", name);
    return op;
}

Test(hybrid, has_the_parameters_of_the_formula)
{
    for (int32_t i = 0; i < known_hybrid_count; i++)
        if (known_hybrids[i].parameters > 0)
            cr_expect_eq(published_model_named(known_hybrids[i].name)->parameters,
                         known_hybrids[i].parameters, "%s", known_hybrids[i].name);
}

Test(hybrid, a_token_takes_the_flops_of_the_formula)
{
    char options[64];

    snprintf(options, sizeof options, ",phase=decode,batch=1,seq=%d", HYBRID_TOKENS);
    for (int32_t i = 0; i < known_hybrid_count; i++) {
        const known_hybrid *k = &known_hybrids[i];
        emp_graph          *whole = NULL, *step = NULL;
        cr_assert_eq(
            load(&whole, &step, published_model_named(k->name)->config, options, NULL),
            EMP_OK);
        cr_expect_lt(fabs(step->flops / k->flops - 1), 0.01, "%s: %.5g FLOP, want %.5g",
                     k->name, step->flops, k->flops);
        emp_graph_destroy(whole);
        emp_graph_destroy(step);
    }
}

static int64_t persistent(const emp_graph *g)
{
    int64_t bytes = 0;

    for (emp_op_id op = 0; op < g->op_count; op++) bytes += g->op[op].persistent_bytes;
    return bytes;
}

/* A prompt leaves what the tokens behind it read. */
Test(hybrid, a_sequence_keeps_the_bytes_of_its_caches_and_states)
{
    static const char *const phases[] = {"decode", "prefill"};
    char                     options[80];

    for (int32_t i = 0; i < known_hybrid_count; i++)
        for (size_t p = 0; p < 2; p++) {
            const known_hybrid    *k = &known_hybrids[i];
            const published_model *m = published_model_named(k->name);
            snprintf(options, sizeof options, ",phase=%s,batch=1,seq=%d,dtype=bf16",
                     phases[p], HYBRID_TOKENS);
            emp_graph *g = load_whole(m, options);
            cr_expect_eq(persistent(g) - 2 * m->parameters, k->kept,
                         "%s, %s: %lld bytes, want %lld", k->name, phases[p],
                         (long long)(persistent(g) - 2 * m->parameters),
                         (long long)k->kept);
            emp_graph_destroy(g);
        }
}

/* ---- training ---- */

static bool ends_in(const char *name, const char *ending)
{
    size_t length = strlen(name), part = strlen(ending);

    return length >= part && strcmp(name + length - part, ending) == 0;
}

/* Indexers, too, which a loss of their own trains. */
Test(hybrid, every_weight_is_updated_by_a_gradient_of_its_shape)
{
    int32_t                count;
    const published_model *models = published_models(&count);

    for (int32_t i = 0; i < count; i++) {
        const published_model *k = &models[i];
        emp_graph             *g = load_whole(k, ",batch=1,seq=8");
        int32_t                weights = 0, updates = 0;
        for (emp_op_id op = 0; op < g->op_count; op++) {
            const char *name = g->name[op];
            bool is_of_adam = ends_in(name, "/exp_avg") || ends_in(name, "/exp_avg_sq") ||
                              ends_in(name, "/master");
            weights += (g->op[op].flags & EMP_OP_IS_VARIABLE) && !is_of_adam &&
                       !(g->op[op].flags & EMP_OP_IS_STATE);
            if (!ends_in(name, "/update")) continue;
            updates++;
            const emp_tensor *weight = &g->tensor[g->input[g->input_offset[op]]];
            const emp_tensor *gradient =
                &g->tensor[g->input[g->input_offset[op + 1] - 1]];
            cr_expect(emp_shape_equal(weight->shape, gradient->shape),
                      "%s: %s has a gradient of another shape", k->name, name);
        }
        cr_expect_eq(weights, updates, "%s: %d weights, %d updates", k->name, weights,
                     updates);
        emp_graph_destroy(g);
    }
}

/* The forward pass, twice as much backward, and what scans and attention compute again. */
Test(hybrid, a_training_step_takes_between_three_and_four_forward_passes)
{
    for (int32_t i = 0; i < known_hybrid_count; i++) {
        const known_hybrid *k = &known_hybrids[i];
        emp_graph          *whole = NULL, *step = NULL;
        double              updates = 0, forward = 0;
        cr_assert_eq(load(&whole, &step, published_model_named(k->name)->config,
                          ",batch=1,seq=512,optimizer=sgd", NULL),
                     EMP_OK);
        for (emp_op_id op = 0; op < step->op_count; op++) {
            const emp_op_cost *c = step->op[op].cost;
            if (c->op_class == EMP_OP_OPTIMIZER) updates += c->flops;
            if (strstr(step->name[op], "/grad") == NULL &&
                c->op_class != EMP_OP_OPTIMIZER)
                forward += c->flops;
        }
        double ratio = (step->flops - updates) / forward;
        cr_expect(ratio > 2.9 && ratio < 3.3, "%s: %g", k->name, ratio);
        emp_graph_destroy(whole);
        emp_graph_destroy(step);
    }
}

/* ---- structure ---- */

static int32_t class_of(const emp_graph *g, const char *name)
{
    return g->op[find(g, name)].colocation_class;
}

Test(hybrid, states_are_where_their_scan_is)
{
    emp_graph *g = load_whole(published_model_named("Qwen/Qwen3.5-27B"),
                              ",phase=decode,batch=1,seq=8");

    cr_expect_eq(class_of(g, "model.layers.1.linear_attn.state"),
                 class_of(g, "model.layers.1.linear_attn"));
    cr_expect_eq(class_of(g, "model.layers.1.linear_attn.conv1d.state"),
                 class_of(g, "model.layers.1.linear_attn.conv1d"));
    cr_expect_eq(class_of(g, "model.layers.1.linear_attn.conv1d.weight"),
                 class_of(g, "model.layers.1.linear_attn.conv1d"));
    cr_expect_eq(emp_graph_find(g, "model.layers.3.linear_attn"), -1, "attention");
    emp_graph_destroy(g);
}

/* Prompts of more tokens than the indexer chooses gather keys that all heads share. */
Test(hybrid, long_prompts_attend_to_shared_keys)
{
    const published_model *k = published_model_named("deepseek-ai/DeepSeek-V3.2");
    emp_graph  *g = load_whole(k, ",phase=prefill,batch=1,seq=2048,dtype=fp32");
    const char *cache = "model.layers.0.self_attn.key_cache";

    cr_expect_geq(emp_graph_find(g, "model.layers.0.self_attn.kv_b_proj"), 0);
    cr_expect_eq(g->op[find(g, cache)].persistent_bytes, 2048LL * 576 * 4);
    emp_graph_destroy(g);
    g = load_whole(k, ",phase=prefill,batch=1,seq=2049,dtype=fp32");
    cr_expect_eq(emp_graph_find(g, "model.layers.0.self_attn.kv_b_proj"), -1);
    cr_expect_geq(emp_graph_find(g, "model.layers.0.self_attn/absorb_keys"), 0);
    emp_graph_destroy(g);
}

/* ---- what cannot be read ---- */

static void expect_refused(const char *members, const char *options, emp_status want,
                           const char *part)
{
    emp_graph *whole = NULL, *step = NULL;
    emp_error  err = {0};
    char       text[TEXT_BYTES];

    snprintf(text, sizeof text, "{%s}", members);
    cr_expect_eq(load(&whole, &step, text, options, &err), want, "%s: %s", members,
                 err.msg);
    cr_expect_not_null(strstr(err.msg, part), "\"%s\" in \"%s\"", part, err.msg);
    cr_expect_null(step);
    emp_graph_destroy(whole);
    emp_graph_destroy(step);
}

#define SMALL                                                               \
    "\"hidden_act\":\"silu\",\"hidden_size\":64,\"num_attention_heads\":4," \
    "\"num_key_value_heads\":2,\"intermediate_size\":128,\"vocab_size\":100,"
#define SMALL_SCAN                                             \
    "\"linear_num_key_heads\":2,\"linear_num_value_heads\":3," \
    "\"linear_key_head_dim\":8,\"linear_value_head_dim\":8,"

Test(hybrid, refuses_in_one_sentence)
{
    expect_refused("\"model_type\":\"qwen3_5\"," SMALL "\"num_hidden_layers\":4", "",
                   EMP_EFORMAT, "\"linear_num_key_heads\" of a qwen3_5 model is missing");
    expect_refused("\"model_type\":\"qwen3_5\"," SMALL SMALL_SCAN
                   "\"num_hidden_layers\":4",
                   "", EMP_EINVAL, "3 heads of a scan cannot share 2 key heads evenly");
    expect_refused("\"model_type\":\"qwen3_5\"," SMALL SMALL_SCAN
                   "\"num_hidden_layers\":2,\"layer_types\":[\"linear_attention\","
                   "\"round_attention\"]",
                   "", EMP_EUNSUPPORTED,
                   "layer 1 is of type \"round_attention\"; full_attention and "
                   "linear_attention are known");
    expect_refused("\"model_type\":\"nemotron_h\"," SMALL
                   "\"hybrid_override_pattern\":\"*X\"",
                   "", EMP_EUNSUPPORTED,
                   "layer 1 is of type \"X\"; mamba, attention, mlp and moe are known");
    expect_refused("\"model_type\":\"nemotron_h\"," SMALL "\"num_hidden_layers\":2,"
                   "\"layers_block_type\":[\"attention\"]",
                   "", EMP_EFORMAT, "\"layers_block_type\" has 1 texts for 2 layers");
    expect_refused("\"model_type\":\"nemotron-nas\"," SMALL "\"num_hidden_layers\":1", "",
                   EMP_EFORMAT, "\"block_configs\" has no attention and ffn for layer 0");
    expect_refused("\"model_type\":\"nemotron-nas\"," SMALL "\"num_hidden_layers\":1,"
                   "\"block_configs\":[{\"attention\":{\"n_heads_in_group\":3},"
                   "\"ffn\":{\"ffn_mult\":-1}}]",
                   "", EMP_EINVAL, "the inner size is 2147483647");
    expect_refused("\"model_type\":\"deepseek_v4\"," SMALL
                   "\"num_hidden_layers\":2,\"moe_intermediate_size\":8,"
                   "\"q_lora_rank\":8,\"o_lora_rank\":8,\"o_groups\":2,\"hc_mult\":2,"
                   "\"index_n_heads\":2,\"index_head_dim\":8,\"index_topk\":4,"
                   "\"n_routed_experts\":2,\"num_experts_per_tok\":1,"
                   "\"sliding_window\":4,\"compress_ratios\":[4]",
                   "", EMP_EFORMAT, "\"compress_ratios\" has no number for layer 1");
}

Test(hybrid, a_shared_indexer_needs_one_before_it)
{
    expect_refused("\"model_type\":\"glm_moe_dsa\"," SMALL
                   "\"num_hidden_layers\":1,\"q_lora_rank\":8,\"kv_lora_rank\":8,"
                   "\"qk_nope_head_dim\":8,\"qk_rope_head_dim\":8,\"v_head_dim\":8,"
                   "\"index_n_heads\":2,\"index_head_dim\":8,\"index_topk\":4,"
                   "\"indexer_types\":[\"shared\"]",
                   "", EMP_EINVAL, "layer 0 shares the indexer of an earlier layer");
}

/* A model with most of what these types have, in few layers. */
Test(hybrid, survives_every_allocation_failure)
{
    static const char *const small[] = {
        "\"model_type\":\"kimi_linear\"," SMALL
        "\"num_hidden_layers\":3,\"kv_lora_rank\":8,\"qk_nope_head_dim\":8,"
        "\"qk_rope_head_dim\":8,\"v_head_dim\":8,\"num_experts\":2,"
        "\"num_experts_per_token\":1,\"moe_intermediate_size\":8,"
        "\"routed_expert_hidden_size\":16,\"latent_moe_use_norm\":true,"
        "\"attn_res_block_size\":2,\"mla_use_output_gate\":true,"
        "\"linear_attn_config\":{\"num_heads\":2,\"head_dim\":8,\"kda_layers\":[1,2]}",
        "\"model_type\":\"deepseek_v4\"," SMALL
        "\"num_hidden_layers\":2,\"moe_intermediate_size\":8,\"q_lora_rank\":8,"
        "\"o_lora_rank\":8,\"o_groups\":2,\"hc_mult\":2,\"index_n_heads\":2,"
        "\"index_head_dim\":8,\"index_topk\":4,\"n_routed_experts\":2,"
        "\"num_experts_per_tok\":1,\"num_hash_layers\":1,\"sliding_window\":4,"
        "\"compress_ratios\":[4,8]"};

    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        emp_graph *whole = NULL, *step = NULL;
        char       text[2048], spec[512];
        snprintf(text, sizeof text, "{%s}", small[i]);
        scratch_write("config.json", text, strlen(text));
        snprintf(spec, sizeof spec, "hf:path=%s,batch=1,seq=16",
                 scratch_path("config.json"));
        SURVIVES_EVERY_ALLOCATION_FAILURE(
            emp_source_load(&step, &whole, NULL, spec, NULL), (void)0);
        emp_graph_destroy(whole);
        emp_graph_destroy(step);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* As transformers fills it: configs of small models often leave out what is the type's default. */
Test(hybrid, members_that_are_left_out_have_the_defaults_of_the_type)
{
    static const char *const pairs[][2] = {
        {"{\"model_type\":\"qwen3_5_text\",\"hidden_size\":512,\"num_hidden_layers\":4,"
         "\"vocab_size\":1000}",
         "{\"model_type\":\"qwen3_5_text\",\"hidden_size\":512,\"num_hidden_layers\":4,"
         "\"vocab_size\":1000,\"num_attention_heads\":16,\"num_key_value_heads\":4,"
         "\"head_dim\":256,\"intermediate_size\":12288,\"linear_num_key_heads\":16,"
         "\"linear_num_value_heads\":32,\"linear_key_head_dim\":128,"
         "\"linear_value_head_dim\":128,\"linear_conv_kernel_dim\":4}"},
        {"{\"model_type\":\"nemotron_h\",\"hidden_size\":512,\"vocab_size\":1000,"
         "\"hybrid_override_pattern\":\"M*-\"}",
         "{\"model_type\":\"nemotron_h\",\"hidden_size\":512,\"vocab_size\":1000,"
         "\"hybrid_override_pattern\":\"M*-\",\"num_attention_heads\":32,"
         "\"num_key_value_heads\":8,\"head_dim\":128,\"intermediate_size\":21504,"
         "\"ssm_state_size\":128,\"mamba_num_heads\":128,\"mamba_head_dim\":64,"
         "\"n_groups\":8,\"conv_kernel\":4,\"chunk_size\":128}"},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        int64_t count[2];
        for (int k = 0; k < 2; k++) {
            emp_graph *g = NULL;
            emp_error  err = {0};
            char       spec[512];
            scratch_write("config.json", pairs[i][k], strlen(pairs[i][k]));
            snprintf(spec, sizeof spec, "hf:path=%s", scratch_path("config.json"));
            cr_assert_eq(emp_source_load(&g, NULL, NULL, spec, &err), EMP_OK, "%s",
                         err.msg);
            count[k] = g->parameter_count;
            emp_graph_destroy(g);
        }
        cr_expect_eq(count[0], count[1], "%lld and %lld", (long long)count[0],
                     (long long)count[1]);
    }
}
