// SPDX-License-Identifier: GPL-3.0-or-later
// Whole graphs: both syntaxes and all containers give the same graph, targets are found
// as import.h states, and every fault in a file is one sentence.
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/sample.h"
#include "tests/test.h"

TestSuite(import, .fini = graph_tear_down);

static const emp_import_params *defaults(void)
{
    static emp_import_params params;

    params = emp_import_params_default();
    return &params;
}

static emp_graph *load(const proto_writer *w, const emp_import_params *params)
{
    emp_graph *graph = NULL;

    ASSERT_OK(sample_load(&graph, w, params, &err));
    return graph_keep(graph);
}

static const emp_tensor *output(const emp_graph *graph, const char *name)
{
    emp_op_id op = emp_graph_find(graph, name);

    cr_assert_geq(op, 0, "%s", name);
    return &graph->tensor[graph->output_offset[op]];
}

static void expect_targets(const emp_graph *graph, const char *names)
{
    char found[256] = "";

    for (emp_op_id op = 0; op < graph->op_count; op++)
        if (graph->is_target[op])
            snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s",
                     found[0] != '\0' ? " " : "", graph->name[op]);
    cr_expect_str_eq(found, names, "%s, not %s", found, names);
}

static emp_graph *load_text(const char *statements, const emp_import_params *params)
{
    const char        *text = sample_text(statements);
    const proto_writer w = {.data = (char *)(uintptr_t)text, .size = strlen(text)};

    return load(&w, params);
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
    SCOPED(proto_writer, proto_clear) w = {0};

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

    emp_import_params params = emp_import_params_default();
    params.batch_hint = 7;
    graph = load(&w, &params);
    cr_expect(emp_shape_equal(output(graph, "logits")->shape, &EMP_SHAPE(7, 10)));
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
            proto_clear(&w);
        }
    }
}

Test(import, puts_functions_in_place_of_calls)
{
    /* a library, before the nodes, whose functions have nodes of their own */
    static const char  text[] = "library { function { signature { name: 'f' } node_def { "
                                "name: 'inner' op: 'NoOp' } } } node { name: 'a' op: "
                                "'Placeholder' } node { name: 'b' op: 'f' input: 'a' }";
    const proto_writer w = {.data = (char *)(uintptr_t)text, .size = sizeof text - 1};
    emp_graph         *graph = load(&w, defaults());

    cr_expect_eq(graph->op_count, 2);
    cr_expect_geq(emp_graph_find(graph, "b/inner"), 0);
    cr_expect_eq(graph->unknown_op_count, 0);
}

Test(import, prefers_the_files_shapes_unless_told_otherwise)
{
    SCOPED(proto_writer, proto_clear) w = {0};
    size_t node = proto_node(&w, "a", "Placeholder", "");

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

    emp_import_params params = emp_import_params_default();
    params.ignore_output_shapes = true;
    graph = load(&w, &params);
    cr_expect_eq(output(graph, "a")->shape->rank, -1);
}

Test(import, squeezes_dimensions_counted_from_the_end)
{
    SCOPED(proto_writer, proto_clear) w = {0};
    size_t node = proto_node(&w, "a", "Placeholder", "");

    proto_attr_type(&w, "dtype", 1, "DT_FLOAT");
    proto_attr_shape(&w, "shape", (int64_t[]){1, 5, 1}, 3);
    proto_end(&w, node);
    node = proto_node(&w, "b", "Squeeze", "a");
    proto_attr_type(&w, "T", 1, "DT_FLOAT");
    proto_attr_ints(&w, "squeeze_dims", (int64_t[]){-1}, 1);
    proto_end(&w, node);
    emp_graph *graph = load(&w, defaults());
    cr_expect(emp_shape_equal(output(graph, "b")->shape, &EMP_SHAPE(1, 5)));
}

/* The shape of a placeholder is its attribute's, whatever value it has by default. */
Test(import, a_placeholder_with_a_default_has_the_batch_that_is_asked_for)
{
    emp_import_params params = emp_import_params_default();

    params.batch_hint = 64;
    emp_graph *graph =
        load_text("d = Placeholder - dtype=DT_FLOAT shape=[1,100];"
                  "x = PlaceholderWithDefault d dtype=DT_FLOAT shape=[-1,100];"
                  "end = Relu x T;",
                  &params);
    cr_expect(emp_shape_equal(output(graph, "end")->shape, &EMP_SHAPE(64, 100)));
}

/* Initialisers and what restores do not run. */
Test(import, finds_the_updates_and_the_loss)
{
    SCOPED(proto_writer, proto_clear) w = {0};

    sample_write_nodes(&w);
    emp_graph *graph = load(&w, defaults()), *step = NULL;
    expect_targets(graph, "loss update train");
    cr_assert_eq(emp_graph_prune(&step, graph, NULL), EMP_OK);
    cr_expect_lt(emp_graph_find(step, "w/Assign"), 0);
    cr_expect_lt(emp_graph_find(step, "save/restore"), 0);
    cr_expect_eq(step->op_count, graph->op_count - 3);
    emp_graph_destroy(step);
}

Test(import, takes_the_train_op_collection_where_there_is_one)
{
    for (int syntax = 0; syntax < 2; syntax++) {
        proto_writer w = {.is_text = syntax == 1};
        write_meta(&w, "train:0");
        expect_targets(load(&w, defaults()), "train");
        proto_clear(&w);
    }
}

#define INITIALISER "w = VariableV2 -; w/Assign = Assign w,a; init = NoOp ^w/Assign;"

#define KERAS(update)                                                  \
    "v = VarHandleOp - dtype=DT_FLOAT shape=[2,2]; a = Placeholder - " \
    "dtype=DT_FLOAT shape=[2,2]; update = " update " T; beside = Tanh a T;"

Test(import, takes_what_a_step_is_for)
{
    static const char *const cases[][2] = {
        /* the computed sinks of an inference graph */
        {"a = Placeholder -; b = Relu a; c = Tanh a; unused = Const -;" INITIALISER,
         "b c"},
        /* every sink where nothing else is left */
        {"a = Const -; b = Const -;" INITIALISER, "b init"},
        /* the updates of tf.keras's optimizers, not what they do not need */
        {KERAS("ResourceApplyKerasMomentum v,v,a,a,a"), "update"},
        {KERAS("ResourceSparseApplyKerasMomentum v,v,a,a,a,a"), "update"},
        {KERAS("ResourceApplyAdagradV2 v,v,a,a,a"), "update"},
        {KERAS("ResourceApplyAdaMax v,v,v,a,a,a,a,a,a"), "update"},
        {KERAS("ResourceApplyAdamWithAmsgrad v,v,v,v,a,a,a,a,a,a,a"), "update"},
        {KERAS("ResourceApplyFtrlV2 v,v,v,a,a,a,a,a,a"), "update"},
        /* no gradient for a loss */
        {"w = VariableV2 - dtype=DT_FLOAT shape=[]; w/read = Identity w T;"
         "update = AssignSub w,w/read T; gradients/a = Tanh w/read T;"
         "tower/gradients_1/b = Tanh w/read T; loss = Tanh w/read T;",
         "update loss"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_graph *graph = load_text(cases[i][0], defaults());
        expect_targets(graph, cases[i][1]);
    }
}

Test(import, takes_targets_from_the_caller)
{
    SCOPED(proto_writer, proto_clear) w = {0};
    emp_import_params params = emp_import_params_default();

    sample_write_nodes(&w);
    params.targets = "logits:0,train";
    emp_graph *graph = load(&w, &params);
    expect_targets(graph, "logits train");
    params.targets = "logits,nonsense";
    EXPECT_REFUSED(sample_load(&graph, &w, &params, &err), EMP_EINVAL, "\"nonsense\"");
    params.targets = ",";
    cr_expect_eq(sample_load(&graph, &w, &params, NULL), EMP_EINVAL);
}

Test(import, counts_a_loop_body_once)
{
    emp_graph *graph = load_text("start = Placeholder -; enter = Enter start;"
                                 "merge = Merge enter,next; body = Relu merge;"
                                 "next = NextIteration body",
                                 defaults());

    cr_expect_eq(graph->op_count, 5);
    cr_expect_eq(graph->edge_count + graph->back_edge_count, 5);
}

Test(import, names_the_node_and_the_input_that_are_wrong)
{
    static const struct {
        const char *op, *name, *inputs, *part;
    } cases[] = {
        {"Relu", "b", "a missing", "node \"b\", input 1, \"missing\""},
        {"Relu", "b", "a ^missing", "node \"b\", input 1, \"^missing\""},
        {"Relu", "b", "a:7", "op \"b\" reads output 7 of \"a\""},
        {"Relu", "b", "a:99999999999999999999",
         "node \"b\", input 0, \"a:99999999999999999999\""},
        {"Relu", "b", "a:", "node \"b\", input 0, \"a:\""},
        {"Relu", "a", "", "node 1, \"a\": an earlier node"},
        {"Relu", "", "a", "node 1, \"\": its name is missing"},
        {"", "b", "a", "node 1, \"b\": its op is missing"},
        {"Relu", "b\n", "a", "node 1, \"b?\": its name holds the control character 10"},
        {"Relu", "\xffz", "a", "node 1, \"?z\": its name holds the byte 255"},
        {"Relu", "a0", "a0", "\"a0\""}, /* a cycle */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int syntax = 0; syntax < 2; syntax++) {
            proto_writer w = {.is_text = syntax == 1};
            emp_graph   *graph = NULL;
            emp_error    err = {0};
            proto_plain_node(&w, "a", "Placeholder", "");
            proto_plain_node(&w, cases[i].name, cases[i].op, cases[i].inputs);
            emp_status st = sample_load(&graph, &w, defaults(), &err);
            cr_expect(st == EMP_EFORMAT || st == EMP_ECYCLE, "%s: %s", cases[i].part,
                      err.msg);
            cr_expect_not_null(strstr(err.msg, cases[i].part), "no \"%s\" in \"%s\"",
                               cases[i].part, err.msg);
            cr_expect_not_null(strstr(err.msg, sample_path()), "%s", err.msg);
            cr_expect_null(graph);
            proto_clear(&w);
        }
    }
}

Test(import, refuses_every_truncation_within_a_node)
{
    SCOPED(proto_writer, proto_clear) w = {0};
    bool is_boundary[4096] = {0};

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
