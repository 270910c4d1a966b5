// SPDX-License-Identifier: GPL-3.0-or-later
/* The gradient of the network, from the devices back to the nodes. */
#include <string.h>

#include "policy/hsdag/parsing_net_internal.h"
#include "policy/nn/categorical.h"
#include "policy/nn/layers/dropout.h"
#include "policy/nn/layers/graph_conv.h"
#include "policy/nn/layers/layer_norm.h"
#include "policy/nn/linear.h"

/* ---- layers ---- */

/* dx, which may be NULL, is not added to. */
static void affine(emp_hsdag_net *n, emp_real *dx, const emp_real *dy, const emp_real *x,
                   int32_t map, int32_t rows)
{
    emp_linear_backward(dx, emp_params_gradient(&n->params, map),
                        emp_params_gradient(&n->params, map + 1), dy, x,
                        emp_params_value(&n->params, map), rows, emp_hsdag_inputs(n, map),
                        emp_hsdag_outputs(n, map), n->threads);
}

/* Of y = D(affine x); dy is overwritten. */
static void layer(emp_hsdag_net *n, emp_real *dx, emp_real *dy, const emp_real *y,
                  const emp_real *x, int32_t map, int32_t rows)
{
    emp_relu_dropout_backward(dy, y, (int64_t)rows * emp_hsdag_outputs(n, map),
                              n->shape.dropout);
    affine(n, dx, dy, x, map, rows);
}

/* Of y = LN(x), in place. */
static void normalize(emp_hsdag_net *n, emp_real *dy, const emp_hsdag_norm *from,
                      int32_t norm, int32_t rows)
{
    emp_layer_norm_backward(dy, emp_params_gradient(&n->params, norm),
                            emp_params_gradient(&n->params, norm + 1), dy, from->normal,
                            from->inverse, emp_params_value(&n->params, norm), rows,
                            n->shape.width, n->threads);
}

/* Of y = LN(x + affine x), in place. */
static void residual(emp_hsdag_net *n, emp_real *dy, const emp_hsdag_norm *from,
                     const emp_real *x, int32_t map, int32_t norm, int32_t rows)
{
    normalize(n, dy, from, norm, rows);
    affine(n, n->dx, dy, x, map, rows);
    emp_hsdag_add(dy, n->dx, (int64_t)rows * n->shape.width);
}

/* Of y = D(LN(affine x)); dy is overwritten. */
static void normal_layer(emp_hsdag_net *n, emp_real *dx, emp_real *dy, const emp_real *y,
                         const emp_hsdag_norm *from, const emp_real *x, int32_t map,
                         int32_t norm, int32_t rows)
{
    emp_relu_dropout_backward(dy, y, (int64_t)rows * n->shape.width, n->shape.dropout);
    normalize(n, dy, from, norm, rows);
    affine(n, dx, dy, x, map, rows);
}

static void convolve(const emp_hsdag_net *n, emp_real *dx, const emp_real *dy,
                     const emp_hsdag_graph *g)
{
    emp_graph_conv(dx, dy, g->first, g->node, g->node_count, n->shape.width, n->threads);
}

/* ---- the head ---- */

static void from_devices(emp_hsdag_net *n, const int32_t *device_of_group, double weight,
                         double entropy)
{
    int64_t D = n->shape.devices;
    int32_t groups = n->group_count;

    memcpy(n->d_logits, n->probability, (size_t)(groups * D) * sizeof *n->d_logits);
    for (int64_t a = 0; a < groups; a++) {
        emp_real *row = &n->d_logits[a * D];
        emp_categorical_score(row, (int32_t)D, device_of_group[a], weight);
        emp_categorical_entropy_gradient(row, &n->probability[a * D], (int32_t)D,
                                         entropy);
    }
    affine(n, n->dy, n->d_logits, n->before_logits, DEVICE_2, groups);
    emp_activation_backward(EMP_ACTIVATION_RELU, n->dy, n->before_logits,
                            (int64_t)groups * n->shape.width);
    affine(n, n->dx, n->dy, n->code, DEVICE_1, groups);
    layer(n, n->dy, n->dx, n->code, n->before_code, CODE_2, groups);
    layer(n, n->dh, n->dy, n->before_code, n->level[n->depth].h, CODE_1, groups);
}

/* ---- one level ---- */

EMP_KERNEL static emp_real dot(const emp_real *x, const emp_real *y, int64_t count)
{
    emp_real sum = 0;

#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; i++) sum += x[i] * y[i];
    return sum;
}

/* From dh by groups to dh by nodes, the gradient of q; sets that of the factors. */
static void from_groups(emp_hsdag_net *n, const emp_hsdag_level *v)
{
    int64_t W = n->shape.width;

    for (int64_t a = 0; a < v->groups; a++) {
        n->d_factor[a] = dot(&n->dh[a * W], &v->pooled[a * W], W);
        for (int64_t i = 0; i < W; i++)
            n->dy[a * W + i] = v->factor[a] * n->dh[a * W + i];
    }
    residual(n, n->dy, &v->pooled_norm, v->sum, POOL, POOL_NORM, v->groups);
    for (int64_t u = 0; u < v->graph.node_count; u++)
        memcpy(&n->dh[u * W], &n->dy[v->group_of_node[u] * W], (size_t)W * sizeof *n->dh);
    residual(n, n->dh, &v->member_norm, v->q, MEMBER, MEMBER_NORM, v->graph.node_count);
}

EMP_KERNEL static void add_product(emp_real *y, const emp_real *a, const emp_real *b,
                                   int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++) y[i] += a[i] * b[i];
}

/* The gradient of g, into dg: scores of edges inside of groups are in the factors. */
static void from_scores(emp_hsdag_net *n, const emp_hsdag_level *v)
{
    const emp_hsdag_graph *g = &v->graph;
    int64_t                W = n->shape.width;

    for (int32_t u = 0; u < g->node_count; u++) {
        int32_t a = v->group_of_node[u];
        for (int32_t e = g->first[u]; e < g->first[u + 1]; e++) {
            bool     is_inside = v->group_of_node[g->node[e]] == a;
            emp_real s = v->score[e];
            n->d_score[e] = is_inside ? n->d_factor[a] * s * (1 - s) : 0;
        }
    }
    affine(n, n->d_edge, n->d_score, v->edge, SCORE, g->edge_count);
    emp_hsdag_multiply_ends(n->product, v->g, g, n->shape.width);
    normal_layer(n, n->d_product, n->d_edge, v->edge, &v->edge_norm, n->product, EDGE,
                 EDGE_NORM, g->edge_count);
    memset(n->dg, 0, (size_t)(g->node_count * W) * sizeof *n->dg);
    for (int64_t u = 0; u < g->node_count; u++) {
        for (int64_t e = g->first[u]; e < g->first[u + 1]; e++) {
            int64_t w = g->node[e];
            add_product(&n->dg[u * W], &n->d_product[e * W], &v->g[w * W], W);
            add_product(&n->dg[w * W], &n->d_product[e * W], &v->g[u * W], W);
        }
    }
}

/* From dh by groups to dh by nodes, the gradient of h. */
static void level_backward(emp_hsdag_net *n, emp_hsdag_level *v)
{
    const emp_hsdag_graph *g = &v->graph;
    int32_t                nodes = g->node_count;
    int64_t                count = (int64_t)nodes * n->shape.width;
    size_t                 bytes = (size_t)count * sizeof *n->dh;

    from_groups(n, v);
    if (emp_stop_is_set(n->stop)) return;
    normalize(n, n->dh, &v->q_norm, Q_NORM, nodes);
    memcpy(n->dy, n->dh, bytes);
    layer(n, v->q, n->dy, v->single, v->mixed, SINGLE, nodes); /* q: gradient of mixed */

    from_scores(n, v);
    if (emp_stop_is_set(n->stop)) return;
    normalize(n, n->dg, &v->g_norm, G_NORM, nodes);
    emp_hsdag_add(n->dh, n->dg, count);
    layer(n, n->dx, n->dg, v->convolved, v->hidden_mixed, CONVOLVE_2, nodes);
    convolve(n, n->dy, n->dx, g);
    layer(n, n->dx, n->dy, v->hidden, v->mixed, CONVOLVE_1, nodes);
    emp_hsdag_add(n->dx, v->q, count);
    convolve(n, n->dy, n->dx, g);
    emp_hsdag_add(n->dh, n->dy, count);
}

void emp_hsdag_net_backward(emp_hsdag_net *n, const emp_real *x,
                            const int32_t *device_of_group, double weight, double entropy)
{
    from_devices(n, device_of_group, weight, entropy);
    for (int32_t l = n->depth - 1; l >= 0 && !emp_stop_is_set(n->stop); l--)
        level_backward(n, &n->level[l]);
    normal_layer(n, n->dx, n->dh, n->input[1], &n->input_norm[1], n->input[0], INPUT_2,
                 INPUT_2_NORM, n->node_count);
    normal_layer(n, NULL, n->dx, n->input[0], &n->input_norm[0], x, INPUT_1, INPUT_1_NORM,
                 n->node_count);
}
