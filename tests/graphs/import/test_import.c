// SPDX-License-Identifier: GPL-3.0-or-later
// Whole graphs: both syntaxes and all containers give the same graph, targets are found
// as import.h states, and every fault in a file is one sentence.
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/mem.h"
#include "tests/graphs/import/sample.h"
#include "tests/support/survive.h"

static const emp_import_params *defaults(void)
{
    static emp_import_params params;

    params = emp_import_params_default();
    return &params;
}

static emp_graph *load(const proto_writer *w, const emp_import_params *params)
{
    emp_graph *graph = NULL;
    emp_error  err = {0};

    cr_assert_eq(sample_load(&graph, w, params, &err), EMP_OK, "%s", err.msg);
    return graph;
}

static const emp_tensor *output(const emp_graph *graph, const char *name)
{
    emp_op_id op = emp_graph_find(graph, name);

    cr_assert_geq(op, 0, "%s", name);
    return &graph->tensor[graph->output_offset[op]];
}

static void expect_targets(const emp_graph *graph, const char *const *names, int count)
{
    int found = 0;

    for (emp_op_id op = 0; op < graph->op_count; op++) found += graph->is_target[op];
    cr_expect_eq(found, count, "%d targets", found);
    for (int i = 0; i < count; i++)
        cr_expect(graph->is_target[emp_graph_find(graph, names[i])], "%s", names[i]);
}

/* The sample in a MetaGraphDef, with a train_op collection if a name is given. */
static void write_meta(proto_writer *w, const char *train_op)
{
    size_t info = proto_begin(w, 1, "meta_info_def");
    proto_string(w, 1, "meta_graph_version", "1");
    proto_end(w, info);
    size_t graph = proto_begin(w, 2, "graph_def");
    sample_write_nodes(w);
    proto_end(w, graph);
    if (train_op == NULL) return;
    size_t entry = proto_begin(w, 4, "collection_def");
    proto_string(w, 1, "key", "train_op");
    size_t value = proto_begin(w, 2, "value");
    size_t list = proto_begin(w, 1, "node_list");
    proto_string(w, 1, "value", train_op);
    proto_end(w, list);
    proto_end(w, value);
    proto_end(w, entry);
}

Test(import, reads_the_sample)
{
    proto_writer w = {0};

    sample_write_nodes(&w);
    emp_graph *graph = load(&w, defaults());
    cr_expect_eq(graph->op_count, 14);
    cr_expect_eq(graph->edge_count, 1 + 2 + 2 + 2 + 1 + 2 + 3);
    cr_expect_eq(graph->control_edge_count, 2);
    cr_expect_eq(graph->parameter_count, 20 * 10);
    cr_expect_eq(graph->unknown_op_count, 0);
    cr_expect_eq(graph->unknown_shape_count, 0);
    cr_expect(emp_shape_equal(output(graph, "logits")->shape, &EMP_SHAPE(32, 10)));
    cr_expect(emp_shape_equal(output(graph, "gradients/w")->shape, &EMP_SHAPE(20, 10)));
    cr_expect(emp_shape_equal(output(graph, "loss")->shape, &EMP_SHAPE_SCALAR));
    emp_graph_destroy(graph);
    proto_clear(&w);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(import, takes_the_batch_from_the_caller)
{
    proto_writer      w = {0};
    emp_import_params params = emp_import_params_default();

    sample_write_nodes(&w);
    params.batch_hint = 7;
    emp_graph *graph = load(&w, &params);
    cr_expect(emp_shape_equal(output(graph, "logits")->shape, &EMP_SHAPE(7, 10)));
    emp_graph_destroy(graph);
    proto_clear(&w);
}

Test(import, gives_the_same_graph_from_every_container_and_syntax)
{
    uint64_t hash = 0;

    for (int syntax = 0; syntax < 2; syntax++) {
        for (int container = 0; container < 3; container++) {
            proto_writer w = {.is_text = syntax == 1};
            size_t       meta = 0;
            if (container == 0) sample_write_nodes(&w);
            if (container == 2) {
                proto_int(&w, 1, "saved_model_schema_version", 1);
                meta = proto_begin(&w, 2, "meta_graphs");
            }
            if (container > 0) write_meta(&w, NULL);
            if (container == 2) proto_end(&w, meta);
            emp_graph *graph = load(&w, defaults());
            if (hash == 0) hash = graph->hash;
            cr_expect_eq(graph->hash, hash, "container %d, syntax %d", container, syntax);
            emp_graph_destroy(graph);
            proto_clear(&w);
        }
    }
}

Test(import, puts_functions_in_place_of_calls)
{
    proto_writer w = {0}, plain = {0};

    /* a library, before the nodes, whose functions have nodes of their own */
    size_t library = proto_begin(&w, 2, "library");
    size_t function = proto_begin(&w, 1, "function");
    size_t signature = proto_begin(&w, 1, "signature");
    proto_string(&w, 1, "name", "f");
    proto_end(&w, signature);
    size_t body = proto_begin(&w, 3, "node_def");
    proto_string(&w, 1, "name", "inner");
    proto_string(&w, 2, "op", "NoOp");
    proto_end(&w, body);
    proto_end(&w, function);
    proto_end(&w, library);
    proto_plain_node(&w, "a", "Placeholder", "");
    proto_plain_node(&w, "b", "f", "a");
    emp_graph *graph = load(&w, defaults());
    cr_expect_eq(graph->op_count, 2);
    cr_expect_geq(emp_graph_find(graph, "b/inner"), 0);
    cr_expect_eq(graph->unknown_op_count, 0);
    emp_graph_destroy(graph);
    proto_clear(&w);
    proto_clear(&plain);
}

Test(import, prefers_the_files_shapes_unless_told_otherwise)
{
    proto_writer w = {0};
    size_t       node = proto_node(&w, "a", "Placeholder", "");

    proto_attr_type(&w, "dtype", 1, "DT_FLOAT");
    proto_output_shape(&w, (int64_t[]){-1, 5}, 2);
    proto_end(&w, node);
    node = proto_node(&w, "b", "Mystery", "a");
    proto_output_shape(&w, (int64_t[]){-1, 9}, 2);
    proto_end(&w, node);
    node = proto_node(&w, "c", "Relu", "b:0");
    proto_attr_type(&w, "T", 1, "DT_FLOAT");
    proto_output_shape(&w, (int64_t[]){-1, -1}, 2);
    proto_end(&w, node);

    emp_graph *graph = load(&w, defaults());
    cr_expect(emp_shape_equal(output(graph, "b")->shape, &EMP_SHAPE(32, 9)));
    cr_expect(emp_shape_equal(output(graph, "c")->shape, &EMP_SHAPE(32, 9)),
              "inference fills in what the file leaves open");
    emp_graph_destroy(graph);

    emp_import_params params = emp_import_params_default();
    params.ignore_output_shapes = true;
    graph = load(&w, &params);
    cr_expect_eq(output(graph, "a")->shape->rank, -1);
    emp_graph_destroy(graph);
    proto_clear(&w);
}

Test(import, squeezes_dimensions_counted_from_the_end)
{
    proto_writer w = {0};
    size_t       node = proto_node(&w, "a", "Placeholder", "");

    proto_attr_type(&w, "dtype", 1, "DT_FLOAT");
    proto_attr_shape(&w, "shape", (int64_t[]){1, 5, 1}, 3);
    proto_end(&w, node);
    node = proto_node(&w, "b", "Squeeze", "a");
    proto_attr_type(&w, "T", 1, "DT_FLOAT");
    proto_attr_ints(&w, "squeeze_dims", (int64_t[]){-1}, 1);
    proto_end(&w, node);
    emp_graph *graph = load(&w, defaults());
    cr_expect(emp_shape_equal(output(graph, "b")->shape, &EMP_SHAPE(1, 5)));
    emp_graph_destroy(graph);
    proto_clear(&w);
}

Test(import, finds_the_updates_and_the_loss)
{
    const char *const names[] = {"update", "train", "loss"};
    proto_writer      w = {0};

    sample_write_nodes(&w);
    emp_graph *graph = load(&w, defaults()), *step = NULL;
    expect_targets(graph, names, 3);
    cr_assert_eq(emp_graph_prune(&step, graph, NULL), EMP_OK);
    cr_expect_lt(emp_graph_find(step, "w/Assign"), 0, "initialisers do not run");
    cr_expect_lt(emp_graph_find(step, "save/restore"), 0, "restoring does not run");
    cr_expect_eq(step->op_count, graph->op_count - 3);
    emp_graph_destroy(step);
    emp_graph_destroy(graph);
    proto_clear(&w);
}

Test(import, takes_the_train_op_collection_where_there_is_one)
{
    const char *const names[] = {"train"};
    for (int syntax = 0; syntax < 2; syntax++) {
        proto_writer w = {.is_text = syntax == 1};
        write_meta(&w, "train:0");
        emp_graph *graph = load(&w, defaults());
        expect_targets(graph, names, 1);
        emp_graph_destroy(graph);
        proto_clear(&w);
    }
}

Test(import, takes_the_computed_sinks_of_an_inference_graph)
{
    const char *const names[] = {"b", "c"};
    proto_writer      w = {0};

    proto_plain_node(&w, "a", "Placeholder", "");
    proto_plain_node(&w, "b", "Relu", "a");
    proto_plain_node(&w, "c", "Tanh", "a");
    proto_plain_node(&w, "unused", "Const", "");
    proto_plain_node(&w, "w", "VariableV2", "");
    proto_plain_node(&w, "w/Assign", "Assign", "w a");
    proto_plain_node(&w, "init", "NoOp", "^w/Assign");
    emp_graph *graph = load(&w, defaults());
    expect_targets(graph, names, 2);
    emp_graph_destroy(graph);
    proto_clear(&w);
}

Test(import, takes_every_sink_where_nothing_else_is_left)
{
    const char *const names[] = {"init", "b"};
    proto_writer      w = {0};

    proto_plain_node(&w, "a", "Const", "");
    proto_plain_node(&w, "b", "Const", "");
    proto_plain_node(&w, "w", "VariableV2", "");
    proto_plain_node(&w, "w/Assign", "Assign", "w a");
    proto_plain_node(&w, "init", "NoOp", "^w/Assign");
    emp_graph *graph = load(&w, defaults());
    expect_targets(graph, names, 2);
    emp_graph_destroy(graph);
    proto_clear(&w);
}

Test(import, takes_no_gradient_for_a_loss)
{
    const char *const names[] = {"update", "loss"};
    const char *const scalars[] = {"gradients/a", "tower/gradients_1/b", "loss"};
    proto_writer      w = {0};
    size_t            node = proto_node(&w, "w", "VariableV2", "");

    proto_attr_type(&w, "dtype", 1, "DT_FLOAT");
    proto_attr_shape(&w, "shape", NULL, 0);
    proto_end(&w, node);
    proto_plain_node(&w, "w/read", "Identity", "w");
    proto_plain_node(&w, "update", "AssignSub", "w w/read");
    for (int i = 0; i < 3; i++) proto_plain_node(&w, scalars[i], "Tanh", "w/read");
    emp_graph *graph = load(&w, defaults());
    expect_targets(graph, names, 2);
    emp_graph_destroy(graph);
    proto_clear(&w);
}

Test(import, takes_targets_from_the_caller)
{
    const char *const names[] = {"logits", "train"};
    proto_writer      w = {0};
    emp_import_params params = emp_import_params_default();
    emp_graph        *graph = NULL;
    emp_error         err = {0}, empty = {0};

    sample_write_nodes(&w);
    params.targets = "logits:0,train";
    graph = load(&w, &params);
    expect_targets(graph, names, 2);
    emp_graph_destroy(graph);

    params.targets = "logits,nonsense";
    cr_expect_eq(sample_load(&graph, &w, &params, &err), EMP_EINVAL);
    cr_expect_not_null(
        strstr(err.msg, ": the target \"nonsense\" is no op of this graph"));
    params.targets = ",";
    cr_expect_eq(sample_load(&graph, &w, &params, &empty), EMP_EINVAL);
    cr_expect_null(graph);
    proto_clear(&w);
}

Test(import, counts_a_loop_body_once)
{
    proto_writer w = {0};

    proto_plain_node(&w, "start", "Placeholder", "");
    proto_plain_node(&w, "enter", "Enter", "start");
    proto_plain_node(&w, "merge", "Merge", "enter next");
    proto_plain_node(&w, "body", "Relu", "merge");
    proto_plain_node(&w, "next", "NextIteration", "body");
    emp_graph *graph = load(&w, defaults());
    cr_expect_eq(graph->op_count, 5);
    cr_expect_eq(graph->edge_count + graph->back_edge_count, 5);
    emp_graph_destroy(graph);
    proto_clear(&w);
}

/* A GraphDef of `first` and, unless its name is NULL, a second node. */
struct fault {
    const char *op, *name, *inputs, *message;
};

Test(import, names_the_node_and_the_input_that_are_wrong)
{
    const struct fault cases[] = {
        {"Relu", "b", "a missing",
         "node \"b\", input 1, \"missing\": no node has that name"},
        {"Relu", "b", "a ^missing",
         "node \"b\", input 1, \"^missing\": no node has that name"},
        {"Relu", "b", "a:7",
         "op \"b\" reads output 7 of \"a\" (Placeholder), which has 1"},
        {"Relu", "b", "a:99999999999999999999",
         "node \"b\", input 0, \"a:99999999999999999999\": no op has an output beyond "
         "4095"},
        {"Relu", "b", "a:", "node \"b\", input 0, \"a:\": no node has that name"},
        {"Relu", "a", "", "node 1, \"a\": an earlier node has the same name"},
        {"Relu", "", "a", "node 1, \"\": its name is missing"},
        {"", "b", "a", "node 1, \"b\": its op is missing"},
        {"Relu", "b\n", "a", "node 1, \"b?\": its name holds the control character 10"},
        {"Relu", "\xffz", "a",
         "node 1, \"?z\": its name holds the byte 255, which is no ASCII character"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int syntax = 0; syntax < 2; syntax++) {
            proto_writer w = {.is_text = syntax == 1};
            emp_graph   *graph = NULL;
            emp_error    err = {0};
            char         want[EMP_ERROR_MSG_BYTES];
            proto_plain_node(&w, "a", "Placeholder", "");
            proto_plain_node(&w, cases[i].name, cases[i].op, cases[i].inputs);
            cr_expect_eq(sample_load(&graph, &w, defaults(), &err), EMP_EFORMAT);
            snprintf(want, sizeof want, "%s: %s", sample_path(), cases[i].message);
            cr_expect_str_eq(err.msg, want);
            cr_expect_null(graph);
            proto_clear(&w);
        }
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(import, names_an_op_on_a_cycle)
{
    proto_writer w = {0};
    emp_graph   *graph = NULL;
    emp_error    err = {0};

    proto_plain_node(&w, "a", "Relu", "b");
    proto_plain_node(&w, "b", "Relu", "a");
    cr_expect_eq(sample_load(&graph, &w, defaults(), &err), EMP_ECYCLE);
    cr_expect_not_null(strstr(err.msg, "\"a\""), "%s", err.msg);
    proto_clear(&w);
}

#define JSON_REFUSAL                                                                  \
    "; PyTorch's graphs have a \"format\" that begins with "                          \
    "torch.fx; traces have the list \"traceEvents\" or \"workload_graph\", or the "   \
    "text \"schema\"; configs have \"model_type\", and dnn-partitioning's instances " \
    "the lists \"nodes\" and \"edges\""
#define AS_TENSORFLOW \
    "no graph of a known kind (docs/formats.md lists them); read as TensorFlow's: "
#define YAML_REFUSAL                                                               \
    "YAML, and no graph; --machine takes a machine, --runtime a runtime profile, " \
    "--placement a placement"

Test(import, says_what_a_file_without_a_graph_is)
{
    const struct {
        const char *text, *message;
    } cases[] = {
        {" {\"node\": 1}", "JSON of no known kind" JSON_REFUSAL},
        {"[1]", "JSON of no known kind" JSON_REFUSAL},
        {"{\"format\": \"pytorch fx\", \"nodes\": []}",
         "JSON of no known kind, as its format is \"pytorch fx\"" JSON_REFUSAL},
        {"{\"workload\": \"nmt\", \"format\": \"emplace-placement-1\"}",
         "a placement, and no graph; --placement takes it"},
        {"{\"format\": \"emplace-graph-1\", \"ops\": [], \"edges\": []}",
         "a graph that emplace graph --out has written for other programs, which is not "
         "read back; name the SPEC that it was made of"},
        {"emplace-replay-plan-1\nworkload nmt\n",
         "a plan, and no graph; emplace-replay executes it"},
        {"emplace-replay-result-1\nplan 7\n",
         "the result of a plan, and no graph; emplace validate --import takes it"},
        {"\x89HDF\r\n\x1a\n\x08\x08",
         "HDF5, and no graph; emplace record shows a run record or a checkpoint, and "
         "--placement takes its placement; of a Keras model (.h5) write a SavedModel by "
         "model.export(DIR), and name the saved_model.pb in it"},
        {"# a box\nname: box\ndevices:\n  - {name: gpu}\n", YAML_REFUSAL},
        {"format: \"emplace-placement-1\"\r\nrules:\r\n", YAML_REFUSAL},
        {"ir_version: 3", AS_TENSORFLOW "no node with a name and an op in it"},
        {"versions { producer: 21 }",
         AS_TENSORFLOW "no node with a name and an op in it"},
        {"hello world", AS_TENSORFLOW "line 1: 'world' after \"hello\", where ':' "
                                      "or '{' is due"},
        {"\x08\x01", AS_TENSORFLOW "no node with a name and an op in it"},
        {"\x0a\x7f\x01",
         AS_TENSORFLOW "byte 0: field 1 claims 127 bytes where 1 are left (truncated?)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        proto_writer w = {0};
        emp_graph   *graph = NULL;
        emp_error    err = {0};
        char         want[EMP_ERROR_MSG_BYTES];
        proto_append(&w, cases[i].text, strlen(cases[i].text));
        cr_expect_eq(sample_load(&graph, &w, defaults(), &err), EMP_EFORMAT);
        snprintf(want, sizeof want, "%s: %s", sample_path(), cases[i].message);
        cr_expect_str_eq(err.msg, want);
        proto_clear(&w);
    }
}

Test(import, refuses_every_truncation_within_a_node)
{
    proto_writer w = {0};
    bool         is_boundary[4096] = {0};

    sample_write_nodes(&w);
    cr_assert_lt(w.size, sizeof is_boundary);
    /* a node is field 1, so each starts with its tag and a length of one or two bytes */
    for (size_t at = 0; at < w.size;) {
        size_t size = (unsigned char)w.data[at + 1] & 0x7f, head = 2;
        if ((unsigned char)w.data[at + 1] & 0x80)
            size |= (size_t)(unsigned char)w.data[at + head++] << 7;
        at += head + size;
        is_boundary[at] = true;
    }
    cr_assert(is_boundary[w.size]);
    for (size_t size = 1; size <= w.size; size++) {
        proto_writer part = {.data = w.data, .size = size};
        emp_graph   *graph = NULL;
        emp_status   st = sample_load(&graph, &part, defaults(), NULL);
        if (!is_boundary[size]) cr_expect_eq(st, EMP_EFORMAT, "%zu bytes", size);
        emp_graph_destroy(graph);
    }
    proto_clear(&w);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(import, survives_every_allocation_failure)
{
    for (int syntax = 0; syntax < 2; syntax++) {
        proto_writer w = {.is_text = syntax == 1};
        emp_graph   *graph = NULL;
        write_meta(&w, "train");
        SURVIVES_EVERY_ALLOCATION_FAILURE(sample_load(&graph, &w, defaults(), NULL),
                                          cr_assert_null(graph));
        emp_graph_destroy(graph);
        proto_clear(&w);
    }
}
