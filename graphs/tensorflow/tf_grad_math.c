// SPDX-License-Identifier: GPL-3.0-or-later
/* Gradient functions of arithmetic: math_grad.py. */
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

void emp_tf_matmul_grads(emp_tf *tf, emp_op_id op, const char *type, emp_port grad,
                         emp_tf_grad *in)
{
    const emp_op_attrs *attrs = emp_graph_builder_attrs(tf->builder, op);
    bool                ta = attrs->transpose_a, tb = attrs->transpose_b;
    emp_port            a = emp_tf_input(tf, op, 0), b = emp_tf_input(tf, op, 1);
    emp_port            grad_a = ta ? emp_tf_matmul(tf, type, b, grad, tb, true)
                                    : emp_tf_matmul(tf, type, grad, b, false, !tb);
    emp_port            grad_b = tb ? emp_tf_matmul(tf, type, grad, a, true, ta)
                                    : emp_tf_matmul(tf, type, a, grad, !ta, false);

    in[0] = emp_tf_dense(grad_a);
    in[1] = emp_tf_dense(grad_b);
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
    grad = emp_tf_reshape(tf, NULL, grad, ones);
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
