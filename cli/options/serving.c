// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/parallel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/cli.h"
#include "cli/options/inputs.h"
#include "cli/options/placement_input.h"
#include "cli/options/placement_output.h"
#include "cli/stop.h"
#include "graphs/sources.h"
#include "graphs/transformer/parts.h"
#include "graphs/transformer/tape.h"
#include "parallel/models.h"
#include "sim/engine/sim.h"

#define GIB 1073741824.0

#define OF_TRAINING                                                       \
    "--trace and --all-ranks are of training steps; leave them out of a " \
    "model that is served"

enum { COMMAND_BYTES = 2048, CHANGES = 4 };

/* ---- the plan ---- */

static const emp_sheet_column columns[] = {
    EMP_COLUMN("rank", "rank", EMP_SHEET_COUNT),
    EMP_COLUMN("tp", "tp", EMP_SHEET_COUNT),
    EMP_COLUMN("pp", "pp", EMP_SHEET_COUNT),
    EMP_COLUMN("ep", "ep", EMP_SHEET_COUNT),
    EMP_COLUMN("cp", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("dp", "dp", EMP_SHEET_COUNT),
    EMP_COLUMN("stages", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("batch", "batch", EMP_SHEET_COUNT),
    EMP_COLUMN("step_s", "step", EMP_SHEET_SECONDS),
    EMP_COLUMN("tokens_per_s", "tokens/s", EMP_SHEET_REAL),
    EMP_COLUMN("memory_gib", "GiB", EMP_SHEET_REAL),
    EMP_COLUMN("weights_gib", "weights", EMP_SHEET_REAL),
    EMP_COLUMN("cache_gib", "cache", EMP_SHEET_REAL),
    EMP_COLUMN("activations_gib", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("host_gib", "on host", EMP_SHEET_REAL, .is_optional = true),
    EMP_COLUMN("largest_batch", "fit", EMP_SHEET_COUNT),
    EMP_COLUMN("exposed_s", "exposed", EMP_SHEET_SECONDS),
    EMP_COLUMN("why", "why not", EMP_SHEET_WORD, .is_optional = true),
    EMP_COLUMN("vllm", NULL, EMP_SHEET_WORD),
};

static emp_value if_feasible(const emp_serving_way *row, double value)
{
    return emp_value_if(row->why[0] == '\0', emp_value_real(value));
}

static emp_value if_known(const emp_serving_way *row, double bytes)
{
    return emp_value_if(isfinite(row->step.peak_bytes), emp_value_real(bytes / GIB));
}

/* Writes the layers of each stage, "11,11,10"; "" = they are not known. */
static const char *stages_of(char text[EMP_STAGES_BYTES], const emp_serving_step *step,
                             int32_t pp)
{
    emp_text to = {text, EMP_STAGES_BYTES, 0};

    text[0] = '\0';
    for (int32_t i = 0; i < pp && step->stage_layers[0] > 0; i++)
        emp_text_add(&to, "%s%d", i > 0 ? "," : "", step->stage_layers[i]);
    return text;
}

static void add_row(emp_sheet *s, const emp_serving_ways *ways, int32_t index,
                    const emp_parallel_spec *spec, double total_bytes)
{
    const emp_serving_way  *row = &ways->row[index];
    const emp_degrees      *d = &row->degrees;
    const emp_serving_step *step = &row->step;
    const bool              is_feasible = row->why[0] == '\0';
    char                    command[COMMAND_BYTES] = "", stages[EMP_STAGES_BYTES];
    const bool              has_command =
        is_feasible &&
        emp_serving_vllm(command, sizeof command, spec, row, total_bytes, NULL) == EMP_OK;

    stages_of(stages, step, d->pp);
    EMP_SHEET_ADD(s, emp_value_if(is_feasible, EMP_V(index + 1)), EMP_V(d->tp),
                  EMP_V(d->pp), EMP_V(d->ep), EMP_V(d->cp), EMP_V(d->dp),
                  emp_value_if(stages[0] != '\0', EMP_V(stages)), EMP_V(row->batch),
                  if_feasible(row, step->step_s), if_feasible(row, step->tokens_per_s),
                  if_known(row, step->peak_bytes), if_known(row, step->weight_bytes),
                  if_known(row, step->cache_bytes), if_known(row, step->activation_bytes),
                  emp_value_if(step->host_bytes > 0.0, EMP_V(step->host_bytes / GIB)),
                  EMP_V(step->most), if_feasible(row, step->exposed_s),
                  emp_value_if(!is_feasible, EMP_V(row->why)),
                  emp_value_if(has_command, EMP_V(command)));
}

/* Writes the command of vLLM for the best way that it can run; else the error says why the best way cannot run. */
static emp_status find_command(char command[COMMAND_BYTES], const emp_serving_ways *ways,
                               const emp_parallel_spec *spec, double total_bytes,
                               emp_error *err)
{
    for (int32_t i = 0; i < ways->feasible; i++)
        if (emp_serving_vllm(command, COMMAND_BYTES, spec, &ways->row[i], total_bytes,
                             err) == EMP_OK) {
            if (err != NULL) *err = (emp_error){0};
            return EMP_OK;
        }
    return EMP_EUNSUPPORTED;
}

/* The best way that differs from the first in one degree only, besides the replicas that fill the GPUs. */
static void note_changes(emp_sheet *s, const emp_serving_ways *ways)
{
    static const char *const names[CHANGES] = {"tp", "pp", "ep", "cp"};
    const emp_serving_way   *best = &ways->row[0];
    bool                     is_noted[CHANGES] = {false};

    for (int32_t i = 1; i < ways->feasible; i++) {
        const emp_serving_way *row = &ways->row[i];
        const emp_degrees     *a = &best->degrees, *b = &row->degrees;
        const int32_t          pairs[CHANGES][2] = {
                     {a->tp, b->tp}, {a->pp, b->pp}, {a->ep, b->ep}, {a->cp, b->cp}};
        int32_t differ = 0, which = 0;
        for (int32_t k = 0; k < CHANGES; k++) {
            if (pairs[k][0] == pairs[k][1]) continue;
            differ++;
            which = k;
        }
        if (differ != 1 || is_noted[which]) continue;
        is_noted[which] = true;
        emp_sheet_note(s, "With %s=%d: a step %+.1f %%, %+.1f %% tokens a second.",
                       names[which], pairs[which][1],
                       100.0 * (row->step.step_s / best->step.step_s - 1.0),
                       100.0 * (row->step.tokens_per_s / best->step.tokens_per_s - 1.0));
    }
}

/* Notes what the prompts of sequences take in the best way, one prompt of each replica at a time. */
static emp_status note_prompts(emp_sheet *s, const emp_serving_ways *ways,
                               const emp_parallel_spec *spec, const emp_cluster *cluster,
                               emp_error *err)
{
    emp_parallel_spec      prompts = *spec; /* borrowed */
    const emp_degrees     *d = &ways->row[0].degrees;
    const emp_serving_case c = {.spec = &prompts,
                                .cluster = cluster,
                                .degrees = d,
                                .batch = d->dp,
                                .memory_bytes = ways->memory_bytes};
    emp_serving_step       step;
    char                   time[32];

    if (spec->serving.phase == EMP_PHASE_PREFILL) return EMP_OK;
    prompts.serving.phase = EMP_PHASE_PREFILL;
    EMP_CHECK(emp_serving_predict(&step, &c, err));
    emp_sheet_note(s, "A prompt of %d tokens is read in %s (phase=prefill).", d->sequence,
                   emp_units_format_seconds(step.step_s, time, sizeof time));
    return EMP_OK;
}

static void note_plan(emp_sheet *s, const emp_serving_ways *ways,
                      const emp_parallel_spec *spec, double total_bytes)
{
    int32_t   too_large = 0;
    char      command[COMMAND_BYTES];
    emp_error why = {0};

    for (int32_t i = ways->feasible; i < ways->count; i++)
        too_large += isfinite(ways->row[i].step.peak_bytes);
    emp_sheet_note(s,
                   "%d ways, of which %d fit; %d need more than %.1f GiB, and %d have "
                   "degrees that do not divide.",
                   ways->count, ways->feasible, too_large, ways->memory_bytes / GIB,
                   ways->count - ways->feasible - too_large);
    note_changes(s, ways);
    const emp_status st = find_command(command, ways, spec, total_bytes, &why);
    emp_sheet_note(s, "vLLM: %s", st == EMP_OK ? command : why.msg);
}

static emp_status refuse(const emp_serving_ways *ways, int32_t gpus, emp_error *err)
{
    const emp_serving_way *least = &ways->row[0];
    const emp_degrees     *d = &least->degrees;

    for (int32_t i = 1; i < ways->count; i++)
        if (ways->row[i].step.peak_bytes < least->step.peak_bytes) least = &ways->row[i];
    d = &least->degrees;
    if (isinf(least->step.peak_bytes)) return EMP_ERROR(EMP_EINVAL, "%s", least->why);
    return EMP_ERROR(EMP_EINVAL,
                     "no way to serve it on %d GPU%s fits in their memory: the least %s, "
                     "with tp=%d, pp=%d, ep=%d, dp=%d; fewer sequences, a shorter seq, "
                     "quant=fp8 or cache_dtype=fp8 need less",
                     gpus, emp_units_plural(gpus), least->why, d->tp, d->pp, d->ep,
                     d->dp);
}

/* Prints the command of the best way that the server can run. */
static emp_status print_form(const cli_parallel_options *o, const emp_parallel_spec *spec,
                             const emp_serving_ways *ways, double total_bytes,
                             emp_error *err)
{
    char command[COMMAND_BYTES];

    if (o->form != CLI_PLAN_VLLM)
        return EMP_ERROR(EMP_EINVAL,
                         "Megatron-LM and DeepSpeed train models, and %s is served; want "
                         "--form vllm or llama.cpp",
                         o->spec);
    EMP_CHECK(find_command(command, ways, spec, total_bytes, err));
    puts(command);
    return EMP_OK;
}

static void set_title(emp_sheet *sheet, const cli_parallel_options *o,
                      const emp_parallel_spec *spec, const char *cluster, int32_t gpus)
{
    const bool is_prompt = spec->serving.phase == EMP_PHASE_PREFILL;

    emp_sheet_set_title(sheet, "%s on %d GPUs of %s, %s of %d tokens", o->spec, gpus,
                        cluster, is_prompt ? "prompts" : "contexts",
                        spec->degrees.sequence);
}

emp_status cli_serving_plan(const cli_parallel_options *options,
                            const emp_parallel_spec *spec, const emp_fleet *fleet,
                            int32_t gpus, int32_t top, emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_serving_ways ways = {0};
    emp_sheet        sheet = {0};
    const double     total = (double)fleet->all->gpu.memory_bytes;

    if (options->all_ranks) EMP_FAIL(EMP_EINVAL, OF_TRAINING);
    if (fleet->count > 1)
        EMP_FAIL(EMP_EUNSUPPORTED,
                 "GPUs of %s are of several models, whose matrices tp cannot share "
                 "evenly; --form llama.cpp, or emplace place, gives them layers",
                 fleet->all->name);
    EMP_TRY(emp_serving_ways_find(&ways, spec, fleet->all, gpus, options->goal, err));
    if (ways.feasible == 0) EMP_TRY(refuse(&ways, gpus, err));
    if (options->has_form) {
        EMP_TRY(print_form(options, spec, &ways, total, err));
        goto cleanup;
    }
    EMP_SHEET_INIT(&sheet, columns);
    set_title(&sheet, options, spec, fleet->all->name, gpus);
    for (int32_t i = 0; i < ways.count; i++)
        if (top >= ways.count || (i < ways.feasible && i < top))
            add_row(&sheet, &ways, i, spec, total);
    note_plan(&sheet, &ways, spec, total);
    EMP_TRY(note_prompts(&sheet, &ways, spec, fleet->all, err));
    EMP_TRY(emp_sheet_print(stdout, &sheet, options->format, err));

cleanup:
    emp_sheet_clear(&sheet);
    emp_serving_ways_clear(&ways);
    return st;
}

/* ---- one step ---- */

emp_status cli_serving_simulate(const cli_parallel_options *options,
                                const emp_parallel_spec *spec, const emp_cluster *cluster,
                                emp_error *err)
{
    emp_serving_step       step;
    char                   stages[EMP_STAGES_BYTES];
    const emp_serving_case c = {.spec = spec,
                                .cluster = cluster,
                                .degrees = &spec->degrees,
                                .batch = spec->batch > 0 ? spec->batch
                                                         : EMP_SERVING_BATCH_DEFAULT,
                                .memory_bytes = emp_serving_room(cluster)};

    if (options->trace != NULL || options->all_ranks)
        return EMP_ERROR(EMP_EINVAL, OF_TRAINING);
    EMP_CHECK(emp_serving_predict(&step, &c, err));
    return cli_print_object(
        json_pack(
            "{s:s, s:s, s:I, s:s, s:i, s:o, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:i, "
            "s:i, s:b}",
            "workload", options->spec, "machine", cluster->name, "gpus",
            (json_int_t)emp_degrees_gpus(&spec->degrees), "stages",
            stages_of(stages, &step, spec->degrees.pp), "batch", c.batch, "step_time_s",
            isfinite(step.step_s) ? json_real(step.step_s) : json_null(), "tokens_per_s",
            step.tokens_per_s, "exposed_s", step.exposed_s, "peak_bytes",
            (json_int_t)step.peak_bytes, "weight_bytes", (json_int_t)step.weight_bytes,
            "cache_bytes", (json_int_t)step.cache_bytes, "activation_bytes",
            (json_int_t)step.activation_bytes, "host_bytes", (json_int_t)step.host_bytes,
            "peak_stage", step.peak_stage, "largest_batch", step.most, "feasible",
            (int)isfinite(step.step_s)),
        options->format, err);
}

/* ---- llama.cpp ---- */

/* Sequences, tokens of each and the element type of the caches of a step. */
typedef struct {
    int64_t   sequences, tokens;
    emp_dtype dtype;
} caches;

static caches caches_of(const emp_graph *g)
{
    caches of = {0, 0, EMP_DTYPE_NONE};

    for (emp_op_id op = 0; op < g->op_count; op++) {
        if ((g->op[op].flags & EMP_OP_IS_CACHE) == 0) continue;
        const emp_tensor *t = &g->tensor[g->output_offset[op]];
        of.sequences = emp_shape_size(t->shape, 0);
        of.dtype = (emp_dtype)t->dtype;
        if (emp_shape_size(t->shape, 1) > of.tokens)
            of.tokens = emp_shape_size(t->shape, 1);
    }
    return of;
}

/* "llama-server -m MODEL.gguf -c 8192 -np 4": llama.cpp counts the tokens of all sequences together. */
static emp_status name_command(char *text, size_t size, const emp_graph *g,
                               const char *spec, emp_error *err)
{
    const caches of = caches_of(g);
    char         path[EMP_SPEC_BYTES];
    const char  *file = emp_source_file(path, spec), *word;
    emp_text     to = {text, size, 0};
    size_t       length;

    emp_text_add(&to, "llama-server -m ");
    emp_text_add_word(&to, emp_text_ends_in(file, ".gguf") ? file : "MODEL.gguf");
    emp_text_add(&to, " -c %lld -np %lld", (long long)(of.sequences * of.tokens),
                 (long long)of.sequences);
    for (int32_t i = 1; (word = emp_words_at(EMP_CACHE_DTYPE_WORDS, i, &length)) != NULL;
         i++) {
        if (of.dtype != emp_cache_dtype_of(i)) continue;
        if (of.dtype == EMP_DTYPE_FLOAT8_E4M3)
            return EMP_ERROR(EMP_EUNSUPPORTED,
                             "llama.cpp has no cache of cache_dtype=fp8; want auto, q8_0 "
                             "or q4_0");
        emp_text_add(&to, " -fa on -ctk %.*s -ctv %.*s", (int)length, word, (int)length,
                     word);
    }
    return EMP_OK;
}

/* A model on a machine with a placement that a method has found for it. */
typedef struct {
    cli_inputs         inputs;
    emp_owned_decision decision;
    double             step_s; /* infinite: it does not fit */
} placed;

static void clear_placed(placed *p)
{
    emp_decision_clear(&p->decision);
    cli_inputs_clear(&p->inputs);
}

static bool has_experts(const emp_graph *g)
{
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const emp_model_part part = emp_model_part_of(g->name[op]);
        if (emp_model_part_is_expert(&part)) return true;
    }
    return false;
}

/* A model of data/models by its name, "llama3.1-8b:phase=decode", as a spec of its config. */
static const char *spec_of(char text[EMP_SPEC_BYTES], const char *spec)
{
    const size_t length = strcspn(spec, ":");

    if (!emp_parallel_model_is(spec, length)) return spec;
    snprintf(text, EMP_SPEC_BYTES, "hf:path=");
    emp_data_folder(text + strlen(text), EMP_SPEC_BYTES - strlen(text), "models/");
    const size_t used = strlen(text);
    snprintf(text + used, EMP_SPEC_BYTES - used, "%.*s.json%s%s", (int)length, spec,
             spec[length] == ':' ? "," : "",
             spec[length] == ':' ? spec + length + 1 : "");
    return text;
}

static emp_status load_placed(placed *p, const cli_parallel_options *o, bool keeps_layers,
                              emp_error *err)
{
    p->step_s = INFINITY;
    p->inputs.form = CLI_FORM_LLAMA;
    p->inputs.keeps_layers = keeps_layers;
    return cli_inputs_load(&p->inputs, o->spec, o->machine, "llama-cpp", err);
}

static emp_status place_by(placed *p, const char *method, emp_error *err)
{
    emp_status         st = EMP_OK;
    const emp_problem *problem = p->inputs.problem;
    emp_sim           *sim = NULL;
    emp_sim_result     result;

    EMP_TRY(emp_decision_init(&p->decision, problem->graph->op_count, 0, err));
    st = cli_placement_by_method(p->decision.device_of_op, NULL, method, NULL, problem,
                                 err);
    cli_stop_at_once(); /* nothing is kept */
    if (st == EMP_EINFEASIBLE) {
        *err = (emp_error){0};
        return EMP_OK;
    }
    EMP_TRY(st);
    EMP_TRY(emp_sim_create(&sim, problem, err));
    EMP_TRY(emp_sim_run(sim, p->decision.device_of_op, &result, err));
    if (result.is_feasible) p->step_s = 1e-9 * (double)result.step_time_ns;

cleanup:
    emp_sim_destroy(sim);
    return st;
}

static emp_status print_placed(const placed *p, const cli_parallel_options *o,
                               emp_error *err)
{
    char                      command[COMMAND_BYTES];
    const emp_problem        *problem = p->inputs.problem;
    const emp_decision        found = emp_decision_view(&p->decision);
    const emp_named_placement placement = emp_placement_name(problem, &found, NAN);

    if (isinf(p->step_s))
        return EMP_ERROR(
            EMP_EINVAL,
            "no placement of %s fits into the memories of %s; a smaller seq, "
            "batch or quant needs less",
            o->spec, o->machine);
    EMP_CHECK(name_command(command, sizeof command, problem->graph, o->spec, err));
    return cli_llama_options_print(command, &placement, problem->machine, o->spec, err);
}

/* llama.cpp works on one part of a layer after another, so that a layer whose matrices are on several GPUs is no faster, which
 * the simulator would have it. Whole layers, and experts on the CPU, are the ways that people use. */
emp_status cli_serving_llama(const cli_parallel_options *given, emp_error *err)
{
    emp_status            st = EMP_OK;
    char                  spec[EMP_SPEC_BYTES];
    cli_parallel_options  own = *given;
    cli_parallel_options *options = &own;
    placed                whole = {.step_s = INFINITY}, apart = {.step_s = INFINITY};

    own.spec = spec_of(spec, given->spec);
    if (options->goal != EMP_SERVING_STEP)
        EMP_FAIL(EMP_EINVAL, "--form llama.cpp has the shortest step in view; leave out "
                             "--objective");
    if (!cli_llama_options_are_for(options->spec))
        EMP_FAIL(
            EMP_EINVAL,
            "llama.cpp runs GGUF files and what is made into them, and %s is no GGUF "
            "file and no config of Hugging Face",
            given->spec);
    EMP_TRY(load_placed(&whole, options, true, err));
    EMP_TRY(place_by(&whole, "portfolio", err));
    if (has_experts(whole.inputs.problem->graph)) {
        EMP_TRY(load_placed(&apart, options, false, err));
        EMP_TRY(place_by(&apart, "experts-on-cpu", err));
    }
    EMP_TRY(print_placed(apart.step_s < whole.step_s ? &apart : &whole, options, err));

cleanup:
    clear_placed(&whole);
    clear_placed(&apart);
    return st;
}
