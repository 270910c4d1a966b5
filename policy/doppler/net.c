// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/doppler/net.h"

#include <math.h>
#include <string.h>

#include "policy/nn/layers.h"

/* Columns shifted and scaled over the rows of a set: y = (x - mean) / (s + FLOOR), with s the
 * deviation over the set. A column that is all but equal, s at most EQUAL, becomes 0
 * and has no gradient: otherwise rounding errors would be scaled up a million times.
 *
 * B rows of K columns. Rows begin \a stride reals apart. */

static const double FLOOR = 1e-6, EQUAL = 1e-5;

/* Columns that are summed side by side, and go through all passes before the next ones do. Their number is a constant
 * after inlining, so that sums stay in registers. */
enum { CHUNK = 32 };

typedef double sums[CHUNK];

__attribute__((always_inline)) static inline void
column_mean(sums mean, const emp_real *x, int64_t stride, int32_t B, const int K)
{
    sums total;

    for (int k = 0; k < K; k++) total[k] = 0.0;
    for (int64_t b = 0; b < B; b++)
        for (int k = 0; k < K; k++) total[k] += (double)x[b * stride + k];
    for (int k = 0; k < K; k++) mean[k] = total[k] / B;
}

__attribute__((always_inline)) static inline void
deviation_of(sums deviation, const sums mean, const emp_real *x, int64_t stride,
             int32_t B, const int K)
{
    sums total;

    for (int k = 0; k < K; k++) total[k] = 0.0;
    for (int64_t b = 0; b < B; b++)
        for (int k = 0; k < K; k++) {
            const double off = (double)x[b * stride + k] - mean[k];
            total[k] += off * off;
        }
    for (int k = 0; k < K; k++) deviation[k] = sqrt(total[k] / B);
}

__attribute__((always_inline)) static inline void
scale_columns(emp_real *x, int64_t stride, emp_real *deviation, int32_t B, const int K)
{
    sums mean, s, factor;

    column_mean(mean, x, stride, B, K);
    deviation_of(s, mean, x, stride, B, K);
    for (int k = 0; k < K; k++) {
        const int is_equal = s[k] <= EQUAL;
        factor[k] = is_equal ? 0.0 : 1.0 / (s[k] + FLOOR);
        deviation[k] = is_equal ? 0 : (emp_real)s[k];
    }
    for (int64_t b = 0; b < B; b++)
        for (int k = 0; k < K; k++)
            x[b * stride + k] =
                (emp_real)(((double)x[b * stride + k] - mean[k]) * factor[k]);
}

/* In place. \a deviation [K]: s of each column, 0 where it counts as equal. */
EMP_KERNEL static void zscore_forward(emp_real *restrict x, int64_t         stride,
                                      emp_real *restrict deviation, int32_t B, int32_t K)
{
    int32_t k = 0;

    for (; k + CHUNK <= K; k += CHUNK)
        scale_columns(x + k, stride, deviation + k, B, CHUNK);
    for (; k < K; k++) scale_columns(x + k, stride, deviation + k, B, 1);
}

__attribute__((always_inline)) static inline void
mean_along(sums mean, const emp_real *dy, const emp_real *y, int64_t stride, int32_t B,
           const int K)
{
    sums total;

    for (int k = 0; k < K; k++) total[k] = 0.0;
    for (int64_t b = 0; b < B; b++)
        for (int k = 0; k < K; k++)
            total[k] += (double)dy[b * stride + k] * (double)y[b * stride + k];
    for (int k = 0; k < K; k++) mean[k] = total[k] / B;
}

/* dx = (dy - mean dy) / (s + 1e-6) - y mean(dy y) / s */
__attribute__((always_inline)) static inline void
turn_columns(emp_real *dy, const emp_real *y, int64_t stride, const emp_real *deviation,
             int32_t B, const int K)
{
    sums mean, along, factor;

    column_mean(mean, dy, stride, B, K);
    mean_along(along, dy, y, stride, B, K);
    for (int k = 0; k < K; k++) {
        const double s = (double)deviation[k];
        factor[k] = s > 0.0 ? 1.0 / (s + FLOOR) : 0.0;
        along[k] = s > 0.0 ? along[k] / s : 0.0;
    }
    for (int64_t b = 0; b < B; b++)
        for (int k = 0; k < K; k++)
            dy[b * stride + k] =
                (emp_real)(((double)dy[b * stride + k] - mean[k]) * factor[k] -
                           (double)y[b * stride + k] * along[k]);
}

/* \a dy: the gradient of y in, of x out. \a y has the same stride. */
EMP_KERNEL static void zscore_backward(emp_real *restrict dy, const emp_real *restrict y,
                                       int64_t stride, const emp_real *deviation,
                                       int32_t B, int32_t K)
{
    int32_t k = 0;

    for (; k + CHUNK <= K; k += CHUNK)
        turn_columns(dy + k, y + k, stride, deviation + k, B, CHUNK);
    for (; k < K; k++) turn_columns(dy + k, y + k, stride, deviation + k, B, 1);
}

enum {
    F = EMP_DOPPLER_FEATURES,
    LATENT_SLICES = 2, /* weights and bias of the placer's latent features */
    MOST_SLICES = EMP_DOPPLER_MPNN_SLICES + LATENT_SLICES + EMP_DOPPLER_HEAD_SLICES
};

/* ---- life ---- */

static int32_t width(const emp_doppler_net *n) { return n->mpnn.shape.width; }

static int32_t node_count(const emp_doppler_net *n)
{
    return n->mpnn.scene->graph->node_count;
}

static size_t embedding_size(const emp_doppler_net *n)
{
    return (size_t)node_count(n) * (size_t)width(n);
}

static size_t fixed_size(const emp_doppler_net *n)
{
    return (size_t)node_count(n) * (size_t)emp_doppler_head_inner(&n->head);
}

/* Whether steps have a gradient of the embedding beside the gradient of the fixed part. */
static bool is_shifting(const emp_doppler_net *n, int32_t embedding)
{
    return n->kind == EMP_DOPPLER_SELECTOR ? embedding != EMP_DOPPLER_X
                                           : embedding == EMP_DOPPLER_X;
}

static int32_t embedding_count(const emp_doppler_net *n)
{
    return n->kind == EMP_DOPPLER_SELECTOR ? EMP_DOPPLER_ABOVE + 1
                                           : EMP_DOPPLER_LATENT + 1;
}

/* The first slice behind the messages' slices: the placer's latent weights. */
static int32_t latent_slice(const emp_doppler_net *n)
{
    return n->head.first - LATENT_SLICES;
}

static emp_status init_params(emp_doppler_net *n, emp_doppler_mpnn_shape shape,
                              emp_error *err)
{
    emp_param_slice slice[MOST_SLICES];
    int32_t         count = emp_doppler_mpnn_slices(slice, shape);

    if (n->kind == EMP_DOPPLER_PLACER) {
        slice[count++] = (emp_param_slice){"latent_w", F, shape.width, 0};
        slice[count++] = (emp_param_slice){"latent_b", 1, shape.width, 0};
    }
    emp_doppler_head_slices(slice + count, shape.width);
    EMP_CHECK(emp_params_init(&n->params, slice, count + EMP_DOPPLER_HEAD_SLICES, err));
    n->head = emp_doppler_head_of(&n->params, count, shape.width,
                                  n->kind == EMP_DOPPLER_SELECTOR ? 1 : 2);
    return EMP_OK;
}

emp_status emp_doppler_net_init(emp_doppler_net *n, const emp_doppler_scene *scene,
                                emp_doppler_kind kind, emp_doppler_mpnn_shape shape,
                                emp_error *err)
{
    *n = (emp_doppler_net){.kind = kind};
    EMP_CHECK(init_params(n, shape, err));
    EMP_CHECK(emp_doppler_mpnn_init(&n->mpnn, scene, &n->params, shape, err));
    n->embedding[EMP_DOPPLER_X] = n->mpnn.x;
    for (int32_t i = 0; i < embedding_count(n); i++) {
        n->d_embedding[i] = EMP_ADD_ARRAY(&n->arrays, emp_real, embedding_size(n));
        n->deviation[i] = EMP_ADD_ARRAY(&n->arrays, emp_real, (size_t)shape.width);
        if (i == EMP_DOPPLER_X) continue;
        n->embedding[i] = EMP_ADD_ARRAY(&n->arrays, emp_real, embedding_size(n));
    }
    n->fixed = EMP_ADD_ARRAY(&n->arrays, emp_real, fixed_size(n));
    n->d_fixed = EMP_ADD_ARRAY(&n->arrays, emp_real, fixed_size(n));
    n->scratch = EMP_ADD_ARRAY(&n->arrays, emp_real, embedding_size(n));
    if (n->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "embeddings of %d nodes", node_count(n));
    return EMP_OK;
}

void emp_doppler_net_clear(emp_doppler_net *n)
{
    emp_params_clear(&n->params);
    emp_doppler_mpnn_clear(&n->mpnn);
    emp_arrays_clear(&n->arrays);
}

void emp_doppler_net_randomize(emp_doppler_net *n, emp_rng *rng)
{
    emp_doppler_mpnn_randomize(&n->mpnn, rng);
    if (n->kind == EMP_DOPPLER_PLACER)
        emp_params_orthogonal(&n->params, latent_slice(n), rng);
    emp_doppler_head_randomize(&n->params, n->head.first, rng);
}

emp_status emp_doppler_gradient_init(emp_doppler_gradient *g, const emp_doppler_net *n,
                                     emp_error *err)
{
    *g = (emp_doppler_gradient){0};
    g->head = EMP_ADD_ARRAY(&g->arrays, emp_real, n->head.gradient_count);
    for (int32_t i = 0; i < embedding_count(n); i++)
        if (is_shifting(n, i))
            g->embedding[i] = EMP_ADD_ARRAY(&g->arrays, emp_real, embedding_size(n));
    g->fixed = EMP_ADD_ARRAY(&g->arrays, emp_real, fixed_size(n));
    if (g->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "gradients of %d nodes", node_count(n));
    return EMP_OK;
}

void emp_doppler_gradient_clear(emp_doppler_gradient *g) { emp_arrays_clear(&g->arrays); }

void emp_doppler_gradient_zero(emp_doppler_gradient *g, const emp_doppler_net *n)
{
    memset(g->head, 0, n->head.gradient_count * sizeof *g->head);
    memset(g->fixed, 0, fixed_size(n) * sizeof *g->fixed);
    for (int32_t i = 0; i < embedding_count(n); i++)
        if (is_shifting(n, i))
            memset(g->embedding[i], 0, embedding_size(n) * sizeof *g->embedding[i]);
}

/* ---- vectors ---- */

EMP_KERNEL static void subtract(emp_real *y, const emp_real *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) y[i] -= x[i];
}

static emp_real *row_of(const emp_doppler_net *n, emp_real *embedding, int32_t node)
{
    return embedding + (int64_t)node * width(n);
}

static emp_real *fixed_of(const emp_doppler_net *n, emp_real *fixed, int32_t node)
{
    return fixed + (int64_t)node * emp_doppler_head_inner(&n->head);
}

/* Numbers of a row's shifting blocks. */
static int32_t shifting_width(const emp_doppler_net *n)
{
    return (EMP_DOPPLER_BLOCKS - 1 - n->head.fixed) * width(n);
}

/* Where the embeddings of the fixed blocks are: x, and the placer's latent features before it. */
static void list_fixed(const emp_doppler_net *n, emp_real *const *embedding,
                       emp_real *block[2])
{
    int32_t count = 0;

    if (n->kind == EMP_DOPPLER_PLACER) block[count++] = embedding[EMP_DOPPLER_LATENT];
    block[count] = embedding[EMP_DOPPLER_X];
}

/* ---- embeddings ---- */

/* Sums of x along paths; \a order so that what is next comes first. */
static void sum_along(const emp_doppler_net *n, emp_real *sum, const int32_t *next,
                      bool ascends)
{
    const emp_node_graph *g = n->mpnn.scene->graph;

    memcpy(sum, n->mpnn.x, embedding_size(n) * sizeof *sum);
    for (int32_t i = 0; i < g->node_count; i++) {
        int32_t v = g->order[ascends ? i : g->node_count - 1 - i];
        if (next[v] >= 0)
            emp_vector_add(row_of(n, sum, v), row_of(n, sum, next[v]), width(n));
    }
}

/* Adds to dx what the sums, whose gradient is overwritten, have of x. */
static void sum_along_backward(const emp_doppler_net *n, emp_real *dx, emp_real *d_sum,
                               const int32_t *next, bool ascends)
{
    const emp_node_graph *g = n->mpnn.scene->graph;

    for (int32_t i = 0; i < g->node_count; i++) {
        int32_t v = g->order[ascends ? g->node_count - 1 - i : i];
        if (next[v] >= 0)
            emp_vector_add(row_of(n, d_sum, next[v]), row_of(n, d_sum, v), width(n));
    }
    emp_vector_add(dx, d_sum, (int64_t)embedding_size(n));
}

static const int32_t *path_of(const emp_doppler_net *n, int32_t embedding)
{
    const emp_doppler_scene *s = n->mpnn.scene;

    return embedding == EMP_DOPPLER_BELOW ? s->below : s->above;
}

static void embed_paths(emp_doppler_net *n, int32_t embedding)
{
    emp_real *sum = n->embedding[embedding];

    sum_along(n, sum, path_of(n, embedding), embedding == EMP_DOPPLER_ABOVE);
    zscore_forward(sum, width(n), n->deviation[embedding], node_count(n), width(n));
}

static void learn_paths(emp_doppler_net *n, int32_t embedding)
{
    emp_real *d_sum = n->d_embedding[embedding];

    zscore_backward(d_sum, n->embedding[embedding], width(n), n->deviation[embedding],
                    node_count(n), width(n));
    sum_along_backward(n, n->d_embedding[EMP_DOPPLER_X], d_sum, path_of(n, embedding),
                       embedding == EMP_DOPPLER_ABOVE);
}

static void embed_latent(emp_doppler_net *n)
{
    const int32_t slice = latent_slice(n);
    emp_real     *y = n->embedding[EMP_DOPPLER_LATENT];

    emp_linear_forward(y, n->mpnn.scene->feature, emp_params_value(&n->params, slice),
                       emp_params_value(&n->params, slice + 1), node_count(n), F,
                       width(n), 1);
    emp_activation_forward(EMP_ACTIVATION_LEAKY, y, (int64_t)embedding_size(n));
}

static void learn_latent(emp_doppler_net *n)
{
    const int32_t slice = latent_slice(n);
    emp_real     *dy = n->d_embedding[EMP_DOPPLER_LATENT];

    emp_activation_backward(EMP_ACTIVATION_LEAKY, dy, n->embedding[EMP_DOPPLER_LATENT],
                            (int64_t)embedding_size(n));
    emp_linear_backward(NULL, emp_params_gradient(&n->params, slice),
                        emp_params_gradient(&n->params, slice + 1), dy,
                        n->mpnn.scene->feature, emp_params_value(&n->params, slice),
                        node_count(n), F, width(n), 1);
}

void emp_doppler_net_embed(emp_doppler_net *n)
{
    emp_real *block[2] = {NULL, NULL};

    emp_doppler_mpnn_forward(&n->mpnn);
    if (n->kind == EMP_DOPPLER_PLACER) {
        embed_latent(n);
    } else {
        embed_paths(n, EMP_DOPPLER_BELOW);
        embed_paths(n, EMP_DOPPLER_ABOVE);
    }
    list_fixed(n, n->embedding, block);
    emp_doppler_head_fix(&n->head, n->fixed, (const emp_real *const *)block,
                         node_count(n));
}

static void learn_fixed(emp_doppler_net *n, emp_doppler_gradient *const *gradients,
                        int32_t count)
{
    emp_real *block[2] = {NULL, NULL}, *d_block[2] = {NULL, NULL};

    memset(n->d_fixed, 0, fixed_size(n) * sizeof *n->d_fixed);
    for (int32_t k = 0; k < count; k++)
        emp_vector_add(n->d_fixed, gradients[k]->fixed, (int64_t)fixed_size(n));
    list_fixed(n, n->embedding, block);
    list_fixed(n, n->d_embedding, d_block);
    emp_doppler_head_fix_backward(&n->head, &n->params, n->d_fixed, d_block,
                                  (const emp_real *const *)block, n->scratch,
                                  node_count(n));
}

void emp_doppler_net_learn(emp_doppler_net *n, emp_doppler_gradient *const *gradients,
                           int32_t count)
{
    emp_doppler_mpnn_zero_gradient(&n->mpnn);
    for (int32_t i = 0; i < embedding_count(n); i++) {
        memset(n->d_embedding[i], 0, embedding_size(n) * sizeof *n->d_embedding[i]);
        for (int32_t k = 0; k < count && is_shifting(n, i); k++)
            emp_vector_add(n->d_embedding[i], gradients[k]->embedding[i],
                           (int64_t)embedding_size(n));
    }
    for (int32_t k = 0; k < count; k++)
        emp_doppler_head_add(&n->head, &n->params, gradients[k]->head);
    learn_fixed(n, gradients, count);
    if (n->kind == EMP_DOPPLER_PLACER) {
        learn_latent(n);
    } else {
        learn_paths(n, EMP_DOPPLER_BELOW);
        learn_paths(n, EMP_DOPPLER_ABOVE);
    }
    emp_doppler_mpnn_backward(&n->mpnn, n->d_embedding[EMP_DOPPLER_X]);
}

/* ---- the choices of a step ---- */

/* Fills block \a number of the shifting ones of choice i, and its fixed part. */
static void copy_shifting(const emp_doppler_net *n, emp_doppler_choices *c, int32_t i,
                          int32_t number, const emp_real *from)
{
    emp_real *row = c->shifting + (int64_t)(c->rows + i) * shifting_width(n);

    memcpy(row + number * width(n), from, (size_t)width(n) * sizeof *from);
}

static void copy_fixed(const emp_doppler_net *n, emp_doppler_choices *c, int32_t i,
                       int32_t node)
{
    memcpy(fixed_of(n, c->hidden, c->rows + i), fixed_of(n, n->fixed, node),
           (size_t)emp_doppler_head_inner(&n->head) * sizeof *c->hidden);
}

/* One choice has probability 1, whatever its score. */
static bool is_settled(emp_doppler_choices *c)
{
    c->p[0] = 1;
    return c->count == 1;
}

static double score(const emp_doppler_net *n, emp_doppler_choices *c, const double *plain)
{
    const int32_t S = shifting_width(n);

    emp_doppler_scale(c->feature + (int64_t)c->rows * F, plain, c->count);
    zscore_forward(c->shifting + (int64_t)c->rows * S, S,
                   c->deviation + (int64_t)c->steps * S, c->count, S);
    return emp_doppler_head_forward(&n->head, c);
}

/* The gradients of all kept rows, before they were scaled. */
static void score_backward(const emp_doppler_net *n, emp_doppler_choices *c,
                           emp_doppler_gradient *g)
{
    const int32_t S = shifting_width(n);

    if (c->rows > 0) emp_doppler_head_backward(&n->head, c, g->head);
    for (int64_t i = 0; i < c->steps; i++) {
        const int64_t at = (int64_t)c->step[i].first * S;
        if (c->step[i].count > 0)
            zscore_backward(c->d_shifting + at, c->shifting + at, S, c->deviation + i * S,
                            c->step[i].count, S);
    }
}

/* \return whether the kept steps have to go backward. */
static bool keep(emp_doppler_choices *c, int32_t node, emp_device_id device)
{
    const int32_t count = c->count > 1 ? c->count : 0;

    c->step[c->steps++] = (emp_doppler_kept){
        .node = node, .device = device, .first = c->rows, .count = count};
    c->rows += count;
    return c->rows >= EMP_DOPPLER_KEPT_ROWS || c->steps >= c->most_steps;
}

static void forget(emp_doppler_choices *c) { c->rows = c->steps = 0; }

/* ---- the selector's steps ---- */

double emp_doppler_select(const emp_doppler_net *n, emp_doppler_choices *c,
                          const emp_doppler_episode *e)
{
    c->count = e->ready_count;
    if (is_settled(c)) return 0.0;
    for (int32_t i = 0; i < c->count; i++) {
        const int32_t v = e->ready[i];
        c->item[c->rows + i] = v;
        memcpy(c->plain + (size_t)i * F, n->mpnn.scene->plain + (size_t)v * F,
               F * sizeof *c->plain);
        copy_fixed(n, c, i, v);
        copy_shifting(n, c, i, 0, row_of(n, n->embedding[EMP_DOPPLER_BELOW], v));
        copy_shifting(n, c, i, 1, row_of(n, n->embedding[EMP_DOPPLER_ABOVE], v));
    }
    return score(n, c, c->plain);
}

void emp_doppler_select_learn(const emp_doppler_net *n, emp_doppler_choices *c,
                              emp_doppler_gradient *g)
{
    const int32_t G = emp_doppler_head_inner(&n->head), S = shifting_width(n);

    score_backward(n, c, g);
    for (int64_t i = 0; i < c->rows; i++) {
        const int32_t   v = c->item[i];
        const emp_real *d = c->d_shifting + i * S;
        emp_vector_add(fixed_of(n, g->fixed, v), c->d_hidden + i * G, G);
        emp_vector_add(row_of(n, g->embedding[EMP_DOPPLER_BELOW], v), d, width(n));
        emp_vector_add(row_of(n, g->embedding[EMP_DOPPLER_ABOVE], v), d + width(n),
                       width(n));
    }
    forget(c);
}

void emp_doppler_select_keep(const emp_doppler_net *n, emp_doppler_choices *c,
                             emp_doppler_gradient *g)
{
    if (c->count > 1 && keep(c, 0, 0)) emp_doppler_select_learn(n, c, g);
}

/* ---- the placer's steps ---- */

double emp_doppler_place(const emp_doppler_net *n, emp_doppler_choices *c,
                         const emp_doppler_episode *e, const emp_doppler_loads *loads,
                         int32_t node)
{
    c->count = e->candidate_count;
    if (is_settled(c)) return 0.0;
    for (int32_t i = 0; i < c->count; i++) {
        c->item[c->rows + i] = e->candidate[i];
        copy_fixed(n, c, i, node);
        copy_shifting(n, c, i, 0, row_of(n, loads->sum, e->candidate[i]));
    }
    return score(n, c, e->device_feature);
}

/* Sums contain a node from the step on that follows its own, so that it has the gradients of later
 * steps: all of them without the earlier ones, which are taken away here. */
static void learn_steps(const emp_doppler_net *n, emp_doppler_choices *c,
                        emp_doppler_loads *loads, emp_doppler_gradient *g)
{
    const int32_t G = emp_doppler_head_inner(&n->head);

    score_backward(n, c, g);
    for (int32_t i = 0; i < c->steps; i++) {
        const emp_doppler_kept *s = &c->step[i];
        for (int64_t r = s->first; r < s->first + s->count; r++) {
            emp_vector_add(fixed_of(n, g->fixed, s->node), c->d_hidden + r * G, G);
            emp_vector_add(row_of(n, loads->d_sum, c->item[r]),
                           row_of(n, c->d_shifting, (int32_t)r), width(n));
        }
        subtract(row_of(n, g->embedding[EMP_DOPPLER_X], s->node),
                 row_of(n, loads->d_sum, s->device), width(n));
    }
    forget(c);
}

void emp_doppler_place_keep(const emp_doppler_net *n, emp_doppler_choices *c,
                            emp_doppler_loads *loads, int32_t node, emp_device_id device,
                            emp_doppler_gradient *g)
{
    if (keep(c, node, device)) learn_steps(n, c, loads, g);
}

void emp_doppler_place_learn(const emp_doppler_net *n, emp_doppler_choices *c,
                             const emp_doppler_episode *e, emp_doppler_loads *loads,
                             emp_doppler_gradient *g)
{
    learn_steps(n, c, loads, g);
    for (int32_t v = 0; v < node_count(n); v++)
        emp_vector_add(row_of(n, g->embedding[EMP_DOPPLER_X], v),
                       row_of(n, loads->d_sum, e->device_of_node[v]), width(n));
}

/* ---- sums over devices ---- */

static size_t loads_size(const emp_doppler_net *n)
{
    return (size_t)n->mpnn.scene->graph->device_count * (size_t)width(n);
}

emp_status emp_doppler_loads_init(emp_doppler_loads *loads, const emp_doppler_net *n,
                                  emp_error *err)
{
    *loads = (emp_doppler_loads){0};
    loads->sum = EMP_ADD_ARRAY(&loads->arrays, emp_real, loads_size(n));
    loads->d_sum = EMP_ADD_ARRAY(&loads->arrays, emp_real, loads_size(n));
    if (loads->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "sums over devices");
    return EMP_OK;
}

void emp_doppler_loads_clear(emp_doppler_loads *loads)
{
    emp_arrays_clear(&loads->arrays);
}

void emp_doppler_loads_zero(emp_doppler_loads *loads, const emp_doppler_net *n)
{
    memset(loads->sum, 0, loads_size(n) * sizeof *loads->sum);
    memset(loads->d_sum, 0, loads_size(n) * sizeof *loads->d_sum);
}

void emp_doppler_loads_add(emp_doppler_loads *loads, const emp_doppler_net *n,
                           int32_t node, emp_device_id device)
{
    emp_vector_add(row_of(n, loads->sum, device),
                   row_of(n, n->embedding[EMP_DOPPLER_X], node), width(n));
}
