// SPDX-License-Identifier: GPL-3.0-or-later
// Shapes that nodes give in numbers: slices, axes, parts, new shapes of the same elements.
#include "graphs/import/onnx/lower.h"

#include <math.h>

bool emp_onnx_broadcast(const emp_shape *a, const emp_shape *b, emp_shape *out)
{
    if (a->rank < 0 || b->rank < 0) return false;
    *out = (emp_shape){.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int32_t d = 0; d < out->rank; d++) {
        int32_t own_a = d - (out->rank - a->rank), own_b = d - (out->rank - b->rank);
        int64_t size_a = own_a >= 0 ? a->dim[own_a] : 1;
        int64_t size_b = own_b >= 0 ? b->dim[own_b] : 1;
        if (size_a != size_b && size_a != 1 && size_b != 1) return false;
        out->dim[d] = size_a == 1 ? size_b : size_a;
    }
    return true;
}

bool emp_onnx_slice_span(int64_t size, int64_t start, int64_t end, int64_t step,
                         int64_t *first, int64_t *taken)
{
    bool down = step < 0;

    if (step == 0 || step < -INT32_MAX || size < 0 || size > INT64_MAX / 4) return false;
    if (start < 0) start = start < -size ? 0 : start + size;
    if (end < 0) end = end < -size ? (down ? -1 : 0) : end + size;
    if (start > (down ? size - 1 : size)) start = down ? size - 1 : size;
    if (end > size) end = size;
    int64_t span = down ? start - end : end - start, by = down ? -step : step;
    *first = start < 0 ? 0 : start;
    *taken = span <= 0 ? 0 : (span - 1) / by + 1;
    return true;
}

/* Before opset 10 bounds are attributes, then inputs; axes and steps may be left out. */
bool emp_onnx_read_cut(emp_onnx_call *c, const emp_shape *shape, emp_onnx_cut *cut)
{
    int64_t starts[EMP_MAX_RANK], ends[EMP_MAX_RANK], axes[EMP_MAX_RANK];
    int64_t steps[EMP_MAX_RANK];
    int32_t count = emp_onnx_ints(c, "starts", 1, starts, EMP_MAX_RANK);

    if (shape->rank < 0 || count < 0 ||
        emp_onnx_ints(c, "ends", 2, ends, EMP_MAX_RANK) != count)
        return false;
    if (emp_onnx_ints(c, "axes", 3, axes, EMP_MAX_RANK) != count)
        for (int32_t i = 0; i < count; i++) axes[i] = i;
    if (emp_onnx_ints(c, NULL, 4, steps, EMP_MAX_RANK) != count)
        for (int32_t i = 0; i < count; i++) steps[i] = 1;
    for (int32_t d = 0; d < shape->rank; d++) {
        cut->first[d] = 0;
        cut->taken[d] = shape->dim[d];
        cut->step[d] = 1;
    }
    for (int32_t i = 0; i < count; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + shape->rank : axes[i];
        if (axis < 0 || axis >= shape->rank) return false;
        cut->step[axis] = steps[i];
        if (!emp_onnx_slice_span(shape->dim[axis], starts[i], ends[i], steps[i],
                                 &cut->first[axis], &cut->taken[axis]))
            return false;
    }
    return true;
}

bool emp_onnx_reshaped(emp_onnx_call *c, emp_shape *shape)
{
    emp_shape in = emp_onnx_in_shape(c, 0);
    bool      zero_is_zero = emp_onnx_int(c, "allowzero", 0) != 0;
    int64_t   known = 1;
    int32_t   rest = -1;

    *shape = (emp_shape){0};
    shape->rank = emp_onnx_ints(c, "shape", 1, shape->dim, EMP_MAX_RANK);
    if (in.rank < 0 || shape->rank < 0) return false;
    for (int32_t d = 0; d < shape->rank; d++) {
        if (shape->dim[d] == 0 && !zero_is_zero && d < in.rank) shape->dim[d] = in.dim[d];
        if (shape->dim[d] < 0)
            rest = d;
        else if (__builtin_mul_overflow(known, shape->dim[d], &known))
            return false;
    }
    if (rest >= 0) shape->dim[rest] = known > 0 ? emp_shape_elements(&in) / known : 0;
    return true;
}

/* The dims that a list names, as bits; false where one is outside. */
static bool read_mask(const int64_t *axes, int32_t count, int32_t rank, uint32_t *mask)
{
    *mask = 0;
    for (int32_t i = 0; i < count; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis < 0 || axis >= rank) return false;
        *mask |= 1U << axis;
    }
    return true;
}

bool emp_onnx_squeezed(emp_onnx_call *c, emp_shape *shape)
{
    emp_shape in = emp_onnx_in_shape(c, 0);
    int64_t   axes[EMP_MAX_RANK];
    int32_t   count = emp_onnx_ints(c, "axes", 1, axes, EMP_MAX_RANK);
    uint32_t  cut = 0;

    *shape = (emp_shape){0};
    if (in.rank < 0 || !read_mask(axes, count, in.rank, &cut)) return false;
    for (int32_t d = 0; d < in.rank; d++)
        if (count < 0 ? in.dim[d] != 1 : !(cut >> d & 1))
            shape->dim[shape->rank++] = in.dim[d];
    return true;
}

bool emp_onnx_unsqueezed(emp_onnx_call *c, emp_shape *shape)
{
    emp_shape in = emp_onnx_in_shape(c, 0);
    int64_t   axes[EMP_MAX_RANK];
    int32_t   count = emp_onnx_ints(c, "axes", 1, axes, EMP_MAX_RANK), d = 0;
    uint32_t  added = 0;

    *shape = (emp_shape){0};
    if (in.rank < 0 || count < 0 || in.rank + count > EMP_MAX_RANK ||
        !read_mask(axes, count, in.rank + count, &added) ||
        __builtin_popcount(added) != count)
        return false;
    for (int32_t i = 0; i < in.rank + count; i++)
        shape->dim[shape->rank++] = added >> i & 1 ? 1 : in.dim[d++];
    return true;
}

bool emp_onnx_flattened(emp_onnx_call *c, emp_shape *shape)
{
    emp_shape in = emp_onnx_in_shape(c, 0);
    int64_t   axis = emp_onnx_int(c, "axis", 1);

    *shape = EMP_SHAPE(1, 1);
    if (axis < 0) axis += in.rank;
    if (in.rank < 0 || axis < 0 || axis > in.rank) return false;
    for (int32_t d = 0; d < in.rank; d++)
        if (__builtin_mul_overflow(shape->dim[d >= axis], in.dim[d],
                                   &shape->dim[d >= axis]))
            return false;
    return true;
}

bool emp_onnx_read_axes(emp_onnx_call *c, uint32_t *mask)
{
    emp_shape shape = emp_onnx_in_shape(c, 0);
    int64_t   axes[EMP_MAX_RANK];
    int32_t   count = emp_onnx_ints(c, "axes", 1, axes, EMP_MAX_RANK);

    if (shape.rank < 0 || !read_mask(axes, count, shape.rank, mask)) return false;
    if (count <= 0 && emp_onnx_int(c, "noop_with_empty_axes", 0) == 0)
        *mask = (1U << shape.rank) - 1;
    return true;
}

emp_shape emp_onnx_aligned(const emp_onnx_call *c, int32_t i)
{
    emp_shape first = emp_onnx_in_shape(c, 0), shape = emp_onnx_in_shape(c, i);
    int64_t   axis = emp_onnx_int(c, "axis", INT64_MAX);

    if (!emp_onnx_is_before(c, 7) || i != 1 || axis == INT64_MAX || shape.rank < 0)
        return shape;
    if (axis < 0) axis += first.rank;
    while (axis >= 0 && shape.rank < first.rank - axis) shape.dim[shape.rank++] = 1;
    return shape;
}

int32_t emp_onnx_part_sizes(emp_onnx_call *c, int64_t whole, int64_t *sizes)
{
    int32_t parts = c->node->output_count;

    if (parts < 1 || parts > EMP_ONNX_MAX_PARTS) return -1;
    int32_t count = emp_onnx_ints(c, "split", 1, sizes, EMP_ONNX_MAX_PARTS);
    if (count >= 0) return count;
    if (emp_onnx_in(c, 1) != NULL) return -1;
    int64_t each = whole / parts + (whole % parts != 0), left = whole;
    for (int32_t i = 0; i < parts; i++, left -= each)
        sizes[i] = left < each ? (left < 0 ? 0 : left) : each;
    return parts;
}

int64_t emp_onnx_top_count(emp_onnx_call *c)
{
    int64_t list[1];

    if (emp_onnx_ints(c, NULL, 1, list, 1) == 1) return list[0];
    return emp_onnx_int(c, "k", -1);
}

emp_dtype emp_onnx_cast_type(const emp_onnx_call *c)
{
    static const char *const words[] = {
        "UNDEFINED", "FLOAT",  "UINT8", "INT8",    "UINT16", "INT16",  "INT32",
        "INT64",     "STRING", "BOOL",  "FLOAT16", "DOUBLE", "UINT32", "UINT64"};
    const emp_onnx_value *like = emp_onnx_in(c, 1);
    emp_onnx_attr         to;

    if (emp_slice_is(c->node->type, "CastLike"))
        return like != NULL ? like->dtype : EMP_DTYPE_NONE;
    if (!emp_onnx_get(c, "to", &to)) return EMP_DTYPE_NONE;
    for (size_t i = 0; to.s.data != NULL && i < sizeof words / sizeof words[0]; i++)
        if (emp_slice_is(to.s, words[i])) return emp_onnx_dtype((int64_t)i);
    return emp_onnx_dtype(to.i);
}

int64_t emp_onnx_range_count(const emp_onnx_call *c)
{
    double number[3];

    for (int32_t i = 0; i < 3; i++) {
        const emp_onnx_value *value = emp_onnx_in(c, i);
        if (value == NULL || value->number == NULL ||
            emp_shape_elements(&value->shape) != 1)
            return -1;
        number[i] = value->number[0];
    }
    double count = ceil((number[1] - number[0]) / number[2]);
    return !(count > 0.0) ? 0 : count < 0x1p62 ? (int64_t)count : -1;
}
