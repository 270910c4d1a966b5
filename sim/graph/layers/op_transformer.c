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

/* Pairs of query and key that a causal mask leaves, of one head: query i of the queries sees the keys up to
 * its own, keys - queries + i, and of these the last `window`. */
static double count_pairs(double queries, double keys, double window)
{
    double S = queries, L = keys, w = fmin(window, L);
    double first = fmax(L - S + 1, 1);            /* keys of the first query */
    double growing = fmin(fmax(w - first, 0), S); /* queries that see fewer than w */
    double whole = fmin(S, L) - growing;          /* queries that see w keys */

    return growing * first + growing * (growing - 1) / 2 + fmax(whole, 0) * w;
}

/* Pairs of a query and one of the up to \a reach keys on one side of it, of \a keys queries and keys. */
static double side_pairs(double keys, double reach)
{
    const double far = fmin(reach, keys - 1);

    return far * keys - far * (far + 1) / 2;
}

/* Pairs that the mask leaves, of one head. Without a causal mask a query is in the middle of its window. */
static double pairs_of(const emp_op_attrs *attrs, int64_t queries, int64_t keys)
{
    double L = (double)keys;
    double w = attrs->window > 0 ? fmin(attrs->window, L) : L;

    if (attrs->is_causal) return count_pairs((double)queries, L, w);
    if (attrs->window <= 0 || queries != keys) return (double)queries * w;
    const int32_t after = (attrs->window - 1) / 2, before = attrs->window - 1 - after;
    return L + side_pairs(L, before) + side_pairs(L, after);
}

static void spare_bytes(const emp_tensor_info *info, emp_op_cost *cost)
{
    int64_t bytes = emp_info_bytes(info);

    if (bytes <= cost->bytes_read) cost->bytes_read -= bytes;
}

/* Values of the only head that are narrower than its keys are the keys' first columns (latent attention), and not read
 * again. */
static bool values_are_columns(const emp_shape *k, const emp_shape *v)
{
    return emp_shape_size(k, 2) == 1 && emp_shape_last(v) < emp_shape_last(k);
}

/* The sizes of tensors q, k, v from input \a first on; the queries of heads that share keys are rows of one
 * product. */
static void cost_attention(const emp_op_view *op, int32_t first, double factor,
                           emp_op_cost *cost)
{
    const emp_shape *q = &op->input[first].shape, *k = &op->input[first + 1].shape;
    const emp_shape *v = &op->input[first + 2].shape;
    int64_t          queries = emp_shape_size(q, 1), heads = emp_shape_size(q, 2);
    int64_t          groups = emp_shape_size(k, 2) < heads ? emp_shape_size(k, 2) : heads;
    double           sizes = (double)emp_shape_size(q, 3) + (double)emp_shape_size(v, 3);
    bool             is_one = values_are_columns(k, v);
    double           pairs = pairs_of(op->attrs, queries, emp_shape_size(k, 1));

    emp_view_cost(op, EMP_OP_GEMM, 0.0, cost);
    if (is_one) spare_bytes(&op->input[first + 2], cost);
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
    cost->value_size = is_one ? 0 : emp_shape_size(v, 3);
    if (!emp_dtype_is_float(op->input[first + 1].dtype))
        cost->stored = op->input[first + 1].dtype;
}

EMP_COST(attention) { cost_attention(op, 0, 1.0, cost); }
EMP_COST(attention_grad) { cost_attention(op, 1, 2.5, cost); }

/* ---- norms ---- */

/* From (dy, x, weights...): the gradients of x and of each of the weights. */
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

/* RMSNormStepsGrad(dy, x): the gradient of x times the inverse root of the mean of its squares where each of these is an op.
 * When the gradient of the squares is made, there are four tensors of x's size besides the result, and dy is gone. */
EMP_COST(norm_steps_grad)
{
    const int64_t four = emp_mul_saturating(4, emp_info_bytes(&op->input[1]));
    const int64_t gone = emp_info_bytes(&op->input[0]);

    emp_op_cost_norm(op, cost);
    cost->workspace_bytes = four > gone ? four - gone : 0;
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

/* ---- products of elements ---- */

/* MulGrad(dy, x, y): the gradients of both factors, before sums over what was broadcast. Autograd holds both factors until both
 * gradients are there. */
EMP_INFER(mul_grad)
{
    for (int32_t i = 0; i < 2; i++)
        emp_set_output(&output[i], op->input[0].shape, emp_view_dtype(op, 0));
    *output_count = 2;
    return EMP_OK;
}

/* A kernel for each gradient reads dy. */
EMP_COST(mul_grad)
{
    emp_view_cost(op, EMP_OP_ELEMENTWISE, (double)emp_shape_elements(&op->input[0].shape),
                  cost);
    cost->bytes_read =
        emp_add_saturating(cost->bytes_read, emp_info_bytes(&op->input[0]));
}

/* ---- the loss of tokens ---- */

/* NllLoss(log probabilities [rows, classes], labels): the loss of each row, of which one element is read. */
EMP_INFER(nll_loss)
{
    return emp_set_output(&output[0], EMP_SHAPE(emp_shape_dim(&op->input[0].shape, 0)),
                          emp_view_dtype(op, 0));
}

EMP_COST(nll_loss)
{
    emp_view_cost(op, EMP_OP_ELEMENTWISE,
                  (double)emp_shape_elements(&op->output[0].shape), cost);
    spare_bytes(&op->input[0], cost);
    cost->bytes_read =
        emp_add_saturating(cost->bytes_read, emp_info_bytes(&op->output[0]));
}

/* NllLossGrad(log probabilities, labels): zeros but for an element of each row; of the first operand only the shape counts. */
EMP_COST(nll_loss_grad)
{
    emp_view_cost(op, EMP_OP_ELEMENTWISE,
                  (double)emp_shape_elements(&op->output[0].shape), cost);
    spare_bytes(&op->input[0], cost);
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

/* HostAdamW(mean, square, master, gradient): as AdamW, by vector instructions of a CPU, and writes the weights in the type of its
 * output. Cycles of an element: a division and a root of 8 elements take 5 and 6 cycles since Skylake, and a dozen other
 * instructions half a cycle each (uops.info). */
EMP_COST(host_adam)
{
    emp_op_cost_mixed_optimizer(op, cost);
    for (int32_t i = 0; i < op->output_count; i++)
        cost->bytes_written =
            emp_add_saturating(cost->bytes_written, emp_info_bytes(&op->output[i]));
}

/* ---- tokens ---- */

/* SampleToken(logits [rows, vocabulary]): a number for each row, drawn on the host. */
EMP_INFER(sample_token)
{
    emp_shape rows = op->input[0].shape;

    if (rows.rank > 0) rows.rank--;
    return emp_set_output(&output[0], rows, EMP_DTYPE_INT32);
}

/* SampleTopP(logits [rows, vocabulary]) of float32, on the device, as vLLM 0.5's sampler: sorted values and their numbers, their
 * probabilities and sums, a mask, the inverse of the numbers, and the logits put back: 33 bytes an element at once. The sort has
 * four passes over values and numbers. */
EMP_COST(sample_top_p)
{
    const int64_t elements = emp_shape_elements(&op->input[0].shape);

    emp_view_cost(op, EMP_OP_MOVEMENT, (double)elements, cost);
    cost->kernels = 12;
    cost->workspace_bytes = emp_mul_saturating(elements, 4 + 8 + 4 + 4 + 1 + 8 + 4);
    cost->bytes_read = emp_mul_saturating(elements, 4 * 12 + 4 + 4 + 4 + 8 + 12);
    cost->bytes_written = emp_mul_saturating(elements, 4 * 12 + 4 + 4 + 1 + 8 + 4);
}

/* Attention to some of the keys.
 *
 * An indexer scores the keys of a query by few and small heads of its own, and the query sees the `chosen` best
 * (DeepSeek-V3.2, 2025, section 2.1; MiniMax-M3 chooses blocks of keys). Keys may stand for `stride` tokens each:
 * DeepSeek-V4 (2026, section 2.3) joins a window's keys by weights of a softmax, and a query sees compressed keys of the
 * windows behind it, and the single keys of the last `window` tokens.
 *
 * Scores go to memory and back as float32. Keys that no query has chosen are not read. An indexer is trained by the
 * distance of its scores of the chosen keys from attention's (DeepSeek-V3.2, section 2.1.1). */

enum { SCORE_BYTES = 4 };

static int64_t positive(int32_t size) { return size > 0 ? size : 1; }

/* Pairs of `queries` and compressed keys, of which the last query sees all: each sees the keys of its windows, at
 * most \a most of them. */
static double compressed_pairs(const emp_op_attrs *attrs, int64_t queries, int64_t keys,
                               double most)
{
    double stride = (double)positive(attrs->stride);
    double tokens = fmin((double)keys * stride, 0x1p52);

    return count_pairs((double)queries, tokens, fmin(most * stride, tokens)) / stride;
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

/* For the chosen pairs the scores and their two gradients, and the scores of attention. */
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

/* Takes the bytes of keys that no query has chosen from the bytes read. */
static void spare_idle_keys(const emp_tensor_info *keys, double read, emp_op_cost *cost)
{
    double  all = (double)emp_shape_size(&keys->shape, 1);
    double  idle = fmax(0.0, 1.0 - read / all) * (double)emp_info_bytes(keys);
    int64_t bytes = (int64_t)idle;

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

/* SparseAttention(q, k, v, numbers[, sinks]), or its gradient (dy, q, k, v, y, sums, numbers[, sinks]). */
static void cost_sparse(const emp_op_view *op, int32_t first, double factor,
                        emp_op_cost *cost)
{
    const emp_tensor_info *q = &op->input[first], *k = q + 1, *v = q + 2;
    double                 queries = (double)emp_shape_size(&q->shape, 1);
    double                 chosen = chosen_of(op->attrs);
    int64_t size = emp_shape_last(&k->shape), value = emp_shape_last(&v->shape);
    double  pairs = compressed_pairs(op->attrs, emp_shape_size(&q->shape, 1),
                                     emp_shape_size(&k->shape, 1), chosen);

    emp_view_cost(op, EMP_OP_GEMM, 0.0, cost);
    fill_products(&q->shape, &k->shape, pairs, (double)size + (double)value, factor,
                  cost);
    spare_idle_keys(k, queries * chosen, cost);
    if (values_are_columns(&k->shape, &v->shape))
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
        count_pairs((double)queries, tokens, fmin(window, tokens)) +
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
