// SPDX-License-Identifier: GPL-3.0-or-later
// Computes nodes that move the elements of constants: joins, cuts, lookups, scatters, sorts.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graphs/import/onnx/lower.h"

/* ---- what all foldings do with arrays ---- */

/* To so many bits of fraction, ties to even, with exponents from `least` on. */
static double round_float(double x, int bits, int least, double largest)
{
    int exponent;

    if (x == 0.0 || !isfinite(x)) return x;
    (void)frexp(x, &exponent);
    int    last = (exponent - 1 < least ? least : exponent - 1) - bits;
    double rounded = ldexp(rint(ldexp(x, -last)), last);
    return fabs(rounded) > largest ? copysign(INFINITY, x) : rounded;
}

/* The low bits of a whole number, as a number with a sign or without one. */
static double wrap(double x, int bits, bool is_signed)
{
    uint64_t low = (uint64_t)emp_truncate(x) & (((uint64_t)1 << bits) - 1);

    if (is_signed && (low >> (bits - 1) & 1))
        return (double)low - (double)((uint64_t)1 << bits);
    return (double)low;
}

bool emp_onnx_array_in(const emp_onnx_call *c, int32_t i, emp_onnx_array *out)
{
    const emp_onnx_value *value = emp_onnx_in(c, i);

    if (value == NULL || value->number == NULL) return false;
    *out = (emp_onnx_array){value->shape, value->dtype, value->number};
    return true;
}

int64_t emp_onnx_place(const emp_shape *shape, const int64_t *stride, int64_t start,
                       int64_t i)
{
    for (int32_t d = shape->rank - 1; d >= 0; d--) {
        start += i % shape->dim[d] * stride[d];
        i /= shape->dim[d];
    }
    return start;
}

bool emp_onnx_put(emp_onnx_call *c, emp_shape shape, emp_dtype dtype,
                  const double *number)
{
    emp_onnx_out_numbers(c, 0, shape, dtype, number);
    return true;
}

double *emp_onnx_room_for(emp_onnx_call *c, const emp_shape *shape)
{
    if (!emp_shape_is_known(shape)) return NULL;
    return emp_onnx_new_numbers(c->o, emp_shape_elements(shape));
}

double emp_onnx_round_to(emp_dtype dtype, double x)
{
    switch (dtype) {
    case EMP_DTYPE_FLOAT: return (double)(float)x;
    case EMP_DTYPE_HALF: return round_float(x, 10, -14, 65504.0);
    case EMP_DTYPE_BFLOAT16: return round_float(x, 7, -126, 0x1.fep127);
    case EMP_DTYPE_BOOL: return x != 0.0;
    case EMP_DTYPE_INT8: return wrap(x, 8, true);
    case EMP_DTYPE_UINT8: return wrap(x, 8, false);
    case EMP_DTYPE_INT4: return wrap(x, 4, true);
    case EMP_DTYPE_UINT4: return wrap(x, 4, false);
    case EMP_DTYPE_INT2: return wrap(x, 2, true);
    case EMP_DTYPE_UINT2: return wrap(x, 2, false);
    case EMP_DTYPE_INT16: return wrap(x, 16, true);
    case EMP_DTYPE_UINT16: return wrap(x, 16, false);
    case EMP_DTYPE_INT32: return wrap(x, 32, true);
    case EMP_DTYPE_UINT32: return wrap(x, 32, false);
    case EMP_DTYPE_INT64:
    case EMP_DTYPE_UINT64: return trunc(x);
    default: return x;
    }
}

void emp_onnx_strides(const emp_shape *of, const emp_shape *to, int64_t *stride)
{
    int64_t step = 1;

    for (int32_t d = to->rank - 1; d >= 0; d--) {
        int32_t own = d - (to->rank - of->rank);
        stride[d] = own < 0 || of->dim[own] == 1 ? 0 : step;
        if (own >= 0) step = emp_onnx_times(step, of->dim[own]);
    }
}

/* ---- the elements of constants, moved ---- */

typedef emp_onnx_array array;

static int64_t count_of(const array *a) { return emp_shape_elements(&a->shape); }

/* An axis from 0, or -1 where the rank has no such axis. */
static int32_t axis_in(const emp_shape *shape, int64_t axis)
{
    if (axis < 0) axis += shape->rank;
    return axis >= 0 && axis < shape->rank ? (int32_t)axis : -1;
}

/* Makes the first output of elements of a that lie with these steps from `start`. */
static bool put_moved(emp_onnx_call *c, const array *a, emp_shape shape,
                      const int64_t *stride, int64_t start)
{
    double *number = emp_onnx_room_for(c, &shape);

    if (number == NULL) return false;
    for (int64_t i = 0; i < emp_shape_elements(&shape); i++)
        number[i] = a->number[emp_onnx_place(&shape, stride, start, i)];
    return emp_onnx_put(c, shape, a->dtype, number);
}

/* ---- new shapes ---- */

static bool fold_range(emp_onnx_call *c)
{
    array start, limit, delta;

    if (!emp_onnx_array_in(c, 0, &start) || !emp_onnx_array_in(c, 1, &limit) ||
        !emp_onnx_array_in(c, 2, &delta) || delta.number[0] == 0.0)
        return false;
    int64_t count = emp_onnx_range_count(c);
    double *number = count < 0 ? NULL : emp_onnx_new_numbers(c->o, count);
    if (number == NULL) return false;
    double value = start.number[0];
    for (int64_t i = 0; i < count; i++) {
        number[i] = value;
        value = emp_onnx_round_to(start.dtype, value + delta.number[0]);
    }
    return emp_onnx_put(c, EMP_SHAPE(count), start.dtype, number);
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
static bool fold_renamed(emp_onnx_call *c, bool (*rule)(emp_onnx_call *, emp_shape *))
{
    array     a;
    emp_shape shape;

    if (!emp_onnx_array_in(c, 0, &a) || !rule(c, &shape)) return false;
    for (int32_t d = 0; d < shape.rank; d++)
        if (shape.dim[d] < 0) return false;
    if (emp_shape_elements(&shape) != count_of(&a)) return false;
    return emp_onnx_put(c, shape, a.dtype, a.number);
}

static bool fold_reshape(emp_onnx_call *c) { return fold_renamed(c, emp_onnx_reshaped); }
static bool fold_squeeze(emp_onnx_call *c) { return fold_renamed(c, emp_onnx_squeezed); }
static bool fold_unsqueeze(emp_onnx_call *c)
{
    return fold_renamed(c, emp_onnx_unsqueezed);
}
static bool fold_flatten(emp_onnx_call *c) { return fold_renamed(c, emp_onnx_flattened); }

static bool fold_expand(emp_onnx_call *c)
{
    array     a;
    emp_shape wanted = {0}, shape;
    int64_t   stride[EMP_MAX_RANK];

    if (!emp_onnx_array_in(c, 0, &a)) return false;
    wanted.rank = emp_onnx_ints(c, NULL, 1, wanted.dim, EMP_MAX_RANK);
    if (wanted.rank < 0 || !emp_onnx_broadcast(&a.shape, &wanted, &shape)) return false;
    emp_onnx_strides(&a.shape, &shape, stride);
    return put_moved(c, &a, shape, stride, 0);
}

static bool fold_transpose(emp_onnx_call *c)
{
    array     a;
    int64_t   order[EMP_MAX_RANK], stride[EMP_MAX_RANK], moved[EMP_MAX_RANK];
    emp_shape shape;

    if (!emp_onnx_array_in(c, 0, &a)) return false;
    shape = a.shape;
    if (emp_onnx_ints(c, "perm", -1, order, EMP_MAX_RANK) != shape.rank)
        for (int32_t d = 0; d < shape.rank; d++) order[d] = shape.rank - 1 - d;
    emp_onnx_strides(&a.shape, &a.shape, stride);
    for (int32_t d = 0; d < shape.rank; d++) {
        if (order[d] < 0 || order[d] >= shape.rank) return false;
        shape.dim[d] = a.shape.dim[order[d]];
        moved[d] = stride[order[d]];
    }
    return put_moved(c, &a, shape, moved, 0);
}

static bool fold_tile(emp_onnx_call *c)
{
    array     a;
    int64_t   times[EMP_MAX_RANK], stride[EMP_MAX_RANK];
    emp_shape shape;

    if (!emp_onnx_array_in(c, 0, &a) || c->in_count != 2 ||
        emp_onnx_ints(c, NULL, 1, times, EMP_MAX_RANK) != a.shape.rank)
        return false;
    shape = a.shape;
    for (int32_t d = 0; d < shape.rank; d++)
        if (times[d] < 0 || times[d] > EMP_ONNX_MAX_NUMBERS ||
            __builtin_mul_overflow(shape.dim[d], times[d], &shape.dim[d]))
            return false;
    double *number = emp_onnx_room_for(c, &shape);
    if (number == NULL) return false;
    emp_onnx_strides(&a.shape, &a.shape, stride);
    for (int64_t i = 0; i < emp_shape_elements(&shape); i++) {
        int64_t rest = i, from = 0;
        for (int32_t d = shape.rank - 1; d >= 0; d--) {
            from += rest % shape.dim[d] % a.shape.dim[d] * stride[d];
            rest /= shape.dim[d];
        }
        number[i] = a.number[from];
    }
    return emp_onnx_put(c, shape, a.dtype, number);
}

/* Pads with a value; those below 0 cut. */
static bool fold_pad(emp_onnx_call *c)
{
    array   a, value;
    int64_t pads[2 * EMP_MAX_RANK], stride[EMP_MAX_RANK];
    double  with = emp_onnx_float(c, "value", 0.0);

    if (!emp_onnx_array_in(c, 0, &a) || emp_onnx_in(c, 3) != NULL ||
        emp_onnx_ints(c, "pads", 1, pads, 2 * EMP_MAX_RANK) != 2 * a.shape.rank)
        return false;
    emp_onnx_attr mode;
    if (emp_onnx_get(c, "mode", &mode) && !emp_onnx_word_is(c, "mode", "constant"))
        return false;
    if (emp_onnx_array_in(c, 2, &value) && count_of(&value) == 1) with = value.number[0];
    emp_shape shape = a.shape;
    for (int32_t d = 0; d < shape.rank; d++) {
        if (llabs(pads[d]) > EMP_ONNX_MAX_NUMBERS ||
            llabs(pads[shape.rank + d]) > EMP_ONNX_MAX_NUMBERS)
            return false;
        shape.dim[d] += pads[d] + pads[shape.rank + d];
        if (shape.dim[d] < 0) return false;
    }
    double *number = emp_onnx_room_for(c, &shape);
    if (number == NULL) return false;
    emp_onnx_strides(&a.shape, &a.shape, stride);
    for (int64_t i = 0; i < emp_shape_elements(&shape); i++) {
        int64_t rest = i, from = 0;
        bool    is_inside = true;
        for (int32_t d = shape.rank - 1; d >= 0; d--) {
            int64_t at = rest % shape.dim[d] - pads[d];
            is_inside = is_inside && at >= 0 && at < a.shape.dim[d];
            from += at * stride[d];
            rest /= shape.dim[d];
        }
        number[i] = is_inside ? a.number[from] : with;
    }
    return emp_onnx_put(c, shape, a.dtype, number);
}

/* ---- joins and cuts ---- */

static bool fold_concat(emp_onnx_call *c)
{
    array     a = {0};
    emp_shape shape = {0};
    int64_t axis = emp_onnx_int(c, "axis", emp_onnx_is_before(c, 4)), outer = 1, done = 0;

    for (int32_t i = 0; i < c->in_count; i++) {
        if (!emp_onnx_array_in(c, i, &a)) return false;
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
    double *number = c->in_count > 0 ? emp_onnx_room_for(c, &shape) : NULL;
    if (number == NULL) return false;
    if (emp_shape_elements(&shape) == 0) outer = 0;
    for (int32_t d = 0; d < axis; d++) outer = emp_onnx_times(outer, shape.dim[d]);
    for (int64_t k = 0; k < outer; k++) {
        for (int32_t i = 0; i < c->in_count; i++) {
            emp_onnx_array_in(c, i, &a);
            int64_t part = count_of(&a) / outer;
            memcpy(number + done, a.number + k * part, (size_t)part * sizeof *number);
            done += part;
        }
    }
    return emp_onnx_put(c, shape, a.dtype, number);
}

static bool fold_slice(emp_onnx_call *c)
{
    array        a;
    emp_onnx_cut cut;
    int64_t      stride[EMP_MAX_RANK], start = 0;

    if (!emp_onnx_array_in(c, 0, &a) || !emp_onnx_read_cut(c, &a.shape, &cut))
        return false;
    emp_shape shape = a.shape;
    emp_onnx_strides(&a.shape, &a.shape, stride);
    for (int32_t d = 0; d < shape.rank; d++) {
        start += cut.first[d] * stride[d];
        stride[d] *= cut.step[d];
        shape.dim[d] = cut.taken[d];
    }
    return put_moved(c, &a, shape, stride, start);
}

static bool fold_split(emp_onnx_call *c)
{
    array   a;
    int64_t sizes[EMP_ONNX_MAX_PARTS], stride[EMP_MAX_RANK], start = 0;

    if (!emp_onnx_array_in(c, 0, &a)) return false;
    int32_t axis = axis_in(&a.shape, emp_onnx_int(c, "axis", 0));
    int32_t parts = axis < 0 ? 0 : emp_onnx_part_sizes(c, a.shape.dim[axis], sizes);
    for (int32_t i = 0; i < parts; i++) {
        if (sizes[i] < 0 || sizes[i] > a.shape.dim[axis] - start) return false;
        start += sizes[i];
    }
    emp_onnx_strides(&a.shape, &a.shape, stride);
    start = 0;
    for (int32_t i = 0; i < parts; i++) {
        emp_shape shape = a.shape;
        shape.dim[axis] = sizes[i];
        double *number = emp_onnx_room_for(c, &shape);
        if (number == NULL) return false;
        for (int64_t k = 0; k < emp_shape_elements(&shape); k++)
            number[k] = a.number[emp_onnx_place(&shape, stride, start * stride[axis], k)];
        emp_onnx_out_numbers(c, i, shape, a.dtype, number);
        start += sizes[i];
    }
    return parts > 0;
}

/* ---- lookups ---- */

static bool fold_gather(emp_onnx_call *c)
{
    array     a, indices;
    emp_shape shape = {0};
    int64_t   axis = emp_onnx_int(c, "axis", 0), inner = 1, outer = 1;

    if (!emp_onnx_array_in(c, 0, &a) || !emp_onnx_array_in(c, 1, &indices)) return false;
    axis = axis_in(&a.shape, axis);
    if (axis < 0 || a.shape.rank - 1 + indices.shape.rank > EMP_MAX_RANK) return false;
    for (int32_t d = 0; d < a.shape.rank; d++) {
        for (int32_t k = 0; d == axis && k < indices.shape.rank; k++)
            shape.dim[shape.rank++] = indices.shape.dim[k];
        if (d != axis) shape.dim[shape.rank++] = a.shape.dim[d];
        if (d < axis) outer = emp_onnx_times(outer, a.shape.dim[d]);
        if (d > axis) inner = emp_onnx_times(inner, a.shape.dim[d]);
    }
    int64_t count = count_of(&indices), size = a.shape.dim[axis];
    double *number = emp_onnx_room_for(c, &shape);
    if (number == NULL) return false;
    if (emp_shape_elements(&shape) == 0) outer = 0;
    for (int64_t i = 0; i < outer * count; i++) {
        int64_t from = emp_truncate(indices.number[i % count]);
        if (from < 0) from += size;
        if (from < 0 || from >= size) return false;
        memcpy(number + i * inner, a.number + (i / count * size + from) * inner,
               (size_t)inner * sizeof *number);
    }
    return emp_onnx_put(c, shape, a.dtype, number);
}

/* Where the element of `data` lies that position i of `indices` names along an axis; -1: nowhere. */
static int64_t named_place(const array *data, const array *indices, int32_t axis,
                           const int64_t *stride, int64_t i)
{
    int64_t rest = i, from = 0, size = data->shape.dim[axis];
    int64_t row = emp_truncate(indices->number[i]);

    if (row < 0) row += size;
    if (row < 0 || row >= size) return -1;
    for (int32_t d = indices->shape.rank - 1; d >= 0; d--) {
        int64_t at = rest % indices->shape.dim[d];
        rest /= indices->shape.dim[d];
        if (d != axis && at >= data->shape.dim[d]) return -1;
        from += (d == axis ? row : at) * stride[d];
    }
    return from;
}

static bool fold_gather_elements(emp_onnx_call *c)
{
    array   a, indices;
    int64_t stride[EMP_MAX_RANK];

    if (!emp_onnx_array_in(c, 0, &a) || !emp_onnx_array_in(c, 1, &indices)) return false;
    int32_t axis = axis_in(&a.shape, emp_onnx_int(c, "axis", 0));
    double *number = emp_onnx_room_for(c, &indices.shape);
    if (axis < 0 || indices.shape.rank != a.shape.rank || number == NULL) return false;
    emp_onnx_strides(&a.shape, &a.shape, stride);
    for (int64_t i = 0; i < count_of(&indices); i++) {
        int64_t from = named_place(&a, &indices, axis, stride, i);
        if (from < 0) return false;
        number[i] = a.number[from];
    }
    return emp_onnx_put(c, indices.shape, a.dtype, number);
}

/* A copy of the first input, which scatters write to; NULL: no constant, or a sum is asked for. */
static double *copy_of_first(emp_onnx_call *c, array *a)
{
    emp_onnx_attr attr;

    if (!emp_onnx_array_in(c, 0, a)) return NULL;
    if (emp_onnx_get(c, "reduction", &attr) && !emp_onnx_word_is(c, "reduction", "none"))
        return NULL;
    double *number = emp_onnx_room_for(c, &a->shape);
    if (number != NULL) memcpy(number, a->number, (size_t)count_of(a) * sizeof *number);
    return number;
}

static bool fold_scatter_elements(emp_onnx_call *c)
{
    array   a, indices, updates;
    int64_t stride[EMP_MAX_RANK];

    if (!emp_onnx_array_in(c, 1, &indices) || !emp_onnx_array_in(c, 2, &updates))
        return false;
    double *number = copy_of_first(c, &a);
    if (number == NULL) return false;
    int32_t axis = axis_in(&a.shape, emp_onnx_int(c, "axis", 0));
    if (axis < 0 || indices.shape.rank != a.shape.rank ||
        count_of(&updates) != count_of(&indices))
        return false;
    emp_onnx_strides(&a.shape, &a.shape, stride);
    for (int64_t i = 0; i < count_of(&indices); i++) {
        int64_t to = named_place(&a, &indices, axis, stride, i);
        if (to < 0) return false;
        number[to] = updates.number[i];
    }
    return emp_onnx_put(c, a.shape, a.dtype, number);
}

static bool fold_scatter_nd(emp_onnx_call *c)
{
    array   a, indices, updates;
    int64_t stride[EMP_MAX_RANK], inner = 1;

    if (!emp_onnx_array_in(c, 1, &indices) || !emp_onnx_array_in(c, 2, &updates) ||
        indices.shape.rank < 1)
        return false;
    double *number = copy_of_first(c, &a);
    int64_t depth = indices.shape.dim[indices.shape.rank - 1];
    if (number == NULL || depth < 1 || depth > a.shape.rank) return false;
    emp_onnx_strides(&a.shape, &a.shape, stride);
    for (int32_t d = (int32_t)depth; d < a.shape.rank; d++)
        inner = emp_onnx_times(inner, a.shape.dim[d]);
    int64_t rows = count_of(&indices) / depth;
    if (count_of(&a) == 0 || count_of(&updates) != emp_onnx_times(rows, inner))
        return false;
    for (int64_t i = 0; i < rows; i++) {
        int64_t to = 0;
        for (int32_t d = 0; d < depth; d++) {
            int64_t at = emp_truncate(indices.number[i * depth + d]);
            if (at < 0) at += a.shape.dim[d];
            if (at < 0 || at >= a.shape.dim[d]) return false;
            to += at * stride[d];
        }
        memcpy(number + to, updates.number + i * inner, (size_t)inner * sizeof *number);
    }
    return emp_onnx_put(c, a.shape, a.dtype, number);
}

static bool fold_nonzero(emp_onnx_call *c)
{
    array   a;
    int64_t found = 0, k = 0;

    if (!emp_onnx_array_in(c, 0, &a)) return false;
    if (a.shape.rank == 0) a.shape = EMP_SHAPE(1);
    int64_t count = count_of(&a);
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
    return emp_onnx_put(c, EMP_SHAPE(a.shape.rank, found), EMP_DTYPE_INT64, number);
}

/* ---- sorts ---- */

typedef struct {
    double  key; /* in ascending order */
    int64_t at;
} ranked;

static int by_key(const void *x, const void *y)
{
    const ranked *a = x, *b = y;

    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static bool fold_top_k(emp_onnx_call *c)
{
    array   a;
    int64_t k = emp_onnx_top_count(c), stride[EMP_MAX_RANK], moved[EMP_MAX_RANK];
    double  sign = emp_onnx_int(c, "largest", 1) != 0 ? -1.0 : 1.0;

    if (!emp_onnx_array_in(c, 0, &a)) return false;
    int32_t axis = axis_in(&a.shape, emp_onnx_int(c, "axis", -1));
    if (axis < 0 || k < 0 || k > a.shape.dim[axis] || count_of(&a) == 0) return false;
    emp_shape shape = a.shape, rows = a.shape;
    int64_t   size = a.shape.dim[axis];
    shape.dim[axis] = k;
    rows.dim[axis] = 1;
    double *value = emp_onnx_room_for(c, &shape), *at = emp_onnx_room_for(c, &shape);
    ranked *row = emp_arena_alloc(&c->o->arena, ((size_t)size + 1) * sizeof *row);
    if (value == NULL || at == NULL || row == NULL) return false;
    emp_onnx_strides(&a.shape, &a.shape, stride);
    emp_onnx_strides(&shape, &shape, moved);
    for (int64_t i = 0; i < emp_shape_elements(&rows); i++) {
        int64_t from = emp_onnx_place(&rows, stride, 0, i);
        int64_t to = emp_onnx_place(&rows, moved, 0, i);
        for (int64_t j = 0; j < size; j++)
            row[j] = (ranked){sign * a.number[from + j * stride[axis]], j};
        qsort(row, (size_t)size, sizeof *row, by_key);
        for (int64_t j = 0; j < k; j++) {
            value[to + j * moved[axis]] = sign * row[j].key;
            at[to + j * moved[axis]] = (double)row[j].at;
        }
    }
    emp_onnx_out_numbers(c, 0, shape, a.dtype, value);
    emp_onnx_out_numbers(c, 1, shape, EMP_DTYPE_INT64, at);
    return true;
}

/* Numbers the groups of equal values in sorted rows; returns how many there are. inverse[k] is the
 * group of element k, first[g] where group g comes first, with its number. */
static int64_t find_groups(const ranked *row, int64_t count, double *inverse,
                           ranked *first, double *members)
{
    int64_t groups = 0;

    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || row[i].key != row[i - 1].key) {
            first[groups] = (ranked){(double)row[i].at, groups};
            members[groups++] = 0.0;
        }
        inverse[row[i].at] = (double)(groups - 1);
        members[groups - 1] += 1.0;
    }
    return groups;
}

/* Unique without an axis: values in ascending order, or as they come first; where each is first,
 * which one each element is, and how often each is there. */
static bool fold_unique(emp_onnx_call *c)
{
    array   a;
    double *out[4], *members, *place;

    if (!emp_onnx_array_in(c, 0, &a) || emp_onnx_int(c, "axis", INT64_MAX) != INT64_MAX)
        return false;
    int64_t count = count_of(&a);
    ranked *row = emp_arena_alloc(&c->o->arena, (2 * (size_t)count + 1) * sizeof *row);
    for (int32_t i = 0; i < 4; i++) out[i] = emp_onnx_new_numbers(c->o, count);
    members = emp_onnx_new_numbers(c->o, count);
    place = emp_onnx_new_numbers(c->o, count);
    if (row == NULL || place == NULL) return false;
    ranked *first = row + count;
    for (int64_t i = 0; i < count; i++) row[i] = (ranked){a.number[i], i};
    qsort(row, (size_t)count, sizeof *row, by_key);
    int64_t found = find_groups(row, count, out[2], first, members);
    if (emp_onnx_int(c, "sorted", 1) == 0)
        qsort(first, (size_t)found, sizeof *first, by_key);
    for (int64_t i = 0; i < found; i++) {
        out[0][i] = a.number[(int64_t)first[i].key];
        out[1][i] = first[i].key;
        out[3][i] = members[first[i].at];
        place[first[i].at] = (double)i;
    }
    for (int64_t k = 0; k < count; k++) out[2][k] = place[(int64_t)out[2][k]];
    for (int32_t i = 0; i < 4; i++)
        emp_onnx_out_numbers(c, i, EMP_SHAPE(i == 2 ? count : found),
                             i == 0 ? a.dtype : EMP_DTYPE_INT64, out[i]);
    return true;
}

const emp_onnx_fold_rule emp_onnx_array_foldings[] = {
    {"Concat", fold_concat},
    {"ConstantOfShape", fold_filled},
    {"Expand", fold_expand},
    {"Flatten", fold_flatten},
    {"Gather", fold_gather},
    {"GatherElements", fold_gather_elements},
    {"NonZero", fold_nonzero},
    {"Pad", fold_pad},
    {"Range", fold_range},
    {"Reshape", fold_reshape},
    {"Scatter", fold_scatter_elements},
    {"ScatterElements", fold_scatter_elements},
    {"ScatterND", fold_scatter_nd},
    {"Slice", fold_slice},
    {"Split", fold_split},
    {"Squeeze", fold_squeeze},
    {"Tile", fold_tile},
    {"TopK", fold_top_k},
    {"Transpose", fold_transpose},
    {"Unique", fold_unique},
    {"Unsqueeze", fold_unsqueeze},
    {0}};
