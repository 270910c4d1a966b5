// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/tensorflow/tf_ops.h"

#include <assert.h>
#include <stddef.h>

static const char *or_default(const char *name, const char *standard)
{
    return name == NULL ? standard : name;
}

/* ---- shapes ------------------------------------------------------------------------ */

emp_port emp_tf_shape_of(emp_tf *tf, emp_port x)
{
    emp_shape shape = emp_tf_shape(tf, x);

    if (emp_tf_shape_is_static(tf, x)) return emp_tf_dims(tf, NULL, "Shape", &shape);
    return emp_tf_op1(tf, "Shape", NULL, x);
}

emp_port emp_tf_size_of(emp_tf *tf, emp_port x)
{
    emp_shape shape = emp_tf_shape(tf, x);

    return emp_tf_int(tf, NULL, "Size", emp_shape_elements(&shape));
}

emp_port emp_tf_reshape(emp_tf *tf, const char *name, emp_port x, emp_shape shape)
{
    const char *full = emp_tf_unique(tf, or_default(name, "Reshape"));
    emp_port    sizes = emp_tf_dims(tf, full, "shape", &shape);

    return emp_tf_emit(tf, full, "Reshape", NULL, EMP_TF_PORTS(x, sizes));
}

emp_port emp_tf_reshape_to(emp_tf *tf, emp_port x, emp_port sizes)
{
    return emp_tf_op2(tf, "Reshape", NULL, x, sizes);
}

emp_port emp_tf_expand_dims(emp_tf *tf, emp_port x, int32_t dim)
{
    const char *full = emp_tf_unique(tf, "ExpandDims");
    emp_port    where = emp_tf_int(tf, full, "dim", dim);

    return emp_tf_emit(tf, full, "ExpandDims", NULL, EMP_TF_PORTS(x, where));
}

emp_port emp_tf_squeeze(emp_tf *tf, const char *name, emp_port x, uint32_t dims)
{
    emp_op_attrs attrs = {.squeeze_dims = dims};

    return emp_tf_op(tf, "Squeeze", name, &attrs, &x, 1);
}

emp_port emp_tf_transpose(emp_tf *tf, emp_port x, const int64_t *perm, int32_t count)
{
    const char *full = emp_tf_unique(tf, "transpose");
    emp_port    order = emp_tf_ints(tf, full, "perm", perm, count);

    return emp_tf_emit(tf, full, "Transpose", NULL, EMP_TF_PORTS(x, order));
}

/* ---- joining and splitting --------------------------------------------------------- */

emp_port emp_tf_concat(emp_tf *tf, const char *name, const emp_port *values,
                       int32_t count, int32_t axis)
{
    const char  *full = emp_tf_unique(tf, or_default(name, "concat"));
    emp_op_attrs attrs = {.count = count};
    emp_port     inputs[EMP_MAX_OUTPUTS + 1];

    assert(count <= EMP_MAX_OUTPUTS);
    if (count == 1) {
        emp_tf_int(tf, full, "concat_dim", axis);
        return emp_tf_emit(tf, full, "Identity", NULL, values, 1);
    }
    for (int32_t i = 0; i < count; i++) inputs[i] = values[i];
    inputs[count] = emp_tf_int(tf, full, "axis", axis);
    return emp_tf_emit(tf, full, "ConcatV2", &attrs, inputs, count + 1);
}

emp_port emp_tf_stack(emp_tf *tf, const char *name, const emp_port *values, int32_t count,
                      int32_t axis)
{
    emp_op_attrs attrs = {.axis = axis, .count = count};

    return emp_tf_op(tf, "Pack", or_default(name, "stack"), &attrs, values, count);
}

emp_port emp_tf_stack_int(emp_tf *tf, const char *name, emp_port x, int64_t value)
{
    const char  *full = emp_tf_unique(tf, or_default(name, "stack"));
    emp_op_attrs attrs = {.count = 2};
    emp_port     y = emp_tf_int(tf, full, "1", value);

    return emp_tf_emit(tf, full, "Pack", &attrs, EMP_TF_PORTS(x, y));
}

emp_port emp_tf_unstack(emp_tf *tf, emp_port x, int32_t count, int32_t axis)
{
    emp_op_attrs attrs = {.axis = axis, .count = count};

    return emp_tf_op(tf, "Unpack", "unstack", &attrs, &x, 1);
}

emp_port emp_tf_strided_slice(emp_tf *tf, emp_port x, emp_tf_range range)
{
    const char  *full = emp_tf_unique(tf, "strided_slice");
    emp_op_attrs attrs = {.begin_mask = range.begin_mask,
                          .end_mask = range.end_mask,
                          .shrink_axis_mask = range.shrink};
    int64_t      one = 1;
    emp_port     begin = emp_tf_ints(tf, full, "stack", &range.begin, 1);
    emp_port     end = emp_tf_ints(tf, full, "stack_1", &range.end, 1);
    emp_port     stride = emp_tf_ints(tf, full, "stack_2", &one, 1);

    return emp_tf_emit(tf, full, "StridedSlice", &attrs,
                       EMP_TF_PORTS(x, begin, end, stride));
}

emp_port emp_tf_slice(emp_tf *tf, emp_port x, emp_port begin, emp_port size)
{
    return emp_tf_op(tf, "Slice", NULL, NULL, EMP_TF_PORTS(x, begin, size));
}

/* A Slice of which Python states one end: a vector of \a rank equal numbers. */
static emp_port slice_stated(emp_tf *tf, emp_port x, emp_port other, int32_t rank,
                             const char *leaf, int64_t number)
{
    const char *full = emp_tf_unique(tf, "Slice");
    int64_t     numbers[EMP_MAX_RANK];

    for (int32_t d = 0; d < rank; d++) numbers[d] = number;
    emp_port stated = emp_tf_ints(tf, full, leaf, numbers, rank);
    return number == 0
               ? emp_tf_emit(tf, full, "Slice", NULL, EMP_TF_PORTS(x, stated, other))
               : emp_tf_emit(tf, full, "Slice", NULL, EMP_TF_PORTS(x, other, stated));
}

emp_port emp_tf_slice_first(emp_tf *tf, emp_port x, emp_port size, int32_t rank)
{
    return slice_stated(tf, x, size, rank, "begin", 0);
}

emp_port emp_tf_slice_rest(emp_tf *tf, emp_port x, emp_port begin, int32_t rank)
{
    return slice_stated(tf, x, begin, rank, "size", -1);
}

emp_port emp_tf_gather(emp_tf *tf, const char *name, emp_port table, emp_port indices)
{
    return emp_tf_op2(tf, "Gather", or_default(name, "embedding_lookup"), table, indices);
}

/* ---- filling ----------------------------------------------------------------------- */

static emp_port fill(emp_tf *tf, const char *name, emp_port sizes, double value)
{
    const char *full = emp_tf_unique(tf, name);
    emp_port    element = emp_tf_float(tf, full, "Const", value);

    return emp_tf_emit(tf, full, "Fill", NULL, EMP_TF_PORTS(sizes, element));
}

emp_port emp_tf_zeros(emp_tf *tf, emp_port sizes)
{
    return fill(tf, "zeros", sizes, 0.0);
}

emp_port emp_tf_ones(emp_tf *tf, emp_port sizes) { return fill(tf, "ones", sizes, 1.0); }

/* Python knows the shape, so two constants and a Fill come out of it. */
static emp_port fill_static(emp_tf *tf, const char *name, const char *leaf,
                            emp_dtype dtype, const emp_shape *shape, int64_t value)
{
    const char *full = emp_tf_unique(tf, name);
    emp_port    sizes = emp_tf_dims(tf, full, leaf, shape);
    emp_port    element =
        emp_tf_const(tf, full, "Const", dtype, EMP_SHAPE_SCALAR, &value, 1);

    return emp_tf_emit(tf, full, "Fill", NULL, EMP_TF_PORTS(sizes, element));
}

emp_port emp_tf_filled(emp_tf *tf, const char *name, emp_dtype dtype, emp_shape shape,
                       int64_t value)
{
    if (tf->const_zeros) return emp_tf_const(tf, NULL, name, dtype, shape, NULL, 0);
    return fill_static(tf, name, "shape_as_tensor", dtype, &shape, value);
}

emp_port emp_tf_zeros_like(emp_tf *tf, emp_port x)
{
    return emp_tf_filled(tf, "zeros_like", emp_tf_dtype(tf, x), emp_tf_shape(tf, x), 0);
}

emp_port emp_tf_ones_like(emp_tf *tf, emp_port x)
{
    emp_shape shape = emp_tf_shape(tf, x);

    return fill_static(tf, "ones_like", "Shape", emp_tf_dtype(tf, x), &shape, 1);
}

/* ---- arithmetic -------------------------------------------------------------------- */

static emp_port scalar(emp_tf *tf, const char *parent, const char *leaf, emp_dtype dtype,
                       double value)
{
    bool    is_small = value >= -0x1p63 && value < 0x1p63; /* masks have 1e30 */
    int64_t truncated = is_small ? (int64_t)value : INT64_MIN;

    return emp_tf_const(tf, parent, leaf, dtype, EMP_SHAPE_SCALAR, &truncated, 1);
}

emp_port emp_tf_op_y(emp_tf *tf, const char *type, const char *name, emp_port x, double y)
{
    const char *full = emp_tf_unique(tf, name);
    emp_port    constant = scalar(tf, full, "y", emp_tf_dtype(tf, x), y);

    return emp_tf_emit(tf, full, type, NULL, EMP_TF_PORTS(x, constant));
}

emp_port emp_tf_x_op(emp_tf *tf, const char *type, const char *name, double x, emp_port y)
{
    const char *full = emp_tf_unique(tf, name);
    emp_port    constant = scalar(tf, full, "x", emp_tf_dtype(tf, y), x);

    return emp_tf_emit(tf, full, type, NULL, EMP_TF_PORTS(constant, y));
}

emp_port emp_tf_matmul(emp_tf *tf, const char *type, emp_port a, emp_port b,
                       bool transpose_a, bool transpose_b)
{
    emp_op_attrs attrs = {.transpose_a = transpose_a, .transpose_b = transpose_b};

    return emp_tf_op(tf, type, "MatMul", &attrs, EMP_TF_PORTS(a, b));
}

emp_port emp_tf_cast(emp_tf *tf, const char *name, emp_port x, emp_dtype dtype)
{
    emp_op_attrs attrs = {.dtype = dtype};

    return emp_tf_op(tf, "Cast", name, &attrs, &x, 1);
}

emp_port emp_tf_reduce_all(emp_tf *tf, const char *type, const char *name, emp_port x)
{
    int64_t axes[EMP_MAX_RANK];
    int32_t rank = emp_tf_shape(tf, x).rank;

    for (int32_t d = 0; d < rank; d++) axes[d] = d;
    emp_port all = emp_tf_ints(tf, NULL, "Const", axes, rank);
    return emp_tf_op2(tf, type, name, x, all);
}

emp_port emp_tf_reduce(emp_tf *tf, const char *type, const char *name, emp_port x,
                       const int64_t *axes, int32_t count, bool keep_dims)
{
    const char  *full = emp_tf_unique(tf, or_default(name, type));
    emp_op_attrs attrs = {.keep_dims = keep_dims};
    emp_port     over = emp_tf_ints(tf, full, "reduction_indices", axes, count);

    return emp_tf_emit(tf, full, type, &attrs, EMP_TF_PORTS(x, over));
}

/* ---- neural networks --------------------------------------------------------------- */

emp_port emp_tf_dropout(emp_tf *tf, const char *name, emp_port x, double keep_prob)
{
    const char  *outer = emp_tf_enter(tf, or_default(name, "dropout"));
    emp_port     keep = emp_tf_float(tf, NULL, "keep_prob", keep_prob);
    emp_port     sizes = emp_tf_shape_of(tf, x);
    const char  *uniform = emp_tf_unique(tf, "random_uniform");
    emp_port     low = emp_tf_float(tf, uniform, "min", 0.0);
    emp_port     high = emp_tf_float(tf, uniform, "max", 1.0);
    const char  *middle = emp_tf_reenter(tf, emp_tf_join(tf, uniform, "/", ""));
    emp_op_attrs attrs = {.dtype = EMP_DTYPE_FLOAT};
    emp_port random = emp_tf_op(tf, "RandomUniform", NULL, &attrs, EMP_TF_PORTS(sizes));
    emp_port range = emp_tf_op2(tf, "Sub", "sub", high, low);
    emp_port scaled = emp_tf_op2(tf, "Mul", "mul", random, range);

    emp_tf_leave(tf, middle);
    random = emp_tf_emit(tf, uniform, "Add", NULL, EMP_TF_PORTS(scaled, low));
    emp_port mask = emp_tf_op2(tf, "Add", "add", keep, random);
    mask = emp_tf_op1(tf, "Floor", NULL, mask);
    emp_port kept = emp_tf_op2(tf, "RealDiv", "div", x, keep);
    kept = emp_tf_op2(tf, "Mul", "mul", kept, mask);
    emp_tf_leave(tf, outer);
    return kept;
}
