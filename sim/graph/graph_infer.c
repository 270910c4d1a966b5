// SPDX-License-Identifier: GPL-3.0-or-later
// What the builder knows of an op's outputs: inference by its type, merged with the file.
#include <string.h>

#include "base/mem.h"
#include "sim/graph/graph_internal.h"

static const emp_tensor_info unknown_output = {.shape = {.rank = -1},
                                               .dtype = EMP_DTYPE_FLOAT};

emp_status emp_node_check_output(emp_graph_builder *b, emp_port port, emp_op_id consumer,
                                 emp_error *err)
{
    emp_node          *node = &b->node[port.op];
    const emp_op_type *type = b->type_entry[node->type];

    if (port.index >= 0 && port.index < node->output_count) return EMP_OK;
    if (port.index < 0 || port.index >= EMP_MAX_OUTPUTS ||
        !(type->flags & EMP_OP_OPEN_OUTPUTS))
        return EMP_ERROR(EMP_EFORMAT,
                         "op \"%s\" reads output %d of \"%s\" (%s), which has %d",
                         b->node[consumer].name, port.index, node->name,
                         b->type_name[node->type], node->output_count);

    size_t           count = (size_t)port.index + 1;
    emp_tensor_info *output = emp_arena_alloc(&b->scratch, count * sizeof *output);
    if (output == NULL)
        return EMP_ERROR(EMP_ENOMEM, "%zu outputs of op \"%s\"", count, node->name);
    for (size_t i = 0; i < count; i++)
        output[i] = i < (size_t)node->output_count ? node->output[i] : unknown_output;
    node->output = output;
    node->output_count = (int32_t)count;
    return EMP_OK;
}

emp_status emp_node_view(emp_graph_builder *b, emp_op_id op, emp_op_view *view,
                         emp_error *err)
{
    const emp_node *node = &b->node[op];

    if (node->input_count > b->input_buffer_capacity) {
        emp_tensor_info *larger =
            emp_realloc(b->input_buffer, (size_t)node->input_count, sizeof *larger);
        if (larger == NULL) return EMP_ERROR(EMP_ENOMEM, "%d inputs", node->input_count);
        b->input_buffer = larger;
        b->input_buffer_capacity = node->input_count;
    }
    for (int32_t i = 0; i < node->input_count; i++)
        b->input_buffer[i] = b->node[node->input[i].op].output[node->input[i].index];
    *view = (emp_op_view){.type = b->type_entry[node->type],
                          .attrs = node->attrs,
                          .input = b->input_buffer,
                          .input_count = node->input_count,
                          .output = node->output,
                          .output_count = node->output_count};
    return EMP_OK;
}

/* The file's shape where it knows a size, else the inferred one. */
static emp_shape merge_shapes(const emp_shape *file, const emp_shape *inferred)
{
    if (file->rank < 0) return *inferred;
    emp_shape merged = *file;
    if (inferred->rank != file->rank) return merged;
    for (int32_t d = 0; d < merged.rank; d++)
        if (merged.dim[d] < 0) merged.dim[d] = inferred->dim[d];
    return merged;
}

void emp_shape_clean(emp_shape *shape)
{
    if (shape->rank < 0 || shape->rank > EMP_MAX_RANK) *shape = EMP_SHAPE_UNKNOWN;
    for (int32_t d = 0; d < shape->rank; d++)
        if (shape->dim[d] < 0) shape->dim[d] = -1;
}

/* Stores output i of a node: inferred facts, the file's shape where it is known. */
static emp_status store_output(emp_graph_builder *b, emp_tensor_info *output,
                               const emp_tensor_info *inferred, bool has_file_shape)
{
    emp_shape shape = inferred->shape;

    if (has_file_shape) {
        emp_shape_clean(&output->shape);
        shape = merge_shapes(&output->shape, &inferred->shape);
    }
    *output = *inferred;
    output->shape = shape;
    emp_shape_clean(&output->shape);
    output->value = NULL;
    output->value_count = 0;
    if (inferred->value != NULL && inferred->value_count >= 0 &&
        inferred->value_count <= EMP_MAX_CONST_VALUES &&
        emp_shape_is_known(&output->shape) &&
        emp_shape_elements(&output->shape) == inferred->value_count) {
        size_t   bytes = (size_t)inferred->value_count * sizeof(int64_t);
        int64_t *value = emp_arena_alloc(&b->scratch, bytes);
        if (value == NULL) return EMP_ENOMEM;
        memcpy(value, inferred->value, bytes);
        output->value = value;
        output->value_count = inferred->value_count;
    }
    return EMP_OK;
}

static emp_status check_input_count(const emp_graph_builder *b, const emp_node *node,
                                    emp_error *err)
{
    const emp_op_type *type = b->type_entry[node->type];

    if (node->input_count < type->min_inputs)
        return EMP_ERROR(EMP_EFORMAT, "op \"%s\" of type %s has %d inputs, needs %d",
                         node->name, b->type_name[node->type], node->input_count,
                         type->min_inputs);
    return EMP_OK;
}

/* Runs the type's inference into the output buffer. Inputs of a file that do not fit
 * leave the outputs unknown, since its attributes may say more than we read. */
static emp_status run_inference(emp_graph_builder *b, emp_op_id op, bool strict,
                                int32_t *count, emp_error *err)
{
    const emp_node *node = &b->node[op];
    emp_op_view     view;
    emp_error       reason = {0};
    emp_value_pool  pool = {b->value_buffer, b->value_buffer + EMP_VALUE_BUFFER_SIZE};

    EMP_CHECK(emp_node_view(b, op, &view, err));
    view.pool = &pool;
    for (int32_t i = 0; i < b->dirty_outputs; i++) b->output_buffer[i] = unknown_output;
    b->dirty_outputs = EMP_MAX_OUTPUTS;
    *count = 1;
    emp_status st = view.type->infer(&view, b->output_buffer, count, &reason);
    if (st == EMP_OK) b->dirty_outputs = *count;
    if (st == EMP_EFORMAT && !strict) {
        st = EMP_OK;
        for (int32_t i = 0; i < *count; i++)
            b->output_buffer[i].shape = EMP_SHAPE_UNKNOWN;
    }
    if (st != EMP_OK)
        return EMP_ERROR(st, "op \"%s\" of type %s: %s", node->name,
                         b->type_name[node->type], reason.msg);
    return EMP_OK;
}

emp_status emp_node_infer(emp_graph_builder *b, emp_op_id op, bool strict, emp_error *err)
{
    emp_node *node = &b->node[op];
    int32_t   count = 0, file_count = node->output_count;

    EMP_CHECK(check_input_count(b, node, err));
    if (node->has_stated_outputs) {
        node->is_inferred = true;
        return EMP_OK;
    }
    EMP_CHECK(run_inference(b, op, strict, &count, err));
    if (count < file_count) count = file_count;
    if (count > file_count || node->output == NULL) {
        emp_tensor_info *output =
            emp_arena_alloc(&b->scratch, (size_t)count * sizeof *output);
        if (output == NULL)
            return EMP_ERROR(EMP_ENOMEM, "%d outputs of \"%s\"", count, node->name);
        for (int32_t i = 0; i < file_count; i++) output[i].shape = node->output[i].shape;
        node->output = output;
        node->output_count = count;
    }
    for (int32_t i = 0; i < count; i++) {
        emp_status st =
            store_output(b, &node->output[i], &b->output_buffer[i], i < file_count);
        if (st != EMP_OK) return EMP_ERROR(st, "outputs of op \"%s\"", node->name);
    }
    node->is_inferred = true;
    return EMP_OK;
}
