// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hsdag/hsdag.h"

#include <math.h>
#include <string.h>

#include "policy/nn/categorical.h"
#include "policy/nn/layers.h"
#include "policy/nn/products.h"

/* Columns of the matrix of a map; its rows. */
static int32_t outputs_of(const emp_hsdag_net *n, int32_t map)
{
    return n->params.slice[map].cols;
}

static int32_t inputs_of(const emp_hsdag_net *n, int32_t map)
{
    return n->params.slice[map].rows;
}

/* The rows of a block, of so many: blocks are nearly alike. */
static int32_t block_of(int32_t rows)
{
    const int32_t blocks = (rows + EMP_HSDAG_BLOCK - 1) / EMP_HSDAG_BLOCK;

    return blocks > 0 ? (rows + blocks - 1) / blocks : 0;
}

static int32_t at_most(int32_t left, int32_t block)
{
    return left < block ? left : block;
}

/* ---- layers ---- */

static void affine(const emp_hsdag_net *n, emp_real *y, const emp_real *x, int32_t map,
                   int32_t rows)
{
    emp_linear_forward(y, x, emp_params_value(&n->params, map),
                       emp_params_value(&n->params, map + 1), rows, inputs_of(n, map),
                       outputs_of(n, map), n->threads);
}

/* y = D(affine x). */
static void layer(const emp_hsdag_net *n, emp_real *y, const emp_real *x, int32_t map,
                  int32_t rows, emp_rng *rng)
{
    affine(n, y, x, map, rows);
    emp_relu_dropout_forward(y, (int64_t)rows * outputs_of(n, map), n->shape.dropout,
                             rng);
}

/* The values that a layer norm keeps, from a row on. */
static emp_hsdag_norm rows_from(const emp_hsdag_net *n, const emp_hsdag_norm *norm,
                                int64_t first)
{
    return (emp_hsdag_norm){norm->normal + first * n->shape.width, norm->inverse + first};
}

/* y = LN(x + plus), where plus may be NULL. */
static void normalize(const emp_hsdag_net *n, emp_real *y, const emp_hsdag_norm *to,
                      const emp_real *x, const emp_real *plus, int32_t norm, int32_t rows)
{
    emp_layer_norm_forward(
        y, to->normal, to->inverse, x, plus, emp_params_value(&n->params, norm),
        emp_params_value(&n->params, norm + 1), rows, n->shape.width, n->threads);
}

/* y = LN(x + affine x). */
static void residual(const emp_hsdag_net *n, emp_real *y, const emp_hsdag_norm *to,
                     const emp_real *x, int32_t map, int32_t norm, int32_t rows)
{
    affine(n, y, x, map, rows);
    normalize(n, y, to, y, x, norm, rows);
}

/* y = D(LN(affine x)). */
static void normal_layer(const emp_hsdag_net *n, emp_real *y, const emp_hsdag_norm *to,
                         const emp_real *x, int32_t map, int32_t norm, int32_t rows,
                         emp_rng *rng)
{
    affine(n, y, x, map, rows);
    normalize(n, y, to, y, NULL, norm, rows);
    emp_relu_dropout_forward(y, (int64_t)rows * n->shape.width, n->shape.dropout, rng);
}

static void convolve(const emp_hsdag_net *n, emp_real *y, const emp_real *start,
                     const emp_real *x, const emp_hsdag_graph *g)
{
    emp_graph_conv(y, start, x, g->first, g->node, g->node_count, n->shape.width,
                   n->threads);
}

/* ---- one level ---- */

/* Rows of the edges, by their lower ends. For an edge that has its row, the cursor of the lower end is the edge's
 * position there. */
static void list_edges(const emp_hsdag_net *n, emp_hsdag_level *v)
{
    const emp_hsdag_graph *g = &v->graph;
    int32_t               *cursor = n->scratch.seen;

    v->row_count = 0;
    for (int32_t u = 0; u < g->node_count; u++) {
        cursor[u] = g->first[u];
        for (int32_t e = g->first[u]; e < g->first[u + 1]; e++) {
            const int32_t w = g->node[e];
            if (!emp_hsdag_has_masks(n) && w < u) {
                v->row_of_edge[e] = v->row_of_edge[cursor[w]++];
                cursor[u] = e + 1;
                continue;
            }
            v->end[2 * v->row_count] = u;
            v->end[2 * v->row_count + 1] = w;
            v->row_of_edge[e] = v->row_count++;
        }
    }
}

/* product[r] = g_u * g_v for each row r of u and v. */
EMP_KERNEL static void multiply_ends(emp_real *product, const emp_real *g,
                                     const int32_t *end, int64_t rows, int64_t W)
{
    for (int64_t r = 0; r < rows; r++) {
        const emp_real *gu = &g[end[2 * r] * W], *gv = &g[end[2 * r + 1] * W];
#pragma omp simd
        for (int64_t i = 0; i < W; i++) product[r * W + i] = gu[i] * gv[i];
    }
}

static emp_real logistic(emp_real x) { return (emp_real)(1.0 / (1.0 + exp(-(double)x))); }

/* The hidden units of edges can be had again from their layer norm, but for masks. */
static void score_rows(emp_hsdag_net *n, emp_hsdag_level *v, int32_t first, int32_t count,
                       emp_rng *rng)
{
    const int64_t        W = n->shape.width;
    const emp_hsdag_norm norm = rows_from(n, &v->edge_norm, first);
    emp_real *const      edge = emp_hsdag_has_masks(n) ? v->edge + first * W : n->out;

    multiply_ends(n->in, v->g, &v->end[2 * first], count, W);
    normal_layer(n, edge, &norm, n->in, EDGE, EDGE_NORM, count, rng);
    affine(n, v->score + first, edge, SCORE, count);
    for (int32_t r = first; r < first + count; r++) v->score[r] = logistic(v->score[r]);
}

static void score_edges(emp_hsdag_net *n, emp_hsdag_level *v, emp_rng *rng)
{
    const emp_hsdag_graph *g = &v->graph;
    int32_t                nodes = g->node_count;

    convolve(n, v->mixed, NULL, v->h, g);
    layer(n, v->hidden, v->mixed, CONVOLVE_1, nodes, rng);
    convolve(n, v->hidden_mixed, NULL, v->hidden, g);
    if (emp_stop_is_set(n->stop)) return;
    layer(n, v->convolved, v->hidden_mixed, CONVOLVE_2, nodes, rng);
    normalize(n, v->g, &v->g_norm, v->h, v->convolved, G_NORM, nodes);
    if (emp_stop_is_set(n->stop)) return;
    list_edges(n, v);
    for (int32_t r = 0, block = block_of(v->row_count); r < v->row_count; r += block)
        score_rows(n, v, r, at_most(v->row_count - r, block), rng);
    for (int32_t e = 0; e < g->edge_count; e++)
        v->score_of_edge[e] = v->score[v->row_of_edge[e]];
}

static bool is_pooling(const emp_hsdag_net *n, const emp_hsdag_level *v)
{
    return v->groups < v->graph.node_count && v->groups >= n->shape.min_groups &&
           v->groups <= v[1].max_nodes;
}

/* Adds some members to the sums of their groups. */
static void add_members(emp_hsdag_net *n, emp_hsdag_level *v, int32_t first,
                        int32_t count, emp_rng *rng)
{
    const int64_t        W = n->shape.width, at = first * W;
    const emp_hsdag_norm q = rows_from(n, &v->q_norm, first),
                         member = rows_from(n, &v->member_norm, first);

    layer(n, v->single + at, v->mixed + at, SINGLE, count, rng);
    normalize(n, n->in, &q, v->h + at, v->single + at, Q_NORM, count);
    residual(n, n->out, &member, n->in, MEMBER, MEMBER_NORM, count);
    for (int64_t i = 0; i < count; i++)
        emp_vector_add(&v->sum[v->group_of_node[first + i] * W], &n->out[i * W], W);
}

/* Sums of the scores of edges inside of groups, 1 where there are none. */
static void find_factors(emp_hsdag_level *v)
{
    const emp_hsdag_graph *g = &v->graph;

    for (int32_t a = 0; a < v->groups; a++) v->factor[a] = 0;
    for (int32_t u = 0; u < g->node_count; u++) {
        const int32_t a = v->group_of_node[u];
        for (int32_t e = g->first[u]; e < g->first[u + 1]; e++)
            if (v->group_of_node[g->node[e]] == a) v->factor[a] += v->score_of_edge[e];
    }
    for (int32_t a = 0; a < v->groups; a++)
        if (!(v->factor[a] > 0)) v->factor[a] = 1;
}

static void pool(emp_hsdag_net *n, emp_hsdag_level *v, emp_rng *rng)
{
    const int32_t nodes = v->graph.node_count, W = n->shape.width;

    memset(v->sum, 0, (size_t)v->groups * (size_t)W * sizeof *v->sum);
    for (int32_t u = 0, block = block_of(nodes); u < nodes; u += block)
        add_members(n, v, u, at_most(nodes - u, block), rng);
    find_factors(v);
    residual(n, v->pooled, &v->pooled_norm, v->sum, POOL, POOL_NORM, v->groups);
    for (int64_t a = 0; a < v->groups; a++)
        for (int32_t i = 0; i < W; i++)
            v[1].h[a * W + i] = v->factor[a] * v->pooled[a * W + i];
    emp_hsdag_contract(&v[1].graph, v->groups, &v->graph, v->group_of_node, &n->scratch);
}

/* ---- the whole ---- */

static void pool_levels(emp_hsdag_net *n, emp_rng *rng)
{
    for (int32_t u = 0; u < n->node_count; u++) n->group_of_node[u] = u;
    for (n->depth = 0; n->depth < n->max_levels; n->depth++) {
        emp_hsdag_level *v = &n->level[n->depth];
        score_edges(n, v, rng);
        if (emp_stop_is_set(n->stop)) break;
        v->groups =
            emp_hsdag_join(v->group_of_node, n->allowed, &v->graph, v->score_of_edge);
        if (!is_pooling(n, v)) break;
        pool(n, v, rng);
        for (int32_t u = 0; u < n->node_count; u++)
            n->group_of_node[u] = v->group_of_node[n->group_of_node[u]];
    }
    n->group_count = n->level[n->depth].graph.node_count;
}

/* Devices that are not allowed have probability 0. */
static void choose(emp_hsdag_net *n, const uint64_t *devices)
{
    static const emp_real NEVER = (emp_real)-1e30;
    int32_t               D = n->shape.devices;

    n->entropy = 0.0;
    for (int64_t a = 0; a < n->group_count; a++) {
        emp_real *p = &n->probability[a * D];
        for (int32_t d = 0; d < D; d++)
            if (!(devices[a] >> d & 1)) p[d] = NEVER;
        n->entropy += emp_categorical_softmax(p, D);
        for (int32_t d = 0; d < D; d++)
            if (!(devices[a] >> d & 1)) p[d] = 0;
    }
}

/* The first layer, of nodes from `first` on. */
static emp_real *input_rows(const emp_hsdag_net *n, int64_t first)
{
    return emp_hsdag_has_masks(n) ? n->input + first * n->shape.width : n->in;
}

static void read_rows(emp_hsdag_net *n, const emp_real *x, int64_t first, int32_t count,
                      emp_rng *rng)
{
    const emp_hsdag_norm norm[2] = {rows_from(n, &n->input_norm[0], first),
                                    rows_from(n, &n->input_norm[1], first)};
    emp_real *const      input = input_rows(n, first);

    normal_layer(n, input, &norm[0], x + first * n->shape.inputs, INPUT_1, INPUT_1_NORM,
                 count, rng);
    normal_layer(n, n->level[0].h + first * n->shape.width, &norm[1], input, INPUT_2,
                 INPUT_2_NORM, count, rng);
}

void emp_hsdag_net_forward(emp_hsdag_net *n, const emp_real *x, emp_rng *rng)
{
    const emp_hsdag_level *last;

    for (int32_t u = 0, block = block_of(n->node_count); u < n->node_count; u += block)
        read_rows(n, x, u, at_most(n->node_count - u, block), rng);
    pool_levels(n, rng);
    last = &n->level[n->depth];
    layer(n, n->before_code, last->h, CODE_1, n->group_count, rng);
    layer(n, n->code, n->before_code, CODE_2, n->group_count, rng);
    affine(n, n->before_logits, n->code, DEVICE_1, n->group_count);
    emp_activation_forward(EMP_ACTIVATION_RELU, n->before_logits,
                           (int64_t)n->group_count * n->shape.width);
    affine(n, n->probability, n->before_logits, DEVICE_2, n->group_count);
    choose(n, last->graph.devices);
}

void emp_hsdag_net_draw(const emp_hsdag_net *n, int32_t *device_of_group, emp_rng *rng)
{
    int32_t D = n->shape.devices;

    for (int64_t a = 0; a < n->group_count; a++)
        device_of_group[a] =
            emp_categorical_sample(&n->probability[a * D], D, emp_rng_uniform(rng));
}

double emp_hsdag_net_log_prob(const emp_hsdag_net *n, const int32_t *device_of_group)
{
    int64_t D = n->shape.devices;
    double  sum = 0.0;

    for (int64_t a = 0; a < n->group_count; a++) {
        double p = (double)n->probability[a * D + device_of_group[a]];
        sum += log(p > 1e-30 ? p : 1e-30);
    }
    return sum;
}

/* The gradient of the network, from the devices back to the nodes. */

/* ---- layers ---- */

/* The gradient of y = affine x: dx = start + dy w', unless dx is NULL. The start may be dx, or NULL for zeros. */
static void affine_back(emp_hsdag_net *n, emp_real *dx, const emp_real *start,
                        const emp_real *dy, const emp_real *x, int32_t map, int32_t rows)
{
    const int32_t C = inputs_of(n, map), K = outputs_of(n, map);

    emp_linear_backward(NULL, emp_params_gradient(&n->params, map),
                        emp_params_gradient(&n->params, map + 1), dy, x, NULL, rows, C, K,
                        n->threads);
    if (dx != NULL)
        emp_linear_inputs(dx, start, dy, emp_params_value(&n->params, map), rows, C, K,
                          n->threads);
}

/* The gradient of y = D(affine x) from \a masked, which may be dy, and gets the part of it that D lets through. */
static void layer_back(emp_hsdag_net *n, emp_real *dx, const emp_real *start,
                       emp_real *masked, const emp_real *dy, const emp_real *y,
                       const emp_real *x, int32_t map, int32_t rows)
{
    emp_relu_dropout_backward(masked, dy, y, (int64_t)rows * outputs_of(n, map),
                              n->shape.dropout);
    affine_back(n, dx, start, masked, x, map, rows);
}

/* The gradient of y = LN(x), in place. */
static void normalize_back(emp_hsdag_net *n, emp_real *dy, const emp_hsdag_norm *from,
                           int32_t norm, int32_t rows)
{
    emp_layer_norm_backward(dy, emp_params_gradient(&n->params, norm),
                            emp_params_gradient(&n->params, norm + 1), dy, from->normal,
                            from->inverse, emp_params_value(&n->params, norm), rows,
                            n->shape.width, n->threads);
}

/* The gradient of y = LN(x + affine x); dy is overwritten. */
static void residual_back(emp_hsdag_net *n, emp_real *dx, emp_real *dy,
                          const emp_hsdag_norm *from, const emp_real *x, int32_t map,
                          int32_t norm, int32_t rows)
{
    normalize_back(n, dy, from, norm, rows);
    affine_back(n, dx, dy, dy, x, map, rows);
}

/* The gradient of y = D(LN(affine x)); dy is overwritten. */
static void normal_layer_back(emp_hsdag_net *n, emp_real *dx, emp_real *dy,
                              const emp_real *y, const emp_hsdag_norm *from,
                              const emp_real *x, int32_t map, int32_t norm, int32_t rows)
{
    emp_relu_dropout_backward(dy, dy, y, (int64_t)rows * n->shape.width,
                              n->shape.dropout);
    normalize_back(n, dy, from, norm, rows);
    affine_back(n, dx, NULL, dy, x, map, rows);
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
    affine_back(n, n->dy, NULL, n->d_logits, n->before_logits, DEVICE_2, groups);
    emp_activation_backward(EMP_ACTIVATION_RELU, n->dy, n->before_logits,
                            (int64_t)groups * n->shape.width);
    affine_back(n, n->dx, NULL, n->dy, n->code, DEVICE_1, groups);
    layer_back(n, n->dy, NULL, n->dx, n->dx, n->code, n->before_code, CODE_2, groups);
    layer_back(n, n->dh, NULL, n->dy, n->dy, n->before_code, n->level[n->depth].h, CODE_1,
               groups);
}

/* ---- one level ---- */

EMP_KERNEL static emp_real dot(const emp_real *x, const emp_real *y, int64_t count)
{
    emp_real sum = 0;

#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; i++) sum += x[i] * y[i];
    return sum;
}

/* From dh by groups to dx by groups, the gradient of sums; sets the gradient of the factors. */
static void from_groups(emp_hsdag_net *n, const emp_hsdag_level *v)
{
    int64_t W = n->shape.width;

    for (int64_t a = 0; a < v->groups; a++) {
        n->d_factor[a] = dot(&n->dh[a * W], &v->pooled[a * W], W);
        for (int64_t i = 0; i < W; i++)
            n->dy[a * W + i] = v->factor[a] * n->dh[a * W + i];
    }
    residual_back(n, n->dx, n->dy, &v->pooled_norm, v->sum, POOL, POOL_NORM, v->groups);
}

/* y = LN(x) once more. */
static void normalize_again(const emp_hsdag_net *n, emp_real *y, const emp_hsdag_norm *of,
                            int32_t norm, int32_t rows)
{
    emp_layer_norm_again(y, of->normal, emp_params_value(&n->params, norm),
                         emp_params_value(&n->params, norm + 1), rows, n->shape.width);
}

/* y = relu(LN(x)) once more. */
static void normal_layer_again(const emp_hsdag_net *n, emp_real *y,
                               const emp_hsdag_norm *of, int32_t norm, int32_t rows)
{
    normalize_again(n, y, of, norm, rows);
    emp_activation_forward(EMP_ACTIVATION_RELU, y, (int64_t)rows * n->shape.width);
}

/* From dx by groups to dh of some nodes, and to the gradient of what of `mixed` is in it. */
static void from_members(emp_hsdag_net *n, emp_hsdag_level *v, int32_t first,
                         int32_t count)
{
    const int64_t        W = n->shape.width, at = first * W;
    const emp_hsdag_norm q = rows_from(n, &v->q_norm, first),
                         member = rows_from(n, &v->member_norm, first);

    for (int64_t i = 0; i < count; i++)
        memcpy(&n->out[i * W], &n->dx[v->group_of_node[first + i] * W],
               (size_t)W * sizeof *n->dx);
    normalize_again(n, n->in, &q, Q_NORM, count);
    residual_back(n, n->dh + at, n->out, &member, n->in, MEMBER, MEMBER_NORM, count);
    normalize_back(n, n->dh + at, &q, Q_NORM, count);
    layer_back(n, n->d_mixed + at, NULL, n->out, n->dh + at, v->single + at,
               v->mixed + at, SINGLE, count);
}

EMP_KERNEL static void add_product(emp_real *y, const emp_real *a, const emp_real *b,
                                   int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++) y[i] += a[i] * b[i];
}

/* Copies a row of an edge inside of a group to row `to` of the scratch. */
static void take_edge(emp_hsdag_net *n, const emp_hsdag_level *v, int64_t row, int64_t to)
{
    const int64_t W = n->shape.width;
    const size_t  bytes = (size_t)W * sizeof *n->normal;

    memcpy(&n->normal[to * W], &v->edge_norm.normal[row * W], bytes);
    n->inverse[to] = v->edge_norm.inverse[row];
    if (emp_hsdag_has_masks(n)) memcpy(&n->out[to * W], &v->edge[row * W], bytes);
}

/* Scores of edges inside of groups are in the factors, and others have no gradient: takes the next rows inside, from
 * *row on, and returns their number. Their ends move to the front of v->end. */
static int32_t take_inside(emp_hsdag_net *n, emp_hsdag_level *v, int32_t *row,
                           int32_t *end)
{
    const emp_real both =
        emp_hsdag_has_masks(n) ? 1 : 2; /* ends that a row has in the factor */
    int32_t count = 0;

    for (; *row < v->row_count && count < EMP_HSDAG_BLOCK; (*row)++) {
        const int32_t *from = &v->end[2 * *row], a = v->group_of_node[from[0]];
        if (v->group_of_node[from[1]] != a) continue;
        n->d_score[count] = both * n->d_factor[a] * v->score[*row] * (1 - v->score[*row]);
        end[2 * count] = from[0];
        end[2 * count + 1] = from[1];
        take_edge(n, v, *row, count++);
    }
    return count;
}

/* Adds to dg the gradient of the ends of the rows taken. */
static void from_rows(emp_hsdag_net *n, emp_hsdag_level *v, const int32_t *end,
                      int32_t rows)
{
    const emp_hsdag_norm norm = {n->normal, n->inverse};
    const int64_t        W = n->shape.width;

    if (!emp_hsdag_has_masks(n)) normal_layer_again(n, n->out, &norm, EDGE_NORM, rows);
    affine_back(n, n->d_out, NULL, n->d_score, n->out, SCORE, rows);
    multiply_ends(n->in, v->g, end, rows, W);
    normal_layer_back(n, n->in, n->d_out, n->out, &norm, n->in, EDGE, EDGE_NORM, rows);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t u = end[2 * r], w = end[2 * r + 1];
        add_product(&n->dg[u * W], &n->in[r * W], &v->g[w * W], W);
        add_product(&n->dg[w * W], &n->in[r * W], &v->g[u * W], W);
    }
}

/* The gradient of g, into dg. */
static void from_scores(emp_hsdag_net *n, emp_hsdag_level *v)
{
    int32_t end[2 * EMP_HSDAG_BLOCK], row = 0, rows;

    memset(n->dg, 0,
           (size_t)v->graph.node_count * (size_t)n->shape.width * sizeof *n->dg);
    while ((rows = take_inside(n, v, &row, end)) > 0) from_rows(n, v, end, rows);
}

/* From dg of some nodes to dh, and to dx, the gradient of what is mixed of their hidden units. */
static void from_convolved(emp_hsdag_net *n, emp_hsdag_level *v, int32_t first,
                           int32_t count)
{
    const int64_t        W = n->shape.width, at = first * W;
    const emp_hsdag_norm g = rows_from(n, &v->g_norm, first);

    normalize_back(n, n->dg + at, &g, G_NORM, count);
    emp_vector_add(n->dh + at, n->dg + at, count * W);
    layer_back(n, n->dx + at, NULL, n->dg + at, n->dg + at, v->convolved + at,
               v->hidden_mixed + at, CONVOLVE_2, count);
}

/* From dh by groups to dh by nodes, the gradient of h. */
static void level_backward(emp_hsdag_net *n, emp_hsdag_level *v)
{
    const emp_hsdag_graph *g = &v->graph;
    int32_t                nodes = g->node_count;

    from_groups(n, v);
    for (int32_t u = 0, block = block_of(nodes); u < nodes; u += block)
        from_members(n, v, u, at_most(nodes - u, block));
    if (emp_stop_is_set(n->stop)) return;
    from_scores(n, v);
    if (emp_stop_is_set(n->stop)) return;
    for (int32_t u = 0, block = block_of(nodes); u < nodes; u += block)
        from_convolved(n, v, u, at_most(nodes - u, block));
    convolve(n, n->dy, NULL, n->dx, g);
    layer_back(n, n->d_mixed, n->d_mixed, n->dy, n->dy, v->hidden, v->mixed, CONVOLVE_1,
               nodes);
    convolve(n, n->dh, n->dh, n->d_mixed, g);
}

/* From dh of some nodes to the first layers. */
static void to_inputs(emp_hsdag_net *n, const emp_real *x, int64_t first, int32_t count)
{
    const int64_t        at = first * n->shape.width;
    const emp_hsdag_norm norm[2] = {rows_from(n, &n->input_norm[0], first),
                                    rows_from(n, &n->input_norm[1], first)};
    emp_real *const      input = input_rows(n, first);

    if (!emp_hsdag_has_masks(n))
        normal_layer_again(n, input, &norm[0], INPUT_1_NORM, count);
    normal_layer_back(n, n->out, n->dh + at, n->level[0].h + at, &norm[1], input, INPUT_2,
                      INPUT_2_NORM, count);
    normal_layer_back(n, NULL, n->out, input, &norm[0], x + first * n->shape.inputs,
                      INPUT_1, INPUT_1_NORM, count);
}

void emp_hsdag_net_backward(emp_hsdag_net *n, const emp_real *x,
                            const int32_t *device_of_group, double weight, double entropy)
{
    from_devices(n, device_of_group, weight, entropy);
    for (int32_t l = n->depth - 1; l >= 0 && !emp_stop_is_set(n->stop); l--)
        level_backward(n, &n->level[l]);
    for (int32_t u = 0, block = block_of(n->node_count); u < n->node_count; u += block)
        to_inputs(n, x, u, at_most(n->node_count - u, block));
}

void emp_hsdag_net_gradient(emp_hsdag_net *n, const emp_real *x,
                            const int32_t *device_of_group, emp_real *gradient)
{
    emp_real *const own = n->params.gradient;

    n->params.gradient = gradient;
    emp_params_zero_gradient(&n->params);
    emp_hsdag_net_backward(n, x, device_of_group, 1.0, 0.0);
    n->params.gradient = own;
}
