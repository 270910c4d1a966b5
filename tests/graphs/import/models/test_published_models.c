// SPDX-License-Identifier: GPL-3.0-or-later
/* Do the configs of published models have the published parameters, the bytes of their quantised checkpoints, and a
 * default step that every machine simulates? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/load.h"
#include "sim/engine/sim.h"
#include "tests/graphs/import/models/known.h"
#include "tests/graphs/import/models/published.h"
#include "tests/support/scratch.h"

TestSuite(published_models, .init = scratch_create, .fini = scratch_remove);

/* The step of a config, a JSON object. */
static emp_graph *load(emp_graph **whole, const char *name, const char *config,
                       const char *options)
{
    char       spec[512];
    emp_graph *step = NULL;
    emp_error  err = {0};

    scratch_write("config.json", config, strlen(config));
    snprintf(spec, sizeof spec, "hf:path=%s%s", scratch_path("config.json"), options);
    cr_assert_eq(emp_source_load(&step, whole, NULL, spec, &err), EMP_OK, "%s%s: %s",
                 name, options, err.msg);
    return step;
}

Test(published_models, each_phase_has_the_published_parameters)
{
    static const char *const phases[] = {",phase=prefill", ",phase=decode", ""};
    int32_t                  count;
    const published_model   *models = published_models(&count);

    cr_assert_geq(count, 25);
    for (int32_t i = 0; i < count; i++)
        for (size_t p = 0; p < sizeof phases / sizeof *phases; p++) {
            const published_model *m = &models[i];
            char                   options[64];
            emp_graph             *g = NULL;
            snprintf(options, sizeof options, "%s,batch=1,seq=16", phases[p]);
            emp_graph_destroy(load(&g, m->name, m->config, options));
            cr_expect_eq(g->parameter_count, m->parameters, "%s%s: %lld, want %lld by %s",
                         m->name, phases[p], (long long)g->parameter_count,
                         (long long)m->parameters, m->source);
            cr_expect_eq(g->unknown_op_count, 0);
            cr_expect_eq(g->unknown_shape_count, 0);
            emp_graph_destroy(g);
        }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* ---- quantised checkpoints ---- */

#define FP8_TILES "\"quant_method\":\"fp8\",\"weight_block_size\":[128,128]"
#define NVFP4     "\"quant_method\":\"modelopt\",\"quant_algo\":\"NVFP4\",\"ignore\":"
#define OF_TARGETS(group)                                                      \
    "\"quant_method\":\"compressed-tensors\",\"config_groups\":{\"group_0\":{" \
    "\"targets\":[\"Linear\"],\"weights\":" group "}}"

/* Bytes are those of a script that applies the rules of the libraries to the linear layers of transformers' modules,
 * without the heads that predict more tokens and the scales of whole tensors. gpt-oss: those of the published index. */
static const struct {
    const char *model, *quantization;
    int64_t     bytes;
} stored[] = {
    {"openai--gpt-oss-20b",
     "\"quant_method\":\"mxfp4\",\"modules_to_not_convert\":[\"model.layers.*.self_"
     "attn\","
     "\"model.layers.*.mlp.router\",\"model.embed_tokens\",\"lm_head\"]",
     13761264768},
    {"openai--gpt-oss-120b", "\"quant_method\":\"mxfp4\"", 65248815744},
    {"deepseek-ai--DeepSeek-V3", FP8_TILES, 673150582112},
    {"deepseek-ai/DeepSeek-V3.2", FP8_TILES, 674030307520},
    {"MiniMaxAI/MiniMax-M2.5",
     FP8_TILES
     ",\"modules_to_not_convert\":[\"gate\",\"e_score_correction_bias\",\"lm_head\"]",
     230024081408},
    {"XiaomiMiMo/MiMo-V2-Flash", FP8_TILES, 310153446528},
    {"zai-org/GLM-5",
     FP8_TILES ",\"modules_to_not_convert\":[\"lm_head\",\"model.embed_tokens\"]",
     746130016512},
    {"zai-org/GLM-5",
     NVFP4 "[\"lm_head\",\"*self_attn*\",\"*shared_experts*\",\"model.layers.0.*\","
           "\"model.layers.1.*\",\"model.layers.2.*\"]",
     445957323264},
    {"Qwen--Qwen3-32B", FP8_TILES, 34326243328},
    {"Qwen--Qwen3-30B-A3B", FP8_TILES ",\"modules_to_not_convert\":[\"lm_head\"]",
     31174545408},
    {"Qwen/Qwen3.5-122B-A10B",
     NVFP4 "[\"lm_head\",\"*linear_attn*\",\"*self_attn*\",\"*shared_expert*\",\"mtp*\"]",
     77524635648},
    {"google/gemma-4-31B-it",
     NVFP4 "[\"lm_head\",\"model.language_model.layers.*.self_attn*\"]", 31481766400},
    {"MiniMaxAI/MiniMax-M2.5",
     NVFP4 "[\"lm_head\",\"*block_sparse_moe.gate\",\"*self_attn*\"]", 134401344512},
    {"moonshotai--Kimi-K2-Instruct", FP8_TILES, 1029173203808},
    {"moonshotai--Kimi-K2-Instruct",
     OF_TARGETS(
         "{\"num_bits\":4,\"type\":\"int\",\"strategy\":\"group\",\"group_size\":32,"
         "\"symmetric\":true}") ",\"ignore\":[\"lm_head\",\"re:.*self_attn.*\",\"re:.*"
                                "shared_experts.*\","
                                "\"re:.*mlp\\\\.(gate|up|gate_up|down)_proj.*\"]",
     594205305856},
    {"moonshotai--Kimi-K2-Instruct",
     NVFP4 "[\"language_model.lm_head\",\"language_model.model.layers.*.self_attn*\"]",
     589837069312},
};

/* The members of a config: a row of the table, or a model of known.c. */
static void write_config(char *text, size_t size, const char *model, const char *more)
{
    for (int32_t i = 0; i < known_model_count; i++)
        if (known_models[i].file != NULL && strcmp(known_models[i].file, model) == 0) {
            snprintf(text, size, "{%s,\"dtype\":\"bfloat16\",%s}", known_models[i].config,
                     more);
            return;
        }
    const char *config = published_model_named(model)->config;
    snprintf(text, size, "{%s,%s", more, config + 1);
}

Test(published_models, tokens_are_decoded_with_the_bytes_of_the_checkpoint)
{
    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
        char       text[8192], more[1024];
        emp_graph *g = NULL;
        snprintf(more, sizeof more, "\"quantization_config\":{%s}",
                 stored[i].quantization);
        write_config(text, sizeof text, stored[i].model, more);
        emp_graph_destroy(
            load(&g, stored[i].model, text, ",phase=decode,batch=1,seq=16"));
        cr_expect_eq(g->parameter_bytes, stored[i].bytes, "%s, %s: %lld, want %lld",
                     stored[i].model, stored[i].quantization,
                     (long long)g->parameter_bytes, (long long)stored[i].bytes);
        emp_graph_destroy(g);
    }
}

/* ---- machines ---- */

static void expect_step(const emp_graph *g, const emp_machine *m, const char *name)
{
    emp_runtime    profile;
    emp_problem   *p = NULL;
    emp_sim       *sim = NULL;
    emp_sim_result r = {0};
    emp_error      err = {0};
    emp_device_id *device_of_op = calloc((size_t)g->op_count, sizeof *device_of_op);

    cr_assert_not_null(device_of_op);
    cr_assert_eq(emp_runtime_init(&profile, "torch-eager", &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_problem_create(&p, g, m, &profile, name, &err), EMP_OK,
                 "%s on %s: %s", name, m->name, err.msg);
    for (emp_op_id op = 0; op < g->op_count; op++) device_of_op[op] = m->device_count - 1;
    emp_problem_legalize(p, device_of_op);
    cr_assert_eq(emp_sim_create(&sim, p, &err), EMP_OK, "%s on %s: %s", name, m->name,
                 err.msg);
    cr_expect_eq(emp_sim_run_traced(sim, device_of_op, NULL, &r, &err), EMP_OK,
                 "%s on %s: %s", name, m->name, err.msg);
    cr_expect_gt(r.step_time_ns, 0);
    cr_expect(r.is_feasible ? r.oom_device < 0 : r.oom_device >= 0 && r.oom_bytes > 0,
              "%s on %s: no verdict", name, m->name);
    emp_sim_destroy(sim);
    emp_problem_destroy(p);
    free(device_of_op);
}

static void expect_on_every_machine(const char *name, const char *config)
{
    emp_graph     *g = load(NULL, name, config, "");
    emp_data_names machines;

    emp_data_find(&machines, "machines");
    cr_assert_geq(machines.count, 20);
    for (int32_t i = 0; i < machines.count; i++) {
        emp_machine *m = NULL;
        cr_assert_eq(emp_machine_load(&m, machines.name[i], NULL), EMP_OK);
        expect_step(g, m, name);
        emp_machine_destroy(m);
    }
    emp_graph_destroy(g);
}

/* test_ordinary has more placements, runtimes and phases of a few models. */
Test(published_models, every_machine_simulates_the_default_step)
{
    int32_t                count;
    const published_model *models = published_models(&count);
    char                   text[4096];

    for (int32_t i = 0; i < count; i++)
        expect_on_every_machine(models[i].name, models[i].config);
    for (int32_t i = 0; i < known_model_count; i++) {
        if (known_models[i].file == NULL) continue;
        snprintf(text, sizeof text, "{%s}", known_models[i].config);
        expect_on_every_machine(known_models[i].file, text);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
