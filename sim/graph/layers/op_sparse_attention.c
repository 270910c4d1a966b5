// SPDX-License-Identifier: GPL-3.0-or-later
/* Attention to some of the keys.
 *
 * An indexer scores the keys of a query by few and small heads of its own, and the query sees the `chosen` best
 * (DeepSeek-V3.2, 2025, section 2.1; MiniMax-M3 chooses blocks of keys). Keys may stand for `stride` tokens each:
 * DeepSeek-V4 (2026, section 2.3) joins a window's keys by weights of a softmax, and a query sees compressed keys of the
 * windows behind it, and the single keys of the last `window` tokens.
 *
 * Scores go to memory and back as float32. Keys that no query has chosen are not read. What trains an indexer is how far
 * its scores of the chosen keys are from what attention gives these (DeepSeek-V3.2, section 2.1.1). */
#include <math.h>

#include "sim/graph/op_entry.h"

enum { SCORE_BYTES = 4 };

static int64_t positive(int32_t size) { return size > 0 ? size : 1; }

/* Pairs of `queries` and compressed keys, of which the last query sees all: each sees those of its windows, and of
 * these at most \a most. */
static double compressed_pairs(const emp_op_attrs *attrs, int64_t queries, int64_t keys,
                               double most)
{
    double stride = (double)positive(attrs->stride);
    double tokens = fmin((double)keys * stride, 0x1p52);

    return emp_attention_pairs((double)queries, tokens, fmin(most * stride, tokens)) /
           stride;
}

/* Keys that a query chooses; without a number it takes all. */
static double chosen_of(const emp_op_attrs *attrs)
{
    return attrs->chosen > 0 ? (double)attrs->chosen : (double)INFINITY;
}

/* ---- the choice ---- */

/* SelectKeys(q [batch, queries, heads, size], k [batch, keys, 1, size][, weights]): numbers of the chosen keys, or of
 * their blocks. With weights the heads choose together, else each for itself. */
EMP_INFER(select_keys)
{
    const emp_shape *q = &op->input[0].shape, *k = &op->input[1].shape;
    const int64_t    block = positive(op->attrs->block), keys = emp_shape_dim(k, 1);
    int64_t          count = op->attrs->chosen / block;
    char             text_q[EMP_SHAPE_TEXT_BYTES], text_k[EMP_SHAPE_TEXT_BYTES];

    if (keys >= 0 && (count < 1 || count > keys / block + (keys % block != 0)))
        count = keys / block + (keys % block != 0);
    emp_set_output(&output[0],
                   EMP_SHAPE(emp_shape_dim(q, 0), emp_shape_dim(q, 1),
                             op->input_count > 2 ? 1 : emp_shape_dim(q, 2), count),
                   EMP_DTYPE_INT32);
    if ((q->rank < 0 || q->rank == 4) && (k->rank < 0 || k->rank == 4) &&
        !emp_sizes_differ(emp_shape_dim(q, 0), emp_shape_dim(k, 0)) &&
        !emp_sizes_differ(emp_shape_dim(q, 3), emp_shape_dim(k, 3)))
        return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "a choice of keys %s for queries %s",
                     emp_shape_format(k, text_k), emp_shape_format(q, text_q));
}

EMP_COST(select_keys)
{
    const emp_shape *q = &op->input[0].shape;
    double           batch = (double)emp_shape_size(q, 0);
    double           heads = (double)emp_shape_size(q, 2);
    double           size = (double)emp_shape_size(q, 3);
    int64_t          queries = emp_shape_size(q, 1);
    double           pairs = compressed_pairs(op->attrs, queries,
                                              emp_shape_size(&op->input[1].shape, 1), INFINITY);
    double           scores = batch * pairs * (op->input_count > 2 ? 1.0 : heads);
    int64_t          moved = (int64_t)fmin(SCORE_BYTES * scores, 0x1p61);

    emp_view_cost(op, EMP_OP_GEMM, 0.0, cost);
    cost->kernels = 2;
    cost->flops = batch * pairs * heads * (2.0 * size + 2.0);
    cost->batch = emp_shape_size(q, 0);
    cost->m = emp_mul_saturating(queries, emp_shape_size(q, 2));
    cost->n = (int64_t)fmin(fmax(1.0, ceil(pairs / (double)queries)), 0x1p60);
    cost->k = emp_shape_size(q, 3);
    cost->bytes_read = emp_add_saturating(cost->bytes_read, moved);
    cost->bytes_written = emp_add_saturating(cost->bytes_written, moved);
}

/* SelectKeysGrad(q, k, queries, keys, numbers[, weights]) of an indexer's q, k and weights, and of the attention's
 * queries and keys: dq, dk[, dweights]. */
EMP_INFER(select_keys_grad)
{
    for (int32_t i = 0; i < 2; i++)
        emp_set_output(&output[i], op->input[i].shape, emp_view_dtype(op, i));
    *output_count = 2;
    if (op->input_count > 5)
        emp_set_output(&output[(*output_count)++], op->input[5].shape,
                       emp_view_dtype(op, 5));
    return EMP_OK;
}

/* Of the chosen pairs the scores and their two gradients, and the scores of attention. */
EMP_COST(select_keys_grad)
{
    const emp_shape *q = &op->input[0].shape, *queries = &op->input[2].shape;
    double           batch = (double)emp_shape_size(q, 0);
    double           own = (double)emp_shape_size(q, 2) * (double)emp_shape_size(q, 3);
    double all = (double)emp_shape_size(queries, 2) * (double)emp_shape_size(queries, 3);
    double pairs =
        compressed_pairs(op->attrs, emp_shape_size(q, 1),
                         emp_shape_size(&op->input[1].shape, 1), chosen_of(op->attrs));

    emp_view_cost(op, EMP_OP_GEMM, 0.0, cost);
    cost->kernels = 2;
    cost->flops = batch * pairs * (6.0 * own + 2.0 * all);
    cost->batch = emp_shape_size(q, 0);
    cost->m = emp_shape_size(q, 1);
    cost->n = (int64_t)fmin(fmax(1.0, ceil(pairs / (double)cost->m)), 0x1p60);
    cost->k = (int64_t)fmin(3.0 * own + all, 0x1p60);
}

/* ---- attention to chosen keys ---- */

/* Takes from the bytes read those of keys that no query has chosen. */
static void spare_idle_keys(const emp_tensor_info *keys, double read, emp_op_cost *cost)
{
    double  all = (double)emp_shape_size(&keys->shape, 1);
    double  idle = fmax(0.0, 1.0 - read / all) * (double)emp_info_bytes(keys);
    int64_t bytes = (int64_t)idle;

    if (bytes <= cost->bytes_read) cost->bytes_read -= bytes;
}

static void spare_bytes(const emp_tensor_info *info, emp_op_cost *cost)
{
    int64_t bytes = emp_info_bytes(info);

    if (bytes <= cost->bytes_read) cost->bytes_read -= bytes;
}

/* Products of \a pairs of queries and keys of \a sizes, of tensors q and k. */
static void fill_products(const emp_shape *q, const emp_shape *k, double pairs,
                          double sizes, double factor, emp_op_cost *cost)
{
    int64_t queries = emp_shape_size(q, 1), heads = emp_shape_size(q, 2);
    int64_t groups = emp_shape_size(k, 2) < heads ? emp_shape_size(k, 2) : heads;

    cost->flops =
        factor * 2.0 * (double)emp_shape_size(q, 0) * (double)heads * pairs * sizes;
    cost->batch = emp_mul_saturating(emp_shape_size(q, 0), groups);
    cost->m = emp_mul_saturating(queries, heads / groups);
    cost->n = (int64_t)fmin(fmax(1.0, ceil(pairs / (double)queries)), 0x1p60);
    cost->k = (int64_t)fmin(fmax(1.0, factor * sizes), 0x1p60);
}

/* SparseAttention(q, k, v, numbers[, sinks]), or its gradient (dy, q, k, v, y, sums, numbers[, sinks]). Values of the
 * only head that are narrower than its keys are the keys' first columns (latent attention), and not read again. */
static void cost_sparse(const emp_op_view *op, int32_t first, double factor,
                        emp_op_cost *cost)
{
    const emp_tensor_info *q = &op->input[first], *k = q + 1, *v = q + 2;
    double                 queries = (double)emp_shape_size(&q->shape, 1);
    double                 chosen = chosen_of(op->attrs);
    int64_t size = emp_shape_last(&k->shape), value = emp_shape_last(&v->shape);
    double  pairs = compressed_pairs(op->attrs, emp_shape_size(&q->shape, 1),
                                     emp_shape_size(&k->shape, 1), chosen);
    bool    is_one = emp_shape_size(&k->shape, 2) == 1 && value < size;

    emp_view_cost(op, EMP_OP_GEMM, 0.0, cost);
    fill_products(&q->shape, &k->shape, pairs, (double)size + (double)value, factor,
                  cost);
    spare_idle_keys(k, queries * chosen, cost);
    if (is_one)
        spare_bytes(v, cost);
    else
        spare_idle_keys(v, queries * chosen, cost);
}

EMP_COST(sparse_attention) { cost_sparse(op, 0, 1.0, cost); }
EMP_COST(sparse_attention_grad) { cost_sparse(op, 1, 2.5, cost); }

/* SparseAttentionGrad: dq, dk, dv[, dsinks]. */
EMP_INFER(sparse_attention_grad)
{
    for (int32_t i = 0; i < 3; i++)
        emp_set_output(&output[i], op->input[1 + i].shape, emp_view_dtype(op, 1 + i));
    *output_count = 3;
    if (op->input_count > 7)
        emp_set_output(&output[(*output_count)++], op->input[7].shape,
                       emp_view_dtype(op, 7));
    return EMP_OK;
}

/* ---- attention to single and to compressed keys ---- */

/* CompressedAttention(q, near [batch, tokens, 1, size], far [batch, keys, 1, size], sinks[, numbers]): keys are values.
 * Its gradient reads dy before these. */
static void cost_compressed(const emp_op_view *op, int32_t first, double factor,
                            emp_op_cost *cost)
{
    const emp_tensor_info *q = &op->input[first], *near = q + 1, *far = q + 2;
    int64_t                queries = emp_shape_size(&q->shape, 1);
    double                 tokens = (double)emp_shape_size(&near->shape, 1);
    double                 chosen = chosen_of(op->attrs);
    double window = op->attrs->window > 0 ? (double)op->attrs->window : (double)INFINITY;
    double pairs =
        emp_attention_pairs((double)queries, tokens, fmin(window, tokens)) +
        compressed_pairs(op->attrs, queries, emp_shape_size(&far->shape, 1), chosen);

    emp_view_cost(op, EMP_OP_GEMM, 0.0, cost);
    fill_products(&q->shape, &near->shape, pairs,
                  2.0 * (double)emp_shape_last(&near->shape), factor, cost);
    spare_idle_keys(far, (double)queries * chosen, cost);
}

EMP_COST(compressed_attention) { cost_compressed(op, 0, 1.0, cost); }
EMP_COST(compressed_attention_grad) { cost_compressed(op, 1, 2.5, cost); }

/* CompressKeys(keys [batch, tokens, width], gates, bias [stride, width][, state]): the keys of `shape`. A step of one
 * token reads the state, which has the tokens of a window that is open, and writes its row; a prompt writes all. */
EMP_INFER(compress_keys)
{
    emp_shape shape = op->attrs->has_shape ? op->attrs->shape : emp_shape_of_rank(4);

    return emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
}

EMP_COST(compress_keys)
{
    const emp_shape *keys = &op->input[0].shape;
    const bool       is_one = emp_shape_size(keys, 1) == 1;

    emp_view_cost(op, EMP_OP_POOL, (double)emp_shape_elements(keys), cost);
    if (op->input_count < 4) return;
    const int64_t state = emp_info_bytes(&op->input[3]);
    const int64_t rows = emp_shape_size(&op->input[3].shape, 1);
    cost->bytes_written =
        emp_add_saturating(cost->bytes_written, is_one ? state / rows : state);
    if (!is_one) spare_bytes(&op->input[3], cost);
}

EMP_COST(compress_keys_grad)
{
    emp_view_cost(op, EMP_OP_POOL, (double)emp_shape_elements(&op->input[1].shape), cost);
}
