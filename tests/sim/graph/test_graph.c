// SPDX-License-Identifier: GPL-3.0-or-later
/* Facts about whole graphs: an LSTM cell and a convolution with their gradients, folding,
 * aliases, colocation, parameters, pruning. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/mem.h"
#include "tests/sim/graph/kit.h"
#include "tests/support/expect.h"

enum { B = 64, H = 128 };

static emp_port second(emp_port port, int32_t index)
{
    return (emp_port){port.op, index};
}

static emp_port op(emp_graph_builder *b, const char *prefix, const char *name,
                   const char *type, int count, emp_port x, emp_port y)
{
    char full[64];

    snprintf(full, sizeof full, "%s/%s", prefix, name);
    return count == 1 ? kit_op(b, full, type, NULL, 1, x)
                      : kit_op(b, full, type, NULL, 2, x, y);
}

static emp_port source(emp_graph_builder *b, const char *prefix, const char *name,
                       const char *text)
{
    char full[64];

    snprintf(full, sizeof full, "%s/%s", prefix, name);
    return kit_tensor(b, full, text);
}

/* One operand's side of a broadcast gradient as r1.3 builds it: Sum over the axes that
 * BroadcastGradientArgs gives, then Reshape. */
static emp_port unbroadcast(emp_graph_builder *b, const char *prefix, const char *side,
                            emp_port dy, emp_port axes, emp_port shape)
{
    char name[16];

    snprintf(name, sizeof name, "Sum%s", side);
    emp_port sum = op(b, prefix, name, "Sum", 2, dy, axes);
    snprintf(name, sizeof name, "Reshape%s", side);
    return op(b, prefix, name, "Reshape", 2, sum, shape);
}

/* Gradients of z = x y for both operands of equal shape. */
static void mul_grad(emp_graph_builder *b, const char *prefix, emp_port dz, emp_port x,
                     emp_port y, emp_port *dx, emp_port *dy)
{
    emp_port shape = source(b, prefix, "Shape", "i[2]={64,128}");
    emp_port shape_1 = source(b, prefix, "Shape_1", "i[2]={64,128}");
    emp_port axes = op(b, prefix, "BroadcastGradientArgs", "BroadcastGradientArgs", 2,
                       shape, shape_1);

    *dx = unbroadcast(b, prefix, "", op(b, prefix, "mul", "Mul", 2, dz, y), axes, shape);
    *dy = unbroadcast(b, prefix, "_1", op(b, prefix, "mul_1", "Mul", 2, x, dz),
                      second(axes, 1), shape_1);
}

/* h' = sigmoid(o) tanh(j) of one joint product, its gradient and the updates: the core of
 * an LSTM cell, with every kind of op that the full one has. */
static emp_graph *build_cell(void)
{
    emp_graph_builder *b = kit_begin();
    emp_op_attrs       ta = {.transpose_a = true}, tb = {.transpose_b = true};
    emp_op_attrs       two = {.count = 2};

    emp_port x = kit_tensor(b, "x", "f[64,128]"), h = kit_tensor(b, "h", "f[64,128]");
    emp_port w = kit_tensor(b, "w", "&f[256,256]"),
             bias = kit_tensor(b, "bias", "&f[256]");
    emp_port axis = kit_tensor(b, "axis", "i[]={1}"),
             rate = kit_tensor(b, "rate", "f[]={0}");
    emp_port w_read = kit_op(b, "w/read", "Identity", NULL, 1, w);
    emp_port bias_read = kit_op(b, "bias/read", "Identity", NULL, 1, bias);
    emp_port joined = kit_op(b, "concat", "ConcatV2", NULL, 3, x, h, axis);
    emp_port product = kit_op(b, "MatMul", "MatMul", NULL, 2, joined, w_read);
    emp_port gates = kit_op(b, "BiasAdd", "BiasAdd", NULL, 2, product, bias_read);
    emp_port o = kit_op(b, "split", "Split", &two, 2, axis, gates);
    emp_port out = kit_op(b, "Sigmoid", "Sigmoid", NULL, 1, o);
    emp_port in = kit_op(b, "Tanh", "Tanh", NULL, 1, second(o, 1));
    kit_op(b, "Mul", "Mul", NULL, 2, out, in);

    emp_port dh = kit_tensor(b, "dh", "f[64,128]"), d_out, d_in;
    mul_grad(b, "Mul_grad", dh, out, in, &d_out, &d_in);
    emp_port d_o = kit_op(b, "SigmoidGrad", "SigmoidGrad", NULL, 2, out, d_out);
    emp_port d_j = kit_op(b, "TanhGrad", "TanhGrad", NULL, 2, in, d_in);
    emp_port d_gates = kit_op(b, "split_grad", "ConcatV2", NULL, 3, d_o, d_j, axis);
    emp_port d_bias = kit_op(b, "BiasAddGrad", "BiasAddGrad", NULL, 1, d_gates);
    emp_port d_joined =
        kit_op(b, "MatMul_grad/MatMul", "MatMul", &tb, 2, d_gates, w_read);
    emp_port d_w = kit_op(b, "MatMul_grad/MatMul_1", "MatMul", &ta, 2, joined, d_gates);
    emp_port rank = kit_tensor(b, "concat_grad/Rank", "i[]={2}");
    emp_port mod = kit_op(b, "concat_grad/mod", "FloorMod", NULL, 2, axis, rank);
    emp_port size = kit_tensor(b, "concat_grad/Shape", "i[2]={64,128}");
    emp_port offset =
        kit_op(b, "concat_grad/ConcatOffset", "ConcatOffset", NULL, 3, mod, size, size);
    kit_op(b, "concat_grad/Slice", "Slice", NULL, 3, d_joined, offset, size);
    emp_port dx = kit_op(b, "concat_grad/Slice_1", "Slice", NULL, 3, d_joined,
                         second(offset, 1), size);
    emp_port up_w = kit_op(b, "update_w", "ApplyGradientDescent", NULL, 3, w, rate, d_w);
    emp_port up_b =
        kit_op(b, "update_bias", "ApplyGradientDescent", NULL, 3, bias, rate, d_bias);
    emp_graph_builder_set_target(b, up_w.op);
    emp_graph_builder_set_target(b, up_b.op);
    emp_graph_builder_set_target(b, dx.op);
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
    emp_graph *g = build_cell();
    double     product = 2.0 * B * (2 * H) * (2 * H), n = B * H;

    cr_expect_eq(g->unknown_shape_count, 0);
    cr_expect_eq(g->unknown_op_count, 0);
    /* 3 products; BiasAdd and its gradient; sigmoid, tanh, product; 2 products and 3 FLOP
     * per element in the gradients; 2 FLOP per parameter */
    cr_expect_eq(g->flops, 3 * product + 2 * (2 * n) + 3 * n + 2 * n + 2 * 3 * n +
                               2.0 * (2 * H * 2 * H + 2 * H));
    cr_expect_eq(g->parameter_count, 2 * H * 2 * H + 2 * H);
    cr_expect_eq(g->parameter_bytes, 4 * (2 * H * 2 * H + 2 * H));
    emp_op_id dx = kit_find(g, "concat_grad/Slice_1");
    cr_expect(emp_shape_equal(g->tensor[g->output_offset[dx]].shape, &EMP_SHAPE(B, H)));
    emp_graph_destroy(g);
}

Test(graph, constants_and_what_they_determine_fold)
{
    static const char *const folded[] = {"axis",
                                         "rate",
                                         "Mul_grad/Shape",
                                         "Mul_grad/BroadcastGradientArgs",
                                         "concat_grad/mod",
                                         "concat_grad/ConcatOffset"};
    static const char *const live[] = {
        "x", "w", "w/read", "concat", "Mul_grad/Sum", "Mul_grad/Reshape", "update_w"};
    emp_graph *g = build_cell();

    for (size_t i = 0; i < sizeof folded / sizeof folded[0]; i++)
        cr_expect(kit_fact(g, folded[i])->is_folded, "%s", folded[i]);
    for (size_t i = 0; i < sizeof live / sizeof live[0]; i++)
        cr_expect_not(kit_fact(g, live[i])->is_folded, "%s", live[i]);
    emp_graph_destroy(g);
}

/* Sums over no axis alias and cost nothing; references are with their updates and reads. */
Test(graph, lstm_cell_has_aliases_and_classes)
{
    emp_graph *g = build_cell();

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
    emp_graph_destroy(g);
}

/* Rows are looked up where the table is; other readers of its value may be anywhere. */
Test(graph, look_ups_colocate_with_their_table)
{
    emp_graph_builder *b = kit_begin();
    emp_port           table = kit_tensor(b, "table", "&f[1000,8]"),
             ids = kit_tensor(b, "ids", "i[4]");
    emp_port read = kit_op(b, "read", "Identity", NULL, 1, table);
    emp_port again = kit_op(b, "again", "Identity", NULL, 1, read);

    kit_op(b, "look up", "Gather", NULL, 2, read, ids);
    kit_op(b, "not a look-up", "Gather", NULL, 2, again, ids);
    kit_op(b, "use", "Neg", NULL, 1, read);
    emp_graph *g = kit_finish(b);
    cr_expect(are_together(g, "look up", "table"));
    cr_expect_not(are_together(g, "not a look-up", "table"));
    cr_expect_not(are_together(g, "use", "table"));
    emp_graph_destroy(g);
}

/* Numbers bind ops that no reference binds, also in the part that a step runs. */
Test(graph, numbers_colocate)
{
    const emp_op_attrs first = {.colocation = 1}, other = {.colocation = 2};
    emp_graph_builder *b = kit_begin();
    emp_port           x = kit_tensor(b, "x", "f[8]");
    emp_port           one = kit_op(b, "one", "Neg", &first, 1, x);
    emp_port           free_op = kit_op(b, "free", "Neg", NULL, 1, one);
    emp_port           two = kit_op(b, "two", "Tanh", &other, 1, free_op);
    emp_port           three = kit_op(b, "three", "Tanh", &first, 1, two);
    emp_graph         *step = NULL;

    emp_graph_builder_set_target(b, three.op);
    emp_graph *g = kit_finish(b);
    cr_assert_eq(emp_graph_prune(&step, g, NULL), EMP_OK);
    const emp_graph *graphs[] = {g, step};
    for (int i = 0; i < 2; i++) {
        cr_expect(are_together(graphs[i], "one", "three"));
        cr_expect_not(are_together(graphs[i], "two", "one"));
        cr_expect_eq(graphs[i]->class_count, graphs[i]->op_count - 1);
    }
    emp_graph_destroy(step);
    emp_graph_destroy(g);
}

/* A convolution with fused batch norm, its gradient and momentum. */
Test(graph, conv_and_batch_norm_train)
{
    emp_graph_builder *b = kit_begin();
    emp_op_attrs       a = {.padding_is_same = true, .strides = {1, 2, 2, 1}};
    emp_port           x = kit_tensor(b, "x", "f[8,16,16,4]"),
             zero = kit_tensor(b, "zero", "f[]={0}");
    emp_port w = kit_tensor(b, "w", "&f[3,3,4,32]"),
             slot = kit_tensor(b, "w/Momentum", "&f[3,3,4,32]");
    emp_port scale = kit_tensor(b, "scale", "f[32]"),
             empty = kit_tensor(b, "empty", "f[0]={}");
    emp_port read = kit_op(b, "w/read", "Identity", NULL, 1, w);
    emp_port y = kit_op(b, "conv", "Conv2D", &a, 2, x, read);
    emp_port n =
        kit_op(b, "bn", "FusedBatchNorm", NULL, 5, y, scale, scale, empty, empty);
    emp_port r = kit_op(b, "relu", "Relu", NULL, 1, n);
    emp_port dr = kit_op(b, "relu_grad", "ReluGrad", NULL, 2,
                         kit_tensor(b, "dr", "f[8,8,8,32]"), r);
    emp_port dy = kit_op(b, "bn_grad", "FusedBatchNormGrad", NULL, 5, dr, y, scale,
                         second(n, 3), second(n, 4));
    emp_port shapes = kit_op(b, "shapes", "ShapeN", NULL, 2, x, read);
    kit_op(b, "conv_dx", "Conv2DBackpropInput", &a, 3, shapes, read, dy);
    emp_port dw =
        kit_op(b, "conv_dw", "Conv2DBackpropFilter", &a, 3, x, second(shapes, 1), dy);
    kit_op(b, "update", "ApplyMomentum", NULL, 5, w, slot, zero, dw, zero);
    emp_graph *g = kit_finish(b);
    double     conv = 2.0 * 8 * 8 * 8 * 3 * 3 * 4 * 32;

    cr_expect_eq(g->unknown_shape_count, 0);
    cr_expect_eq(kit_fact(g, "conv")->cost->flops, conv);
    cr_expect_eq(kit_fact(g, "conv_dx")->cost->flops, conv);
    cr_expect_eq(kit_fact(g, "conv_dw")->cost->flops, conv);
    cr_expect(
        emp_shape_equal(first_output(g, "conv_dx")->shape, &EMP_SHAPE(8, 16, 16, 4)));
    cr_expect(
        emp_shape_equal(first_output(g, "conv_dw")->shape, &EMP_SHAPE(3, 3, 4, 32)));
    cr_expect(kit_fact(g, "shapes")->is_folded, "static shapes are constants");
    cr_expect(are_together(g, "update", "w/Momentum"));
    cr_expect(are_together(g, "update", "w"));
    cr_expect_eq(g->parameter_count, 3 * 3 * 4 * 32, "slots are not parameters");
    emp_graph_destroy(g);
}

Test(graph, folding_stops_at_state_and_at_ten_mebibytes)
{
    emp_graph_builder *b = kit_begin();
    emp_port           zero = kit_tensor(b, "zero", "f[]={0}");
    emp_port           small =
        kit_op(b, "small", "Fill", NULL, 2, kit_tensor(b, "s", "i[1]={2621440}"), zero);
    emp_port large =
        kit_op(b, "large", "Fill", NULL, 2, kit_tensor(b, "l", "i[1]={2621441}"), zero);
    emp_port random =
        kit_op(b, "random", "RandomUniform", NULL, 1, kit_tensor(b, "r", "i[1]={3}"));
    emp_port  ids = kit_op(b, "ids", "Unique", NULL, 1, kit_tensor(b, "i", "i[9]"));
    emp_op_id gated;

    kit_op(b, "behind small", "Neg", NULL, 1, small);
    kit_op(b, "behind large", "Neg", NULL, 1, large);
    kit_op(b, "behind random", "Neg", NULL, 1, random);
    kit_op(b, "static shape", "Shape", NULL, 1, random);
    kit_op(b, "dynamic shape", "Shape", NULL, 1, ids);
    cr_assert_eq(emp_graph_builder_add(b, "gated by state", "Neg", &(emp_op_attrs){0},
                                       &zero, 1, &random.op, 1, &gated, NULL),
                 EMP_OK);
    cr_assert_eq(emp_graph_builder_add(b, "gated", "Neg", &(emp_op_attrs){0}, &zero, 1,
                                       &large.op, 1, &gated, NULL),
                 EMP_OK);
    emp_graph *g = kit_finish(b);

    cr_expect(kit_fact(g, "small")->is_folded && kit_fact(g, "behind small")->is_folded);
    cr_expect(!kit_fact(g, "large")->is_folded &&
              !kit_fact(g, "behind large")->is_folded);
    cr_expect(!kit_fact(g, "random")->is_folded &&
              !kit_fact(g, "behind random")->is_folded);
    cr_expect(kit_fact(g, "static shape")->is_folded,
              "the shape of a random tensor is constant");
    cr_expect_not(kit_fact(g, "dynamic shape")->is_folded);
    cr_expect(kit_fact(g, "gated")->is_folded, "control edges do not stop folding");
    cr_expect_not(kit_fact(g, "gated by state")->is_folded);
    emp_graph_destroy(g);
}

/* Adam's sparse update is made of plain ops; the moving average has no slot. */
Test(graph, parameters_are_what_an_optimizer_updates)
{
    emp_graph_builder *b = kit_begin();
    emp_port           emb = kit_tensor(b, "emb", "&f[1000,8]"),
             m = kit_tensor(b, "emb/Adam", "&f[1000,8]");
    emp_port m1 = kit_tensor(b, "emb/Adam_1", "&f[1000,8]"),
             d = kit_tensor(b, "d", "f[1000,8]");
    emp_port mean = kit_tensor(b, "moving_mean", "&f[32]"),
             dm = kit_tensor(b, "dm", "f[32]");
    emp_port sgd = kit_tensor(b, "sgd", "&f[7]"), rows = kit_tensor(b, "rows", "i[2]");

    kit_op(b, "a", "AssignSub", NULL, 2, emb, d);
    kit_op(b, "b", "Assign", NULL, 2, m, d);
    kit_op(b, "c", "Assign", NULL, 2, m1, d);
    kit_op(b, "e", "AssignSub", NULL, 2, mean, dm);
    kit_op(b, "f", "ScatterSub", NULL, 3, sgd, rows, kit_tensor(b, "g", "f[2]"));
    emp_graph *g = kit_finish(b);
    cr_expect_eq(g->parameter_count, 1000 * 8 + 7);
    emp_graph_destroy(g);
}

Test(graph, without_an_optimizer_all_variables_are_parameters)
{
    emp_graph_builder *b = kit_begin();

    kit_op(b, "r", "Identity", NULL, 1, kit_tensor(b, "w", "&f[5,6]"));
    kit_tensor(b, "steps", "&l[]");
    emp_graph *g = kit_finish(b);
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
    cr_assert_eq(emp_graph_builder_add(b, "y", "Relu", &(emp_op_attrs){0}, &x, 1,
                                       &gate.op, 1, &y, NULL),
                 EMP_OK);
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
    emp_graph *g = kit_finish(b);
    EXPECT_REFUSED(emp_graph_prune(&step, g, &err), EMP_EINVAL,
                   "none of the 1 ops is a target; name what a step runs");
    cr_expect_null(step);
    cr_expect_eq(emp_graph_find(g, "nothing"), -1);
    emp_graph_destroy(g);
    emp_graph_destroy(NULL);
}

/* ---- weights that their readers hold ---- */

static emp_port weights(emp_graph_builder *b, const char *name, emp_shape shape)
{
    emp_op_attrs attrs = {.dtype = EMP_DTYPE_FLOAT, .shape = shape, .has_shape = true};

    return kit_op(b, name, "Weights", &attrs, 0);
}

/* y = x w, z = (y u) u: w has one reader, u has two. Shape's input stays on the host where it was. */
static void create_held(emp_graph **whole, emp_graph **step)
{
    emp_graph_builder *b = kit_begin();

    emp_port x = kit_tensor(b, "x", "f[2,4]");
    emp_port w = weights(b, "w", EMP_SHAPE(4, 8)), u = weights(b, "u", EMP_SHAPE(8, 8));
    emp_port y = kit_op(b, "y", "MatMul", NULL, 2, x, w);
    emp_port v = kit_op(b, "v", "MatMul", NULL, 2, y, u);
    emp_port z = kit_op(b, "z", "MatMul", NULL, 2, v, u);
    emp_port t = weights(b, "t", EMP_SHAPE(3, 2, 8));
    emp_port a = kit_op(b, "axis", "Cast", &(emp_op_attrs){.dtype = EMP_DTYPE_INT32}, 1,
                        kit_tensor(b, "raw", "f[]"));
    emp_port g = kit_op(b, "g", "Sum", NULL, 2, t, a);
    emp_graph_builder_set_target(b, z.op);
    emp_graph_builder_set_target(b, g.op);
    *whole = kit_finish(b);
    cr_assert_eq(emp_graph_prune(step, *whole, NULL), EMP_OK);
}

Test(graph, the_only_reader_of_weights_holds_them)
{
    emp_graph *whole, *step;

    create_held(&whole, &step);
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
    uint64_t hash[2];

    for (int64_t i = 0; i < 2; i++) {
        emp_graph_builder *b = kit_begin();
        emp_graph         *whole, *step;
        emp_port           x = kit_tensor(b, "x", "f[2,4]");
        emp_op_attrs       half = {.dtype = i == 0 ? EMP_DTYPE_FLOAT : EMP_DTYPE_DOUBLE,
                                   .shape = EMP_SHAPE(4, 8),
                                   .has_shape = true};
        emp_port           w = kit_op(b, "w", "Weights", &half, 0);
        emp_port           y =
            kit_op(b, "y", "MatMul", &(emp_op_attrs){.dtype = EMP_DTYPE_FLOAT}, 2, x, w);
        emp_graph_builder_set_target(b, y.op);
        whole = kit_finish(b);
        cr_assert_eq(emp_graph_prune(&step, whole, NULL), EMP_OK);
        hash[i] = step->hash;
        emp_graph_destroy(whole);
        emp_graph_destroy(step);
    }
    cr_expect_neq(hash[0], hash[1]);
}
