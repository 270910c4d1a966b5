// SPDX-License-Identifier: GPL-3.0-or-later
/* Ops of transformers: products with weights, attention, norms, experts.
 *
 * Attention takes queries [batch, queries, heads, size], and keys and values [batch, keys,
 * kv heads, size] of as many or fewer heads. It is one kernel that keeps no scores
 * (FlashAttention, Dao et al., 2022): pairs of query and key that the mask hides cost nothing, and
 * the backward pass computes the scores again, five products where the forward pass has two.
 *
 * Experts are the layers of Shazeer et al. (2017): each token is sent to `count` of them. The rows
 * of one expert are one product of a batch. */
#include <math.h>

#include "sim/graph/op_entry.h"

/* ---- products with weights ---- */

/* Linear(x, w[, bias]): x [..., k], w [n, k]. */
EMP_INFER(linear)
{
    const emp_shape *x = &op->input[0].shape, *w = &op->input[1].shape;
    emp_shape        shape = *x;
    char             text_a[EMP_SHAPE_TEXT_BYTES], text_b[EMP_SHAPE_TEXT_BYTES];

    emp_set_output(&output[0], EMP_SHAPE_UNKNOWN, emp_view_dtype(op, 0));
    if (x->rank < 0) return EMP_OK;
    if (x->rank == 0 || (w->rank >= 0 && w->rank != 2) ||
        emp_sizes_differ(emp_shape_dim(x, x->rank - 1), emp_shape_dim(w, 1)))
        return EMP_ERROR(EMP_EFORMAT, "a product of %s and weights %s",
                         emp_shape_format(x, text_a), emp_shape_format(w, text_b));
    shape.dim[shape.rank - 1] = emp_shape_dim(w, 0);
    output[0].shape = shape;
    return EMP_OK;
}

void emp_cost_store_weights(const emp_tensor_info *w, int64_t bytes, emp_op_cost *cost)
{
    if (emp_dtype_is_float(w->dtype)) return;
    cost->stored = w->dtype;
    cost->weight_bytes = bytes;
    if (emp_dtype_is_float8(w->dtype)) cost->computed = EMP_DTYPE_FLOAT8_E4M3;
    if (w->dtype == EMP_DTYPE_NVFP4_W4A4) cost->computed = EMP_DTYPE_NVFP4_W4A4;
}

/* All leading dimensions of x are rows of one product. */
EMP_COST(linear)
{
    const emp_shape *x = &op->input[0].shape;
    int64_t          elements = emp_shape_elements(x);

    emp_view_cost(op, EMP_OP_GEMM, 0.0, cost);
    cost->k = emp_shape_last(x);
    cost->m = elements / cost->k > 0 ? elements / cost->k : 1;
    cost->n = emp_shape_last(&op->output[0].shape);
    cost->batch = 1;
    cost->flops = 2.0 * (double)cost->m * (double)cost->n * (double)cost->k;
    if (op->input_count > 1)
        emp_cost_store_weights(&op->input[1], emp_info_bytes(&op->input[1]), cost);
}

/* ---- attention ---- */

static bool is_heads(const emp_shape *shape)
{
    return shape->rank < 0 || shape->rank == 4;
}

static emp_status check_attention(const emp_shape *q, const emp_shape *k,
                                  const emp_shape *v, emp_error *err)
{
    char text_q[EMP_SHAPE_TEXT_BYTES], text_k[EMP_SHAPE_TEXT_BYTES],
        text_v[EMP_SHAPE_TEXT_BYTES];
    bool fits = is_heads(q) && is_heads(k) && is_heads(v) &&
                !emp_sizes_differ(emp_shape_dim(q, 0), emp_shape_dim(k, 0)) &&
                !emp_sizes_differ(emp_shape_dim(k, 1), emp_shape_dim(v, 1)) &&
                !emp_sizes_differ(emp_shape_dim(k, 2), emp_shape_dim(v, 2)) &&
                !emp_sizes_differ(emp_shape_dim(q, 3), emp_shape_dim(k, 3)) &&
                emp_shape_size(q, 2) % emp_shape_size(k, 2) == 0;

    if (fits) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "attention of queries %s, keys %s and values %s",
                     emp_shape_format(q, text_q), emp_shape_format(k, text_k),
                     emp_shape_format(v, text_v));
}

/* Attention(q, k, v[, sinks]): the result, and the logarithm of each query's sum, which the
 * gradient reads. */
EMP_INFER(attention)
{
    const emp_shape *q = &op->input[0].shape, *v = &op->input[2].shape;
    emp_shape        shape = emp_shape_of_rank(4), sums = emp_shape_of_rank(3);

    for (int32_t d = 0; d < 3; d++) shape.dim[d] = emp_shape_dim(q, d);
    shape.dim[3] = emp_shape_dim(v, 3);
    sums.dim[0] = emp_shape_dim(q, 0);
    sums.dim[1] = emp_shape_dim(q, 2);
    sums.dim[2] = emp_shape_dim(q, 1);
    emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
    emp_set_output(&output[1], sums, EMP_DTYPE_FLOAT);
    *output_count = 2;
    return check_attention(q, &op->input[1].shape, v, err);
}

/* AttentionGrad(dy, q, k, v, y, sums[, sinks]): dq, dk, dv[, dsinks]. */
EMP_INFER(attention_grad)
{
    for (int32_t i = 0; i < 3; i++)
        emp_set_output(&output[i], op->input[1 + i].shape, emp_view_dtype(op, 1 + i));
    *output_count = 3;
    if (op->input_count > 6)
        emp_set_output(&output[(*output_count)++], op->input[6].shape,
                       emp_view_dtype(op, 6));
    return check_attention(&op->input[1].shape, &op->input[2].shape, &op->input[3].shape,
                           err);
}

double emp_attention_pairs(double queries, double keys, double window)
{
    double S = queries, L = keys, w = fmin(window, L);
    double first = fmax(L - S + 1, 1);            /* keys of the first query */
    double growing = fmin(fmax(w - first, 0), S); /* queries that see fewer than w */
    double whole = fmin(S, L) - growing;          /* queries that see w keys */

    return growing * first + growing * (growing - 1) / 2 + fmax(whole, 0) * w;
}

/* Pairs that the mask leaves, of one head. */
static double pairs_of(const emp_op_attrs *attrs, int64_t queries, int64_t keys)
{
    double L = (double)keys;
    double w = attrs->window > 0 ? fmin(attrs->window, L) : L;

    return attrs->is_causal ? emp_attention_pairs((double)queries, L, w)
                            : (double)queries * w;
}

/* Of tensors q, k, v from input \a first on; the queries of heads that share keys are rows of one
 * product. */
static void cost_attention(const emp_op_view *op, int32_t first, double factor,
                           emp_op_cost *cost)
{
    const emp_shape *q = &op->input[first].shape, *k = &op->input[first + 1].shape;
    int64_t          queries = emp_shape_size(q, 1), heads = emp_shape_size(q, 2);
    int64_t          groups = emp_shape_size(k, 2) < heads ? emp_shape_size(k, 2) : heads;
    double           sizes = (double)emp_shape_size(q, 3) +
                   (double)emp_shape_size(&op->input[first + 2].shape, 3);
    double pairs = pairs_of(op->attrs, queries, emp_shape_size(k, 1));

    emp_view_cost(op, EMP_OP_GEMM, 0.0, cost);
    cost->flops =
        factor * 2.0 * (double)emp_shape_size(q, 0) * (double)heads * pairs * sizes;
    cost->batch = emp_mul_saturating(emp_shape_size(q, 0), groups);
    cost->m = emp_mul_saturating(queries, heads / groups);
    cost->n = (int64_t)fmin(fmax(ceil(pairs / (double)queries), 1), 0x1p62);
    cost->k = (int64_t)fmin(factor * sizes, 0x1p62);
    if (!emp_shape_is_known(q) || !emp_shape_is_known(k)) return;
    cost->queries = queries;
    cost->keys = emp_shape_size(k, 1);
    cost->head_size = emp_shape_size(q, 3);
}

EMP_COST(attention) { cost_attention(op, 0, 1.0, cost); }
EMP_COST(attention_grad) { cost_attention(op, 1, 2.5, cost); }

/* ---- norms ---- */

/* Of (dy, x, weights...): the gradients of x and of each of the weights. */
EMP_INFER(norm_grad)
{
    int32_t count = op->input_count - 1 < 3 ? op->input_count - 1 : 3;

    for (int32_t i = 0; i < count; i++)
        emp_set_output(&output[i], op->input[1 + i].shape, emp_view_dtype(op, 1 + i));
    *output_count = count;
    return EMP_OK;
}

/* One kernel that reads and writes everything once. */
EMP_COST(norm)
{
    emp_view_cost(op, EMP_OP_NORM, (double)emp_shape_elements(&op->output[0].shape),
                  cost);
}

/* ---- experts ---- */

/* RouteTokens(logits [tokens, experts]): weights and numbers of the `count` chosen ones. */
EMP_INFER(route)
{
    int64_t   tokens = emp_shape_dim(&op->input[0].shape, 0);
    int64_t   chosen = op->attrs->count > 0 ? op->attrs->count : 1;
    emp_shape shape = EMP_SHAPE(tokens, chosen);

    emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
    emp_set_output(&output[1], shape, EMP_DTYPE_INT32);
    *output_count = 2;
    return EMP_OK;
}

/* RouteTokensGrad(dweights, logits, numbers). */
EMP_INFER(route_grad)
{
    return emp_set_output(&output[0], op->input[1].shape, emp_view_dtype(op, 1));
}

EMP_COST(route)
{
    const emp_shape *logits =
        &op->input[op->input_count > 2 ? 1 : 0].shape; /* of the gradient, input 1 */

    emp_view_cost(op, EMP_OP_NORM, (double)emp_shape_elements(logits), cost);
}

/* ExpertsMatMul(x [rows, k], w, numbers[, bias]): w is [experts, n, k] with transpose_b, which
 * multiplies by the transposed weights, else [experts, k, n]. */
EMP_INFER(experts)
{
    const emp_shape *x = &op->input[0].shape, *w = &op->input[1].shape;
    int32_t          n = op->attrs->transpose_b ? 1 : 2;
    char             text_a[EMP_SHAPE_TEXT_BYTES], text_b[EMP_SHAPE_TEXT_BYTES];

    emp_set_output(&output[0], EMP_SHAPE(emp_shape_dim(x, 0), emp_shape_dim(w, n)),
                   emp_view_dtype(op, 0));
    if ((x->rank >= 0 && x->rank != 2) || (w->rank >= 0 && w->rank != 3) ||
        emp_sizes_differ(emp_shape_dim(x, 1), emp_shape_dim(w, 3 - n)))
        return EMP_ERROR(EMP_EFORMAT, "rows %s for the weights %s of experts",
                         emp_shape_format(x, text_a), emp_shape_format(w, text_b));
    return EMP_OK;
}

/* ExpertsMatMulGrad(x [rows, k], dy [rows, n], numbers): the gradient of weights whose shape
 * [experts, n, k] the attributes give. */
EMP_INFER(experts_grad)
{
    emp_shape shape = op->attrs->has_shape ? op->attrs->shape : emp_shape_of_rank(3);

    return emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
}

/* The experts that some row is sent to, where each token is equally likely to choose any. */
static double busy_experts(const emp_shape *numbers, double rows, double experts)
{
    double chosen = fmin((double)emp_shape_last(numbers), experts);
    double tokens = rows / fmax(chosen, 1);

    return fmax(1, experts * (1 - pow(1 - chosen / experts, tokens)));
}

static int64_t whole(double value) { return (int64_t)fmin(ceil(value), 0x1p62); }

EMP_COST(experts)
{
    const emp_tensor_info *w = &op->input[1];
    double                 rows = (double)emp_shape_size(&op->input[0].shape, 0);
    double                 experts = (double)emp_shape_size(&w->shape, 0);
    double                 busy = busy_experts(&op->input[2].shape, rows, experts);
    int64_t                all_bytes = emp_info_bytes(w);
    double                 idle_bytes = (double)all_bytes * fmax(0, 1 - busy / experts);

    emp_view_cost(op, EMP_OP_GEMM, 0.0, cost);
    if (cost->bytes_read < INT64_MAX && idle_bytes < (double)cost->bytes_read)
        cost->bytes_read -= (int64_t)idle_bytes;
    cost->m = whole(rows / busy);
    cost->n = emp_shape_last(&op->output[0].shape);
    cost->k = emp_shape_last(&op->input[0].shape);
    cost->batch = whole(busy);
    cost->flops = 2.0 * rows * (double)cost->n * (double)cost->k;
    emp_cost_store_weights(w, (int64_t)((double)all_bytes * fmin(1.0, busy / experts)),
                           cost);
}

EMP_COST(experts_grad)
{
    const emp_shape *x = &op->input[0].shape, *w = &op->output[0].shape;
    double           rows = (double)emp_shape_size(x, 0);
    double busy = busy_experts(&op->input[2].shape, rows, (double)emp_shape_size(w, 0));

    emp_view_cost(op, EMP_OP_GEMM, 0.0, cost);
    cost->m = emp_shape_size(w, 1);
    cost->n = emp_shape_size(w, 2);
    cost->k = whole(rows / busy);
    cost->batch = whole(busy);
    cost->flops = 2.0 * rows * (double)cost->m * (double)cost->n;
}

/* CombineExperts(y [tokens x chosen, n], weights [tokens, chosen]). */
EMP_INFER(combine)
{
    return emp_set_output(&output[0],
                          EMP_SHAPE(emp_shape_dim(&op->input[1].shape, 0),
                                    emp_shape_dim(&op->input[0].shape, 1)),
                          emp_view_dtype(op, 0));
}

/* CombineExpertsGrad(dout, y, weights): dy, dweights. */
EMP_INFER(combine_grad)
{
    for (int32_t i = 0; i < 2; i++)
        emp_set_output(&output[i], op->input[1 + i].shape, emp_view_dtype(op, 1 + i));
    *output_count = 2;
    return EMP_OK;
}

EMP_COST(combine)
{
    const emp_shape *y = &op->input[op->input_count > 2 ? 1 : 0].shape;

    emp_view_cost(op, EMP_OP_ELEMENTWISE, (double)emp_shape_elements(y), cost);
}

/* ---- updates ---- */

/* AdamW(weights, mean, square[, master], gradient) of several element types: reads all of them and
 * writes all but the gradient, in one kernel. */
EMP_COST(mixed_optimizer)
{
    emp_view_cost(op, EMP_OP_OPTIMIZER, (double)emp_shape_elements(&op->input[0].shape),
                  cost);
    cost->bytes_written = 0;
    for (int32_t i = 0; i + 1 < op->input_count; i++)
        cost->bytes_written =
            emp_add_saturating(cost->bytes_written, emp_info_bytes(&op->input[i]));
}

/* ---- tokens ---- */

/* SampleToken(logits [rows, vocabulary]): a number for each row, drawn on the host. */
EMP_INFER(sample_token)
{
    emp_shape rows = op->input[0].shape;

    if (rows.rank > 0) rows.rank--;
    return emp_set_output(&output[0], rows, EMP_DTYPE_INT32);
}
