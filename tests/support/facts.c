// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/facts.h"

#undef NDEBUG
#include <assert.h>
#include <unistd.h>

#include "base/collections.h"
#include "graphs/load.h"
#include "graphs/workloads/workloads.h"
#include "sim/graph/graph_builder.h"
#include "tests/support/proto_writer.h"
#include "tests/support/scratch.h"
#include "tests/support/status.h"

enum { PATH_BYTES = 1024 };

/* ---- tables ---- */

static const char *source_folder(void)
{
    const char *folder = getenv("EMP_SOURCE_DIR");

    return folder != NULL ? folder : ".";
}

static bool read_row(fact_table *t)
{
    char *rest = t->line;

    if (fgets(t->line, sizeof t->line, t->file) == NULL) return false;
    t->line[strcspn(t->line, "\n")] = '\0';
    for (t->count = 0; t->count < 16 && rest != NULL; t->count++)
        t->cell[t->count] = strsep(&rest, "\t");
    if (*t->cell[0] != '\0') snprintf(t->first, sizeof t->first, "%s", t->cell[0]);
    t->cell[0] = t->first; /* an empty one is that of the row above */
    return true;
}

void fact_table_open(fact_table *t, const char *name)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/tests/data/%s", source_folder(), name);
    t->file = fopen(path, "r");
    if (t->file != NULL && read_row(t)) return;
    fprintf(stderr, "cannot read %s\n", path);
    exit(EXIT_FAILURE); /* the parameters of a test are read outside of any test */
}

bool fact_table_next(fact_table *t)
{
    bool has_row = read_row(t);

    if (!has_row) fclose(t->file);
    return has_row;
}

fact_graph *fact_graphs(void)
{
    static fact_graph graphs[FACT_GRAPHS];
    fact_table        t;
    int               count = 0;

    for (fact_table_open(&t, "tensorflow_graphs.tsv"); fact_table_next(&t); count++) {
        fact_graph *g = &graphs[count];
        int64_t    *whole_number[] = {&g->nodes,         &g->inputs,         &g->controls,
                                      &g->parameters,    &g->step_ops,       &g->step_edges,
                                      &g->step_controls, &g->unknown_shapes, &g->live_ops,
                                      &g->launching_ops, &g->kernels};
        assert(count < FACT_GRAPHS && t.count == 15);
        snprintf(g->name, sizeof g->name, "%s", t.cell[0]);
        snprintf(g->spec, sizeof g->spec, "%s", t.cell[1]);
        for (int i = 0; i < 11; i++) *whole_number[i] = strtoll(t.cell[2 + i], NULL, 10);
        g->product_gflop = strtod(t.cell[13], NULL);
        g->step_gflop = strtod(t.cell[14], NULL);
    }
    assert(count == FACT_GRAPHS);
    for (fact_table_open(&t, "tensorflow_digests.tsv"); fact_table_next(&t);)
        for (int i = 0; i < FACT_GRAPHS; i++)
            if (strcmp(graphs[i].name, t.cell[0]) == 0)
                snprintf(graphs[i].digest, sizeof graphs[i].digest, "%s", t.cell[1]);
    return graphs;
}

/* A node as a line: name, type and inputs, as the table's maker writes it. */
static void write_line(FILE *lines, const emp_graph *graph, emp_op_id op)
{
    fprintf(lines, "%s\t%s", graph->name[op], graph->type_name[graph->type[op]]);
    for (int32_t i = graph->input_offset[op]; i < graph->input_offset[op + 1]; i++) {
        emp_op_id from = graph->tensor[graph->input[i]].producer;
        int32_t   index = graph->input[i] - graph->output_offset[from];
        fprintf(lines, "\t%s", graph->name[from]);
        if (index > 0) fprintf(lines, ":%d", index);
    }
    for (int32_t i = graph->control_offset[op]; i < graph->control_offset[op + 1]; i++)
        fprintf(lines, "\t^%s", graph->name[graph->control[i]]);
    fputc('\n', lines);
}

void fact_expect_nodes(const char *name, const char *digest, const emp_graph *graph)
{
    char  *text = NULL, own[17];
    size_t size = 0;
    FILE  *lines = open_memstream(&text, &size);

    for (emp_op_id op = 0; op < graph->op_count; op++) write_line(lines, graph, op);
    fclose(lines);
    snprintf(own, sizeof own, "%016" PRIx64, emp_hash_bytes(EMP_HASH_SEED, text, size));
    cr_expect_str_eq(own, digest, "%s: some nodes differ", name);
    free(text);
}

static int32_t count_type(const emp_graph *graph, const char *type)
{
    int32_t count = 0;

    for (emp_op_id op = 0; op < graph->op_count; op++)
        count += strcmp(graph->type_name[graph->type[op]], type) == 0;
    return count;
}

void fact_graph_expect_types(const fact_graph *g, const emp_graph *graph)
{
    fact_table t;
    int        column = 1;
    int64_t    total = 0;

    fact_table_open(&t, "tensorflow_ops.tsv");
    while (column < t.count && strcmp(t.cell[column], g->name) != 0) column++;
    cr_assert_lt(column, t.count, "no column %s", g->name);
    while (fact_table_next(&t)) {
        int64_t wanted = strtoll(t.cell[column], NULL, 10);
        cr_expect_eq(count_type(graph, t.cell[0]), wanted, "%s: %d %s, not %lld", g->name,
                     count_type(graph, t.cell[0]), t.cell[0], (long long)wanted);
        total += wanted;
    }
    cr_expect_eq(graph->op_count, total, "%s: %d ops, not %lld", g->name, graph->op_count,
                 (long long)total);
}

/* ---- other people's files ---- */

bool fact_is_peer(void) { return getenv("EMP_PEERS") != NULL; }

const char *fact_peer_path(const char *folder, const char *name, const char *ending)
{
    static char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/../shared/%s/%s%s", source_folder(), folder, name,
             ending);
    if (access(path, R_OK) != 0) cr_skip_test("there is no %s", path);
    return path;
}

/* ---- a workload as a GraphDef ---- */

/* The attributes of all nodes, in wire format: those of op v end at end[v]. */
static struct {
    bool         is_on;
    proto_writer attrs;
    size_t      *end;
} captured;

/* The field of TensorProto that holds numbers of a type; 0 = a type without. */
static int value_field(emp_dtype dtype)
{
    switch (dtype) {
    case EMP_DTYPE_FLOAT: return 5;
    case EMP_DTYPE_INT64: return 10;
    case EMP_DTYPE_BOOL: return 11;
    case EMP_DTYPE_INT32: return 7;
    default: return 0;
    }
}

static void write_constant(proto_writer *w, const emp_op_attrs *a)
{
    proto_attr attr = proto_begin_attr(w, "value");
    size_t     tensor = proto_begin(w, 8, "tensor");
    int        field = value_field(a->dtype);

    proto_int(w, 1, "dtype", a->dtype);
    proto_shape(w, 2, "tensor_shape", a->shape.dim, a->shape.rank);
    for (int32_t i = 0; i < a->value_count && field > 0; i++) {
        if (field == 5)
            proto_float(w, field, "", (float)a->value[i]);
        else
            proto_int(w, field, "", a->value[i]);
    }
    proto_end(w, tensor);
    proto_end_attr(w, attr);
}

static void write_flags_and_words(proto_writer *w, const emp_op_attrs *a)
{
    if (a->transpose_a) proto_attr_bool(w, "transpose_a", true);
    if (a->transpose_b) proto_attr_bool(w, "transpose_b", true);
    if (a->keep_dims) proto_attr_bool(w, "keep_dims", true);
    if (a->unique) proto_attr_bool(w, "unique", true);
    if (a->is_inference) proto_attr_bool(w, "is_training", false);
    if (a->padding_is_same) proto_attr_string(w, "padding", "SAME");
    if (a->is_nchw) proto_attr_string(w, "data_format", "NCHW");
    if (a->dtype != EMP_DTYPE_NONE) proto_attr_type(w, "dtype", a->dtype, "");
    if (a->out_type != EMP_DTYPE_NONE) proto_attr_type(w, "out_type", a->out_type, "");
}

static void write_numbers(proto_writer *w, const emp_op_attrs *a)
{
    const struct {
        const char *key;
        int64_t     value;
    } number[] = {{"N", a->count},
                  {"axis", a->axis},
                  {"num_sampled", a->num_sampled},
                  {"num_true", a->num_true},
                  {"begin_mask", a->begin_mask},
                  {"end_mask", a->end_mask},
                  {"ellipsis_mask", a->ellipsis_mask},
                  {"new_axis_mask", a->new_axis_mask},
                  {"shrink_axis_mask", a->shrink_axis_mask}};
    int64_t strides[4], ksize[4], squeezed[32];
    int     squeezed_count = 0;

    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (number[i].value != 0) proto_attr_int(w, number[i].key, number[i].value);
    for (int i = 0; i < 4; i++) {
        strides[i] = a->strides[i];
        ksize[i] = a->ksize[i];
    }
    if (strides[0] != 0) proto_attr_ints(w, "strides", strides, 4);
    if (ksize[0] != 0) proto_attr_ints(w, "ksize", ksize, 4);
    for (int d = 0; d < 32; d++)
        if (a->squeeze_dims >> d & 1) squeezed[squeezed_count++] = d;
    if (squeezed_count > 0) proto_attr_ints(w, "squeeze_dims", squeezed, squeezed_count);
}

static void write_output_shapes(proto_writer *w, const emp_graph_builder *b, emp_op_id op)
{
    proto_attr attr = proto_begin_attr(w, "_output_shapes");
    size_t     list = proto_begin(w, 1, "list");

    for (int32_t i = 0; i < emp_graph_builder_output_count(b, op); i++) {
        const emp_shape *s = &emp_graph_builder_output(b, (emp_port){op, i})->shape;
        proto_shape(w, 7, "shape", s->dim, s->rank);
    }
    proto_end(w, list);
    proto_end_attr(w, attr);
}

emp_status __real_emp_graph_builder_finish(emp_graph_builder *b, emp_graph **out,
                                           emp_error *err);
emp_status __wrap_emp_graph_builder_finish(emp_graph_builder *b, emp_graph **out,
                                           emp_error *err);

/* The builder forgets attributes when it is finished: they are written down before. */
emp_status __wrap_emp_graph_builder_finish(emp_graph_builder *b, emp_graph **out,
                                           emp_error *err)
{
    proto_writer *w = &captured.attrs;
    int32_t       count = emp_graph_builder_op_count(b);

    if (!captured.is_on) return __real_emp_graph_builder_finish(b, out, err);
    captured.end = malloc((size_t)count * sizeof *captured.end);
    for (emp_op_id op = 0; op < count; op++) {
        const emp_op_attrs *a = emp_graph_builder_attrs(b, op);
        bool is_const = strcmp(emp_graph_builder_type(b, op), "Const") == 0;
        write_flags_and_words(w, a);
        write_numbers(w, a);
        if (is_const && a->has_shape)
            write_constant(w, a);
        else if (a->has_shape)
            proto_attr_shape(w, "shape", a->shape.dim, a->shape.rank);
        write_output_shapes(w, b, op);
        captured.end[op] = w->size;
    }
    return __real_emp_graph_builder_finish(b, out, err);
}

static void write_node(proto_writer *w, const emp_graph *g, emp_op_id op)
{
    char   name[PATH_BYTES];
    size_t node = proto_node(w, g->name[op], g->type_name[g->type[op]], "");
    size_t begin = op > 0 ? captured.end[op - 1] : 0;

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        emp_op_id from = g->tensor[g->input[i]].producer;
        snprintf(name, sizeof name, "%s:%d", g->name[from],
                 g->input[i] - g->output_offset[from]);
        proto_string(w, 3, "input", name);
    }
    for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++) {
        snprintf(name, sizeof name, "^%s", g->name[g->control[i]]);
        proto_string(w, 3, "input", name);
    }
    proto_append(w, captured.attrs.data + begin, captured.end[op] - begin);
    proto_end(w, node);
}

static void write_workload(const char *spec, const char *file)
{
    proto_writer w = {0};
    emp_graph   *graph = NULL;

    captured.is_on = true;
    MUST(emp_workload_build(&graph, spec, &why));
    captured.is_on = false;
    for (emp_op_id op = 0; op < graph->op_count; op++) write_node(&w, graph, op);
    scratch_write(file, w.data, w.size);
    emp_graph_destroy(graph);
    proto_clear(&w);
    proto_clear(&captured.attrs);
    free(captured.end);
}

const char *fact_graph_path(const fact_graph *g)
{
    if (fact_is_peer()) return fact_peer_path("graphs", g->name, ".pb.gz");
    write_workload(g->spec, "workload.pb");
    return scratch_path("workload.pb");
}

/* ---- instances ---- */

void fact_create_instance(task *t, const char *path, int32_t device_count,
                          const char *runtime)
{
    const emp_import_params params = emp_import_params_default();
    emp_import_devices      own;
    emp_runtime             rules;

    *t = (task){0};
    MUST(emp_import_load(&t->graph, &own, path, &params, &why));
    const int32_t cpus = device_count > 0 ? 1 : own.cpu_count;
    const int32_t gpus = device_count > 0 ? device_count - 1 : own.gpu_count;
    MUST(emp_machine_create(&t->machine, "instance", cpus, gpus, own.gpu_memory_bytes,
                            &why));
    MUST(emp_runtime_init(&rules, runtime != NULL ? runtime : own.runtime, &why));
    task_pose(t, &rules, path);
}
