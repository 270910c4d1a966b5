// SPDX-License-Identifier: GPL-3.0-or-later
// What a lowering asks of its node, and the ops and outputs that it makes.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "graphs/import/onnx/lower.h"

emp_onnx_value *emp_onnx_in(const emp_onnx_call *c, int32_t i)
{
    return i >= 0 && i < c->in_count ? c->in[i] : NULL;
}

emp_port emp_onnx_in_port(emp_onnx_call *c, int32_t i)
{
    emp_onnx_value *value = emp_onnx_in(c, i);

    if (value != NULL) return emp_onnx_port(c->o, value);
    emp_onnx_refuse(c, "input %d is missing", i);
    return EMP_TF_NONE;
}

emp_shape emp_onnx_in_shape(const emp_onnx_call *c, int32_t i)
{
    emp_onnx_value *value = emp_onnx_in(c, i);

    return value != NULL ? value->shape : EMP_SHAPE_UNKNOWN;
}

/* ---- attributes ---- */

bool emp_onnx_get(const emp_onnx_call *c, const char *name, emp_onnx_attr *attr)
{
    char wanted[64];

    if (!emp_onnx_attr_find(c->node, name, attr)) return false;
    if (attr->reference.size == 0) return true;
    if (c->scope->call == NULL || attr->reference.size >= sizeof wanted) return false;
    memcpy(wanted, attr->reference.data, attr->reference.size);
    wanted[attr->reference.size] = '\0';
    return emp_onnx_attr_find(c->scope->call, wanted, attr) && attr->reference.size == 0;
}

int64_t emp_onnx_int(const emp_onnx_call *c, const char *name, int64_t otherwise)
{
    emp_onnx_attr attr;

    return emp_onnx_get(c, name, &attr) ? attr.i : otherwise;
}

double emp_onnx_float(const emp_onnx_call *c, const char *name, double otherwise)
{
    emp_onnx_attr attr;

    return emp_onnx_get(c, name, &attr) ? attr.f : otherwise;
}

bool emp_onnx_word_is(const emp_onnx_call *c, const char *name, const char *word)
{
    emp_onnx_attr attr;

    return emp_onnx_get(c, name, &attr) && attr.s.data != NULL &&
           emp_slice_is(attr.s, word);
}

bool emp_onnx_is_before(const emp_onnx_call *c, int64_t version)
{
    return c->node->domain.size == 0 && c->opset > 0 && c->opset < version;
}

int32_t emp_onnx_ints(const emp_onnx_call *c, const char *name, int32_t input,
                      int64_t *out, int32_t room)
{
    emp_onnx_attr         attr;
    double                list[EMP_ONNX_MAX_PARTS];
    const double         *number = list;
    int32_t               count = -1;
    const emp_onnx_value *value = emp_onnx_in(c, input);

    if (name != NULL && emp_onnx_get(c, name, &attr))
        count = emp_onnx_attr_numbers(
            &attr, list, room < EMP_ONNX_MAX_PARTS ? room : EMP_ONNX_MAX_PARTS);
    if (count < 0 && value != NULL && value->number != NULL) {
        int64_t elements = emp_shape_elements(&value->shape);
        number = value->number;
        count = elements < room ? (int32_t)elements : room;
    }
    for (int32_t i = 0; i < count; i++) out[i] = emp_truncate(number[i]);
    return count;
}

bool emp_onnx_are_counts(emp_onnx_call *c, const int64_t *number, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        if (number[i] >= 0) continue;
        emp_onnx_refuse(c, "a size of %lld in place %d", (long long)number[i], i);
        return false;
    }
    return true;
}

int32_t emp_onnx_axis(emp_onnx_call *c, int64_t axis, int32_t rank)
{
    if (axis < -(int64_t)rank || axis >= rank) {
        emp_onnx_refuse(c, "axis %lld is outside of rank %d", (long long)axis, rank);
        return 0;
    }
    return (int32_t)(axis < 0 ? axis + rank : axis);
}

/* ---- ops ---- */

emp_port emp_onnx_emit(emp_onnx_call *c, const char *type, const emp_op_attrs *attrs,
                       const emp_port *inputs, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (inputs[i].op < 0) return EMP_TF_NONE;
    if (c->has_name) return emp_tf_op(c->o->tf, type, NULL, attrs, inputs, count);
    c->has_name = true;
    return emp_tf_emit(c->o->tf, c->name, type, attrs, inputs, count);
}

emp_port emp_onnx_emit1(emp_onnx_call *c, const char *type, emp_port x)
{
    return emp_onnx_emit(c, type, NULL, &x, 1);
}

emp_port emp_onnx_emit2(emp_onnx_call *c, const char *type, emp_port x, emp_port y)
{
    return emp_onnx_emit(c, type, NULL, EMP_TF_PORTS(x, y));
}

emp_port emp_onnx_emit_shaped(emp_onnx_call *c, const char *type, emp_shape shape,
                              emp_dtype dtype, const emp_port *inputs, int32_t count)
{
    emp_op_attrs attrs = {.shape = shape, .has_shape = true, .dtype = dtype};

    if (dtype == EMP_DTYPE_NONE && count > 0 && inputs[0].op >= 0)
        attrs.dtype = emp_tf_dtype(c->o->tf, inputs[0]);
    return emp_onnx_emit(c, type, &attrs, inputs, count);
}

emp_port emp_onnx_emit_torch(emp_onnx_call *c, const char *type,
                             const emp_tensor_info *outputs, int32_t output_count,
                             const emp_port *inputs, int32_t count)
{
    emp_tf  *tf = c->o->tf;
    emp_port y = emp_onnx_emit(c, type, NULL, inputs, count);

    if (y.op < 0 || !emp_tf_is_ok(tf)) return EMP_TF_NONE;
    emp_tf_fail(tf, emp_graph_builder_state_outputs(tf->builder, y.op, outputs,
                                                    output_count, tf->err));
    return y;
}

emp_port emp_onnx_int_vector(emp_onnx_call *c, const int64_t *value, int32_t count)
{
    return emp_tf_ints(c->o->tf, NULL, "Const", value, count);
}

emp_port emp_onnx_float_scalar(emp_onnx_call *c, double value)
{
    return emp_tf_float(c->o->tf, NULL, "Const", value);
}

emp_port emp_onnx_reshape(emp_onnx_call *c, emp_port x, emp_shape shape)
{
    if (x.op < 0) return EMP_TF_NONE;
    return emp_onnx_emit2(c, "Reshape", x, emp_onnx_int_vector(c, shape.dim, shape.rank));
}

emp_port emp_onnx_transpose(emp_onnx_call *c, emp_port x, const int64_t *order)
{
    bool is_same = true;

    if (x.op < 0) return EMP_TF_NONE;
    emp_shape shape = emp_tf_shape(c->o->tf, x);
    for (int32_t d = 0; d < shape.rank; d++) is_same = is_same && order[d] == d;
    if (is_same) return x;
    return emp_onnx_emit2(c, "Transpose", x, emp_onnx_int_vector(c, order, shape.rank));
}

emp_port emp_onnx_reduce(emp_onnx_call *c, const char *type, emp_port x, uint32_t axes,
                         bool keep)
{
    int64_t      list[EMP_MAX_RANK];
    int32_t      count = 0;
    emp_op_attrs attrs = {.keep_dims = keep};

    for (int32_t d = 0; d < EMP_MAX_RANK; d++)
        if (axes >> d & 1) list[count++] = d;
    emp_port vector = emp_onnx_int_vector(c, list, count);
    return emp_onnx_emit(c, type, &attrs, EMP_TF_PORTS(x, vector));
}

emp_port emp_onnx_activated(emp_onnx_call *c, emp_port x)
{
    static const char *const types[][2] = {{"Clip", "ClipByValue"},
                                           {"Elu", "Elu"},
                                           {"FastGelu", "Gelu"},
                                           {"Gelu", "Gelu"},
                                           {"HardSigmoid", "HardSigmoid"},
                                           {"HardSwish", "HardSwish"},
                                           {"LeakyRelu", "LeakyRelu"},
                                           {"QuickGelu", "Silu"},
                                           {"Relu", "Relu"},
                                           {"Sigmoid", "Sigmoid"},
                                           {"Softplus", "Softplus"},
                                           {"Softsign", "Softsign"},
                                           {"Tanh", "Tanh"},
                                           {"ThresholdedRelu", "ThresholdedRelu"}};
    emp_onnx_attr            attr;

    if (!emp_onnx_get(c, "activation", &attr) || attr.s.size == 0) return x;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (emp_slice_is(attr.s, types[i][0])) return emp_onnx_emit1(c, types[i][1], x);
    emp_onnx_refuse(c, "the activation \"%.*s\" is not known", EMP_SLICE_ARG(attr.s));
    return EMP_TF_NONE;
}

/* ---- outputs ---- */

static emp_onnx_value *new_output(emp_onnx_call *c, int32_t i)
{
    if (i >= c->node->output_count || c->node->output[i].size == 0) return NULL;
    return emp_onnx_bind(c->o, c->scope, c->node->output[i]);
}

void emp_onnx_out(emp_onnx_call *c, int32_t i, emp_port port)
{
    if (port.op < 0 || !emp_tf_is_ok(c->o->tf)) return;
    emp_onnx_value *value = new_output(c, i);
    if (value == NULL) return;
    value->port = port;
    value->shape = emp_tf_shape(c->o->tf, port);
    value->dtype = emp_tf_dtype(c->o->tf, port);
}

void emp_onnx_out_numbers(emp_onnx_call *c, int32_t i, emp_shape shape, emp_dtype dtype,
                          const double *number)
{
    emp_onnx_value *value = new_output(c, i);

    if (value == NULL) return;
    value->shape = shape;
    value->dtype = dtype;
    value->number = number;
}

void emp_onnx_out_value(emp_onnx_call *c, int32_t i, const emp_onnx_value *from)
{
    emp_onnx_value *value = new_output(c, i);

    if (value == NULL) return;
    emp_slice name = value->name;
    *value = *from;
    value->name = name;
}

void emp_onnx_refuse(emp_onnx_call *c, const char *format, ...)
{
    char    reason[256];
    va_list arguments;

    if (!emp_tf_is_ok(c->o->tf)) return; /* the first reason is the one that counts */
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    emp_tf_fail(c->o->tf, emp_error_set(c->o->tf->err, EMP_EFORMAT, __FILE__, __LINE__,
                                        "%s", reason));
}

/* ---- what nodes of several types say alike ---- */

/* Elements that a slice takes of a dim, and the first of them; false: the step is 0. */
static bool onnx_slice_span(int64_t size, int64_t start, int64_t end, int64_t step,
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

/* True of an input whose numbers depend on data: they cannot be taken as left out. */
static bool is_computed(const emp_onnx_call *c, int32_t i)
{
    const emp_onnx_value *value = emp_onnx_in(c, i);

    return value != NULL && value->number == NULL;
}

/* Before opset 10 bounds are attributes, then inputs; axes and steps may be left out. */
bool emp_onnx_read_cut(emp_onnx_call *c, const emp_shape *shape, emp_onnx_cut *cut)
{
    int64_t starts[EMP_MAX_RANK], ends[EMP_MAX_RANK], axes[EMP_MAX_RANK];
    int64_t steps[EMP_MAX_RANK];
    int32_t count = emp_onnx_ints(c, "starts", 1, starts, EMP_MAX_RANK);

    if (shape->rank < 0 || count < 0 || is_computed(c, 3) || is_computed(c, 4) ||
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
        if (!onnx_slice_span(shape->dim[axis], starts[i], ends[i], steps[i],
                             &cut->first[axis], &cut->taken[axis]))
            return false;
        if (cut->taken[axis] <= 1) cut->step[axis] = steps[i] < 0 ? -1 : 1;
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
    if (in.rank < 0 || (count < 0 && is_computed(c, 1)) ||
        !read_mask(axes, count, in.rank, &cut))
        return false;
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

bool emp_onnx_out_tensor(emp_onnx_call *c, const emp_onnx_tensor *tensor)
{
    if (c->node->output_count < 1) return true;
    emp_onnx_bind_tensor(c->o, c->scope, c->node->output[0], tensor, false);
    return true;
}

bool emp_onnx_out_filled(emp_onnx_call *c, const emp_onnx_tensor *tensor, double number)
{
    int64_t count = emp_shape_elements(&tensor->shape);

    if (c->node->output_count < 1) return true;
    emp_onnx_value *value = emp_onnx_bind(c->o, c->scope, c->node->output[0]);
    if (value == NULL) return true;
    value->shape = tensor->shape;
    value->dtype = tensor->dtype;
    emp_onnx_mark_constant(c->o, value);
    double *list = value->is_weight ? NULL : emp_onnx_new_numbers(c->o, count);
    for (int64_t i = 0; list != NULL && i < count; i++) list[i] = number;
    value->number = list;
    return true;
}
