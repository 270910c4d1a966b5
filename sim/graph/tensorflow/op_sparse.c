// SPDX-License-Identifier: GPL-3.0-or-later
// Sampling, segments, sparse tensors, blocks of space; and what data movement costs.
#include <stddef.h>

#include "sim/graph/op_entry.h"

/* Unique(x): elements, and for each of x where it is. How many there are is not known
 * before the step; we take all to be distinct, as an upper bound of the work behind. */
EMP_INFER(unique)
{
    emp_dtype index =
        op->attrs->out_type != EMP_DTYPE_NONE ? op->attrs->out_type : EMP_DTYPE_INT32;

    emp_set_output(&output[0], op->input[0].shape, emp_view_dtype(op, 0));
    emp_set_output(&output[1], op->input[0].shape, index);
    *output_count = 2;
    return EMP_OK;
}

EMP_INFER(where)
{
    return emp_set_output(&output[0],
                          op->attrs->has_shape ? op->attrs->shape
                                               : EMP_SHAPE(-1, op->input[0].shape.rank),
                          EMP_DTYPE_INT64);
}

/* The data's shape with its first `ids` dims replaced by one of `count` segments. */
static emp_shape segment_shape(const emp_shape *data, int32_t ids, int64_t count)
{
    emp_shape shape = {.rank = 1, .dim = {count}};

    if (data->rank < 0 || ids < 0 || ids > data->rank) return EMP_SHAPE_UNKNOWN;
    for (int32_t d = ids; d < data->rank && shape.rank < EMP_MAX_RANK; d++)
        shape.dim[shape.rank++] = data->dim[d];
    return shape;
}

EMP_INFER(segment_sum)
{
    return emp_set_output(&output[0], segment_shape(&op->input[0].shape, 1, -1),
                          emp_view_dtype(op, 0));
}

EMP_INFER(unsorted_segment_sum)
{
    const emp_tensor_info *count = &op->input[2];
    int64_t                segments =
        count->value != NULL && count->value_count == 1 ? count->value[0] : -1;

    return emp_set_output(
        &output[0], segment_shape(&op->input[0].shape, op->input[1].shape.rank, segments),
        emp_view_dtype(op, 0));
}

EMP_INFER(top_k)
{
    emp_shape shape = op->input[0].shape;
    int64_t   k = op->attrs->count > 0 ? op->attrs->count : -1;

    if (op->input_count > 1 && op->input[1].value != NULL &&
        op->input[1].value_count == 1)
        k = op->input[1].value[0];
    if (shape.rank > 0) shape.dim[shape.rank - 1] = k;
    emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
    emp_set_output(&output[1], shape, EMP_DTYPE_INT32);
    *output_count = 2;
    return EMP_OK;
}

/* (input, block sizes, pads or crops) of SpaceToBatchND and BatchToSpaceND; sizes that do
 * not come out whole stay unknown. */
static void infer_blocks(const emp_op_view *op, bool to_batch, emp_tensor_info *output)
{
    emp_shape              shape = op->input[0].shape;
    const emp_tensor_info *block = &op->input[1], *edge = &op->input[2];

    emp_set_output(output, emp_shape_of_rank(shape.rank), emp_view_dtype(op, 0));
    if (shape.rank < 1 || block->value == NULL || edge->value == NULL ||
        block->value_count >= shape.rank || edge->value_count != 2 * block->value_count)
        return;
    for (int32_t i = 0; i < block->value_count; i++) {
        int64_t size = shape.dim[i + 1], batch = shape.dim[0], by = block->value[i];
        int64_t edges = emp_add_saturating(edge->value[2 * i], edge->value[2 * i + 1]);
        if (by < 1 || edges < 0 || edges > INT32_MAX) return;
        if (to_batch) {
            shape.dim[0] = batch < 0 ? -1 : emp_mul_saturating(batch, by);
            shape.dim[i + 1] = size < 0 ? -1 : emp_add_saturating(size, edges) / by;
        } else {
            shape.dim[0] = batch < 0 ? -1 : batch / by;
            shape.dim[i + 1] = size < 0 ? -1 : emp_mul_saturating(size, by) - edges;
        }
    }
    output->shape = shape;
}

EMP_INFER(space_to_batch)
{
    infer_blocks(op, true, &output[0]);
    return EMP_OK;
}

EMP_INFER(batch_to_space)
{
    infer_blocks(op, false, &output[0]);
    return EMP_OK;
}

/* Elements move between channels and blocks of pixels: what height and width gain, the channels lose twice. */
static emp_status infer_depth(const emp_op_view *op, bool enlarges,
                              emp_tensor_info *output, emp_error *err)
{
    emp_shape     shape = op->input[0].shape;
    const int64_t block = op->attrs->block > 0 ? op->attrs->block : 1;
    const int32_t channel = op->attrs->is_nchw ? 1 : 3;
    char          text[EMP_SHAPE_TEXT_BYTES];

    emp_set_output(output, op->attrs->has_shape ? op->attrs->shape : EMP_SHAPE_UNKNOWN,
                   emp_view_dtype(op, 0));
    if (op->attrs->has_shape || shape.rank < 0) return EMP_OK;
    if (shape.rank != 4)
        return EMP_ERROR(EMP_EFORMAT, "blocks of %s, which needs rank 4",
                         emp_shape_format(&shape, text));
    for (int32_t d = 1; d < 4; d++) {
        int64_t factor = d == channel ? emp_mul_saturating(block, block) : block;
        bool    grows = (d != channel) == enlarges;
        if (shape.dim[d] >= 0)
            shape.dim[d] =
                grows ? emp_mul_saturating(shape.dim[d], factor) : shape.dim[d] / factor;
    }
    output->shape = shape;
    return EMP_OK;
}

EMP_INFER(depth_to_space) { return infer_depth(op, true, &output[0], err); }
EMP_INFER(space_to_depth) { return infer_depth(op, false, &output[0], err); }

/* Sampled classes, and expected counts of the true and of the sampled ones. */
EMP_INFER(candidate_sampler)
{
    emp_shape sampled =
        EMP_SHAPE(op->attrs->num_sampled > 0 ? op->attrs->num_sampled : -1);

    emp_set_output(&output[0], sampled, EMP_DTYPE_INT64);
    emp_set_output(&output[1], op->input[0].shape, EMP_DTYPE_FLOAT);
    emp_set_output(&output[2], sampled, EMP_DTYPE_FLOAT);
    *output_count = 3;
    return EMP_OK;
}

/* Positions, ids and weights; how many is not known before the step. */
EMP_INFER(accidental_hits)
{
    emp_set_output(&output[0], EMP_SHAPE(-1), EMP_DTYPE_INT32);
    emp_set_output(&output[1], EMP_SHAPE(-1), EMP_DTYPE_INT64);
    emp_set_output(&output[2], EMP_SHAPE(-1), EMP_DTYPE_FLOAT);
    *output_count = 3;
    return EMP_OK;
}

/* A movement that reads and writes that many bytes. */
static void cost_copy(const emp_op_view *op, int64_t read, int64_t written,
                      emp_op_cost *cost)
{
    double elements =
        op->output_count > 0 ? (double)emp_shape_elements(&op->output[0].shape) : 0.0;

    emp_view_cost(op, EMP_OP_MOVEMENT, elements, cost);
    cost->bytes_read = read;
    cost->bytes_written = written;
    cost->cpu_cycles += EMP_CYCLES_PER_BYTE * ((double)read + (double)written);
}

/* Every element written is read once. */
EMP_COST(movement)
{
    int64_t bytes = emp_view_output_bytes(op);

    cost_copy(op, bytes, bytes, cost);
}

/* Reads only the input, whatever it is stretched to. */
EMP_COST(pad)
{
    cost_copy(op, emp_info_bytes(&op->input[0]), emp_view_output_bytes(op), cost);
}

/* A join of one tensor, or a cut into one piece, hands it on. */
EMP_COST(concat)
{
    emp_op_cost_movement(op, cost);
    if (op->input_count == 2) *cost = (emp_op_cost){.op_class = EMP_OP_KERNELLESS};
}

EMP_COST(split)
{
    emp_op_cost_movement(op, cost);
    if (op->output_count == 1) *cost = (emp_op_cost){.op_class = EMP_OP_KERNELLESS};
}

/* One kernel per piece. */
EMP_COST(unpack)
{
    emp_op_cost_movement(op, cost);
    cost->kernels = op->output_count;
}

/* True when a slice takes whole rows of dim 0, or everything: it then shares the input's
 * buffer, provided that it starts at an aligned address (32 bytes in Eigen with AVX). */
static bool is_row_slice(const emp_op_view *op)
{
    const emp_shape       *in = &op->input[0].shape, *out = &op->output[0].shape;
    const emp_tensor_info *begin = &op->input[1];

    if (!emp_shape_is_known(in) || !emp_shape_is_known(out)) return false;
    if (emp_shape_equal(in, out)) return true;
    if (in->rank != out->rank || begin->value == NULL || begin->value_count < 1)
        return false;
    emp_shape row = *in;
    row.dim[0] = 1;
    for (int32_t d = 1; d < in->rank; d++)
        if (in->dim[d] != out->dim[d]) return false;
    int64_t row_bytes =
        emp_mul_saturating(emp_shape_elements(&row), emp_dtype_bytes(op->input[0].dtype));
    return row_bytes % 32 * (begin->value[0] % 32) % 32 == 0;
}

EMP_COST(slice)
{
    emp_op_cost_movement(op, cost);
    if (is_row_slice(op)) *cost = (emp_op_cost){.op_class = EMP_OP_KERNELLESS};
}

EMP_COST(strided_slice)
{
    const emp_tensor_info *stride = &op->input[3];
    bool                   is_dense = stride->value != NULL;

    for (int32_t i = 0; is_dense && i < stride->value_count; i++)
        is_dense = stride->value[i] == 1;
    emp_op_cost_movement(op, cost);
    if (is_dense && is_row_slice(op))
        *cost = (emp_op_cost){.op_class = EMP_OP_KERNELLESS};
}

EMP_COST(transpose)
{
    const emp_tensor_info *order = &op->input[1];
    bool                   is_identity = order->value != NULL;

    for (int32_t d = 0; is_identity && d < order->value_count; d++)
        is_identity = order->value[d] == d;
    emp_op_cost_movement(op, cost);
    if (is_identity) *cost = (emp_op_cost){.op_class = EMP_OP_KERNELLESS};
}

/* Reads indices and rows, the latter as the table has them: quantised ones become floats. The size of the table does not
 * matter, and a resource does not say its type. */
EMP_COST(gather)
{
    const emp_dtype dtype = op->input[0].dtype;
    const int64_t   rows = emp_view_output_bytes(op);
    const int64_t   held =
        dtype == EMP_DTYPE_RESOURCE
              ? rows
              : emp_dtype_size_bytes(dtype, emp_shape_elements(&op->output[0].shape));

    cost_copy(op, emp_add_saturating(held, emp_info_bytes(&op->input[1])), rows, cost);
}

/* Adds every row of the data to its segment, after clearing the output. */
EMP_COST(segment)
{
    int64_t read =
        emp_add_saturating(emp_info_bytes(&op->input[0]), emp_info_bytes(&op->input[1]));
    double elements = (double)emp_shape_elements(&op->input[0].shape);

    *cost = (emp_op_cost){
        .op_class = EMP_OP_MOVEMENT,
        .flops = elements,
        .bytes_read = emp_add_saturating(read, emp_info_bytes(&op->input[0])),
        .bytes_written =
            emp_add_saturating(emp_info_bytes(&op->input[0]), emp_view_output_bytes(op)),
        .kernels = 2,
        .cpu_cycles = elements + EMP_CYCLES_PER_BYTE *
                                     ((double)read + (double)emp_view_output_bytes(op))};
}

/* Writes without reading: Fill, ZerosLike, random numbers. */
EMP_COST(fill)
{
    cost_copy(op, 0, emp_view_output_bytes(op), cost);
    cost->op_class = EMP_OP_ELEMENTWISE;
}
