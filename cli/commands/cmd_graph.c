// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace graph SPEC: what a workload or a graph file consists of. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/io/output.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/cli.h"
#include "cli/options/inputs.h"
#include "run/sheet/sheet.h"
#include "sim/graph/graph.h"
#include "sim/problem/problem.h"

/* A graph as a file for other programs: what --out of `emplace graph` writes. */

enum { CLI_GRAPH_PATH_BYTES = 4096 };

/** The files to write. Everything is borrowed. */
typedef struct {
    const char        *path; /**< ends in .json, or in .csv: then the ops go there */
    const char        *spec;
    const emp_graph   *graph;
    const emp_problem *problem; /**< of the graph; NULL: there is no machine */
} cli_graph_output;

enum { SHAPE_BYTES = 21 * EMP_MAX_RANK + 32, COLUMN_BYTES = 80 };

static const char format_name[] = "emplace-graph-1";

/* ---- names ---- */

/* Whether the path says how to write: by .json or .csv. */
static bool cli_graph_output_is_named(const char *path)
{
    return emp_text_ends_in(path, ".json") || emp_text_ends_in(path, ".csv");
}

/* The second file of x.csv, x.edges.csv, which has the edges. False where there is none.
 * \param[out] edges  Of CLI_GRAPH_PATH_BYTES bytes. */
static bool cli_graph_output_edges(char *edges, const char *path)
{
    if (!emp_text_ends_in(path, ".csv")) return false;
    snprintf(edges, CLI_GRAPH_PATH_BYTES, "%.*s.edges.csv",
             (int)(strlen(path) - strlen(".csv")), path);
    return true;
}

/* ---- what is known of an op ---- */

/* The first device of a model; -1 = the machine has none. */
static emp_device_id first_of_model(const emp_machine *m, int32_t model)
{
    for (emp_device_id d = 0; d < m->device_count; d++)
        if (m->device[d].model == model) return d;
    return -1;
}

static uint32_t bit_of(emp_device_kind kind)
{
    return kind == EMP_DEVICE_CPU ? EMP_KIND_CPU : EMP_KIND_GPU;
}

/* Seconds on a device; none where the op has no kernel. */
static emp_value seconds_on(const emp_problem *p, emp_op_id op, emp_device_id device)
{
    if ((p->graph->op[op].kinds & bit_of(p->machine->device[device].kind)) == 0)
        return EMP_NONE;
    return EMP_V((double)emp_problem_op_time_ns(p, op, device) * 1e-9);
}

/* ---- edges ---- */

/* An edge as both formats have it; of a control edge only the ends count. */
typedef struct {
    emp_op_id from, to;
    int32_t   output, input;
    int64_t   bytes;
    bool      is_control;
} edge;

/* Calls visit with the edges into each op: data edges in the order of its inputs first. */
static void each_edge(const emp_graph *g, void (*visit)(void *context, const edge *e),
                      void            *context)
{
    for (emp_op_id to = 0; to < g->op_count; to++) {
        for (int32_t i = g->input_offset[to]; i < g->input_offset[to + 1]; i++) {
            const emp_tensor *t = &g->tensor[g->input[i]];
            visit(context, &(edge){.from = t->producer,
                                   .to = to,
                                   .output = g->input[i] - g->output_offset[t->producer],
                                   .input = i - g->input_offset[to],
                                   .bytes = t->copy_bytes});
        }
        for (int32_t i = g->control_offset[to]; i < g->control_offset[to + 1]; i++)
            visit(context, &(edge){.from = g->control[i], .to = to, .is_control = true});
    }
}

/* ---- CSV ---- */

static void add_shape(emp_text *text, const emp_tensor *t)
{
    emp_text_add(text, "%s", emp_dtype_name(t->dtype));
    if (t->shape->rank < 0) {
        emp_text_add(text, "?");
        return;
    }
    emp_text_add(text, "[");
    for (int32_t d = 0; d < t->shape->rank; d++) {
        if (d > 0) emp_text_add(text, ",");
        if (t->shape->dim[d] < 0)
            emp_text_add(text, "?");
        else
            emp_text_add(text, "%" PRId64, t->shape->dim[d]);
    }
    emp_text_add(text, "]");
}

static const char *shapes_of(const emp_graph *g, emp_op_id op, char *buffer, size_t size)
{
    emp_text text = {buffer, size, 0};

    *buffer = '\0';
    for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++) {
        if (text.used > 0) emp_text_add(&text, " ");
        add_shape(&text, &g->tensor[t]);
    }
    return buffer;
}

static const char *devices_of(const emp_problem *p, emp_op_id op, char *buffer,
                              size_t size)
{
    emp_text text = {buffer, size, 0};

    *buffer = '\0';
    for (emp_device_id d = 0; d < p->machine->device_count; d++) {
        if (emp_problem_allows(p, op, d))
            emp_text_add(&text, "%s%s", text.used > 0 ? " " : "",
                         p->machine->device[d].name);
    }
    return buffer;
}

static const emp_sheet_column op_columns[] = {
    EMP_COLUMN("id", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("name", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("type", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("outputs", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("flops", NULL, EMP_SHEET_REAL, .precision = 17),
    EMP_COLUMN("bytes_read", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("bytes_written", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("persistent_bytes", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("colocation_class", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("folded", NULL, EMP_SHEET_FLAG),
    EMP_COLUMN("kinds", NULL, EMP_SHEET_WORD)};
enum { OP_COLUMNS = sizeof op_columns / sizeof *op_columns };

static void add_machine_columns(emp_sheet *s, const emp_machine *m)
{
    char key[COLUMN_BYTES];

    emp_sheet_add_column(s,
                         (emp_sheet_column)EMP_COLUMN("devices", NULL, EMP_SHEET_WORD));
    for (int32_t model = 0; model < m->model_count; model++) {
        if (first_of_model(m, model) < 0) continue;
        snprintf(key, sizeof key, "seconds_%s", m->model[model].name);
        emp_sheet_add_column(
            s, (emp_sheet_column)EMP_COLUMN(key, NULL, EMP_SHEET_REAL, .precision = 15));
    }
}

static const char *kinds_of(uint32_t kinds)
{
    if ((kinds & EMP_KIND_GPU) == 0) return "cpu";
    return (kinds & EMP_KIND_CPU) == 0 ? "gpu" : "cpu gpu";
}

static void tabulate_op(emp_sheet *s, const cli_graph_output *o, emp_op_id id,
                        char *buffer, size_t size)
{
    const emp_graph   *g = o->graph;
    const emp_op      *op = &g->op[id];
    const emp_problem *p = o->problem;
    char               devices[EMP_MAX_DEVICES * 32];
    int32_t            count = OP_COLUMNS;
    emp_value          line[EMP_SHEET_COLUMNS] = {
                 EMP_V(id),
                 EMP_V(g->name[id]),
                 EMP_V(g->type_name[g->type[id]]),
                 EMP_V(shapes_of(g, id, buffer, size)),
                 EMP_V(op->cost->flops),
                 EMP_V(op->cost->bytes_read),
                 EMP_V(op->cost->bytes_written),
                 EMP_V(op->persistent_bytes),
                 EMP_V(op->colocation_class),
                 EMP_V(op->is_folded),
                 EMP_V(kinds_of(op->kinds)),
    };

    if (p != NULL) {
        line[count++] = EMP_V((const char *)devices_of(p, id, devices, sizeof devices));
        for (int32_t model = 0; model < p->machine->model_count; model++) {
            emp_device_id first = first_of_model(p->machine, model);
            if (first >= 0) line[count++] = seconds_on(p, id, first);
        }
    }
    emp_sheet_add(s, line, (size_t)count);
}

static emp_status write_ops(const cli_graph_output *o, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = o->graph;
    emp_sheet        sheet;
    char            *buffer = NULL;
    int32_t          most = 1;

    EMP_SHEET_INIT(&sheet, op_columns);
    if (o->problem != NULL) add_machine_columns(&sheet, o->problem->machine);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t outputs = g->output_offset[op + 1] - g->output_offset[op];
        if (outputs > most) most = outputs;
    }
    size_t size = (size_t)most * SHAPE_BYTES;
    EMP_TRY(EMP_ALLOC(buffer, size));
    for (emp_op_id op = 0; op < g->op_count; op++)
        tabulate_op(&sheet, o, op, buffer, size);
    EMP_TRY(cli_write_sheet(o->path, &sheet, err));

cleanup:
    emp_free(buffer);
    emp_sheet_clear(&sheet);
    return st;
}

static const emp_sheet_column edge_columns[] = {
    EMP_COLUMN("from", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("output", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("to", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("input", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("bytes", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("control", NULL, EMP_SHEET_FLAG)};

static void tabulate_edge(void *context, const edge *e)
{
    bool is_data = !e->is_control;

    EMP_SHEET_ADD((emp_sheet *)context, EMP_V(e->from),
                  emp_value_if(is_data, EMP_V(e->output)), EMP_V(e->to),
                  emp_value_if(is_data, EMP_V(e->input)), EMP_V(e->bytes),
                  EMP_V(e->is_control));
}

static emp_status write_edges(const char *path, const emp_graph *g, emp_error *err)
{
    emp_sheet sheet;

    EMP_SHEET_INIT(&sheet, edge_columns);
    each_edge(g, tabulate_edge, &sheet);
    emp_status st = cli_write_sheet(path, &sheet, err);
    emp_sheet_clear(&sheet);
    return st;
}

/* ---- JSON ---- */

/* A file with one op or edge a line, made one by one. */
typedef struct {
    FILE       *stream;
    const char *comma; /* what stands before the next line */
    emp_status  failure;
} json_lines;

/* Prints the object and releases it. */
static void print_line(json_lines *lines, json_t *object)
{
    if (object == NULL) lines->failure = EMP_ENOMEM;
    if (lines->failure == EMP_OK) {
        fputs(lines->comma, lines->stream);
        if (json_dumpf(object, lines->stream,
                       JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15)) !=
                0 &&
            !ferror(lines->stream))
            lines->failure = EMP_ENOMEM;
    }
    lines->comma = ",\n  ";
    json_decref(object);
}

static json_t *json_shape(const emp_shape *shape)
{
    json_t *dims = shape->rank < 0 ? json_null() : json_array();

    for (int32_t d = 0; d < shape->rank; d++)
        json_array_append_new(dims, shape->dim[d] < 0 ? json_null()
                                                      : json_integer(shape->dim[d]));
    return dims;
}

static json_t *json_outputs(const emp_graph *g, emp_op_id op)
{
    json_t *outputs = json_array();

    for (int32_t i = g->output_offset[op]; i < g->output_offset[op + 1]; i++) {
        const emp_tensor *t = &g->tensor[i];
        json_array_append_new(outputs, json_pack("{s:s, s:o, s:I}", "dtype",
                                                 emp_dtype_name(t->dtype), "shape",
                                                 json_shape(t->shape), "bytes",
                                                 (json_int_t)t->copy_bytes));
    }
    return outputs;
}

static json_t *json_kinds(uint32_t kinds)
{
    json_t *list = json_array();

    if (kinds & EMP_KIND_CPU) json_array_append_new(list, json_string("cpu"));
    if (kinds & EMP_KIND_GPU) json_array_append_new(list, json_string("gpu"));
    return list;
}

static json_t *json_devices(const emp_problem *p, emp_op_id op)
{
    json_t *list = json_array();

    for (emp_device_id d = 0; d < p->machine->device_count; d++) {
        if (emp_problem_allows(p, op, d))
            json_array_append_new(list, json_string(p->machine->device[d].name));
    }
    return list;
}

static json_t *json_seconds(const emp_problem *p, emp_op_id op)
{
    json_t *object = json_object();

    for (int32_t model = 0; model < p->machine->model_count; model++) {
        emp_device_id first = first_of_model(p->machine, model);
        if (first < 0) continue;
        emp_value s = seconds_on(p, op, first);
        json_object_set_new(object, p->machine->model[model].name,
                            s.tag == EMP_VALUE_NONE ? json_null() : json_real(s.real));
    }
    return object;
}

static json_t *json_op(const cli_graph_output *o, emp_op_id id)
{
    const emp_graph *g = o->graph;
    const emp_op    *op = &g->op[id];
    json_t          *object = json_pack(
                 "{s:i, s:s, s:s, s:o, s:f, s:I, s:I, s:I, s:i, s:b, s:o}", "id", id, "name",
                 g->name[id], "type", g->type_name[g->type[id]], "outputs", json_outputs(g, id),
                 "flops", op->cost->flops, "bytes_read", (json_int_t)op->cost->bytes_read,
                 "bytes_written", (json_int_t)op->cost->bytes_written, "persistent_bytes",
                 (json_int_t)op->persistent_bytes, "colocation_class", op->colocation_class,
                 "folded", op->is_folded, "kinds", json_kinds(op->kinds));

    if (object == NULL || o->problem == NULL) return object;
    json_object_set_new(object, "devices", json_devices(o->problem, id));
    json_object_set_new(object, "seconds", json_seconds(o->problem, id));
    return object;
}

static void print_edge(void *context, const edge *e)
{
    json_t *object = e->is_control
                         ? json_pack("{s:i, s:i, s:i, s:b}", "from", e->from, "to", e->to,
                                     "bytes", 0, "control", true)
                         : json_pack("{s:i, s:i, s:i, s:i, s:I, s:b}", "from", e->from,
                                     "output", e->output, "to", e->to, "input", e->input,
                                     "bytes", (json_int_t)e->bytes, "control", false);

    print_line((json_lines *)context, object);
}

/* "key": value, on a line of its own; a text that is no UTF-8 fails. */
static emp_status print_fact(FILE *stream, const char *key, json_t *value, emp_error *err)
{
    bool is_text =
        value != NULL &&
        (fprintf(stream, " \"%s\": ", key) < 0 ||
         json_dumpf(value, stream, JSON_ENCODE_ANY | JSON_PRESERVE_ORDER) == 0);

    json_decref(value);
    if (!is_text && !ferror(stream))
        return EMP_ERROR(EMP_EINVAL, "the %s of the graph is not valid UTF-8", key);
    fputs(",\n", stream);
    return EMP_OK;
}

/* The kind of each device model. */
static json_t *json_models(const emp_machine *m)
{
    json_t *object = json_object();

    for (int32_t i = 0; i < m->model_count; i++)
        if (first_of_model(m, i) >= 0)
            json_object_set_new(
                object, m->model[i].name,
                json_string(m->model[i].kind == EMP_DEVICE_GPU ? "gpu" : "cpu"));
    return object;
}

static emp_status print_facts(FILE *stream, const cli_graph_output *o, emp_error *err)
{
    emp_manifest manifest = emp_manifest_get();
    char         hash[24];

    snprintf(hash, sizeof hash, "%016" PRIx64, o->graph->hash);
    EMP_CHECK(print_fact(stream, "format", json_string(format_name), err));
    EMP_CHECK(print_fact(stream, "command", json_string_nocheck(manifest.command), err));
    EMP_CHECK(print_fact(stream, "version", json_string(manifest.version), err));
    EMP_CHECK(print_fact(stream, "commit", json_string(manifest.commit), err));
    EMP_CHECK(print_fact(stream, "dirty", json_boolean(manifest.is_dirty), err));
    EMP_CHECK(print_fact(stream, "spec", json_string_nocheck(o->spec), err));
    EMP_CHECK(print_fact(stream, "graph_hash", json_string(hash), err));
    if (o->problem == NULL) return EMP_OK;
    EMP_CHECK(print_fact(stream, "machine",
                         json_string_nocheck(o->problem->machine->name), err));
    EMP_CHECK(print_fact(stream, "runtime", json_string(o->problem->runtime.name), err));
    return print_fact(stream, "device_models", json_models(o->problem->machine), err);
}

static emp_status print_json(FILE *stream, const void *what, emp_error *err)
{
    const cli_graph_output *o = (const cli_graph_output *)what;
    json_lines              lines = {.stream = stream, .comma = "  "};

    fputs("{\n", stream);
    EMP_CHECK(print_facts(stream, o, err));
    fputs(" \"ops\": [\n", stream);
    for (emp_op_id op = 0; op < o->graph->op_count; op++)
        print_line(&lines, json_op(o, op));
    fputs("\n ],\n \"edges\": [\n", stream);
    lines.comma = "  ";
    each_edge(o->graph, print_edge, &lines);
    fputs("\n ]\n}\n", stream);
    if (lines.failure != EMP_OK)
        return EMP_ERROR(lines.failure, "JSON of %d ops", o->graph->op_count);
    return EMP_OK;
}

/* Writes the file, or both (docs/formats.md). O(V + E).
 * \retval EMP_ENOMEM, EMP_EIO
 * \retval EMP_EINVAL  A name is no UTF-8, which JSON needs. */
static emp_status cli_graph_output_write(const cli_graph_output *o, emp_error *err)
{
    char edges[CLI_GRAPH_PATH_BYTES];

    if (!cli_graph_output_edges(edges, o->path))
        return emp_atomic_file_write(o->path, print_json, o, err);
    EMP_CHECK(write_ops(o, err));
    return write_edges(edges, o->graph, err);
}

enum { SHOWN_TYPES = 20 };

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
    {"costs", CLI_TEXT(struct args, costs), "FILE", 0,
     "Times that you measured, in place of predicted ones (docs/models.md)", 0},
    CLI_FORCE_OPTION(struct args),
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
    "docs/models.md says which files are read, docs/formats.md what --out writes.";

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
    default: return cli_store(key, arg, args);
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
