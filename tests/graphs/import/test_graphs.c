// SPDX-License-Identifier: GPL-3.0-or-later
// Real files: node, edge and parameter counts are those that independent tools counted,
// and files of other formats are refused in one sentence. Skips where the files are
// absent.
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "graphs/import/import.h"

enum { PATH_BYTES = 1024, LINE_BYTES = 4096 };

static void make_path(char *path, const char *name)
{
    const char *root = getenv("EMP_SOURCE_DIR");

    cr_assert_lt(snprintf(path, PATH_BYTES, "%s/../shared/graphs/%s",
                          root != NULL ? root : ".", name),
                 PATH_BYTES);
}

static FILE *open_index(void)
{
    char path[PATH_BYTES];

    make_path(path, "INDEX.tsv");
    FILE *index = fopen(path, "r");
    if (index == NULL) cr_skip_test("%s is not there", path);
    return index;
}

static emp_graph *load(const char *name, bool ignore_output_shapes)
{
    emp_import_params params = emp_import_params_default();
    emp_graph        *graph = NULL;
    emp_error         err = {0};
    char              path[PATH_BYTES];

    make_path(path, name);
    params.ignore_output_shapes = ignore_output_shapes;
    cr_assert_eq(emp_import_load(&graph, path, &params, &err), EMP_OK, "%s", err.msg);
    return graph;
}

static int32_t input_count(const emp_graph *graph)
{
    return graph->edge_count + graph->back_edge_count + graph->control_edge_count;
}

/* A tab-separated field, counted from 0. */
static void get_column(const char *line, int column, char *out, size_t size)
{
    while (column-- > 0) {
        line += strcspn(line, "\t");
        line += *line == '\t';
    }
    snprintf(out, size, "%.*s", (int)strcspn(line, "\t\n"), line);
}

static bool is_profile(const char *format)
{
    return strncmp(format, "PipeDream", 9) == 0;
}

static bool is_instance(const char *format)
{
    return strstr(format, "dnn-partitioning") != NULL || is_profile(format);
}

static bool is_tensorflow_graph(const char *format)
{
    return strncmp(format, "GraphDef", 8) == 0 || strncmp(format, "SavedModel", 10) == 0;
}

Test(graphs, have_the_counts_of_the_index)
{
    FILE *index = open_index();
    char  line[LINE_BYTES], name[256], format[256], nodes[32], edges[32];
    int   loaded = 0;

    while (fgets(line, sizeof line, index) != NULL) {
        get_column(line, 0, name, sizeof name);
        get_column(line, 2, format, sizeof format);
        get_column(line, 8, nodes, sizeof nodes);
        get_column(line, 9, edges, sizeof edges);
        if (!is_tensorflow_graph(format) && !is_instance(format)) continue;
        emp_graph *graph = load(name, false);
        /* of a layer's two ops the second reads the first */
        int ops = is_profile(format) ? 2 * atoi(nodes) : atoi(nodes);
        int inputs = is_profile(format) ? 2 * atoi(edges) + atoi(nodes) : atoi(edges);
        cr_expect_eq(graph->op_count, ops, "%s: %d ops", name, graph->op_count);
        cr_expect_eq(input_count(graph), inputs, "%s: %d inputs", name,
                     input_count(graph));
        emp_graph_destroy(graph);
        loaded++;
    }
    fclose(index);
    cr_expect_gt(loaded, 5);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(graphs, of_other_formats_are_refused_in_one_sentence)
{
    FILE *index = open_index();
    char  line[LINE_BYTES], name[256], format[256], path[PATH_BYTES];
    int   refused = 0;

    cr_assert_not_null(fgets(line, sizeof line, index)); /* the heading */
    while (fgets(line, sizeof line, index) != NULL) {
        emp_import_params params = emp_import_params_default();
        emp_graph        *graph = NULL;
        emp_error         err = {0};
        get_column(line, 0, name, sizeof name);
        get_column(line, 2, format, sizeof format);
        if (is_tensorflow_graph(format) || is_instance(format)) continue;
        make_path(path, name);
        cr_expect_eq(emp_import_load(&graph, path, &params, &err), EMP_EFORMAT, "%s",
                     name);
        const char *kind = strstr(err.msg, name);
        cr_assert_not_null(kind, "%s does not name %s", err.msg, name);
        kind += strlen(name);
        bool is_named = strncmp(format, "ONNX", 4) == 0  ? strstr(kind, "ONNX") != NULL
                        : strstr(format, "JSON") != NULL ? strstr(kind, "JSON") != NULL
                        : strncmp(format, "RunMetadata", 11) == 0
                            ? strstr(kind, "RunMetadata") != NULL
                            : strstr(kind, "not a TensorFlow graph") != NULL;
        cr_expect(is_named, "%s, which is %s: %s", name, format, kind);
        refused++;
    }
    fclose(index);
    cr_expect_gt(refused, 15);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* The training graphs that TensorFlow's own front end made, counted there. The size of a
 * step was counted by a script that knows no op table: ancestors of the updates, of the
 * sinks behind them, and of the loss. The sizes of a sampled softmax depend on what is
 * drawn. */
static const struct {
    const char *name;
    int32_t     step_ops, step_edges, step_controls, unknown_shapes;
} made[] = {
    {"inception_v3_b32_rmsprop_unfusedbn_r13", 17506, 23209, 3658, 0},
    {"nmt_2l_h1024_b64_t40_std_bahdanau_adam_batched_r13g", 21089, 29170, 6266, 0},
    {"nmt_2l_h1024_b64_t40_std_bahdanau_adam_batched_res_r13g", 21970, 30371, 6586, 0},
    {"nmt_8l_h1024_b64_t40_std_bahdanau_adam_batched_r13g", 68873, 95818, 21206, 0},
    {"resnet_v1_152_b32_momentum", 8339, 11673, 2831, 0},
    {"rnnlm_2x2048_b64_t40_sampled_adagrad_r13g", 8478, 11753, 2560, 7},
};
enum { MADE = sizeof made / sizeof made[0] };

Test(graphs, have_steps_of_the_right_size_with_known_shapes)
{
    fclose(open_index());
    for (int i = 0; i < MADE; i++) {
        char       name[PATH_BYTES];
        emp_graph *whole, *step = NULL;
        emp_error  err = {0};
        snprintf(name, sizeof name, "%s.pb.gz", made[i].name);
        whole = load(name, false);
        cr_assert_eq(emp_graph_prune(&step, whole, &err), EMP_OK, "%s", err.msg);
        cr_expect_eq(step->op_count, made[i].step_ops, "%s: %d ops", name,
                     step->op_count);
        cr_expect_eq(step->edge_count, made[i].step_edges, "%s: %d edges", name,
                     step->edge_count);
        cr_expect_eq(step->control_edge_count, made[i].step_controls, "%s: %d controls",
                     name, step->control_edge_count);
        cr_expect_eq(step->unknown_op_count, 0, "%s", name);
        cr_expect_leq(step->unknown_shape_count, made[i].unknown_shapes,
                      "%s: %d unknown shapes", name, step->unknown_shape_count);
        emp_graph_destroy(step);
        emp_graph_destroy(whole);
    }
}

static int64_t get_integer(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void expect_types(const emp_graph *graph, const json_t *hist, const char *name)
{
    int32_t *count = calloc((size_t)graph->type_count, sizeof *count);

    for (emp_op_id op = 0; op < graph->op_count; op++) count[graph->type[op]]++;
    cr_expect_eq((size_t)graph->type_count, json_object_size(hist), "%s: %d types", name,
                 graph->type_count);
    for (int32_t t = 0; t < graph->type_count; t++) {
        int64_t number = get_integer(hist, graph->type_name[t]);
        cr_expect_eq(count[t], number, "%s: %d %s, not %lld", name, count[t],
                     graph->type_name[t], (long long)number);
    }
    free(count);
}

Test(graphs, have_the_counts_of_their_histograms)
{
    fclose(open_index());
    for (int i = 0; i < MADE; i++) {
        char path[PATH_BYTES], name[PATH_BYTES];
        snprintf(name, sizeof name, "%s.hist.json", made[i].name);
        make_path(path, name);
        json_t *root = json_load_file(path, 0, NULL);
        cr_assert_not_null(root, "%s", path);
        snprintf(name, sizeof name, "%s.pb.gz", made[i].name);
        emp_graph *graph = load(name, false);

        cr_expect_eq(graph->op_count, get_integer(root, "nodes"), "%s", name);
        cr_expect_eq(input_count(graph), get_integer(root, "edges"), "%s", name);
        cr_expect_eq(graph->control_edge_count, get_integer(root, "ctrl"), "%s", name);
        cr_expect_eq(graph->parameter_count, get_integer(root, "params"), "%s", name);
        expect_types(graph, json_object_get(root, "hist"), name);
        emp_graph_destroy(graph);
        json_decref(root);
    }
}

/* What inference says without the file's shapes must not contradict them. */
static int32_t count_contradictions(const emp_graph *inferred, const emp_graph *stated,
                                    const char *name)
{
    int32_t wrong = 0;

    for (emp_op_id op = 0; op < stated->op_count; op++) {
        int32_t known = stated->output_offset[op + 1] - stated->output_offset[op];
        int32_t count = inferred->output_offset[op + 1] - inferred->output_offset[op];
        for (int32_t i = 0; i < known && i < count; i++) {
            const emp_shape *want = &stated->tensor[stated->output_offset[op] + i].shape;
            const emp_shape *got =
                &inferred->tensor[inferred->output_offset[op] + i].shape;
            bool differs = want->rank >= 0 && got->rank >= 0 && want->rank != got->rank;
            for (int32_t d = 0; !differs && d < want->rank && d < got->rank; d++)
                differs =
                    want->dim[d] >= 0 && got->dim[d] >= 0 && want->dim[d] != got->dim[d];
            if (differs && wrong++ < 5)
                cr_log_warn("%s: %s (%s), output %d", name, stated->name[op],
                            stated->type_name[stated->type[op]], i);
        }
    }
    return wrong;
}

static void expect_no_contradiction(const char *name)
{
    emp_graph *stated = load(name, false), *inferred = load(name, true);

    cr_expect_eq(count_contradictions(inferred, stated, name), 0, "%s", name);
    emp_graph_destroy(stated);
    emp_graph_destroy(inferred);
}

Test(graphs, have_the_shapes_that_inference_finds)
{
    fclose(open_index());
    for (int i = 0; i < MADE; i++) {
        char name[PATH_BYTES];
        snprintf(name, sizeof name, "%s.pb.gz", made[i].name);
        expect_no_contradiction(name);
    }
    expect_no_contradiction("pixel_link_train.pbtxt");
    expect_no_contradiction("half_plus_two_saved_model.pbtxt");
    expect_no_contradiction("tfprof_graph.pbtxt");
}
