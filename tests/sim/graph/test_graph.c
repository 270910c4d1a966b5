// SPDX-License-Identifier: GPL-3.0-or-later
/* Facts about whole graphs: an LSTM cell and a convolution with their gradients, folding,
 * aliases, colocation, parameters, pruning. */
#include "tests/sim/graph/kit.h"
#include "tests/support/survive.h"

enum { B = 64, H = 128 };

/* h' = sigmoid(o) tanh(j) of one joint product, its gradient and the updates: the core of
 * an LSTM cell, with every kind of op that the full one has. Gradients of a product are
 * broadcast as r1.3 builds it: Sum over the axes that BroadcastGradientArgs gives, then Reshape. */
static emp_graph *build_cell(void)
{
    emp_graph_builder *b = kit_begin();
    emp_op_attrs       ta = {.transpose_a = true}, tb = {.transpose_b = true};
    emp_op_attrs       two = {.count = 2};

    kit_ops(b,
            "x, h, dh = f[64,128]; w = &f[256,256]; bias = &f[256]; axis = i[]={1}; "
            "rate = f[]={0}; w/read = Identity w; bias/read = Identity bias; "
            "concat = ConcatV2 x h axis; MatMul = MatMul concat w/read; "
            "BiasAdd = BiasAdd MatMul bias/read; split = Split@ axis BiasAdd; "
            "Sigmoid = Sigmoid split; Tanh = Tanh split:1; Mul = Mul Sigmoid Tanh",
            &two);
    kit_ops(b,
            "Mul_grad/Shape, Mul_grad/Shape_1 = i[2]={64,128}; "
            "Mul_grad/Args = BroadcastGradientArgs Mul_grad/Shape Mul_grad/Shape_1; "
            "Mul_grad/mul = Mul dh Tanh; Mul_grad/Sum = Sum Mul_grad/mul Mul_grad/Args; "
            "Mul_grad/Reshape = Reshape Mul_grad/Sum Mul_grad/Shape; "
            "Mul_grad/mul_1 = Mul Sigmoid dh; "
            "Mul_grad/Sum_1 = Sum Mul_grad/mul_1 Mul_grad/Args:1; "
            "Mul_grad/Reshape_1 = Reshape Mul_grad/Sum_1 Mul_grad/Shape_1");
    kit_ops(b,
            "d_o = SigmoidGrad Sigmoid Mul_grad/Reshape; "
            "d_j = TanhGrad Tanh Mul_grad/Reshape_1; d_gates = ConcatV2 d_o d_j axis; "
            "d_bias = BiasAddGrad d_gates; d_joined = MatMul@ d_gates w/read; "
            "d_w = MatMul@ concat d_gates",
            &tb, &ta);
    kit_ops(b, "rank = i[]={2}; mod = FloorMod axis rank; size = i[2]={64,128}; "
               "offset = ConcatOffset mod size size; slice = Slice d_joined offset size; "
               "dx = Slice d_joined offset:1 size; "
               "update_w = ApplyGradientDescent w rate d_w; "
               "update_bias = ApplyGradientDescent bias rate d_bias");
    emp_graph_builder_set_target(b, kit_port(b, "update_w").op);
    emp_graph_builder_set_target(b, kit_port(b, "update_bias").op);
    emp_graph_builder_set_target(b, kit_port(b, "dx").op);
    return kit_finish(b);
}

static bool are_together(const emp_graph *g, const char *a, const char *b)
{
    return kit_fact(g, a)->colocation_class == kit_fact(g, b)->colocation_class;
}

static const emp_tensor *first_output(const emp_graph *g, const char *name)
{
    return &g->tensor[g->output_offset[kit_find(g, name)]];
}

Test(graph, lstm_cell_has_all_shapes_and_flops)
{
    OWN_GRAPH g = build_cell();
    double    product = 2.0 * B * (2 * H) * (2 * H), n = B * H;

    cr_expect_eq(g->unknown_shape_count, 0);
    cr_expect_eq(g->unknown_op_count, 0);
    /* 3 products; BiasAdd and its gradient; sigmoid, tanh, product; 2 products and 3 FLOP
     * per element in the gradients; 2 FLOP per parameter */
    cr_expect_eq(g->flops, 3 * product + 2 * (2 * n) + 3 * n + 2 * n + 2 * 3 * n +
                               2.0 * (2 * H * 2 * H + 2 * H));
    cr_expect_eq(g->parameter_count, 2 * H * 2 * H + 2 * H);
    cr_expect_eq(g->parameter_bytes, 4 * (2 * H * 2 * H + 2 * H));
    emp_op_id dx = kit_find(g, "dx");
    cr_expect(emp_shape_equal(g->tensor[g->output_offset[dx]].shape, &EMP_SHAPE(B, H)));
}

Test(graph, constants_and_what_they_determine_fold)
{
    static const char *const folded[] = {"axis",          "rate", "Mul_grad/Shape",
                                         "Mul_grad/Args", "mod",  "offset"};
    static const char *const live[] = {
        "x", "w", "w/read", "concat", "Mul_grad/Sum", "Mul_grad/Reshape", "update_w"};
    OWN_GRAPH g = build_cell();

    for (size_t i = 0; i < COUNT(folded); i++)
        cr_expect(kit_fact(g, folded[i])->is_folded, "%s", folded[i]);
    for (size_t i = 0; i < COUNT(live); i++)
        cr_expect_not(kit_fact(g, live[i])->is_folded, "%s", live[i]);
}

/* Sums over no axis alias and cost nothing; references are with their updates and reads. */
Test(graph, lstm_cell_has_aliases_and_classes)
{
    OWN_GRAPH g = build_cell();

    cr_expect(kit_fact(g, "Mul_grad/Sum")->is_alias);
    cr_expect_eq(kit_fact(g, "Mul_grad/Sum")->cost->kernels, 0);
    cr_expect(kit_fact(g, "Mul_grad/Reshape")->is_alias);
    cr_expect(kit_fact(g, "w/read")->is_alias);
    cr_expect_not(kit_fact(g, "Mul")->is_alias);
    cr_expect_not(kit_fact(g, "x")->is_alias);
    cr_expect(are_together(g, "w", "update_w"));
    cr_expect(are_together(g, "bias", "update_bias"));
    cr_expect_not(are_together(g, "w", "bias"));
    cr_expect(are_together(g, "w", "w/read"));
    cr_expect_not(are_together(g, "w/read", "MatMul"));
    cr_expect_eq(g->class_count, g->op_count - 2 * 2,
                 "read and update join their variable");
    cr_expect_eq(kit_fact(g, "w")->persistent_bytes, 4 * 2 * H * 2 * H);
    cr_expect_eq(first_output(g, "w")->bytes, 0, "a reference");
    cr_expect_eq(first_output(g, "w")->copy_bytes, 4 * 2 * H * 2 * H);
}

/* Rows are looked up where the table is; other readers of its value may be anywhere. */
Test(graph, look_ups_colocate_with_their_table)
{
    emp_graph_builder *b = kit_begin();

    kit_ops(b, "table = &f[1000,8]; ids = i[4]; read = Identity table; use = Neg read; "
               "again = Identity read; look_up = Gather read ids; no = Gather again ids");
    OWN_GRAPH g = kit_finish(b);
    cr_expect(are_together(g, "look_up", "table"));
    cr_expect_not(are_together(g, "no", "table"));
    cr_expect_not(are_together(g, "use", "table"));
}

/* Numbers bind ops that no reference binds, also in the part that a step runs. */
Test(graph, numbers_colocate)
{
    const emp_op_attrs first = {.colocation = 1}, other = {.colocation = 2};
    emp_graph_builder *b = kit_begin();
    OWN_GRAPH          step = NULL;

    kit_ops(b,
            "x = f[8]; one = Neg@ x; free = Neg one; two = Tanh@ free; three = Tanh@ two",
            &first, &other, &first);
    emp_graph_builder_set_target(b, kit_port(b, "three").op);
    OWN_GRAPH g = kit_finish(b);
    cr_assert_eq(emp_graph_prune(&step, g, NULL), EMP_OK);
    const emp_graph *graphs[] = {g, step};
    for (int i = 0; i < 2; i++) {
        cr_expect(are_together(graphs[i], "one", "three"));
        cr_expect_not(are_together(graphs[i], "two", "one"));
        cr_expect_eq(graphs[i]->class_count, graphs[i]->op_count - 1);
    }
}

Test(graph, conv_and_batch_norm_train)
{
    emp_graph_builder *b = kit_begin();
    emp_op_attrs       a = {.padding_is_same = true, .strides = {1, 2, 2, 1}};

    kit_ops(b,
            "x = f[8,16,16,4]; zero = f[]={0}; w, w/Momentum = &f[3,3,4,32]; "
            "scale = f[32]; empty = f[0]={}; read = Identity w; conv = Conv2D@ x read; "
            "bn = FusedBatchNorm conv scale scale empty empty; relu = Relu bn; "
            "dr = f[8,8,8,32]; relu_grad = ReluGrad dr relu; "
            "bn_grad = FusedBatchNormGrad relu_grad conv scale bn:3 bn:4; "
            "shapes = ShapeN x read; conv_dx = Conv2DBackpropInput@ shapes read bn_grad; "
            "conv_dw = Conv2DBackpropFilter@ x shapes:1 bn_grad; "
            "update = ApplyMomentum w w/Momentum zero conv_dw zero",
            &a, &a, &a);
    OWN_GRAPH g = kit_finish(b);
    double    conv = 2.0 * 8 * 8 * 8 * 3 * 3 * 4 * 32;

    cr_expect_eq(g->unknown_shape_count, 0);
    cr_expect_eq(kit_cost(g, "conv")->flops, conv);
    cr_expect_eq(kit_cost(g, "conv_dx")->flops, conv);
    cr_expect_eq(kit_cost(g, "conv_dw")->flops, conv);
    cr_expect(
        emp_shape_equal(first_output(g, "conv_dx")->shape, &EMP_SHAPE(8, 16, 16, 4)));
    cr_expect(
        emp_shape_equal(first_output(g, "conv_dw")->shape, &EMP_SHAPE(3, 3, 4, 32)));
    cr_expect(kit_fact(g, "shapes")->is_folded, "static shapes are constants");
    cr_expect(are_together(g, "update", "w/Momentum"));
    cr_expect(are_together(g, "update", "w"));
    cr_expect_eq(g->parameter_count, 3 * 3 * 4 * 32, "slots are not parameters");
}

static void add_gated(emp_graph_builder *b, const char *name, const char *gate)
{
    const emp_port  zero = kit_port(b, "zero");
    const emp_op_id wait = kit_port(b, gate).op;
    emp_op_id       op;

    ASSERT_OK(emp_graph_builder_add(b, name, "Neg", &(emp_op_attrs){0}, &zero, 1, &wait,
                                    1, &op, &err));
}

Test(graph, folding_stops_at_state_and_at_ten_mebibytes)
{
    static const struct {
        const char *op;
        bool        is_folded;
    } cases[] = {{"small", true},          {"behind_small", true},
                 {"large", false},         {"behind_large", false},
                 {"random", false},        {"behind_random", false},
                 {"static_shape", true},   {"dynamic_shape", false},
                 {"gated", true}, /* control edges do not stop folding */
                 {"gated_by_state", false}};
    emp_graph_builder *b = kit_begin();

    kit_ops(b, "zero = f[]={0}; s = i[1]={2621440}; l = i[1]={2621441}; r = i[1]={3}; "
               "small = Fill s zero; large = Fill l zero; random = RandomUniform r; "
               "i = i[9]; ids = Unique i; behind_small = Neg small; behind_large = Neg "
               "large; behind_random = Neg random; static_shape = Shape random; "
               "dynamic_shape = Shape ids");
    add_gated(b, "gated", "large");
    add_gated(b, "gated_by_state", "random");
    OWN_GRAPH g = kit_finish(b);
    for (size_t i = 0; i < COUNT(cases); i++)
        cr_expect_eq(kit_fact(g, cases[i].op)->is_folded, cases[i].is_folded, "%s",
                     cases[i].op);
}

/* Adam's sparse update is made of plain ops; the moving average has no slot. Without an optimizer
 * all variables are parameters. */
Test(graph, parameters_are_what_an_optimizer_updates)
{
    emp_graph_builder *b = kit_begin();

    kit_ops(b, "emb, emb/Adam, emb/Adam_1 = &f[1000,8]; d = f[1000,8]; mean = &f[32]; "
               "dm = f[32]; sgd = &f[7]; rows = i[2]; g = f[2]; a = AssignSub emb d; "
               "b = Assign emb/Adam d; c = Assign emb/Adam_1 d; e = AssignSub mean dm; "
               "f = ScatterSub sgd rows g");
    emp_graph *g = kit_finish(b);
    cr_expect_eq(g->parameter_count, 1000 * 8 + 7);
    emp_graph_destroy(g);
    b = kit_begin();
    kit_ops(b, "w = &f[5,6]; r = Identity w; steps = &l[]");
    g = kit_finish(b);
    cr_expect_eq(g->parameter_count, 31);
    cr_expect_eq(g->parameter_bytes, 30 * 4 + 8);
    emp_graph_destroy(g);
}

Test(graph, prune_keeps_the_ancestors_of_targets)
{
    emp_graph_builder *b = kit_begin();
    emp_port   unused = kit_tensor(b, "unused", "f[3]"), x = kit_tensor(b, "x", "f[3]");
    emp_port   gate = kit_tensor(b, "gate", "f[]");
    emp_op_id  y;
    emp_graph *step = NULL;

    kit_op(b, "dead end", "Exp", NULL, 1, x);
    kit_op(b, "dead", "Neg", NULL, 1, unused);
    ASSERT_OK(emp_graph_builder_add(b, "y", "Relu", &(emp_op_attrs){0}, &x, 1, &gate.op,
                                    1, &y, NULL));
    emp_graph_builder_set_target(b, y);
    emp_graph *whole = kit_finish(b);

    cr_assert_eq(emp_graph_prune(&step, whole, NULL), EMP_OK);
    cr_assert_eq(step->op_count, 3);
    cr_expect_str_eq(step->name[0], "x");
    cr_expect_str_eq(step->name[1], "gate");
    cr_expect_str_eq(step->name[2], "y");
    cr_expect_eq(step->type_count, 2);
    cr_expect_eq(step->control_edge_count, 1);
    cr_expect_eq(step->control[step->control_offset[2]], 1);
    cr_expect_eq(step->flops, 3.0);
    cr_expect(step->is_target[2] && !step->is_target[0]);
    emp_graph_destroy(whole);
    cr_expect_str_eq(step->type_name[step->type[2]], "Relu", "outlives the whole graph");
    emp_graph_destroy(step);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(graph, prune_needs_a_target)
{
    emp_graph_builder *b = kit_begin();
    emp_graph         *step = NULL;

    kit_tensor(b, "x", "f[3]");
    OWN_GRAPH g = kit_finish(b);
    EXPECT_REFUSED(emp_graph_prune(&step, g, &err), EMP_EINVAL,
                   "none of the 1 ops is a target; name what a step runs");
    cr_expect_null(step);
    cr_expect_eq(emp_graph_find(g, "nothing"), -1);
    emp_graph_destroy(NULL);
}

/* y = x w, z = (y u) u: w has one reader, u has two. Shape's input stays on the host where it was. */
static void create_held(emp_graph **whole, emp_graph **step, emp_dtype dtype)
{
    emp_graph_builder *b = kit_begin();
    emp_op_attrs w = {.dtype = dtype, .shape = EMP_SHAPE(4, 8), .has_shape = true}, u = w;
    emp_op_attrs t = w, product = {.dtype = EMP_DTYPE_FLOAT};
    emp_op_attrs number = {.dtype = EMP_DTYPE_INT32};

    u.dtype = t.dtype = EMP_DTYPE_FLOAT;
    u.shape = EMP_SHAPE(8, 8);
    t.shape = EMP_SHAPE(3, 2, 8);
    kit_ops(b,
            "x = f[2,4]; w = Weights@; u = Weights@; y = MatMul@ x w; v = MatMul y u; "
            "z = MatMul v u; t = Weights@; raw = f[]; axis = Cast@ raw; g = Sum t axis",
            &w, &u, &product, &t, &number);
    emp_graph_builder_set_target(b, kit_port(b, "z").op);
    emp_graph_builder_set_target(b, kit_port(b, "g").op);
    *whole = kit_finish(b);
    ASSERT_OK(emp_graph_prune(step, *whole, &err));
}

Test(graph, the_only_reader_of_weights_holds_them)
{
    emp_graph *whole, *step;

    create_held(&whole, &step, EMP_DTYPE_FLOAT);
    const emp_op *y = &step->op[kit_find(step, "y")];
    cr_expect_eq(step->op_count, whole->op_count - 2);
    cr_expect_eq(emp_graph_find(step, "w"), -1);
    cr_expect_eq(y->persistent_bytes, 4 * 4 * 8);
    cr_expect_eq(y->cost->k, 4, "the cost is that of the whole graph");
    cr_expect_eq(kit_fact(step, "u")->persistent_bytes, 4 * 8 * 8, "two ops read it");
    cr_expect_eq(step->parameter_count, 32 + 64 + 48);
    cr_expect_eq(step->parameter_bytes, 4 * (32 + 64 + 48));
    cr_expect(kit_fact(whole, "g")->host_input_mask == 2);
    cr_expect_eq(kit_fact(step, "g")->host_input_mask, 1,
                 "its axis, now the first input, is on the host as before");
    emp_graph_destroy(whole);
    emp_graph_destroy(step);
}

Test(graph, the_hash_counts_weights_that_are_held)
{
    emp_graph *whole[2], *step[2];

    create_held(&whole[0], &step[0], EMP_DTYPE_FLOAT);
    create_held(&whole[1], &step[1], EMP_DTYPE_DOUBLE);
    cr_expect_neq(step[0]->hash, step[1]->hash);
    for (int i = 0; i < 2; i++) {
        emp_graph_destroy(whole[i]);
        emp_graph_destroy(step[i]);
    }
}
