// SPDX-License-Identifier: GPL-3.0-or-later
/* Residual connections of several streams, and products in groups.
 *
 * Hyper-connections keep n streams of a token, [tokens, n, size] (mHC: Xie et al., 2026; DeepSeek-V4, section 2.2).
 * Weights that a product of all streams gives join them before a layer, and spread its result over them behind it.
 * Attention residuals (Kimi, 2026) mix what earlier blocks of layers gave by a softmax over the blocks. */
#include <math.h>

#include "sim/graph/op_entry.h"

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
