// SPDX-License-Identifier: GPL-3.0-or-later
// What PyTorch's ops cost. Shapes come from files, so that nothing is inferred here. Products of
// any rank, convolutions with channels first, fused attention, recurrent layers, lists of tensors.
#include "sim/graph/op_entry.h"

static int64_t dim_of(const emp_shape *shape, int32_t d)
{
    int32_t at = d < 0 ? shape->rank + d : d;

    return at >= 0 && at < shape->rank && shape->dim[at] > 0 ? shape->dim[at] : 1;
}

static int64_t divide(int64_t a, int64_t b) { return b > 0 && a > b ? a / b : 1; }

/* A product of that many FLOPs, all inputs read and all outputs written once. */
static void set_product(const emp_op_view *op, emp_op_class op_class, int64_t batch,
                        int64_t m, int64_t n, int64_t k, emp_op_cost *cost)
{
    emp_view_cost(op, op_class, 0.0, cost);
    cost->m = m;
    cost->n = n;
    cost->k = k;
    cost->batch = batch;
    cost->flops = 2.0 * (double)batch * (double)m * (double)n * (double)k;
}

/* ---- products ---- */

static bool has_stated_sizes(const emp_op_attrs *attrs)
{
    return attrs->product.rank == 4;
}

/* a [.., m, k] times b [.., k, n], also of vectors, and of b as [n, k]: k is a's last size, n the
 * result's. A matrix or vector b makes one product of all rows of a that the result has, as matrices of a may share
 * out b's columns; else leading sizes are a batch. */
static void cost_product(const emp_op_view *op, int32_t first, emp_op_cost *cost)
{
    const emp_shape *a = &op->input[first].shape, *b = &op->input[first + 1].shape;
    const emp_shape *out = &op->output[0].shape, *stated = &op->attrs->product;
    int64_t          elements = emp_shape_elements(a), k = dim_of(a, -1);
    int64_t sums = emp_mul_saturating(k, emp_dtype_values(op->input[first].dtype));
    int64_t parts = emp_dtype_products(op->input[first].dtype);

    if (has_stated_sizes(op->attrs)) {
        set_product(op, EMP_OP_GEMM, emp_mul_saturating(parts, dim_of(stated, 0)),
                    dim_of(stated, 1), dim_of(stated, 2), dim_of(stated, 3), cost);
    } else if (b->rank <= 2) {
        int64_t n = b->rank == 1 ? 1 : dim_of(out, -1), rows = divide(elements, k);
        int64_t made = divide(emp_shape_elements(out), n);
        set_product(op, EMP_OP_GEMM, parts, rows < made ? rows : made, n, sums, cost);
    } else {
        int64_t m = dim_of(a, -2), n = dim_of(out, -1);
        int64_t own = divide(elements, emp_mul_saturating(m, k));
        int64_t made = divide(emp_shape_elements(out), emp_mul_saturating(m, n));
        set_product(op, EMP_OP_GEMM, emp_mul_saturating(parts, own > made ? own : made),
                    m, n, sums, cost);
    }
}

EMP_COST(product)
{
    if (op->output_count > 0) {
        cost_product(op, 0, cost);
    } else {
        emp_view_cost(op, EMP_OP_MOVEMENT, 0.0, cost);
    }
}

EMP_COST(biased_product)
{
    if (op->output_count > 0) {
        cost_product(op, 1, cost);
    } else {
        emp_view_cost(op, EMP_OP_MOVEMENT, 0.0, cost);
    }
}

/* ---- convolutions ---- */

/* The algorithm's own workspace is not known: as a guess, the larger activation, at most that. */
static const int64_t WORKSPACE_MAX_BYTES = 64 * 1024 * 1024;

/* The place of the channels in x and y, which have no batch where their rank is below the filter's. */
static int32_t channel_of(const emp_shape *x, const emp_shape *filter)
{
    return x->rank < filter->rank ? 0 : 1;
}

static bool is_winograd(const emp_op_view *op, const emp_shape *filter,
                        const emp_shape *x, const emp_shape *y)
{
    int64_t before = dim_of(x, channel_of(x, filter) + 1);
    int64_t behind = dim_of(y, channel_of(x, filter) + 1);

    return filter->rank == 4 && filter->dim[2] == 3 && filter->dim[3] == 3 &&
           op->attrs->dilations[0] <= 1 && op->attrs->dilations[1] <= 1 &&
           divide(before, behind) == 1 && before <= behind + 2;
}

/* y of x and filter [out, in / groups, window ...]; of one that enlarges, x of y. Each filter
 * element works once a pixel of y: 2 N pixels |filter| FLOPs. `times` such products in one op. */
static void cost_convolution(const emp_op_view *op, const emp_tensor_info *x,
                             const emp_tensor_info *filter, const emp_tensor_info *y,
                             int32_t times, emp_op_cost *cost)
{
    int32_t channel = channel_of(&x->shape, &filter->shape);
    int64_t pixels = divide(emp_shape_elements(&y->shape), dim_of(&y->shape, channel));
    int64_t made = dim_of(&filter->shape, 0);
    int64_t groups = divide(dim_of(&x->shape, channel), dim_of(&filter->shape, 1));
    int64_t n = divide(made, groups);
    int64_t k = divide(emp_shape_elements(&filter->shape), made);
    int64_t in = emp_info_bytes(x), out = emp_info_bytes(y);

    set_product(op, EMP_OP_CONV, emp_mul_saturating(groups, times), pixels, n, k, cost);
    cost->kernels = 2 * times;
    if (groups > 1 && dim_of(&filter->shape, 1) == 1) { /* too little work a byte */
        double flops = cost->flops;
        emp_view_cost(op, EMP_OP_POOL, 0.0, cost);
        cost->flops = cost->cpu_cycles = flops;
        cost->kernels = times;
        return;
    }
    bool is_point = emp_shape_elements(&filter->shape) ==
                    emp_mul_saturating(made, dim_of(&filter->shape, 1));
    bool is_small = is_winograd(op, &filter->shape, &x->shape, &y->shape);
    cost->window = is_point   ? EMP_CONV_POINT
                   : is_small ? EMP_CONV_WINOGRAD
                              : EMP_CONV_WIDE;
    cost->workspace_bytes = in > out ? in : out;
    if (cost->workspace_bytes > WORKSPACE_MAX_BYTES)
        cost->workspace_bytes = WORKSPACE_MAX_BYTES;
}

EMP_COST(convolution)
{
    const emp_tensor_info *x = &op->input[0], *filter = &op->input[1];
    const emp_tensor_info *y = op->output_count > 0 ? &op->output[0] : x;

    if (op->attrs->is_transposed)
        cost_convolution(op, y, filter, x, 1, cost);
    else
        cost_convolution(op, x, filter, y, 1, cost);
}

/* (dy, x, filter, ...): gradients of the input and of the filter. */
EMP_COST(convolution_grad)
{
    const emp_tensor_info *dy = &op->input[0], *x = &op->input[1];
    int32_t                times = op->attrs->gradients > 0 ? op->attrs->gradients : 2;

    if (op->attrs->is_transposed)
        cost_convolution(op, dy, &op->input[2], x, times, cost);
    else
        cost_convolution(op, x, &op->input[2], dy, times, cost);
}

/* ---- attention ---- */

/* Elements in a row of q, k and v, and how many rows of q meet how many of k. Grouped queries
 * have fewer heads in k and v. attrs.sequence_axis is where the sequence is from the end: -2, or -3. */
typedef struct {
    int64_t batch, queries, keys, width, value_width;
} attention;

/* Where attrs.count sequences are packed into one, a query meets at most the keys of the longest, because their lengths
 * depend on data. */
static attention attention_of(const emp_op_view *op, const emp_tensor_info *q)
{
    const emp_tensor_info *k = q + 1, *v = q + 2;
    int32_t   at = op->attrs->sequence_axis < 0 ? op->attrs->sequence_axis : -2;
    int64_t   sequences = op->attrs->count > 1 ? op->attrs->count : 1;
    int64_t   queries = dim_of(&q->shape, at), keys = dim_of(&k->shape, at);
    bool      is_halved = op->attrs->is_causal && queries == keys;
    attention a = {.queries = divide(queries, sequences),
                   .keys = divide(keys, sequences),
                   .width = dim_of(&q->shape, -1),
                   .value_width = dim_of(&v->shape, -1)};

    if (sequences > 1 && op->attrs->window > a.keys)
        a.keys = op->attrs->window < keys ? op->attrs->window : keys;
    if (is_halved) a.keys = a.keys / 2 + a.keys % 2;
    a.batch =
        divide(emp_shape_elements(&q->shape), emp_mul_saturating(a.queries, a.width));
    return a;
}

/* q times k transposed, and the weights times v, for the pairs that a causal mask leaves. The weights
 * stay on chip. */
EMP_COST(sdpa)
{
    attention a = attention_of(op, &op->input[0]);

    set_product(op, EMP_OP_GEMM, a.batch, a.queries, a.keys,
                emp_add_saturating(a.width, a.value_width), cost);
}

/* (dy, q, k, v, ...): the weights again, then the gradients of v, weights, q and k. */
EMP_COST(sdpa_grad)
{
    attention a = attention_of(op, &op->input[1]);

    set_product(op, EMP_OP_GEMM, a.batch, a.queries, a.keys,
                emp_add_saturating(emp_mul_saturating(3, a.width),
                                   emp_mul_saturating(2, a.value_width)),
                cost);
    cost->kernels = 3;
}

/* ---- recurrent layers ---- */

/* Each element of a weight matrix works once a step and sequence. Matrices are the inputs of rank 2 that follow, but for
 * states, which have a row for each sequence; input 0 is [steps, sequences, width], in the order that attrs.sequence_axis
 * says, or [sequences, width] of a cell. */
EMP_COST(rnn)
{
    const emp_shape *x = &op->input[0].shape;
    int64_t          rows = 0, weights = 0;
    int32_t          axis = op->attrs->sequence_axis == -2 ? -2 : -3;
    int64_t          steps = x->rank == 3 ? dim_of(x, axis) : 1;
    int64_t          sequences =
        divide(emp_shape_elements(x), emp_mul_saturating(steps, dim_of(x, -1)));

    for (int32_t i = 1; i < op->input_count; i++) {
        const emp_shape *w = &op->input[i].shape;
        bool may_be_state = x->rank == 2 || (rows > 0 && dim_of(w, 0) != rows);
        if (w->rank != 2 || (may_be_state && w->dim[0] == sequences)) continue;
        rows = dim_of(w, 0);
        weights = emp_add_saturating(weights, emp_shape_elements(w));
    }
    if (rows == 0) rows = 1;
    set_product(op, EMP_OP_GEMM, steps, sequences, rows, divide(weights, rows), cost);
    cost->batch = emp_mul_saturating(cost->batch, (int64_t)op->type->rates.flops);
    cost->flops *= op->type->rates.flops;
    cost->kernels = (int32_t)(steps < 10000 ? 2 * steps : 20000);
}

/* ---- passes over a tensor ---- */

static const emp_tensor_info *largest_input(const emp_op_view *op)
{
    const emp_tensor_info *largest = &op->input[0];

    for (int32_t i = 1; i < op->input_count; i++)
        if (emp_info_bytes(&op->input[i]) > emp_info_bytes(largest))
            largest = &op->input[i];
    return largest;
}

/* All inputs and outputs once, and the largest input so often as the type's rates say. A norm of batches that takes
 * statistics as they are multiplies and adds in one pass (ATen/native/cuda/Normalization.cuh). */
EMP_COST(normalize)
{
    const emp_tensor_info *x = largest_input(op);
    const emp_op_rates    *rates = &op->type->rates;
    int64_t                bytes = emp_info_bytes(x);

    emp_view_cost(op, EMP_OP_NORM, (double)emp_shape_elements(&x->shape), cost);
    if (op->attrs->is_inference) {
        cost->flops = 2.0 * (double)emp_shape_elements(&x->shape);
        return;
    }
    for (int32_t i = 1; i < rates->reads; i++)
        cost->bytes_read = emp_add_saturating(cost->bytes_read, bytes);
    for (int32_t i = 1; i < rates->writes; i++)
        cost->bytes_written = emp_add_saturating(cost->bytes_written, bytes);
}

/* So many operations for each window as it has elements; a gradient's visits the larger tensor. */
EMP_COST(window)
{
    double in = (double)emp_shape_elements(&op->input[0].shape);
    double out =
        op->output_count > 0 ? (double)emp_shape_elements(&op->output[0].shape) : 0.0;
    double small = in < out ? in : out, large = in < out ? out : in;
    double window =
        op->attrs->pool_window > 0 ? (double)op->attrs->pool_window * small : large;

    emp_view_cost(op, EMP_OP_POOL, 0.0, cost);
    cost->flops = cost->cpu_cycles = window + op->type->rates.flops * large;
}

/* ---- elements by number ---- */

/* (source, indices ...): what is read of the source is as large as the result. */
EMP_COST(gathered)
{
    int64_t made = emp_view_output_bytes(op), read = made;

    for (int32_t i = 1; i < op->input_count; i++)
        read = emp_add_saturating(read, emp_info_bytes(&op->input[i]));
    emp_op_cost_movement(op, cost);
    cost->bytes_read = read;
}

/* (table, indices, ...): a row for each index, summed into the result. */
EMP_COST(bag)
{
    double  indices = (double)emp_shape_elements(&op->input[1].shape);
    int64_t width = dim_of(&op->input[0].shape, -1);
    double  elements = indices * (double)width;
    double  bytes = elements * emp_dtype_bits(op->input[0].dtype) / 8;

    emp_op_cost_movement(op, cost);
    cost->flops = elements;
    cost->bytes_read = emp_add_saturating(emp_info_bytes(&op->input[1]),
                                          bytes < 0x1p62 ? (int64_t)bytes : INT64_MAX);
}

/* (target, indices ..., values): values are read, added and written; a result of its own is a copy of
 * the target besides. */
EMP_COST(write_rows)
{
    const emp_tensor_info *values = &op->input[op->input_count - 1];
    int64_t copied = op->attrs->is_in_place ? 0 : emp_view_output_bytes(op);
    int64_t bytes = emp_info_bytes(values), read = copied;

    for (int32_t i = 1; i < op->input_count; i++)
        read = emp_add_saturating(read, emp_info_bytes(&op->input[i]));
    emp_view_cost(op, EMP_OP_MOVEMENT, (double)emp_shape_elements(&values->shape), cost);
    cost->bytes_read = emp_add_saturating(read, bytes);
    cost->bytes_written = emp_add_saturating(copied, bytes);
    cost->flops = (double)emp_shape_elements(&values->shape);
    cost->kernels = copied > 0 ? 2 : 1;
}

/* (destination, source, ...): the destination is only written; a source that is a number is no input. */
EMP_COST(copied)
{
    emp_op_cost_movement(op, cost);
    cost->bytes_read = op->input_count > 1 ? emp_info_bytes(&op->input[1]) : 0;
}

/* ---- lists of tensors ---- */

/* Tensors that one kernel takes of each list, by the number of lists: MultiTensorApply.cuh. */
static int32_t tensors_of_kernel(int32_t lists)
{
    static const int32_t most[] = {110, 64, 48, 36, 30};
    const int32_t        count = (int32_t)(sizeof most / sizeof most[0]);

    return most[lists < 1 ? 0 : lists > count ? count - 1 : lists - 1];
}

/* The lists follow one another, attrs.list_count tensors each. The bytes written in place are the size of
 * the first list, as often as the type's rates say; with no reads in the rates it is only written. */
EMP_COST(list)
{
    int32_t tensors = op->attrs->list_count > 0 && op->attrs->list_count < op->input_count
                          ? op->attrs->list_count
                          : op->input_count;
    int32_t batch = tensors_of_kernel(tensors > 0 ? op->input_count / tensors : 1);
    int64_t elements = 0, bytes = 0, written = 0;

    for (int32_t i = 0; i < tensors; i++) {
        elements = emp_add_saturating(elements, emp_shape_elements(&op->input[i].shape));
        bytes = emp_add_saturating(bytes, emp_info_bytes(&op->input[i]));
    }
    for (int32_t i = 0; i < op->type->rates.writes; i++)
        written = emp_add_saturating(written, bytes);
    emp_view_cost(op, EMP_OP_OPTIMIZER, (double)elements, cost);
    if (cost->bytes_written < written) cost->bytes_written = written;
    if (op->type->rates.reads == 0) cost->bytes_read -= bytes;
    cost->kernels = (tensors + batch - 1) / batch;
}
