// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/commands/graph_output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "cli/cli.h"
#include "run/sheet/sheet.h"

enum { SHAPE_BYTES = 21 * EMP_MAX_RANK + 32, COLUMN_BYTES = 80 };

static const char format_name[] = "emplace-graph-1";

/* ---- names ---- */

bool cli_graph_output_is_named(const char *path)
{
    return emp_text_ends_in(path, ".json") || emp_text_ends_in(path, ".csv");
}

bool cli_graph_output_edges(char *edges, const char *path)
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
    return print_fact(stream, "runtime", json_string(o->problem->runtime.name), err);
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

emp_status cli_graph_output_write(const cli_graph_output *o, emp_error *err)
{
    char edges[CLI_GRAPH_PATH_BYTES];

    if (!cli_graph_output_edges(edges, o->path))
        return emp_atomic_file_write(o->path, print_json, o, err);
    EMP_CHECK(write_ops(o, err));
    return write_edges(edges, o->graph, err);
}
