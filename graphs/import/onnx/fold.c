// SPDX-License-Identifier: GPL-3.0-or-later
// Computes nodes whose inputs are constants: what exporters make shapes with.
#include "graphs/import/onnx/lower.h"

#include <math.h>
#include <string.h>

/* ---- element types ---- */

/* ---- arithmetic ---- */

static double add(double a, double b) { return a + b; }
static double sub(double a, double b) { return a - b; }
static double mul(double a, double b) { return a * b; }
static double divide(double a, double b) { return a / b; }
static double modulo(double a, double b) { return a - floor(a / b) * b; }
static double equal(double a, double b) { return a == b; }
static double less(double a, double b) { return a < b; }
static double less_equal(double a, double b) { return a <= b; }
static double greater(double a, double b) { return a > b; }
static double greater_equal(double a, double b) { return a >= b; }
static double both(double a, double b) { return a != 0.0 && b != 0.0; }
static double either(double a, double b) { return a != 0.0 || b != 0.0; }
static double one_of(double a, double b) { return (a != 0.0) != (b != 0.0); }
static double largest(double a, double b) { return a > b ? a : b; }
static double least(double a, double b) { return a < b ? a : b; }
static double bits_and(double a, double b)
{
    return (double)(emp_truncate(a) & emp_truncate(b));
}
static double bits_or(double a, double b)
{
    return (double)(emp_truncate(a) | emp_truncate(b));
}
static double bits_xor(double a, double b)
{
    return (double)(emp_truncate(a) ^ emp_truncate(b));
}
static double shift_left(double a, double b)
{
    return b >= 0.0 && b < 64.0 ? ldexp(a, (int)b) : 0.0;
}
static double shift_right(double a, double b)
{
    return b >= 0.0 && b < 64.0 ? floor(ldexp(a, -(int)b)) : 0.0;
}
static double add_magnitude(double a, double b) { return a + fabs(b); }
static double add_square(double a, double b) { return a + b * b; }

static double negate(double a) { return -a; }
static double not(double a) { return a == 0.0; }
static double bits_not(double a) { return (double)~emp_truncate(a); }
static double sign(double a) { return (a > 0.0) - (a < 0.0); }
static double same(double a) { return a; }
static double reciprocal(double a) { return 1.0 / a; }
static double relu(double a) { return a < 0.0 ? 0.0 : a; }
static double sigmoid(double a) { return 1.0 / (1.0 + exp(-a)); }
static double is_nan(double a) { return isnan(a) != 0; }

static const struct {
    const char *type;
    double (*fn)(double, double);
    bool is_predicate;
} binaries[] = {{"Add", add, false},
                {"And", both, true},
                {"BitShift", shift_left, false},
                {"BitwiseAnd", bits_and, false},
                {"BitwiseOr", bits_or, false},
                {"BitwiseXor", bits_xor, false},
                {"Div", divide, false},
                {"Equal", equal, true},
                {"Greater", greater, true},
                {"GreaterOrEqual", greater_equal, true},
                {"Less", less, true},
                {"LessOrEqual", less_equal, true},
                {"Max", largest, false},
                {"Min", least, false},
                {"Mod", modulo, false},
                {"Mul", mul, false},
                {"Or", either, true},
                {"Pow", pow, false},
                {"Sub", sub, false},
                {"Sum", add, false},
                {"Xor", one_of, true}};

static const struct {
    const char *type;
    double (*fn)(double);
    bool is_predicate;
} unaries[] = {{"Abs", fabs, false},        {"BitwiseNot", bits_not, false},
               {"Ceil", ceil, false},       {"Cos", cos, false},
               {"Exp", exp, false},         {"Floor", floor, false},
               {"Identity", same, false},   {"IsNaN", is_nan, true},
               {"Log", log, false},         {"Neg", negate, false},
               {"Not", not, true},          {"Reciprocal", reciprocal, false},
               {"Relu", relu, false},       {"Round", rint, false},
               {"Sigmoid", sigmoid, false}, {"Sign", sign, false},
               {"Sin", sin, false},         {"Sqrt", sqrt, false},
               {"Tanh", tanh, false}};

/* The function of a node whose attribute chooses one. */
static double (*chosen(const emp_onnx_call *c, double (*fn)(double, double)))(double,
                                                                              double)
{
    if (fn == modulo && emp_onnx_int(c, "fmod", 0) != 0) return fmod;
    if (fn == shift_left && emp_onnx_word_is(c, "direction", "RIGHT")) return shift_right;
    return fn;
}

static bool fold_binary(emp_onnx_call *c, double (*fn)(double, double), bool is_predicate)
{
    emp_onnx_array a, b;

    fn = chosen(c, fn);
    if (!emp_onnx_array_in(c, 0, &a)) return false;
    for (int32_t i = 1; i < c->in_count; i++) {
        emp_shape shape, second = emp_onnx_aligned(c, i);
        int64_t   stride_a[EMP_MAX_RANK], stride_b[EMP_MAX_RANK];
        if (!emp_onnx_array_in(c, i, &b) ||
            !emp_onnx_broadcast(&a.shape, &second, &shape))
            return false;
        bool    is_whole = emp_dtype_is_integer(a.dtype);
        double *number = emp_onnx_room_for(c, &shape);
        if (number == NULL) return false;
        emp_onnx_strides(&a.shape, &shape, stride_a);
        emp_onnx_strides(&second, &shape, stride_b);
        for (int64_t k = 0; k < emp_shape_elements(&shape); k++) {
            double x = a.number[emp_onnx_place(&shape, stride_a, 0, k)];
            double y = b.number[emp_onnx_place(&shape, stride_b, 0, k)];
            if (is_whole && y == 0.0 && (fn == divide || fn == modulo || fn == fmod))
                return false;
            number[k] =
                emp_onnx_round_to(is_predicate ? EMP_DTYPE_BOOL : a.dtype, fn(x, y));
        }
        a = (emp_onnx_array){shape, a.dtype, number};
    }
    return emp_onnx_put(c, a.shape, is_predicate ? EMP_DTYPE_BOOL : a.dtype, a.number);
}

static bool fold_unary(emp_onnx_call *c, double (*fn)(double), bool is_predicate)
{
    emp_onnx_array a;

    if (!emp_onnx_array_in(c, 0, &a)) return false;
    emp_dtype dtype = is_predicate ? EMP_DTYPE_BOOL : a.dtype;
    double   *number = emp_onnx_room_for(c, &a.shape);
    if (number == NULL) return false;
    for (int64_t i = 0; i < emp_shape_elements(&a.shape); i++)
        number[i] = emp_onnx_round_to(dtype, fn(a.number[i]));
    return emp_onnx_put(c, a.shape, dtype, number);
}

/* A float that a 32-bit integer cannot hold becomes the least one, as on x86. */
static double cast_number(emp_dtype from, emp_dtype to, double x)
{
    bool is_narrow = emp_dtype_is_integer(to) && to != EMP_DTYPE_INT64 &&
                     to != EMP_DTYPE_UINT64 && to != EMP_DTYPE_UINT32;

    if (is_narrow && emp_dtype_is_float(from) && !(fabs(trunc(x)) < 0x1p31))
        x = (double)INT32_MIN;
    return emp_onnx_round_to(to, x);
}

static bool fold_cast(emp_onnx_call *c)
{
    emp_onnx_array a;
    emp_dtype      to = emp_onnx_cast_type(c);

    if (!emp_onnx_array_in(c, 0, &a) || to == EMP_DTYPE_NONE || to == EMP_DTYPE_STRING)
        return false;
    double *number = emp_onnx_room_for(c, &a.shape);
    if (number == NULL) return false;
    for (int64_t i = 0; i < emp_shape_elements(&a.shape); i++)
        number[i] = cast_number(a.dtype, to, a.number[i]);
    return emp_onnx_put(c, a.shape, to, number);
}

static bool fold_where(emp_onnx_call *c)
{
    emp_onnx_array part[3];
    emp_shape      shape, both_shape;
    int64_t        stride[3][EMP_MAX_RANK];

    for (int32_t i = 0; i < 3; i++)
        if (!emp_onnx_array_in(c, i, &part[i])) return false;
    if (!emp_onnx_broadcast(&part[1].shape, &part[2].shape, &both_shape) ||
        !emp_onnx_broadcast(&part[0].shape, &both_shape, &shape))
        return false;
    double *number = emp_onnx_room_for(c, &shape);
    if (number == NULL) return false;
    for (int32_t i = 0; i < 3; i++) emp_onnx_strides(&part[i].shape, &shape, stride[i]);
    for (int64_t i = 0; i < emp_shape_elements(&shape); i++) {
        bool    is_true = part[0].number[emp_onnx_place(&shape, stride[0], 0, i)] != 0.0;
        int32_t from = is_true ? 1 : 2;
        number[i] = part[from].number[emp_onnx_place(&shape, stride[from], 0, i)];
    }
    return emp_onnx_put(c, shape, part[1].dtype, number);
}

/* Bounds are attributes before opset 11, then inputs. */
static bool fold_clip(emp_onnx_call *c)
{
    emp_onnx_array a, bound;
    double         low = emp_onnx_float(c, "min", -INFINITY);
    double         high = emp_onnx_float(c, "max", INFINITY);

    if (!emp_onnx_array_in(c, 0, &a)) return false;
    for (int32_t i = 1; i < 3; i++) {
        if (emp_onnx_in(c, i) == NULL) continue;
        if (!emp_onnx_array_in(c, i, &bound) || emp_shape_elements(&bound.shape) != 1)
            return false;
        *(i == 1 ? &low : &high) = bound.number[0];
    }
    double *number = emp_onnx_room_for(c, &a.shape);
    if (number == NULL) return false;
    for (int64_t i = 0; i < emp_shape_elements(&a.shape); i++)
        number[i] = least(largest(a.number[i], low), high);
    return emp_onnx_put(c, a.shape, a.dtype, number);
}

/* ---- reductions ---- */

/* A reduction: what is done element by element, from which number on, and at the end. */
typedef struct {
    const char *type;
    double (*fn)(double, double);
    double start;
    double (*last)(double);
    bool is_mean;
} reduction;

static const reduction reductions[] = {{"ReduceL1", add_magnitude, 0.0, same, false},
                                       {"ReduceL2", add_square, 0.0, sqrt, false},
                                       {"ReduceLogSum", add, 0.0, log, false},
                                       {"ReduceMax", largest, -INFINITY, same, false},
                                       {"ReduceMean", add, 0.0, same, true},
                                       {"ReduceMin", least, INFINITY, same, false},
                                       {"ReduceProd", mul, 1.0, same, false},
                                       {"ReduceSum", add, 0.0, same, false},
                                       {"ReduceSumSquare", add_square, 0.0, same, false}};

/* The shape that remains, with the reduced dims as 1. */
static emp_shape kept_shape(const emp_shape *shape, uint32_t axes)
{
    emp_shape kept = *shape;

    for (int32_t d = 0; d < kept.rank; d++)
        if (axes >> d & 1) kept.dim[d] = 1;
    return kept;
}

static emp_shape without(const emp_shape *shape, uint32_t axes)
{
    emp_shape rest = {0};

    for (int32_t d = 0; d < shape->rank; d++)
        if (!(axes >> d & 1)) rest.dim[rest.rank++] = shape->dim[d];
    return rest;
}

static bool fold_reduce(emp_onnx_call *c, const reduction *r)
{
    emp_onnx_array a;
    int64_t        axes[EMP_MAX_RANK], stride[EMP_MAX_RANK];
    uint32_t       mask;

    if (!emp_onnx_array_in(c, 0, &a) || !emp_onnx_read_axes(c, &mask)) return false;
    if (emp_onnx_in(c, 1) != NULL && emp_onnx_ints(c, NULL, 1, axes, EMP_MAX_RANK) < 0)
        return false;
    emp_shape kept = kept_shape(&a.shape, mask), rest = without(&a.shape, mask);
    int64_t   count = emp_shape_elements(&kept), whole = emp_shape_elements(&a.shape);
    if (whole == 0 && isinf(r->start)) return false; /* the least number of the type */
    double *number = emp_onnx_room_for(c, &kept);
    if (number == NULL) return false;
    for (int64_t i = 0; i < count; i++) number[i] = r->start;
    emp_onnx_strides(&kept, &a.shape, stride);
    for (int64_t i = 0; i < whole; i++) {
        double *sum = &number[emp_onnx_place(&a.shape, stride, 0, i)];
        *sum = emp_onnx_round_to(a.dtype, r->fn(*sum, a.number[i]));
    }
    for (int64_t i = 0; i < count; i++) {
        double result = r->last(number[i]);
        if (r->is_mean) result /= (double)(whole / (count > 0 ? count : 1));
        number[i] = emp_onnx_round_to(a.dtype, result);
    }
    return emp_onnx_put(c, emp_onnx_int(c, "keepdims", 1) != 0 ? kept : rest, a.dtype,
                        number);
}

static bool fold_arg(emp_onnx_call *c)
{
    emp_onnx_array a;
    bool           is_max = emp_slice_is(c->node->type, "ArgMax");
    bool           is_last = emp_onnx_int(c, "select_last_index", 0) != 0;
    int64_t        axis = emp_onnx_int(c, "axis", 0), stride[EMP_MAX_RANK];

    if (!emp_onnx_array_in(c, 0, &a)) return false;
    if (axis < 0) axis += a.shape.rank;
    if (axis < 0 || axis >= a.shape.rank || a.shape.dim[axis] < 1) return false;
    emp_shape kept = kept_shape(&a.shape, 1U << axis);
    emp_shape rest = without(&a.shape, 1U << axis);
    double   *number = emp_onnx_room_for(c, &kept);
    if (number == NULL) return false;
    emp_onnx_strides(&a.shape, &a.shape, stride);
    for (int64_t i = 0; i < emp_shape_elements(&kept); i++) {
        int64_t start = emp_onnx_place(&kept, stride, 0, i), best = 0;
        for (int64_t k = 1; k < a.shape.dim[axis]; k++) {
            double more = a.number[start + k * stride[axis]] -
                          a.number[start + best * stride[axis]];
            if (!is_max) more = -more;
            if (more > 0.0 || (is_last && more == 0.0)) best = k;
        }
        number[i] = (double)best;
    }
    return emp_onnx_put(c, emp_onnx_int(c, "keepdims", 1) != 0 ? kept : rest,
                        EMP_DTYPE_INT64, number);
}

/* CumSum and CumProd along an axis. */
static bool fold_cumulate(emp_onnx_call *c)
{
    emp_onnx_array a, along;
    bool           is_product = emp_slice_is(c->node->type, "CumProd");
    bool           is_down = emp_onnx_int(c, "reverse", 0) != 0;
    bool           is_exclusive = emp_onnx_int(c, "exclusive", 0) != 0;
    int64_t        stride[EMP_MAX_RANK];

    if (!emp_onnx_array_in(c, 0, &a) || !emp_onnx_array_in(c, 1, &along)) return false;
    int64_t axis = emp_truncate(along.number[0]);
    if (axis < 0) axis += a.shape.rank;
    if (axis < 0 || axis >= a.shape.rank) return false;
    emp_shape kept = kept_shape(&a.shape, 1U << axis);
    double   *number = emp_onnx_room_for(c, &a.shape);
    if (number == NULL) return false;
    emp_onnx_strides(&a.shape, &a.shape, stride);
    for (int64_t i = 0; i < emp_shape_elements(&kept); i++) {
        int64_t start = emp_onnx_place(&kept, stride, 0, i), size = a.shape.dim[axis];
        double  sum = is_product ? 1.0 : 0.0;
        for (int64_t k = 0; k < size; k++) {
            int64_t at = start + (is_down ? size - 1 - k : k) * stride[axis];
            double  next = is_product ? sum * a.number[at] : sum + a.number[at];
            next = emp_onnx_round_to(a.dtype, next);
            number[at] = is_exclusive ? sum : next;
            sum = next;
        }
    }
    return emp_onnx_put(c, a.shape, a.dtype, number);
}

/* ---- shapes ---- */

static bool fold_shape(emp_onnx_call *c)
{
    emp_shape shape = emp_onnx_in_shape(c, 0);
    int64_t start = emp_onnx_int(c, "start", 0), end = emp_onnx_int(c, "end", INT32_MAX);

    if (!emp_shape_is_known(&shape)) return false;
    if (start < 0) start += shape.rank;
    if (end < 0) end += shape.rank;
    start = start < 0 ? 0 : start > shape.rank ? shape.rank : start;
    end = end > shape.rank ? shape.rank : end < start ? start : end;
    double *number = emp_onnx_new_numbers(c->o, end - start);
    if (number == NULL) return false;
    for (int64_t d = start; d < end; d++) number[d - start] = (double)shape.dim[d];
    return emp_onnx_put(c, EMP_SHAPE(end - start), EMP_DTYPE_INT64, number);
}

static bool fold_size(emp_onnx_call *c)
{
    emp_shape shape = emp_onnx_in_shape(c, 0);
    double   *number = emp_onnx_new_numbers(c->o, 1);

    if (!emp_shape_is_known(&shape) || number == NULL) return false;
    *number = (double)emp_shape_elements(&shape);
    return emp_onnx_put(c, EMP_SHAPE_SCALAR, EMP_DTYPE_INT64, number);
}

/* ---- constants ---- */

/* A list or a number in an attribute. A longer list than constants may have is refused, not cut. */
static bool fold_plain_constant(emp_onnx_call *c)
{
    emp_onnx_attr attr;
    double        list[EMP_ONNX_MAX_NUMBERS + 1];
    int32_t       count = 1;
    emp_shape     shape = EMP_SHAPE_SCALAR;
    bool          is_float = emp_onnx_get(c, "value_float", &attr);

    list[0] = attr.f;
    if (!is_float && emp_onnx_get(c, "value_int", &attr)) {
        list[0] = (double)attr.i;
    } else if (!is_float) {
        is_float = emp_onnx_get(c, "value_floats", &attr);
        if (!is_float && !emp_onnx_get(c, "value_ints", &attr)) return false;
        count = emp_onnx_attr_numbers(&attr, list, EMP_ONNX_MAX_NUMBERS + 1);
        if (count < 0 || count > EMP_ONNX_MAX_NUMBERS) return false;
        shape = EMP_SHAPE(count);
    }
    double *number = emp_onnx_new_numbers(c->o, count);
    if (number == NULL) return false;
    memcpy(number, list, (size_t)count * sizeof *number);
    return emp_onnx_put(c, shape, is_float ? EMP_DTYPE_FLOAT : EMP_DTYPE_INT64, number);
}

static bool fold_constant(emp_onnx_call *c)
{
    emp_onnx_attr   attr;
    emp_onnx_tensor tensor;

    if (emp_onnx_get(c, "sparse_value", &attr) && attr.sparse_tensor.data != NULL) {
        if (emp_onnx_sparse_tensor_read(&tensor, attr.sparse_tensor, NULL) != EMP_OK)
            return false;
        return emp_onnx_out_tensor(c, &tensor);
    }
    if (!emp_onnx_get(c, "value", &attr) || attr.tensor.data == NULL)
        return fold_plain_constant(c);
    if (emp_onnx_tensor_read(&tensor, attr.tensor, NULL) != EMP_OK) return false;
    return emp_onnx_out_tensor(c, &tensor);
}

static const emp_onnx_fold_rule others[] = {
    {"ArgMax", fold_arg},       {"ArgMin", fold_arg},      {"Cast", fold_cast},
    {"CastLike", fold_cast},    {"Clip", fold_clip},       {"Constant", fold_constant},
    {"CumProd", fold_cumulate}, {"CumSum", fold_cumulate}, {"Shape", fold_shape},
    {"Size", fold_size},        {"Where", fold_where},     {0}};

static bool fold_by_rules(emp_onnx_call *c, const emp_onnx_fold_rule *rule)
{
    for (; rule->type != NULL; rule++)
        if (emp_slice_is(c->node->type, rule->type)) return rule->fn(c);
    return false;
}

bool emp_onnx_fold(emp_onnx_call *c)
{
    emp_slice type = c->node->type;

    if (c->node->domain.size > 0) return false;
    if (fold_by_rules(c, others) || fold_by_rules(c, emp_onnx_array_foldings))
        return true;
    for (size_t i = 0; i < sizeof binaries / sizeof binaries[0]; i++)
        if (emp_slice_is(type, binaries[i].type))
            return fold_binary(c, binaries[i].fn, binaries[i].is_predicate);
    for (size_t i = 0; i < sizeof unaries / sizeof unaries[0]; i++)
        if (emp_slice_is(type, unaries[i].type))
            return fold_unary(c, unaries[i].fn, unaries[i].is_predicate);
    for (size_t i = 0; i < sizeof reductions / sizeof reductions[0]; i++)
        if (emp_slice_is(type, reductions[i].type)) return fold_reduce(c, &reductions[i]);
    return false;
}
