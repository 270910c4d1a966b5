// SPDX-License-Identifier: GPL-3.0-or-later
// Ops that move data: joining, cutting, permuting.
#include <stddef.h>
#include <string.h>

#include "sim/graph/op_entry.h"

/* Joins `count` inputs from `first` on along the axis. */
static emp_status join(const emp_op_view *op, int32_t first, int32_t count,
                       const emp_tensor_info *axis, emp_tensor_info *output,
                       emp_error *err)
{
    emp_shape shape = EMP_SHAPE_UNKNOWN;
    int64_t   sum = 0;
    char      text_a[EMP_SHAPE_TEXT_BYTES], text_b[EMP_SHAPE_TEXT_BYTES];

    emp_set_output(output, shape, emp_view_dtype(op, first));
    for (int32_t i = first; i < first + count && shape.rank < 0; i++)
        shape = op->input[i].shape;
    if (shape.rank < 0) return EMP_OK;
    if (axis->value == NULL || axis->value_count != 1) {
        output->shape = emp_shape_of_rank(shape.rank);
        return EMP_OK;
    }
    int32_t joined = emp_axis_normalize(axis->value[0], shape.rank);
    for (int32_t i = first; i < first + count; i++) {
        const emp_shape *other = &op->input[i].shape;
        if (other->rank < 0) {
            sum = -1;
            continue;
        }
        bool fits = joined >= 0 && other->rank == shape.rank;
        for (int32_t d = 0; fits && d < shape.rank; d++) {
            if (d == joined) continue;
            if (shape.dim[d] < 0) shape.dim[d] = other->dim[d];
            fits = other->dim[d] < 0 || other->dim[d] == shape.dim[d];
        }
        if (!fits)
            return EMP_ERROR(EMP_EFORMAT, "%s cannot be joined to %s along axis %lld",
                             emp_shape_format(other, text_a),
                             emp_shape_format(&shape, text_b), (long long)axis->value[0]);
        sum = sum < 0 || other->dim[joined] < 0
                  ? -1
                  : emp_add_saturating(sum, other->dim[joined]);
    }
    shape.dim[joined] = sum;
    output->shape = shape;
    return EMP_OK;
}

/* Product of the sizes before `axis`; all of them are known. */
static int64_t outer_elements(const emp_shape *shape, int32_t axis)
{
    emp_shape outer = *shape;

    outer.rank = axis;
    return emp_shape_elements(&outer);
}

/* The value of a join along `axis` of the output: from each operand in turn, what it has
 * for one index before that axis. */
static void join_values(const emp_op_view *op, int32_t first, int32_t count, int32_t axis,
                        emp_tensor_info *output)
{
    int32_t total = 0, done = 0;

    if (axis < 0 || !emp_shape_is_known(&output->shape)) return;
    for (int32_t i = first; i < first + count; i++) {
        if (op->input[i].value == NULL) return;
        total += op->input[i].value_count;
        if (total > EMP_MAX_CONST_VALUES) return;
    }
    int64_t  outer = outer_elements(&output->shape, axis);
    int64_t *value = emp_view_new_value(op, total);
    if (value == NULL || emp_shape_elements(&output->shape) != total) return;
    for (int64_t o = 0; o < outer && total > 0; o++) {
        for (int32_t i = first; i < first + count; i++) {
            int64_t part = op->input[i].value_count / outer;
            memcpy(value + done, op->input[i].value + o * part,
                   (size_t)part * sizeof *value);
            done += (int32_t)part;
        }
    }
    output->value = value;
    output->value_count = total;
}

static int32_t joined_axis(const emp_tensor_info *axis, const emp_tensor_info *output)
{
    if (axis->value == NULL || axis->value_count != 1 || output->shape.rank < 0)
        return -1;
    return emp_axis_normalize(axis->value[0], output->shape.rank);
}

EMP_INFER(concat)
{
    emp_status st = join(op, 1, op->input_count - 1, &op->input[0], &output[0], err);

    if (st == EMP_OK)
        join_values(op, 1, op->input_count - 1, joined_axis(&op->input[0], &output[0]),
                    &output[0]);
    return st;
}

EMP_INFER(concat_v2)
{
    int32_t    last = op->input_count - 1;
    emp_status st = join(op, 0, last, &op->input[last], &output[0], err);

    if (st == EMP_OK)
        join_values(op, 0, last, joined_axis(&op->input[last], &output[0]), &output[0]);
    return st;
}

EMP_INFER(pack)
{
    emp_shape shape = EMP_SHAPE_UNKNOWN, item = op->input[0].shape;

    emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
    for (int32_t i = 1; i < op->input_count && item.rank < 0; i++)
        item = op->input[i].shape;
    if (item.rank < 0 || item.rank == EMP_MAX_RANK) return EMP_OK;
    int32_t axis = emp_axis_normalize(op->attrs->axis, item.rank + 1);
    if (axis < 0)
        return EMP_ERROR(EMP_EFORMAT, "axis %d is outside rank %d", op->attrs->axis,
                         item.rank + 1);
    shape.rank = 0;
    for (int32_t d = 0; d <= item.rank; d++) {
        if (d == axis) shape.dim[shape.rank++] = op->input_count;
        if (d < item.rank) shape.dim[shape.rank++] = item.dim[d];
    }
    output[0].shape = shape;
    join_values(op, 0, op->input_count, axis, &output[0]);
    return EMP_OK;
}

/* Element i of a vector as the value of a scalar output. */
static void take_value(const emp_tensor_info *vector, int32_t i, emp_tensor_info *output)
{
    if (vector->value == NULL || vector->shape.rank != 1 || i >= vector->value_count)
        return;
    output->value = &vector->value[i];
    output->value_count = 1;
}

EMP_INFER(unpack)
{
    const emp_tensor_info *in = &op->input[0];
    emp_shape              shape = EMP_SHAPE_UNKNOWN;
    int32_t                axis =
        emp_axis_normalize(op->attrs->axis, in->shape.rank < 0 ? 0 : in->shape.rank);
    int64_t count = op->attrs->count;

    *output_count = 0;
    if (in->shape.rank >= 0 && axis < 0)
        return EMP_ERROR(EMP_EFORMAT, "axis %d is outside rank %d", op->attrs->axis,
                         in->shape.rank);
    if (count == 0 && axis >= 0) count = in->shape.dim[axis];
    if (count < 0 || count > EMP_MAX_OUTPUTS)
        return EMP_ERROR(EMP_EUNSUPPORTED, "%lld outputs, need 0..%d", (long long)count,
                         EMP_MAX_OUTPUTS);
    if (axis >= 0) shape.rank = 0;
    for (int32_t d = 0; d < in->shape.rank; d++)
        if (d != axis) shape.dim[shape.rank++] = in->shape.dim[d];
    *output_count = (int32_t)count;
    for (int32_t i = 0; i < *output_count; i++) {
        emp_set_output(&output[i], shape, emp_view_dtype(op, 0));
        take_value(in, i, &output[i]);
    }
    return EMP_OK;
}

/* Checks the number of pieces and gives each the whole's shape without the cut size. */
static emp_status start_split(const emp_op_view *op, int32_t data, int32_t axis_input,
                              int64_t count, int32_t *axis, emp_tensor_info *output,
                              int32_t *output_count, emp_error *err)
{
    emp_shape              shape = op->input[data].shape;
    const emp_tensor_info *axis_info = &op->input[axis_input];

    *axis = -1;
    *output_count = 0;
    if (count < 1 || count > EMP_MAX_OUTPUTS)
        return EMP_ERROR(EMP_EUNSUPPORTED, "%lld pieces, need 1..%d", (long long)count,
                         EMP_MAX_OUTPUTS);
    *output_count = (int32_t)count;
    if (shape.rank >= 0 && axis_info->value != NULL && axis_info->value_count == 1) {
        *axis = emp_axis_normalize(axis_info->value[0], shape.rank);
        if (*axis < 0)
            return EMP_ERROR(EMP_EFORMAT, "axis %lld is outside rank %d",
                             (long long)axis_info->value[0], shape.rank);
    } else {
        shape = emp_shape_of_rank(shape.rank);
    }
    if (*axis >= 0) shape.dim[*axis] = -1;
    for (int32_t i = 0; i < *output_count; i++)
        emp_set_output(&output[i], shape, emp_view_dtype(op, data));
    return EMP_OK;
}

EMP_INFER(split)
{
    int32_t axis;

    EMP_CHECK(start_split(op, 1, 0, op->attrs->count, &axis, output, output_count, err));
    if (axis < 0 || op->input[1].shape.dim[axis] < 0) return EMP_OK;
    int64_t size = op->input[1].shape.dim[axis];
    if (size % *output_count != 0)
        return EMP_ERROR(EMP_EFORMAT, "a size of %lld cannot be cut into %d equal pieces",
                         (long long)size, *output_count);
    for (int32_t i = 0; i < *output_count; i++)
        output[i].shape.dim[axis] = size / *output_count;
    return EMP_OK;
}

/* SplitV(data, sizes, axis); one size may be -1 = the rest. */
EMP_INFER(split_v)
{
    const emp_tensor_info *sizes = &op->input[1];
    int64_t                count = op->attrs->count, used = 0;
    int32_t                axis, rest = -1;

    if (count == 0 && sizes->shape.rank == 1) count = sizes->shape.dim[0];
    EMP_CHECK(start_split(op, 0, 2, count, &axis, output, output_count, err));
    if (axis < 0 || sizes->value == NULL || sizes->value_count != *output_count)
        return EMP_OK;
    for (int32_t i = 0; i < *output_count; i++) {
        if (sizes->value[i] < 0)
            rest = i;
        else
            used = emp_add_saturating(used, output[i].shape.dim[axis] = sizes->value[i]);
    }
    if (rest >= 0 && op->input[0].shape.dim[axis] >= used)
        output[rest].shape.dim[axis] = op->input[0].shape.dim[axis] - used;
    return EMP_OK;
}

/* The value of the box of the output's shape that begins at `begin` in the input. */
static void cut_value(const emp_op_view *op, const int64_t *begin,
                      emp_tensor_info *output)
{
    const emp_tensor_info *in = &op->input[0];
    const emp_shape       *shape = &output->shape;
    int64_t                count = emp_shape_elements(shape);
    int64_t               *value = NULL;

    if (in->value != NULL && emp_shape_is_known(shape))
        value = emp_view_new_value(op, count);
    if (value == NULL) return;
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, from = 0, step = 1;
        for (int32_t d = shape->rank - 1; d >= 0; d--) {
            from += (begin[d] + rest % shape->dim[d]) * step;
            rest /= shape->dim[d];
            step *= in->shape.dim[d];
        }
        value[i] = in->value[from];
    }
    output->value = value;
    output->value_count = (int32_t)count;
}

/* Slice(input, begin, size); a size of -1 reaches to the end. */
EMP_INFER(slice)
{
    const emp_tensor_info *in = &op->input[0], *begin = &op->input[1],
                          *size = &op->input[2];
    emp_shape shape = emp_shape_from_vector(size);

    if (shape.rank < 0) shape = emp_shape_of_rank(in->shape.rank);
    emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
    if (size->value == NULL || in->shape.rank < 0) return EMP_OK;
    if (shape.rank != in->shape.rank ||
        (begin->value && begin->value_count != shape.rank))
        return EMP_ERROR(EMP_EFORMAT, "a slice of rank %d from a tensor of rank %d",
                         shape.rank, in->shape.rank);
    for (int32_t d = 0; begin->value != NULL && d < shape.rank; d++) {
        int64_t whole = in->shape.dim[d], first = begin->value[d];
        if (whole >= 0 && (first < 0 || first > whole || shape.dim[d] > whole - first))
            return EMP_ERROR(EMP_EFORMAT, "dim %d: %lld elements from %lld on, of %lld",
                             d, (long long)shape.dim[d], (long long)first,
                             (long long)whole);
        if (shape.dim[d] < 0 && whole >= 0) shape.dim[d] = whole - first;
    }
    output[0].shape = shape;
    if (begin->value != NULL) cut_value(op, begin->value, &output[0]);
    return EMP_OK;
}

/* One entry of a strided slice's index, after masks. */
typedef struct {
    int64_t begin, end, stride;
    bool    has_begin, has_end, is_shrunk;
} slice_entry;

static slice_entry read_slice_entry(const emp_op_view *op, int32_t i)
{
    const emp_op_attrs    *a = op->attrs;
    const emp_tensor_info *begin = &op->input[1], *end = &op->input[2],
                          *stride = &op->input[3];
    bool        given_begin = begin->value != NULL && i < begin->value_count;
    bool        given_end = end->value != NULL && i < end->value_count;
    bool        given_stride = stride->value != NULL && i < stride->value_count;
    slice_entry entry = {.begin = given_begin ? begin->value[i] : 0,
                         .end = given_end ? end->value[i] : 0,
                         .stride = given_stride ? stride->value[i] : 1,
                         .has_begin = given_begin,
                         .has_end = given_end,
                         .is_shrunk = (a->shrink_axis_mask >> i & 1) != 0};
    return entry;
}

/* Moves an index that may count from the end into 0 .. size (one less, both ways, when
 * walking down). */
static int64_t clamp_index(int64_t index, int64_t size, bool down)
{
    int64_t low = down ? -1 : 0, high = down ? size - 1 : size;

    if (index < 0) index += size;
    return index < low ? low : index > high ? high : index;
}

/* Elements that an entry takes of a dim, and its first; -1 when not known. */
static int64_t count_taken(const slice_entry *entry, int64_t size, bool from_edge,
                           bool to_edge, int64_t *first)
{
    bool    down = entry->stride < 0;
    int64_t step = entry->stride == INT64_MIN ? 0 : down ? -entry->stride : entry->stride;

    if (size < 0 || step < 1 || (!from_edge && !entry->has_begin) ||
        (!to_edge && !entry->has_end))
        return -1;
    *first = from_edge ? (down ? size - 1 : 0) : clamp_index(entry->begin, size, down);
    int64_t last = to_edge ? (down ? -1 : size) : clamp_index(entry->end, size, down);
    int64_t span = down ? *first - last : last - *first;
    return span <= 0 ? 0 : span / step + (span % step != 0);
}

/* The value of a strided slice of a vector. */
static void slice_value(const emp_op_view *op, int64_t first, int64_t stride,
                        emp_tensor_info *output)
{
    const emp_tensor_info *in = &op->input[0];
    int64_t                count = emp_shape_elements(&output->shape);

    if (in->value == NULL || in->shape.rank != 1 || !emp_shape_is_known(&output->shape))
        return;
    int64_t *value = count <= in->value_count ? emp_view_new_value(op, count) : NULL;
    if (value == NULL) return;
    for (int64_t i = 0; i < count; i++) {
        int64_t from = first + i * stride;
        if (from < 0 || from >= in->value_count) return;
        value[i] = in->value[from];
    }
    output->value = value;
    output->value_count = (int32_t)count;
}

/* Number of entries in the index of a strided slice, -1 = not known. */
static int32_t slice_entries(const emp_op_view *op)
{
    for (int32_t i = 1; i <= 3; i++) {
        const emp_shape *shape = &op->input[i].shape;
        if (op->input[i].value != NULL) return op->input[i].value_count;
        if (shape->rank == 1 && shape->dim[0] >= 0 && shape->dim[0] <= 2 * EMP_MAX_RANK)
            return (int32_t)shape->dim[0];
    }
    return -1;
}

EMP_INFER(strided_slice)
{
    const emp_op_attrs *a = op->attrs;
    const emp_shape    *in = &op->input[0].shape;
    emp_shape           shape = {.rank = 0};
    int32_t             n = slice_entries(op), dim = 0;
    int64_t             first = 0, stride = 1;
    char                text[EMP_SHAPE_TEXT_BYTES];

    emp_set_output(&output[0], EMP_SHAPE_UNKNOWN, emp_view_dtype(op, 0));
    if (in->rank < 0 || n < 0 || n > 2 * EMP_MAX_RANK) return EMP_OK;
    int32_t named = 0; /* dims of the input that entries name */
    for (int32_t i = 0; i < n; i++)
        named += !((a->ellipsis_mask | a->new_axis_mask) >> i & 1);
    if (named > in->rank)
        return EMP_ERROR(EMP_EFORMAT, "an index of %d dims into %s", named,
                         emp_shape_format(in, text));
    for (int32_t i = 0; i < n; i++) {
        if (shape.rank >= EMP_MAX_RANK) return EMP_OK;
        if (a->ellipsis_mask >> i & 1) {
            for (int32_t k = in->rank - named; k > 0 && shape.rank < EMP_MAX_RANK; k--)
                shape.dim[shape.rank++] = in->dim[dim++];
            named = in->rank;
        } else if (a->new_axis_mask >> i & 1) {
            shape.dim[shape.rank++] = 1;
        } else {
            slice_entry entry = read_slice_entry(op, i);
            if (entry.is_shrunk) {
                first = entry.begin < 0 ? entry.begin + in->dim[dim] : entry.begin;
                if (!entry.has_begin) first = -1;
            } else {
                shape.dim[shape.rank++] =
                    count_taken(&entry, in->dim[dim], a->begin_mask >> i & 1,
                                a->end_mask >> i & 1, &first);
                stride = entry.stride;
            }
            dim++;
        }
    }
    while (dim < in->rank && shape.rank < EMP_MAX_RANK)
        shape.dim[shape.rank++] = in->dim[dim++];
    output[0].shape = shape;
    slice_value(op, first, stride, &output[0]);
    return EMP_OK;
}

EMP_INFER(pad)
{
    emp_shape              shape = op->input[0].shape;
    const emp_tensor_info *pads = &op->input[1];

    emp_set_output(&output[0], emp_shape_of_rank(shape.rank), emp_view_dtype(op, 0));
    if (shape.rank < 0 || pads->value == NULL) return EMP_OK;
    if (pads->value_count != 2 * shape.rank)
        return EMP_ERROR(EMP_EFORMAT, "%d pad sizes for rank %d, need two each",
                         pads->value_count, shape.rank);
    for (int32_t d = 0; d < shape.rank; d++) {
        if (shape.dim[d] < 0) continue;
        int64_t both = emp_add_saturating(pads->value[2 * d], pads->value[2 * d + 1]);
        shape.dim[d] = emp_add_saturating(shape.dim[d], both);
    }
    output[0].shape = shape;
    return EMP_OK;
}

EMP_INFER(tile)
{
    emp_shape              shape = op->input[0].shape;
    const emp_tensor_info *times = &op->input[1];

    emp_set_output(&output[0], emp_shape_of_rank(shape.rank), emp_view_dtype(op, 0));
    if (shape.rank < 0 || times->value == NULL) return EMP_OK;
    if (times->value_count != shape.rank)
        return EMP_ERROR(EMP_EFORMAT, "%d multiples for rank %d", times->value_count,
                         shape.rank);
    for (int32_t d = 0; d < shape.rank; d++)
        if (shape.dim[d] >= 0)
            shape.dim[d] = emp_mul_saturating(shape.dim[d], times->value[d]);
    output[0].shape = shape;
    return EMP_OK;
}

EMP_INFER(transpose)
{
    const emp_shape       *in = &op->input[0].shape;
    const emp_tensor_info *order = &op->input[1];
    emp_shape              shape = emp_shape_of_rank(in->rank);

    emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
    if (in->rank < 0 || order->value == NULL) return EMP_OK;
    if (order->value_count != in->rank)
        return EMP_ERROR(EMP_EFORMAT, "a permutation of %d dims for rank %d",
                         order->value_count, in->rank);
    for (int32_t d = 0; d < shape.rank; d++) {
        int32_t from = emp_axis_normalize(order->value[d], in->rank);
        if (from < 0)
            return EMP_ERROR(EMP_EFORMAT, "dim %lld is outside rank %d",
                             (long long)order->value[d], in->rank);
        shape.dim[d] = in->dim[from];
    }
    output[0].shape = shape;
    return EMP_OK;
}

/* Sizes taken out of a shape, as tensordot does: elements of a known vector at known places. */
static void take_elements(const emp_op_view *op, emp_tensor_info *output)
{
    const emp_tensor_info *table = &op->input[0], *indices = &op->input[1];

    if (table->value == NULL || indices->value == NULL || table->shape.rank != 1) return;
    int64_t *value = emp_view_new_value(op, indices->value_count);
    for (int32_t i = 0; value != NULL && i < indices->value_count; i++) {
        if (indices->value[i] < 0 || indices->value[i] >= table->value_count) return;
        value[i] = table->value[indices->value[i]];
    }
    output->value = value;
    output->value_count = value != NULL ? indices->value_count : 0;
}

/* The number that a constant scalar holds, or -1. */
static int64_t value_of(const emp_tensor_info *scalar)
{
    return scalar->value != NULL && scalar->value_count == 1 ? scalar->value[0] : -1;
}

/* Gather(params, indices), GatherV2 with an axis behind. Each place in the leading dims that both share, if any, has
 * indices of its own. */
EMP_INFER(gather)
{
    const emp_tensor_info *table = &op->input[0], *indices = &op->input[1];
    int32_t                axis = 0, shared = op->attrs->batch_dims;
    emp_shape              shape = {.rank = 0};

    emp_set_output(&output[0], EMP_SHAPE_UNKNOWN, emp_view_dtype(op, 0));
    if (op->input_count > 2) {
        if (op->input[2].value == NULL || op->input[2].value_count != 1) return EMP_OK;
        axis = emp_axis_normalize(op->input[2].value[0],
                                  table->shape.rank < 0 ? 0 : table->shape.rank);
    }
    if (table->shape.rank < 0 || indices->shape.rank < 0) return EMP_OK;
    if (shared < 0 && shared >= -indices->shape.rank) shared += indices->shape.rank;
    if (axis < 0 || table->shape.rank == 0 || shared < 0 || shared > axis ||
        shared > indices->shape.rank)
        return EMP_ERROR(EMP_EFORMAT, "rows of a tensor of rank %d by indices of rank %d",
                         table->shape.rank, indices->shape.rank);
    if (table->shape.rank + indices->shape.rank - 1 - shared > EMP_MAX_RANK)
        return EMP_OK;
    for (int32_t d = 0; d < axis; d++) shape.dim[shape.rank++] = table->shape.dim[d];
    for (int32_t d = shared; d < indices->shape.rank; d++)
        shape.dim[shape.rank++] = indices->shape.dim[d];
    for (int32_t d = axis + 1; d < table->shape.rank; d++)
        shape.dim[shape.rank++] = table->shape.dim[d];
    output[0].shape = shape;
    take_elements(op, &output[0]);
    return EMP_OK;
}

/* Gather of a variable, whose element type stands in an attribute. */
EMP_INFER(resource_gather)
{
    EMP_CHECK(emp_op_infer_gather(op, output, output_count, err));
    output[0].dtype =
        op->attrs->dtype != EMP_DTYPE_NONE ? op->attrs->dtype : EMP_DTYPE_FLOAT;
    return EMP_OK;
}

EMP_INFER(gather_nd)
{
    const emp_shape *table = &op->input[0].shape, *indices = &op->input[1].shape;
    emp_shape        shape = {.rank = 0};

    emp_set_output(&output[0],
                   op->attrs->has_shape ? op->attrs->shape : EMP_SHAPE_UNKNOWN,
                   emp_view_dtype(op, 0));
    if (op->attrs->has_shape || table->rank < 0 || indices->rank < 1) return EMP_OK;
    int64_t depth = indices->dim[indices->rank - 1];
    if (depth < 0 || depth > table->rank ||
        indices->rank - 1 + table->rank - depth > EMP_MAX_RANK)
        return EMP_OK;
    for (int32_t d = 0; d + 1 < indices->rank; d++)
        shape.dim[shape.rank++] = indices->dim[d];
    for (int32_t d = (int32_t)depth; d < table->rank; d++)
        shape.dim[shape.rank++] = table->dim[d];
    output[0].shape = shape;
    return EMP_OK;
}

/* OneHot(indices, depth, on, off), whose new dim is the last one, or that of an axis. */
EMP_INFER(one_hot)
{
    const emp_shape       *x = &op->input[0].shape;
    const emp_tensor_info *depth = &op->input[1];
    emp_shape              shape = EMP_SHAPE_UNKNOWN;

    if (op->attrs->has_shape) {
        shape = op->attrs->shape;
    } else if (x->rank >= 0 && x->rank < EMP_MAX_RANK) {
        int32_t axis =
            emp_axis_normalize(op->attrs->has_axis ? op->attrs->axis : -1, x->rank + 1);
        if (axis < 0)
            return EMP_ERROR(EMP_EFORMAT, "axis %d of indices of rank %d",
                             op->attrs->axis, x->rank);
        shape.rank = x->rank + 1;
        for (int32_t d = 0; d < shape.rank; d++)
            shape.dim[d] = d == axis ? value_of(depth) : x->dim[d < axis ? d : d - 1];
    }
    return emp_set_output(&output[0], shape, emp_view_dtype(op, 2));
}

/* ScatterNd(indices, updates, shape). */
EMP_INFER(scatter_nd)
{
    emp_shape shape = op->attrs->has_shape  ? op->attrs->shape
                      : op->input_count > 2 ? emp_shape_from_vector(&op->input[2])
                                            : EMP_SHAPE_UNKNOWN;

    return emp_set_output(&output[0], shape, emp_view_dtype(op, 1));
}

/* MatrixDiag(diagonal [.., n]): [.., n, n]. */
EMP_INFER(matrix_diag)
{
    emp_shape shape = op->input[0].shape;

    if (shape.rank > 0 && shape.rank < EMP_MAX_RANK) {
        shape.dim[shape.rank] = shape.dim[shape.rank - 1];
        shape.rank++;
    } else {
        shape = EMP_SHAPE_UNKNOWN;
    }
    return emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
}

/* LinSpace(start, stop, count). */
EMP_INFER(lin_space)
{
    return emp_set_output(&output[0], EMP_SHAPE(value_of(&op->input[2])),
                          emp_view_dtype(op, 0));
}

/* Writes one index-data pair of a DynamicStitch of vectors; false when out of range. */
static bool stitch(const emp_tensor_info *indices, const emp_tensor_info *data,
                   int64_t *value, int64_t count)
{
    if (data->value == NULL || data->value_count != indices->value_count) return false;
    for (int32_t k = 0; k < indices->value_count; k++) {
        if (indices->value[k] < 0 || indices->value[k] >= count) return false;
        value[indices->value[k]] = data->value[k];
    }
    return true;
}

/* DynamicStitch(indices..., data...): row indices[i][k] of the output is data[i][k]. */
EMP_INFER(dynamic_stitch)
{
    int32_t   n = op->input_count / 2;
    int64_t   count = 0;
    emp_shape shape = {.rank = 1, .dim = {-1}};

    const emp_shape *indices = &op->input[0].shape, *data = &op->input[n].shape;
    if (indices->rank < 0 || data->rank < indices->rank)
        shape = EMP_SHAPE_UNKNOWN;
    else
        for (int32_t d = indices->rank; d < data->rank && shape.rank < EMP_MAX_RANK; d++)
            shape.dim[shape.rank++] = data->dim[d];
    emp_set_output(&output[0], shape, emp_view_dtype(op, n));
    for (int32_t i = 0; i < n; i++) {
        if (op->input[i].value == NULL) return EMP_OK;
        for (int32_t k = 0; k < op->input[i].value_count; k++)
            if (op->input[i].value[k] >= count)
                count = emp_add_saturating(op->input[i].value[k], 1);
    }
    if (shape.rank < 0) return EMP_OK;
    output[0].shape.dim[0] = count;
    int64_t *value = shape.rank == 1 ? emp_view_new_value(op, count) : NULL;
    if (value == NULL) return EMP_OK;
    memset(value, 0, (size_t)count * sizeof *value);
    for (int32_t i = 0; i < n; i++)
        if (!stitch(&op->input[i], &op->input[n + i], value, count)) return EMP_OK;
    output[0].value = value;
    output[0].value_count = (int32_t)count;
    return EMP_OK;
}
