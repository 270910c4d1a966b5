// SPDX-License-Identifier: GPL-3.0-or-later
// What a lowering asks of its node, and what it makes.
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
    double                list[64];
    const double         *number = list;
    int32_t               count = -1;
    const emp_onnx_value *value = emp_onnx_in(c, input);

    if (name != NULL && emp_onnx_get(c, name, &attr))
        count = emp_onnx_attr_numbers(&attr, list, room < 64 ? room : 64);
    if (count < 0 && value != NULL && value->number != NULL) {
        int64_t elements = emp_shape_elements(&value->shape);
        number = value->number;
        count = elements < room ? (int32_t)elements : room;
    }
    for (int32_t i = 0; i < count; i++) out[i] = emp_truncate(number[i]);
    return count;
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
