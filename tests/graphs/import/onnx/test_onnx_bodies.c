// SPDX-License-Identifier: GPL-3.0-or-later
/* ONNX models whose nodes have graphs of their own, and sequences, which loops collect tensors in:
 * are weights counted once, and have results the shapes of the standard? */
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/onnx/writer.h"
#include "tests/test.h"

static onnx_writer w, first, second;

static void start(void)
{
    onnx_clear(&w);
    onnx_clear(&first);
    onnx_clear(&second);
}

TestSuite(onnx_bodies, .init = start, .fini = graph_tear_down);

/* The graph that one step runs. */
static emp_graph *load_step(const char *train)
{
    emp_graph *whole = onnx_load(&w, 17, &(emp_onnx_params){.train = train}, NULL);
    emp_graph *step = NULL;

    cr_assert_eq(emp_graph_prune(&step, whole, NULL), EMP_OK);
    return graph_keep(step);
}

static void expect_parameters(int64_t count)
{
    emp_graph *step = load_step(NULL);

    cr_expect_eq(step->parameter_count, count, "%lld", (long long)step->parameter_count);
}

/* The condition depends on data. The then branch has a weight of its own, the else branch reads one of the
 * outer graph and has another; a branch within it has the last. */
static void branches(void)
{
    static onnx_writer inner_then, inner_else;

    onnx_clear(&inner_then);
    onnx_clear(&inner_else);
    onnx_text(&inner_then, "weight d.weight 8,3; i = MatMul g,d.weight; out i");
    onnx_text(&inner_else, "j = Slice g,zero,three,one; out j");
    onnx_text(&w, "in x 4,8; in flag 9:; in other 9:; weight a.weight 8,8; ints zero 0;"
                  "ints three 3; ints one 1");
    onnx_text(&first, "weight b.weight 8,3; y1 = MatMul x,b.weight; out y1");
    onnx_text(&second, "weight c.bias 8; f = MatMul x,a.weight; g = Add f,c.bias");
    onnx_if(&second, "other", "y2", &inner_then, &inner_else);
    onnx_output(&second, "y2", 1, "");
    onnx_if(&w, "flag", "y", &first, &second);
    onnx_output(&w, "y", 1, "");
}

/* The optimizer has no update of the weights of the branch that is not taken, which are in memory all the same. */
Test(onnx_bodies, weights_of_the_branch_that_is_not_taken_are_held)
{
    static const char *const names[] = {"a.weight", "b.weight", "c.bias", "d.weight"};

    branches();
    emp_graph *step = load_step(NULL);
    cr_expect_eq(step->parameter_count, 8 * 8 + 8 * 3 + 8 + 8 * 3);
    cr_expect_eq(graph_count_type(step, "MatMul"), 1);
    step = load_step("adam");
    for (size_t i = 0; i < COUNT(names); i++)
        cr_expect_geq(emp_graph_find(step, names[i]), 0, "%s", names[i]);
    cr_expect_eq(graph_count_type(step, "FusedAdam"), 1);
    cr_expect_eq(step->parameter_count, 8 * 3);
}

/* Inputs with names of weights are weights only in a file without any. */
Test(onnx_bodies, branches_have_weights)
{
    onnx_text(&w, "in x 4,8; in weight 4,8; in flag 9:; out y");
    onnx_text(&first, "weight b.weight 8,3; s = Add x,weight; y1 = MatMul s,b.weight;"
                      "out y1");
    onnx_text(&second, "weight c.weight 8,3; y2 = MatMul x,c.weight; out y2");
    onnx_if(&w, "flag", "y", &first, &second);
    expect_parameters(2 * 8 * 3);

    start(); /* a constant condition leaves the other branch out */
    onnx_text(&w, "in x 4,8; ints flag 0; out y");
    onnx_text(&first, "weight b.weight 8,3; y1 = MatMul x,b.weight; out y1");
    onnx_text(&second, "weight c.weight 8,5; y2 = MatMul x,c.weight; out y2");
    onnx_if(&w, "flag", "y", &first, &second);
    expect_parameters(8 * 5);
}

static void expect_one_weight(int32_t products)
{
    emp_graph *g = onnx_load(&w, 17, NULL, NULL);

    cr_expect_eq(graph_count_type(g, "MatMul"), products);
    cr_expect_eq(g->parameter_count, 64);
}

/* The weight is an initializer of the body, carried from iteration to iteration, or handed to functions. */
Test(onnx_bodies, a_weight_is_one_however_often_its_graph_runs)
{
    onnx_text(&w, "in x 4,8; ints trips 3; out y");
    onnx_text(&first, "weight m.weight 8,8; in i 7:; in c 9:; in h 4,8;h_out = MatMul "
                      "h,m.weight; c_out = Identity c; out c_out 9:;out h_out");
    onnx_node_of(&w, "", "Loop", "trips,,x", "y", "", "body", &first);
    expect_one_weight(3);

    start();
    onnx_text(&w, "in x 4,8; ints trips 3; weight m.weight 8,8; out y");
    onnx_text(&first, "in i 7:; in c 9:; in h 4,8; in m 8,8; h_out = MatMul h,m;"
                      "c_out = Identity c; out c_out 9:; out h_out; out m");
    onnx_node_of(&w, "", "Loop", "trips,,x,m.weight", "y,m_last", "", "body", &first);
    expect_one_weight(3);

    start();
    first.is_list = true;
    onnx_text(&first, "b = MatMul a,m");
    onnx_text(&w, "in x 4,8; weight m.weight 8,8; out y");
    onnx_function(&w, "mine", "Dense", "a,m", "b", &first);
    onnx_node_of(&w, "mine", "Dense", "x,m.weight", "h", "", NULL, NULL);
    onnx_node_of(&w, "mine", "Dense", "h,m.weight", "y", "", NULL, NULL);
    expect_one_weight(2);
}

static void expect_shape(const char *expected)
{
    onnx_text(&w, "y = Cos tensor; out y");
    cr_expect_str_eq(onnx_shape_of(onnx_load(&w, 17, NULL, NULL), "Cos"), expected);
    start();
}

static void collect(const char *trips)
{
    onnx_ints(&w, "trips", trips);
    onnx_text(&w, "in x 4,8; none = SequenceEmpty");
    onnx_text(&first, "in i 7:; in c 9:; in list; part = Sin x;"
                      "longer = SequenceInsert list,part; out c 9:; out longer");
    onnx_node_of(&w, "", "Loop", "trips,,none", "all", "", "body", &first);
}

Test(onnx_bodies, a_loop_collects_tensors_in_a_sequence)
{
    collect("3");
    onnx_text(&w, "tensor = ConcatFromSequence all axis=1");
    expect_shape("[4,24]");

    collect("10000");
    onnx_output(&w, "all", 1, "");
    onnx_expect_refused(&w, 17, NULL, "a sequence of 4096 tensors");
}

Test(onnx_bodies, sequences_are_the_lists_that_nodes_make)
{
    static const char *const cases[][2] = {
        {"in x 4,8; in z 4,2; ints second 1; ints last -1; two = SequenceConstruct x,x;"
         "three = SequenceInsert two,z,second; less = SequenceErase three;"
         "tensor = SequenceAt less,last",
         "[4,2]"},
        {"in x 4,8; three = SequenceConstruct x,x,x;"
         "tensor = ConcatFromSequence three axis=-1 new_axis=1",
         "[4,8,3]"},
        {"in x 4,8; ints zero 0; rows = SplitToSequence x axis=0 keepdims=0;"
         "row = SequenceAt rows,zero; length = SequenceLength rows;"
         "shape = Unsqueeze length,zero; column = ConstantOfShape shape; ints last -1;"
         "columns = Unsqueeze column,last; tensor = Mul columns,row",
         "[4,8]"},
        {"in x 7,8; ints list 4,2,1; ints place 1; parts = SplitToSequence x,list axis=0;"
         "tensor = SequenceAt parts,place",
         "[2,8]"},
        {"in x 7,8; ints list 3; ints place 2; size = Squeeze list;"
         "parts = SplitToSequence x,size axis=0; tensor = SequenceAt parts,place",
         "[1,8]"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        onnx_text(&w, cases[i][0]);
        expect_shape(cases[i][1]);
    }
}

Test(onnx_bodies, what_is_no_sequence_or_no_tensor_is_refused)
{
    static const char *const cases[][2] = {
        {"in x 4,8; two = SequenceConstruct x,x; y = Cos two; out y",
         "of type Cos: input 0 is a sequence"},
        {"in x 4,8; y = SequenceLength x; out y",
         "of type SequenceLength: input 0 is no sequence"},
        {"in x 4,8; ints nine 9; two = SequenceConstruct x,x; y = SequenceAt two,nine;"
         "out y",
         "of type SequenceAt: place 9"},
        {"in x 7,8; ints sizes 4,2; y = SplitToSequence x,sizes axis=0; out y",
         "of type SplitToSequence: parts up to 6 of a dim of 7"},
        {"none = SequenceEmpty; y = ConcatFromSequence none axis=0; out y",
         "of type ConcatFromSequence: its sequence is empty"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        start();
        onnx_text(&w, cases[i][0]);
        onnx_expect_refused(&w, 17, NULL, cases[i][1]);
    }
}

Test(onnx_bodies, every_allocation_may_fail)
{
    branches();
    onnx_text(&w, "ints sizes 1,3; parts = SplitToSequence x,sizes axis=0;"
                  "more = SequenceInsert parts,x;"
                  "joined = ConcatFromSequence more axis=0; out joined");
    onnx_survive(&w, 17, "adam");
    onnx_survive(&w, 17, NULL);
}
