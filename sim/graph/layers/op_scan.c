// SPDX-License-Identifier: GPL-3.0-or-later
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
 * 13, where K = V). FLOPs of Mamba-2 are those of its products: Q by K within a chunk for each key head, and within a
 * chunk, into the state and out of the state for each head (Dao and Gu, section 6.3). The states between chunks are
 * written once and read once. The backward pass computes the forward pass again and has two products for each. */
#include <math.h>

#include "sim/graph/op_entry.h"

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

/* Of the queries of input \a first, and the values two inputs behind. */
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
