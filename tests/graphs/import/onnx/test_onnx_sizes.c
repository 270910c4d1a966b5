// SPDX-License-Identifier: GPL-3.0-or-later
/* Sizes that models leave open, and tensors that count as weights. */
#include <criterion/criterion.h>

#include "base/mem.h"
#include "graphs/import/onnx/model.h"
#include "tests/graphs/import/onnx/writer.h"
#include "tests/support/survive.h"

static onnx_writer w;

static void start(void) { memset(&w, 0, sizeof w); }

TestSuite(onnx_sizes, .init = start);

static emp_graph *load(const emp_onnx_params *params, emp_import_notes *notes)
{
    emp_graph *graph = NULL;
    emp_error  err = {0};

    cr_assert_eq(emp_onnx_build(&graph, onnx_model(&w, 13), params, notes, &err), EMP_OK,
                 "%s", err.msg);
    return graph;
}

static void expect_shape(const emp_graph *g, const char *type, const char *shape)
{
    char text[EMP_SHAPE_TEXT_BYTES] = "no such op";

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (strcmp(g->type_name[g->type[op]], type) == 0)
            emp_shape_format(g->tensor[g->output_offset[op]].shape, text);
    cr_expect_str_eq(text, shape);
}

static void expect_shape_with(const emp_onnx_params *params, const char *type,
                              const char *shape)
{
    emp_import_notes notes = {0};
    emp_graph       *g = load(params, &notes);

    expect_shape(g, type, shape);
    emp_graph_destroy(g);
    emp_import_notes_clear(&notes);
}

/* A symbol that comes first in one input and last in another. */
static void write_one_symbol(void)
{
    onnx_input(&w, "x", 1, "batch,8");
    onnx_input(&w, "state", 1, "2,batch,8");
    onnx_input(&w, "past", 1, "batch,2,past,8");
    onnx_input(&w, "mask", 1, "batch,1,past,1");
    onnx_node(&w, "Add", "state,x", "y", "");
    onnx_node(&w, "Mul", "past,mask", "z", "");
    onnx_output(&w, "y", 1, "");
    onnx_output(&w, "z", 1, "");
}

Test(onnx_sizes, one_symbol_has_one_size_everywhere)
{
    write_one_symbol();
    expect_shape_with(&(emp_onnx_params){0}, "Add", "[2,32,8]");
    expect_shape_with(&(emp_onnx_params){.batch = 4}, "Add", "[2,4,8]");
    expect_shape_with(&(emp_onnx_params){.dims = "batch=5"}, "Add", "[2,5,8]");
    expect_shape_with(&(emp_onnx_params){.dims = "past=9"}, "Mul", "[32,2,9,8]");
    expect_shape_with(&(emp_onnx_params){0}, "Mul", "[32,2,128,8]");
}

Test(onnx_sizes, images_are_open_in_both_of_their_sides)
{
    onnx_input(&w, "x", 1, "N,3,h,w");
    onnx_node(&w, "Relu", "x", "y", "");
    onnx_output(&w, "y", 1, "");
    expect_shape_with(&(emp_onnx_params){0}, "Relu", "[32,3,224,224]");
}

Test(onnx_sizes, the_batch_of_sequences_may_come_second)
{
    onnx_input(&w, "x", 1, "steps,batch,8");
    onnx_node(&w, "Relu", "x", "y", "");
    onnx_output(&w, "y", 1, "");
    expect_shape_with(&(emp_onnx_params){.batch = 4}, "Relu", "[128,4,8]");
}

Test(onnx_sizes, sums_of_symbols_are_computed)
{
    onnx_input(&w, "x", 1, "batch,past");
    onnx_input(&w, "mask", 1, "batch,past + 1");
    onnx_input(&w, "both", 1, "batch * 2 - 1,past+new");
    onnx_input(&w, "now", 1, "batch,new");
    onnx_node(&w, "Concat", "x,now", "all", "axis=1");
    onnx_node(&w, "Relu", "mask", "y", "");
    onnx_node(&w, "Sigmoid", "both", "z", "");
    onnx_output(&w, "all", 1, "");
    onnx_output(&w, "y", 1, "");
    onnx_output(&w, "z", 1, "");
    const emp_onnx_params params = {.batch = 3, .dims = "past=10,new=4"};
    expect_shape_with(&params, "Relu", "[3,11]");
    expect_shape_with(&params, "Sigmoid", "[5,14]");
    expect_shape_with(&params, "ConcatV2", "[3,14]");
}

Test(onnx_sizes, a_size_without_a_symbol_goes_by_its_place)
{
    onnx_input(&w, "x", 1, "2,?");
    onnx_node(&w, "Relu", "x", "y", "");
    onnx_output(&w, "y", 1, "");
    expect_shape_with(&(emp_onnx_params){0}, "Relu", "[2,128]");
    expect_shape_with(&(emp_onnx_params){.dims = "x.1=6"}, "Relu", "[2,6]");
}

static void expect_refusal(const char *message)
{
    emp_graph       *g = NULL;
    emp_error        err = {0};
    emp_import_notes notes = {0};

    cr_expect_neq(
        emp_onnx_build(&g, onnx_model(&w, 13), &(emp_onnx_params){0}, &notes, &err),
        EMP_OK);
    cr_expect_str_eq(err.msg, message);
    emp_import_notes_clear(&notes);
}

Test(onnx_sizes, a_refusal_names_the_sizes_that_were_assumed)
{
    onnx_input(&w, "a", 1, "2");
    onnx_input(&w, "b", 1, "batch");
    onnx_node(&w, "Add", "a,b", "y", "");
    onnx_output(&w, "y", 1, "");
    expect_refusal(
        "node \"\" of type Add: op \"y\" of type Add: shapes [2] and [32] do not "
        "broadcast; the size \"batch\" is assumed to be 32 (--batch N sets it)");
    start();
    onnx_input(&w, "a", 1, "2,3");
    onnx_input(&w, "b", 1, "2,seq");
    onnx_node(&w, "Add", "a,b", "y", "");
    onnx_output(&w, "y", 1, "");
    expect_refusal(
        "node \"\" of type Add: op \"y\" of type Add: shapes [2,3] and [2,128] do "
        "not broadcast; the size \"seq\" is assumed to be 128 (--dim seq=N sets it)");
    start();
    onnx_input(&w, "a", 1, "2,3");
    onnx_input(&w, "b", 1, "2,7");
    onnx_input(&w, "c", 1, "2,seq");
    onnx_node(&w, "Add", "a,b", "y", "");
    onnx_output(&w, "y", 1, "");
    expect_refusal(
        "node \"\" of type Add: op \"y\" of type Add: shapes [2,3] and [2,7] do not "
        "broadcast");
}

/* ---- weights ---- */

static void expect_parameters(int64_t count, int32_t assumptions)
{
    emp_import_notes notes = {0};
    emp_graph       *g = load(&(emp_onnx_params){0}, &notes);

    cr_expect_eq(g->parameter_count, count, "%lld", (long long)g->parameter_count);
    cr_expect_eq(notes.assumption_count, assumptions);
    emp_graph_destroy(g);
    emp_import_notes_clear(&notes);
}

/* A group norm as PyTorch exports it: the scale and the offset have the shape [C,1,1], and those of
 * InstanceNormalization are constants. */
static void write_group_norm(void)
{
    onnx_input(&w, "x", 1, "2,8,4,4");
    onnx_weight(&w, "s", 1, "8,1,1");
    onnx_weight(&w, "b", 1, "8,1,1");
    onnx_ints(&w, "count", "2");
    onnx_ints(&w, "rows", "2,2,64");
    onnx_ints(&w, "image", "2,8,4,4");
    onnx_node(&w, "ConstantOfShape", "count", "ones", "");
    onnx_node(&w, "ConstantOfShape", "count", "zeros", "");
    onnx_node(&w, "Reshape", "x,rows", "r", "");
    onnx_node(&w, "InstanceNormalization", "r,ones,zeros", "n", "");
    onnx_node(&w, "Reshape", "n,image", "i", "");
    onnx_node(&w, "Mul", "i,s", "m", "");
    onnx_node(&w, "Add", "m,b", "y", "");
    onnx_output(&w, "y", 1, "");
}

Test(onnx_sizes, scales_of_any_rank_are_weights_and_constants_are_none)
{
    write_group_norm();
    expect_parameters(16, 0);
}

Test(onnx_sizes, activations_are_no_weights)
{
    onnx_input(&w, "q", 1, "2,5,16");
    onnx_input(&w, "k", 1, "2,16,7");
    onnx_input(&w, "v", 1, "2,7,16");
    onnx_node(&w, "MatMul", "q,k", "s", "");
    onnx_node(&w, "Softmax", "s", "p", "axis=2");
    onnx_node(&w, "MatMul", "p,v", "y", "");
    onnx_output(&w, "y", 1, "");
    expect_parameters(0, 0);
}

Test(onnx_sizes, constants_are_weights_where_a_file_has_no_others)
{
    onnx_input(&w, "x", 1, "3,8");
    onnx_ints(&w, "shape", "8,4");
    onnx_node(&w, "ConstantOfShape", "shape", "m", "");
    onnx_node(&w, "MatMul", "x,m", "y", "");
    onnx_output(&w, "y", 1, "");
    expect_parameters(32, 1);
}

static emp_status load_and_clear(emp_graph **graph)
{
    emp_import_notes notes = {0};
    emp_status       st =
        emp_onnx_build(graph, onnx_model(&w, 13), &(emp_onnx_params){0}, &notes, NULL);

    emp_import_notes_clear(&notes);
    return st;
}

Test(onnx_sizes, survive_every_allocation_failure)
{
    emp_graph *g = NULL;

    write_one_symbol();
    (void)onnx_model(&w, 13);
    SURVIVES_EVERY_ALLOCATION_FAILURE(load_and_clear(&g), (void)0);
    emp_graph_destroy(g);
}

/* Models whose weights were taken out have nodes that make tensors of their shapes. */
Test(onnx_sizes, filters_among_the_constants_are_weights)
{
    onnx_input(&w, "x", 1, "2,4,8,8");
    onnx_weight(&w, "b", 1, "6");
    onnx_ints(&w, "shape", "6,4,3,3");
    onnx_node(&w, "ConstantOfShape", "shape", "f", "");
    onnx_node(&w, "Conv", "x,f,b", "y", "");
    onnx_output(&w, "y", 1, "");
    expect_parameters(6 * 4 * 3 * 3 + 6, 1);
}

/* PyTorch calls the weights that it computes "onnx::Conv_497": the layer tells them. */
Test(onnx_sizes, inputs_that_layers_read_as_weights_are_weights)
{
    onnx_input(&w, "x", 1, "2,4,8,8");
    onnx_input(&w, "onnx::Conv_1", 1, "6,4,3,3");
    onnx_node(&w, "Conv", "x,onnx::Conv_1", "y", "");
    onnx_output(&w, "y", 1, "");
    expect_parameters(6 * 4 * 3 * 3, 1);
}
