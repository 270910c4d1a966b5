// SPDX-License-Identifier: GPL-3.0-or-later
/* Gradient functions of ops that move elements: array_grad.py. */
#include "graphs/tensorflow/tf_grad_internal.h"
#include "graphs/tensorflow/tf_ops.h"

EMP_TF_GRAD(identity)
{
    (void)tf;
    in[0] = out[0];
}

/* Of Reshape, ExpandDims and Squeeze alike. */
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
    emp_port begin = emp_tf_reshape(tf, NULL, before, EMP_SHAPE(-1));
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
