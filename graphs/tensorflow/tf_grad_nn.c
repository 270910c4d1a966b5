// SPDX-License-Identifier: GPL-3.0-or-later
/* Gradient functions of neural-network ops: nn_grad.py. */
#include "graphs/tensorflow/tf_grad_internal.h"
#include "graphs/tensorflow/tf_ops.h"

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

    sums = emp_tf_reshape(tf, NULL, sums, EMP_SHAPE(-1, 1));
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
