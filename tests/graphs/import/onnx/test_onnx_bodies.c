// SPDX-License-Identifier: GPL-3.0-or-later
/* ONNX models whose nodes have graphs of their own, and sequences, which loops collect tensors in:
 * are weights counted once, and have results the shapes of the standard? */
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/mem.h"
#include "graphs/import/notes/readers.h"
#include "graphs/import/onnx/model.h"
#include "tests/graphs/import/onnx/writer.h"

static onnx_writer w, first, second;

static void start(void)
{
    memset(&w, 0, sizeof w);
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
}

TestSuite(onnx_bodies, .init = start);
TestSuite(onnx_sequences, .init = start);

static emp_status build(emp_graph **graph, const char *train, emp_error *err)
{
    emp_import_notes notes = {0};
    emp_status       st = emp_onnx_build(graph, onnx_model(&w, 17),
                                         &(emp_onnx_params){.train = train}, &notes, err);

    emp_import_notes_clear(&notes);
    return st;
}

static emp_graph *load(const char *train)
{
    emp_graph *graph = NULL;
    emp_error  err = {0};

    cr_assert_eq(build(&graph, train, &err), EMP_OK, "%s", err.msg);
    return graph;
}

static void refuse(const char *message)
{
    emp_graph *graph = NULL;
    emp_error  err = {0};

    cr_expect_neq(build(&graph, NULL, &err), EMP_OK);
    cr_expect_str_eq(err.msg, message);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static int32_t count_type(const emp_graph *g, const char *type)
{
    int32_t count = 0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        count += strcmp(g->type_name[g->type[op]], type) == 0;
    return count;
}

/* The parameters of what one step runs. */
static int64_t parameters_of_step(const emp_graph *whole)
{
    emp_graph *step = NULL;
    emp_error  err = {0};

    cr_assert_eq(emp_graph_prune(&step, whole, &err), EMP_OK, "%s", err.msg);
    int64_t count = step->parameter_count;
    emp_graph_destroy(step);
    return count;
}

/* ---- weights ---- */

/* The condition depends on data. The then branch has a weight of its own, the else branch reads one of the
 * outer graph and has another; a branch within it has the last. */
static void branches(void)
{
    static onnx_writer inner_then, inner_else;

    memset(&inner_then, 0, sizeof inner_then);
    memset(&inner_else, 0, sizeof inner_else);
    onnx_weight(&inner_then, "d.weight", 1, "8,3");
    onnx_node(&inner_then, "MatMul", "g,d.weight", "i", "");
    onnx_output(&inner_then, "i", 1, "");
    onnx_node(&inner_else, "Slice", "g,zero,three,one", "j", "");
    onnx_output(&inner_else, "j", 1, "");

    onnx_input(&w, "x", 1, "4,8");
    onnx_input(&w, "flag", 9, "");
    onnx_input(&w, "other", 9, "");
    onnx_weight(&w, "a.weight", 1, "8,8");
    onnx_ints(&w, "zero", "0");
    onnx_ints(&w, "three", "3");
    onnx_ints(&w, "one", "1");
    onnx_weight(&first, "b.weight", 1, "8,3");
    onnx_node(&first, "MatMul", "x,b.weight", "y1", "");
    onnx_output(&first, "y1", 1, "");
    onnx_weight(&second, "c.bias", 1, "8");
    onnx_node(&second, "MatMul", "x,a.weight", "f", "");
    onnx_node(&second, "Add", "f,c.bias", "g", "");
    onnx_if(&second, "other", "y2", &inner_then, &inner_else);
    onnx_output(&second, "y2", 1, "");
    onnx_if(&w, "flag", "y", &first, &second);
    onnx_output(&w, "y", 1, "");
}

Test(onnx_bodies, weights_of_the_branch_that_is_not_taken_are_held)
{
    branches();
    emp_graph *g = load(NULL);
    cr_expect_eq(parameters_of_step(g), 8 * 8 + 8 * 3 + 8 + 8 * 3);
    cr_expect_eq(count_type(g, "MatMul"), 1);
    emp_graph_destroy(g);
}

/* The optimizer has no update of the other weights, which are in memory all the same. */
Test(onnx_bodies, gradients_reach_the_weights_of_the_taken_branch_only)
{
    static const char *const names[] = {"a.weight", "b.weight", "c.bias", "d.weight"};
    emp_graph               *step = NULL;
    int32_t                  held = 0;

    branches();
    emp_graph *g = load("adam");
    cr_assert_eq(emp_graph_prune(&step, g, NULL), EMP_OK);
    for (emp_op_id op = 0; op < step->op_count; op++)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            held += strcmp(step->name[op], names[i]) == 0;
    cr_expect_eq(held, 4);
    cr_expect_eq(count_type(step, "FusedAdam"), 1);
    cr_expect_eq(step->parameter_count, 8 * 3);
    emp_graph_destroy(step);
    emp_graph_destroy(g);
}

Test(onnx_bodies, a_constant_condition_leaves_the_other_branch_out)
{
    onnx_input(&w, "x", 1, "4,8");
    onnx_ints(&w, "flag", "0");
    onnx_weight(&first, "b.weight", 1, "8,3");
    onnx_node(&first, "MatMul", "x,b.weight", "y1", "");
    onnx_output(&first, "y1", 1, "");
    onnx_weight(&second, "c.weight", 1, "8,5");
    onnx_node(&second, "MatMul", "x,c.weight", "y2", "");
    onnx_output(&second, "y2", 1, "");
    onnx_if(&w, "flag", "y", &first, &second);
    onnx_output(&w, "y", 1, "");
    emp_graph *g = load(NULL);
    cr_expect_eq(parameters_of_step(g), 8 * 5);
    emp_graph_destroy(g);
}

/* The weight is an initializer of the body, carried from iteration to iteration, or handed to functions. */
Test(onnx_bodies, a_weight_is_one_however_often_its_graph_runs)
{
    for (int is_carried = 0; is_carried < 2; is_carried++) {
        start();
        onnx_input(&w, "x", 1, "4,8");
        onnx_ints(&w, "trips", "3");
        if (is_carried) onnx_weight(&w, "m.weight", 1, "8,8");
        if (!is_carried) onnx_weight(&first, "m.weight", 1, "8,8");
        onnx_input(&first, "i", 7, "");
        onnx_input(&first, "c", 9, "");
        onnx_input(&first, "h", 1, "4,8");
        if (is_carried) onnx_input(&first, "m", 1, "8,8");
        onnx_node(&first, "MatMul", is_carried ? "h,m" : "h,m.weight", "h_out", "");
        onnx_node(&first, "Identity", "c", "c_out", "");
        onnx_output(&first, "c_out", 9, "");
        onnx_output(&first, "h_out", 1, "");
        if (is_carried) onnx_output(&first, "m", 1, "");
        onnx_node_of(&w, "", "Loop", is_carried ? "trips,,x,m.weight" : "trips,,x",
                     is_carried ? "y,m_last" : "y", "", "body", &first);
        onnx_output(&w, "y", 1, "");
        emp_graph *g = load(NULL);
        cr_expect_eq(count_type(g, "MatMul"), 3);
        cr_expect_eq(g->parameter_count, 64, "carried %d: %lld", is_carried,
                     (long long)g->parameter_count);
        emp_graph_destroy(g);
    }
    start();
    first.is_list = true;
    onnx_node(&first, "MatMul", "a,m", "b", "");
    onnx_input(&w, "x", 1, "4,8");
    onnx_weight(&w, "m.weight", 1, "8,8");
    onnx_function(&w, "mine", "Dense", "a,m", "b", &first);
    onnx_node_of(&w, "mine", "Dense", "x,m.weight", "h", "", NULL, NULL);
    onnx_node_of(&w, "mine", "Dense", "h,m.weight", "y", "", NULL, NULL);
    onnx_output(&w, "y", 1, "");
    emp_graph *g = load(NULL);
    cr_expect_eq(count_type(g, "MatMul"), 2);
    cr_expect_eq(g->parameter_count, 64);
    emp_graph_destroy(g);
}

/* Inputs with names of weights are weights only in a file without any. */
Test(onnx_bodies, a_file_whose_weights_are_in_branches_has_weights)
{
    onnx_input(&w, "x", 1, "4,8");
    onnx_input(&w, "weight", 1, "4,8");
    onnx_input(&w, "flag", 9, "");
    onnx_weight(&first, "b.weight", 1, "8,3");
    onnx_node(&first, "Add", "x,weight", "s", "");
    onnx_node(&first, "MatMul", "s,b.weight", "y1", "");
    onnx_output(&first, "y1", 1, "");
    onnx_weight(&second, "c.weight", 1, "8,3");
    onnx_node(&second, "MatMul", "x,c.weight", "y2", "");
    onnx_output(&second, "y2", 1, "");
    onnx_if(&w, "flag", "y", &first, &second);
    onnx_output(&w, "y", 1, "");
    emp_graph *g = load(NULL);
    cr_expect_eq(parameters_of_step(g), 2 * 8 * 3);
    emp_graph_destroy(g);
}

/* ---- sequences ---- */

/* Checks the shape of "y", which an element-wise op behind a sequence makes. */
static void expect_shape(const char *expected)
{
    char text[EMP_SHAPE_TEXT_BYTES];

    onnx_node(&w, "Cos", "tensor", "y", "");
    onnx_output(&w, "y", 1, "");
    emp_graph *g = load(NULL);
    cr_assert_eq(count_type(g, "Cos"), 1);
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (strcmp(g->type_name[g->type[op]], "Cos") == 0)
            cr_expect_str_eq(
                emp_shape_format(g->tensor[g->output_offset[op]].shape, text), expected);
    emp_graph_destroy(g);
    start();
}

/* A loop that puts the sine of "x" into the sequence "all" so many times. */
static void collect(const char *trips)
{
    onnx_input(&w, "x", 1, "4,8");
    onnx_ints(&w, "trips", trips);
    onnx_node(&w, "SequenceEmpty", "", "none", "");
    onnx_input(&first, "i", 7, "");
    onnx_input(&first, "c", 9, "");
    onnx_input(&first, "list", 1, "");
    onnx_node(&first, "Sin", "x", "part", "");
    onnx_node(&first, "SequenceInsert", "list,part", "longer", "");
    onnx_output(&first, "c", 9, "");
    onnx_output(&first, "longer", 1, "");
    onnx_node_of(&w, "", "Loop", "trips,,none", "all", "", "body", &first);
}

Test(onnx_sequences, a_loop_collects_tensors_in_one)
{
    collect("3");
    onnx_node(&w, "ConcatFromSequence", "all", "tensor", "axis=1");
    expect_shape("[4,24]");
}

Test(onnx_sequences, loops_do_not_fill_the_memory)
{
    collect("10000");
    onnx_output(&w, "all", 1, "");
    refuse(
        "node \"\" of type SequenceInsert: a sequence of 4096 tensors, which is too long "
        "with those before");
}

Test(onnx_sequences, are_the_lists_that_nodes_make)
{
    onnx_input(&w, "x", 1, "4,8");
    onnx_input(&w, "z", 1, "4,2");
    onnx_ints(&w, "second", "1");
    onnx_ints(&w, "last", "-1");
    onnx_node(&w, "SequenceConstruct", "x,x", "two", "");
    onnx_node(&w, "SequenceInsert", "two,z,second", "three", "");
    onnx_node(&w, "SequenceErase", "three", "less", "");
    onnx_node(&w, "SequenceAt", "less,last", "tensor", "");
    expect_shape("[4,2]");

    onnx_input(&w, "x", 1, "4,8");
    onnx_node(&w, "SequenceConstruct", "x,x,x", "three", "");
    onnx_node(&w, "ConcatFromSequence", "three", "tensor", "axis=-1 new_axis=1");
    expect_shape("[4,8,3]");

    onnx_input(&w, "x", 1, "4,8");
    onnx_ints(&w, "zero", "0");
    onnx_node(&w, "SplitToSequence", "x", "rows", "axis=0 keepdims=0");
    onnx_node(&w, "SequenceAt", "rows,zero", "row", "");
    onnx_node(&w, "SequenceLength", "rows", "length", "");
    onnx_node(&w, "Unsqueeze", "length,zero", "shape", "");
    onnx_node(&w, "ConstantOfShape", "shape", "column", "");
    onnx_ints(&w, "last", "-1");
    onnx_node(&w, "Unsqueeze", "column,last", "columns", "");
    onnx_node(&w, "Mul", "columns,row", "tensor", "");
    expect_shape("[4,8]");
}

Test(onnx_sequences, parts_of_a_split_may_be_unequal)
{
    static const char *const sizes[] = {"4,2,1", "3"};
    static const char *const expected[] = {"[2,8]", "[1,8]"};

    for (int is_each = 0; is_each < 2; is_each++) {
        onnx_input(&w, "x", 1, "7,8");
        onnx_ints(&w, "list", sizes[is_each]);
        onnx_ints(&w, "place", is_each ? "2" : "1");
        if (is_each) onnx_node(&w, "Squeeze", "list", "size", "");
        onnx_node(&w, "SplitToSequence", is_each ? "x,size" : "x,list", "parts",
                  "axis=0");
        onnx_node(&w, "SequenceAt", "parts,place", "tensor", "");
        expect_shape(expected[is_each]);
    }
}

Test(onnx_sequences, what_is_no_sequence_or_no_tensor_is_refused)
{
    onnx_input(&w, "x", 1, "4,8");
    onnx_node(&w, "SequenceConstruct", "x,x", "two", "");
    onnx_node(&w, "Cos", "two", "y", "");
    onnx_output(&w, "y", 1, "");
    refuse("node \"\" of type Cos: input 0 is a sequence, must be a tensor");
    start();
    onnx_input(&w, "x", 1, "4,8");
    onnx_node(&w, "SequenceLength", "x", "y", "");
    onnx_output(&w, "y", 1, "");
    refuse("node \"\" of type SequenceLength: input 0 is no sequence");
    start();
    onnx_input(&w, "x", 1, "4,8");
    onnx_ints(&w, "nine", "9");
    onnx_node(&w, "SequenceConstruct", "x,x", "two", "");
    onnx_node(&w, "SequenceAt", "two,nine", "y", "");
    onnx_output(&w, "y", 1, "");
    refuse("node \"\" of type SequenceAt: place 9 is outside of a sequence of 2 tensors");
    start();
    onnx_input(&w, "x", 1, "7,8");
    onnx_ints(&w, "sizes", "4,2");
    onnx_node(&w, "SplitToSequence", "x,sizes", "y", "axis=0");
    onnx_output(&w, "y", 1, "");
    refuse("node \"\" of type SplitToSequence: parts up to 6 of a dim of 7");
    start();
    onnx_node(&w, "SequenceEmpty", "", "none", "");
    onnx_node(&w, "ConcatFromSequence", "none", "y", "axis=0");
    onnx_output(&w, "y", 1, "");
    refuse("node \"\" of type ConcatFromSequence: its sequence is empty");
}

/* ---- memory ---- */

static void survive(const char *train)
{
    bool      has_loaded = false;
    emp_slice model = onnx_model(&w, 17);

    for (long n = 0; !has_loaded && n < 100000; n++) {
        emp_import_notes notes = {0};
        emp_graph       *g = NULL;
        emp_error        err = {0};
        emp_mem_fail_after(n);
        emp_status st =
            emp_onnx_build(&g, model, &(emp_onnx_params){.train = train}, &notes, &err);
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

Test(onnx_bodies, every_allocation_may_fail)
{
    branches();
    onnx_ints(&w, "sizes", "1,3");
    onnx_node(&w, "SplitToSequence", "x,sizes", "parts", "axis=0");
    onnx_node(&w, "SequenceInsert", "parts,x", "more", "");
    onnx_node(&w, "ConcatFromSequence", "more", "joined", "axis=0");
    onnx_output(&w, "joined", 1, "");
    survive("adam");
    survive(NULL);
}
