// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/inputs.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/options/costs.h"
#include "cli/options/modules/layers.h"
#include "cli/stage_line.h"
#include "graphs/workloads/workloads.h"

#define MAX_LOAD_RUNTIME "msr-load"

enum { KEY_OBJECTIVE = 256, KEY_COSTS, KEY_FORBID, KEY_WHOLE_LAYERS };

static const struct argp_option options[] = {
    {"machine", 'm', "NAME|FILE", 0,
     "Machine to place on (emplace machines lists them); a benchmark instance that "
     "states its own needs none",
     0},
    {"runtime", 'r', "NAME|FILE", 0,
     "Runtime profile (the default follows from where the graph comes from, as "
     "docs/profiles.md lists): " EMP_RUNTIME_NAMES,
     0},
    {"objective", KEY_OBJECTIVE, "NAME", 0,
     "step-time (default), or max-load: the time per sample of a pipeline, which is "
     "that of its busiest device. It is what --runtime msr-load calls a step",
     0},
    {"costs", KEY_COSTS, "FILE", 0,
     "Times that you measured, CSV with the columns op (a name, a pattern, or "
     "type:TYPE), us "
     "and perhaps model, a RunMetadata of TensorFlow, or a profile of ONNX Runtime; "
     "other "
     "ops keep predicted times, scaled (docs/formats.md)",
     0},
    {"forbid", KEY_FORBID, "cpu", 0,
     "Keep ops that have a GPU kernel off the CPU; others stay there, and a warning "
     "counts them. A model that does not fit into the GPUs is then out of memory",
     0},
    {"whole-layers", KEY_WHOLE_LAYERS, NULL, 0,
     "Have each numbered layer of a PyTorch model, such as model.layers.0, on one device",
     0},
    {0},
};

static bool asks_max_load(const char *objective)
{
    if (strcmp(objective, "max-load") == 0) return true;
    if (strcmp(objective, "step-time") == 0) return false;
    cli_usage_error("--objective is step-time or max-load, not \"%s\"", objective);
}

static void check_options(cli_task_options *o, const char *command)
{
    if (o->tasks != NULL) {
        if (o->spec != NULL || o->machine != NULL)
            cli_usage_error("--tasks names graphs and machines; leave %s out",
                            o->spec != NULL ? o->spec : "--machine");
        if (o->costs != NULL || o->is_cpu_forbidden || o->keeps_layers)
            cli_usage_error("--costs, --forbid and --whole-layers are for one SPEC, not "
                            "for --tasks");
        return;
    }
    if (o->spec == NULL) cli_usage_error("a SPEC is missing; see %s --help", command);
    if (o->machine == NULL && emp_workload_is_spec(o->spec))
        cli_usage_error("--machine is missing; emplace machines lists what there is");
    o->spec = cli_source_spec(&o->source, o->spec);
    if (!o->is_max_load) return;
    if (o->runtime != NULL && strcmp(o->runtime, MAX_LOAD_RUNTIME) != 0)
        cli_usage_error("--objective max-load is --runtime " MAX_LOAD_RUNTIME ", not %s",
                        o->runtime);
    o->runtime = MAX_LOAD_RUNTIME;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    cli_task_options *o = (cli_task_options *)state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->format;
        state->child_inputs[1] = &o->source;
        return 0;
    case 'm': o->machine = arg; return 0;
    case 'r': o->runtime = arg; return 0;
    case KEY_COSTS: o->costs = arg; return 0;
    case KEY_FORBID:
        if (strcmp(arg, "cpu") != 0)
            cli_usage_error("--forbid takes cpu, not \"%s\"; leave a GPU out of the "
                            "machine file",
                            arg);
        o->is_cpu_forbidden = true;
        return 0;
    case KEY_WHOLE_LAYERS: o->keeps_layers = true; return 0;
    case KEY_OBJECTIVE: o->is_max_load = asks_max_load(arg); return 0;
    case ARGP_KEY_ARG:
        if (o->spec != NULL) cli_usage_error("one SPEC only, not also \"%s\"", arg);
        o->spec = arg;
        return 0;
    case ARGP_KEY_END: check_options(o, state->name); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {
    {&cli_format_argp, 0, NULL, 0}, {&cli_source_argp, 0, NULL, 0}, {0}};
const struct argp cli_task_argp = {options, parse, NULL, NULL, children, NULL, NULL};

/* Adds a part to a sentence; those before end with a semicolon. */
EMP_PRINTF_LIKE(3, 4)
static void add_part(char *sentence, size_t size, const char *format, ...)
{
    size_t  used = strlen(sentence);
    va_list args;

    if (used > 0) used += (size_t)snprintf(sentence + used, size - used, "; ");
    if (used >= size) return;
    va_start(args, format);
    vsnprintf(sentence + used, size - used, format, args);
    va_end(args);
}

/* It chooses between two sides, and not whether a loop goes on. */
static bool is_conditional(const emp_graph *g, emp_op_id op)
{
    int32_t input_count = g->input_offset[op + 1] - g->input_offset[op];

    if (!(g->op[op].flags & EMP_OP_CHOOSES)) return false;
    if (input_count < 2) return true;
    emp_tensor_id which = g->input[g->input_offset[op] + 1];
    return !(g->op[g->tensor[which].producer].flags & EMP_OP_LOOP_CONDITION);
}

/* One line for all that a graph file left open. */
static void warn_of_assumptions(const emp_graph *graph)
{
    char    sentence[512] = "";
    int32_t unknown_types = 0, loops = 0, conditionals = 0;

    for (int32_t i = 0; i < graph->type_count; i++) {
        if (graph->type_entry[i] == NULL) unknown_types++;
    }
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        loops += (graph->op[op].flags & EMP_OP_LOOP_CONDITION) != 0;
        conditionals += is_conditional(graph, op);
    }
    if (graph->unknown_op_count > 0) {
        add_part(sentence, sizeof sentence,
                 "%d of %d ops are of %d unknown types and simulated as element-wise",
                 graph->unknown_op_count, graph->op_count, unknown_types);
    }
    if (graph->unknown_shape_count > 0) {
        add_part(sentence, sizeof sentence,
                 "%d of %d tensors have unknown sizes, each taken as 1",
                 graph->unknown_shape_count, graph->tensor_count);
    }
    if (loops > 0)
        add_part(sentence, sizeof sentence, "one iteration is taken of while loops: %d",
                 loops);
    if (conditionals > 0)
        add_part(sentence, sizeof sentence, "both branches are taken at Switch ops: %d",
                 conditionals);
    if (sentence[0] != '\0') cli_warn("%s", sentence);
}

/* The first problem is the message of the failure. */
static void warn_of_problems(const emp_import_notes *notes)
{
    for (int32_t i = 1; i < notes->problem_count && i < EMP_NOTES_MAX; i++)
        if (notes->problem[i] != NULL) cli_warn("also: %s", notes->problem[i]);
    if (notes->problem_count > EMP_NOTES_MAX)
        cli_warn("and %d more", notes->problem_count - EMP_NOTES_MAX);
}

emp_status cli_inputs_load_graph(cli_inputs *inputs, emp_import_devices *devices,
                                 const char *spec, emp_error *err)
{
    cli_stage_line     line;
    emp_import_devices stated = {0};

    cli_stage_line_begin(&line, spec, "reading the graph");
    emp_status st =
        emp_source_load_noted(&inputs->step, inputs->wants_whole ? &inputs->whole : NULL,
                              &stated, &inputs->notes, spec, err);
    malloc_trim(0); /* a graph takes a fraction of what its making took */
    cli_stage_line_end(&line);
    if (st != EMP_OK) warn_of_problems(&inputs->notes);
    EMP_CHECK(st);
    inputs->runtime =
        emp_task_runtime(inputs->step, &stated, false, &inputs->runtime_why);
    if (devices != NULL) *devices = stated;
    snprintf(inputs->note, sizeof inputs->note, "%s", stated.note);
    if (!emp_workload_is_spec(spec)) warn_of_assumptions(inputs->step);
    for (int32_t i = 0; i < inputs->notes.assumption_count && i < EMP_NOTES_MAX; i++)
        if (inputs->notes.assumption[i] != NULL)
            cli_warn("assumed: %s", inputs->notes.assumption[i]);
    for (int32_t i = 0; i < inputs->notes.warning_count && i < EMP_NOTES_MAX; i++)
        if (inputs->notes.warning[i] != NULL) cli_warn("%s", inputs->notes.warning[i]);
    return EMP_OK;
}

/* Shares of the ops that are guessed, in the time of all ops on each device model. */
static void warn_of_unknown_time(const cli_inputs *inputs)
{
    const emp_problem *p = inputs->problem;
    const emp_graph   *g = inputs->step;
    const emp_machine *m = inputs->machine;
    char               sentence[1024];
    emp_text           text = {sentence, sizeof sentence, 0};

    if (g->unknown_op_count == 0) return;
    for (int32_t model = 0; model < m->model_count; model++) {
        double        all_ns = 0.0, unknown_ns = 0.0;
        emp_device_id d = 0;
        while (d < m->device_count && m->device[d].model != model) d++;
        if (d == m->device_count) continue;
        for (emp_op_id op = 0; op < g->op_count; op++) {
            double ns = (double)emp_problem_op_time_ns(p, op, d);
            if (g->op[op].is_folded) continue;
            all_ns += ns;
            if (g->type_entry[g->type[op]] == NULL) unknown_ns += ns;
        }
        emp_text_add(
            &text, "%s%.3g %% of the time of all ops on %s", text.used > 0 ? ", " : "",
            all_ns > 0.0 ? 100.0 * unknown_ns / all_ns : 0.0, m->model[model].name);
    }
    if (text.used > 0) cli_warn("ops of unknown types take %s", sentence);
}

static emp_status forbid_cpus(const cli_inputs *inputs, emp_error *err)
{
    int32_t kept = 0;

    if (!inputs->is_cpu_forbidden) return EMP_OK;
    EMP_CHECK(emp_problem_forbid_cpus(inputs->problem, &kept, err));
    if (kept > 0)
        cli_warn("--forbid cpu: %d of %d ops stay on a CPU, as they, or ops that are "
                 "colocated with them, have no kernel for a GPU",
                 kept, inputs->step->op_count);
    return EMP_OK;
}

void cli_inputs_take_options(cli_inputs *inputs, const cli_task_options *task)
{
    inputs->costs = task->costs;
    inputs->is_cpu_forbidden = task->is_cpu_forbidden;
    inputs->keeps_layers = task->keeps_layers;
}

/* Mistakes in the names of machine and runtime are told before a graph is built. */
emp_status cli_inputs_load(cli_inputs *inputs, const char *spec, const char *machine,
                           const char *runtime, emp_error *err)
{
    emp_runtime        profile;
    const bool         has_runtime = runtime != NULL;
    emp_import_devices devices;
    bool               has_machine = inputs->machine != NULL;
    bool               is_own =
        !has_machine && (machine == NULL || strcmp(machine, EMP_OWN_MACHINE) == 0);

    if (!is_own && !has_machine)
        EMP_CHECK(emp_machine_load(&inputs->machine, machine, err));
    if (has_runtime) EMP_CHECK(emp_runtime_init(&profile, runtime, err));
    EMP_CHECK(cli_inputs_load_graph(inputs, &devices, spec, err));
    if (is_own) EMP_CHECK(emp_own_machine_create(&inputs->machine, &devices, spec, err));
    inputs->runtime = emp_task_runtime(
        inputs->step, &devices, is_own && !inputs->needs_events, &inputs->runtime_why);
    if (has_runtime) inputs->runtime_why = NULL;
    if (!has_runtime) EMP_CHECK(emp_runtime_init(&profile, inputs->runtime, err));
    if (inputs->keeps_layers) EMP_CHECK(cli_layers_join(inputs->step, spec, err));
    EMP_CHECK(cli_form_join(inputs->form, inputs->step, spec, err));
    EMP_CHECK(emp_problem_create(&inputs->problem, inputs->step, inputs->machine,
                                 &profile, spec, err));
    EMP_CHECK(cli_form_bind(inputs->form, inputs->problem, err));
    EMP_CHECK(forbid_cpus(inputs, err));
    EMP_CHECK(cli_costs_take(inputs, &profile, err));
    warn_of_unknown_time(inputs);
    return EMP_OK;
}

void cli_inputs_print_runtime(const cli_inputs *inputs)
{
    if (inputs->runtime_why != NULL)
        printf("runtime      %s, as %s; --runtime changes it\n", inputs->runtime,
               inputs->runtime_why);
}

static json_t *list_of(const char *const *sentence, int32_t count)
{
    json_t *list = json_array();

    for (int32_t i = 0; i < count && i < EMP_NOTES_MAX; i++)
        if (sentence[i] != NULL) json_array_append_new(list, json_string(sentence[i]));
    return list;
}

void cli_inputs_add_notes(json_t *object, const cli_inputs *inputs)
{
    const emp_import_notes *n = &inputs->notes;

    if (object == NULL) return;
    json_object_set_new(object, "runtime_why",
                        inputs->runtime_why != NULL ? json_string(inputs->runtime_why)
                                                    : json_null());
    json_object_set_new(object, "assumptions",
                        list_of(n->assumption, n->assumption_count));
    json_object_set_new(object, "warnings", list_of(n->warning, n->warning_count));
}

void cli_inputs_clear(cli_inputs *inputs)
{
    emp_problem_destroy(inputs->problem);
    emp_machine_destroy(inputs->machine);
    emp_graph_destroy(inputs->step);
    emp_graph_destroy(inputs->whole);
    emp_import_notes_clear(&inputs->notes);
    memset(inputs, 0, sizeof *inputs);
}
