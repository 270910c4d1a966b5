// SPDX-License-Identifier: GPL-3.0-or-later
/* Do the configs of published models have the published parameters, the FLOPs and bytes that they have on paper, the bytes
 * of their quantised checkpoints, and steps that every machine and runtime simulates? */
#include <unistd.h>

#include "sim/engine/sim.h"
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/models/configs.h"
#include "tests/graphs/import/models/known.h"
#include "tests/test.h"

TestSuite(published_models, .init = scratch_create, .fini = graph_tear_down);

/* They write no tokens, and have no loss. */
static bool is_encoder(const published_model *m)
{
    return strstr(m->config, "bert") != NULL;
}

Test(published_models, each_phase_has_the_published_parameters)
{
    static const char *const phases[] = {"prefill", "decode", "train"};
    int32_t                  count;
    const published_model   *models = published_models(&count);

    cr_assert_geq(count, 70);
    for (int32_t i = 0; i < count; i++)
        for (size_t p = 0; p < (is_encoder(&models[i]) ? 1 : COUNT(phases)); p++) {
            const published_model *m = &models[i];
            const char *options = scratch_print(",phase=%s,batch=1,seq=16", phases[p]);
            emp_graph  *g = config_load_whole(m->config, options);
            cr_expect_eq(g->parameter_count, m->parameters, "%s%s: %lld, want %lld by %s",
                         m->name, options, (long long)g->parameter_count,
                         (long long)m->parameters, m->source);
            cr_expect_eq(g->unknown_op_count, 0);
            cr_expect_eq(g->unknown_shape_count, 0);
            emp_graph_destroy(g);
        }
}

static void expect_formula(const char *name, int64_t parameters)
{
    if (parameters > 0)
        cr_expect_eq(published_model_named(name)->parameters, parameters, "%s", name);
}

Test(published_models, have_the_parameters_of_the_formula)
{
    for (int32_t i = 0; i < known_model_count; i++)
        expect_formula(known_models[i].name, known_models[i].parameters);
    for (int32_t i = 0; i < known_hybrid_count; i++)
        expect_formula(known_hybrids[i].name, known_hybrids[i].parameters);
}

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

static double update_flops(const emp_graph *step)
{
    double flops = 0;

    for (emp_op_id op = 0; op < step->op_count; op++)
        if (step->op[op].cost->op_class == EMP_OP_OPTIMIZER)
            flops += step->op[op].cost->flops;
    return flops;
}

Test(published_models, a_training_step_takes_the_flops_of_the_formula)
{
    const char *options = scratch_print(",batch=%d,seq=%d", BATCH, SEQUENCE);
    for (int32_t i = 0; i < known_model_count; i++) {
        const known_model *k = &known_models[i];
        emp_graph *step = config_load(published_model_named(k->name)->config, options);
        double     got = step->flops - update_flops(step), want = training_flops(k);
        cr_expect_lt(fabs(got / want - 1), 0.02, "%s: %.4g FLOP, want %.4g", k->name, got,
                     want);
        emp_graph_destroy(step);
    }
}

/* The forward pass, twice as much backward, and what scans and attention compute again. */
Test(published_models, a_training_step_takes_between_three_and_four_forward_passes)
{
    for (int32_t i = 0; i < known_hybrid_count; i++) {
        const char *name = known_hybrids[i].name;
        double      forward = 0;
        emp_graph  *step = config_load(published_model_named(name)->config,
                                       ",batch=1,seq=512,optimizer=sgd");
        for (emp_op_id op = 0; op < step->op_count; op++)
            if (strstr(step->name[op], "/grad") == NULL &&
                step->op[op].cost->op_class != EMP_OP_OPTIMIZER)
                forward += step->op[op].cost->flops;
        double ratio = (step->flops - update_flops(step)) / forward;
        cr_expect(ratio > 2.9 && ratio < 3.3, "%s: %g", name, ratio);
        emp_graph_destroy(step);
    }
}

/* A prompt leaves what the tokens behind it read. */
Test(published_models, a_token_takes_the_flops_and_a_sequence_keeps_the_bytes_on_paper)
{
    static const char *const phases[] = {"decode", "prefill"};

    for (int32_t i = 0; i < known_hybrid_count; i++)
        for (size_t p = 0; p < COUNT(phases); p++) {
            const known_hybrid    *k = &known_hybrids[i];
            const published_model *m = published_model_named(k->name);
            const char *options = scratch_print(",phase=%s,batch=1,seq=%d,dtype=bf16",
                                                phases[p], HYBRID_TOKENS);
            emp_graph  *g = config_load_whole(m->config, options);
            int64_t     kept = config_persistent_bytes(g) - 2 * m->parameters;
            cr_expect_eq(kept, k->kept, "%s, %s: %lld bytes, want %lld", k->name,
                         phases[p], (long long)kept, (long long)k->kept);
            emp_graph_destroy(g);
            if (p > 0) continue;
            g = config_load(m->config, options);
            cr_expect_lt(fabs(g->flops / k->flops - 1), 0.01, "%s: %.5g FLOP, want %.5g",
                         k->name, g->flops, k->flops);
            emp_graph_destroy(g);
        }
}

static bool ends_in(const char *name, const char *ending)
{
    size_t length = strlen(name), part = strlen(ending);

    return length >= part && strcmp(name + length - part, ending) == 0;
}

/* Indexers, too, which a loss of their own trains. */
Test(published_models, every_weight_is_updated_by_a_gradient_of_its_shape)
{
    int32_t                count;
    const published_model *models = published_models(&count);

    for (int32_t i = 0; i < count; i++) {
        const published_model *m = &models[i];
        int32_t                weights = 0, updates = 0;
        if (is_encoder(m)) continue;
        emp_graph *g = config_load_whole(m->config, ",batch=1,seq=8");
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
                      "%s: %s has a gradient of another shape", m->name, name);
        }
        cr_expect_eq(weights, updates, "%s: %d weights, %d updates", m->name, weights,
                     updates);
        emp_graph_destroy(g);
    }
}

/* The rest of the folder: what one benchmark has in place of a published model, and models without a row. */
Test(published_models, configs_of_the_data_folder_are_the_published_models)
{
    static const char *const files[][2] = {
        {"llama3.1-8b", "meta-llama/Meta-Llama-3.1-8B"},
        {"llama3.1-70b", "meta-llama/Meta-Llama-3.1-70B"},
        {"llama3.1-405b", "meta-llama/Meta-Llama-3.1-405B"},
        {"llama4-maverick-400b", "meta-llama/Llama-4-Maverick-17B-128E-Instruct"},
        {"deepseek-v3", "deepseek-ai/DeepSeek-V3"},
        {"mixtral-8x7b", "mistralai/Mixtral-8x7B-v0.1"},
        {"qwen3-32b", "Qwen/Qwen3-32B"}};

    for (size_t i = 0; i < COUNT(files); i++) {
        const char *path =
            graph_source_path(scratch_print("data/models/%s.json", files[i][0]));
        emp_graph *g =
            graph_load(scratch_print("hf:path=%s,phase=decode,seq=16", path), NULL, NULL);
        cr_expect_eq(g->parameter_count, published_model_named(files[i][1])->parameters,
                     "%s: %lld", files[i][0], (long long)g->parameter_count);
    }
}

Test(published_models, configs_are_read_as_they_are_published)
{
    const char *source = getenv("EMP_SOURCE_DIR");
    int32_t     read = 0;

    for (int32_t i = 0; i < known_model_count; i++) {
        const char *name = known_models[i].name, *slash = strchr(name, '/');
        const int   owner = slash != NULL ? (int)(slash - name) : 0;
        char        path[512], spec[600];
        snprintf(path, sizeof path,
                 "%s/../shared/profiles/modern/model_configs/%.*s%s%s.json",
                 source != NULL ? source : ".", owner, name, slash != NULL ? "--" : "",
                 slash != NULL ? slash + 1 : name);
        if (access(path, R_OK) != 0) continue;
        emp_graph *whole = NULL, *step = NULL;
        snprintf(spec, sizeof spec, "hf:path=%s,phase=decode,batch=1", path);
        ASSERT_OK(emp_source_load(&step, &whole, NULL, spec, &err));
        cr_expect_eq(whole->parameter_count, published_model_named(name)->parameters,
                     "%s", name);
        emp_graph_destroy(whole);
        emp_graph_destroy(step);
        read++;
    }
    if (read == 0) cr_skip_test("the shared configs are not here");
    cr_expect_eq(read, known_model_count);
}

#define FP8_TILES "\"quant_method\":\"fp8\",\"weight_block_size\":[128,128]"
#define NVFP4     "\"quant_method\":\"modelopt\",\"quant_algo\":\"NVFP4\",\"ignore\":"
#define OF_TARGETS(group)                                              \
    "'quant_method':'compressed-tensors','config_groups':{'group_0':{" \
    "'targets':['Linear'],'weights':" group "}}"

/* Bytes are those of a script that applies the rules of the libraries to the linear layers of transformers' modules,
 * without the heads that predict more tokens and the scales of whole tensors. gpt-oss: those of the published index. */
static const struct {
    const char *model, *quantization;
    int64_t     bytes;
} stored[] = {
    {"openai/gpt-oss-20b",
     "'quant_method':'mxfp4','modules_to_not_convert':['model.layers.*.self_attn',"
     "'model.layers.*.mlp.router','model.embed_tokens','lm_head']",
     13761264768},
    {"openai/gpt-oss-120b", "'quant_method':'mxfp4'", 65248815744},
    {"deepseek-ai/DeepSeek-V3", FP8_TILES, 673150582112},
    {"deepseek-ai/DeepSeek-V3.2", FP8_TILES, 674030307520},
    {"MiniMaxAI/MiniMax-M2.5",
     FP8_TILES ",'modules_to_not_convert':['gate','e_score_correction_bias','lm_head']",
     230024081408},
    {"XiaomiMiMo/MiMo-V2-Flash", FP8_TILES, 310153446528},
    {"zai-org/GLM-5",
     FP8_TILES ",'modules_to_not_convert':['lm_head','model.embed_tokens']",
     746130016512},
    {"zai-org/GLM-5",
     NVFP4 "['lm_head','*self_attn*','*shared_experts*','model.layers.0.*',"
           "'model.layers.1.*','model.layers.2.*']",
     445957323264},
    {"Qwen/Qwen3-32B", FP8_TILES, 34326243328},
    {"Qwen/Qwen3-30B-A3B", FP8_TILES ",'modules_to_not_convert':['lm_head']",
     31174545408},
    {"Qwen/Qwen3.5-122B-A10B",
     NVFP4 "['lm_head','*linear_attn*','*self_attn*','*shared_expert*','mtp*']",
     77524635648},
    {"google/gemma-4-31B-it",
     NVFP4 "['lm_head','model.language_model.layers.*.self_attn*']", 31481766400},
    {"MiniMaxAI/MiniMax-M2.5", NVFP4 "['lm_head','*block_sparse_moe.gate','*self_attn*']",
     134401344512},
    {"moonshotai/Kimi-K2-Instruct", FP8_TILES, 1029173203808},
    {"moonshotai/Kimi-K2-Instruct",
     OF_TARGETS("{'num_bits':4,'type':'int','strategy':'group','group_size':32,"
                "'symmetric':true}") ",'ignore':['lm_head','re:.*self_attn.*',"
                                     "'re:.*shared_experts.*',"
                                     "'re:.*mlp\\\\.(gate|up|gate_up|down)_proj.*']",
     594205305856},
    {"moonshotai/Kimi-K2-Instruct",
     NVFP4 "['language_model.lm_head','language_model.model.layers.*.self_attn*']",
     589837069312},
};

Test(published_models, tokens_are_decoded_with_the_bytes_of_the_checkpoint)
{
    for (size_t i = 0; i < COUNT(stored); i++) {
        char text[8192];
        /* The sizes are for bfloat16, where a config does not say another type. */
        const char *config = published_model_named(stored[i].model)->config;
        const char *dtype = strstr(config, "dtype") != NULL ? "" : "'dtype':'bfloat16',";
        snprintf(text, sizeof text, "{%s'quantization_config':{%s},%s", dtype,
                 stored[i].quantization, config + 1);
        emp_graph *g = config_load_whole(text, ",phase=decode,batch=1,seq=16");
        cr_expect_eq(g->parameter_bytes, stored[i].bytes, "%s, %s: %lld, want %lld",
                     stored[i].model, stored[i].quantization,
                     (long long)g->parameter_bytes, (long long)stored[i].bytes);
        emp_graph_destroy(g);
    }
}

static void place(emp_problem *p, emp_device_id *device_of_op, int32_t kind)
{
    const emp_graph *g = p->graph;
    const int32_t    devices = p->machine->device_count;

    for (emp_op_id op = 0; op < g->op_count; op++)
        device_of_op[op] =
            kind < devices ? kind : (int32_t)((int64_t)op * devices / g->op_count);
    emp_problem_legalize(p, device_of_op);
}

static void expect_step(emp_sim *sim, emp_problem *p, const emp_device_id *device_of_op)
{
    emp_sim_result r = {0};
    const char    *runtime = p->runtime.name;

    ASSERT_OK(emp_sim_run_traced(sim, device_of_op, NULL, &r, &err));
    cr_expect_gt(r.step_time_ns, 0, "%s", runtime);
    cr_expect(r.is_feasible ? r.oom_device < 0 : r.oom_device >= 0 && r.oom_bytes > 0,
              "%s on %s: no verdict", runtime, p->machine->name);
}

/* The first so many of: all on the last device, all on the first, parts on all. */
static void expect_steps(const emp_graph *g, const emp_machine *m, const char *runtime,
                         int32_t placements)
{
    emp_runtime    profile;
    emp_problem   *p = NULL;
    emp_sim       *sim = NULL;
    emp_device_id *device_of_op = calloc((size_t)g->op_count, sizeof *device_of_op);

    cr_assert_not_null(device_of_op);
    ASSERT_OK(emp_runtime_init(&profile, runtime, &err));
    ASSERT_OK(emp_problem_create(&p, g, m, &profile, "a model", &err));
    ASSERT_OK(emp_sim_create(&sim, p, &err));
    const int32_t last = m->device_count - 1;
    for (int32_t i = 0; sim != NULL && i < placements; i++) {
        place(p, device_of_op, i == 0 ? last : i == 1 ? 0 : last + 1);
        expect_step(sim, p, device_of_op);
    }
    emp_sim_destroy(sim);
    emp_problem_destroy(p);
    free(device_of_op);
}

static void expect_on_every_machine(emp_graph *g, bool is_every_runtime)
{
    emp_data_names machines, runtimes;

    emp_data_find(&machines, "machines");
    emp_data_find(&runtimes, "runtimes");
    cr_assert(machines.count >= 20 && runtimes.count >= 10);
    for (int32_t i = 0; i < machines.count; i++) {
        emp_machine *m = NULL;
        cr_assert_eq(emp_machine_load(&m, machines.name[i], NULL), EMP_OK);
        for (int32_t r = 0; is_every_runtime && r < runtimes.count; r++)
            expect_steps(g, m, runtimes.name[r], 3);
        if (!is_every_runtime) expect_steps(g, m, "torch-eager", 1);
        emp_machine_destroy(m);
    }
    emp_graph_destroy(g);
}

Test(published_models, every_machine_simulates_the_default_step)
{
    int32_t                count;
    const published_model *models = published_models(&count);

    for (int32_t i = 0; i < count; i++)
        if (!is_encoder(&models[i]))
            expect_on_every_machine(config_load(models[i].config, ""), false);
}

/* 0.6 to 671 billion parameters; dense models and mixtures of experts. */
Test(published_models, no_machine_or_runtime_refuses_an_ordinary_step)
{
    static const char *const names[] = {"Qwen/Qwen3-0.6B",
                                        "Qwen/Qwen3-1.7B",
                                        "Llama-2-7b",
                                        "meta-llama/Meta-Llama-3.1-8B",
                                        "openai/gpt-oss-20b",
                                        "Qwen/Qwen3-30B-A3B",
                                        "meta-llama/Meta-Llama-3.1-70B",
                                        "mistralai/Mixtral-8x22B-v0.1",
                                        "meta-llama/Meta-Llama-3.1-405B",
                                        "deepseek-ai/DeepSeek-V3"};
    static const char *const phases[] = {"", ",phase=prefill", ",phase=decode"};

    for (size_t i = 0; i < COUNT(names); i++)
        for (size_t p = 0; p < COUNT(phases); p++)
            expect_on_every_machine(
                config_load(published_model_named(names[i])->config, phases[p]), true);
}
