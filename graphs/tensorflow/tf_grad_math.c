// SPDX-License-Identifier: GPL-3.0-or-later
/* Gradient functions of arithmetic (math_grad.py), arrays (array_grad.py) and layers (nn_grad.py). */
#include "graphs/tensorflow/tf_grad_internal.h"
#include "graphs/tensorflow/tf_ops.h"

/* ---- broadcasting binary ops ------------------------------------------------------- */

/* Shapes of both operands, and the axes along which each was broadcast. */
typedef struct {
    emp_port size_x, size_y; /**< int32 vectors */
    emp_port axes_x, axes_y;
} broadcast;

static broadcast find_broadcast(emp_tf *tf, emp_op_id op)
{
    broadcast b;

    b.size_x = emp_tf_shape_of(tf, emp_tf_input(tf, op, 0));
    b.size_y = emp_tf_shape_of(tf, emp_tf_input(tf, op, 1));
    b.axes_x = emp_tf_op2(tf, "BroadcastGradientArgs", NULL, b.size_x, b.size_y);
    b.axes_y = (emp_port){b.axes_x.op, 1};
    return b;
}

/* Sums over the broadcast axes; what is left has as many elements as the operand. */
static emp_port reduce_to(emp_tf *tf, emp_port grad, emp_port axes, emp_port size)
{
    return emp_tf_reshape_to(tf, emp_tf_op2(tf, "Sum", NULL, grad, axes), size);
}

/* From 1.4 on, equal static shapes need no broadcasting. */
static bool is_plain(const emp_tf *tf, emp_op_id op)
{
    emp_port  x = emp_tf_input(tf, op, 0), y = emp_tf_input(tf, op, 1);
    emp_shape shape_x = emp_tf_shape(tf, x), shape_y = emp_tf_shape(tf, y);

    return !tf->old_broadcast_grads && emp_tf_shape_is_static(tf, x) &&
           emp_tf_shape_is_static(tf, y) && emp_shape_equal(&shape_x, &shape_y);
}

EMP_TF_GRAD(add)
{
    emp_port grad = out[0].values;

    if (is_plain(tf, op)) {
        in[0] = in[1] = out[0];
        return;
    }
    broadcast b = find_broadcast(tf, op);
    in[0] = emp_tf_dense(reduce_to(tf, grad, b.axes_x, b.size_x));
    in[1] = emp_tf_dense(reduce_to(tf, grad, b.axes_y, b.size_y));
}

/* Not simplified in any version, unlike Add. */
EMP_TF_GRAD(sub)
{
    emp_port  grad = out[0].values;
    broadcast b = find_broadcast(tf, op);

    in[0] = emp_tf_dense(reduce_to(tf, grad, b.axes_x, b.size_x));
    emp_port sum = emp_tf_op2(tf, "Sum", NULL, grad, b.axes_y);
    emp_port neg = emp_tf_op1(tf, "Neg", NULL, sum);
    in[1] = emp_tf_dense(emp_tf_reshape_to(tf, neg, b.size_y));
}

EMP_TF_GRAD(mul)
{
    emp_port x = emp_tf_input(tf, op, 0), y = emp_tf_input(tf, op, 1);
    emp_port grad = out[0].values;

    if (is_plain(tf, op)) {
        in[0] = emp_tf_dense(emp_tf_op2(tf, "Mul", NULL, grad, y));
        in[1] = emp_tf_dense(emp_tf_op2(tf, "Mul", NULL, grad, x));
        return;
    }
    broadcast b = find_broadcast(tf, op);
    emp_port  product = emp_tf_op2(tf, "Mul", "mul", grad, y);
    in[0] = emp_tf_dense(reduce_to(tf, product, b.axes_x, b.size_x));
    product = emp_tf_op2(tf, "Mul", "mul", x, grad);
    in[1] = emp_tf_dense(reduce_to(tf, product, b.axes_y, b.size_y));
}

/* d(x / y) = dx / y - x / y / y dy; not simplified either. */
EMP_TF_GRAD(real_div)
{
    emp_port  x = emp_tf_input(tf, op, 0), y = emp_tf_input(tf, op, 1);
    emp_port  grad = out[0].values;
    broadcast b = find_broadcast(tf, op);
    emp_port  quotient = emp_tf_op2(tf, "RealDiv", NULL, grad, y);

    in[0] = emp_tf_dense(reduce_to(tf, quotient, b.axes_x, b.size_x));
    quotient = emp_tf_op2(tf, "RealDiv", NULL, emp_tf_op1(tf, "Neg", NULL, x), y);
    quotient = emp_tf_op2(tf, "RealDiv", NULL, quotient, y);
    emp_port product = emp_tf_op2(tf, "Mul", "mul", grad, quotient);
    in[1] = emp_tf_dense(reduce_to(tf, product, b.axes_y, b.size_y));
}

EMP_TF_GRAD(square)
{
    emp_port grad = out[0].values;

    emp_tf_begin_controls(tf, &grad.op, 1);
    emp_port twice = emp_tf_x_op(tf, "Mul", "mul", 2.0, emp_tf_input(tf, op, 0));
    in[0] = emp_tf_dense(emp_tf_op2(tf, "Mul", "mul", grad, twice));
    emp_tf_end_controls(tf);
}

EMP_TF_GRAD(squared_difference)
{
    emp_port  x = emp_tf_input(tf, op, 0), y = emp_tf_input(tf, op, 1);
    emp_port  grad = out[0].values;
    broadcast b = find_broadcast(tf, op);

    emp_tf_begin_controls(tf, &grad.op, 1);
    emp_port two = emp_tf_float(tf, NULL, "scalar", 2.0);
    emp_port scaled = emp_tf_op2(tf, "Mul", "mul", two, grad);
    emp_port difference = emp_tf_op2(tf, "Sub", "sub", x, y);
    emp_tf_end_controls(tf);

    emp_port product = emp_tf_op2(tf, "Mul", "mul", scaled, difference);
    in[0] = emp_tf_dense(reduce_to(tf, product, b.axes_x, b.size_x));
    emp_port reduced = reduce_to(tf, product, b.axes_y, b.size_y);
    in[1] = emp_tf_dense(emp_tf_op1(tf, "Neg", NULL, reduced));
}

EMP_TF_GRAD(select)
{
    emp_port condition = emp_tf_input(tf, op, 0), grad = out[0].values;
    emp_port zeros = emp_tf_zeros_like(tf, emp_tf_input(tf, op, 1));

    in[1] = emp_tf_dense(
        emp_tf_op(tf, "Select", NULL, NULL, EMP_TF_PORTS(condition, grad, zeros)));
    in[2] = emp_tf_dense(
        emp_tf_op(tf, "Select", NULL, NULL, EMP_TF_PORTS(condition, zeros, grad)));
}

/* ---- unary ops --------------------------------------------------------------------- */

/* f'(x) dy from y = f(x) alone, by a kernel of its own. */
static emp_tf_grad from_output(emp_tf *tf, const char *type, emp_op_id op,
                               const emp_tf_grad *out)
{
    return emp_tf_dense(emp_tf_op2(tf, type, NULL, (emp_port){op, 0}, out[0].values));
}

EMP_TF_GRAD(sigmoid) { in[0] = from_output(tf, "SigmoidGrad", op, out); }

EMP_TF_GRAD(tanh) { in[0] = from_output(tf, "TanhGrad", op, out); }

EMP_TF_GRAD(rsqrt) { in[0] = from_output(tf, "RsqrtGrad", op, out); }

/* ---- sums and products ------------------------------------------------------------- */

EMP_TF_GRAD(add_n)
{
    for (int32_t i = 0; i < emp_graph_builder_input_count(tf->builder, op); i++) {
        in[i] = out[0];
    }
}

EMP_TF_GRAD(matmul) { emp_tf_matmul_grads(tf, op, "MatMul", out[0].values, in); }

EMP_TF_GRAD(batch_matmul)
{
    emp_tf_matmul_grads(tf, op, "BatchMatMul", out[0].values, in);
}

/* ---- reductions -------------------------------------------------------------------- */

/* math_ops.reduced_shape(): the input's sizes with 1 along the reduced axes. */
static emp_port reduced_sizes(emp_tf *tf, emp_port sizes, emp_port axes)
{
    emp_port  rank = emp_tf_size_of(tf, sizes);
    emp_port  wrapped = emp_tf_op2(tf, "Add", "add", axes, rank);
    emp_shape axes_shape = emp_tf_shape(tf, axes);

    wrapped = emp_tf_op2(tf, "FloorMod", "mod", wrapped, rank);
    emp_port    axes_size = emp_tf_dims(tf, NULL, "Shape", &axes_shape);
    const char *full = emp_tf_unique(tf, "range");
    emp_port    start = emp_tf_int(tf, full, "start", 0);
    emp_port    delta = emp_tf_int(tf, full, "delta", 1);
    emp_port    range =
        emp_tf_emit(tf, full, "Range", NULL, EMP_TF_PORTS(start, rank, delta));
    full = emp_tf_unique(tf, "Fill");
    emp_port     one = emp_tf_int(tf, full, "value", 1);
    emp_port     ones = emp_tf_emit(tf, full, "Fill", NULL, EMP_TF_PORTS(axes_size, one));
    emp_op_attrs two = {.count = 2};
    return emp_tf_op(tf, "DynamicStitch", NULL, &two,
                     EMP_TF_PORTS(range, wrapped, sizes, ones));
}

/* A sum of everything: its gradient, repeated for each element. */
static emp_port tile_scalar(emp_tf *tf, emp_port grad, const emp_shape *shape)
{
    emp_shape ones = {.rank = shape->rank};

    for (int32_t d = 0; d < ones.rank; d++) ones.dim[d] = 1;
    grad = emp_tf_reshape(tf, grad, ones);
    const char *full = emp_tf_unique(tf, "Tile");
    emp_port    multiples = emp_tf_dims(tf, full, "multiples", shape);
    return emp_tf_emit(tf, full, "Tile", NULL, EMP_TF_PORTS(grad, multiples));
}

static bool reduces_all(const emp_tf *tf, emp_op_id op, const emp_shape *shape)
{
    emp_shape axes = emp_tf_shape(tf, emp_tf_input(tf, op, 1));

    return emp_shape_elements(&axes) == shape->rank;
}

static emp_port sum_grad(emp_tf *tf, emp_op_id op, emp_port grad)
{
    emp_port  x = emp_tf_input(tf, op, 0), axes = emp_tf_input(tf, op, 1);
    emp_shape shape = emp_tf_shape(tf, x);

    if (reduces_all(tf, op, &shape)) return tile_scalar(tf, grad, &shape);
    emp_port sizes = emp_tf_shape_of(tf, x);
    emp_port kept = reduced_sizes(tf, sizes, axes);
    emp_port at_least_one = emp_tf_op_y(tf, "Maximum", "Maximum", kept, 1.0);
    emp_port multiples = emp_tf_op2(tf, "FloorDiv", "floordiv", sizes, at_least_one);
    grad = emp_tf_reshape_to(tf, grad, kept);
    return emp_tf_op2(tf, "Tile", NULL, grad, multiples);
}

EMP_TF_GRAD(sum) { in[0] = emp_tf_dense(sum_grad(tf, op, out[0].values)); }

EMP_TF_GRAD(mean)
{
    emp_shape x = emp_tf_shape(tf, emp_tf_input(tf, op, 0));
    emp_shape y = emp_tf_shape(tf, (emp_port){op, 0});
    emp_port  sum = sum_grad(tf, op, out[0].values);
    int64_t   outputs = emp_shape_elements(&y);
    double    factor = (double)(emp_shape_elements(&x) / (outputs > 0 ? outputs : 1));
    emp_port  divisor = emp_tf_float(tf, NULL, "Const", factor);

    in[0] = emp_tf_dense(emp_tf_op2(tf, "RealDiv", "truediv", sum, divisor));
}

/* Gradient functions of ops that move elements: array_grad.py. */

EMP_TF_GRAD(identity)
{
    (void)tf;
    in[0] = out[0];
}

/* For Reshape, ExpandDims and Squeeze. */
EMP_TF_GRAD(reshape)
{
    emp_port sizes = emp_tf_shape_of(tf, emp_tf_input(tf, op, 0));

    in[0] = emp_tf_dense(emp_tf_reshape_to(tf, out[0].values, sizes));
}

EMP_TF_GRAD(transpose)
{
    emp_port inverse = emp_tf_op1(tf, "InvertPermutation", NULL, emp_tf_input(tf, op, 1));

    in[0] =
        emp_tf_dense(emp_tf_op2(tf, "Transpose", "transpose", out[0].values, inverse));
}

EMP_TF_GRAD(fill)
{
    in[1] = emp_tf_dense(emp_tf_reduce_all(tf, "Sum", NULL, out[0].values));
}

/* ---- joining and splitting --------------------------------------------------------- */

EMP_TF_GRAD(pack)
{
    const emp_op_attrs *attrs = emp_graph_builder_attrs(tf->builder, op);
    int32_t             count = emp_graph_builder_input_count(tf->builder, op);
    emp_port            slices = emp_tf_unstack(tf, out[0].values, count, attrs->axis);

    for (int32_t i = 0; i < count; i++) {
        in[i] = emp_tf_dense((emp_port){slices.op, i});
    }
}

EMP_TF_GRAD(unpack)
{
    const emp_op_attrs *attrs = emp_graph_builder_attrs(tf->builder, op);
    int32_t             count = emp_graph_builder_output_count(tf->builder, op);
    emp_port            values[EMP_MAX_OUTPUTS];

    for (int32_t o = 0; o < count; o++) values[o] = out[o].values;
    in[0] = emp_tf_dense(emp_tf_stack(tf, NULL, values, count, attrs->axis));
}

/* Joins the gradients of all parts along \a axis, which serves again. */
static emp_tf_grad join(emp_tf *tf, emp_op_id op, const emp_tf_grad *out, emp_port axis)
{
    int32_t      count = emp_graph_builder_output_count(tf->builder, op);
    emp_op_attrs attrs = {.count = count};
    emp_port     inputs[EMP_MAX_OUTPUTS + 1];

    for (int32_t o = 0; o < count; o++) inputs[o] = out[o].values;
    inputs[count] = axis;
    return emp_tf_dense(emp_tf_op(tf, "ConcatV2", "concat", &attrs, inputs, count + 1));
}

EMP_TF_GRAD(split) { in[1] = join(tf, op, out, emp_tf_input(tf, op, 0)); }

EMP_TF_GRAD(split_v) { in[0] = join(tf, op, out, emp_tf_input(tf, op, 2)); }

/* Few inputs: one Slice each, at the offsets that ConcatOffset computes. */
static void slice_apart(emp_tf *tf, emp_port grad, emp_port axis, const emp_port *sizes,
                        int32_t count, emp_tf_grad *in)
{
    emp_op_attrs attrs = {.count = count};
    emp_port     inputs[1 + EMP_MAX_OUTPUTS];

    inputs[0] = axis;
    for (int32_t i = 0; i < count; i++) inputs[1 + i] = sizes[i];
    emp_port offset = emp_tf_op(tf, "ConcatOffset", NULL, &attrs, inputs, 1 + count);
    for (int32_t i = 0; i < count; i++) {
        emp_port begin = {offset.op, i};
        in[i] = emp_tf_dense(emp_tf_slice(tf, grad, begin, sizes[i]));
    }
}

/* Many inputs: one SplitV, whose sizes are the row "axis" of all shapes side by side. */
static void split_apart(emp_tf *tf, emp_port grad, emp_port axis, const emp_port *sizes,
                        int32_t count, emp_tf_grad *in)
{
    emp_port    all = emp_tf_stack(tf, NULL, sizes, count, 1);
    const char *slice = emp_tf_unique(tf, "Slice");
    const char *outer = emp_tf_reenter(tf, emp_tf_join(tf, slice, "/", ""));
    emp_port    begin = emp_tf_stack_int(tf, "begin", axis, 0);
    emp_port    size = emp_tf_ints(tf, NULL, "size", (int64_t[]){1, -1}, 2);

    emp_tf_leave(tf, outer);
    emp_port row = emp_tf_emit(tf, slice, "Slice", NULL, EMP_TF_PORTS(all, begin, size));
    row = emp_tf_squeeze(tf, NULL, row, 0);
    emp_op_attrs attrs = {.count = count};
    emp_port     parts =
        emp_tf_op(tf, "SplitV", "split", &attrs, EMP_TF_PORTS(grad, row, axis));
    for (int32_t i = 0; i < count; i++) in[i] = emp_tf_dense((emp_port){parts.op, i});
}

EMP_TF_GRAD(concat)
{
    enum { MANY = 16 };
    int32_t  count = emp_graph_builder_input_count(tf->builder, op) - 1;
    emp_port sizes[EMP_MAX_OUTPUTS];
    emp_port grad = out[0].values;
    emp_port rank =
        emp_tf_int(tf, NULL, "Rank", emp_tf_shape(tf, (emp_port){op, 0}).rank);
    emp_port axis = emp_tf_op2(tf, "FloorMod", "mod", emp_tf_input(tf, op, count), rank);

    for (int32_t i = 0; i < count; i++) {
        sizes[i] = emp_tf_shape_of(tf, emp_tf_input(tf, op, i));
    }
    if (count > MANY) {
        split_apart(tf, grad, axis, sizes, count, in);
    } else {
        slice_apart(tf, grad, axis, sizes, count, in);
    }
}

/* ---- parts of a tensor ------------------------------------------------------------- */

/* Pads the gradient of a part with zeros to the size of the whole. */
EMP_TF_GRAD(slice)
{
    emp_port whole = emp_tf_input(tf, op, 0), begin = emp_tf_input(tf, op, 1);
    emp_port part = {op, 0};
    emp_port rank = emp_tf_int(tf, NULL, "Rank", emp_tf_shape(tf, whole).rank);
    emp_port size = emp_tf_shape_of(tf, part);
    emp_port column = emp_tf_stack_int(tf, NULL, rank, 1);
    emp_port before = emp_tf_reshape_to(tf, begin, column);
    emp_port after = emp_tf_op2(tf, "Sub", "sub", emp_tf_shape_of(tf, whole), size);
    after = emp_tf_op2(tf, "Sub", "sub", after, begin);
    after = emp_tf_reshape_to(tf, after, column);
    const emp_port both[] = {before, after};
    emp_port       paddings = emp_tf_concat(tf, NULL, both, 2, 1);

    in[0] = emp_tf_dense(emp_tf_op2(tf, "Pad", NULL, out[0].values, paddings));
}

EMP_TF_GRAD(pad)
{
    emp_port x = emp_tf_input(tf, op, 0), paddings = emp_tf_input(tf, op, 1);
    emp_port rank = emp_tf_int(tf, NULL, "Rank", emp_tf_shape(tf, x).rank);
    emp_port column = emp_tf_stack_int(tf, NULL, rank, 1);
    emp_port before = emp_tf_slice_first(tf, paddings, column, 2);
    emp_port begin = emp_tf_reshape(tf, before, EMP_SHAPE(-1));
    emp_port size = emp_tf_shape_of(tf, x);

    in[0] = emp_tf_dense(emp_tf_slice(tf, out[0].values, begin, size));
}

/* The gradient of a lookup is sparse: rows of values at the looked-up indices. */
EMP_TF_GRAD(gather)
{
    if (tf->torch_gradients) {
        emp_tf_grad_lookup(tf, op, out, in);
        return;
    }
    emp_port     indices = emp_tf_input(tf, op, 1);
    emp_shape    table = emp_tf_shape(tf, emp_tf_input(tf, op, 0));
    emp_tf_range rest = {.begin = 1, .end = 0, .end_mask = true};
    emp_port     table_size = emp_tf_const(tf, NULL, "Shape", EMP_DTYPE_INT64,
                                           EMP_SHAPE(table.rank), table.dim, table.rank);

    table_size = emp_tf_cast(tf, "ToInt32", table_size, EMP_DTYPE_INT32);
    emp_port       count = emp_tf_expand_dims(tf, emp_tf_size_of(tf, indices), 0);
    const emp_port parts[] = {count, emp_tf_strided_slice(tf, table_size, rest)};
    emp_port       size = emp_tf_concat(tf, NULL, parts, 2, 0);

    in[0].values = emp_tf_reshape_to(tf, out[0].values, size);
    in[0].indices = emp_tf_reshape_to(tf, indices, count);
}

/* ---- while loops: control_flow_grad.py ---- */

static emp_tf_grad pass(emp_tf *tf, const char *type, const char *name, emp_tf_grad grad)
{
    return emp_tf_dense(emp_tf_op1(tf, type, name, grad.values));
}

EMP_TF_GRAD(enter) { in[0] = pass(tf, "Exit", NULL, out[0]); }

EMP_TF_GRAD(exit) { in[0] = pass(tf, "Enter", NULL, out[0]); }

/* From iteration to iteration, as forward; Merge and Switch are Identities here too. */
EMP_TF_GRAD(next_iteration)
{
    emp_tf_grad grad = pass(tf, "NextIteration", NULL, out[0]);

    grad = pass(tf, "Identity", "Merge", grad);
    in[0] = pass(tf, "Identity", "Switch", grad);
}

/* Gradient functions of neural-network ops: nn_grad.py. */

EMP_TF_GRAD(relu)
{
    in[0] =
        emp_tf_dense(emp_tf_op2(tf, "ReluGrad", NULL, out[0].values, (emp_port){op, 0}));
}

EMP_TF_GRAD(l2_loss)
{
    in[0] = emp_tf_dense(
        emp_tf_op2(tf, "Mul", "mul", emp_tf_input(tf, op, 0), out[0].values));
}

EMP_TF_GRAD(bias_add)
{
    const emp_op_attrs *forward = emp_graph_builder_attrs(tf->builder, op);
    emp_op_attrs        attrs = {.is_nchw = forward->is_nchw};

    in[0] = out[0];
    in[1] = emp_tf_dense(emp_tf_op(tf, "BiasAddGrad", NULL, &attrs, &out[0].values, 1));
}

EMP_TF_GRAD(conv2d)
{
    emp_op_attrs attrs = *emp_graph_builder_attrs(tf->builder, op);
    emp_port     x = emp_tf_input(tf, op, 0), filter = emp_tf_input(tf, op, 1);
    emp_shape    x_shape = emp_tf_shape(tf, x), filter_shape = emp_tf_shape(tf, filter);
    emp_port     grad = out[0].values;
    emp_op_attrs two = {.count = 2};

    emp_tf_op(tf, "ShapeN", NULL, &two, EMP_TF_PORTS(x, filter));
    /* shape_n() gives constants, made one by one, for what Python knows. */
    emp_port x_size = emp_tf_dims(tf, NULL, "Const", &x_shape);
    emp_port filter_size = emp_tf_dims(tf, NULL, "Const", &filter_shape);
    in[0] = emp_tf_dense(emp_tf_op(tf, "Conv2DBackpropInput", NULL, &attrs,
                                   EMP_TF_PORTS(x_size, filter, grad)));
    in[1] = emp_tf_dense(emp_tf_op(tf, "Conv2DBackpropFilter", NULL, &attrs,
                                   EMP_TF_PORTS(x, filter_size, grad)));
}

EMP_TF_GRAD(depthwise)
{
    const emp_op_attrs *attrs = emp_graph_builder_attrs(tf->builder, op);
    emp_port            x = emp_tf_input(tf, op, 0), filter = emp_tf_input(tf, op, 1);
    emp_port            x_size = emp_tf_shape_of(tf, x);
    emp_port            filter_size = emp_tf_shape_of(tf, filter);

    in[0] = emp_tf_dense(emp_tf_op(tf, "DepthwiseConv2dNativeBackpropInput", NULL, attrs,
                                   EMP_TF_PORTS(x_size, filter, out[0].values)));
    in[1] = emp_tf_dense(emp_tf_op(tf, "DepthwiseConv2dNativeBackpropFilter", NULL, attrs,
                                   EMP_TF_PORTS(x, filter_size, out[0].values)));
}

EMP_TF_GRAD(lrn)
{
    const emp_op_attrs *attrs = emp_graph_builder_attrs(tf->builder, op);
    emp_port            x = emp_tf_input(tf, op, 0), y = {op, 0};

    in[0] = emp_tf_dense(
        emp_tf_op(tf, "LRNGrad", NULL, attrs, EMP_TF_PORTS(out[0].values, x, y)));
}

EMP_TF_GRAD(max_pool)
{
    const emp_op_attrs *attrs = emp_graph_builder_attrs(tf->builder, op);
    emp_port            x = emp_tf_input(tf, op, 0), y = {op, 0};

    in[0] = emp_tf_dense(
        emp_tf_op(tf, "MaxPoolGrad", NULL, attrs, EMP_TF_PORTS(x, y, out[0].values)));
}

EMP_TF_GRAD(avg_pool)
{
    const emp_op_attrs *attrs = emp_graph_builder_attrs(tf->builder, op);
    emp_port            size = emp_tf_shape_of(tf, emp_tf_input(tf, op, 0));

    in[0] = emp_tf_dense(
        emp_tf_op(tf, "AvgPoolGrad", NULL, attrs, EMP_TF_PORTS(size, out[0].values)));
}

/* Five gradients, also for the two statistics that only inference reads. */
EMP_TF_GRAD(fused_batch_norm)
{
    const emp_op_attrs *attrs = emp_graph_builder_attrs(tf->builder, op);
    emp_port            x = emp_tf_input(tf, op, 0), scale = emp_tf_input(tf, op, 1);
    emp_port            saved_mean = {op, 3}, saved_variance = {op, 4};
    emp_port            grads =
        emp_tf_op(tf, "FusedBatchNormGrad", NULL, attrs,
                  EMP_TF_PORTS(out[0].values, x, scale, saved_mean, saved_variance));

    for (int32_t i = 0; i < 5; i++) in[i] = emp_tf_dense((emp_port){grads.op, i});
}

/* (dy - sum(dy * y)) * y */
EMP_TF_GRAD(softmax)
{
    if (tf->torch_gradients) {
        emp_tf_grad_softmax_kernel(tf, op, out, in);
        return;
    }
    emp_port grad = out[0].values, softmax = {op, 0};
    int64_t  rows = 1;
    emp_port product = emp_tf_op2(tf, "Mul", "mul", grad, softmax);
    emp_port sums = emp_tf_reduce(tf, "Sum", NULL, product, &rows, 1, false);

    sums = emp_tf_reshape(tf, sums, EMP_SHAPE(-1, 1));
    emp_port difference = emp_tf_op2(tf, "Sub", "sub", grad, sums);
    in[0] = emp_tf_dense(emp_tf_op2(tf, "Mul", "mul", difference, softmax));
}

/* One weight per row times a matrix. */
static emp_tf_grad scale_rows(emp_tf *tf, emp_port weights, emp_port matrix)
{
    weights = emp_tf_expand_dims(tf, weights, -1);
    return emp_tf_dense(emp_tf_op2(tf, "Mul", "mul", weights, matrix));
}

/* The kernel computed d loss / d logits on the way forward: output 1. */
EMP_TF_GRAD(softmax_cross_entropy)
{
    in[0] = scale_rows(tf, out[0].values, (emp_port){op, 1});
    emp_port log = emp_tf_op1(tf, "LogSoftmax", NULL, emp_tf_input(tf, op, 0));
    in[1] = scale_rows(tf, out[0].values, emp_tf_op1(tf, "Neg", NULL, log));
}

EMP_TF_GRAD(sparse_softmax_cross_entropy)
{
    emp_port matrix = emp_tf_op1(tf, "PreventGradient", NULL, (emp_port){op, 1});

    in[0] = scale_rows(tf, out[0].values, matrix);
}
