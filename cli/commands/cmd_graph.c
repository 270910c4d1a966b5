// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace graph SPEC: what a workload or a graph file consists of. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/output.h"
#include "base/mem.h"
#include "base/text/units.h"
#include "cli/cli.h"
#include "cli/commands/graph_output.h"
#include "cli/format.h"
#include "cli/options/inputs.h"
#include "cli/parse.h"
#include "sim/graph/graph.h"

enum { SHOWN_TYPES = 20 };
enum { KEY_COSTS = 256 };

struct args {
    const char        *spec, *machine, *runtime, *costs;
    const char        *out; /**< file, or NULL */
    bool               is_forced;
    emp_sheet_format   format;
    cli_source_options source;
};

struct type_count {
    const char *name;
    int32_t     count;
    bool        is_unknown;
};

static const struct argp_option options[] = {
    {"out", 'o', "FILE", 0,
     "Write the ops and edges of a step: FILE.json, or FILE.csv and FILE.edges.csv", 0},
    {"machine", 'm', "NAME|FILE", 0,
     "Add to --out what each op takes on the devices of this machine", 0},
    {"runtime", 'r', "NAME|FILE", 0,
     "Runtime profile of these times (default: that which fits the graph)", 0},
    {"costs", KEY_COSTS, "FILE", 0,
     "Times that you measured, in place of predicted ones (docs/formats.md)", 0},
    CLI_FORCE_OPTION,
    {0},
};

static const char doc[] =
    "Show the whole graph of SPEC and the part of it that one training step runs.\v"
    "SPEC is a workload spec or the path of a graph file (.pb, .pb.gz, .pbtxt,\n"
    ".meta, saved_model.pb), of an ONNX model (.onnx), of PyTorch (.json, .pt2), a\n"
    "program that JAX has compiled (.hlo.txt), a measured trace (.json, .et), a\n"
    "file of weights (.gguf), or a benchmark instance (.json, graph.txt). Specs of\n"
    "a file begin with hf:, tf:, onnx:, layers: or trace:.\n\n"
    "  emplace graph nmt:layers=4\n"
    "  emplace graph model.pb.gz --format json\n"
    "  emplace graph model.onnx --batch 8 --train adam\n"
    "  emplace graph hf:path=config.json,phase=decode,batch=1,seq=4096\n"
    "  emplace graph nmt:layers=4 --machine k40x4 --out nmt.json\n"
    "  emplace graph model.pb --out model.csv      # and model.edges.csv\n"
    "docs/formats.md says what is in these files.";

static void check_output_options(const struct args *args)
{
    bool is_changed = args->runtime != NULL || args->costs != NULL;

    if (args->out == NULL && (args->machine != NULL || is_changed))
        cli_usage_error("--machine, --runtime and --costs are for --out FILE");
    if (is_changed && args->machine == NULL)
        cli_usage_error("%s is for --machine NAME",
                        args->runtime != NULL ? "--runtime" : "--costs");
    if (args->out != NULL && !cli_graph_output_is_named(args->out))
        cli_usage_error("--out takes a FILE.json or a FILE.csv, not \"%s\"", args->out);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->format;
        state->child_inputs[1] = &args->source;
        return 0;
    case 'o': args->out = arg; return 0;
    case 'm': args->machine = arg; return 0;
    case 'r': args->runtime = arg; return 0;
    case KEY_COSTS: args->costs = arg; return 0;
    case CLI_KEY_FORCE: args->is_forced = true; return 0;
    case ARGP_KEY_ARG:
        if (args->spec != NULL) cli_usage_error("one SPEC only, not also \"%s\"", arg);
        args->spec = arg;
        return 0;
    case ARGP_KEY_END:
        if (args->spec == NULL)
            cli_usage_error("graph needs a SPEC; see emplace graph --help");
        args->spec = cli_source_spec(&args->source, args->spec);
        check_output_options(args);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int by_falling_count(const void *a, const void *b)
{
    const struct type_count *x = (const struct type_count *)a;
    const struct type_count *y = (const struct type_count *)b;

    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Counts ops by type, most frequent first; the caller frees the array of type_count. */
static emp_status count_types(struct type_count **out, const emp_graph *graph,
                              emp_error *err)
{
    struct type_count *counts =
        EMP_NEW_ARRAY(struct type_count, (size_t)graph->type_count);

    *out = counts;
    if (counts == NULL)
        return EMP_ERROR(EMP_ENOMEM, "counts of %d op types", graph->type_count);
    for (int32_t i = 0; i < graph->type_count; i++) {
        counts[i].name = graph->type_name[i];
        counts[i].is_unknown = graph->stated == NULL && graph->type_entry[i] == NULL;
    }
    for (emp_op_id op = 0; op < graph->op_count; op++) counts[graph->type[op]].count++;
    qsort(counts, (size_t)graph->type_count, sizeof *counts, by_falling_count);
    return EMP_OK;
}

static json_t *json_types(const struct type_count *counts, int32_t type_count,
                          bool unknown_only)
{
    json_t *object = json_object();

    for (int32_t i = 0; i < type_count; i++) {
        if (counts[i].count == 0 || (unknown_only && !counts[i].is_unknown)) continue;
        json_object_set_new(object, counts[i].name, json_integer(counts[i].count));
    }
    return object;
}

static json_t *json_graph(const emp_graph *graph, const struct type_count *counts)
{
    return json_pack("{s:i, s:i, s:i, s:o}", "op_count", graph->op_count, "edge_count",
                     graph->edge_count, "control_edge_count", graph->control_edge_count,
                     "op_types", json_types(counts, graph->type_count, false));
}

static json_t *json_of(const struct args *args, const cli_inputs *inputs,
                       const struct type_count *whole, const struct type_count *step,
                       int64_t activation_bytes)
{
    const emp_graph *g = inputs->whole;
    json_t          *object = json_pack(
                 "{s:s, s:s, s:s?, s:o, s:o, s:f, s:I, s:I, s:I, s:o}", "workload", args->spec,
                 "runtime", args->runtime != NULL ? args->runtime : inputs->runtime, "file",
                 inputs->notes.what, "whole", json_graph(g, whole), "step",
                 json_graph(inputs->step, step), "flops", inputs->step->flops, "activation_bytes",
                 (json_int_t)activation_bytes, "parameter_count",
                 (json_int_t)inputs->step->parameter_count, "parameter_bytes",
                 (json_int_t)inputs->step->parameter_bytes, "unknown_op_types",
                 json_types(whole, g->type_count, true));

    cli_inputs_add_notes(object, inputs);
    return object;
}

static void print_graph(const char *title, const char *spec, const emp_graph *graph,
                        const struct type_count *counts)
{
    printf("%s of %s: %d op%s of %d type%s, %d data edge%s, %d control edge%s\n", title,
           spec, graph->op_count, emp_units_plural(graph->op_count), graph->type_count,
           emp_units_plural(graph->type_count), graph->edge_count,
           emp_units_plural(graph->edge_count), graph->control_edge_count,
           emp_units_plural(graph->control_edge_count));
    for (int32_t i = 0; i < graph->type_count && i < SHOWN_TYPES; i++) {
        printf("  %7d %s%s\n", counts[i].count, counts[i].name,
               counts[i].is_unknown ? " (unknown)" : "");
    }
    if (graph->type_count > SHOWN_TYPES) {
        int32_t rest = graph->type_count - SHOWN_TYPES;
        printf("          and %d more type%s\n", rest, emp_units_plural(rest));
    }
}

static void print_stated_facts(const emp_graph *step)
{
    double gpu_s = 0.0, cpu_s = 0.0;
    char   gpu[32], cpu[32];

    for (emp_op_id op = 0; op < step->op_count; op++) {
        gpu_s += (double)step->stated[op].gpu_ns * 1e-9;
        cpu_s += (double)step->stated[op].cpu_ns * 1e-9;
    }
    printf("Its ops take %s on a GPU, one after the other, or %s on a CPU.\n",
           emp_units_format_seconds(gpu_s, gpu, sizeof gpu),
           emp_units_format_seconds(cpu_s, cpu, sizeof cpu));
}

static emp_status check_files(const struct args *args, emp_error *err)
{
    char        edges[CLI_GRAPH_PATH_BYTES];
    bool        has_edges = args->out != NULL && cli_graph_output_edges(edges, args->out);
    const char *outputs[] = {args->out, has_edges ? edges : NULL};
    const char *inputs[] = {args->spec, args->machine, args->runtime, args->costs};

    EMP_CHECK(emp_output_check_all(outputs, 2, err));
    EMP_CHECK(emp_output_check_inputs(inputs, 4, outputs, 2, err));
    return emp_output_check_replaced(outputs, 2, args->is_forced, err);
}

static emp_status load(cli_inputs *inputs, const struct args *args, emp_error *err)
{
    if (args->machine == NULL)
        return cli_inputs_load_graph(inputs, NULL, args->spec, err);
    inputs->costs = args->costs;
    return cli_inputs_load(inputs, args->spec, args->machine, args->runtime, err);
}

static emp_status write_output(const struct args *args, const cli_inputs *inputs,
                               emp_error *err)
{
    const cli_graph_output output = {args->out, args->spec, inputs->step,
                                     inputs->problem};

    return args->out == NULL ? EMP_OK : cli_graph_output_write(&output, err);
}

static const struct argp_child children[] = {
    {&cli_format_argp, 0, NULL, 0}, {&cli_source_argp, 0, NULL, 0}, {0}};
const struct argp cmd_graph_argp = {options, parse, "SPEC", doc, children, NULL, NULL};

emp_status cmd_graph(int argc, char **argv, emp_error *err)
{
    emp_status         st = EMP_OK;
    struct args        args = {0};
    cli_inputs         inputs = {.wants_whole = true};
    struct type_count *whole = NULL, *step = NULL;
    char               size[32], flops[32];
    int64_t            activation_bytes = 0;

    cli_parse(&cmd_graph_argp, argc, argv, &args);
    EMP_TRY(check_files(&args, err));
    EMP_TRY(load(&inputs, &args, err));
    EMP_TRY(write_output(&args, &inputs, err));
    EMP_TRY(count_types(&whole, inputs.whole, err));
    EMP_TRY(count_types(&step, inputs.step, err));
    EMP_TRY(emp_graph_activation_bytes(&activation_bytes, inputs.step, err));
    if (args.format != EMP_SHEET_TEXT) {
        EMP_TRY(cli_print_object(json_of(&args, &inputs, whole, step, activation_bytes),
                                 args.format, err));
    } else {
        if (inputs.note[0] != '\0') printf("%s\n", inputs.note);
        if (inputs.notes.what != NULL)
            printf("%s is %s.\n", args.spec, inputs.notes.what);
        print_graph("whole graph", args.spec, inputs.whole, whole);
        print_graph("step graph", args.spec, inputs.step, step);
        if (inputs.runtime_why != NULL)
            printf("simulate and place run it under %s, as %s; --runtime changes it.\n",
                   inputs.runtime, inputs.runtime_why);
        if (inputs.step->stated != NULL)
            print_stated_facts(inputs.step);
        else
            printf(
                "A step does %s with %" PRId64 " parameter%s (%s).\n",
                emp_units_format_si(inputs.step->flops, "FLOP", flops, sizeof flops),
                inputs.step->parameter_count,
                emp_units_plural(inputs.step->parameter_count),
                emp_units_format_bytes(inputs.step->parameter_bytes, size, sizeof size));
        if (activation_bytes > 0)
            printf("Its backward pass reads %s that the forward pass has made.\n",
                   emp_units_format_bytes(activation_bytes, size, sizeof size));
    }

cleanup:
    emp_free(whole);
    emp_free(step);
    cli_inputs_clear(&inputs);
    return st;
}
