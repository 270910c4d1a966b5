// SPDX-License-Identifier: GPL-3.0-or-later
// Layers as ONNX and PyTorch have them: windows over any number of spatial dims, channels first,
// recurrent layers as one op; and element-wise ops with shape rules of their own.
#include <math.h>

#include "sim/graph/op_entry.h"

enum { MAX_SPATIAL = 3 };

/* ---- windows ----------------------------------------------------------------------- */

static int64_t positive(int32_t size) { return size > 0 ? size : 1; }

/* Conv(x [N, C, ...], filter [M, C / group, ...], bias). */
EMP_INFER(conv_nd)
{
    const emp_shape *x = &op->input[0].shape, *filter = &op->input[1].shape;
    emp_shape        shape = emp_shape_of_rank(x->rank);
    char             text_a[EMP_SHAPE_TEXT_BYTES], text_b[EMP_SHAPE_TEXT_BYTES];

    if (op->attrs->has_shape)
        return emp_set_output(&output[0], op->attrs->shape, emp_view_dtype(op, 0));
    emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
    if (x->rank < 0 || filter->rank < 0) return EMP_OK;
    if (x->rank < 3 || x->rank > 2 + MAX_SPATIAL || filter->rank != x->rank)
        return EMP_ERROR(EMP_EFORMAT, "a convolution of %s with a filter %s",
                         emp_shape_format(x, text_a), emp_shape_format(filter, text_b));
    if (x->dim[1] >= 0 && filter->dim[1] >= 0 &&
        x->dim[1] != emp_mul_saturating(filter->dim[1], positive(op->attrs->group)))
        return EMP_ERROR(
            EMP_EFORMAT, "%s has %lld channels, but the filter is %s in %lld groups",
            emp_shape_format(x, text_a), (long long)x->dim[1],
            emp_shape_format(filter, text_b), (long long)positive(op->attrs->group));
    shape.dim[0] = x->dim[0];
    shape.dim[1] = filter->dim[0];
    for (int32_t d = 0; d < x->rank - 2; d++)
        shape.dim[2 + d] =
            emp_window_positions(op->attrs, d, x->dim[2 + d], filter->dim[2 + d]);
    output[0].shape = shape;
    return EMP_OK;
}

/* MaxPoolNd(x) and AvgPoolNd(x); while training the former also says where the maxima are. */
EMP_INFER(pool_nd)
{
    const emp_shape *x = &op->input[0].shape;
    emp_shape        shape = op->attrs->has_shape ? op->attrs->shape : *x;
    char             text[EMP_SHAPE_TEXT_BYTES];

    emp_set_output(&output[0], EMP_SHAPE_UNKNOWN, emp_view_dtype(op, 0));
    if (!op->attrs->has_shape && x->rank >= 0) {
        if (x->rank < 3 || x->rank > 2 + MAX_SPATIAL)
            return EMP_ERROR(EMP_EFORMAT, "windows over %s, which needs rank 3 to 5",
                             emp_shape_format(x, text));
        for (int32_t d = 0; d < x->rank - 2; d++)
            shape.dim[2 + d] = emp_window_positions(op->attrs, d, x->dim[2 + d],
                                                    positive(op->attrs->ksize[d]));
    }
    output[0].shape = shape;
    emp_set_output(&output[1], shape, EMP_DTYPE_INT64);
    *output_count = op->attrs->count > 1 ? 2 : 1;
    return EMP_OK;
}

static double window_elements(const emp_op_attrs *a)
{
    double elements = 1.0;

    for (int32_t d = 0; d < MAX_SPATIAL; d++) elements *= (double)positive(a->ksize[d]);
    return elements;
}

static void cost_windows(const emp_op_view *op, const emp_tensor_info *out,
                         emp_op_cost *cost)
{
    emp_view_cost(op, EMP_OP_POOL, 0.0, cost);
    cost->flops = cost->cpu_cycles =
        (double)emp_shape_elements(&out->shape) * window_elements(op->attrs);
}

EMP_COST(pool_nd) { cost_windows(op, &op->output[0], cost); }

/* The gradient comes first. */
EMP_COST(pool_nd_grad) { cost_windows(op, &op->input[0], cost); }

/* ---- convolutions ------------------------------------------------------------------ */

static emp_conv_window window_of(const emp_op_view *op, const emp_shape *filter)
{
    bool is_point = true, is_winograd = filter->rank == 4;

    for (int32_t d = 2; d < filter->rank; d++) {
        is_point = is_point && emp_shape_size(filter, d) == 1;
        is_winograd = is_winograd && emp_shape_size(filter, d) == 3 &&
                      d - 2 < MAX_SPATIAL && positive(op->attrs->strides[d - 2]) == 1 &&
                      positive(op->attrs->dilations[d - 2]) == 1;
    }
    if (is_point) return EMP_CONV_POINT;
    return is_winograd ? EMP_CONV_WINOGRAD : EMP_CONV_WIDE;
}

/* As a product of m pixels on the side of the filter's first dim, that dim, and what one of its
 * entries holds; each group is one of a batch. Filters of one channel have too little arithmetic
 * per byte for a product. */
static void cost_convolution(const emp_op_view *op, const emp_shape *filter,
                             const emp_shape *side, emp_op_cost *cost)
{
    int64_t groups = positive(op->attrs->group), first = emp_shape_size(filter, 0);
    int64_t entry = emp_shape_elements(filter) / first;
    int64_t pixels = emp_shape_elements(side) / emp_shape_size(side, 1);

    emp_view_cost(op, EMP_OP_CONV, 0.0, cost);
    if (entry < 1) entry = 1;
    if (groups > first) groups = first;
    cost->m = pixels > 0 ? pixels : 1;
    cost->n = first / groups;
    cost->k = entry;
    cost->batch = groups;
    cost->flops = 2.0 * (double)emp_shape_elements(side) * (double)entry;
    cost->window = window_of(op, filter);
    if (groups > 1 && emp_shape_size(filter, 1) == 1) {
        cost->op_class = EMP_OP_POOL;
        cost->cpu_cycles = cost->flops;
        cost->m = cost->n = cost->k = cost->batch = 0;
        cost->window = EMP_CONV_WIDE;
    }
}

EMP_COST(conv_nd)
{
    cost_convolution(op, &op->input[1].shape, &op->output[0].shape, cost);
    if (op->input_count > 2)
        cost->flops += (double)emp_shape_elements(&op->output[0].shape);
}

/* ConvGradInput(dy, filter). */
EMP_COST(conv_nd_input)
{
    cost_convolution(op, &op->input[1].shape, &op->input[0].shape, cost);
    if (cost->op_class != EMP_OP_CONV) return;
    int64_t pixels = cost->m;
    cost->m = emp_shape_elements(&op->output[0].shape) /
              emp_shape_size(&op->output[0].shape, 1);
    if (cost->m < 1) cost->m = 1;
    cost->n = emp_shape_size(&op->input[1].shape, 1);
    double k =
        cost->flops / 2.0 / (double)cost->m / (double)cost->n / (double)cost->batch;
    cost->k = k < 1.0 ? 1 : k < 0x1p62 ? (int64_t)(k + 0.5) : pixels;
}

/* ConvGradFilter(x, dy). */
EMP_COST(conv_nd_filter)
{
    cost_convolution(op, &op->output[0].shape, &op->input[1].shape, cost);
    if (cost->op_class != EMP_OP_CONV) return;
    int64_t pixels = cost->m;
    cost->m = cost->k;
    cost->k = pixels;
}

/* ConvTranspose(x, filter [C, M / group, ...]): the gradient of a convolution, by x. */
EMP_COST(conv_nd_transposed) { emp_op_cost_conv_nd_input(op, cost); }

/* Gradients of an op: the first input is what comes back, output i is like input 1 + i. */
EMP_INFER(like_operands)
{
    int32_t count = op->attrs->count, most = op->input_count - 1;

    if (count < 1 || count > most) count = most > 0 ? most : 1;
    if (count > EMP_MAX_OUTPUTS) count = EMP_MAX_OUTPUTS;
    for (int32_t i = 0; i < count; i++)
        emp_set_output(&output[i], op->input[i < most ? 1 + i : 0].shape,
                       op->input[i < most ? 1 + i : 0].dtype);
    *output_count = count;
    return EMP_OK;
}

/* ---- recurrent layers -------------------------------------------------------------- */

/* LSTM(x [T, B, I], w [D, G H, I], r [D, G H, H], ...): y [T, D, B, H] and the last states. */
EMP_INFER(recurrent)
{
    const emp_shape *x = &op->input[0].shape, *r = &op->input[2].shape;
    int64_t          directions = r->rank == 3 ? r->dim[0] : -1;
    int64_t          hidden = r->rank == 3 ? r->dim[2] : -1;
    int64_t          steps = x->rank == 3 ? x->dim[0] : -1;
    int64_t          batch = x->rank == 3 ? x->dim[1] : -1;

    emp_set_output(&output[0], EMP_SHAPE(steps, directions, batch, hidden),
                   emp_view_dtype(op, 0));
    for (int32_t i = 1; i < 3; i++)
        emp_set_output(&output[i], EMP_SHAPE(directions, batch, hidden),
                       emp_view_dtype(op, 0));
    *output_count = op->attrs->count >= 1 && op->attrs->count <= 3 ? op->attrs->count : 1;
    return EMP_OK;
}

/* One step of one direction is a product of a batch of x and h, and the gates' arithmetic. */
static void cost_recurrent(const emp_op_view *op, int32_t first, emp_op_cost *cost)
{
    const emp_shape *x = &op->input[first].shape, *r = &op->input[first + 2].shape;
    int64_t steps = emp_mul_saturating(emp_shape_size(x, 0), emp_shape_size(r, 0));
    int64_t gates = emp_shape_size(r, 1);
    double  states;

    emp_view_cost(op, EMP_OP_GEMM, 0.0, cost);
    cost->m = emp_shape_size(x, 1);
    cost->n = gates;
    cost->k = emp_add_saturating(emp_shape_size(x, 2), emp_shape_size(r, 2));
    cost->batch = steps;
    states = (double)cost->m * (double)gates * (double)steps;
    cost->flops = 2.0 * states * (double)cost->k + 4.0 * states;
    cost->kernels = steps < INT16_MAX ? 2 * (int32_t)steps : 2 * INT16_MAX;
}

EMP_COST(recurrent) { cost_recurrent(op, 0, cost); }

/* LSTMGrad(dy, x, w, r, ...): products for the operands' gradients and for the weights'. */
EMP_COST(recurrent_grad)
{
    cost_recurrent(op, 1, cost);
    cost->flops *= 2.0;
    cost->batch = emp_mul_saturating(cost->batch, 2);
    cost->kernels *= 2;
}

/* ---- others ------------------------------------------------------------------------ */

EMP_INFER(select_v2)
{
    emp_shape shape;

    emp_set_output(&output[0], EMP_SHAPE_UNKNOWN, emp_view_dtype(op, 1));
    EMP_CHECK(emp_shape_broadcast(&op->input[1].shape, &op->input[2].shape, &shape, err));
    EMP_CHECK(emp_shape_broadcast(&op->input[0].shape, &shape, &output[0].shape, err));
    return EMP_OK;
}

EMP_INFER(broadcast_to)
{
    return emp_set_output(&output[0], emp_shape_from_vector(&op->input[1]),
                          emp_view_dtype(op, 0));
}

/* As large as the indices. */
EMP_INFER(like_second)
{
    return emp_set_output(&output[0], op->input[1].shape, emp_view_dtype(op, 0));
}

/* The `count` largest along `axis`, and where they are; without a count all are sorted. */
EMP_INFER(partial_sort)
{
    emp_shape shape = op->input[0].shape;
    int32_t   axis = emp_axis_normalize(op->attrs->axis, shape.rank < 0 ? 0 : shape.rank);

    if (axis >= 0 && op->attrs->count > 0) shape.dim[axis] = op->attrs->count;
    emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
    emp_set_output(&output[1], shape, EMP_DTYPE_INT64);
    *output_count = 2;
    return EMP_OK;
}

/* QuantizeLinear, DequantizeLinear: as large as the input, of a type of its own. */
EMP_INFER(quantize)
{
    emp_dtype dtype =
        op->attrs->out_type != EMP_DTYPE_NONE ? op->attrs->out_type : EMP_DTYPE_UINT8;

    return emp_set_output(&output[0], op->input[0].shape, dtype);
}

/* y, its scale, its zero point. */
EMP_INFER(dynamic_quantize)
{
    emp_set_output(&output[0], op->input[0].shape, EMP_DTYPE_UINT8);
    emp_set_output(&output[1], EMP_SHAPE_SCALAR, EMP_DTYPE_FLOAT);
    emp_set_output(&output[2], EMP_SHAPE_SCALAR, EMP_DTYPE_UINT8);
    *output_count = 3;
    return EMP_OK;
}

/* Products of matrices in the last two dims; the dims before are broadcast. */
EMP_INFER(batch_product)
{
    emp_shape a = op->input[0].shape, b = op->input[1].shape, shape;
    char      text_a[EMP_SHAPE_TEXT_BYTES], text_b[EMP_SHAPE_TEXT_BYTES];
    bool      ta = op->attrs->transpose_a, tb = op->attrs->transpose_b;

    emp_set_output(&output[0], EMP_SHAPE_UNKNOWN,
                   op->attrs->out_type != EMP_DTYPE_NONE ? op->attrs->out_type
                                                         : emp_view_dtype(op, 0));
    if (a.rank < 0 || b.rank < 0) return EMP_OK;
    int64_t k_of_a = a.rank < 2 ? -1 : a.dim[a.rank - (ta ? 2 : 1)];
    int64_t k_of_b = b.rank < 2 ? -1 : b.dim[b.rank - (tb ? 1 : 2)];
    if (a.rank < 2 || b.rank < 2 || (k_of_a >= 0 && k_of_b >= 0 && k_of_a != k_of_b))
        return EMP_ERROR(EMP_EFORMAT, "products of matrices of %s%s and %s%s",
                         emp_shape_format(&a, text_a), ta ? " transposed" : "",
                         emp_shape_format(&b, text_b), tb ? " transposed" : "");
    int64_t m = a.dim[a.rank - (ta ? 1 : 2)], n = b.dim[b.rank - (tb ? 2 : 1)];
    a.rank -= 2;
    b.rank -= 2;
    EMP_CHECK(emp_shape_broadcast(&a, &b, &shape, err));
    shape.dim[shape.rank++] = m;
    shape.dim[shape.rank++] = n;
    output[0].shape = shape;
    return EMP_OK;
}

/* Residual connections of several streams, and products in groups.
 *
 * Hyper-connections keep n streams of a token, [tokens, n, size] (mHC: Xie et al., 2026; DeepSeek-V4, section 2.2).
 * Weights that a product of all streams gives join them before a layer, and spread its result over them behind it.
 * Attention residuals (Kimi, 2026) mix what earlier blocks of layers gave by a softmax over the blocks. */

/* ---- hyper-connections ---- */

/* StreamWeights(x [tokens, n, size], w [m, n size], base [m], scale): a norm, a product, and the weights [tokens, m],
 * of which n x n are made doubly stochastic. */
EMP_INFER(stream_weights)
{
    return emp_set_output(&output[0],
                          EMP_SHAPE(emp_shape_dim(&op->input[0].shape, 0),
                                    emp_shape_dim(&op->input[1].shape, 0)),
                          emp_view_dtype(op, 0));
}

static void cost_stream_weights(const emp_op_view *op, int32_t first, double factor,
                                emp_op_cost *cost)
{
    const emp_shape *w = &op->input[first + 1].shape;

    emp_view_cost(op, EMP_OP_GEMM, 0.0, cost);
    cost->kernels = 2;
    cost->batch = 1;
    cost->m = emp_shape_size(&op->input[first].shape, 0);
    cost->n = emp_shape_size(w, 0);
    cost->k = emp_shape_last(w);
    cost->flops = factor * 2.0 * (double)cost->m * (double)cost->n * (double)cost->k;
}

EMP_COST(stream_weights) { cost_stream_weights(op, 0, 1.0, cost); }
EMP_COST(stream_weights_grad) { cost_stream_weights(op, 1, 2.0, cost); }

/* CollapseStreams(x [tokens, n, size], weights): the weighted sum, [tokens, size]. */
EMP_INFER(collapse_streams)
{
    const emp_shape *x = &op->input[0].shape;

    return emp_set_output(&output[0], EMP_SHAPE(emp_shape_dim(x, 0), emp_shape_dim(x, 2)),
                          emp_view_dtype(op, 0));
}

/* ExpandStreams(x [tokens, n, size], y [tokens, size], weights): n sums of all streams and y. */
EMP_COST(expand_streams)
{
    const emp_shape *x = &op->input[op->input_count > 3 ? 1 : 0].shape;
    double           terms = (double)emp_shape_size(x, 1) + 1.0;

    emp_view_cost(op, EMP_OP_ELEMENTWISE, terms * (double)emp_shape_elements(x), cost);
}

/* PredictStreams(x [tokens, n, hidden], w [tokens, n x n]): each stream of all. Its gradient reads dy before these. */
EMP_COST(predict_streams)
{
    const emp_shape *x = &op->input[op->input_count > 2 ? 1 : 0].shape;

    emp_view_cost(op, EMP_OP_ELEMENTWISE,
                  (double)emp_shape_size(x, 1) * (double)emp_shape_elements(x), cost);
}

EMP_COST(collapse_streams)
{
    const emp_shape *x = &op->input[op->input_count > 2 ? 1 : 0].shape;

    emp_view_cost(op, EMP_OP_ELEMENTWISE, (double)emp_shape_elements(x), cost);
}

/* ---- attention residuals ---- */

/* MixBlocks(x [tokens, size], blocks [tokens, n size], norm [size], query [size]): each source by the softmax of its
 * norm's product with the query. */
EMP_COST(mix_blocks)
{
    const int32_t    first = op->input_count > 4 ? 1 : 0;
    const emp_shape *x = &op->input[first].shape, *blocks = &op->input[first + 1].shape;

    emp_view_cost(op, EMP_OP_NORM,
                  (double)emp_shape_elements(x) + (double)emp_shape_elements(blocks),
                  cost);
}

/* ---- products in groups ---- */

/* GroupedLinear(x [tokens, groups, k], w [groups n, k]): a product for each group, [tokens, groups n]. */
EMP_INFER(grouped_linear)
{
    const emp_shape *x = &op->input[0].shape, *w = &op->input[1].shape;
    char             text_x[EMP_SHAPE_TEXT_BYTES], text_w[EMP_SHAPE_TEXT_BYTES];

    emp_set_output(&output[0], EMP_SHAPE(emp_shape_dim(x, 0), emp_shape_dim(w, 0)),
                   emp_view_dtype(op, 0));
    if ((x->rank >= 0 && x->rank != 3) || (w->rank >= 0 && w->rank != 2) ||
        emp_sizes_differ(emp_shape_dim(x, 2), emp_shape_dim(w, 1)) ||
        emp_shape_size(w, 0) % emp_shape_size(x, 1) != 0)
        return EMP_ERROR(EMP_EFORMAT, "products in groups of %s and weights %s",
                         emp_shape_format(x, text_x), emp_shape_format(w, text_w));
    return EMP_OK;
}

static void cost_grouped(const emp_op_view *op, int32_t first, double factor,
                         emp_op_cost *cost)
{
    const emp_tensor_info *x = &op->input[first], *w = x + 1;

    emp_view_cost(op, EMP_OP_GEMM, 0.0, cost);
    cost->batch = emp_shape_size(&x->shape, 1);
    cost->m = emp_shape_size(&x->shape, 0);
    cost->n = emp_shape_size(&w->shape, 0) / cost->batch;
    if (cost->n < 1) cost->n = 1;
    cost->k = emp_shape_last(&x->shape);
    cost->flops = factor * 2.0 * (double)cost->m * (double)emp_shape_size(&w->shape, 0) *
                  (double)cost->k;
    emp_cost_store_weights(w, emp_info_bytes(w), cost);
}

EMP_COST(grouped_linear) { cost_grouped(op, 0, 1.0, cost); }
EMP_COST(grouped_linear_grad) { cost_grouped(op, 1, 2.0, cost); }

/* Layers that scan a sequence with a state of fixed size: causal convolutions, the gated delta rule, and the state
 * spaces of Mamba-2.
 *
 * Queries and keys are [batch, tokens, key heads, key size], values [batch, tokens, heads, value size]; a state is
 * [batch, heads, key size, value size]. Mamba-2 calls them C, B and x, its key heads groups (Dao and Gu, 2024,
 * section 7). An op with a state among its inputs belongs to a step that keeps one: a step of one token reads and
 * writes it, and a longer one, which is a prompt, begins without one and writes it.
 *
 * One token is the recurrence itself: a decay of the state, an update of rank one, and its product with the query; the
 * delta rule also reads what the key finds. More tokens are computed in chunks of `window`. FLOPs of the delta rule
 * for T tokens in chunks of C are T (6 K V + 3 C (K + V) / 2 + C^2) a head (Kimi Linear, 2025, section 6.3, equation
 * 13, where K = V). FLOPs of Mamba-2 count its products: Q by K within a chunk for each key head, and within a
 * chunk, into the state and out of the state for each head (Dao and Gu, section 6.3). The states between chunks are
 * written once and read once. The backward pass computes the forward pass again and has two products for each. */

enum {
    CHUNK = 64,        /* of a scan that does not say */
    CHUNK_KERNELS = 6, /* of a scan in chunks */
    BACKWARD = 3
};

/* ---- states ---- */

/* A step of one token reads and writes the state of input \a at; a prompt only writes it. */
static void charge_state(const emp_op_view *op, int32_t at, bool is_one,
                         emp_op_cost *cost)
{
    if (op->input_count <= at) return;
    const int64_t bytes = emp_info_bytes(&op->input[at]);

    cost->bytes_written = emp_add_saturating(cost->bytes_written, bytes);
    if (!is_one && bytes <= cost->bytes_read) cost->bytes_read -= bytes;
}

/* ---- the convolution ---- */

/* The place of the state among (x, w[, bias][, state]): the first input of rank 3 behind w. */
static int32_t state_of_convolution(const emp_op_view *op)
{
    for (int32_t i = 2; i < op->input_count; i++)
        if (op->input[i].shape.rank == 3) return i;
    return op->input_count;
}

/* CausalConvolution(x [batch, tokens, channels], w [channels, 1, taps][, bias][, state]). */
EMP_INFER(causal_convolution)
{
    const emp_shape *x = &op->input[0].shape, *w = &op->input[1].shape;
    char             text_x[EMP_SHAPE_TEXT_BYTES], text_w[EMP_SHAPE_TEXT_BYTES];

    emp_set_output(&output[0], *x, emp_view_dtype(op, 0));
    if ((x->rank >= 0 && x->rank != 3) || (w->rank >= 0 && w->rank != 3) ||
        emp_sizes_differ(emp_shape_dim(x, 2), emp_shape_dim(w, 0)))
        return EMP_ERROR(EMP_EFORMAT, "a convolution of %s by weights %s",
                         emp_shape_format(x, text_x), emp_shape_format(w, text_w));
    return EMP_OK;
}

EMP_COST(causal_convolution)
{
    const emp_shape *x = &op->input[0].shape;
    double           taps = (double)emp_shape_last(&op->input[1].shape);

    emp_view_cost(op, EMP_OP_ELEMENTWISE, taps * (double)emp_shape_elements(x), cost);
    charge_state(op, state_of_convolution(op), emp_shape_size(x, 1) == 1, cost);
}

/* CausalConvolutionGrad(dy, x, w[, bias]). */
EMP_COST(causal_convolution_grad)
{
    double taps = (double)emp_shape_last(&op->input[2].shape);

    emp_view_cost(op, EMP_OP_ELEMENTWISE,
                  taps * (double)emp_shape_elements(&op->input[1].shape), cost);
}

/* ---- scans ---- */

typedef struct {
    double batch, tokens, key_heads, heads, key, value, chunk;
} scan_sizes;

/* The sizes of the queries of input \a first, and of the values two inputs behind. */
static scan_sizes sizes_of(const emp_op_view *op, int32_t first)
{
    const emp_shape *q = &op->input[first].shape, *v = &op->input[first + 2].shape;
    double           tokens = (double)emp_shape_size(v, 1);
    double           chunk = op->attrs->window > 0 ? op->attrs->window : CHUNK;

    return (scan_sizes){.batch = (double)emp_shape_size(v, 0),
                        .tokens = tokens,
                        .key_heads = (double)emp_shape_size(q, 2),
                        .heads = (double)emp_shape_size(v, 2),
                        .key = (double)emp_shape_size(q, 3),
                        .value = (double)emp_shape_size(v, 3),
                        .chunk = fmin(chunk, tokens)};
}

/* DeltaRule(q, k, v, b [tokens, heads], decay[, state]), where b is an update's weight before its sigmoid;
 * StateSpaceScan(q, k, v, step [tokens, heads], a, bias, skip [heads][, state]). */
EMP_INFER(scan)
{
    const emp_shape *q = &op->input[0].shape, *k = &op->input[1].shape,
                    *v = &op->input[2].shape;
    char text_q[EMP_SHAPE_TEXT_BYTES], text_k[EMP_SHAPE_TEXT_BYTES],
        text_v[EMP_SHAPE_TEXT_BYTES];
    bool fits = (q->rank < 0 || q->rank == 4) && (v->rank < 0 || v->rank == 4) &&
                (k->rank < 0 || k->rank == 4) &&
                emp_shape_size(v, 2) % emp_shape_size(q, 2) == 0;

    for (int32_t d = 0; d < 4; d++)
        fits = fits && !emp_sizes_differ(emp_shape_dim(q, d), emp_shape_dim(k, d)) &&
               (d > 1 || !emp_sizes_differ(emp_shape_dim(q, d), emp_shape_dim(v, d)));
    emp_set_output(&output[0], *v, emp_view_dtype(op, 2));
    if (fits) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "a scan of queries %s, keys %s and values %s",
                     emp_shape_format(q, text_q), emp_shape_format(k, text_k),
                     emp_shape_format(v, text_v));
}

/* One token: as many operations as the rates have for each element of the state. */
static void cost_step(const emp_op_view *op, const scan_sizes *s, emp_op_cost *cost)
{
    emp_view_cost(op, EMP_OP_ELEMENTWISE, s->batch * s->heads * s->key * s->value, cost);
}

/* Chunks of all heads as one batch of products, and the states between them. */
static void cost_chunks(const emp_op_view *op, const scan_sizes *s, double flops,
                        int32_t passes, emp_op_cost *cost)
{
    double chunks = s->batch * s->heads * ceil(s->tokens / s->chunk);
    double states = fmin(chunks * s->key * s->value, 0x1p60);
    double product = 2.0 * chunks * s->chunk * s->value;

    emp_view_cost(op, EMP_OP_GEMM, 0.0, cost);
    cost->flops = flops;
    cost->kernels = CHUNK_KERNELS * passes;
    cost->batch = (int64_t)fmin(chunks, 0x1p60);
    cost->m = (int64_t)fmin(s->chunk, 0x1p60);
    cost->n = (int64_t)fmin(s->value, 0x1p60);
    cost->k = (int64_t)fmax(1.0, fmin(flops / product, 0x1p60));
    cost->workspace_bytes =
        emp_mul_saturating((int64_t)states, emp_dtype_bytes(op->output[0].dtype));
    int64_t moved = emp_mul_saturating(cost->workspace_bytes, passes);
    cost->bytes_read = emp_add_saturating(cost->bytes_read, moved);
    cost->bytes_written = emp_add_saturating(cost->bytes_written, moved);
}

static double delta_flops(const scan_sizes *s)
{
    double head = 6.0 * s->key * s->value + 1.5 * s->chunk * (s->key + s->value) +
                  s->chunk * s->chunk;

    return s->batch * s->heads * s->tokens * head;
}

static double state_space_flops(const scan_sizes *s)
{
    double head = 4.0 * s->key * s->value + 2.0 * s->chunk * s->value;

    return s->batch * s->tokens *
           (s->heads * head + s->key_heads * 2.0 * s->chunk * s->key);
}

static void cost_scan(const emp_op_view *op, double (*flops)(const scan_sizes *),
                      int32_t state, emp_op_cost *cost)
{
    scan_sizes s = sizes_of(op, 0);

    if (s.tokens > 1.0)
        cost_chunks(op, &s, flops(&s), 1, cost);
    else
        cost_step(op, &s, cost);
    charge_state(op, state, s.tokens <= 1.0, cost);
}

static void cost_scan_grad(const emp_op_view *op, double (*flops)(const scan_sizes *),
                           emp_op_cost       *cost)
{
    scan_sizes s = sizes_of(op, 1);

    cost_chunks(op, &s, BACKWARD * flops(&s), 2, cost);
}

EMP_COST(delta_rule) { cost_scan(op, delta_flops, 5, cost); }
EMP_COST(delta_rule_grad) { cost_scan_grad(op, delta_flops, cost); }
EMP_COST(state_space) { cost_scan(op, state_space_flops, 7, cost); }
EMP_COST(state_space_grad) { cost_scan_grad(op, state_space_flops, cost); }

/* LightningScan(q, k, v, decay [heads][, state]), whose products are those of Mamba-2 in chunks. */
EMP_COST(lightning) { cost_scan(op, state_space_flops, 4, cost); }

/* SelectiveScan(q, k, v [batch, tokens, channels, 1], step [tokens, channels], a [channels, keys], skip, gate[, state]): one
 * kernel that goes from token to token, with as many operations as the rates have for an element of the state. */
static double states_of(const emp_op_view *op, int32_t first)
{
    const scan_sizes s = sizes_of(op, first);

    return s.batch * s.tokens * s.heads * s.key;
}

EMP_COST(selective_scan)
{
    emp_view_cost(op, EMP_OP_ELEMENTWISE, states_of(op, 0), cost);
    charge_state(op, 7, emp_shape_size(&op->input[2].shape, 1) == 1, cost);
}

EMP_COST(selective_scan_grad)
{
    emp_view_cost(op, EMP_OP_ELEMENTWISE, states_of(op, 1), cost);
}
