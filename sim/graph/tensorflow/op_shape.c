// SPDX-License-Identifier: GPL-3.0-or-later
// Ops that compute shapes, and ops whose output shape is the value of an input. Values of
// small integer tensors are followed through them: the gradients of broadcasts, splits
// and reductions depend on it.
#include <string.h>

#include "sim/graph/op_entry.h"

static emp_dtype index_dtype(const emp_op_view *op)
{
    return op->attrs->out_type != EMP_DTYPE_NONE ? op->attrs->out_type : EMP_DTYPE_INT32;
}

/* Makes `output` a vector of `count` numbers and returns where they go, if wanted. */
static int64_t *set_vector(const emp_op_view *op, emp_tensor_info *output, int64_t count,
                           emp_dtype dtype)
{
    emp_set_output(output, EMP_SHAPE(count), dtype);
    int64_t *value = emp_view_new_value(op, count);
    output->value = value;
    output->value_count = value != NULL ? (int32_t)count : 0;
    return value;
}

static void set_scalar(const emp_op_view *op, emp_tensor_info *output, int64_t number,
                       emp_dtype dtype)
{
    emp_set_output(output, EMP_SHAPE_SCALAR, dtype);
    int64_t *value = emp_view_new_value(op, 1);
    if (value == NULL) return;
    *value = number;
    output->value = value;
    output->value_count = 1;
}

static void set_shape_vector(const emp_op_view *op, const emp_shape *shape,
                             emp_tensor_info *output)
{
    if (!emp_shape_is_known(shape)) {
        emp_set_output(output, EMP_SHAPE(shape->rank), index_dtype(op));
        return;
    }
    int64_t *value = set_vector(op, output, shape->rank, index_dtype(op));
    if (value != NULL) memcpy(value, shape->dim, (size_t)shape->rank * sizeof *value);
}

EMP_INFER(shape)
{
    set_shape_vector(op, &op->input[0].shape, &output[0]);
    return EMP_OK;
}

EMP_INFER(shape_n)
{
    if (op->input_count > EMP_MAX_OUTPUTS)
        return EMP_ERROR(EMP_EUNSUPPORTED, "%d outputs, at most %d", op->input_count,
                         EMP_MAX_OUTPUTS);
    for (int32_t i = 0; i < op->input_count; i++)
        set_shape_vector(op, &op->input[i].shape, &output[i]);
    *output_count = op->input_count;
    return EMP_OK;
}

EMP_INFER(rank)
{
    emp_set_output(&output[0], EMP_SHAPE_SCALAR, EMP_DTYPE_INT32);
    if (op->input[0].shape.rank >= 0)
        set_scalar(op, &output[0], op->input[0].shape.rank, EMP_DTYPE_INT32);
    return EMP_OK;
}

EMP_INFER(size)
{
    emp_set_output(&output[0], EMP_SHAPE_SCALAR, index_dtype(op));
    if (emp_shape_is_known(&op->input[0].shape))
        set_scalar(op, &output[0], emp_shape_elements(&op->input[0].shape),
                   index_dtype(op));
    return EMP_OK;
}

/* Hands the input's value on when the output is known to have as many elements. */
static void keep_value(const emp_op_view *op, emp_tensor_info *output)
{
    if (op->input[0].value == NULL || !emp_shape_is_known(&output->shape) ||
        emp_shape_elements(&output->shape) != op->input[0].value_count)
        return;
    output->value = op->input[0].value;
    output->value_count = op->input[0].value_count;
}

/* Replaces the one -1 among the wanted sizes by what the input's elements leave for it.
 */
static emp_status complete_shape(const emp_op_view *op, emp_shape *shape, emp_error *err)
{
    const emp_shape *input = &op->input[0].shape;
    int32_t          unknown = -1, unknown_count = 0;
    char             text_a[EMP_SHAPE_TEXT_BYTES], text_b[EMP_SHAPE_TEXT_BYTES];

    for (int32_t d = 0; d < shape->rank; d++) {
        if (shape->dim[d] >= 0) continue;
        unknown = d;
        unknown_count++;
    }
    if (!emp_shape_is_known(input) || unknown_count > 1) return EMP_OK;

    int64_t have = emp_shape_elements(input), want = emp_shape_elements(shape);
    if (unknown_count == 1 && want > 0 && have % want == 0) {
        shape->dim[unknown] = have / want;
    } else if (unknown_count == 1 ? want > 0 : have != want) {
        return EMP_ERROR(EMP_EFORMAT, "%s cannot be reshaped to %s",
                         emp_shape_format(input, text_a),
                         emp_shape_format(shape, text_b));
    }
    return EMP_OK;
}

EMP_INFER(reshape)
{
    emp_shape shape = emp_shape_from_vector(&op->input[1]);

    emp_set_output(&output[0], EMP_SHAPE_UNKNOWN, emp_view_dtype(op, 0));
    if (op->input[1].value != NULL) EMP_CHECK(complete_shape(op, &shape, err));
    output[0].shape = shape;
    keep_value(op, &output[0]);
    return EMP_OK;
}

EMP_INFER(expand_dims)
{
    const emp_shape *input = &op->input[0].shape;
    emp_shape        shape = EMP_SHAPE_UNKNOWN;

    emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
    if (input->rank < 0 || input->rank == EMP_MAX_RANK) return EMP_OK;
    if (op->input[1].value == NULL || op->input[1].value_count != 1) {
        output[0].shape = emp_shape_of_rank(input->rank + 1);
        return EMP_OK;
    }
    int32_t axis = emp_axis_normalize(op->input[1].value[0], input->rank + 1);
    if (axis < 0)
        return EMP_ERROR(EMP_EFORMAT, "axis %lld is outside rank %d",
                         (long long)op->input[1].value[0], input->rank + 1);
    shape.rank = 0;
    for (int32_t d = 0; d <= input->rank; d++) {
        if (d == axis) shape.dim[shape.rank++] = 1;
        if (d < input->rank) shape.dim[shape.rank++] = input->dim[d];
    }
    output[0].shape = shape;
    keep_value(op, &output[0]);
    return EMP_OK;
}

EMP_INFER(squeeze)
{
    const emp_shape *input = &op->input[0].shape;
    uint32_t         dims = op->attrs->squeeze_dims;
    emp_shape        shape = {.rank = input->rank < 0 ? -1 : 0};

    for (int32_t d = 0; d < input->rank; d++) {
        uint32_t names = 1U << d | 1U << (32 - (input->rank - d)); /* d, and d - rank */
        bool     is_squeezed = dims != 0 ? (dims & names) != 0 : input->dim[d] == 1;
        if (!is_squeezed) shape.dim[shape.rank++] = input->dim[d];
    }
    /* An unknown size might be 1 and go away. */
    if (dims == 0 && !emp_shape_is_known(input)) shape = EMP_SHAPE_UNKNOWN;
    emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
    keep_value(op, &output[0]);
    return EMP_OK;
}

EMP_INFER(fill)
{
    emp_shape shape = emp_shape_from_vector(&op->input[0]);

    emp_set_output(&output[0], shape, emp_view_dtype(op, 1));
    if (op->input[1].value == NULL || op->input[1].value_count != 1 ||
        !emp_shape_is_known(&shape))
        return EMP_OK;
    int64_t  count = emp_shape_elements(&shape);
    int64_t *value = emp_view_new_value(op, count);
    for (int64_t i = 0; value != NULL && i < count; i++) value[i] = op->input[1].value[0];
    output[0].value = value;
    output[0].value_count = value != NULL ? (int32_t)count : 0;
    return EMP_OK;
}

/* The shape is the value of one input, the element type is another's. */
#define INFER_STATED(name, sizes, like)                                             \
    EMP_INFER(name)                                                                 \
    {                                                                               \
        return emp_set_output(&output[0], emp_shape_from_vector(&op->input[sizes]), \
                              emp_view_dtype(op, like));                            \
    }

INFER_STATED(conv2d_input, 0, 2)       /* (sizes, filter, dy) */
INFER_STATED(conv2d_filter, 1, 0)      /* (input, sizes, dy) */
INFER_STATED(avg_pool_grad, 0, 1)      /* (sizes, dy) */
INFER_STATED(strided_slice_grad, 0, 4) /* (sizes, begin, end, strides, dy) */
INFER_STATED(sparse_to_dense, 1, 2)    /* (indices, sizes, values, default) */

/* The key and the counter of a generator without a state. */
EMP_INFER(key_counter)
{
    emp_set_output(&output[0], EMP_SHAPE(1), EMP_DTYPE_UINT64);
    emp_set_output(&output[1], EMP_SHAPE(2), EMP_DTYPE_UINT64);
    *output_count = 2;
    return EMP_OK;
}

EMP_INFER(random)
{
    return emp_set_output(&output[0], emp_shape_from_vector(&op->input[0]),
                          op->attrs->dtype != EMP_DTYPE_NONE ? op->attrs->dtype
                                                             : EMP_DTYPE_FLOAT);
}

/* Range(start, limit, delta) of integers. */
EMP_INFER(range)
{
    const emp_tensor_info *in = op->input;
    emp_dtype              dtype = emp_view_dtype(op, 0);
    int64_t                span, count = 0;

    emp_set_output(&output[0], op->attrs->has_shape ? op->attrs->shape : EMP_SHAPE(-1),
                   dtype);
    if (dtype != EMP_DTYPE_INT32 && dtype != EMP_DTYPE_INT64) return EMP_OK;
    for (int32_t i = 0; i < 3; i++)
        if (in[i].value == NULL || in[i].value_count != 1) return EMP_OK;
    int64_t start = in[0].value[0], delta = in[2].value[0];
    if (delta == 0 || delta == INT64_MIN ||
        __builtin_sub_overflow(in[1].value[0], start, &span) || span == INT64_MIN)
        return EMP_OK;
    if (delta < 0) {
        span = -span;
        delta = -delta;
    }
    if (span > 0) count = span / delta + (span % delta != 0);
    int64_t *value = set_vector(op, &output[0], count, dtype);
    for (int64_t i = 0; value != NULL && i < count; i++)
        value[i] = start + i * in[2].value[0];
    return EMP_OK;
}

/* One operand's size in dim d of the common rank; missing leading sizes are 1. */
static int64_t aligned_size(const emp_tensor_info *shape, int32_t rank, int32_t d)
{
    int32_t own = d - (rank - shape->value_count);

    return own >= 0 ? shape->value[own] : 1;
}

/* For each operand, the dims over which its gradient must be summed: the dims in which
 * it was stretched, and the dims of size 1 in both. None at all when the shapes are equal. */
EMP_INFER(broadcast_gradient_args)
{
    const emp_tensor_info *a = &op->input[0], *b = &op->input[1];
    emp_dtype              dtype = emp_view_dtype(op, 0);
    int64_t                axes[2][EMP_MAX_RANK];
    int32_t                count[2] = {0, 0};

    *output_count = 2;
    for (int32_t i = 0; i < 2; i++) emp_set_output(&output[i], EMP_SHAPE(-1), dtype);
    if (a->value == NULL || b->value == NULL || a->value_count > EMP_MAX_RANK ||
        b->value_count > EMP_MAX_RANK)
        return EMP_OK;
    int32_t rank = a->value_count > b->value_count ? a->value_count : b->value_count;
    bool    is_equal = a->value_count == b->value_count &&
                    memcmp(a->value, b->value, (size_t)rank * sizeof *a->value) == 0;
    for (int32_t d = 0; !is_equal && d < rank; d++) {
        int64_t size_a = aligned_size(a, rank, d), size_b = aligned_size(b, rank, d);
        if (size_a != size_b && size_a != 1 && size_b != 1)
            return EMP_ERROR(EMP_EFORMAT,
                             "sizes %lld and %lld in dim %d do not broadcast",
                             (long long)size_a, (long long)size_b, d);
        if (size_a == 1) axes[0][count[0]++] = d;
        if (size_b == 1) axes[1][count[1]++] = d;
    }
    for (int32_t i = 0; i < 2; i++) {
        int64_t *value = set_vector(op, &output[i], count[i], dtype);
        if (value != NULL) memcpy(value, axes[i], (size_t)count[i] * sizeof *value);
    }
    return EMP_OK;
}

/* ConcatOffset(axis, shapes...): where each operand of a concatenation begins. */
EMP_INFER(concat_offset)
{
    const emp_tensor_info *axis = &op->input[0];
    int32_t                n = op->input_count - 1;
    int64_t                offset = 0;
    bool                   is_known = axis->value != NULL && axis->value_count == 1;

    if (n > EMP_MAX_OUTPUTS)
        return EMP_ERROR(EMP_EUNSUPPORTED, "%d outputs, at most %d", n, EMP_MAX_OUTPUTS);
    *output_count = n;
    for (int32_t i = 0; i < n; i++) {
        const emp_tensor_info *shape = &op->input[i + 1];
        emp_set_output(&output[i], shape->shape, EMP_DTYPE_INT32);
        if (!is_known || shape->value == NULL) {
            is_known = false;
            continue;
        }
        int32_t d = emp_axis_normalize(axis->value[0], shape->value_count);
        if (d < 0)
            return EMP_ERROR(EMP_EFORMAT, "axis %lld is outside rank %d",
                             (long long)axis->value[0], shape->value_count);
        int64_t *value = set_vector(op, &output[i], shape->value_count, EMP_DTYPE_INT32);
        if (value != NULL) {
            memset(value, 0, (size_t)shape->value_count * sizeof *value);
            value[d] = offset;
        }
        offset = emp_add_saturating(offset, shape->value[d]);
    }
    return EMP_OK;
}

EMP_INFER(invert_permutation)
{
    const emp_tensor_info *in = &op->input[0];

    emp_set_output(&output[0], in->shape, emp_view_dtype(op, 0));
    if (in->value == NULL) return EMP_OK;
    int64_t *value = set_vector(op, &output[0], in->value_count, emp_view_dtype(op, 0));
    if (value == NULL) return EMP_OK;
    memset(value, 0, (size_t)in->value_count * sizeof *value);
    for (int32_t i = 0; i < in->value_count; i++) {
        if (in->value[i] < 0 || in->value[i] >= in->value_count)
            return EMP_ERROR(EMP_EFORMAT, "%lld is outside a permutation of %d",
                             (long long)in->value[i], in->value_count);
        value[in->value[i]] = i;
    }
    return EMP_OK;
}
