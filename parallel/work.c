// SPDX-License-Identifier: GPL-3.0-or-later
/* The work of a layer on one rank, as Megatron-LM with TransformerEngine does it: fused norms, rotations and activations, flash
 * attention, gradients of weights added to fp32 within their products. With sequence parallelism the tokens of norms
 * are gathered before a product of columns and scattered behind one of rows; in the backward pass the gather of a product's
 * input runs beside the gradient of the input, and the scatter of that beside the gradient of the weights. */
#include "parallel/work.h"

#include <math.h>
#include <string.h>

enum { HALF = 2, FLOAT = 4 };

/* Operations that the host starts beyond the kernels whose times are modelled. They are counted in PyTorch operations, which `launch` of
 * a cluster times.
 *   MODULE   A product in a module of TransformerEngine takes the host 99.66 us on a GB200, where PyTorch's own takes
 *            37.08 us (github.com/NVIDIA/TransformerEngine, issue 2053). Assumed: each product of a backward pass does, too.
 *   ROUTER   Scores, choice in groups, counts, maps and the loss of balance; LATENT: halves, rotations and joins of
 *            the queries and keys of latent attention. Both are the operations that PyTorch dispatched when modules of
 *            megatron-core 0.12.2 ran forward and backward, less those that are counted with the kernels below. */
enum {
    MODULE = 3,
    ROUTER_FORWARD = 49,
    ROUTER_BACKWARD = 35,
    LATENT_FORWARD = 27,
    LATENT_BACKWARD = 22
};

/* The state that the parts of a layer share. */
typedef struct {
    const emp_parallel *p;
    const emp_degrees  *d;
    emp_work           *w;
    double              tokens; /* of a micro-batch on a context rank */
    double              local;  /* those that norms see */
    double              h, tp;
} builder;

static builder begin(emp_work *w, const emp_parallel *p)
{
    const emp_degrees *d = p->degrees;
    const double       tokens = (double)d->micro_batch * d->sequence / d->cp;

    memset(w, 0, sizeof *w);
    return (builder){.p = p,
                     .d = d,
                     .w = w,
                     .tokens = tokens,
                     .local = d->sp ? tokens / d->tp : tokens,
                     .h = p->model->hidden,
                     .tp = d->tp};
}

/* ---- segments ---- */

static void add(emp_segments *s, emp_segment segment, int32_t launches)
{
    emp_segment *last = s->count > 0 ? &s->segment[s->count - 1] : NULL;

    s->launches += launches;
    if (segment.collective_s + segment.compute_s + segment.weight_s <= 0.0) return;
    if (segment.collective_s <= 0.0) segment.group = EMP_GROUP_NONE;
    if ((last != NULL && last->group == EMP_GROUP_NONE &&
         segment.group == EMP_GROUP_NONE) ||
        s->count == EMP_SEGMENTS_MAX) {
        last->compute_s +=
            segment.compute_s + segment.collective_s; /* 0, but where it is full */
        last->weight_s += segment.weight_s;
        return;
    }
    s->segment[s->count++] = segment;
}

static void add_stream(builder *b, emp_segments *s, emp_stream_kind kind, double bytes)
{
    const double seconds = emp_stream_s(b->p->cluster, kind, bytes);

    s->moves_s += seconds;
    add(s, (emp_segment){.compute_s = seconds}, 1);
}

static double collective_s(const builder *b, emp_link_kind kind, emp_group group,
                           double bytes)
{
    return emp_group_collective_s(b->p, kind, group, bytes);
}

static void add_collective(builder *b, emp_segments *s, emp_link_kind kind,
                           emp_group group, double bytes)
{
    const double seconds = collective_s(b, kind, group, bytes);

    if (seconds > 0.0) add(s, (emp_segment){.group = group, .collective_s = seconds}, 1);
}

/* ---- products ---- */

/* How the tokens of a product come and go. */
typedef enum { WHOLE, COLUMNS, ROWS } sharding;

static double product_s(const builder *b, emp_pass pass, double in, double out,
                        double tokens)
{
    return emp_kernel_s(b->p, EMP_KERNEL_PRODUCT, pass,
                        (emp_kernel_size){tokens, in, out, 1}, true);
}

/* Gathers, or without sequence parallelism nothing. */
static double gather_s(const builder *b)
{
    return b->d->sp ? collective_s(b, EMP_LINK_ALL_GATHER, EMP_GROUP_TENSOR,
                                   HALF * b->tokens * b->h)
                    : 0.0;
}

static double scatter_s(const builder *b)
{
    return collective_s(b, b->d->sp ? EMP_LINK_REDUCE_SCATTER : EMP_LINK_ALL_REDUCE,
                        EMP_GROUP_TENSOR, HALF * b->tokens * b->h);
}

/* A product and a collective that are started side by side. Products of today's GPUs have a block for each multiprocessor,
 * and blocks whose place a collective has taken begin when it ends, so that neither hides the other unless the framework
 * splits both (overlap_tp). */
static void add_beside(builder *b, emp_segments *s, emp_segment segment)
{
    const emp_segment collective = {segment.group, segment.collective_s, 0.0, 0.0};

    if (segment.collective_s <= 0.0 || b->d->overlap_tp) {
        add(s, segment, segment.collective_s > 0.0 ? MODULE + 1 : MODULE);
        return;
    }
    segment.collective_s = 0.0;
    add(s, collective, 1);
    add(s, segment, MODULE);
}

static void forward_product(builder *b, sharding how, double tokens, double in,
                            double out)
{
    emp_segments *s = &b->w->forward;
    const double  compute_s = product_s(b, EMP_PASS_FORWARD, in, out, tokens);

    if (how == WHOLE || b->d->tp == 1) {
        add(s, (emp_segment){.compute_s = compute_s}, MODULE);
        return;
    }
    const emp_segment gather = {EMP_GROUP_TENSOR, gather_s(b), 0.0, 0.0};
    const emp_segment scatter = {EMP_GROUP_TENSOR, scatter_s(b), 0.0, 0.0};
    emp_segment       product = {EMP_GROUP_NONE, 0.0, compute_s, 0.0};
    if (b->d->overlap_tp) {
        product.group = EMP_GROUP_TENSOR;
        product.collective_s =
            how == COLUMNS ? gather.collective_s : scatter.collective_s;
        add(s, product, MODULE + 1);
        return;
    }
    if (how == COLUMNS) add(s, gather, 1);
    add(s, product, MODULE);
    if (how == ROWS) add(s, scatter, 1);
}

static void backward_product(builder *b, sharding how, double tokens, double in,
                             double out)
{
    emp_segments *s = &b->w->backward;
    const double  input_s = product_s(b, EMP_PASS_INPUT, in, out, tokens);
    const double  weight_s = product_s(b, EMP_PASS_WEIGHT, in, out, tokens);
    emp_segment   input = {EMP_GROUP_NONE, 0.0, input_s, 0.0};
    emp_segment   weight = {EMP_GROUP_NONE, 0.0, 0.0, weight_s};

    if (b->d->tp > 1 && how != WHOLE) {
        input.group = EMP_GROUP_TENSOR;
        input.collective_s = gather_s(b);
    }
    if (b->d->tp > 1 && how == COLUMNS) {
        weight.group = EMP_GROUP_TENSOR;
        weight.collective_s = scatter_s(b);
    }
    add_beside(b, s, input);
    add_beside(b, s, weight);
}

/* Parameters that each tensor rank has whole. */
static void count_whole(builder *b, double parameters)
{
    b->w->dense_parameters += parameters;
    b->w->whole_parameters += parameters;
}

/* Notes a shape whose gradient exists once in the weights' format. */
static void add_shadow(builder *b, double in, double out)
{
    emp_work *w = b->w;

    if (w->shadow_count < EMP_SHADOWS_MAX)
        w->shadow[w->shadow_count++] = (emp_shadow){in, out};
}

/* The parameters of a product on a rank, and what the framework keeps of their gradient in the weights' format. */
static void count_product(builder *b, sharding how, double in, double out)
{
    b->w->dense_parameters += in * out;
    if (how == WHOLE) b->w->whole_parameters += in * out;
    add_shadow(b, in, out);
}

/* ---- norms and sums ---- */

/* Factors of a norm, and biases. */
static double norm_parameters(const builder *b, double size)
{
    switch (b->p->model->norm) {
    case EMP_NORM_LAYER: return 2.0 * size;
    case EMP_NORM_LAYER_BARE: return 0.0;
    default: return size;
    }
}

static void forward_norm(builder *b, double tokens, double size)
{
    add_stream(b, &b->w->forward, EMP_STREAM_PLAIN, 2.0 * HALF * tokens * size);
    count_whole(b, norm_parameters(b, size));
}

/* Reads the input and the gradient, writes a gradient, and sums those of the factors. */
static void backward_norm(builder *b, double tokens, double size)
{
    add_stream(b, &b->w->backward, EMP_STREAM_PLAIN, 4.0 * HALF * tokens * size);
}

/* The norm before a part of a layer, or in its place the one behind it; with both the part's output is kept as well. A part
 * beside attention may read attention's norm, whose input and output are kept then. */
static void forward_norms(builder *b, bool is_beside)
{
    const emp_norm_places places = b->p->model->places;

    if (is_beside && places == EMP_NORMS_PARALLEL) return;
    forward_norm(b, b->local, b->h);
    b->w->activation_bytes += 2.0 * HALF * b->local * b->h;
    if (places != EMP_NORMS_SANDWICH) return;
    forward_norm(b, b->local, b->h);
    b->w->activation_bytes += HALF * b->local * b->h;
}

static void backward_norms(builder *b, bool is_beside)
{
    const emp_norm_places places = b->p->model->places;

    if (is_beside && places == EMP_NORMS_PARALLEL) return;
    backward_norm(b, b->local, b->h);
    if (places == EMP_NORMS_SANDWICH) backward_norm(b, b->local, b->h);
}

/* The residual: the sum of the forward pass, and that of two gradients. */
static void add_residual(builder *b, emp_segments *s)
{
    add_stream(b, s, EMP_STREAM_PLAIN, 3.0 * HALF * b->local * b->h);
}

/* ---- attention ---- */

/* Context parallelism exchanges sequences for heads: each rank attends with some heads over the whole sequence. A tensor is
 * brought into the order of ranks before, and into that of the sequence behind. */
static void exchange(builder *b, emp_segments *s, double width)
{
    const double bytes = HALF * b->tokens * width;

    if (b->d->cp == 1) return;
    add_stream(b, s, EMP_STREAM_PLAIN, 2.0 * bytes);
    add_collective(b, s, EMP_LINK_ALL_TO_ALL, EMP_GROUP_CONTEXT, bytes);
    add_stream(b, s, EMP_STREAM_PLAIN, 2.0 * bytes);
}

/* Attention by products of queries with keys and of scores with values, each a kernel for all heads, with the scores of all
 * pairs in memory between them. */
static void add_unfused_core(builder *b, emp_segments *s, const emp_transformer_layer *l,
                             emp_pass pass)
{
    const double n = b->d->sequence;
    const double rows = n * l->heads / b->d->tp / b->d->cp * b->d->micro_batch;
    const double bytes = HALF * rows * n;
    const double keys = emp_kernel_s(b->p, EMP_KERNEL_PRODUCT, EMP_PASS_FORWARD,
                                     (emp_kernel_size){rows, l->head_size, n, 1}, false);
    const double values =
        emp_kernel_s(b->p, EMP_KERNEL_PRODUCT, EMP_PASS_FORWARD,
                     (emp_kernel_size){rows, n, l->value_size, 1}, false);
    const bool   is_forward = pass == EMP_PASS_FORWARD;
    const double seconds =
        (is_forward ? 1.0 : 2.0) * (keys + values) +
        emp_stream_s(b->p->cluster, EMP_STREAM_PLAIN, (is_forward ? 2.0 : 3.0) * bytes);

    s->attention_s += seconds;
    add(s, (emp_segment){.compute_s = seconds}, is_forward ? 3 : 5);
    if (is_forward && b->d->recompute != EMP_RECOMPUTE_SELECTIVE && s == &b->w->forward)
        b->w->activation_bytes += bytes;
    b->w->transient_bytes = fmax(b->w->transient_bytes, 2.0 * bytes);
}

/* A window of w among s tokens has (2 w s - w^2) / s^2 of the pairs. */
static void add_core(builder *b, emp_segments *s, const emp_transformer_layer *l,
                     emp_pass pass)
{
    if (b->d->attention == EMP_ATTENTION_UNFUSED) {
        add_unfused_core(b, s, l, pass);
        return;
    }
    const double share = l->window > 0 && l->window < b->d->sequence
                             ? (double)l->window / b->d->sequence
                             : 1.0;
    const double heads = (double)l->heads / b->d->tp / b->d->cp * b->d->micro_batch;
    const emp_kernel_size size = {b->d->sequence, l->head_size, l->value_size, heads};
    const double seconds = emp_kernel_s(b->p, EMP_KERNEL_ATTENTION, pass, size, false) *
                           share * (2.0 - share);

    s->attention_s += seconds;
    add(s, (emp_segment){.compute_s = seconds}, 1);
}

typedef struct {
    double q, k, v; /* widths on a tensor rank */
} widths;

static widths widths_of(const builder *b, const emp_transformer_layer *l)
{
    const double kv = fmax(1.0, l->kv_heads / b->tp);

    return (widths){l->heads / b->tp * l->head_size, kv * l->head_size,
                    kv * l->value_size};
}

static void forward_queries(builder *b, const emp_transformer_layer *l, const widths *w)
{
    const emp_transformer_model *m = b->p->model;

    if (m->key_rank == 0) {
        forward_product(b, COLUMNS, b->tokens, b->h, w->q + w->k + w->v);
        /* queries are taken out of what the product gives */
        add_stream(b, &b->w->forward, EMP_STREAM_PLAIN, 2.0 * HALF * b->tokens * w->q);
    } else {
        const double up = l->head_size - m->rotary_size + l->value_size;
        if (m->query_rank > 0) {
            forward_product(b, WHOLE, b->local, b->h, m->query_rank);
            forward_norm(b, b->local, m->query_rank);
        }
        forward_product(b, WHOLE, b->local, b->h, m->key_rank + m->rotary_size);
        forward_norm(b, b->local, m->key_rank);
        forward_product(b, WHOLE, b->tokens, m->query_rank > 0 ? m->query_rank : b->h,
                        w->q);
        forward_product(b, WHOLE, b->tokens, m->key_rank, l->heads / b->tp * up);
        b->w->forward.launches += LATENT_FORWARD;
    }
    if (m->qk_norm != EMP_QK_NORM_NONE) {
        add_stream(b, &b->w->forward, EMP_STREAM_PLAIN, 2.0 * HALF * b->tokens * w->q);
        add_stream(b, &b->w->forward, EMP_STREAM_PLAIN, 2.0 * HALF * b->tokens * w->k);
        if (m->qk_norm == EMP_QK_NORM_HEAD)
            count_whole(b, 2.0 * l->head_size);
        else
            b->w->dense_parameters += w->q + w->k;
        b->w->activation_bytes += HALF * b->tokens * (w->q + w->k);
    }
    if (m->has_rotary) {
        add_stream(b, &b->w->forward, EMP_STREAM_PLAIN, 2.0 * HALF * b->tokens * w->q);
        add_stream(b, &b->w->forward, EMP_STREAM_PLAIN, 2.0 * HALF * b->tokens * w->k);
    }
}

static void backward_queries(builder *b, const emp_transformer_layer *l, const widths *w)
{
    const emp_transformer_model *m = b->p->model;

    if (m->has_rotary) {
        add_stream(b, &b->w->backward, EMP_STREAM_PLAIN, 2.0 * HALF * b->tokens * w->q);
        add_stream(b, &b->w->backward, EMP_STREAM_PLAIN, 2.0 * HALF * b->tokens * w->k);
    }
    if (m->qk_norm != EMP_QK_NORM_NONE) {
        add_stream(b, &b->w->backward, EMP_STREAM_PLAIN, 4.0 * HALF * b->tokens * w->q);
        add_stream(b, &b->w->backward, EMP_STREAM_PLAIN, 4.0 * HALF * b->tokens * w->k);
    }
    if (m->key_rank == 0) {
        add_stream(b, &b->w->backward, EMP_STREAM_PLAIN,
                   2.0 * HALF * b->tokens * (w->q + w->k + w->v));
        backward_product(b, COLUMNS, b->tokens, b->h, w->q + w->k + w->v);
        count_product(b, COLUMNS, b->h, w->q + w->k + w->v);
        return;
    }
    const double up = l->head_size - m->rotary_size + l->value_size;
    const double from = m->query_rank > 0 ? m->query_rank : b->h;
    b->w->backward.launches += LATENT_BACKWARD;
    backward_product(b, WHOLE, b->tokens, m->key_rank, l->heads / b->tp * up);
    backward_product(b, WHOLE, b->tokens, from, w->q);
    backward_norm(b, b->local, m->key_rank);
    backward_product(b, WHOLE, b->local, b->h, m->key_rank + m->rotary_size);
    count_product(b, COLUMNS, m->key_rank, l->heads / b->tp * up);
    count_product(b, COLUMNS, from, w->q);
    count_product(b, WHOLE, b->h, m->key_rank + m->rotary_size);
    if (m->query_rank == 0) return;
    backward_norm(b, b->local, m->query_rank);
    backward_product(b, WHOLE, b->local, b->h, m->query_rank);
    count_product(b, WHOLE, b->h, m->query_rank);
    add_residual(b,
                 &b->w->backward); /* gradients of both products of the norm's output */
}

/* Bytes that attention keeps besides its norm's: queries, keys and values; its output, and a number a
 * head. With latent attention the vectors of low rank stay beside them, with their norms. */
static void keep_attention(builder *b, const emp_transformer_layer *l, const widths *w)
{
    const emp_transformer_model *m = b->p->model;
    const double                 output = l->heads / b->tp * l->value_size;
    const double                 qkv = w->q + w->k + w->v;

    if (m->key_rank > 0) {
        b->w->activation_bytes +=
            HALF * b->local * (2.0 * m->query_rank + 2.0 * m->key_rank + m->rotary_size);
        if (b->d->tp > 1)
            b->w->activation_bytes +=
                HALF * b->tokens * (m->query_rank + m->key_rank) * (1.0 - 1.0 / b->tp);
    }
    b->w->input_bytes = HALF * b->local * b->h;
    b->w->activation_bytes +=
        HALF * b->tokens * (qkv + output) + FLOAT * b->tokens * l->heads / b->tp;
    if (b->d->recompute == EMP_RECOMPUTE_SELECTIVE)
        b->w->activation_bytes -= HALF * b->tokens * output;
}

static void add_attention(builder *b, const emp_transformer_layer *l)
{
    const widths w = widths_of(b, l);
    const double output = l->heads / b->tp * l->value_size;

    forward_norms(b, false);
    forward_queries(b, l, &w);
    exchange(b, &b->w->forward, w.q);
    exchange(b, &b->w->forward, w.k);
    exchange(b, &b->w->forward, w.v);
    add_core(b, &b->w->forward, l, EMP_PASS_FORWARD);
    exchange(b, &b->w->forward, output);
    forward_product(b, ROWS, b->tokens, output, b->h);
    add_residual(b, &b->w->forward);
    count_product(b, ROWS, output, b->h);
    if (b->p->model->has_qkv_bias) b->w->dense_parameters += w.q + w.k + w.v;
    if (b->p->model->has_output_bias) count_whole(b, b->h);
    keep_attention(b, l, &w);
}

static void add_attention_backward(builder *b, const emp_transformer_layer *l)
{
    const widths w = widths_of(b, l);
    const double output = l->heads / b->tp * l->value_size;

    backward_product(b, ROWS, b->tokens, output, b->h);
    exchange(b, &b->w->backward, output);
    if (b->d->recompute == EMP_RECOMPUTE_SELECTIVE)
        add_core(b, &b->w->backward, l, EMP_PASS_FORWARD);
    add_core(b, &b->w->backward, l, EMP_PASS_INPUT);
    exchange(b, &b->w->backward, w.q);
    exchange(b, &b->w->backward, w.k);
    exchange(b, &b->w->backward, w.v);
    backward_queries(b, l, &w);
    backward_norms(b, false);
    add_residual(b, &b->w->backward);
}

/* ---- dense feed-forward layers and shared experts ---- */

static double up_of(const builder *b, double inner)
{
    return b->p->model->is_gated ? 2.0 * inner : inner;
}

static void forward_activation(builder *b, double tokens, double inner)
{
    add_stream(b, &b->w->forward, EMP_STREAM_PLAIN,
               HALF * tokens * (up_of(b, inner) + inner));
}

static void backward_activation(builder *b, double tokens, double inner)
{
    add_stream(b, &b->w->backward, EMP_STREAM_PLAIN,
               HALF * tokens * (2.0 * up_of(b, inner) + inner));
}

static void add_dense(builder *b, double inner)
{
    const double part = inner / b->tp, up = up_of(b, part);

    forward_product(b, COLUMNS, b->tokens, b->h, up);
    forward_activation(b, b->tokens, part);
    forward_product(b, ROWS, b->tokens, part, b->h);
    count_product(b, COLUMNS, b->h, up);
    count_product(b, ROWS, part, b->h);
    if (b->p->model->has_mlp_bias) {
        b->w->dense_parameters += up;
        count_whole(b, b->h);
    }
    b->w->activation_bytes += HALF * b->tokens * (up + part);
    b->w->transient_bytes = fmax(b->w->transient_bytes,
                                 HALF * b->tokens * (up + part) + HALF * b->local * b->h);
}

static void add_dense_backward(builder *b, double inner)
{
    const double part = inner / b->tp, up = up_of(b, part);

    backward_product(b, ROWS, b->tokens, part, b->h);
    backward_activation(b, b->tokens, part);
    backward_product(b, COLUMNS, b->tokens, b->h, up);
}

/* ---- experts ---- */

/* Tokens that come to the experts of the busiest rank. Experts that are alike have room for the same number: the capacity. */
typedef struct {
    double sent;   /* copies of a rank's own tokens, with the room */
    double come;   /* those that come to the busiest rank */
    double each;   /* tokens of an expert on a rank */
    double groups; /* experts of a rank */
    double part;   /* inner size on a rank */
} expert_sizes;

static expert_sizes sizes_of(const builder *b, const emp_transformer_layer *l)
{
    const double own = b->local * l->chosen;
    const double room = ceil(own / l->experts); /* of an expert for a rank's tokens */
    const double busiest =
        b->p->busiest != NULL ? b->p->busiest[l - b->p->model->layer] : 1.0;
    const double copies = (double)(l->experts + b->d->redundant) / l->experts;

    return (expert_sizes){.sent = room * l->experts,
                          .come = room * l->experts * busiest,
                          .each = room * b->d->ep * b->d->etp * busiest / copies,
                          .groups = (double)(l->experts + b->d->redundant) / b->d->ep,
                          .part = (double)l->expert_inner / b->d->etp};
}

/* Tokens to the ranks of their experts, brought into the order of experts; and the same back. */
static void dispatch(builder *b, emp_segments *s, const expert_sizes *e, bool is_back)
{
    const double bytes = HALF * e->sent * b->h, come = HALF * e->come * b->h;
    const double local = HALF * b->local * b->h;
    const double sorted = HALF * e->each * e->groups * b->h;

    if (!is_back) {
        add_stream(b, s, EMP_STREAM_PERMUTE, bytes + local);
        add_collective(b, s, EMP_LINK_ALL_TO_ALL, EMP_GROUP_EXPERT, come);
        add_collective(b, s, EMP_LINK_ALL_GATHER, EMP_GROUP_EXPERT_TENSOR, sorted);
    }
    if (b->d->ep > 1 && e->groups > 1.0)
        add_stream(b, s, EMP_STREAM_PERMUTE, 2.0 * sorted);
    if (is_back) {
        add_collective(b, s, EMP_LINK_REDUCE_SCATTER, EMP_GROUP_EXPERT_TENSOR, sorted);
        add_collective(b, s, EMP_LINK_ALL_TO_ALL, EMP_GROUP_EXPERT, come);
        add_stream(b, s, EMP_STREAM_PERMUTE, bytes + local);
    }
}

/* TransformerEngine starts a product for each expert. */
static int32_t grouped_launches(const expert_sizes *e)
{
    return MODULE + (int32_t)e->groups - 1;
}

static double grouped_s(const builder *b, emp_pass pass, const expert_sizes *e, double in,
                        double out)
{
    if (e->groups <= 1.0) return product_s(b, pass, in, out, e->each);
    return emp_kernel_s(b->p, EMP_KERNEL_GROUPED, pass,
                        (emp_kernel_size){e->each, in, out, e->groups}, true);
}

/* Small kernels of the router besides its product: scores, choice, counts, maps and the loss of balance. */
enum { ROUTER_KERNELS = 16 };

static void add_router(builder *b, emp_segments *s, const emp_transformer_layer *l)
{
    for (int32_t i = 0; i < ROUTER_KERNELS; i++)
        add_stream(b, s, EMP_STREAM_PLAIN, 2.0 * FLOAT * b->local * l->experts);
    s->launches +=
        (s == &b->w->forward ? ROUTER_FORWARD : ROUTER_BACKWARD) - ROUTER_KERNELS;
}

static void add_experts(builder *b, const emp_transformer_layer *l)
{
    const expert_sizes e = sizes_of(b, l);
    emp_segments      *s = &b->w->forward;
    const double       up = up_of(b, e.part), tokens = e.each * e.groups;

    forward_product(b, WHOLE, b->local, b->h, l->experts);
    add_router(b, s, l);
    dispatch(b, s, &e, false);
    add(s, (emp_segment){.compute_s = grouped_s(b, EMP_PASS_FORWARD, &e, b->h, up)},
        grouped_launches(&e));
    forward_activation(b, tokens, e.part);
    add(s, (emp_segment){.compute_s = grouped_s(b, EMP_PASS_FORWARD, &e, e.part, b->h)},
        grouped_launches(&e));
    dispatch(b, s, &e, true);
    count_whole(b, b->h * l->experts);
    b->w->expert_parameters += e.groups * b->h * (up + e.part);
    b->w->copy_parameters +=
        fmin(1.0, 2.0 * b->d->redundant / (l->experts + b->d->redundant)) * e.groups *
        b->h * (up + e.part);
    add_shadow(b, b->h, up);
    add_shadow(b, e.part, b->h);
    b->w->activation_bytes +=
        HALF * tokens * (b->h + up + e.part) + FLOAT * b->local * l->experts;
    b->w->transient_bytes =
        fmax(b->w->transient_bytes, HALF * tokens * (up + e.part + 2.0 * b->h));
}

static void add_experts_backward(builder *b, const emp_transformer_layer *l)
{
    const expert_sizes    e = sizes_of(b, l);
    emp_segments         *s = &b->w->backward;
    const double          up = up_of(b, e.part);
    static const emp_pass input = EMP_PASS_INPUT, weight = EMP_PASS_WEIGHT;

    dispatch(b, s, &e, false);
    add(s,
        (emp_segment){.compute_s = grouped_s(b, input, &e, e.part, b->h),
                      .weight_s = grouped_s(b, weight, &e, e.part, b->h)},
        2 * grouped_launches(&e));
    backward_activation(b, e.each * e.groups, e.part);
    add(s,
        (emp_segment){.compute_s = grouped_s(b, input, &e, b->h, up),
                      .weight_s = grouped_s(b, weight, &e, b->h, up)},
        2 * grouped_launches(&e));
    dispatch(b, s, &e, true);
    backward_product(b, WHOLE, b->local, b->h, l->experts);
    add_router(b, s, l);
}

static void add_feed_forward(builder *b, const emp_transformer_layer *l)
{
    forward_norms(b, true);
    if (l->experts > 0) add_experts(b, l);
    if (l->experts > 0 && l->shared_inner > 0) {
        add_dense(b, l->shared_inner);
        add_residual(b, &b->w->forward);
    }
    if (l->experts == 0 && l->inner > 0) add_dense(b, l->inner);
    add_residual(b, &b->w->forward);
}

static void add_feed_forward_backward(builder *b, const emp_transformer_layer *l)
{
    if (l->experts > 0 && l->shared_inner > 0) {
        add_dense_backward(b, l->shared_inner);
        add_residual(b, &b->w->backward);
    }
    if (l->experts > 0) add_experts_backward(b, l);
    if (l->experts == 0 && l->inner > 0) add_dense_backward(b, l->inner);
    backward_norms(b, true);
    add_residual(b, &b->w->backward);
}

void emp_work_layer(emp_work *w, const emp_parallel *p,
                    const emp_transformer_layer *layer)
{
    builder b = begin(w, p);

    add_attention(&b, layer);
    if (!layer->has_no_feed_forward) add_feed_forward(&b, layer);
    if (p->degrees->recompute == EMP_RECOMPUTE_FULL) {
        w->backward = w->forward;
        w->transient_bytes += w->activation_bytes;
        w->activation_bytes = w->input_bytes;
    }
    if (!layer->has_no_feed_forward) add_feed_forward_backward(&b, layer);
    add_attention_backward(&b, layer);
}

/* ---- embedding and head ---- */

/* Megatron-LM's rows of the vocabulary: a multiple of 128 tp. */
static double rows_of(const builder *b)
{
    return ceil(b->p->model->vocabulary / (128.0 * b->tp)) * 128.0;
}

/* The gradient is a whole matrix of zeros to which tokens are added, and which is then added to the fp32 gradients. */
void emp_work_embedding(emp_work *w, const emp_parallel *p)
{
    builder      b = begin(w, p);
    const double matrix = rows_of(&b) * b.h;

    add_stream(&b, &w->forward, EMP_STREAM_PLAIN, 2.0 * HALF * b.tokens * b.h);
    add_collective(&b, &w->forward,
                   b.d->sp ? EMP_LINK_REDUCE_SCATTER : EMP_LINK_ALL_REDUCE,
                   EMP_GROUP_TENSOR, HALF * b.tokens * b.h);
    if (b.d->sp)
        add_collective(&b, &w->backward, EMP_LINK_ALL_GATHER, EMP_GROUP_TENSOR,
                       HALF * b.tokens * b.h);
    add_stream(&b, &w->backward, EMP_STREAM_PLAIN,
               HALF * matrix + 2.0 * HALF * b.tokens * b.h);
    add_stream(&b, &w->backward, EMP_STREAM_PLAIN, (HALF + 2.0 * FLOAT) * matrix);
    w->dense_parameters = matrix;
    count_whole(&b, (double)p->model->position_rows * b.h);
    w->row_bytes = HALF * b.tokens * b.h / b.tp;
    w->late_bytes = HALF * matrix;
}

/* Multi-token prediction (DeepSeek-V3 technical report, 2024, as Megatron-LM has it). */
void emp_work_join(emp_work *w, const emp_parallel *p)
{
    builder      b = begin(w, p);
    const double state = HALF * b.local * b.h;

    add_stream(&b, &w->forward, EMP_STREAM_PLAIN, 2.0 * HALF * b.tokens * b.h);
    forward_norm(&b, b.local, b.h);
    forward_norm(&b, b.local, b.h);
    add_stream(&b, &w->forward, EMP_STREAM_PLAIN, 4.0 * state);
    forward_product(&b, COLUMNS, b.tokens, 2.0 * b.h, b.h / b.tp);
    count_product(&b, COLUMNS, 2.0 * b.h, b.h / b.tp);
    backward_product(&b, COLUMNS, b.tokens, 2.0 * b.h, b.h / b.tp);
    add_stream(&b, &w->backward, EMP_STREAM_PLAIN, 4.0 * state);
    backward_norm(&b, b.local, b.h);
    backward_norm(&b, b.local, b.h);
    add_stream(&b, &w->backward, EMP_STREAM_PLAIN,
               HALF * rows_of(&b) * b.h + 2.0 * HALF * b.tokens * b.h);
    w->activation_bytes = 6.0 * state;
    w->input_bytes = state;
}

/* The loss reads the logits twice and writes their gradient in their place; then that is scaled. */
void emp_work_head(emp_work *w, const emp_parallel *p)
{
    builder      b = begin(w, p);
    const double rows = rows_of(&b), logits = HALF * b.tokens * rows;
    const double hidden = HALF * b.tokens * b.h;
    emp_degrees  half = *p->degrees;
    emp_parallel inner = *p;

    half.is_fp8 = 0;
    inner.degrees = &half;
    b.p = &inner;
    b.d = &half;
    forward_norm(&b, b.local, b.h);
    forward_product(&b, COLUMNS, b.tokens, b.h, rows);
    add_stream(&b, &w->forward, EMP_STREAM_LOSS, 3.0 * logits);
    add_collective(&b, &w->forward, EMP_LINK_ALL_REDUCE, EMP_GROUP_TENSOR,
                   3.0 * FLOAT * b.tokens);
    add_stream(&b, &w->backward, EMP_STREAM_PLAIN, 2.0 * logits);
    backward_product(&b, COLUMNS, b.tokens, b.h, rows);
    backward_norm(&b, b.local, b.h);
    if (!(p->model->is_head_tied && p->degrees->pp == 1))
        w->dense_parameters += b.h * rows;
    w->activation_bytes = 2.0 * HALF * b.local * b.h + logits;
    /* a second logits' gradient, the product's gradient of its weights, its input gathered and its gradient */
    w->transient_bytes = logits + HALF * b.h * rows + (b.tp > 1.0 ? 2.0 : 1.0) * hidden;
}
