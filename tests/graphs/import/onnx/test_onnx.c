// SPDX-License-Identifier: GPL-3.0-or-later
/* ONNX models: what their ops become, what is computed before the step, what is refused. */
#include "graphs/import/notes/readers.h"
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/onnx/writer.h"
#include "tests/test.h"

static onnx_writer w, body;

static void start(void) { onnx_clear(&w), onnx_clear(&body); }

TestSuite(onnx, .init = start, .fini = graph_tear_down);

static const char perceptron[] =
    "in x N,8; weight w 4,8; weight b 4; h = Gemm x,w,b transB=1; y = Relu h; out y";

Test(onnx, products_and_weights_are_counted_exactly)
{
    onnx_text(&w, perceptron);
    cr_assert(emp_onnx_is(onnx_model(&w, 14)));
    emp_graph *g = onnx_load(&w, 14, NULL, NULL);
    cr_expect_eq(g->parameter_count, 4 * 8 + 4);
    cr_expect_eq(g->flops, 2.0 * 32 * 4 * 8 + 2 * 32 * 4);
    cr_expect_str_eq(onnx_shape_of(g, "Relu"), "[32,4]");
    cr_expect_eq(g->unknown_op_count, 0);
    cr_expect_eq(g->unknown_shape_count, 0);
}

Test(onnx, sizes_of_symbols_are_given_or_assumed_aloud)
{
    static const struct {
        emp_onnx_params params;
        const char     *shape;
        int32_t         assumptions;
    } cases[] = {
        {{.batch = 5}, "[5,4]", 0}, {{.dims = "N=7"}, "[7,4]", 0}, {{0}, "[32,4]", 1}};

    onnx_text(&w, perceptron);
    for (size_t i = 0; i < COUNT(cases); i++) {
        SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
        emp_graph *g = onnx_load(&w, 14, &cases[i].params, &notes);
        cr_expect_str_eq(onnx_shape_of(g, "Relu"), cases[i].shape, "case %zu", i);
        cr_expect_eq(notes.assumption_count, cases[i].assumptions, "case %zu", i);
        if (notes.assumption_count > 0)
            cr_expect_not_null(strstr(notes.assumption[0], "\"N\" is 32"));
    }
    onnx_expect_refused(&w, 14, &(emp_onnx_params){.dims = "M=7"}, "\"M\"");
    onnx_expect_refused(&w, 14, &(emp_onnx_params){.dims = "N=0"}, "dim.N=0");
    onnx_expect_refused(&w, 14, &(emp_onnx_params){.dims = "N=7,N"}, "dim.N is not");
}

Test(onnx, arithmetic_of_shapes_leaves_no_op)
{
    onnx_text(&w, "in x N,3,8; ints zero 0; ints rest -1; s = Shape x;n = Gather "
                  "s,zero axis=0; to = Concat n,rest axis=0;y = Reshape x,to; out y");
    emp_graph *g = onnx_load(&w, 13, NULL, NULL), *step = NULL;
    cr_assert_eq(emp_graph_prune(&step, g, NULL), EMP_OK);
    cr_expect_str_eq(onnx_shape_of(g, "Reshape"), "[32,24]");
    cr_expect_eq(step->op_count, 3, "x, its new shape, y");
    emp_graph_destroy(step);
}

/* For a layer that is refused, \a expected is the reason. */
struct layer {
    const char *type, *x, *weight, *attributes, *expected, *made;
};

static void write_layer(const struct layer *l)
{
    bool is_recurrent = strcmp(l->x, "9,2,4") == 0;

    start();
    onnx_input(&w, "x", 1, l->x);
    if (l->weight[0] != '\0') onnx_weight(&w, "w", 1, l->weight);
    if (is_recurrent) onnx_weight(&w, "r", 1, "1,12,3");
    onnx_node(&w, l->type,
              is_recurrent           ? "x,w,r"
              : l->weight[0] != '\0' ? "x,w"
                                     : "x",
              "y", l->attributes);
    onnx_output(&w, "y", 1, "");
}

/* clang-format off */
static const struct layer layers[] = {
    {"Conv", "2,6,16,16", "12,3,3,3", "group=2 pads=1,1,1,1 strides=2,2", "[2,12,8,8]", "Conv"},
    {"Conv", "2,6,20", "4,6,5", "auto_pad:SAME_UPPER", "[2,4,20]", "Conv"},
    {"ConvTranspose", "2,6,7,7", "6,4,3,3", "strides=2,2 pads=1,1,1,1 output_padding=1,1", "[2,4,14,14]", "ConvTranspose"},
    {"MaxPool", "2,6,15,15", "", "kernel_shape=3,3 strides=2,2 ceil_mode=1", "[2,6,7,7]", "MaxPoolNd"},
    {"AveragePool", "2,6,14,14", "", "kernel_shape=3,3 strides=2,2 ceil_mode=1", "[2,6,7,7]", "AvgPoolNd"},
    {"GlobalAveragePool", "2,6,14,14", "", "", "[2,6,1,1]", "Mean"},
    {"Transpose", "2,6,14", "", "perm=2,0,1", "[14,2,6]", "Transpose"},
    {"Flatten", "2,6,14", "", "axis=2", "[12,14]", "Reshape"},
    {"DepthToSpace", "2,8,3,3", "", "blocksize=2", "[2,2,6,6]", "DepthToSpace"},
    {"ArgMax", "2,6,14", "", "axis=1 keepdims=0", "[2,14]", "ArgMax"},
    {"ReduceMean", "2,6,14", "", "axes=1,2", "[2,1,1]", "Mean"},
    {"MatMul", "2,6,14", "14,5", "", "[12,5]", "MatMul"},
    {"MatMul", "2,6,14", "2,14,5", "", "[2,6,5]", "BatchMatMul"},
    {"Einsum", "2,6,4,8", "2,5,4,8", "equation:bqhd,bkhd->bhqk", "[8,6,5]", "BatchMatMul"},
    {"LSTM", "9,2,4", "1,12,4", "hidden_size=3", "[9,1,2,3]", "LSTM"},
};
/* clang-format on */

Test(onnx, layers_have_the_shapes_that_the_standard_gives_them)
{
    for (size_t i = 0; i < COUNT(layers); i++) {
        const struct layer *l = &layers[i];
        write_layer(l);
        emp_graph *g = onnx_load(&w, 12, NULL, NULL);
        cr_expect_str_eq(onnx_shape_of(g, l->made), l->expected, "%s(%s)", l->type, l->x);
        cr_expect_eq(g->unknown_op_count, 0);
    }
}

/* Models that no checker passes: the node and the value are named. */
/* clang-format off */
static const struct layer senseless[] = {
    {"Conv", "2,6,16,16", "12,6,3,3", "strides=0,1", "strides has 0", ""},
    {"Conv", "2,6,16,16", "12,6,3,3", "strides=1,-2", "strides has -2", ""},
    {"Conv", "2,6,16,16", "12,6,3,3", "strides=2,2,2", "strides has 3 numbers", ""},
    {"Conv", "2,6,16,16", "12,6,3,3", "dilations=4294967297,1", "dilations has 4294967297", ""},
    {"Conv", "2,6,16,16", "12,6,3,3", "pads=1,1,", "pads has 2 numbers", ""},
    {"Conv", "2,6,16,16", "12,6,3,3", "kernel_shape=5,5", "a filter of size 3, and kernel_shape has 5", ""},
    {"Conv", "2,6,16,16", "12,6,3,3", "group=0", "group is 0", ""},
    {"Conv", "2,6,16,16", "12,6,3,3", "group=-1", "group is -1", ""},
    {"Conv", "2,6,16,16", "12,6,3,3", "group=4294967297", "group is 4294967297", ""},
    {"Conv", "2,10,16,16", "12,2,3,3", "group=5", "group is 5", ""},
    {"Conv", "2,6,16,16", "12,6,3", "", "a filter of rank 3 for a tensor of rank 4", ""},
    {"ConvTranspose", "2,6,7,7", "6,4,3,3", "strides=0,0", "strides has 0", ""},
    {"ConvTranspose", "2,6,7,7", "6,4,3,3", "group=0", "group is 0", ""},
    {"ConvTranspose", "2,6,7,7", "6,4,3,3", "output_padding=-1,0", "output_padding has -1", ""},
    {"MaxPool", "2,6,15,15", "", "kernel_shape=0,3", "kernel_shape has 0", ""},
    {"MaxPool", "2,6,15,15", "", "", "kernel_shape is missing", ""},
    {"AveragePool", "2,6,15,15", "", "kernel_shape=3,3 strides=0,0", "strides has 0", ""},
    {"LSTM", "9,2,4", "1,12,4", "hidden_size=4611686018427387904", "hidden_size is 4611686018427387904", ""},
    {"LSTM", "9,2,4", "1,12,4", "hidden_size=0", "hidden_size is 0", ""},
    {"LSTM", "9,2,4", "1,12,4", "direction:bidirectional", "weights [1,12,4] and [1,12,3]", ""},
    {"GRU", "9,2,4", "1,12,4", "hidden_size=3", "weights [1,12,4] and [1,12,3]", ""},
    {"Transpose", "2,6,14", "", "perm=0,1", "perm has 2 numbers for rank 3", ""},
    {"Transpose", "2,6,14", "", "perm=0,0,1", "perm has 0 in place 1", ""},
    {"Split", "2,6,14", "", "axis=1 split=4,", "split has sizes of 4", ""},
    {"DepthToSpace", "2,6,3,3", "", "blocksize=2", "blocks of 2 do not divide a size of 6", ""},
};
/* clang-format on */

Test(onnx, what_no_checker_passes_is_refused)
{
    for (size_t i = 0; i < COUNT(senseless); i++) {
        write_layer(&senseless[i]);
        const char *part =
            scratch_print("of type %s: %s", senseless[i].type, senseless[i].expected);
        onnx_expect_refused(&w, 12, NULL, part);
        onnx_expect_refused(&w, 12, &(emp_onnx_params){.is_lenient = true}, part);
    }
}

#define NORM(x, eps)                                                          \
    "mean = ReduceMean " x " axes=-1,; s = Sub " x ",mean; square = Mul s,s;" \
    "var = ReduceMean square axes=-1,; e = Add var," eps "; dev = Sqrt e;"    \
    "n = Div s,dev;"

Test(onnx, models_that_make_no_sense_are_refused)
{
    static const struct {
        const char     *model, *part;
        emp_onnx_params params;
    } cases[] = {
        {"in x 4,8; y = Relu x; y = Neg x; out y", "\"y\" is made by", {0}},
        {"in x 4,8; x = Relu x; out x", "its output \"x\"", {0}},
        {"in x 4,8; in x 4,8; y = Relu x; out y", "inputs have the name \"x\"", {0}},
        {"in x 4,8; weight m 8,8; weight m 8,4; y = MatMul x,m; out y",
         "initializers have the name \"m\"",
         {0}},
        {"in x 2,8; y = Relu x; out y", "a batch of 4", {.batch = 4}},
        /* no op of the graph reads the epsilon of a norm */
        {"in x 4,8;" NORM("x", "nothing") "out n", "reads \"nothing\"", {0}},
        {"in x 4,8; weight c.weight 8,8; h = MatMul x,c.weight; y = Tan h; out y",
         "type Tan has no gradient",
         {.train = "adam"}},
        {"in x 4,8; y = Relu x; out y", "\"lamb\"", {.train = "lamb"}}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        start();
        onnx_text(&w, cases[i].model);
        onnx_expect_refused(&w, 14, &cases[i].params, cases[i].part);
    }
}

Test(onnx, norms_and_gelus_that_are_spelled_out_are_one_op)
{
    onnx_text(
        &w,
        "in x 4,8; weight norm.weight 8; weight norm.bias 8; weight eps;" NORM(
            "x",
            "eps") "scaled = Mul n,norm.weight; y = Add scaled,norm.bias; d = Div y,eps;"
                   "f = Erf d; p = Add f,eps; q = Mul y,p; z = Mul q,eps; out z");
    emp_graph *g = onnx_load(&w, 14, NULL, NULL);
    cr_expect_eq(graph_count_type(g, "LayerNorm"), 1);
    cr_expect_eq(graph_count_type(g, "Gelu"), 1);
    cr_expect_eq(graph_count_type(g, "Erf") + graph_count_type(g, "Sqrt") +
                     graph_count_type(g, "Sub"),
                 0);
    cr_expect_eq(g->parameter_count, 16);
}

Test(onnx, a_loop_is_the_same_as_its_iterations)
{
    double flops[2];

    for (int unrolled = 0; unrolled < 2; unrolled++) {
        start();
        onnx_text(&w, "in x 4,8; weight m.weight 8,8; ints trips 3");
        if (unrolled) {
            onnx_text(&w, "a = MatMul x,m.weight; b = MatMul a,m.weight;"
                          "y = MatMul b,m.weight");
        } else {
            onnx_text(&body, "in i 7:; in c 9:; in h 4,8; h_out = MatMul h,m.weight;"
                             "c_out = Identity c; out c_out 9:; out h_out");
            onnx_node_of(&w, "", "Loop", "trips,,x", "y", "", "body", &body);
        }
        onnx_output(&w, "y", 1, "");
        emp_graph *g = onnx_load(&w, 13, NULL, NULL);
        cr_expect_eq(graph_count_type(g, "MatMul"), 3);
        cr_expect_eq(g->parameter_count, 64);
        flops[unrolled] = g->flops;
    }
    cr_expect_eq(flops[0], flops[1]);
}

/* A condition that is always true, and a count that is an input. */
Test(onnx, a_loop_whose_count_is_data_makes_one_iteration)
{
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};

    start();
    onnx_text(&w, "in x 4,8; in trips 7:");
    onnx_text(&body,
              "in i 7:; in c 9:; in h 4,8; h_out = Relu h; out c_out 9:; out h_out");
    onnx_ints(&body, "c_out", "1");
    onnx_node_of(&w, "", "Loop", "trips,,x", "y", "", "body", &body);
    onnx_output(&w, "y", 1, "");
    emp_graph *g = onnx_load(&w, 13, NULL, &notes);
    cr_expect_eq(graph_count_type(g, "Relu"), 1);
    cr_expect(graph_is_noted(&notes, "makes one iteration"));
}

/* A decoder reaches its encoder only through the first state. */
Test(onnx, first_states_connect_an_encoder_to_its_decoder)
{
    start();
    onnx_text(&w, "in x 9,2,4; in t 5,2,4; weight w 1,12,4; weight r 1,12,3;"
                  "weight v 1,12,4; weight s 1,12,3");
    onnx_node_of(&w, "", "LSTM", "x,w,r", "all,last,cell", "hidden_size=3", NULL, NULL);
    onnx_node_of(&w, "", "LSTM", "t,v,s,,,last,cell", "y", "hidden_size=3", NULL, NULL);
    onnx_output(&w, "y", 1, "");
    emp_graph *g = onnx_load(&w, 14, NULL, NULL);
    cr_expect_eq(graph_count_type(g, "LSTM"), 2);
    cr_expect_eq(g->parameter_count, 2 * (12 * 4 + 12 * 3));
}

Test(onnx, functions_of_the_model_are_put_in_their_place)
{
    body.is_list = true;
    onnx_text(&body, "b = Relu a; c = Neg b");
    onnx_input(&w, "x", 1, "4,8");
    onnx_function(&w, "mine", "Twice", "a", "c", &body);
    onnx_node_of(&w, "mine", "Twice", "x", "h", "", NULL, NULL);
    onnx_node_of(&w, "mine", "Twice", "h", "y", "", NULL, NULL);
    onnx_output(&w, "y", 1, "");
    emp_graph *g = onnx_load(&w, 14, NULL, NULL);
    cr_expect_eq(graph_count_type(g, "Relu"), 2);
    cr_expect_eq(graph_count_type(g, "Neg"), 2);
}

/* ONNX Runtime sorts nodes, too, also by what their graphs read; a cycle has no order. */
Test(onnx, nodes_in_another_order_are_the_same)
{
    emp_import_notes notes = {0};

    onnx_text(&w, "in x 4,8; z = Neg y; y = Relu x; v = Add z,y; out v");
    emp_graph *g = onnx_load(&w, 14, NULL, &notes);
    cr_expect_eq(graph_count_type(g, "Neg") + graph_count_type(g, "Add"), 2);
    cr_expect_eq(notes.assumption_count, 1);
    emp_import_notes_clear(&notes);
    start();
    onnx_text(&body, "s = Sin late; out s");
    onnx_text(&w, "in x 4,8; in c 9:");
    onnx_if(&w, "c", "y", &body, &body);
    onnx_text(&w, "late = Relu x; out y");
    g = onnx_load(&w, 14, NULL, NULL);
    cr_expect_eq(graph_count_type(g, "Relu"), 1);
    start();
    onnx_text(&w, "in x 4,8; y = Add x,z; z = Relu y; out z");
    onnx_expect_refused(&w, 14, NULL, "which no node before it makes");
}

/* A sparse initializer counts as the dense tensor that runtimes make of it. */
Test(onnx, sparse_weights_are_weights)
{
    onnx_text(&w, "in x 4,8; y = MatMul x,w; out y");
    onnx_sparse_weight(&w, "w", 1, "8,6");
    emp_graph *g = onnx_load(&w, 14, NULL, NULL);
    cr_expect_eq(g->parameter_count, 48);
    cr_expect_eq(g->flops, 2.0 * 4 * 8 * 6);
}

Test(onnx, all_problems_are_told_at_once)
{
    emp_graph *graph = NULL;
    emp_error  err = {0};
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};

    onnx_input(&w, "x", 1, "4,8");
    onnx_node_of(&w, "odd", "Curl", "x", "a", "", NULL, NULL);
    onnx_text(&w, "b = Bend x; c = Relu missing; d = Reshape a,b; out d");
    cr_expect_eq(
        emp_onnx_build(&graph, onnx_model(&w, 14), &(emp_onnx_params){0}, &notes, &err),
        EMP_EFORMAT);
    cr_expect_eq(notes.problem_count, 3);
    cr_expect_not_null(strstr(err.msg, "3 problems"), "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, "of type Curl"), "%s", err.msg);
}

Test(onnx, lenient_takes_unknown_ops_as_element_wise)
{
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};

    onnx_text(&w, "in x 4,8; y = Bend x; out y");
    emp_graph *g = onnx_load(&w, 14, &(emp_onnx_params){.is_lenient = true}, &notes);
    cr_expect_eq(g->unknown_op_count, 1);
    cr_expect_eq(graph_count_type(g, "Bend"), 1);
    cr_expect_eq(g->flops, 32.0);
    cr_expect_eq(notes.assumption_count, 1);
}

static emp_graph *load_step(int opset, const emp_onnx_params *params,
                            emp_import_notes *notes)
{
    emp_graph *whole = onnx_load(&w, opset, params, notes), *step = NULL;

    cr_assert_eq(emp_graph_prune(&step, whole, NULL), EMP_OK);
    return graph_keep(step);
}

Test(onnx, a_perceptron_trains_with_the_products_of_its_gradients)
{
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};

    onnx_text(&w, perceptron);
    emp_graph *g =
        load_step(14, &(emp_onnx_params){.batch = 16, .train = "adam"}, &notes);
    cr_expect_eq(graph_count_type(g, "MatMul"), 2, "x has no gradient");
    cr_expect_eq(graph_count_type(g, "FusedAdam"), 2);
    cr_expect_eq(g->parameter_count, 36);
    cr_expect_eq(notes.assumption_count, 2);
    onnx_survive(&w, 14, "adam");
}

/* Each op between two weights, so that a gradient must pass it; attributes after a blank. */
static const char between[] =
    " Abs h; AveragePool h kernel_shape=2,2 strides=2,2; Clip h; Cos h; Elu h; Erf h; "
    "Exp h; GlobalMaxPool h; HardSwish h; LeakyRelu h; Log h; LogSoftmax h; "
    "MaxPool h kernel_shape=2,2 strides=2,2; Mish h; Neg h; Reciprocal h; "
    "ReduceMean h axes=2,3; Relu h; Selu h; Sigmoid h; Sin h; Softmax h; Softplus h; "
    "Softsign h; SpaceToDepth h blocksize=2; Sqrt h; Tanh h; Transpose h perm=0,2,1,3";

Test(onnx, gradients_pass_every_op)
{
    char ops[sizeof between], *rest = ops;

    strcpy(ops, between);
    for (char *op; (op = strtok_r(rest, ";", &rest)) != NULL;) {
        start();
        onnx_text(&w, scratch_print("in x 2,4,8,8; weight c.weight 4,4,1,1; "
                                    "h = Conv x,c.weight; y =%s; out y",
                                    op));
        emp_graph *g = load_step(strstr(op, "Mish") != NULL ? 18 : 14,
                                 &(emp_onnx_params){.train = "momentum"}, NULL);
        cr_expect_eq(graph_count_type(g, "ConvGradFilter"), 1, "%s", op);
        cr_expect_eq(graph_count_type(g, "ApplyMomentum"), 1, "%s", op);
    }
}
