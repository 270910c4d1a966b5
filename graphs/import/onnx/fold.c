// SPDX-License-Identifier: GPL-3.0-or-later
// Computes nodes whose inputs are constants: what exporters make shapes with.
#include <math.h>
#include <string.h>

#include "graphs/import/onnx/lower.h"

/* An array of numbers, row-major. */
typedef struct {
    emp_shape     shape;
    emp_dtype     dtype;
    const double *number;
} array;

static bool array_in(const emp_onnx_call *c, int32_t i, array *out)
{
    const emp_onnx_value *value = emp_onnx_in(c, i);

    if (value == NULL || value->number == NULL) return false;
    *out = (array){value->shape, value->dtype, value->number};
    return true;
}

static bool is_integer(emp_dtype dtype)
{
    return dtype == EMP_DTYPE_INT64 || dtype == EMP_DTYPE_INT32 ||
           dtype == EMP_DTYPE_UINT8 || dtype == EMP_DTYPE_INT8 ||
           dtype == EMP_DTYPE_INT16 || dtype == EMP_DTYPE_UINT16;
}

static bool put(emp_onnx_call *c, emp_shape shape, emp_dtype dtype, const double *number)
{
    emp_onnx_out_numbers(c, 0, shape, dtype, number);
    return true;
}

static double *room_for(emp_onnx_call *c, const emp_shape *shape)
{
    if (!emp_shape_is_known(shape)) return NULL;
    return emp_onnx_new_numbers(c->o, emp_shape_elements(shape));
}

/* Steps of each dim of `to` in `of`, in elements; those that are broadcast are 0. */
static void strides_in(const emp_shape *of, const emp_shape *to, int64_t *stride)
{
    int64_t step = 1;

    for (int32_t d = to->rank - 1; d >= 0; d--) {
        int32_t own = d - (to->rank - of->rank);
        stride[d] = own < 0 || of->dim[own] == 1 ? 0 : step;
        if (own >= 0) step *= of->dim[own];
    }
}

/* Where element i of `shape` lies, with these steps from `start`. */
static int64_t place(const emp_shape *shape, const int64_t *stride, int64_t start,
                     int64_t i)
{
    for (int32_t d = shape->rank - 1; d >= 0; d--) {
        start += i % shape->dim[d] * stride[d];
        i /= shape->dim[d];
    }
    return start;
}

/* ---- arithmetic ---- */

static double add(double a, double b) { return a + b; }
static double sub(double a, double b) { return a - b; }
static double mul(double a, double b) { return a * b; }
static double divide(double a, double b) { return b == 0.0 ? 0.0 : a / b; }
static double mod(double a, double b) { return b == 0.0 ? 0.0 : a - floor(a / b) * b; }
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
static double negate(double a) { return -a; }
static double not(double a) { return a == 0.0; }
static double sign(double a) { return (a > 0.0) - (a < 0.0); }
static double same(double a) { return a; }
static double reciprocal(double a) { return a == 0.0 ? 0.0 : 1.0 / a; }
static double root(double a) { return a < 0.0 ? 0.0 : sqrt(a); }

static const struct {
    const char *type;
    double (*fn)(double, double);
    bool is_predicate;
} binaries[] = {{"Add", add, false},        {"And", both, true},
                {"Div", divide, false},     {"Equal", equal, true},
                {"Greater", greater, true}, {"GreaterOrEqual", greater_equal, true},
                {"Less", less, true},       {"LessOrEqual", less_equal, true},
                {"Max", largest, false},    {"Min", least, false},
                {"Mod", mod, false},        {"Mul", mul, false},
                {"Or", either, true},       {"Pow", pow, false},
                {"Sub", sub, false},        {"Sum", add, false},
                {"Xor", one_of, true}};

static const struct {
    const char *type;
    double (*fn)(double);
} unaries[] = {
    {"Abs", fabs},      {"Ceil", ceil},  {"Exp", exp},  {"Floor", floor},
    {"Identity", same}, {"Neg", negate}, {"Not", not }, {"Reciprocal", reciprocal},
    {"Round", rint},    {"Sign", sign},  {"Sqrt", root}};

static bool fold_binary(emp_onnx_call *c, double (*fn)(double, double), bool is_predicate)
{
    array a, b;

    if (!array_in(c, 0, &a)) return false;
    for (int32_t i = 1; i < c->in_count; i++) {
        emp_shape shape;
        int64_t   stride_a[EMP_MAX_RANK], stride_b[EMP_MAX_RANK];
        if (!array_in(c, i, &b) || !emp_onnx_broadcast(&a.shape, &b.shape, &shape))
            return false;
        double *number = room_for(c, &shape);
        if (number == NULL) return false;
        strides_in(&a.shape, &shape, stride_a);
        strides_in(&b.shape, &shape, stride_b);
        for (int64_t k = 0; k < emp_shape_elements(&shape); k++) {
            number[k] = fn(a.number[place(&shape, stride_a, 0, k)],
                           b.number[place(&shape, stride_b, 0, k)]);
            if (fn == divide && is_integer(a.dtype)) number[k] = trunc(number[k]);
        }
        a = (array){shape, a.dtype, number};
    }
    return put(c, a.shape, is_predicate ? EMP_DTYPE_BOOL : a.dtype, a.number);
}

static bool fold_unary(emp_onnx_call *c, double (*fn)(double))
{
    array a;

    if (!array_in(c, 0, &a)) return false;
    double *number = room_for(c, &a.shape);
    if (number == NULL) return false;
    for (int64_t i = 0; i < emp_shape_elements(&a.shape); i++)
        number[i] = fn(a.number[i]);
    return put(c, a.shape, a.dtype, number);
}

static bool fold_cast(emp_onnx_call *c)
{
    array     a;
    emp_dtype to = emp_onnx_dtype(emp_onnx_int(c, "to", 1));

    if (!array_in(c, 0, &a)) return false;
    double *number = room_for(c, &a.shape);
    if (number == NULL) return false;
    for (int64_t i = 0; i < emp_shape_elements(&a.shape); i++)
        number[i] = to == EMP_DTYPE_BOOL ? a.number[i] != 0.0
                    : is_integer(to)     ? trunc(a.number[i])
                                         : a.number[i];
    return put(c, a.shape, to, number);
}

static bool fold_where(emp_onnx_call *c)
{
    array     part[3];
    emp_shape shape, both_shape;
    int64_t   stride[3][EMP_MAX_RANK];

    for (int32_t i = 0; i < 3; i++)
        if (!array_in(c, i, &part[i])) return false;
    if (!emp_onnx_broadcast(&part[1].shape, &part[2].shape, &both_shape) ||
        !emp_onnx_broadcast(&part[0].shape, &both_shape, &shape))
        return false;
    double *number = room_for(c, &shape);
    if (number == NULL) return false;
    for (int32_t i = 0; i < 3; i++) strides_in(&part[i].shape, &shape, stride[i]);
    for (int64_t i = 0; i < emp_shape_elements(&shape); i++) {
        int32_t from = part[0].number[place(&shape, stride[0], 0, i)] != 0.0 ? 1 : 2;
        number[i] = part[from].number[place(&shape, stride[from], 0, i)];
    }
    return put(c, shape, part[1].dtype, number);
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
    return put(c, EMP_SHAPE(end - start), EMP_DTYPE_INT64, number);
}

static bool fold_size(emp_onnx_call *c)
{
    emp_shape shape = emp_onnx_in_shape(c, 0);
    double   *number = emp_onnx_new_numbers(c->o, 1);

    if (!emp_shape_is_known(&shape) || number == NULL) return false;
    *number = (double)emp_shape_elements(&shape);
    return put(c, EMP_SHAPE_SCALAR, EMP_DTYPE_INT64, number);
}

static bool fold_range(emp_onnx_call *c)
{
    array start, limit, delta;

    if (!array_in(c, 0, &start) || !array_in(c, 1, &limit) || !array_in(c, 2, &delta) ||
        delta.number[0] == 0.0)
        return false;
    double count = ceil((limit.number[0] - start.number[0]) / delta.number[0]);
    if (!(count > 0.0)) count = 0.0;
    double *number =
        count > EMP_ONNX_MAX_NUMBERS ? NULL : emp_onnx_new_numbers(c->o, (int64_t)count);
    if (number == NULL) return false;
    for (int64_t i = 0; i < (int64_t)count; i++)
        number[i] = start.number[0] + (double)i * delta.number[0];
    return put(c, EMP_SHAPE((int64_t)count), start.dtype, number);
}

static bool fold_filled(emp_onnx_call *c)
{
    emp_onnx_attr   attr;
    emp_onnx_tensor tensor = {.dtype = EMP_DTYPE_FLOAT};
    emp_shape       shape = {0};
    double          value = 0.0;

    shape.rank = emp_onnx_ints(c, NULL, 0, shape.dim, EMP_MAX_RANK);
    if (shape.rank < 0) return false;
    if (emp_onnx_get(c, "value", &attr) && attr.tensor.data != NULL) {
        if (emp_onnx_tensor_read(&tensor, attr.tensor, NULL) != EMP_OK ||
            !emp_onnx_tensor_numbers(&tensor, &value, 1))
            return false;
    }
    tensor.shape = shape;
    for (int32_t d = 0; d < shape.rank; d++)
        if (shape.dim[d] < 0) return false;
    return emp_onnx_out_filled(c, &tensor, value);
}

/* The same numbers under another shape. */
static bool fold_renamed(emp_onnx_call *c, emp_shape shape, const array *a)
{
    for (int32_t d = 0; d < shape.rank; d++)
        if (shape.dim[d] < 0) return false;
    if (emp_shape_elements(&shape) != emp_shape_elements(&a->shape)) return false;
    return put(c, shape, a->dtype, a->number);
}

static bool fold_reshape(emp_onnx_call *c, bool (*rule)(emp_onnx_call *, emp_shape *))
{
    array     a;
    emp_shape shape;

    return array_in(c, 0, &a) && rule(c, &shape) && fold_renamed(c, shape, &a);
}

/* ---- parts ---- */

static bool fold_gather(emp_onnx_call *c)
{
    array     a, indices;
    emp_shape shape = {0};
    int64_t   axis = emp_onnx_int(c, "axis", 0), inner = 1, outer = 1;

    if (!array_in(c, 0, &a) || !array_in(c, 1, &indices)) return false;
    if (axis < 0) axis += a.shape.rank;
    if (axis < 0 || axis >= a.shape.rank ||
        a.shape.rank - 1 + indices.shape.rank > EMP_MAX_RANK)
        return false;
    for (int32_t d = 0; d < a.shape.rank; d++) {
        for (int32_t k = 0; d == axis && k < indices.shape.rank; k++)
            shape.dim[shape.rank++] = indices.shape.dim[k];
        if (d != axis) shape.dim[shape.rank++] = a.shape.dim[d];
        outer *= d < axis ? a.shape.dim[d] : 1;
        inner *= d > axis ? a.shape.dim[d] : 1;
    }
    int64_t count = emp_shape_elements(&indices.shape), size = a.shape.dim[axis];
    double *number = room_for(c, &shape);
    if (number == NULL) return false;
    for (int64_t i = 0; i < outer * count; i++) {
        int64_t from = emp_truncate(indices.number[i % count]);
        if (from < 0) from += size;
        if (from < 0 || from >= size) return false;
        memcpy(number + i * inner, a.number + (i / count * size + from) * inner,
               (size_t)inner * sizeof *number);
    }
    return put(c, shape, a.dtype, number);
}

static bool fold_concat(emp_onnx_call *c)
{
    array     a = {0};
    emp_shape shape = {0};
    int64_t   axis = emp_onnx_int(c, "axis", 0), outer = 1, done = 0;

    for (int32_t i = 0; i < c->in_count; i++) {
        if (!array_in(c, i, &a)) return false;
        if (i == 0) {
            shape = a.shape;
            if (axis < 0) axis += shape.rank;
            if (axis < 0 || axis >= shape.rank) return false;
            shape.dim[axis] = 0;
        }
        if (a.shape.rank != shape.rank) return false;
        for (int32_t d = 0; d < shape.rank; d++)
            if (d != axis && a.shape.dim[d] != shape.dim[d]) return false;
        shape.dim[axis] += a.shape.dim[axis];
    }
    double *number = c->in_count > 0 ? room_for(c, &shape) : NULL;
    if (number == NULL) return false;
    for (int32_t d = 0; d < axis; d++) outer *= shape.dim[d];
    for (int64_t k = 0; k < outer; k++) {
        for (int32_t i = 0; i < c->in_count; i++) {
            array_in(c, i, &a);
            int64_t part = emp_shape_elements(&a.shape) / outer;
            memcpy(number + done, a.number + k * part, (size_t)part * sizeof *number);
            done += part;
        }
    }
    return put(c, shape, a.dtype, number);
}

static bool fold_slice(emp_onnx_call *c)
{
    array        a;
    emp_onnx_cut cut;
    int64_t      stride[EMP_MAX_RANK], start = 0;

    if (!array_in(c, 0, &a) || !emp_onnx_read_cut(c, &a.shape, &cut)) return false;
    emp_shape shape = a.shape;
    strides_in(&a.shape, &a.shape, stride);
    for (int32_t d = 0; d < shape.rank; d++) {
        start += cut.first[d] * stride[d];
        stride[d] *= cut.step[d];
        shape.dim[d] = cut.taken[d];
    }
    double *number = room_for(c, &shape);
    if (number == NULL) return false;
    for (int64_t i = 0; i < emp_shape_elements(&shape); i++)
        number[i] = a.number[place(&shape, stride, start, i)];
    return put(c, shape, a.dtype, number);
}

static bool fold_expand(emp_onnx_call *c)
{
    array     a;
    emp_shape wanted = {0}, shape;
    int64_t   stride[EMP_MAX_RANK];

    if (!array_in(c, 0, &a)) return false;
    wanted.rank = emp_onnx_ints(c, NULL, 1, wanted.dim, EMP_MAX_RANK);
    if (wanted.rank < 0 || !emp_onnx_broadcast(&a.shape, &wanted, &shape)) return false;
    double *number = room_for(c, &shape);
    if (number == NULL) return false;
    strides_in(&a.shape, &shape, stride);
    for (int64_t i = 0; i < emp_shape_elements(&shape); i++)
        number[i] = a.number[place(&shape, stride, 0, i)];
    return put(c, shape, a.dtype, number);
}

static bool fold_transpose(emp_onnx_call *c)
{
    array     a;
    int64_t   order[EMP_MAX_RANK], stride[EMP_MAX_RANK], moved[EMP_MAX_RANK];
    emp_shape shape;

    if (!array_in(c, 0, &a)) return false;
    shape = a.shape;
    if (emp_onnx_ints(c, "perm", -1, order, EMP_MAX_RANK) != shape.rank)
        for (int32_t d = 0; d < shape.rank; d++) order[d] = shape.rank - 1 - d;
    strides_in(&a.shape, &a.shape, stride);
    for (int32_t d = 0; d < shape.rank; d++) {
        if (order[d] < 0 || order[d] >= shape.rank) return false;
        shape.dim[d] = a.shape.dim[order[d]];
        moved[d] = stride[order[d]];
    }
    double *number = room_for(c, &shape);
    if (number == NULL) return false;
    for (int64_t i = 0; i < emp_shape_elements(&shape); i++)
        number[i] = a.number[place(&shape, moved, 0, i)];
    return put(c, shape, a.dtype, number);
}

/* Of all elements together, which is how exporters count them. */
static bool fold_reduce(emp_onnx_call *c, double (*fn)(double, double), double start)
{
    array   a;
    int64_t axes[EMP_MAX_RANK];

    if (!array_in(c, 0, &a)) return false;
    int32_t count = emp_onnx_ints(c, "axes", 1, axes, EMP_MAX_RANK);
    if (a.shape.rank > 1 && count >= 0 && count != a.shape.rank) return false;
    double *number = emp_onnx_new_numbers(c->o, 1);
    if (number == NULL) return false;
    *number = start;
    for (int64_t i = 0; i < emp_shape_elements(&a.shape); i++)
        *number = i == 0 ? a.number[0] : fn(*number, a.number[i]);
    emp_shape shape = {.rank = emp_onnx_int(c, "keepdims", 1) != 0 ? a.shape.rank : 0};
    for (int32_t d = 0; d < shape.rank; d++) shape.dim[d] = 1;
    return put(c, shape, a.dtype, number);
}

static bool fold_nonzero(emp_onnx_call *c)
{
    array   a;
    int64_t found = 0, k = 0;

    if (!array_in(c, 0, &a) || a.shape.rank < 1) return false;
    int64_t count = emp_shape_elements(&a.shape);
    for (int64_t i = 0; i < count; i++) found += a.number[i] != 0.0;
    double *number = emp_onnx_new_numbers(c->o, found * a.shape.rank);
    if (number == NULL) return false;
    for (int64_t i = 0; i < count; i++) {
        int64_t stride = count;
        if (a.number[i] == 0.0) continue;
        for (int32_t d = 0; d < a.shape.rank; d++) {
            stride /= a.shape.dim[d];
            number[d * found + k] = (double)(i / stride % a.shape.dim[d]);
        }
        k++;
    }
    return put(c, EMP_SHAPE(a.shape.rank, found), EMP_DTYPE_INT64, number);
}

/* ---- constants ---- */

/* A list or a number in an attribute. */
static bool fold_plain_constant(emp_onnx_call *c)
{
    emp_onnx_attr attr;
    double        list[EMP_ONNX_MAX_NUMBERS];
    int32_t       count = 1;
    emp_shape     shape = EMP_SHAPE_SCALAR;
    bool          is_float = emp_onnx_get(c, "value_float", &attr);

    list[0] = attr.f;
    if (!is_float && emp_onnx_get(c, "value_int", &attr)) {
        list[0] = (double)attr.i;
    } else if (!is_float) {
        is_float = emp_onnx_get(c, "value_floats", &attr);
        if (!is_float && !emp_onnx_get(c, "value_ints", &attr)) return false;
        count = emp_onnx_attr_numbers(&attr, list, EMP_ONNX_MAX_NUMBERS);
        if (count < 0) return false;
        shape = EMP_SHAPE(count);
    }
    double *number = emp_onnx_new_numbers(c->o, count);
    if (number == NULL) return false;
    memcpy(number, list, (size_t)count * sizeof *number);
    return put(c, shape, is_float ? EMP_DTYPE_FLOAT : EMP_DTYPE_INT64, number);
}

static bool fold_constant(emp_onnx_call *c)
{
    emp_onnx_attr   attr;
    emp_onnx_tensor tensor;

    if (!emp_onnx_get(c, "value", &attr) || attr.tensor.data == NULL)
        return fold_plain_constant(c);
    if (emp_onnx_tensor_read(&tensor, attr.tensor, NULL) != EMP_OK) return false;
    return emp_onnx_out_tensor(c, &tensor);
}

static const struct {
    const char *type;
    bool (*fn)(emp_onnx_call *);
} others[] = {{"Cast", fold_cast},         {"Concat", fold_concat},
              {"Constant", fold_constant}, {"ConstantOfShape", fold_filled},
              {"Expand", fold_expand},     {"Gather", fold_gather},
              {"NonZero", fold_nonzero},   {"Range", fold_range},
              {"Shape", fold_shape},       {"Size", fold_size},
              {"Slice", fold_slice},       {"Transpose", fold_transpose},
              {"Where", fold_where}};

bool emp_onnx_fold(emp_onnx_call *c)
{
    emp_slice type = c->node->type;

    if (c->node->domain.size > 0) return false;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (emp_slice_is(type, others[i].type)) return others[i].fn(c);
    for (size_t i = 0; i < sizeof binaries / sizeof binaries[0]; i++)
        if (emp_slice_is(type, binaries[i].type))
            return fold_binary(c, binaries[i].fn, binaries[i].is_predicate);
    for (size_t i = 0; i < sizeof unaries / sizeof unaries[0]; i++)
        if (emp_slice_is(type, unaries[i].type)) return fold_unary(c, unaries[i].fn);
    if (emp_slice_is(type, "Reshape")) return fold_reshape(c, emp_onnx_reshaped);
    if (emp_slice_is(type, "Squeeze")) return fold_reshape(c, emp_onnx_squeezed);
    if (emp_slice_is(type, "Unsqueeze")) return fold_reshape(c, emp_onnx_unsqueezed);
    if (emp_slice_is(type, "ReduceProd")) return fold_reduce(c, mul, 1.0);
    if (emp_slice_is(type, "ReduceSum")) return fold_reduce(c, add, 0.0);
    if (emp_slice_is(type, "ReduceMax")) return fold_reduce(c, largest, 0.0);
    if (emp_slice_is(type, "ReduceMin")) return fold_reduce(c, least, 0.0);
    return false;
}
