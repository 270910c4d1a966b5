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

emp_port emp_tf_reshape(emp_tf *tf, emp_port x, emp_shape shape)
{
    const char *full = emp_tf_unique(tf, "Reshape");
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

static emp_port tf_slice_rest(emp_tf *tf, emp_port x, emp_port begin, int32_t rank)
{
    return slice_stated(tf, x, begin, rank, "size", -1);
}

emp_port emp_tf_gather(emp_tf *tf, emp_port table, emp_port indices)
{
    return emp_tf_op2(tf, "Gather", "embedding_lookup", table, indices);
}

/* ---- filling ----------------------------------------------------------------------- */

static emp_port fill(emp_tf *tf, const char *name, emp_port sizes, double value)
{
    const char *full = emp_tf_unique(tf, name);
    emp_port    element = emp_tf_float(tf, full, "Const", value);

    return emp_tf_emit(tf, full, "Fill", NULL, EMP_TF_PORTS(sizes, element));
}

emp_port emp_tf_one_hot(emp_tf *tf, const char *name, emp_port indices, int64_t depth)
{
    emp_op_attrs attrs = {.axis = -1};
    const char  *full = emp_tf_unique(tf, name);
    emp_port     on = emp_tf_float(tf, full, "on_value", 1.0);
    emp_port     off = emp_tf_float(tf, full, "off_value", 0.0);
    emp_port     size = emp_tf_int(tf, full, "depth", depth);

    return emp_tf_emit(tf, full, "OneHot", &attrs, EMP_TF_PORTS(indices, size, on, off));
}

emp_port emp_tf_zeros(emp_tf *tf, emp_port sizes)
{
    return fill(tf, "zeros", sizes, 0.0);
}

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

/* Cross entropies. Python computes shapes with ops here, which is where most nodes come
 * from; what it cannot evaluate is hidden from emp_tf_shape_of(). */

/* concat([[values_0], tail], 0) */
static emp_port prepend(emp_tf *tf, const int64_t *values, int32_t count, emp_port tail)
{
    const char  *full = emp_tf_unique(tf, "concat");
    emp_op_attrs two = {.count = 2};
    emp_port     first = emp_tf_ints(tf, full, "values_0", values, count);
    emp_port     axis = emp_tf_int(tf, full, "axis", 0);

    return emp_tf_emit(tf, full, "ConcatV2", &two, EMP_TF_PORTS(first, tail, axis));
}

/* nn_ops._flatten_outer_dims: [..., n] as [-1, n]. */
static emp_port flatten_outer_dims(emp_tf *tf, emp_port x, emp_port rank)
{
    int64_t  one = 1, rest = -1;
    emp_port sizes = emp_tf_shape_of(tf, x);
    emp_port last = emp_tf_op_y(tf, "Sub", "Sub", rank, 1.0);

    const char *slice = emp_tf_unique(tf, "Slice");
    const char *outer = emp_tf_reenter(tf, emp_tf_join(tf, slice, "/", ""));
    emp_port    begin = emp_tf_stack(tf, "begin", &last, 1, 0);
    emp_port    size = emp_tf_ints(tf, NULL, "size", &one, 1);
    emp_tf_leave(tf, outer);
    last = emp_tf_emit(tf, slice, "Slice", NULL, EMP_TF_PORTS(sizes, begin, size));

    sizes = prepend(tf, &rest, 1, last);
    return emp_tf_reshape_to(tf, x, sizes);
}

emp_port emp_tf_softmax_cross_entropy(emp_tf *tf, const char *name, emp_port labels,
                                      emp_port logits)
{
    const char *full = emp_tf_unique(tf, name);
    const char *outer = emp_tf_reenter(tf, emp_tf_join(tf, full, "/", ""));
    int64_t     zero = 0;

    labels = emp_tf_op1(tf, "StopGradient", "labels_stop_gradient", labels);
    emp_port rank = emp_tf_int(tf, NULL, "Rank", emp_tf_shape(tf, logits).rank);
    emp_port sizes = emp_tf_shape_of(tf, logits);
    emp_port rank_1 = emp_tf_int(tf, NULL, "Rank", emp_tf_shape(tf, logits).rank);
    emp_port rows = flatten_outer_dims(tf, logits, rank_1);
    emp_port rank_2 = emp_tf_int(tf, NULL, "Rank", emp_tf_shape(tf, labels).rank);
    emp_port targets = flatten_outer_dims(tf, labels, rank_2);
    emp_port cost = emp_tf_emit(tf, full, "SoftmaxCrossEntropyWithLogits", NULL,
                                EMP_TF_PORTS(rows, targets));

    emp_port    last = emp_tf_op_y(tf, "Sub", "Sub", rank, 1.0);
    const char *slice = emp_tf_unique(tf, "Slice");
    emp_port    begin = emp_tf_ints(tf, slice, "begin", &zero, 1);
    const char *inner = emp_tf_reenter(tf, emp_tf_join(tf, slice, "/", ""));
    emp_port    size = emp_tf_stack(tf, "size", &last, 1, 0);
    emp_tf_leave(tf, inner);
    sizes = emp_tf_emit(tf, slice, "Slice", NULL, EMP_TF_PORTS(sizes, begin, size));
    cost = emp_tf_reshape_to(tf, cost, sizes);
    emp_tf_leave(tf, outer);
    return cost;
}

emp_port emp_tf_sparse_softmax_cross_entropy(emp_tf *tf, const char *name,
                                             emp_port labels, emp_port logits)
{
    const char *outer = emp_tf_enter(tf, name);

    emp_tf_shape_of(tf, labels);
    emp_port cost = emp_tf_op(tf, "SparseSoftmaxCrossEntropyWithLogits", name, NULL,
                              EMP_TF_PORTS(logits, labels));
    emp_tf_leave(tf, outer);
    return cost;
}

/* ---- a loss at every step ---------------------------------------------------------- */

static emp_port add_n(emp_tf *tf, const emp_port *terms, int32_t count)
{
    emp_op_attrs attrs = {.count = count};

    return emp_tf_op(tf, "AddN", NULL, &attrs, terms, count);
}

static emp_port loss_by_example(emp_tf *tf, const emp_port *logits, emp_port targets,
                                emp_port weights, int32_t steps)
{
    const char *outer = emp_tf_enter(tf, "sequence_loss_by_example");
    emp_port    losses[EMP_MAX_OUTPUTS], weight[EMP_MAX_OUTPUTS];

    for (int32_t t = 0; t < steps; t++) {
        emp_port target = {targets.op, t};
        weight[t] = (emp_port){weights.op, t};
        target = emp_tf_reshape(tf, target, EMP_SHAPE(-1));
        losses[t] = emp_tf_sparse_softmax_cross_entropy(
            tf, "SparseSoftmaxCrossEntropyWithLogits", target, logits[t]);
        losses[t] = emp_tf_op2(tf, "Mul", "mul", losses[t], weight[t]);
    }
    emp_port sum = add_n(tf, losses, steps);
    emp_port total = add_n(tf, weight, steps);
    total = emp_tf_op_y(tf, "Add", "add", total, 1e-12);
    sum = emp_tf_op2(tf, "RealDiv", "truediv", sum, total);
    emp_tf_leave(tf, outer);
    return sum;
}

emp_port emp_tf_sequence_loss(emp_tf *tf, const emp_port *logits, emp_port targets,
                              emp_port weights, int32_t steps)
{
    const char  *outer = emp_tf_enter(tf, "sequence_loss");
    emp_tf_range first = {.begin = 0, .end = 1, .shrink = true};
    emp_port     loss = loss_by_example(tf, logits, targets, weights, steps);

    loss = emp_tf_reduce_all(tf, "Sum", NULL, loss);
    emp_port batch = emp_tf_strided_slice(tf, emp_tf_shape_of(tf, targets), first);
    batch = emp_tf_cast(tf, NULL, batch, EMP_DTYPE_FLOAT);
    loss = emp_tf_op2(tf, "RealDiv", "truediv", loss, batch);
    emp_tf_leave(tf, outer);
    return loss;
}

/* ---- sampled softmax --------------------------------------------------------------- */

static emp_port hidden(emp_tf *tf, emp_port x)
{
    emp_tf_hide_shape(tf, x);
    return x;
}

typedef struct {
    emp_port ids;               /**< [n + s]: true classes, then sampled ones */
    emp_port true_w, sampled_w; /**< [n, d], [s, d] */
    emp_port true_b, sampled_b; /**< [n], [s] */
} sampled_rows;

/* One Gather fetches the rows of true and sampled classes; Slices part them again. */
static void gather_weights(emp_tf *tf, emp_port weights, emp_port labels_flat,
                           emp_port sampled, sampled_rows *rows)
{
    const emp_port both[] = {labels_flat, sampled};
    rows->ids = emp_tf_concat(tf, NULL, both, 2, 0);
    emp_port     w = emp_tf_gather(tf, weights, rows->ids);
    emp_tf_range first = {.begin = 0, .end = 1, .shrink = true};

    emp_port n = emp_tf_strided_slice(tf, emp_tf_shape_of(tf, labels_flat), first);
    emp_port size = emp_tf_stack_int(tf, NULL, n, -1);
    rows->true_w = hidden(tf, emp_tf_slice_first(tf, w, size, 2));
    n = emp_tf_strided_slice(tf, emp_tf_shape_of(tf, labels_flat), first);
    emp_port begin = emp_tf_stack_int(tf, NULL, n, 0);
    rows->sampled_w = hidden(tf, tf_slice_rest(tf, w, begin, 2));
}

static void gather_biases(emp_tf *tf, emp_port biases, emp_port labels_flat,
                          sampled_rows *rows)
{
    emp_port b = emp_tf_gather(tf, biases, rows->ids);
    emp_port size = emp_tf_shape_of(tf, labels_flat);

    rows->true_b = emp_tf_slice_first(tf, b, size, 1);
    emp_port begin = emp_tf_shape_of(tf, labels_flat);
    rows->sampled_b = tf_slice_rest(tf, b, begin, 1);
}

/* The row-wise dot products inputs . true_w, as a product with a column of ones. */
static emp_port true_logits(emp_tf *tf, emp_port inputs, const sampled_rows *rows)
{
    emp_port dim = emp_tf_strided_slice(tf, emp_tf_shape_of(tf, rows->true_w),
                                        (emp_tf_range){.begin = 1, .end = 2});
    emp_port sizes = prepend(tf, (int64_t[]){-1, 1}, 2, dim);
    emp_port x = emp_tf_expand_dims(tf, inputs, 1);
    emp_port w = hidden(tf, emp_tf_reshape_to(tf, rows->true_w, sizes));
    emp_port products = emp_tf_op2(tf, "Mul", NULL, x, w);
    sizes = prepend(tf, (int64_t[]){-1}, 1, dim);
    products = hidden(tf, emp_tf_reshape_to(tf, products, sizes));

    emp_port columns =
        emp_tf_strided_slice(tf, emp_tf_shape_of(tf, products),
                             (emp_tf_range){.begin = 1, .end = 2, .shrink = true});
    emp_port ones =
        hidden(tf, fill(tf, "ones", emp_tf_stack_int(tf, NULL, columns, 1), 1.0));
    emp_port sums = hidden(tf, emp_tf_matmul(tf, "MatMul", products, ones, false, false));
    sums = hidden(tf, emp_tf_reshape(tf, sums, EMP_SHAPE(-1)));
    sums = hidden(tf, emp_tf_reshape(tf, sums, EMP_SHAPE(-1, 1)));
    emp_port bias = emp_tf_reshape(tf, rows->true_b, EMP_SHAPE(-1, 1));
    return emp_tf_op2(tf, "Add", "add", sums, bias);
}

/* Lowers the logits of sampled classes that happen to be true ones. */
static emp_port remove_accidental_hits(emp_tf *tf, emp_port labels, emp_port sampled,
                                       emp_port logits, int32_t num_sampled)
{
    emp_op_attrs one_true = {.num_true = 1};
    emp_port     hits = emp_tf_op(tf, "ComputeAccidentalHits", NULL, &one_true,
                                  EMP_TF_PORTS(labels, sampled));
    emp_port     row = emp_tf_reshape(tf, hits, EMP_SHAPE(-1, 1));
    emp_port column = emp_tf_cast(tf, "Cast_2", (emp_port){hits.op, 1}, EMP_DTYPE_INT32);
    column = emp_tf_reshape(tf, column, EMP_SHAPE(-1, 1));
    const emp_port both[] = {row, column};
    emp_port       indices = emp_tf_concat(tf, "sparse_indices", both, 2, 1);

    emp_port n =
        emp_tf_strided_slice(tf, emp_tf_shape_of(tf, labels),
                             (emp_tf_range){.begin = 0, .end = 1, .begin_mask = true});
    const char    *expand = emp_tf_unique(tf, "ExpandDims");
    emp_port       s = emp_tf_int(tf, expand, "input", num_sampled);
    emp_port       dim = emp_tf_int(tf, expand, "dim", 0);
    const emp_port ns[] = {
        n, emp_tf_emit(tf, expand, "ExpandDims", NULL, EMP_TF_PORTS(s, dim))};
    emp_port sizes = emp_tf_concat(tf, NULL, ns, 2, 0);

    const char *dense = emp_tf_unique(tf, "SparseToDense");
    emp_port    zero = emp_tf_float(tf, dense, "default_value", 0.0);
    emp_port    weights = {hits.op, 2};
    weights = hidden(tf, emp_tf_emit(tf, dense, "SparseToDense", NULL,
                                     EMP_TF_PORTS(indices, sizes, weights, zero)));
    return emp_tf_op2(tf, "Add", "add", logits, weights);
}

/* Labels 1 for the true class, 0 for the sampled ones. */
static emp_port sampled_labels(emp_tf *tf, emp_port logits_true, emp_port logits_sampled)
{
    emp_port ones = emp_tf_ones_like(tf, logits_true);

    ones = emp_tf_op_y(tf, "RealDiv", "truediv", ones, 1.0);
    const emp_port both[] = {ones, emp_tf_zeros_like(tf, logits_sampled)};
    return emp_tf_concat(tf, NULL, both, 2, 1);
}

emp_port emp_tf_sampled_softmax_loss(emp_tf *tf, emp_port weights, emp_port biases,
                                     emp_port labels, emp_port inputs,
                                     int32_t num_sampled)
{
    const char  *outer = emp_tf_enter(tf, "sampled_softmax_loss");
    sampled_rows rows;

    labels = emp_tf_cast(tf, NULL, labels, EMP_DTYPE_INT64);
    emp_port     labels_flat = emp_tf_reshape(tf, labels, EMP_SHAPE(-1));
    emp_op_attrs attrs = {.num_sampled = num_sampled, .num_true = 1, .unique = true};
    emp_port     sampler =
        emp_tf_op(tf, "LogUniformCandidateSampler", NULL, &attrs, &labels, 1);
    emp_port sampled = emp_tf_op1(tf, "StopGradient", NULL, sampler);
    emp_port true_count = emp_tf_op1(tf, "StopGradient", NULL, (emp_port){sampler.op, 1});
    emp_port sampled_count =
        emp_tf_op1(tf, "StopGradient", NULL, (emp_port){sampler.op, 2});

    gather_weights(tf, weights, labels_flat, sampled, &rows);
    emp_port logits_s =
        hidden(tf, emp_tf_matmul(tf, "MatMul", inputs, rows.sampled_w, false, true));
    gather_biases(tf, biases, labels_flat, &rows);
    emp_port logits_t = true_logits(tf, inputs, &rows);
    logits_s = emp_tf_op2(tf, "Add", "add", logits_s, rows.sampled_b);
    logits_s = remove_accidental_hits(tf, labels, sampled, logits_s, num_sampled);
    logits_t =
        emp_tf_op2(tf, "Sub", "sub", logits_t, emp_tf_op1(tf, "Log", NULL, true_count));
    logits_s = emp_tf_op2(tf, "Sub", "sub", logits_s,
                          emp_tf_op1(tf, "Log", NULL, sampled_count));
    const emp_port both[] = {logits_t, logits_s};
    emp_port       logits = emp_tf_concat(tf, NULL, both, 2, 1);
    emp_port       targets = sampled_labels(tf, logits_t, logits_s);
    emp_tf_leave(tf, outer);
    return emp_tf_softmax_cross_entropy(tf, "softmax_cross_entropy_with_logits_sg",
                                        targets, logits);
}
