// SPDX-License-Identifier: GPL-3.0-or-later
// Constants, variables, pass-throughs, optimizers, and ops that run only on the host.
#include <stddef.h>

#include "sim/graph/op_entry.h"

EMP_INFER(nothing)
{
    *output_count = 0;
    return EMP_OK;
}

/* A constant's elements; one stored element stands for all, as in a TensorProto. */
static void fill_constant(const emp_op_view *op, emp_tensor_info *output)
{
    const emp_op_attrs *attrs = op->attrs;
    int64_t             elements = emp_shape_elements(&output->shape);

    if (!emp_shape_is_known(&output->shape) || elements > EMP_MAX_CONST_VALUES) return;
    if (elements > 0 && attrs->value_count != 1 && attrs->value_count != elements) return;
    int64_t *value = emp_view_new_value(op, elements);
    if (value == NULL) return;
    for (int32_t i = 0; i < elements; i++)
        value[i] = attrs->value[attrs->value_count == 1 ? 0 : i];
    output->value = value;
    output->value_count = (int32_t)elements;
}

EMP_INFER(constant)
{
    emp_shape shape = op->attrs->shape;

    if (!op->attrs->has_shape) {
        shape = op->attrs->value_count == 0   ? EMP_SHAPE_UNKNOWN
                : op->attrs->value_count == 1 ? EMP_SHAPE_SCALAR
                                              : EMP_SHAPE(op->attrs->value_count);
    }
    emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
    fill_constant(op, &output[0]);
    return EMP_OK;
}

EMP_INFER(placeholder)
{
    emp_shape shape = op->attrs->has_shape  ? op->attrs->shape
                      : op->input_count > 0 ? op->input[0].shape
                                            : EMP_SHAPE_UNKNOWN;

    return emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
}

EMP_INFER(variable)
{
    emp_op_infer_placeholder(op, output, output_count, err);
    output[0].is_ref = true;
    return EMP_OK;
}

/* A handle carries the shape of what it stands for. */
EMP_INFER(var_handle)
{
    emp_op_infer_placeholder(op, output, output_count, err);
    output[0].dtype = EMP_DTYPE_RESOURCE;
    return EMP_OK;
}

EMP_INFER(read_variable)
{
    emp_dtype dtype =
        op->attrs->dtype != EMP_DTYPE_NONE ? op->attrs->dtype : EMP_DTYPE_FLOAT;

    return emp_set_output(&output[0], op->input[0].shape, dtype);
}

/* Output 0 is input 0, value and all. */
EMP_INFER(pass)
{
    output[0] = op->input[0];
    output[0].dtype = emp_view_dtype(op, 0);
    output[0].is_ref = false;
    return EMP_OK;
}

/* IdentityN: as many outputs as inputs, each of its own type. */
EMP_INFER(pass_all)
{
    if (op->input_count > EMP_MAX_OUTPUTS)
        return EMP_ERROR(EMP_EUNSUPPORTED, "%d outputs, at most %d", op->input_count,
                         EMP_MAX_OUTPUTS);
    for (int32_t i = 0; i < op->input_count; i++) {
        output[i] = op->input[i];
        output[i].is_ref = false;
    }
    *output_count = op->input_count;
    return EMP_OK;
}

/* Output 0 is like input 0, but may differ in value. */
EMP_INFER(forget)
{
    emp_op_infer_pass(op, output, output_count, err);
    output[0].value = NULL;
    return EMP_OK;
}

/* Output 0 is like input 1. */
EMP_INFER(second)
{
    return emp_set_output(&output[0], op->input[1].shape, op->input[1].dtype);
}

/* A reference stays one. */
EMP_INFER(pass_ref)
{
    emp_op_infer_pass(op, output, output_count, err);
    output[0].is_ref = op->input[0].is_ref;
    return EMP_OK;
}

/* For Assign and Apply*: the output is a reference to input 0's variable. */
EMP_INFER(update)
{
    emp_set_output(&output[0], op->input[0].shape, emp_view_dtype(op, 0));
    output[0].is_ref = true;
    return EMP_OK;
}

EMP_INFER(assign)
{
    emp_op_infer_update(op, output, output_count, err);
    if (!emp_shape_is_known(&output[0].shape)) output[0].shape = op->input[1].shape;
    return EMP_OK;
}

/* Nothing is known of the outputs. */
EMP_INFER(open)
{
    *output_count = 0;
    return EMP_OK;
}

EMP_INFER(switch_)
{
    emp_op_infer_pass(op, output, output_count, err);
    output[0].value = NULL;
    output[1] = output[0];
    *output_count = 2;
    return EMP_OK;
}

EMP_INFER(ref_switch)
{
    emp_op_infer_switch_(op, output, output_count, err);
    output[0].is_ref = output[1].is_ref = op->input[0].is_ref;
    return EMP_OK;
}

/* The shape that all inputs agree on; the back edge of a loop is no longer among them. */
EMP_INFER(merge)
{
    emp_shape shape = op->input[0].shape;

    for (int32_t i = 1; i < op->input_count; i++) {
        const emp_shape *other = &op->input[i].shape;
        if (other->rank != shape.rank) shape = EMP_SHAPE_UNKNOWN;
        for (int32_t d = 0; d < shape.rank; d++)
            if (other->dim[d] != shape.dim[d]) shape.dim[d] = -1;
    }
    emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
    emp_set_output(&output[1], EMP_SHAPE_SCALAR, EMP_DTYPE_INT32);
    *output_count = 2;
    return EMP_OK;
}

EMP_INFER(one_unknown)
{
    return emp_set_output(
        &output[0], op->attrs->has_shape ? op->attrs->shape : EMP_SHAPE_UNKNOWN,
        op->attrs->dtype != EMP_DTYPE_NONE ? op->attrs->dtype : EMP_DTYPE_FLOAT);
}

#define INFER_SCALAR(name, element_type) \
    EMP_INFER(name) { return emp_set_output(&output[0], EMP_SHAPE_SCALAR, element_type); }

INFER_SCALAR(string_scalar, EMP_DTYPE_STRING)
INFER_SCALAR(bool_scalar, EMP_DTYPE_BOOL)
INFER_SCALAR(int32_scalar, EMP_DTYPE_INT32)
INFER_SCALAR(resource, EMP_DTYPE_RESOURCE)
INFER_SCALAR(flow, EMP_DTYPE_FLOAT)

EMP_INFER(handle_and_flow)
{
    emp_set_output(&output[0], EMP_SHAPE_SCALAR, EMP_DTYPE_RESOURCE);
    emp_set_output(&output[1], EMP_SHAPE_SCALAR, EMP_DTYPE_FLOAT);
    *output_count = 2;
    return EMP_OK;
}

EMP_COST(free_) { *cost = (emp_op_cost){.op_class = EMP_OP_KERNELLESS}; }

EMP_COST(host)
{
    emp_op_cost_elementwise(op, cost);
    cost->op_class = EMP_OP_HOST;
    cost->cpu_cycles +=
        EMP_CYCLES_PER_BYTE * ((double)cost->bytes_read + (double)cost->bytes_written);
}

/* An update of `elements` parameters of a type by the passes and arithmetic of the op type's rates. */
static void cost_update(const emp_op_view *op, int64_t elements, emp_dtype dtype,
                        int64_t index_bytes, emp_op_cost *cost)
{
    const emp_op_rates *rates = &op->type->rates;
    int64_t             size = emp_dtype_bytes(dtype) > 0 ? emp_dtype_bytes(dtype) : 4;
    int64_t             bytes = emp_mul_saturating(elements, size);

    emp_view_cost(op, EMP_OP_OPTIMIZER, (double)elements, cost);
    cost->bytes_read =
        emp_add_saturating(emp_mul_saturating(bytes, rates->reads), index_bytes);
    cost->bytes_written = emp_mul_saturating(bytes, rates->writes);
}

EMP_COST(optimizer)
{
    cost_update(op, emp_shape_elements(&op->input[0].shape),
                emp_view_dtype(op, op->input_count - 1), 0, cost);
}

/* Only the rows that the gradient, the largest input given by value, names. */
EMP_COST(sparse_optimizer)
{
    int64_t   elements = 0, index_bytes = 0;
    emp_dtype dtype = EMP_DTYPE_NONE;

    for (int32_t i = op->type->ref_inputs; i < op->input_count; i++) {
        int64_t count = emp_shape_elements(&op->input[i].shape);
        if (count > elements) {
            elements = count;
            dtype = op->input[i].dtype;
        }
        if (op->input[i].dtype == EMP_DTYPE_INT32 ||
            op->input[i].dtype == EMP_DTYPE_INT64)
            index_bytes = emp_info_bytes(&op->input[i]);
    }
    cost_update(op, elements, dtype, index_bytes, cost);
}

/* ScatterAdd(ref, indices, updates): rows of ref, which may be stored in another type than updates. */
EMP_COST(scatter)
{
    const emp_tensor_info *updates = &op->input[2];
    int64_t                read =
        emp_add_saturating(emp_info_bytes(updates), emp_info_bytes(updates - 1));
    int64_t rows = emp_dtype_tensor_bytes(emp_view_dtype(op, 0), &updates->shape);

    emp_view_cost(op, EMP_OP_OPTIMIZER, (double)emp_shape_elements(&updates->shape),
                  cost);
    cost->bytes_read =
        emp_add_saturating(emp_mul_saturating(rows, op->type->rates.reads - 1), read);
    cost->bytes_written = rows;
}
