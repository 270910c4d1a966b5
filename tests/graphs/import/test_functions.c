// SPDX-License-Identifier: GPL-3.0-or-later
/* TensorFlow 2: is a graph that calls functions the same as the graph with their nodes in place,
 * and is what cannot be inlined refused by name? */
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/sample.h"
#include "tests/test.h"

TestSuite(functions, .init = scratch_create, .fini = graph_tear_down);

#define IN "in = Placeholder - dtype=DT_FLOAT shape=[4,8];"
/* double(x) = x + x, and what it gives besides runs in any case */
#define DOUBLE                                                                      \
    "function double x y; sum = Add x,x T; log = Relu sum:z:0 T; return y sum:z:0;" \
    "control log;"
/* quadruple(a) calls double twice; its second result is its argument */
#define QUADRUPLE(control)                                            \
    "function quadruple a b,same; one = PartitionedCall a f=@double;" \
    "two = double one:output:0" control "; return b two:y:0; return same a;"
#define CALLS(control)                                                            \
    IN "call = StatefulPartitionedCall in f=@quadruple; out = Mul call,call:1 T;" \
       "end = Identity out,^call T;" DOUBLE                                       \
       QUADRUPLE(control)

static const char calls[] = CALLS(",^one");

static const char by_hand[] =
    IN "out = Mul call/two/sum,in T; end = Identity out,^call/done T;"
       "call/one/sum = Add in,in T; call/one/log = Relu call/one/sum T;"
       "call/two/sum = Add call/one/sum,call/one/sum T;"
       "call/two/log = Relu call/two/sum T; call/done = NoOp ^call/two/sum,^in";

static const char loop[] =
    IN "loop = StatelessWhile in cond=@less body=@double; end = Identity loop T;" DOUBLE
       "function less c go; test = Less c,c T; return go test:z:0";

static const char unrolled[] =
    IN "end = Identity loop/body_2/sum T; loop/cond/test = Less in,in T;loop/body/sum "
       "= Add in,in T; loop/body/log = Relu loop/body/sum T;loop/cond_1/test = Less "
       "loop/body/sum,loop/body/sum T;loop/body_1/sum = Add "
       "loop/body/sum,loop/body/sum T;loop/body_1/log = Relu loop/body_1/sum "
       "T;loop/cond_2/test = Less loop/body_1/sum,loop/body_1/sum T;loop/body_2/sum = "
       "Add loop/body_1/sum,loop/body_1/sum T;loop/body_2/log = Relu loop/body_2/sum T";

static const char branch[] =
    IN "which = Less in,in T; if = If which,in then_branch=@double else_branch=@same;"
       "end = Identity if T;" DOUBLE "function same x y; return y x";

static const char both[] =
    IN "which = Less in,in T; end = Identity if/Merge_0 T;"
       "if/Merge_0 = Merge if/then/sum,in,^which T; if/then/sum = Add in,in T;"
       "if/then/log = Relu if/then/sum T";

static emp_status load(emp_graph **graph, const char *text, int32_t iterations,
                       emp_error *err)
{
    emp_import_params params = emp_import_params_default();

    params.loop_iterations = iterations;
    if (strchr(text, '{') == NULL) text = sample_text(text);
    scratch_write("graph.pbtxt", text, strlen(text));
    return emp_import_load(graph, NULL, scratch_path("graph.pbtxt"), &params, err);
}

static emp_graph *load_good(const char *text, int32_t iterations)
{
    emp_graph *graph = NULL;

    ASSERT_OK(load(&graph, text, iterations, &err));
    return graph_keep(graph);
}

static void expect_same(const emp_graph *a, const emp_graph *b)
{
    cr_assert_eq(a->op_count, b->op_count);
    cr_assert_eq(a->edge_count, b->edge_count);
    cr_assert_eq(a->control_edge_count, b->control_edge_count);
    cr_expect_eq(a->unknown_shape_count, b->unknown_shape_count);
    cr_expect_float_eq(a->flops, b->flops, 0.0);
    for (emp_op_id x = 0; x < a->op_count; x++) {
        emp_op_id y = emp_graph_find(b, a->name[x]);
        cr_assert_geq(y, 0, "%s", a->name[x]);
        cr_expect_str_eq(emp_graph_op_type(a, x), emp_graph_op_type(b, y));
        for (int32_t i = a->input_offset[x], k = b->input_offset[y];
             i < a->input_offset[x + 1]; i++, k++) {
            const emp_tensor *s = &a->tensor[a->input[i]], *t = &b->tensor[b->input[k]];
            cr_expect_str_eq(a->name[s->producer], b->name[t->producer], "%s",
                             a->name[x]);
            cr_expect_eq(s->bytes, t->bytes, "%s", a->name[s->producer]);
        }
        for (int32_t i = a->control_offset[x], k = b->control_offset[y];
             i < a->control_offset[x + 1]; i++, k++)
            cr_expect_str_eq(a->name[a->control[i]], b->name[b->control[k]], "%s",
                             a->name[x]);
    }
}

static void expect_equal(const char *text, const char *hand, int32_t iterations)
{
    emp_graph *a = load_good(text, iterations), *b = load_good(hand, 1);

    expect_same(a, b);
}

/* The control edge on "one" would be two more ops by hand. */
Test(functions, a_library_equals_the_graph_inlined_by_hand)
{
    cr_expect_geq(emp_graph_find(load_good(calls, 1), "call/one/done"), 0);
    expect_equal(CALLS(""), by_hand, 1);
    expect_equal(loop, unrolled, 3);
    expect_equal(branch, both, 1); /* both branches are taken */
}

/* The third result of four, by its name in TensorFlow's OpDef. */
Test(functions, results_of_ops_go_by_the_names_of_their_definitions)
{
    const emp_graph *g = load_good(
        IN
        "call = PartitionedCall in f=@f; end = Identity call T;"
        "function f x y; n = CombinedNonMaxSuppression x,x T; return y n:nmsed_classes:0",
        1);

    cr_expect_eq(g->input[g->input_offset[emp_graph_find(g, "end")]],
                 g->output_offset[emp_graph_find(g, "call/n")] + 2);
}

/* The dataset runs beside the step; the iterator gives a batch of it, whose shape its attribute says. */
#define ELEMENTS                                                                         \
    "attr { key: 'output_shapes' value { list { shape { dim { size: 32 } dim { size: 7 " \
    "} } } } }"

Test(functions, a_one_shot_iterator_feeds_the_step)
{
    const emp_graph *g = load_good(
        "node { name: 'it' op: 'OneShotIterator' attr { key: 'dataset_factory' value { "
        "func { name: 'data' } } } " ELEMENTS " }"
        "node { name: 'next' op: 'IteratorGetNext' input: 'it' " ELEMENTS " }"
        "node { name: 'end' op: 'Relu' input: 'next' }"
        "library { function { signature { name: 'data' output_arg { name: 'd' type: "
        "DT_VARIANT } } node_def { name: 't' op: 'TensorSliceDataset' } ret { key: 'd' "
        "value: 't:handle:0' } } }",
        1);
    const emp_tensor *next = &g->tensor[g->output_offset[emp_graph_find(g, "next")]];

    cr_expect_eq(g->unknown_op_count, 0);
    cr_expect_eq(g->unknown_shape_count, 0);
    cr_expect(emp_shape_equal(next->shape, &EMP_SHAPE(32, 7)));
}

/* A loop carries its invariant through each of more iterations than calls may be nested. */
Test(functions, an_invariant_of_a_long_loop_is_found)
{
    enum { ITERATIONS = 5000 };
    const emp_graph *g = load_good(
        IN
        "w = Relu in T; loop = StatelessWhile in,w cond=@less body=@step; end = Identity "
        "loop:1 T; function less c,d go; test = Less c,d T; return go test:z:0;"
        "function step x,v y,same; sum = Add x,v T; return y sum:z:0; return same v",
        ITERATIONS);
    const emp_op_id end = emp_graph_find(g, "end");

    cr_expect_str_eq(g->name[g->tensor[g->input[g->input_offset[end]]].producer], "w");
}

Test(functions, branches_and_iterations_are_named_as_assumptions)
{
    static const struct {
        const char *text, *part;
    } cases[] = {{branch, "both branches are taken at If ops: 1"},
                 {loop, "iterations taken of While ops (1 of them): 3"},
                 {calls, NULL}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
        emp_import_params params = emp_import_params_default();
        emp_graph        *graph = NULL;
        const char       *text = sample_text(cases[i].text);
        params.loop_iterations = 3;
        params.notes = &notes;
        scratch_write("graph.pbtxt", text, strlen(text));
        ASSERT_OK(
            emp_import_load(&graph, NULL, scratch_path("graph.pbtxt"), &params, &err));
        graph_keep(graph);
        cr_expect_eq(notes.assumption_count, cases[i].part != NULL);
        cr_expect(cases[i].part == NULL || graph_is_noted(&notes, cases[i].part));
    }
}

static void expect_refused(const char *text, const char *part)
{
    emp_graph *graph = NULL;

    EXPECT_FAILS(load(&graph, text, 1, &err), part);
    cr_expect_null(graph);
}

Test(functions, what_cannot_be_inlined_is_refused_by_name)
{
    static const char *const faults[][2] = {
        {"c = PartitionedCall - f=@gone", "node 0, \"c\": the function \"gone\""},
        {"c = RemoteCall - f=@double;" DOUBLE,
         "RemoteCall calls the function \"double\""},
        {"c = r -; function r - -; again = r -", "\"r\" calls itself"},
        {IN "o = Identity c:7 T; c = double in;" DOUBLE, "\"double\" has 1 results"},
        {IN "c = double -;" DOUBLE, "node \"c/sum\", input 0, \"x\""},
        {IN "function f - y", "function \"f\": nothing is said of its result \"y\""},
        {"node { name: 'c' op: 'f' } library { function { signature { name: 'f' "
         "input_arg { name: 'x' number_attr: 'N' } } } }",
         "takes or gives lists"},
        /* a second signature that breaks off */
        {"node { name: 'c' op: 'NoOp' } library { function { signature { name: 'f' } "
         "signature { name: 'g' 5 } } }",
         "function \"f\": "}};

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        expect_refused(faults[i][0], faults[i][1]);
}

/* Twenty functions, each of which calls the one before ten times. */
Test(functions, an_explosion_of_calls_is_refused)
{
    static char text[1 << 14];
    size_t      used = (size_t)snprintf(text, sizeof text, "c = f19 -;");

    for (int f = 0; f < 20; f++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "function f%d - -;", f);
        for (int i = 0; i < 10; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "n%d = %s%d -;", i,
                                     f == 0 ? "NoOp" : "f", f == 0 ? 0 : f - 1);
    }
    expect_refused(text, "too large for its file");
}

Test(functions, survive_every_allocation_failure)
{
    emp_graph *graph = NULL;

    SURVIVES_EVERY_ALLOCATION_FAILURE(load(&graph, calls, 1, NULL),
                                      emp_graph_destroy(graph));
    emp_graph_destroy(graph);
    SURVIVES_EVERY_ALLOCATION_FAILURE(load(&graph, branch, 1, NULL),
                                      emp_graph_destroy(graph));
    emp_graph_destroy(graph);
}
