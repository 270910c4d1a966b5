// SPDX-License-Identifier: GPL-3.0-or-later
// Element-wise functions, reductions, matrix products.
#include <string.h>

#include "graphs/import/onnx/lower.h"

/* ---- element by element ---- */

void emp_onnx_lower_unary(emp_onnx_call *c, const char *word)
{
    emp_onnx_out(c, 0, emp_onnx_emit1(c, word, emp_onnx_in_port(c, 0)));
}

/* An operand, aligned to the first one as operators before version 7 do it. */
static emp_port aligned_port(emp_onnx_call *c, int32_t i)
{
    emp_shape shape = emp_onnx_in_shape(c, i), aligned = emp_onnx_aligned(c, i);
    emp_port  x = emp_onnx_in_port(c, i);

    return emp_shape_equal(&shape, &aligned) ? x : emp_onnx_reshape(c, x, aligned);
}

/* Any number of operands, two at a time. */
static void binary(emp_onnx_call *c, const char *word)
{
    emp_port sum = emp_onnx_in_port(c, 0);

    for (int32_t i = 1; i < c->in_count; i++)
        sum = emp_onnx_emit2(c, word, sum, aligned_port(c, i));
    if (c->in_count < 2) sum = emp_onnx_emit1(c, "Identity", sum);
    emp_onnx_out(c, 0, sum);
}

static void sum(emp_onnx_call *c, const char *word)
{
    emp_shape first = emp_onnx_in_shape(c, 0);
    bool      is_plain = c->in_count > 2 && c->in_count <= 64;
    emp_port  inputs[64];

    for (int32_t i = 0; is_plain && i < c->in_count; i++) {
        emp_shape shape = emp_onnx_in_shape(c, i);
        is_plain = emp_shape_equal(&first, &shape);
    }
    if (!is_plain) {
        binary(c, word);
        return;
    }
    for (int32_t i = 0; i < c->in_count; i++) inputs[i] = emp_onnx_in_port(c, i);
    emp_onnx_out(c, 0,
                 emp_onnx_emit(c, "AddN", &(emp_op_attrs){.count = c->in_count}, inputs,
                               c->in_count));
}

static void mean_of_operands(emp_onnx_call *c, const char *word)
{
    emp_port all = emp_onnx_in_port(c, 0);

    (void)word;
    for (int32_t i = 1; i < c->in_count; i++)
        all = emp_onnx_emit2(c, "Add", all, emp_onnx_in_port(c, i));
    emp_onnx_out(
        c, 0, emp_onnx_emit2(c, "RealDiv", all, emp_onnx_float_scalar(c, c->in_count)));
}

/* Squares are common enough to be distinguished. */
static void power(emp_onnx_call *c, const char *word)
{
    const emp_onnx_value *exponent = emp_onnx_in(c, 1);
    bool                  is_one = exponent != NULL && exponent->number != NULL &&
                  emp_shape_elements(&exponent->shape) == 1;

    if (is_one && exponent->number[0] == 2.0)
        emp_onnx_out(c, 0, emp_onnx_emit1(c, "Square", emp_onnx_in_port(c, 0)));
    else if (is_one && exponent->number[0] == 0.5)
        emp_onnx_out(c, 0, emp_onnx_emit1(c, "Sqrt", emp_onnx_in_port(c, 0)));
    else
        binary(c, word);
}

/* Bounds are attributes before opset 11, then inputs. */
static void clip(emp_onnx_call *c, const char *word)
{
    (void)word;
    emp_onnx_out(c, 0, emp_onnx_emit1(c, "ClipByValue", emp_onnx_in_port(c, 0)));
}

static void cast(emp_onnx_call *c, const char *word)
{
    emp_dtype     to = emp_onnx_cast_type(c);
    emp_port      x = emp_onnx_in_port(c, 0);
    emp_onnx_attr type;

    (void)word;
    if (to == EMP_DTYPE_NONE) {
        if (emp_onnx_get(c, "to", &type) && type.s.data != NULL)
            emp_onnx_refuse(c, "the element type \"%.*s\" is not known",
                            EMP_SLICE_ARG(type.s));
        else
            emp_onnx_refuse(c, "the element type %lld is not known",
                            (long long)emp_onnx_int(c, "to", 0));
        return;
    }
    emp_onnx_out(c, 0, emp_onnx_emit(c, "Cast", &(emp_op_attrs){.dtype = to}, &x, 1));
}

/* The same bits as another type of as many bits. */
static void bit_cast(emp_onnx_call *c, const char *word)
{
    const emp_onnx_value *x = emp_onnx_in(c, 0);
    emp_dtype             to = emp_onnx_cast_type(c);
    emp_port              in = emp_onnx_in_port(c, 0);

    if (x == NULL || to == EMP_DTYPE_NONE ||
        emp_dtype_bits(x->dtype) != emp_dtype_bits(to)) {
        emp_onnx_refuse(c,
                        "the element type %lld has not as many bits as that of its input",
                        (long long)emp_onnx_int(c, "to", 0));
        return;
    }
    emp_onnx_out(c, 0, emp_onnx_emit_shaped(c, word, x->shape, to, &in, 1));
}

/* Before operators of version 7 a slope for each channel has rank 1. */
static void prelu(emp_onnx_call *c, const char *word)
{
    emp_shape x = emp_onnx_in_shape(c, 0), own = emp_onnx_in_shape(c, 1);
    emp_port  slope = emp_onnx_in_port(c, 1);

    if (emp_onnx_is_before(c, 7) && own.rank == 1 && x.rank > 2) {
        while (own.rank < x.rank - 1) own.dim[own.rank++] = 1;
        slope = emp_onnx_reshape(c, slope, own);
    }
    emp_onnx_out(c, 0, emp_onnx_emit2(c, word, emp_onnx_in_port(c, 0), slope));
}

/* Scales and zero points of channels or of blocks are read as tensors; one of all elements is no more than a number. */
static void quantize(emp_onnx_call *c, const char *word)
{
    const emp_onnx_value *zero = emp_onnx_in(c, 2), *scale = emp_onnx_in(c, 1);
    bool                  is_back = strcmp(word, "DequantizeLinear") == 0;
    emp_op_attrs attrs = {.out_type = is_back ? EMP_DTYPE_FLOAT : EMP_DTYPE_UINT8};
    emp_port     x[3] = {emp_onnx_in_port(c, 0)};
    int32_t      count = 1;

    for (int32_t i = 1; i < 3; i++) {
        const emp_onnx_value *of_block = emp_onnx_in(c, i);
        if (of_block != NULL && emp_shape_elements(&of_block->shape) > 1)
            x[count++] = emp_onnx_in_port(c, i);
    }
    if (is_back && scale != NULL) attrs.out_type = scale->dtype;
    if (!is_back && zero != NULL) attrs.out_type = zero->dtype;
    emp_dtype given = emp_onnx_dtype(emp_onnx_int(c, "output_dtype", 0));
    if (given != EMP_DTYPE_NONE) attrs.out_type = given;
    emp_onnx_out(c, 0, emp_onnx_emit(c, word, &attrs, x, count));
}

/* silu(a) * b */
static void swiglu(emp_onnx_call *c, const char *word)
{
    (void)word;
    emp_onnx_out(c, 0,
                 emp_onnx_emit2(c, "Mul",
                                emp_onnx_emit1(c, "Silu", emp_onnx_in_port(c, 0)),
                                emp_onnx_in_port(c, 1)));
}

static void dynamic_quantize(emp_onnx_call *c, const char *word)
{
    emp_port y = emp_onnx_emit1(c, word, emp_onnx_in_port(c, 0));

    for (int32_t i = 0; i < 3; i++) emp_onnx_out(c, i, (emp_port){y.op, i});
}

static void cumulate(emp_onnx_call *c, const char *word)
{
    emp_port axis = emp_tf_int(c->o->tf, NULL, "axis", 0);

    emp_onnx_out(c, 0, emp_onnx_emit2(c, word, emp_onnx_in_port(c, 0), axis));
}

/* ---- reductions ---- */

/* A word such as "Square Sum Sqrt": functions before the reduction, itself, and after. */
static void reduce(emp_onnx_call *c, const char *word)
{
    emp_port x = emp_onnx_in_port(c, 0);
    bool     keep = emp_onnx_int(c, "keepdims", 1) != 0;
    uint32_t axes;
    char     type[32];

    if (emp_onnx_in(c, 1) != NULL && emp_onnx_in(c, 1)->number == NULL) {
        emp_onnx_refuse(c, "its axes depend on data");
        return;
    }
    if (!emp_onnx_read_axes(c, &axes)) {
        emp_onnx_refuse(c, "its axes are outside of rank %d",
                        emp_onnx_in_shape(c, 0).rank);
        return;
    }
    while (*word != '\0') {
        size_t length = strcspn(word, " ");
        memcpy(type, word, length);
        type[length] = '\0';
        bool is_reduction = strcmp(type, "Sum") == 0 || strcmp(type, "Mean") == 0 ||
                            strcmp(type, "Max") == 0 || strcmp(type, "Min") == 0 ||
                            strcmp(type, "Prod") == 0;
        x = is_reduction ? emp_onnx_reduce(c, type, x, axes, keep)
                         : emp_onnx_emit1(c, type, x);
        word += length;
        while (*word == ' ') word++;
    }
    emp_onnx_out(c, 0, x);
}

static void arg_reduce(emp_onnx_call *c, const char *word)
{
    emp_shape    shape = emp_onnx_in_shape(c, 0);
    int32_t      axis = emp_onnx_axis(c, emp_onnx_int(c, "axis", 0), shape.rank);
    emp_op_attrs attrs = {.keep_dims = emp_onnx_int(c, "keepdims", 1) != 0};
    emp_port     where_to = emp_tf_int(c->o->tf, NULL, "axis", axis);

    emp_onnx_out(
        c, 0,
        emp_onnx_emit(c, word, &attrs, EMP_TF_PORTS(emp_onnx_in_port(c, 0), where_to)));
}

/* ---- products ---- */

/* A factor with its transpose taken out where the product can do it. */
static emp_port factor(emp_onnx_call *c, int32_t i, bool *transpose)
{
    emp_onnx_value *value = emp_onnx_in(c, i);

    if (value != NULL && value->transposed != NULL && value->port.op < 0) {
        *transpose = !*transpose;
        return emp_onnx_port(c->o, value->transposed);
    }
    return emp_onnx_in_port(c, i);
}

/* x [..., k] by a matrix: all leading dims are rows of one product, as in PyTorch. */
static emp_port product_with_matrix(emp_onnx_call *c)
{
    emp_shape    shape = emp_onnx_in_shape(c, 0);
    emp_op_attrs attrs = {0};
    emp_port     x = emp_onnx_in_port(c, 0), w = factor(c, 1, &attrs.transpose_b);
    emp_shape    rows = {.rank = 2, .dim = {1, shape.dim[shape.rank - 1]}};

    for (int32_t d = 0; d < shape.rank - 1; d++)
        if (__builtin_mul_overflow(rows.dim[0], shape.dim[d], &rows.dim[0])) {
            emp_onnx_refuse(c, "a product of more than 2^63 rows");
            return EMP_TF_NONE;
        }
    bool is_flat = shape.rank == 2;
    if (!is_flat) {
        const bool had_name = c->has_name;
        c->has_name = true; /* the product has the node's name, not the reshaping */
        x = emp_onnx_reshape(c, x, rows);
        c->has_name = had_name;
    }
    emp_port y = emp_onnx_emit(c, "MatMul", &attrs, EMP_TF_PORTS(x, w));
    if (is_flat || y.op < 0 || !emp_tf_is_ok(c->o->tf)) return y;
    emp_shape made = emp_tf_shape(c->o->tf, y);
    shape.dim[shape.rank - 1] = made.dim[1];
    return emp_onnx_reshape(c, y, shape);
}

/* Vectors count as matrices of one row or column, which go away again. */
static emp_port product_with_vector(emp_onnx_call *c, int32_t second, const char *type,
                                    const emp_op_attrs *attrs)
{
    emp_shape a = emp_onnx_in_shape(c, 0), b = emp_onnx_in_shape(c, second);
    emp_port  x = emp_onnx_in_port(c, 0), y = emp_onnx_in_port(c, second);

    if (a.rank == 1) x = emp_onnx_reshape(c, x, EMP_SHAPE(1, a.dim[0]));
    if (b.rank == 1) y = emp_onnx_reshape(c, y, EMP_SHAPE(b.dim[0], 1));
    emp_port z = emp_onnx_emit(c, type, attrs, EMP_TF_PORTS(x, y));
    if (z.op < 0 || !emp_tf_is_ok(c->o->tf)) return EMP_TF_NONE;
    emp_shape made = emp_tf_shape(c->o->tf, z), shape = {0};
    for (int32_t d = 0; d < made.rank; d++) {
        bool is_added =
            (a.rank == 1 && d == made.rank - 2) || (b.rank == 1 && d == made.rank - 1);
        if (!is_added) shape.dim[shape.rank++] = made.dim[d];
    }
    return emp_onnx_reshape(c, z, shape);
}

emp_port emp_onnx_product(emp_onnx_call *c)
{
    emp_shape    a = emp_onnx_in_shape(c, 0), b = emp_onnx_in_shape(c, 1);
    emp_op_attrs attrs = {0};

    if (a.rank < 1 || b.rank < 1) {
        emp_onnx_refuse(c, "a product of tensors of rank %d and %d", a.rank, b.rank);
        return EMP_TF_NONE;
    }
    if (a.rank >= 2 && b.rank == 2) return product_with_matrix(c);
    if (a.rank >= 2 && b.rank >= 2) {
        emp_port left = factor(c, 0, &attrs.transpose_a);
        emp_port right = factor(c, 1, &attrs.transpose_b);
        bool     is_same = a.rank == b.rank;
        for (int32_t d = 0; is_same && d < a.rank - 2; d++)
            is_same = a.dim[d] == b.dim[d];
        return emp_onnx_emit(c, is_same ? "BatchMatMul" : "BatchMatMulV2", &attrs,
                             EMP_TF_PORTS(left, right));
    }
    return product_with_vector(c, 1, "BatchMatMulV2", &attrs);
}

emp_port emp_onnx_integer_product(emp_onnx_call *c, int32_t second, emp_dtype dtype)
{
    emp_shape    a = emp_onnx_in_shape(c, 0), b = emp_onnx_in_shape(c, second);
    emp_op_attrs attrs = {.out_type = dtype};

    if (a.rank < 1 || b.rank < 1) {
        emp_onnx_refuse(c, "a product of tensors of rank %d and %d", a.rank, b.rank);
        return EMP_TF_NONE;
    }
    if (a.rank < 2 || b.rank < 2)
        return product_with_vector(c, second, "MatMulInteger", &attrs);
    return emp_onnx_emit(
        c, "MatMulInteger", &attrs,
        EMP_TF_PORTS(emp_onnx_in_port(c, 0), emp_onnx_in_port(c, second)));
}

static void matmul(emp_onnx_call *c, const char *word)
{
    (void)word;
    emp_onnx_out(c, 0, emp_onnx_product(c));
}

static void gemm(emp_onnx_call *c, const char *word)
{
    emp_op_attrs attrs = {.transpose_a = emp_onnx_int(c, "transA", 0) != 0,
                          .transpose_b = emp_onnx_int(c, "transB", 0) != 0};
    emp_port a = factor(c, 0, &attrs.transpose_a), b = factor(c, 1, &attrs.transpose_b);
    emp_port y = emp_onnx_emit(c, "MatMul", &attrs, EMP_TF_PORTS(a, b));

    (void)word;
    if (emp_onnx_in(c, 2) != NULL && emp_onnx_float(c, "beta", 1.0) != 0.0) {
        bool is_vector = emp_onnx_in_shape(c, 2).rank == 1;
        y = emp_onnx_emit2(c, is_vector ? "BiasAdd" : "Add", y, emp_onnx_in_port(c, 2));
    }
    emp_onnx_out(c, 0, emp_onnx_activated(c, y));
}

/* Integer products; scales and zero points are a few numbers beside them. */
static void quantized_product(emp_onnx_call *c, const char *word)
{
    bool                  is_linear = strcmp(word, "QLinearMatMul") == 0;
    emp_dtype             dtype = is_linear ? EMP_DTYPE_UINT8 : EMP_DTYPE_INT32;
    const emp_onnx_value *zero = emp_onnx_in(c, 7);

    if (is_linear && zero != NULL) dtype = zero->dtype;
    emp_onnx_out(c, 0, emp_onnx_integer_product(c, is_linear ? 3 : 1, dtype));
}

/* A tensor scaled, perhaps with numbers added: an experimental type of early versions, which ONNX Runtime still has. */
static void scaled(emp_onnx_call *c, const char *word)
{
    const double scale = emp_onnx_float(c, "scale", 1.0);

    emp_onnx_out(
        c, 0,
        emp_onnx_emit2(c, word, emp_onnx_in_port(c, 0), emp_onnx_float_scalar(c, scale)));
}

const emp_onnx_rule emp_onnx_math_rules[] = {
    {"Abs", emp_onnx_lower_unary, "Abs"},
    {"Acos", emp_onnx_lower_unary, "Acos"},
    {"Acosh", emp_onnx_lower_unary, "Acosh"},
    {"Add", binary, "Add"},
    {"Affine", scaled, "Mul"},
    {"And", binary, "LogicalAnd"},
    {"ArgMax", arg_reduce, "ArgMax"},
    {"ArgMin", arg_reduce, "ArgMin"},
    {"Asin", emp_onnx_lower_unary, "Asin"},
    {"Asinh", emp_onnx_lower_unary, "Asinh"},
    {"Atan", emp_onnx_lower_unary, "Atan"},
    {"Atanh", emp_onnx_lower_unary, "Atanh"},
    {"BitCast", bit_cast, "View"},
    {"BitwiseAnd", binary, "BitwiseAnd"},
    {"BitwiseNot", emp_onnx_lower_unary, "BitwiseNot"},
    {"BitwiseOr", binary, "BitwiseOr"},
    {"BitwiseXor", binary, "BitwiseXor"},
    {"BitShift", binary, "LeftShift"},
    {"Cast", cast, "Cast"},
    {"CastLike", cast, "CastLike"},
    {"Ceil", emp_onnx_lower_unary, "Ceil"},
    {"Celu", emp_onnx_lower_unary, "Elu"},
    {"Clip", clip, NULL},
    {"Cos", emp_onnx_lower_unary, "Cos"},
    {"Cosh", emp_onnx_lower_unary, "Cosh"},
    {"CumProd", cumulate, "Cumprod"},
    {"CumSum", cumulate, "Cumsum"},
    {"DequantizeLinear", quantize, "DequantizeLinear"},
    {"Div", binary, "RealDiv"},
    {"DynamicQuantizeLinear", dynamic_quantize, "DynamicQuantizeLinear"},
    {"Elu", emp_onnx_lower_unary, "Elu"},
    {"Equal", binary, "Equal"},
    {"Erf", emp_onnx_lower_unary, "Erf"},
    {"Exp", emp_onnx_lower_unary, "Exp"},
    {"Floor", emp_onnx_lower_unary, "Floor"},
    {"FusedGemm", gemm, NULL},
    {"Gelu", emp_onnx_lower_unary, "Gelu"},
    {"Gemm", gemm, NULL},
    {"Greater", binary, "Greater"},
    {"GreaterOrEqual", binary, "GreaterEqual"},
    {"HardSigmoid", emp_onnx_lower_unary, "HardSigmoid"},
    {"HardSwish", emp_onnx_lower_unary, "HardSwish"},
    {"Hardmax", emp_onnx_lower_unary, "Softmax"},
    {"ImageScaler", scaled, "Mul"},
    {"IsInf", emp_onnx_lower_unary, "IsInf"},
    {"IsNaN", emp_onnx_lower_unary, "IsNan"},
    {"LeakyRelu", emp_onnx_lower_unary, "LeakyRelu"},
    {"Less", binary, "Less"},
    {"LessOrEqual", binary, "LessEqual"},
    {"Log", emp_onnx_lower_unary, "Log"},
    {"LogSoftmax", emp_onnx_lower_unary, "LogSoftmax"},
    {"MatMul", matmul, NULL},
    {"MatMulInteger", quantized_product, "MatMulInteger"},
    {"Max", binary, "Maximum"},
    {"Mean", mean_of_operands, NULL},
    {"Min", binary, "Minimum"},
    {"Mish", emp_onnx_lower_unary, "Mish"},
    {"Mod", binary, "FloorMod"},
    {"Mul", binary, "Mul"},
    {"Neg", emp_onnx_lower_unary, "Neg"},
    {"Not", emp_onnx_lower_unary, "LogicalNot"},
    {"Or", binary, "LogicalOr"},
    {"ParametricSoftplus", emp_onnx_lower_unary, "Softplus"},
    {"PRelu", prelu, "PRelu"},
    {"Pow", power, "Pow"},
    {"QLinearMatMul", quantized_product, "QLinearMatMul"},
    {"QuickGelu", emp_onnx_lower_unary, "Silu"},
    {"QuantizeLinear", quantize, "QuantizeLinear"},
    {"Reciprocal", emp_onnx_lower_unary, "Reciprocal"},
    {"ReduceL1", reduce, "Abs Sum"},
    {"ReduceL2", reduce, "Square Sum Sqrt"},
    {"ReduceLogSum", reduce, "Sum Log"},
    {"ReduceLogSumExp", reduce, "Exp Sum Log"},
    {"ReduceMax", reduce, "Max"},
    {"ReduceMean", reduce, "Mean"},
    {"ReduceMin", reduce, "Min"},
    {"ReduceProd", reduce, "Prod"},
    {"ReduceSum", reduce, "Sum"},
    {"ReduceSumSquare", reduce, "Square Sum"},
    {"Relu", emp_onnx_lower_unary, "Relu"},
    {"Round", emp_onnx_lower_unary, "Round"},
    {"Scale", scaled, "Mul"},
    {"ScaledTanh", emp_onnx_lower_unary, "Tanh"},
    {"Selu", emp_onnx_lower_unary, "Selu"},
    {"Shrink", emp_onnx_lower_unary, "Shrink"},
    {"Sigmoid", emp_onnx_lower_unary, "Sigmoid"},
    {"Sign", emp_onnx_lower_unary, "Sign"},
    {"Sin", emp_onnx_lower_unary, "Sin"},
    {"Sinh", emp_onnx_lower_unary, "Sinh"},
    {"Softmax", emp_onnx_lower_unary, "Softmax"},
    {"Softplus", emp_onnx_lower_unary, "Softplus"},
    {"Softsign", emp_onnx_lower_unary, "Softsign"},
    {"Sqrt", emp_onnx_lower_unary, "Sqrt"},
    {"Sub", binary, "Sub"},
    {"Sum", sum, "Add"},
    {"SwiGLU", swiglu, NULL},
    {"Swish", emp_onnx_lower_unary, "Silu"},
    {"Tan", emp_onnx_lower_unary, "Tan"},
    {"Tanh", emp_onnx_lower_unary, "Tanh"},
    {"ThresholdedRelu", emp_onnx_lower_unary, "ThresholdedRelu"},
    {"Xor", binary, "LogicalXor"},
    {0}};
