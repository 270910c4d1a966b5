// SPDX-License-Identifier: GPL-3.0-or-later
/* Gradient functions of what models of today have beside r1.3's ops, as PyTorch computes them. */
#include "graphs/tensorflow/tf_grad_internal.h"
#include "graphs/tensorflow/tf_ops.h"

emp_port emp_tf_input(const emp_tf *tf, emp_op_id op, int32_t i)
{
    return emp_graph_builder_input(tf->builder, op, i);
}

emp_tf_grad emp_tf_dense(emp_port values) { return (emp_tf_grad){values, EMP_TF_NONE}; }

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

/* A kernel of its own: (dy, x), or (dy, y). */
static emp_tf_grad of_input(emp_tf *tf, const char *type, emp_op_id op, emp_port dy)
{
    return emp_tf_dense(emp_tf_op2(tf, type, NULL, dy, emp_tf_input(tf, op, 0)));
}

static emp_tf_grad of_output(emp_tf *tf, const char *type, emp_op_id op, emp_port dy)
{
    return emp_tf_dense(emp_tf_op2(tf, type, NULL, dy, (emp_port){op, 0}));
}

#define GRAD_OF_INPUT(name, type) \
    EMP_TF_GRAD(name) { in[0] = of_input(tf, type, op, out[0].values); }
#define GRAD_OF_OUTPUT(name, type) \
    EMP_TF_GRAD(name) { in[0] = of_output(tf, type, op, out[0].values); }

GRAD_OF_INPUT(clip, "ClipByValueGrad")
GRAD_OF_INPUT(erf, "ErfGrad")
GRAD_OF_INPUT(gelu, "GeluGrad")
GRAD_OF_INPUT(hard_sigmoid, "HardSigmoidGrad")
GRAD_OF_INPUT(hard_swish, "HardSwishGrad")
GRAD_OF_INPUT(leaky_relu, "LeakyReluGrad")
GRAD_OF_INPUT(mish, "MishGrad")
GRAD_OF_INPUT(silu, "SiluGrad")
GRAD_OF_INPUT(softplus, "SoftplusGrad")
GRAD_OF_INPUT(softsign, "SoftsignGrad")
GRAD_OF_INPUT(log, "RealDiv")
GRAD_OF_OUTPUT(elu, "EluGrad")
GRAD_OF_OUTPUT(exp, "Mul")
GRAD_OF_OUTPUT(log_softmax, "LogSoftmaxGrad")
GRAD_OF_OUTPUT(reciprocal, "ReciprocalGrad")
GRAD_OF_OUTPUT(softmax_kernel, "SoftmaxGrad")
GRAD_OF_OUTPUT(selu, "SeluGrad")
GRAD_OF_OUTPUT(sqrt, "SqrtGrad")

EMP_TF_GRAD(neg) { in[0] = emp_tf_dense(emp_tf_op1(tf, "Neg", NULL, out[0].values)); }

/* dy * f(x) of one op f. */
static emp_tf_grad times(emp_tf *tf, const char *type, emp_op_id op, emp_port dy)
{
    emp_port factor = emp_tf_op1(tf, type, NULL, emp_tf_input(tf, op, 0));

    return emp_tf_dense(emp_tf_op2(tf, "Mul", NULL, dy, factor));
}

EMP_TF_GRAD(abs) { in[0] = times(tf, "Sign", op, out[0].values); }

EMP_TF_GRAD(sin) { in[0] = times(tf, "Cos", op, out[0].values); }

EMP_TF_GRAD(cos)
{
    emp_tf_grad grad = times(tf, "Sin", op, out[0].values);

    in[0] = emp_tf_dense(emp_tf_op1(tf, "Neg", NULL, grad.values));
}

EMP_TF_GRAD(cast)
{
    in[0] = emp_tf_dense(
        emp_tf_cast(tf, NULL, out[0].values, emp_tf_dtype(tf, emp_tf_input(tf, op, 0))));
}

/* ---- operands that are broadcast ---- */

/* Sums a gradient over the dims along which an operand of that shape was broadcast. */
static emp_port sum_to(emp_tf *tf, emp_port grad, emp_shape shape)
{
    emp_shape from = emp_tf_shape(tf, grad);
    int64_t   axes[EMP_MAX_RANK];
    int32_t   count = 0;

    if (!emp_tf_is_ok(tf) || emp_shape_equal(&from, &shape)) return grad;
    for (int32_t d = 0; d < from.rank; d++) {
        int32_t own = d - (from.rank - shape.rank);
        if (own < 0 || (shape.dim[own] == 1 && from.dim[d] != 1)) axes[count++] = d;
    }
    if (count > 0) grad = emp_tf_reduce(tf, "Sum", NULL, grad, axes, count, false);
    return emp_tf_reshape(tf, grad, shape);
}

static emp_tf_grad dense_sum_to(emp_tf *tf, emp_port grad, emp_port operand)
{
    return emp_tf_dense(sum_to(tf, grad, emp_tf_shape(tf, operand)));
}

/* d(x^y) = y x^(y - 1) dx; exponents are constants. */
EMP_TF_GRAD(pow)
{
    emp_port x = emp_tf_input(tf, op, 0), y = emp_tf_input(tf, op, 1);
    emp_port less = emp_tf_op_y(tf, "Sub", "sub", y, 1.0);
    emp_port power = emp_tf_op2(tf, "Pow", NULL, x, less);
    emp_port factor = emp_tf_op2(tf, "Mul", NULL, power, y);

    in[0] = dense_sum_to(tf, emp_tf_op2(tf, "Mul", NULL, out[0].values, factor), x);
}

static emp_port zero(emp_tf *tf, emp_port like)
{
    int64_t none = 0;

    return emp_tf_const(tf, NULL, "zero", emp_tf_dtype(tf, like), EMP_SHAPE_SCALAR, &none,
                        1);
}

static emp_port choose(emp_tf *tf, emp_port condition, emp_port a, emp_port b)
{
    return emp_tf_op(tf, "SelectV2", NULL, NULL, EMP_TF_PORTS(condition, a, b));
}

/* The larger operand has the gradient, or the smaller. */
static void choose_operand(emp_tf *tf, emp_op_id op, const char *test, emp_port dy,
                           emp_tf_grad *in)
{
    emp_port x = emp_tf_input(tf, op, 0), y = emp_tf_input(tf, op, 1);
    emp_port is_x = emp_tf_op2(tf, test, NULL, x, y), none = zero(tf, dy);

    in[0] = dense_sum_to(tf, choose(tf, is_x, dy, none), x);
    in[1] = dense_sum_to(tf, choose(tf, is_x, none, dy), y);
}

EMP_TF_GRAD(maximum) { choose_operand(tf, op, "GreaterEqual", out[0].values, in); }

EMP_TF_GRAD(minimum) { choose_operand(tf, op, "LessEqual", out[0].values, in); }

EMP_TF_GRAD(select_v2)
{
    emp_port condition = emp_tf_input(tf, op, 0), dy = out[0].values, none = zero(tf, dy);

    in[1] = dense_sum_to(tf, choose(tf, condition, dy, none), emp_tf_input(tf, op, 1));
    in[2] = dense_sum_to(tf, choose(tf, condition, none, dy), emp_tf_input(tf, op, 2));
}

EMP_TF_GRAD(broadcast_to)
{
    in[0] = dense_sum_to(tf, out[0].values, emp_tf_input(tf, op, 0));
}

EMP_TF_GRAD(prelu)
{
    emp_port inputs[] = {out[0].values, emp_tf_input(tf, op, 0), emp_tf_input(tf, op, 1)};
    emp_op_attrs attrs = {.count = 2};
    emp_port     grads = emp_tf_op(tf, "PReluGrad", NULL, &attrs, inputs, 3);

    in[0] = emp_tf_dense(grads);
    in[1] = emp_tf_dense((emp_port){grads.op, 1});
}

/* Max and Min over axes: where the input is the result. */
EMP_TF_GRAD(extreme)
{
    emp_port  x = emp_tf_input(tf, op, 0), axes = emp_tf_input(tf, op, 1);
    emp_shape kept = emp_tf_shape(tf, x);

    if (!emp_tf_is_ok(tf)) return;
    const emp_tensor_info *list = emp_graph_builder_output(tf->builder, axes);
    for (int32_t i = 0; i < list->value_count; i++) {
        int64_t axis = list->value[i] < 0 ? list->value[i] + kept.rank : list->value[i];
        if (axis >= 0 && axis < kept.rank) kept.dim[axis] = 1;
    }
    emp_port y = emp_tf_reshape(tf, (emp_port){op, 0}, kept);
    emp_port dy = emp_tf_reshape(tf, out[0].values, kept);
    emp_port is_it = emp_tf_op2(tf, "Equal", NULL, x, y);
    in[0] = emp_tf_dense(choose(tf, is_it, dy, zero(tf, dy)));
}

/* Factors of batches that were broadcast. */
EMP_TF_GRAD(batch_matmul_v2)
{
    emp_tf_grad both[2];

    emp_tf_matmul_grads(tf, op, "BatchMatMulV2", out[0].values, both);
    in[0] = dense_sum_to(tf, both[0].values, emp_tf_input(tf, op, 0));
    in[1] = dense_sum_to(tf, both[1].values, emp_tf_input(tf, op, 1));
}

/* ---- layers ---- */

/* The forward op's attributes, with the shape of one of its inputs. */
static emp_op_attrs attrs_like(emp_tf *tf, emp_op_id op, emp_port like)
{
    emp_op_attrs attrs = *emp_graph_builder_attrs(tf->builder, op);

    attrs.shape = emp_tf_shape(tf, like);
    attrs.has_shape = true;
    attrs.dtype = emp_tf_dtype(tf, like);
    return attrs;
}

static emp_tf_grad shaped(emp_tf *tf, const char *type, emp_op_id op, emp_port like,
                          const emp_port *inputs, int32_t count)
{
    emp_op_attrs attrs = attrs_like(tf, op, like);

    return emp_tf_dense(emp_tf_op(tf, type, NULL, &attrs, inputs, count));
}

EMP_TF_GRAD(conv)
{
    emp_port x = emp_tf_input(tf, op, 0), filter = emp_tf_input(tf, op, 1);
    emp_port dy = out[0].values;

    in[0] = shaped(tf, "ConvGradInput", op, x, EMP_TF_PORTS(dy, filter));
    in[1] = shaped(tf, "ConvGradFilter", op, filter, EMP_TF_PORTS(x, dy));
    if (emp_graph_builder_input_count(tf->builder, op) < 3) return;
    emp_shape shape = emp_tf_shape(tf, dy);
    int64_t   axes[EMP_MAX_RANK];
    int32_t   count = 0;
    for (int32_t d = 0; d < shape.rank; d++)
        if (d != 1) axes[count++] = d;
    in[2] = emp_tf_dense(emp_tf_reduce(tf, "Sum", NULL, dy, axes, count, false));
}

EMP_TF_GRAD(conv_transpose)
{
    emp_port x = emp_tf_input(tf, op, 0), filter = emp_tf_input(tf, op, 1);
    emp_port dy = out[0].values;

    in[0] = shaped(tf, "Conv", op, x, EMP_TF_PORTS(dy, filter));
    in[1] = shaped(tf, "ConvGradFilter", op, filter, EMP_TF_PORTS(dy, x));
}

EMP_TF_GRAD(max_pool_nd)
{
    emp_port x = emp_tf_input(tf, op, 0);

    in[0] = shaped(tf, "MaxPoolNdGrad", op, x,
                   EMP_TF_PORTS(out[0].values, (emp_port){op, 1}, x));
}

EMP_TF_GRAD(avg_pool_nd)
{
    in[0] = shaped(tf, "AvgPoolNdGrad", op, emp_tf_input(tf, op, 0), &out[0].values, 1);
}

EMP_TF_GRAD(resize)
{
    in[0] = shaped(tf, "ResizeGrad", op, emp_tf_input(tf, op, 0), &out[0].values, 1);
}

EMP_TF_GRAD(depth_to_space)
{
    in[0] = shaped(tf, "SpaceToDepth", op, emp_tf_input(tf, op, 0), &out[0].values, 1);
}

EMP_TF_GRAD(space_to_depth)
{
    in[0] = shaped(tf, "DepthToSpace", op, emp_tf_input(tf, op, 0), &out[0].values, 1);
}

/* One kernel gives the gradients of all operands: of x, a scale, an offset; of x and weights. */
static void joint_grads(emp_tf *tf, const char *type, emp_op_id op,
                        const emp_tf_grad *out, emp_tf_grad *in)
{
    enum { MOST = 8 };
    int32_t      operands = emp_graph_builder_input_count(tf->builder, op), count = 0;
    int32_t      results = emp_graph_builder_output_count(tf->builder, op);
    emp_op_attrs attrs = {.count = operands};
    emp_port     inputs[2 * MOST];

    if (operands > MOST) operands = MOST;
    inputs[count++] = out[0].values;
    for (int32_t i = 0; i < operands; i++) inputs[count++] = emp_tf_input(tf, op, i);
    for (int32_t o = 1; o < results && count < 2 * MOST; o++)
        if (out[o].values.op >= 0) inputs[count++] = out[o].values;
    emp_port grads = emp_tf_op(tf, type, NULL, &attrs, inputs, count);
    for (int32_t i = 0; i < operands; i++) in[i] = emp_tf_dense((emp_port){grads.op, i});
}

EMP_TF_GRAD(layer_norm) { joint_grads(tf, "LayerNormGrad", op, out, in); }

EMP_TF_GRAD(rms_norm) { joint_grads(tf, "RMSNormGrad", op, out, in); }

EMP_TF_GRAD(lstm) { joint_grads(tf, "LSTMGrad", op, out, in); }

EMP_TF_GRAD(gru) { joint_grads(tf, "GRUGrad", op, out, in); }

EMP_TF_GRAD(rnn) { joint_grads(tf, "RNNGrad", op, out, in); }

/* ---- moving data ---- */

/* Adds rows to where they came from. */
EMP_TF_GRAD(lookup)
{
    emp_port table = emp_tf_input(tf, op, 0);

    in[0] = shaped(tf, "EmbeddingGrad", op, table,
                   EMP_TF_PORTS(out[0].values, emp_tf_input(tf, op, 1)));
}

/* The gradient of the sorted values; output 1 says where they were. */
EMP_TF_GRAD(partial_sort)
{
    in[0] = shaped(tf, "EmbeddingGrad", op, emp_tf_input(tf, op, 0),
                   EMP_TF_PORTS(out[0].values, (emp_port){op, 1}));
}

EMP_TF_GRAD(scatter)
{
    const char *type = emp_graph_builder_type(tf->builder, op);
    emp_port    indices = emp_tf_input(tf, op, 1), updates = emp_tf_input(tf, op, 2);
    emp_port    dy = out[0].values, zeros = emp_tf_zeros_like(tf, updates);
    bool by_element = type[0] == 'S'; /* ScatterElements, else TensorScatterUpdate */

    in[0] =
        emp_tf_dense(emp_tf_op(tf, type, NULL, NULL, EMP_TF_PORTS(dy, indices, zeros)));
    in[2] = emp_tf_dense(
        emp_tf_op2(tf, by_element ? "GatherElements" : "GatherNd", NULL, dy, indices));
}

EMP_TF_GRAD(strided_slice)
{
    emp_port     x = emp_tf_input(tf, op, 0);
    emp_op_attrs attrs = *emp_graph_builder_attrs(tf->builder, op);
    emp_port     size = emp_tf_shape_of(tf, x);

    in[0] = emp_tf_dense(
        emp_tf_op(tf, "StridedSliceGrad", NULL, &attrs,
                  EMP_TF_PORTS(size, emp_tf_input(tf, op, 1), emp_tf_input(tf, op, 2),
                               emp_tf_input(tf, op, 3), out[0].values)));
}

/* Sums over the copies: each dim becomes two, copies and size. */
EMP_TF_GRAD(tile)
{
    emp_port  x = emp_tf_input(tf, op, 0);
    emp_shape whole = emp_tf_shape(tf, (emp_port){op, 0}), part = emp_tf_shape(tf, x);
    emp_shape split = {0};
    int64_t   axes[EMP_MAX_RANK];
    int32_t   count = 0;

    for (int32_t d = 0; d < part.rank; d++) {
        int64_t copies = part.dim[d] > 0 ? whole.dim[d] / part.dim[d] : 1;
        if (split.rank + 1 + (copies > 1) > EMP_MAX_RANK) {
            emp_tf_fail(tf, emp_error_set(tf->err, EMP_EUNSUPPORTED, __FILE__, __LINE__,
                                          "op %s: its dims, and those that are repeated "
                                          "once more, are more than %d",
                                          emp_graph_builder_name(tf->builder, op),
                                          EMP_MAX_RANK));
            return;
        }
        if (copies > 1) {
            axes[count++] = split.rank;
            split.dim[split.rank++] = copies;
        }
        split.dim[split.rank++] = part.dim[d];
    }
    emp_port dy = emp_tf_reshape(tf, out[0].values, split);
    if (count > 0) dy = emp_tf_reduce(tf, "Sum", NULL, dy, axes, count, false);
    in[0] = emp_tf_dense(dy);
}

/* Sums from the other end. */
EMP_TF_GRAD(cumsum)
{
    in[0] = emp_tf_dense(
        emp_tf_op2(tf, "Cumsum", NULL, out[0].values, emp_tf_input(tf, op, 1)));
}

EMP_TF_GRAD(band_part)
{
    in[0] = emp_tf_dense(emp_tf_op(
        tf, "MatrixBandPart", NULL, NULL,
        EMP_TF_PORTS(out[0].values, emp_tf_input(tf, op, 1), emp_tf_input(tf, op, 2))));
}
