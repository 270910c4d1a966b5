// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/inputs.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "cli/cli.h"
#include "cli/options/device_map.h"
#include "cli/progress.h"
#include "graphs/import/profiles.h"
#include "graphs/load.h"
#include "graphs/workloads/workloads.h"
#include "parallel/spec.h"
#include "sim/cost/given.h"
#include "sim/machine/queries/check.h"

enum { KEY_DIM = 768 };

static const struct argp_option source_options[] = {
    {"batch", CLI_TEXT(cli_source_options, batch), "N", 0,
     "For an ONNX model or a TensorFlow graph: the size of inputs that leave their first "
     "one open",
     0},
    {"dim", KEY_DIM, "NAME=N", 0, "For an ONNX model: the size that it calls NAME", 0},
    {"train", CLI_TEXT(cli_source_options, train), "OPTIMIZER", 0,
     "Derive the training step of an ONNX model: sgd, momentum or adam", 0},
    {"lenient", CLI_FLAG(cli_source_options, is_lenient), NULL, 0,
     "Take ops of an ONNX model whose types are unknown as element-wise; with a machine, "
     "a warning says how much of the time they are",
     0},
    {"signature", CLI_TEXT(cli_source_options, signature), "NAME", 0,
     "For a SavedModel: the signature that is a step; serving_default if it has that one",
     0},
    {0},
};

static void add_dim(cli_source_options *o, const char *dim)
{
    size_t used = strlen(o->dims);

    if (strchr(dim, '=') == NULL) cli_usage_error("--dim takes NAME=N, not \"%s\"", dim);
    if (used + strlen(dim) + 8 > sizeof o->dims) cli_usage_error("too many --dim");
    snprintf(o->dims + used, sizeof o->dims - used, ",dim.%s", dim);
}

static error_t parse_source(int key, char *arg, struct argp_state *state)
{
    cli_source_options *o = (cli_source_options *)state->input;

    switch (key) {
    case KEY_DIM: add_dim(o, arg); return 0;
    default: return cli_store(key, arg, o);
    }
}

const struct argp cli_source_argp = {source_options, parse_source, NULL, NULL,
                                     NULL,           NULL,         NULL};

/* The spec that the source_options make from a file: the beginning of a spec. */
static const char *prefix_of(const cli_source_options *o, const char *path)
{
    bool is_for_onnx = o->train || o->is_lenient || o->dims[0] != '\0';
    const emp_source_format *format = is_for_onnx ? NULL : emp_source_format_of(path);

    return is_for_onnx ||
                   (format != NULL && !o->signature && format->source == EMP_SOURCE_ONNX)
               ? "onnx:path="
               : "tf:path=";
}

const char *cli_source_spec(cli_source_options *o, const char *spec)
{
    bool is_given =
        o->batch || o->train || o->is_lenient || o->signature || o->dims[0] != '\0';
    bool is_spec = spec != NULL && (emp_source_has_prefix(spec, "onnx") ||
                                    emp_source_has_prefix(spec, "tf"));

    if (!is_given || spec == NULL) return spec;
    if (emp_workload_is_spec(spec))
        cli_usage_error(
            "--batch, --dim, --train, --lenient and --signature are for files; emplace "
            "workloads %.*s lists what may follow \"%.*s:\"",
            (int)strcspn(spec, ":"), spec, (int)strcspn(spec, ":"), spec);
    if (!is_spec && strchr(spec, ',') != NULL)
        cli_usage_error(
            "\"%s\" has a comma, so --batch, --dim, --train, --lenient and --signature "
            "cannot go with it",
            spec);
    int length = snprintf(
        o->spec, sizeof o->spec, "%s%s%s%s%s%s%s%s%s%s",
        is_spec ? "" : prefix_of(o, spec), spec, o->dims, o->batch ? ",batch=" : "",
        o->batch ? o->batch : "", o->train ? ",train=" : "", o->train ? o->train : "",
        o->is_lenient ? ",lenient=1" : "", o->signature ? ",signature=" : "",
        o->signature ? o->signature : "");
    if (length < 0 || (size_t)length >= sizeof o->spec)
        cli_usage_error("\"%s\" is too long", spec);
    return o->spec;
}

/* Times of a run of TensorFlow, for the models of the devices that had the same names. */
static emp_status take_run_metadata(emp_given_costs *given, cli_inputs *inputs,
                                    const emp_runtime *profile, emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_run_metadata run = {0};
    emp_given_time  *time = NULL;

    EMP_TRY(emp_run_metadata_load(&run, inputs->costs, err));
    EMP_TRY(EMP_ALLOC(time, (size_t)run.count));
    for (int32_t i = 0; i < run.count; i++) {
        const emp_measured_op *op = &run.op[i];
        time[i] =
            (emp_given_time){.op = op->op.data,
                             .length = op->op.size,
                             .us = op->us,
                             .device = emp_device_name_find(
                                 inputs->machine, op->device.data, op->device.size)};
    }
    EMP_TRY(emp_given_times_apply(given, inputs->problem->costs, inputs->step,
                                  inputs->machine, profile, time, run.count,
                                  inputs->costs, err));
    if (run.without_kernels > 0)
        cli_warn("%s has no kernels of GPUs for %d ops, which keep predicted times",
                 inputs->costs, run.without_kernels);

cleanup:
    emp_free(time);
    emp_run_metadata_clear(&run);
    return st;
}

/* Times of ONNX Runtime's nodes, on their way to ops. */
typedef struct {
    const cli_inputs   *inputs;
    emp_onnx_profile    profile;
    emp_onnx_node_time *node;     /* of the model */
    int32_t            *group_of; /* [op]: -1 = of no node */
    double             *group_ns; /* [group]: the predicted times of its ops */
    int32_t            *op_count; /* [group] */
    emp_given_time     *time;
    int32_t             time_count;
    emp_device_id       cpu;
} node_times;

/* The node whose name an op has, or whose name and a slash it begins with; the longest such name counts. */
static int32_t find_node(const emp_strmap *node_of_name, const char *op)
{
    size_t  length = strlen(op);
    int32_t node = emp_strmap_get(node_of_name, op, length);

    while (node < 0 && length > 0) {
        while (length > 0 && op[length - 1] != '/') length--;
        if (length > 0) node = emp_strmap_get(node_of_name, op, --length);
    }
    return node;
}

static emp_status find_groups(node_times *t, emp_error *err)
{
    emp_status              st = EMP_OK;
    const emp_import_notes *notes = &t->inputs->notes;
    const emp_graph        *g = t->inputs->step;
    emp_strmap              node_of_name = {0};

    for (int32_t i = 0; i < notes->node_count; i++)
        if (notes->node[i].op != NULL)
            EMP_TRY(emp_strmap_set(&node_of_name, notes->node[i].op,
                                   strlen(notes->node[i].op), i, err));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t node = g->op[op].is_folded ? -1 : find_node(&node_of_name, g->name[op]);
        int32_t group = node < 0 ? -1 : t->node[node].group;
        t->group_of[op] = group;
        if (group < 0) continue;
        t->op_count[group]++;
        t->group_ns[group] +=
            (double)emp_problem_op_time_ns(t->inputs->problem, op, t->cpu);
    }

cleanup:
    emp_strmap_clear(&node_of_name);
    return st;
}

/* The nearest group with ops, of nodes before node i in the file, else of those behind it; -1 = none has any. */
static int32_t nearest_with_ops(const node_times *t, int32_t i)
{
    for (int32_t step = -1; step <= 1; step += 2)
        for (int32_t j = i; j >= 0 && j < t->inputs->notes.node_count; j += step)
            if (t->op_count[t->node[j].group] > 0) return t->node[j].group;
    return -1;
}

/* Moves the times of groups without ops to the nearest that has some: the runtime spends them in the step, also on
 * what it could compute before it and on slices that keep all. */
static void move_times_without_ops(node_times *t)
{
    for (int32_t i = 0; i < t->inputs->notes.node_count; i++) {
        if (t->node[i].group != i || t->op_count[i] > 0 || t->node[i].us <= 0.0) continue;
        int32_t to = nearest_with_ops(t, i);
        if (to < 0) return;
        t->node[to].us = fmax(t->node[to].us, 0.0) + t->node[i].us;
    }
}

/* Shares the time of each group among its ops by their predicted times, or evenly if those are 0. */
static void share_times(node_times *t)
{
    const emp_graph *g = t->inputs->step;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t group = t->group_of[op];
        if (group < 0 || t->node[group].us < 0.0) continue;
        double ns = (double)emp_problem_op_time_ns(t->inputs->problem, op, t->cpu);
        double share =
            t->group_ns[group] > 0.0 ? ns / t->group_ns[group] : 1.0 / t->op_count[group];
        t->time[t->time_count++] = (emp_given_time){.op = g->name[op],
                                                    .length = strlen(g->name[op]),
                                                    .device = t->cpu,
                                                    .us = t->node[group].us * share};
    }
}

/* Says which times of the profile ops do not have from their own node. */
static void warn_of_profile(const node_times *t, int32_t unmatched)
{
    const emp_onnx_profile *p = &t->profile;
    const char             *path = t->inputs->costs;

    if (unmatched > 0)
        cli_warn(
            "%s: %d of %d nodes are none of the model, and their times are shared by "
            "nodes without one; the model that the session saves "
            "(optimized_model_filepath) has them",
            path, unmatched, p->count);
    if (p->other_count > 0)
        cli_warn("%s: %d nodes did not run on the CPU, and keep predicted times", path,
                 p->other_count);
}

static emp_status read_node_times(node_times *t, emp_error *err)
{
    const cli_inputs *inputs = t->inputs;
    const size_t      nodes = (size_t)inputs->notes.node_count;
    const size_t      ops = (size_t)inputs->step->op_count;
    int32_t           unmatched;

    if (nodes == 0)
        return EMP_ERROR(
            EMP_EINVAL, "%s is a profile of ONNX Runtime, and the graph is no ONNX model",
            inputs->costs);
    for (t->cpu = 0; t->cpu < inputs->machine->device_count; t->cpu++)
        if (inputs->machine->device[t->cpu].kind == EMP_DEVICE_CPU) break;
    EMP_CHECK(emp_onnx_profile_load(&t->profile, inputs->costs, err));
    EMP_CHECK(EMP_ALLOC(t->node, nodes));
    EMP_CHECK(EMP_ALLOC(t->group_ns, nodes));
    EMP_CHECK(EMP_ALLOC(t->op_count, nodes));
    EMP_CHECK(EMP_ALLOC(t->group_of, ops));
    EMP_CHECK(EMP_ALLOC(t->time, ops));
    EMP_CHECK(emp_onnx_profile_match(t->node, &unmatched, &t->profile, inputs->notes.node,
                                     inputs->notes.node_count, err));
    if (unmatched == t->profile.count)
        return EMP_ERROR(
            EMP_EINVAL, "%s: none of its %d nodes is one of the model, such as \"%.*s\"",
            inputs->costs, unmatched, EMP_SLICE_ARG(t->profile.node[0].name));
    EMP_CHECK(find_groups(t, err));
    move_times_without_ops(t);
    share_times(t);
    warn_of_profile(t, unmatched);
    return EMP_OK;
}

/* Times of a run of ONNX Runtime, for the model of the first CPU. */
static emp_status take_onnx_profile(emp_given_costs *given, cli_inputs *inputs,
                                    const emp_runtime *runtime, emp_error *err)
{
    emp_status st = EMP_OK;
    node_times t = {.inputs = inputs};

    EMP_TRY(read_node_times(&t, err));
    EMP_TRY(emp_given_times_apply(given, inputs->problem->costs, inputs->step,
                                  inputs->machine, runtime, t.time, t.time_count,
                                  inputs->costs, err));

cleanup:
    emp_onnx_profile_clear(&t.profile);
    emp_free(t.node);
    emp_free(t.group_of);
    emp_free(t.group_ns);
    emp_free(t.op_count);
    emp_free(t.time);
    return st;
}

static const double ALL_GIVEN_FRAC = 0.9995; /* printed as 100 % */

static void tell_given(const emp_given_costs *given, const cli_inputs *inputs)
{
    char        sentence[1024] = "no op: all that it names are computed before the step";
    emp_text    text = {sentence, sizeof sentence, 0};
    const char *before = "";

    for (int k = EMP_DEVICE_KINDS - 1; k >= 0; k--) {
        for (int32_t i = 0; i < given->column_count[k]; i++) {
            const emp_given_column *column = &given->column[k][i];
            if (column->given == 0) continue;
            emp_text_add(&text,
                         "%s%d of %d ops on %s, %.3g %% of the time of all kernels",
                         before, column->given, inputs->step->op_count, column->model,
                         100.0 * column->given_frac);
            if (column->given_frac < ALL_GIVEN_FRAC)
                emp_text_add(&text, " (the others: predicted, times %.3g)",
                             column->factor);
            before = ", of ";
        }
    }
    cli_inform("%s gives the times of %s", inputs->costs, sentence);
}

/* Puts the times of inputs->costs, if it is not NULL, in the place of predicted ones in the loaded problem, and says how
 * many ops have one. The content of the file tells its format.
 * \retval EMP_EIO, EMP_EFORMAT, EMP_EUNSUPPORTED  As the reader of that file.
 * \retval EMP_EINVAL  Nothing in it is of the graph and the machine. \retval EMP_ENOMEM */
static emp_status cli_costs_take(cli_inputs *inputs, const emp_runtime *profile,
                                 const emp_given_source *source, emp_error *err)
{
    emp_given_costs given;

    if (inputs->costs == NULL) return EMP_OK;
    if (emp_run_metadata_is(inputs->costs))
        EMP_CHECK(take_run_metadata(&given, inputs, profile, err));
    else if (emp_onnx_profile_is(inputs->costs))
        EMP_CHECK(take_onnx_profile(&given, inputs, profile, err));
    else
        EMP_CHECK(emp_given_costs_apply(&given, inputs->problem->costs, inputs->step,
                                        inputs->machine, profile, inputs->costs,
                                        source->model == NULL ? NULL : source, err));
    inputs->given = given;
    tell_given(&given, inputs);
    return EMP_OK;
}

#define MAX_LOAD_RUNTIME "msr-load"

/* Times that were measured, of the machine's GPUs or of another one. */
static emp_status take_measured(cli_inputs *inputs, const emp_runtime *profile,
                                emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_device_model model = {0};
    emp_given_source source;

    EMP_TRY(cli_measured_on_load(&source, &model, inputs->measured_on.model, err));
    EMP_TRY(cli_measured_on_take(&inputs->measured_on, inputs->problem, &source,
                                 inputs->costs != NULL, err));
    EMP_TRY(cli_costs_take(inputs, profile, &source, err));

cleanup:
    emp_device_model_clear(&model);
    return st;
}

enum { KEY_FORBID = 256 };

static const struct argp_option options[] = {
    {"machine", 'm', "NAME|FILE", 0,
     "Machine to place on (emplace machines lists them); a benchmark instance that "
     "states its own needs none",
     0},
    {"runtime", 'r', "NAME|FILE", 0,
     "Runtime profile (the default follows from where the graph comes from, as "
     "docs/machines.md lists): " EMP_RUNTIME_NAMES,
     0},
    {"objective", CLI_TEXT(cli_task_options, objective), "NAME", 0,
     "step-time (default), or max-load: the time per sample of a pipeline, which "
     "its busiest device decides. The same as --runtime msr-load",
     0},
    {"costs", CLI_TEXT(cli_task_options, costs), "FILE", 0,
     "Times that you measured, CSV with the columns op (a name, a pattern, or "
     "type:TYPE), us and perhaps model, a RunMetadata of TensorFlow, or a profile of "
     "ONNX Runtime; other ops keep predicted times, scaled (docs/models.md)",
     0},
    {"as", CLI_TEXT(cli_task_options, measured_on), "MODEL", 0,
     "The GPU that the kernels of a trace, or the times of --costs, were measured on, "
     "such as h100-sxm; they are scaled to the machine's GPUs (docs/models.md)",
     0},
    {"forbid", KEY_FORBID, "cpu", 0,
     "Keep ops that have a GPU kernel off the CPU; others stay there, and a warning "
     "counts them. A model that does not fit into the GPUs is then out of memory",
     0},
    {"whole-layers", CLI_FLAG(cli_task_options, keeps_layers), NULL, 0,
     "Have each numbered layer of a PyTorch model, such as model.layers.0, on one device",
     0},
    {0},
};

/* The objective is a matter of the runtime's rules, whatever the name of its profile. */
static void check_objective(cli_task_options *o)
{
    emp_runtime profile;

    if (o->objective == NULL) return;
    const bool is_max_load = strcmp(o->objective, "max-load") == 0;
    if (!is_max_load && strcmp(o->objective, "step-time") != 0)
        cli_usage_error("--objective is step-time or max-load, not \"%s\"", o->objective);
    if (o->runtime == NULL && is_max_load) o->runtime = MAX_LOAD_RUNTIME;
    if (o->runtime == NULL || emp_runtime_init(&profile, o->runtime, NULL) != EMP_OK)
        return;
    if (is_max_load && profile.rules != EMP_RULES_MSR_LOAD)
        cli_usage_error("--objective max-load is --runtime " MAX_LOAD_RUNTIME ", not %s",
                        o->runtime);
    if (!is_max_load && profile.rules == EMP_RULES_MSR_LOAD)
        cli_usage_error(
            "--objective step-time is not --runtime %s, whose rules give the max "
            "load",
            o->runtime);
}

static void check_options(cli_task_options *o, const char *command)
{
    if (o->tasks != NULL) {
        if (o->spec != NULL || o->machine != NULL)
            cli_usage_error("--tasks names graphs and machines; leave %s out",
                            o->spec != NULL ? o->spec : "--machine");
        if (o->costs != NULL || o->measured_on != NULL || o->is_cpu_forbidden ||
            o->keeps_layers)
            cli_usage_error(
                "--costs, --as, --forbid and --whole-layers are for one SPEC, not "
                "for --tasks");
        if (o->objective != NULL || o->source.batch || o->source.train ||
            o->source.is_lenient || o->source.signature || o->source.dims[0] != '\0')
            cli_usage_error("--objective, --batch, --dim, --train, --lenient and "
                            "--signature are for one SPEC, not for --tasks; "
                            "--runtime " MAX_LOAD_RUNTIME " has max-load");
        return;
    }
    if (o->spec == NULL) cli_usage_error("a SPEC is missing; see %s --help", command);
    if (o->machine == NULL && emp_workload_is_spec(o->spec))
        cli_usage_error("--machine is missing; emplace machines lists what there is");
    o->spec = cli_source_spec(&o->source, o->spec);
    check_objective(o);
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
    case KEY_FORBID:
        if (strcmp(arg, "cpu") != 0)
            cli_usage_error(
                "--forbid takes cpu, not \"%s\"; leave a GPU out of the machine file",
                arg);
        o->is_cpu_forbidden = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->spec != NULL) cli_usage_error("one SPEC only, not also \"%s\"", arg);
        o->spec = arg;
        return 0;
    case ARGP_KEY_END: check_options(o, state->name); return 0;
    default: return cli_store(key, arg, o);
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

    if (emp_parallel_spec_is(spec))
        return EMP_ERROR(EMP_EINVAL,
                         "%s has degrees of parallelism, which say where its parts are, "
                         "and no ops to place; emplace plan ranks degrees and emplace "
                         "simulate times them, and an hf: or transformer: spec without "
                         "tp, pp, dp and their like has ops",
                         spec);
    cli_stage_line_begin(&line, spec, "reading the graph");
    emp_status st =
        emp_source_load_noted(&inputs->step, inputs->wants_whole ? &inputs->whole : NULL,
                              &stated, &inputs->notes, spec, err);
    cli_stage_line_end(&line);
    if (st != EMP_OK) warn_of_problems(&inputs->notes);
    EMP_CHECK(st);
    inputs->runtime =
        emp_task_runtime(inputs->step, &stated, stated.cpu_count + stated.gpu_count > 0,
                         &inputs->runtime_why);
    if (devices != NULL) *devices = stated;
    snprintf(inputs->note, sizeof inputs->note, "%s", stated.note);
    snprintf(inputs->measured_on.gpu_name, sizeof inputs->measured_on.gpu_name, "%s",
             stated.gpu_name);
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

/* Notes the options by which the problem differs from its files, for records: two runs with different ones are
 * different runs. Files stand for their times, which a hash names. */
static void note_overrides(cli_inputs *inputs)
{
    emp_problem *p = inputs->problem;
    const char  *model = inputs->measured_on.model;
    const char  *ending = cli_form_ending(inputs->form);
    emp_text     text = {p->overrides, sizeof p->overrides, 0};
    uint64_t     times = 0;

    if (inputs->costs != NULL || model != NULL) times = emp_cost_table_hash(p->costs);
    if (inputs->costs != NULL) emp_text_add(&text, " --costs HASH-%016" PRIx64, times);
    if (model != NULL && emp_text_ends_in(model, ".yaml"))
        emp_text_add(&text, " --as HASH-%016" PRIx64, times);
    else if (model != NULL)
        emp_text_add(&text, " --as %s", model);
    if (inputs->is_cpu_forbidden) emp_text_add(&text, " --forbid cpu");
    if (inputs->keeps_layers) emp_text_add(&text, " --whole-layers");
    if (ending != NULL) emp_text_add(&text, " --out FILE%s", ending);
}

void cli_inputs_take_options(cli_inputs *inputs, const cli_task_options *task)
{
    inputs->costs = task->costs;
    inputs->measured_on.model = task->measured_on;
    inputs->is_cpu_forbidden = task->is_cpu_forbidden;
    inputs->keeps_layers = task->keeps_layers;
}

/* Mistakes in the names of machine and runtime are reported before a graph is built. */
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
    if (is_own && inputs->measured_on.model != NULL)
        return EMP_ERROR(
            EMP_EINVAL,
            "--as scales times to the GPUs of --machine, without which %s keeps the "
            "times of its own GPUs",
            spec);
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
    EMP_CHECK(take_measured(inputs, &profile, err));
    note_overrides(inputs);
    warn_of_unknown_time(inputs);
    cli_warn_of_stated_costs(inputs, spec);
    return EMP_OK;
}

void cli_inputs_print_runtime(const cli_inputs *inputs)
{
    if (inputs->runtime_why != NULL)
        printf("runtime      %s, as %s; --runtime changes it\n", inputs->runtime,
               inputs->runtime_why);
    cli_measured_on_print(&inputs->measured_on);
}

static json_t *list_of(const char *const *sentence, int32_t count)
{
    json_t *list = json_array();

    for (int32_t i = 0; i < count && i < EMP_NOTES_MAX; i++)
        if (sentence[i] != NULL) json_array_append_new(list, json_string(sentence[i]));
    return list;
}

/* Which ops have given times, and which share of the time of all kernels they are. */
static json_t *list_given(const emp_given_costs *given)
{
    json_t *list = json_array();

    for (int k = EMP_DEVICE_KINDS - 1; k >= 0; k--)
        for (int32_t i = 0; i < given->column_count[k]; i++) {
            const emp_given_column *column = &given->column[k][i];
            json_array_append_new(
                list, json_pack("{s:s, s:i, s:f, s:f}", "model", column->model, "ops",
                                (int)column->given, "share", column->given_frac, "factor",
                                column->factor));
        }
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
    if (inputs->costs != NULL)
        json_object_set_new(object, "given", list_given(&inputs->given));
    if (inputs->measured_on.transfer != NULL)
        json_object_set_new(object, "scaled", cli_measured_on_json(&inputs->measured_on));
}

void cli_inputs_clear(cli_inputs *inputs)
{
    emp_problem_destroy(inputs->problem);
    emp_machine_destroy(inputs->machine);
    emp_graph_destroy(inputs->step);
    emp_graph_destroy(inputs->whole);
    emp_import_notes_clear(&inputs->notes);
    cli_measured_on_clear(&inputs->measured_on);
    memset(inputs, 0, sizeof *inputs);
}
