// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/graph/op_entry.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int64_t emp_info_bytes(const emp_tensor_info *info)
{
    return emp_dtype_tensor_bytes(info->dtype, &info->shape);
}

int64_t emp_view_input_bytes(const emp_op_view *op)
{
    int64_t bytes = 0;

    for (int32_t i = 0; i < op->input_count; i++)
        bytes = emp_add_saturating(bytes, emp_info_bytes(&op->input[i]));
    return bytes;
}

int64_t emp_view_output_bytes(const emp_op_view *op)
{
    int64_t bytes = 0;

    for (int32_t i = 0; i < op->output_count; i++)
        bytes = emp_add_saturating(bytes, emp_info_bytes(&op->output[i]));
    return bytes;
}

emp_dtype emp_view_dtype(const emp_op_view *op, int32_t input)
{
    if (op->attrs->dtype != EMP_DTYPE_NONE) return op->attrs->dtype;
    return input < op->input_count ? op->input[input].dtype : EMP_DTYPE_FLOAT;
}

int64_t *emp_view_new_value(const emp_op_view *op, int64_t count)
{
    emp_value_pool *pool = op->pool;

    if (pool == NULL || count < 0 || count > EMP_MAX_CONST_VALUES ||
        pool->end - pool->next < count)
        return NULL;
    int64_t *value = pool->next;
    pool->next += count;
    return value;
}

emp_status emp_set_output(emp_tensor_info *output, emp_shape shape, emp_dtype dtype)
{
    *output = (emp_tensor_info){.shape = shape, .dtype = dtype};
    return EMP_OK;
}

emp_shape emp_shape_from_vector(const emp_tensor_info *vector)
{
    if (vector->value == NULL)
        return vector->shape.rank == 1 ? emp_shape_of_rank(vector->shape.dim[0])
                                       : EMP_SHAPE_UNKNOWN;
    emp_shape shape = emp_shape_of_rank(vector->value_count);
    for (int32_t d = 0; d < shape.rank; d++)
        if (vector->value[d] >= 0) shape.dim[d] = vector->value[d];
    return shape;
}

emp_status emp_shape_broadcast(const emp_shape *a, const emp_shape *b, emp_shape *out,
                               emp_error *err)
{
    char text_a[EMP_SHAPE_TEXT_BYTES], text_b[EMP_SHAPE_TEXT_BYTES];

    *out = EMP_SHAPE_UNKNOWN;
    if (a->rank < 0 || b->rank < 0) return EMP_OK;
    *out = emp_shape_of_rank(a->rank > b->rank ? a->rank : b->rank);
    for (int32_t d = 0; d < out->rank; d++) {
        int32_t da = d - (out->rank - a->rank), db = d - (out->rank - b->rank);
        int64_t size_a = da >= 0 ? a->dim[da] : 1, size_b = db >= 0 ? b->dim[db] : 1;
        if (size_a == size_b || size_b == 1)
            out->dim[d] = size_a;
        else if (size_a == 1 ||
                 size_a < 0) /* an unknown size beside n > 1 must be n or 1 */
            out->dim[d] = size_b;
        else if (size_b < 0)
            out->dim[d] = size_a;
        else
            return EMP_ERROR(EMP_EFORMAT, "shapes %s and %s do not broadcast",
                             emp_shape_format(a, text_a), emp_shape_format(b, text_b));
    }
    return EMP_OK;
}

static int64_t at_least_1(int32_t size) { return size > 0 ? size : 1; }

int64_t emp_window_positions(const emp_op_attrs *a, int32_t d, int64_t size,
                             int64_t window)
{
    if (size < 0 || window < 0) return -1;
    int64_t reach = emp_add_saturating(
        emp_mul_saturating(at_least_1(a->dilations[d]), window - 1), 1);
    int64_t padded =
        emp_add_saturating(size, (int64_t)a->pads[d] + (int64_t)a->pads_after[d]);
    return padded < reach ? 0 : (padded - reach) / at_least_1(a->strides[d]) + 1;
}

int32_t emp_axis_normalize(int64_t axis, int32_t rank)
{
    if (axis < -(int64_t)rank || axis >= rank) return -1;
    return (int32_t)(axis < 0 ? axis + rank : axis);
}

emp_arithmetic emp_arithmetic_of(double cycles, double elements)
{
    if (cycles < 8.0 * elements) return EMP_ARITHMETIC_ADD;
    return cycles < 20.0 * elements ? EMP_ARITHMETIC_DIVIDE : EMP_ARITHMETIC_EXP;
}

void emp_op_cost_of(const emp_op_view *op, emp_op_cost *cost)
{
    if (op->attrs->cost != NULL)
        *cost = *op->attrs->cost;
    else
        op->type->cost(op, cost);
    cost->work = op->type->work;
    cost->part = op->type->part;
}

/* ---- names of ops ---- */

bool emp_is_gradient_name(const char *name)
{
    return strncmp(name, "gradients", 9) == 0 && strchr(name, '/') != NULL;
}

size_t emp_forward_of_gradient(const char *name, const char **forward)
{
    if (!emp_is_gradient_name(name)) return 0;
    const char *slash = strchr(name, '/'), *end = strstr(slash, "_grad/");
    *forward = slash + 1;
    return end == NULL ? 0 : (size_t)(end - *forward);
}

int32_t emp_cell_of_name(const char *name, size_t *length)
{
    *length = 0;
    for (const char *at = strstr(name, "/cell_"); at != NULL;
         at = strstr(at + 1, "/cell_")) {
        char *end = NULL;
        long  cell = strtol(at + 6, &end, 10);
        if (end > at + 6 && (*end == '/' || *end == '_') && cell >= 0 &&
            cell <= INT32_MAX) {
            *length = (size_t)(end - name);
            return (int32_t)cell;
        }
    }
    return -1;
}
