// SPDX-License-Identifier: GPL-3.0-or-later
/* ONNX models: what their ops become, what is computed before the step, what is refused. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/mem.h"
#include "graphs/import/notes/readers.h"
#include "graphs/import/onnx/model.h"
#include "tests/graphs/import/onnx/writer.h"

static onnx_writer w, body;

static void start(void) { memset(&w, 0, sizeof w), memset(&body, 0, sizeof body); }

TestSuite(onnx, .init = start);

static emp_graph *load_with(int opset, const emp_onnx_params *params,
                            emp_import_notes *notes)
{
    emp_graph *graph = NULL;
    emp_error  err = {0};

    cr_assert(emp_onnx_is(onnx_model(&w, opset)));
    cr_assert_eq(emp_onnx_build(&graph, onnx_model(&w, opset), params, notes, &err),
                 EMP_OK, "%s", err.msg);
    return graph;
}

static emp_graph *load(int opset)
{
    emp_import_notes notes = {0};
    emp_graph       *graph = load_with(opset, &(emp_onnx_params){0}, &notes);

    emp_import_notes_clear(&notes);
    return graph;
}

static void refuse_with(int opset, const emp_onnx_params *params, const char *message)
{
    emp_graph       *graph = NULL;
    emp_error        err = {0};
    emp_import_notes notes = {0};

    cr_expect_neq(emp_onnx_build(&graph, onnx_model(&w, opset), params, &notes, &err),
                  EMP_OK);
    cr_expect_null(graph);
    cr_expect_str_eq(err.msg, message);
    emp_import_notes_clear(&notes);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static int32_t count_type(const emp_graph *g, const char *type)
{
    int32_t count = 0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        count += strcmp(g->type_name[g->type[op]], type) == 0;
    return count;
}

/* The shape of the last op of a type, as text. */
static const char *shape_of(const emp_graph *g, const char *type, char *text)
{
    strcpy(text, "no such op");
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (strcmp(g->type_name[g->type[op]], type) == 0)
            emp_shape_format(g->tensor[g->output_offset[op]].shape, text);
    return text;
}

static void perceptron(void)
{
    onnx_input(&w, "x", 1, "N,8");
    onnx_weight(&w, "w", 1, "4,8");
    onnx_weight(&w, "b", 1, "4");
    onnx_node(&w, "Gemm", "x,w,b", "h", "transB=1");
    onnx_node(&w, "Relu", "h", "y", "");
    onnx_output(&w, "y", 1, "");
}

Test(onnx, products_and_weights_are_counted_exactly)
{
    char text[EMP_SHAPE_TEXT_BYTES];

    perceptron();
    emp_graph *g = load(14);
    cr_expect_eq(g->parameter_count, 4 * 8 + 4);
    cr_expect_eq(g->flops, 2.0 * 32 * 4 * 8 + 2 * 32 * 4);
    cr_expect_str_eq(shape_of(g, "Relu", text), "[32,4]");
    cr_expect_eq(g->unknown_op_count, 0);
    cr_expect_eq(g->unknown_shape_count, 0);
    emp_graph_destroy(g);
}

Test(onnx, sizes_of_symbols_are_given_or_assumed_aloud)
{
    emp_onnx_params  params = {.batch = 5};
    emp_import_notes notes = {0};
    char             text[EMP_SHAPE_TEXT_BYTES];

    perceptron();
    emp_graph *g = load_with(14, &params, &notes);
    cr_expect_str_eq(shape_of(g, "Relu", text), "[5,4]");
    cr_expect_eq(notes.assumption_count, 0);
    emp_graph_destroy(g);
    params.dims = "N=7";
    g = load_with(14, &params, &notes);
    cr_expect_str_eq(shape_of(g, "Relu", text), "[7,4]");
    emp_graph_destroy(g);
    g = load_with(14, &(emp_onnx_params){0}, &notes);
    cr_expect_str_eq(notes.assumption[0], "the size \"N\" is 32");
    emp_graph_destroy(g);
    emp_import_notes_clear(&notes);
    params.dims = "M=7";
    refuse_with(14, &params, "no input of the model has a size named \"M\"");
    params.dims = "N=0";
    refuse_with(14, &params, "dim.N=0 is not dim.NAME=SIZE, a size from 1 to 2147483647");
    params.dims = "N=7,N";
    refuse_with(14, &params, "dim.N is not dim.NAME=SIZE, a size from 1 to 2147483647");
}

Test(onnx, a_batch_for_fixed_sizes_is_refused)
{
    onnx_input(&w, "x", 1, "2,8");
    onnx_node(&w, "Relu", "x", "y", "");
    onnx_output(&w, "y", 1, "");
    refuse_with(14, &(emp_onnx_params){.batch = 4},
                "a batch of 4, but no input of the model leaves its first size open");
}

Test(onnx, arithmetic_of_shapes_leaves_no_op)
{
    char text[EMP_SHAPE_TEXT_BYTES];

    onnx_input(&w, "x", 1, "N,3,8");
    onnx_ints(&w, "zero", "0");
    onnx_ints(&w, "rest", "-1");
    onnx_node(&w, "Shape", "x", "s", "");
    onnx_node(&w, "Gather", "s,zero", "n", "axis=0");
    onnx_node(&w, "Concat", "n,rest", "to", "axis=0");
    onnx_node(&w, "Reshape", "x,to", "y", "");
    onnx_output(&w, "y", 1, "");
    emp_graph *g = load(13), *step = NULL;
    cr_assert_eq(emp_graph_prune(&step, g, NULL), EMP_OK);
    cr_expect_str_eq(shape_of(g, "Reshape", text), "[32,24]");
    cr_expect_eq(step->op_count, 3, "x, its new shape, y");
    emp_graph_destroy(step);
    emp_graph_destroy(g);
}

struct layer {
    const char *type, *x, *weight, *attributes, *made, *shape;
};

/* clang-format off */
static const struct layer layers[] = {
    {"Conv", "2,6,16,16", "12,3,3,3", "group=2 pads=1,1,1,1 strides=2,2", "Conv", "[2,12,8,8]"},
    {"Conv", "2,6,20", "4,6,5", "auto_pad:SAME_UPPER", "Conv", "[2,4,20]"},
    {"ConvTranspose", "2,6,7,7", "6,4,3,3", "strides=2,2 pads=1,1,1,1 output_padding=1,1", "ConvTranspose", "[2,4,14,14]"},
    {"MaxPool", "2,6,15,15", "", "kernel_shape=3,3 strides=2,2 ceil_mode=1", "MaxPoolNd", "[2,6,7,7]"},
    {"AveragePool", "2,6,14,14", "", "kernel_shape=3,3 strides=2,2 ceil_mode=1", "AvgPoolNd", "[2,6,7,7]"},
    {"GlobalAveragePool", "2,6,14,14", "", "", "Mean", "[2,6,1,1]"},
    {"Transpose", "2,6,14", "", "perm=2,0,1", "Transpose", "[14,2,6]"},
    {"Flatten", "2,6,14", "", "axis=2", "Reshape", "[12,14]"},
    {"DepthToSpace", "2,8,3,3", "", "blocksize=2", "DepthToSpace", "[2,2,6,6]"},
    {"ArgMax", "2,6,14", "", "axis=1 keepdims=0", "ArgMax", "[2,14]"},
    {"ReduceMean", "2,6,14", "", "axes=1,2", "Mean", "[2,1,1]"},
    {"MatMul", "2,6,14", "14,5", "", "MatMul", "[12,5]"},
    {"MatMul", "2,6,14", "2,14,5", "", "BatchMatMul", "[2,6,5]"},
    {"Einsum", "2,6,4,8", "2,5,4,8", "equation:bqhd,bkhd->bhqk", "BatchMatMul", "[8,6,5]"},
    {"LSTM", "9,2,4", "1,12,4", "hidden_size=3", "LSTM", "[9,1,2,3]"},
};
/* clang-format on */

Test(onnx, layers_have_the_shapes_that_the_standard_gives_them)
{
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        const struct layer *l = &layers[i];
        char                text[EMP_SHAPE_TEXT_BYTES];
        bool                is_recurrent = strcmp(l->type, "LSTM") == 0;
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
        emp_graph *g = load(12);
        cr_expect_str_eq(shape_of(g, l->made, text), l->shape, "%s(%s) is %s", l->type,
                         l->x, text);
        cr_expect_eq(g->unknown_op_count, 0);
        emp_graph_destroy(g);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* What no checker of models passes: the node and the value are named. */
/* clang-format off */
static const struct {
    const char *type, *x, *weight, *attributes, *reason;
} senseless[] = {
    {"Conv", "2,6,16,16", "12,6,3,3", "strides=0,1", "strides has 0, need 1 to 2147483647"},
    {"Conv", "2,6,16,16", "12,6,3,3", "strides=1,-2", "strides has -2, need 1 to 2147483647"},
    {"Conv", "2,6,16,16", "12,6,3,3", "strides=2,2,2", "strides has 3 numbers, need 2"},
    {"Conv", "2,6,16,16", "12,6,3,3", "dilations=4294967297,1", "dilations has 4294967297, need 1 to 2147483647"},
    {"Conv", "2,6,16,16", "12,6,3,3", "pads=1,1,", "pads has 2 numbers, need 4"},
    {"Conv", "2,6,16,16", "12,6,3,3", "kernel_shape=5,5", "a filter of size 3, and kernel_shape has 5"},
    {"Conv", "2,6,16,16", "12,6,3,3", "group=0", "group is 0 for a filter whose first size is 12"},
    {"Conv", "2,6,16,16", "12,6,3,3", "group=-1", "group is -1 for a filter whose first size is 12"},
    {"Conv", "2,6,16,16", "12,6,3,3", "group=4294967297", "group is 4294967297 for a filter whose first size is 12"},
    {"Conv", "2,10,16,16", "12,2,3,3", "group=5", "group is 5 for a filter whose first size is 12"},
    {"Conv", "2,6,16,16", "12,6,3", "", "a filter of rank 3 for a tensor of rank 4"},
    {"ConvTranspose", "2,6,7,7", "6,4,3,3", "strides=0,0", "strides has 0, need 1 to 2147483647"},
    {"ConvTranspose", "2,6,7,7", "6,4,3,3", "group=0", "group is 0 for a filter whose first size is 6"},
    {"ConvTranspose", "2,6,7,7", "6,4,3,3", "output_padding=-1,0", "output_padding has -1, need 0 to 2147483647"},
    {"MaxPool", "2,6,15,15", "", "kernel_shape=0,3", "kernel_shape has 0, need 1 to 2147483647"},
    {"MaxPool", "2,6,15,15", "", "", "kernel_shape is missing"},
    {"AveragePool", "2,6,15,15", "", "kernel_shape=3,3 strides=0,0", "strides has 0, need 1 to 2147483647"},
    {"LSTM", "9,2,4", "1,12,4", "hidden_size=4611686018427387904", "hidden_size is 4611686018427387904, and its weights are [1,12,3]"},
    {"LSTM", "9,2,4", "1,12,4", "hidden_size=0", "hidden_size is 0, and its weights are [1,12,3]"},
    {"LSTM", "9,2,4", "1,12,4", "direction:bidirectional", "weights [1,12,4] and [1,12,3], need 2 for the directions"},
    {"GRU", "9,2,4", "1,12,4", "hidden_size=3", "weights [1,12,4] and [1,12,3], need 9 rows for hidden_size 3"},
    {"Transpose", "2,6,14", "", "perm=0,1", "perm has 2 numbers for rank 3"},
    {"Transpose", "2,6,14", "", "perm=0,0,1", "perm has 0 in place 1, which is no order of rank 3"},
    {"Split", "2,6,14", "", "axis=1 split=4,", "split has sizes of 4 in all, and the axis has 6"},
    {"DepthToSpace", "2,6,3,3", "", "blocksize=2", "blocks of 2 do not divide a size of 6"},
};
/* clang-format on */

Test(onnx, what_no_checker_passes_is_refused)
{
    for (size_t i = 0; i < sizeof senseless / sizeof senseless[0]; i++) {
        bool is_recurrent = strcmp(senseless[i].x, "9,2,4") == 0;
        char message[256];
        start();
        onnx_input(&w, "x", 1, senseless[i].x);
        if (senseless[i].weight[0] != '\0') onnx_weight(&w, "w", 1, senseless[i].weight);
        if (is_recurrent) onnx_weight(&w, "r", 1, "1,12,3");
        onnx_node(&w, senseless[i].type,
                  is_recurrent                     ? "x,w,r"
                  : senseless[i].weight[0] != '\0' ? "x,w"
                                                   : "x",
                  "y", senseless[i].attributes);
        onnx_output(&w, "y", 1, "");
        snprintf(message, sizeof message, "node \"\" of type %s: %s", senseless[i].type,
                 senseless[i].reason);
        refuse_with(12, &(emp_onnx_params){0}, message);
        refuse_with(12, &(emp_onnx_params){.is_lenient = true}, message);
    }
}

Test(onnx, a_tensor_that_is_made_twice_is_refused)
{
    onnx_input(&w, "x", 1, "4,8");
    onnx_node(&w, "Relu", "x", "y", "");
    onnx_node(&w, "Neg", "x", "y", "");
    onnx_output(&w, "y", 1, "");
    refuse_with(
        14, &(emp_onnx_params){0},
        "node \"\" of type Neg: its output \"y\" is made by node \"\" of type Relu, "
        "too");
    start();
    onnx_input(&w, "x", 1, "4,8");
    onnx_node(&w, "Relu", "x", "x", "");
    onnx_output(&w, "x", 1, "");
    refuse_with(
        14, &(emp_onnx_params){0},
        "node \"\" of type Relu: its output \"x\" is an input or an initializer of the "
        "graph, too");
    start();
    onnx_input(&w, "x", 1, "4,8");
    onnx_input(&w, "x", 1, "4,8");
    onnx_node(&w, "Relu", "x", "y", "");
    onnx_output(&w, "y", 1, "");
    refuse_with(14, &(emp_onnx_params){0}, "two inputs have the name \"x\"");
    start();
    onnx_input(&w, "x", 1, "4,8");
    onnx_weight(&w, "m", 1, "8,8");
    onnx_weight(&w, "m", 1, "8,4");
    onnx_node(&w, "MatMul", "x,m", "y", "");
    onnx_output(&w, "y", 1, "");
    refuse_with(14, &(emp_onnx_params){0}, "two initializers have the name \"m\"");
}

/* No op of the graph reads the epsilon of a norm. */
Test(onnx, what_a_part_of_a_norm_reads_has_to_be_there)
{
    onnx_input(&w, "x", 1, "4,8");
    onnx_node(&w, "ReduceMean", "x", "mean", "axes=-1,");
    onnx_node(&w, "Sub", "x,mean", "s", "");
    onnx_node(&w, "Mul", "s,s", "square", "");
    onnx_node(&w, "ReduceMean", "square", "var", "axes=-1,");
    onnx_node(&w, "Add", "var,nothing", "e", "");
    onnx_node(&w, "Sqrt", "e", "dev", "");
    onnx_node(&w, "Div", "s,dev", "y", "");
    onnx_output(&w, "y", 1, "");
    refuse_with(14, &(emp_onnx_params){0},
                "node \"\" of type Add reads \"nothing\", which no node before it makes");
}

Test(onnx, norms_and_gelus_that_are_spelled_out_are_one_op)
{
    onnx_input(&w, "x", 1, "4,8");
    onnx_weight(&w, "norm.weight", 1, "8");
    onnx_weight(&w, "norm.bias", 1, "8");
    onnx_weight(&w, "eps", 1, "");
    onnx_node(&w, "ReduceMean", "x", "mean", "axes=-1,");
    onnx_node(&w, "Sub", "x,mean", "s", "");
    onnx_node(&w, "Mul", "s,s", "square", "");
    onnx_node(&w, "ReduceMean", "square", "var", "axes=-1,");
    onnx_node(&w, "Add", "var,eps", "e", "");
    onnx_node(&w, "Sqrt", "e", "dev", "");
    onnx_node(&w, "Div", "s,dev", "n", "");
    onnx_node(&w, "Mul", "n,norm.weight", "scaled", "");
    onnx_node(&w, "Add", "scaled,norm.bias", "y", "");
    onnx_node(&w, "Div", "y,eps", "d", "");
    onnx_node(&w, "Erf", "d", "f", "");
    onnx_node(&w, "Add", "f,eps", "p", "");
    onnx_node(&w, "Mul", "y,p", "q", "");
    onnx_node(&w, "Mul", "q,eps", "z", "");
    onnx_output(&w, "z", 1, "");
    emp_graph *g = load(14);
    cr_expect_eq(count_type(g, "LayerNorm"), 1);
    cr_expect_eq(count_type(g, "Gelu"), 1);
    cr_expect_eq(count_type(g, "Erf") + count_type(g, "Sqrt") + count_type(g, "Sub"), 0);
    cr_expect_eq(g->parameter_count, 16);
    emp_graph_destroy(g);
}

Test(onnx, a_loop_is_the_same_as_its_iterations)
{
    double flops[2];

    for (int unrolled = 0; unrolled < 2; unrolled++) {
        start();
        onnx_input(&w, "x", 1, "4,8");
        onnx_weight(&w, "m.weight", 1, "8,8");
        onnx_ints(&w, "trips", "3");
        if (unrolled) {
            onnx_node(&w, "MatMul", "x,m.weight", "a", "");
            onnx_node(&w, "MatMul", "a,m.weight", "b", "");
            onnx_node(&w, "MatMul", "b,m.weight", "y", "");
        } else {
            onnx_input(&body, "i", 7, "");
            onnx_input(&body, "c", 9, "");
            onnx_input(&body, "h", 1, "4,8");
            onnx_node(&body, "MatMul", "h,m.weight", "h_out", "");
            onnx_node(&body, "Identity", "c", "c_out", "");
            onnx_output(&body, "c_out", 9, "");
            onnx_output(&body, "h_out", 1, "");
            onnx_node_of(&w, "", "Loop", "trips,,x", "y", "", "body", &body);
        }
        onnx_output(&w, "y", 1, "");
        emp_graph *g = load(13);
        cr_expect_eq(count_type(g, "MatMul"), 3);
        cr_expect_eq(g->parameter_count, 64);
        flops[unrolled] = g->flops;
        emp_graph_destroy(g);
    }
    cr_expect_eq(flops[0], flops[1]);
}

Test(onnx, functions_of_the_model_are_put_in_their_place)
{
    body.is_list = true;
    onnx_node(&body, "Relu", "a", "b", "");
    onnx_node(&body, "Neg", "b", "c", "");
    onnx_input(&w, "x", 1, "4,8");
    onnx_function(&w, "mine", "Twice", "a", "c", &body);
    onnx_node_of(&w, "mine", "Twice", "x", "h", "", NULL, NULL);
    onnx_node_of(&w, "mine", "Twice", "h", "y", "", NULL, NULL);
    onnx_output(&w, "y", 1, "");
    emp_graph *g = load(14);
    cr_expect_eq(count_type(g, "Relu"), 2);
    cr_expect_eq(count_type(g, "Neg"), 2);
    emp_graph_destroy(g);
}

Test(onnx, all_problems_are_told_at_once)
{
    emp_graph       *graph = NULL;
    emp_error        err = {0};
    emp_import_notes notes = {0};

    onnx_input(&w, "x", 1, "4,8");
    onnx_node_of(&w, "odd", "Curl", "x", "a", "", NULL, NULL);
    onnx_node(&w, "Bend", "x", "b", "");
    onnx_node(&w, "Relu", "missing", "c", "");
    onnx_node(&w, "Reshape", "a,b", "d", "");
    onnx_output(&w, "d", 1, "");
    cr_expect_eq(
        emp_onnx_build(&graph, onnx_model(&w, 14), &(emp_onnx_params){0}, &notes, &err),
        EMP_EFORMAT);
    cr_expect_eq(notes.problem_count, 3);
    cr_expect_str_eq(err.msg,
                     "3 problems, the first: node \"\" of type Curl: the type is not "
                     "known, nor are others of the domain odd");
    emp_import_notes_clear(&notes);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(onnx, lenient_takes_unknown_ops_as_element_wise)
{
    emp_onnx_params  params = {.is_lenient = true};
    emp_import_notes notes = {0};

    onnx_input(&w, "x", 1, "4,8");
    onnx_node(&w, "Bend", "x", "y", "");
    onnx_output(&w, "y", 1, "");
    emp_graph *g = load_with(14, &params, &notes);
    cr_expect_eq(g->unknown_op_count, 1);
    cr_expect_eq(count_type(g, "Bend"), 1);
    cr_expect_eq(g->flops, 32.0);
    cr_expect_eq(notes.assumption_count, 1);
    emp_import_notes_clear(&notes);
    emp_graph_destroy(g);
}

/* ---- training ---- */

Test(onnx, a_perceptron_trains_with_the_products_of_its_gradients)
{
    emp_onnx_params  params = {.batch = 16, .train = "adam"};
    emp_import_notes notes = {0};

    perceptron();
    emp_graph *whole = load_with(14, &params, &notes), *g = NULL;
    cr_assert_eq(emp_graph_prune(&g, whole, NULL), EMP_OK);
    cr_expect_eq(count_type(g, "MatMul"), 2, "x has no gradient");
    cr_expect_eq(count_type(g, "FusedAdam"), 2);
    cr_expect_eq(g->parameter_count, 36);
    cr_expect_eq(notes.assumption_count, 2);
    emp_import_notes_clear(&notes);
    emp_graph_destroy(g);
    emp_graph_destroy(whole);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Each op between two weights, so that a gradient must pass it. */
static const struct {
    const char *type, *attributes;
    int         opset;
} between[] = {
    {"Abs", "", 14},
    {"AveragePool", "kernel_shape=2,2 strides=2,2", 14},
    {"Clip", "", 14},
    {"Cos", "", 14},
    {"Elu", "", 14},
    {"Erf", "", 14},
    {"Exp", "", 14},
    {"GlobalMaxPool", "", 14},
    {"HardSwish", "", 14},
    {"LeakyRelu", "", 14},
    {"Log", "", 14},
    {"LogSoftmax", "", 14},
    {"MaxPool", "kernel_shape=2,2 strides=2,2", 14},
    {"Mish", "", 18},
    {"Neg", "", 14},
    {"Reciprocal", "", 14},
    {"ReduceMean", "axes=2,3", 14},
    {"Relu", "", 14},
    {"Selu", "", 14},
    {"Sigmoid", "", 14},
    {"Sin", "", 14},
    {"Softmax", "", 14},
    {"Softplus", "", 14},
    {"Softsign", "", 14},
    {"SpaceToDepth", "blocksize=2", 14},
    {"Sqrt", "", 14},
    {"Tanh", "", 14},
    {"Transpose", "perm=0,2,1,3", 14},
};

Test(onnx, gradients_pass_every_op)
{
    for (size_t i = 0; i < sizeof between / sizeof between[0]; i++) {
        emp_onnx_params  params = {.train = "momentum"};
        emp_import_notes notes = {0};
        emp_graph       *whole = NULL, *step = NULL;
        emp_error        err = {0};
        start();
        onnx_input(&w, "x", 1, "2,4,8,8");
        onnx_weight(&w, "c.weight", 1, "4,4,1,1");
        onnx_node(&w, "Conv", "x,c.weight", "h", "");
        onnx_node(&w, between[i].type, "h", "y", between[i].attributes);
        onnx_output(&w, "y", 1, "");
        emp_status st = emp_onnx_build(&whole, onnx_model(&w, between[i].opset), &params,
                                       &notes, &err);
        cr_assert_eq(st, EMP_OK, "%s: %s", between[i].type, err.msg);
        cr_assert_eq(emp_graph_prune(&step, whole, NULL), EMP_OK);
        cr_expect_eq(count_type(step, "ConvGradFilter"), 1, "%s", between[i].type);
        cr_expect_eq(count_type(step, "ApplyMomentum"), 1, "%s", between[i].type);
        emp_graph_destroy(step);
        emp_graph_destroy(whole);
        emp_import_notes_clear(&notes);
    }
}

Test(onnx, what_cannot_be_trained_is_refused_by_name)
{
    onnx_input(&w, "x", 1, "4,8");
    onnx_weight(&w, "c.weight", 1, "8,8");
    onnx_node(&w, "MatMul", "x,c.weight", "h", "");
    onnx_node(&w, "Tan", "h", "y", "");
    onnx_output(&w, "y", 1, "");
    refuse_with(14, &(emp_onnx_params){.train = "adam"},
                "op y: type Tan has no gradient function");
    refuse_with(14, &(emp_onnx_params){.train = "lamb"},
                "an optimizer \"lamb\"; there are sgd, momentum, adam");
}

/* ---- memory ---- */

Test(onnx, every_allocation_may_fail)
{
    bool has_loaded = false;

    perceptron();
    emp_slice model = onnx_model(&w, 14);
    for (long n = 0; !has_loaded && n < 100000; n++) {
        emp_onnx_params  params = {.train = "adam"};
        emp_import_notes notes = {0};
        emp_graph       *g = NULL;
        emp_error        err = {0};
        emp_mem_fail_after(n);
        emp_status st = emp_onnx_build(&g, model, &params, &notes, &err);
        emp_mem_fail_after(-1);
        has_loaded = st == EMP_OK;
        cr_assert(has_loaded || (st == EMP_ENOMEM && g == NULL), "after %ld: %s", n,
                  err.msg);
        emp_graph_destroy(g);
        emp_import_notes_clear(&notes);
        cr_assert_eq(emp_mem_live_blocks(), 0, "after %ld", n);
    }
    cr_expect(has_loaded);
}
