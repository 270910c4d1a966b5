// SPDX-License-Identifier: GPL-3.0-or-later
/* The real files of ../shared: node and edge counts are those that independent tools counted,
 * and files of other formats load, or are refused in one sentence. */
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/contradictions.h"
#include "tests/support/facts.h"
#include "tests/test.h"

TestSuite(indexed, .fini = graph_tear_down);

enum { LINE_BYTES = 4096 };

static const char *shared_path(const char *name)
{
    return fact_peer_path("graphs", name, "");
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

static bool is_onnx(const char *format) { return strncmp(format, "ONNX", 4) == 0; }

static bool is_chakra(const char *format) { return strncmp(format, "Chakra", 6) == 0; }

static bool is_tensorflow_graph(const char *format)
{
    return strncmp(format, "GraphDef", 8) == 0 || strncmp(format, "SavedModel", 10) == 0;
}

Test(indexed, have_the_counts_of_the_index)
{
    FILE *index = fopen(shared_path("INDEX.tsv"), "r");
    char  line[LINE_BYTES], name[256], format[256], nodes[32], edges[32];
    int   loaded = 0;

    while (fgets(line, sizeof line, index) != NULL) {
        get_column(line, 0, name, sizeof name);
        get_column(line, 2, format, sizeof format);
        get_column(line, 8, nodes, sizeof nodes);
        get_column(line, 9, edges, sizeof edges);
        if (!is_tensorflow_graph(format) && !is_instance(format) && !is_chakra(format))
            continue;
        emp_graph *graph = graph_import(shared_path(name), NULL, NULL);
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
}

/* Which of them load, and what is in them, tests of their formats say. */
Test(indexed, of_other_formats_load_or_are_refused_in_one_sentence)
{
    FILE *index = fopen(shared_path("INDEX.tsv"), "r");
    char  line[LINE_BYTES], name[256], format[256];
    int   tried = 0;

    cr_assert_not_null(fgets(line, sizeof line, index)); /* the heading */
    while (fgets(line, sizeof line, index) != NULL) {
        emp_import_params params = emp_import_params_default();
        emp_graph        *graph = NULL;
        emp_error         err = {0};
        get_column(line, 0, name, sizeof name);
        get_column(line, 2, format, sizeof format);
        if (is_tensorflow_graph(format) || is_instance(format)) continue;
        emp_status st = emp_import_load(&graph, NULL, shared_path(name), &params, &err);
        emp_graph_destroy(graph);
        tried++;
        if (strncmp(format, "RunMetadata", 11) == 0)
            cr_expect_eq(st, EMP_EFORMAT, "%s: %s", name, err.msg);
        if (st == EMP_OK) continue;
        cr_expect(st == EMP_EFORMAT || st == EMP_EUNSUPPORTED, "%s: %s", name, err.msg);
        const char *kind = strstr(err.msg, name);
        cr_assert_not_null(kind, "%s does not name %s", err.msg, name);
        cr_expect_null(strchr(err.msg, '\n'), "%s", err.msg);
        kind += strlen(name);
        bool is_named = strstr(format, "JSON") != NULL ? strstr(kind, "JSON") != NULL
                        : is_onnx(format)              ? strstr(kind, "ONNX") != NULL
                                          : strstr(kind, "RunMetadata") != NULL;
        cr_expect(is_named, "%s, which is %s: %s", name, format, kind);
    }
    fclose(index);
    cr_expect_gt(tried, 15);
}

Test(indexed, have_the_shapes_that_inference_finds)
{
    expect_no_contradiction(shared_path("pixel_link_train.pbtxt"));
    expect_no_contradiction(shared_path("half_plus_two_saved_model.pbtxt"));
    expect_no_contradiction(shared_path("tfprof_graph.pbtxt"));
}

/* Training steps that are derived of models that were exported for inference, beside those that PyTorch traced. */
Test(indexed, onnx_models_train_as_the_traced_steps_of_their_models)
{
    static const char *const names[] = {
        "torchgen_dlrm_b512", "torchgen_gpt2_small_b4_t256", "torchgen_resnet50_b32"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char spec[1024];
        snprintf(spec, sizeof spec, "onnx:path=%s,train=adam",
                 fact_peer_path("graphs", names[i], "_inference.onnx"));
        emp_graph *derived = graph_load(spec, NULL, NULL);
        emp_graph *traced = graph_load(
            fact_peer_path("graphs", names[i], "_train_fx.json.gz"), NULL, NULL);
        cr_expect_float_eq(derived->flops / traced->flops, 1.0, 0.02, "%s: %g", names[i],
                           derived->flops / traced->flops);
        cr_expect_eq(derived->parameter_bytes, traced->parameter_bytes, "%s", names[i]);
    }
}
