// SPDX-License-Identifier: GPL-3.0-or-later
/* TensorFlow 2: is a graph that calls functions the same as the graph with their nodes in place,
 * and is what cannot be inlined refused by name? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/load.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

TestSuite(functions, .init = scratch_create, .fini = scratch_remove);

#define NODE(name, op, rest) "node { name: '" name "' op: '" op "' " rest " }\n"
#define BODY(name, op, rest) "node_def { name: '" name "' op: '" op "' " rest " }\n"
#define IN(x)                "input: '" x "' "
#define FLOAT                "attr { key: 'T' value { type: DT_FLOAT } } "
#define SHAPE                                                                           \
    "attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape " \
    "{ "                                                                                \
    "dim { size: 4 } dim { size: 8 } } } } "
#define CALLS(key, f) "attr { key: '" key "' value { func { name: '" f "' } } } "
#define ARG(x)        "input_arg { name: '" x "' type: DT_FLOAT } "
#define OUT(x)        "output_arg { name: '" x "' type: DT_FLOAT } "
#define RET(x, from)  "ret { key: '" x "' value: '" from "' } "

/* double(x) = x + x, and what it gives besides runs in any case */
#define DOUBLE                                                    \
    "function { signature { name: 'double' " ARG("x")             \
        OUT("y") " }\n" BODY("sum", "Add", IN("x") IN("x") FLOAT) \
            BODY("log", "Relu", IN("sum:z:0") FLOAT)              \
                RET("y", "sum:z:0") "control_ret { key: 'log' value: 'log' } }\n"
/* quadruple(a) calls double twice; its second result is its argument */
#define QUADRUPLE                                                                       \
    "function { signature { name: 'quadruple' " ARG("a") OUT("b")                       \
        OUT("same") " }\n" BODY("one", "PartitionedCall", IN("a") CALLS("f", "double")) \
            BODY("two", "double", IN("one:output:0") IN("^one")) RET("b", "two:y:0")    \
                RET("same", "a") "}\n"

static const char calls[] = NODE("in", "Placeholder", SHAPE)
    NODE("call", "StatefulPartitionedCall", IN("in") CALLS("f", "quadruple"))
        NODE("out", "Mul", IN("call") IN("call:1") FLOAT)
            NODE("end", "Identity",
                 IN("out") IN("^call") FLOAT) "library { " DOUBLE QUADRUPLE "}\n";

static const char by_hand[] =
    NODE("in", "Placeholder", SHAPE) NODE("out", "Mul", IN("call/two/sum") IN("in") FLOAT)
        NODE("end", "Identity", IN("out") IN("^call/done") FLOAT)
            NODE("call/one/sum", "Add", IN("in") IN("in") FLOAT)
                NODE("call/one/log", "Relu", IN("call/one/sum") FLOAT) NODE(
                    "call/two/sum", "Add", IN("call/one/sum") IN("call/one/sum") FLOAT)
                    NODE("call/two/log", "Relu", IN("call/two/sum") FLOAT)
                        NODE("call/done", "NoOp", IN("^call/two/sum") IN("^in"));

#define LESS                                                         \
    "function { signature { name: 'less' " ARG("c")                  \
        OUT("go") " }\n" BODY("test", "Less", IN("c") IN("c") FLOAT) \
            RET("go", "test:z:0") "}\n"

static const char loop[] = NODE("in", "Placeholder", SHAPE)
    NODE("loop", "StatelessWhile", IN("in") CALLS("cond", "less") CALLS("body", "double"))
        NODE("end", "Identity", IN("loop") FLOAT) "library { " DOUBLE LESS "}\n";

static const char unrolled[] = NODE("in", "Placeholder", SHAPE) NODE(
    "end", "Identity", IN("loop/body_2/sum") FLOAT) NODE("loop/cond/test", "Less",
                                                         IN("in") IN("in") FLOAT)
    NODE("loop/body/sum", "Add", IN("in") IN("in") FLOAT) NODE("loop/body/log", "Relu",
                                                               IN("loop/body/sum") FLOAT)
        NODE("loop/cond_1/test", "Less", IN("loop/body/sum") IN("loop/body/sum") FLOAT)
            NODE("loop/body_1/sum", "Add", IN("loop/body/sum") IN("loop/body/sum") FLOAT)
                NODE("loop/body_1/log", "Relu", IN("loop/body_1/sum") FLOAT)
                    NODE("loop/cond_2/test", "Less",
                         IN("loop/body_1/sum") IN("loop/body_1/sum") FLOAT)
                        NODE("loop/body_2/sum", "Add",
                             IN("loop/body_1/sum") IN("loop/body_1/sum") FLOAT)
                            NODE("loop/body_2/log", "Relu", IN("loop/body_2/sum") FLOAT);

#define SAME \
    "function { signature { name: 'same' " ARG("x") OUT("y") " } " RET("y", "x") "}\n"

static const char branch[] = NODE("in", "Placeholder",
                                  SHAPE) NODE("which", "Less", IN("in") IN("in") FLOAT)
    NODE("if", "If",
         IN("which") IN("in") CALLS("then_branch", "double") CALLS("else_branch", "same"))
        NODE("end", "Identity", IN("if") FLOAT) "library { " DOUBLE SAME "}\n";

static const char both[] =
    NODE("in", "Placeholder", SHAPE) NODE("which", "Less", IN("in") IN("in") FLOAT)
        NODE("end", "Identity", IN("if/Merge_0") FLOAT)
            NODE("if/Merge_0", "Merge", IN("if/then/sum") IN("in") IN("^which") FLOAT)
                NODE("if/then/sum", "Add", IN("in") IN("in") FLOAT)
                    NODE("if/then/log", "Relu", IN("if/then/sum") FLOAT);

static emp_status load(emp_graph **graph, const char *text, int32_t iterations,
                       emp_error *err)
{
    emp_import_params params = emp_import_params_default();

    params.loop_iterations = iterations;
    scratch_write("graph.pbtxt", text, strlen(text));
    return emp_import_load(graph, NULL, scratch_path("graph.pbtxt"), &params, err);
}

static emp_graph *load_good(const char *text, int32_t iterations)
{
    emp_graph *graph = NULL;
    emp_error  err = {0};

    cr_assert_eq(load(&graph, text, iterations, &err), EMP_OK, "%s", err.msg);
    return graph;
}

/* The same ops with the same inputs, in whatever order. */
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
    emp_graph_destroy(a);
    emp_graph_destroy(b);
}

Test(functions, calls_are_the_nodes_of_the_functions)
{
    emp_graph *g = load_good(calls, 1);

    /* control edges of the call within the call */
    cr_expect_geq(emp_graph_find(g, "call/one/done"), 0);
    emp_graph_destroy(g);
}

Test(functions, a_library_equals_the_graph_inlined_by_hand)
{
    char text[sizeof calls];

    /* without the control edge on "one", whose ops by hand would be two more */
    memcpy(text, calls, sizeof calls);
    char *control = strstr(text, "input: '^one'");
    cr_assert_not_null(control);
    memset(control, ' ', strlen("input: '^one'"));
    expect_equal(text, by_hand, 1);
}

Test(functions, a_while_loop_equals_the_graph_unrolled_by_hand)
{
    expect_equal(loop, unrolled, 3);
}

Test(functions, both_branches_of_an_if_are_taken) { expect_equal(branch, both, 1); }

Test(functions, what_cannot_be_inlined_is_refused_by_name)
{
    static const struct {
        const char *text, *wants;
    } faults[] = {
        {NODE("c", "PartitionedCall", CALLS("f", "gone")),
         "node 0, \"c\": the function \"gone\" is not in the library"},
        {NODE("c", "RemoteCall", CALLS("f", "double")) "library { " DOUBLE "}",
         "its op RemoteCall calls the function \"double\""},
        {NODE("c", "r", "") "library { function { signature { name: 'r' } " BODY(
             "again", "r", "") "} }",
         "the function \"r\" calls itself"},
        {NODE("in", "Placeholder", SHAPE) NODE("o", "Identity", IN("c:7") FLOAT)
             NODE("c", "double", IN("in")) "library { " DOUBLE "}",
         "the function \"double\" has 1 results"},
        {NODE("in", "Placeholder", SHAPE) NODE("c", "double", "") "library { " DOUBLE "}",
         "node \"c/sum\", input 0, \"x\": no node has that name"},
        {NODE("in", "Placeholder",
              SHAPE) "library { function { signature { name: 'f' " OUT("y") " } } }",
         "function \"f\": nothing is said of its result \"y\""},
        {NODE("c", "f",
              "") "library { function { signature { name: 'f' input_arg { name: "
                  "'x' number_attr: 'N' } } } }",
         "takes or gives lists"},
        /* a second signature that breaks off */
        {NODE("in", "Placeholder",
              SHAPE) "library { function { signature { name: "
                     "'f' " OUT("y") " } signature { name: 'g' 5 } } }",
         "function \"f\": "},
    };

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        emp_graph *graph = NULL;
        emp_error  err = {0};
        cr_expect_neq(load(&graph, faults[i].text, 1, &err), EMP_OK, "%s",
                      faults[i].wants);
        cr_expect_not_null(strstr(err.msg, faults[i].wants), "%s, not %s", err.msg,
                           faults[i].wants);
        cr_expect_null(graph);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Twenty functions, each of which calls the one before ten times. */
Test(functions, an_explosion_of_calls_is_refused)
{
    static char text[1 << 16];
    size_t      used = 0;
    emp_graph  *graph = NULL;
    emp_error   err = {0};

    used += (size_t)snprintf(text, sizeof text, NODE("c", "f19", "") "library {");
    for (int f = 0; f < 20; f++) {
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "function { signature { name: 'f%d' }\n", f);
        for (int i = 0; i < 10; i++)
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "node_def { name: 'n%d' op: '%s%d' }\n", i,
                                     f == 0 ? "NoOp" : "f", f == 0 ? 0 : f - 1);
        used += (size_t)snprintf(text + used, sizeof text - used, "}\n");
    }
    snprintf(text + used, sizeof text - used, "}");
    cr_expect_eq(load(&graph, text, 1, &err), EMP_EUNSUPPORTED);
    cr_expect_not_null(strstr(err.msg, "too large for its file"), "%s", err.msg);
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
