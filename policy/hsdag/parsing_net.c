// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hsdag/parsing_net.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "policy/hsdag/parsing_net_internal.h"
#include "policy/nn/categorical.h"
#include "policy/nn/layers/dropout.h"
#include "policy/nn/layers/graph_conv.h"
#include "policy/nn/layers/layer_norm.h"
#include "policy/nn/linear.h"

/* ---- parameters ---- */

/* A map of these widths in the slices from `at` on. */
static void name_map(emp_param_slice *slice, int32_t at, const char *matrix,
                     const char *bias, int32_t inputs, int32_t outputs)
{
    slice[at] = (emp_param_slice){.name = matrix, .rows = inputs, .cols = outputs};
    slice[at + 1] = (emp_param_slice){.name = bias, .rows = 1, .cols = outputs};
}

static emp_status init_params(emp_hsdag_net *n, emp_error *err)
{
    const int32_t   X = n->shape.inputs, W = n->shape.width, D = n->shape.devices;
    emp_param_slice s[SLICES];

    name_map(s, INPUT_1, "input_1", "input_1_bias", X, W);
    name_map(s, INPUT_2, "input_2", "input_2_bias", W, W);
    name_map(s, CONVOLVE_1, "convolve_1", "convolve_1_bias", W, W);
    name_map(s, CONVOLVE_2, "convolve_2", "convolve_2_bias", W, W);
    name_map(s, SINGLE, "single", "single_bias", W, W);
    name_map(s, EDGE, "edge", "edge_bias", W, W);
    name_map(s, SCORE, "score", "score_bias", W, 1);
    name_map(s, MEMBER, "member", "member_bias", W, W);
    name_map(s, POOL, "pool", "pool_bias", W, W);
    name_map(s, CODE_1, "code_1", "code_1_bias", W, W);
    name_map(s, CODE_2, "code_2", "code_2_bias", W, X);
    name_map(s, DEVICE_1, "device_1", "device_1_bias", X, W);
    name_map(s, DEVICE_2, "device_2", "device_2_bias", W, D);
    name_map(s, INPUT_1_NORM, "input_1_gain", "input_1_shift", 1, W);
    name_map(s, INPUT_2_NORM, "input_2_gain", "input_2_shift", 1, W);
    name_map(s, G_NORM, "g_gain", "g_shift", 1, W);
    name_map(s, Q_NORM, "q_gain", "q_shift", 1, W);
    name_map(s, EDGE_NORM, "edge_gain", "edge_shift", 1, W);
    name_map(s, MEMBER_NORM, "member_gain", "member_shift", 1, W);
    name_map(s, POOL_NORM, "pool_gain", "pool_shift", 1, W);
    return emp_params_init(&n->params, s, SLICES, err);
}

void emp_hsdag_net_randomize(emp_hsdag_net *n, emp_rng *rng)
{
    for (int32_t map = INPUT_1; map <= DEVICE_2; map += 2)
        emp_params_glorot(&n->params, map, 1.0, rng);
    for (int32_t norm = INPUT_1_NORM; norm < SLICES; norm += 2) {
        emp_real *gain = emp_params_value(&n->params, norm);
        for (int32_t i = 0; i < n->shape.width; i++) gain[i] = 1;
    }
}

int32_t emp_hsdag_outputs(const emp_hsdag_net *n, int32_t map)
{
    return n->params.slice[map].cols;
}

int32_t emp_hsdag_inputs(const emp_hsdag_net *n, int32_t map)
{
    return n->params.slice[map].rows;
}

/* ---- memory ---- */

/* Sizes of the components of a graph, by their lowest nodes; 0 for other nodes. */
static void measure_components(int32_t *size, int32_t *queue, const emp_hsdag_graph *g)
{
    for (int32_t v = 0; v < g->node_count; v++) size[v] = -1;
    for (int32_t v = 0; v < g->node_count; v++) {
        int32_t count = 0;
        if (size[v] >= 0) continue;
        queue[count++] = v;
        size[v] = 0;
        for (int32_t i = 0; i < count; i++) {
            for (int32_t e = g->first[queue[i]]; e < g->first[queue[i] + 1]; e++) {
                if (size[g->node[e]] >= 0) continue;
                size[g->node[e]] = 0;
                queue[count++] = g->node[e];
            }
        }
        size[v] = count;
    }
}

/* Each level at least halves every component, down to one group. */
static void size_levels(emp_hsdag_net *n, const int32_t *size)
{
    int32_t most = n->shape.levels > 0 && n->shape.levels < EMP_HSDAG_MAX_LEVELS
                       ? n->shape.levels
                       : EMP_HSDAG_MAX_LEVELS;
    int32_t largest = 0;

    for (int32_t v = 0; v < n->node_count; v++) {
        if (size[v] > largest) largest = size[v];
        for (int32_t l = 0; l <= most && size[v] > 0; l++)
            n->level[l].max_nodes += size[v] >> l > 1 ? size[v] >> l : 1;
    }
    while (n->max_levels < most && largest >> n->max_levels > 1) n->max_levels++;
}

static void add_norm(emp_hsdag_net *n, emp_hsdag_norm *norm, size_t rows)
{
    norm->normal = EMP_ADD_ARRAY(&n->arrays, emp_real, rows * (size_t)n->shape.width);
    norm->inverse = EMP_ADD_ARRAY(&n->arrays, emp_real, rows);
}

static emp_real *add_rows(emp_hsdag_net *n, size_t rows, size_t width)
{
    return EMP_ADD_ARRAY(&n->arrays, emp_real, rows * width);
}

/* A level whose nodes are put into groups; the last one is not. */
static void allocate_pooled(emp_hsdag_net *n, emp_hsdag_level *v, size_t edges)
{
    size_t W = (size_t)n->shape.width, nodes = (size_t)v->max_nodes;
    size_t groups = (size_t)v[1].max_nodes;

    v->mixed = add_rows(n, nodes, W);
    v->hidden = add_rows(n, nodes, W);
    v->hidden_mixed = add_rows(n, nodes, W);
    v->convolved = add_rows(n, nodes, W);
    v->g = add_rows(n, nodes, W);
    v->single = add_rows(n, nodes, W);
    v->q = add_rows(n, nodes, W);
    v->member = add_rows(n, nodes, W);
    add_norm(n, &v->g_norm, nodes);
    add_norm(n, &v->q_norm, nodes);
    add_norm(n, &v->member_norm, nodes);
    v->edge = add_rows(n, edges, W);
    add_norm(n, &v->edge_norm, edges);
    v->score = add_rows(n, edges, 1);
    v->group_of_node = EMP_ADD_ARRAY(&n->arrays, int32_t, nodes);
    v->sum = add_rows(n, groups, W);
    v->pooled = add_rows(n, groups, W);
    v->factor = add_rows(n, groups, 1);
    add_norm(n, &v->pooled_norm, groups);
}

static void allocate_levels(emp_hsdag_net *n, int32_t edges)
{
    for (int32_t l = 0; l <= n->max_levels; l++) {
        emp_hsdag_level *v = &n->level[l];
        int64_t          pairs = (int64_t)v->max_nodes * (v->max_nodes - 1);
        int32_t          most = pairs < edges ? (int32_t)pairs : edges;
        emp_hsdag_graph_allocate(&v->graph, v->max_nodes, most, &n->arrays);
        v->h = add_rows(n, (size_t)v->max_nodes, (size_t)n->shape.width);
        if (l < n->max_levels) allocate_pooled(n, v, (size_t)most);
    }
}

static void allocate_rest(emp_hsdag_net *n, size_t edges)
{
    size_t nodes = (size_t)n->node_count, W = (size_t)n->shape.width,
           X = (size_t)n->shape.inputs, widest = W > X ? W : X;

    for (int i = 0; i < 2; i++) {
        n->input[i] = add_rows(n, nodes, W);
        add_norm(n, &n->input_norm[i], nodes);
    }
    n->group_of_node = EMP_ADD_ARRAY(&n->arrays, int32_t, nodes);
    n->before_code = add_rows(n, nodes, W);
    n->code = add_rows(n, nodes, X);
    n->before_logits = add_rows(n, nodes, W);
    n->probability = add_rows(n, nodes, (size_t)n->shape.devices);
    n->d_logits = add_rows(n, nodes, (size_t)n->shape.devices);
    n->dy = add_rows(n, nodes, widest);
    n->dx = add_rows(n, nodes, widest);
    n->dh = add_rows(n, nodes, W);
    n->dg = add_rows(n, nodes, W);
    n->d_factor = add_rows(n, nodes, 1);
    n->d_score = add_rows(n, edges, 1);
    n->product = add_rows(n, edges, W);
    n->d_product = add_rows(n, edges, W);
    n->d_edge = add_rows(n, edges, W);
}

static emp_status allocate(emp_hsdag_net *n, const emp_hsdag_graph *g, emp_error *err)
{
    int32_t *size = EMP_ADD_ARRAY(&n->arrays, int32_t, (size_t)g->node_count);

    n->allowed = EMP_ADD_ARRAY(&n->arrays, uint64_t, (size_t)g->node_count);
    emp_hsdag_scratch_allocate(&n->scratch, g->node_count, g->edge_count, &n->arrays);
    if (n->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%d nodes", g->node_count);
    measure_components(size, n->scratch.member, g);
    size_levels(n, size);
    allocate_levels(n, g->edge_count);
    allocate_rest(n, (size_t)g->edge_count);
    if (n->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "the network of %d nodes and %d edges",
                         g->node_count, g->edge_count);
    return EMP_OK;
}

static void copy_graph(emp_hsdag_graph *to, const emp_hsdag_graph *from)
{
    size_t nodes = (size_t)from->node_count;

    to->node_count = from->node_count;
    to->edge_count = from->edge_count;
    memcpy(to->first, from->first, (nodes + 1) * sizeof *to->first);
    memcpy(to->node, from->node, (size_t)from->edge_count * sizeof *to->node);
    memcpy(to->devices, from->devices, nodes * sizeof *to->devices);
}

emp_status emp_hsdag_net_init(emp_hsdag_net *n, const emp_hsdag_shape *shape,
                              const emp_hsdag_graph *graph, int32_t threads,
                              emp_error *err)
{
    emp_status st = EMP_OK;

    *n = (emp_hsdag_net){
        .shape = *shape, .node_count = graph->node_count, .threads = threads};
    EMP_TRY(init_params(n, err));
    EMP_TRY(allocate(n, graph, err));
    copy_graph(&n->level[0].graph, graph);

cleanup:
    if (st != EMP_OK) emp_hsdag_net_clear(n);
    return st;
}

void emp_hsdag_net_clear(emp_hsdag_net *n)
{
    emp_params_clear(&n->params);
    emp_arrays_clear(&n->arrays);
    *n = (emp_hsdag_net){0};
}

/* ---- layers ---- */

EMP_KERNEL static void add_nodes(emp_real *y, const emp_real *x, int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++) y[i] += x[i];
}

void emp_hsdag_add(emp_real *y, const emp_real *x, int64_t count)
{
    add_nodes(y, x, count);
}

static void affine(const emp_hsdag_net *n, emp_real *y, const emp_real *x, int32_t map,
                   int32_t rows)
{
    emp_linear_forward(y, x, emp_params_value(&n->params, map),
                       emp_params_value(&n->params, map + 1), rows,
                       emp_hsdag_inputs(n, map), emp_hsdag_outputs(n, map), n->threads);
}

/* y = D(affine x). */
static void layer(const emp_hsdag_net *n, emp_real *y, const emp_real *x, int32_t map,
                  int32_t rows, emp_rng *rng)
{
    affine(n, y, x, map, rows);
    emp_relu_dropout_forward(y, (int64_t)rows * emp_hsdag_outputs(n, map),
                             n->shape.dropout, rng);
}

/* y = LN(x). */
static void normalize(const emp_hsdag_net *n, emp_real *y, const emp_hsdag_norm *to,
                      const emp_real *x, int32_t norm, int32_t rows)
{
    emp_layer_norm_forward(
        y, to->normal, to->inverse, x, emp_params_value(&n->params, norm),
        emp_params_value(&n->params, norm + 1), rows, n->shape.width, n->threads);
}

/* y = LN(x + z); z may not be needed any more. */
static void normalize_sum(const emp_hsdag_net *n, emp_real *y, const emp_hsdag_norm *to,
                          const emp_real *x, const emp_real *z, int32_t norm,
                          int32_t rows)
{
    int64_t count = (int64_t)rows * n->shape.width;

    memcpy(to->normal, x, (size_t)count * sizeof *x);
    add_nodes(to->normal, z, count);
    normalize(n, y, to, to->normal, norm, rows);
}

/* y = LN(x + affine x). */
static void residual(const emp_hsdag_net *n, emp_real *y, const emp_hsdag_norm *to,
                     const emp_real *x, int32_t map, int32_t norm, int32_t rows)
{
    affine(n, n->dx, x, map, rows);
    normalize_sum(n, y, to, x, n->dx, norm, rows);
}

/* y = D(LN(affine x)). */
static void normal_layer(const emp_hsdag_net *n, emp_real *y, const emp_hsdag_norm *to,
                         const emp_real *x, int32_t map, int32_t norm, int32_t rows,
                         emp_rng *rng)
{
    affine(n, y, x, map, rows);
    normalize(n, y, to, y, norm, rows);
    emp_relu_dropout_forward(y, (int64_t)rows * n->shape.width, n->shape.dropout, rng);
}

static void convolve(const emp_hsdag_net *n, emp_real *y, const emp_real *x,
                     const emp_hsdag_graph *g)
{
    emp_graph_conv(y, x, g->first, g->node, g->node_count, n->shape.width, n->threads);
}

/* ---- one level ---- */

EMP_KERNEL static void multiply_ends(emp_real *product, const emp_real *g,
                                     const int32_t *first, const int32_t *node,
                                     int64_t nodes, int64_t W)
{
    for (int64_t u = 0; u < nodes; u++) {
        for (int64_t e = first[u]; e < first[u + 1]; e++) {
            const emp_real *gv = &g[node[e] * W];
#pragma omp simd
            for (int64_t i = 0; i < W; i++) product[e * W + i] = g[u * W + i] * gv[i];
        }
    }
}

void emp_hsdag_multiply_ends(emp_real *product, const emp_real *g,
                             const emp_hsdag_graph *graph, int32_t width)
{
    multiply_ends(product, g, graph->first, graph->node, graph->node_count, width);
}

static emp_real logistic(emp_real x) { return (emp_real)(1.0 / (1.0 + exp(-(double)x))); }

static void score_edges(emp_hsdag_net *n, emp_hsdag_level *v, emp_rng *rng)
{
    const emp_hsdag_graph *g = &v->graph;
    int32_t                nodes = g->node_count, edges = g->edge_count;

    convolve(n, v->mixed, v->h, g);
    layer(n, v->hidden, v->mixed, CONVOLVE_1, nodes, rng);
    convolve(n, v->hidden_mixed, v->hidden, g);
    if (emp_stop_is_set(n->stop)) return;
    layer(n, v->convolved, v->hidden_mixed, CONVOLVE_2, nodes, rng);
    normalize_sum(n, v->g, &v->g_norm, v->h, v->convolved, G_NORM, nodes);
    if (emp_stop_is_set(n->stop)) return;
    emp_hsdag_multiply_ends(n->product, v->g, g, n->shape.width);
    normal_layer(n, v->edge, &v->edge_norm, n->product, EDGE, EDGE_NORM, edges, rng);
    affine(n, v->score, v->edge, SCORE, edges);
    for (int32_t e = 0; e < edges; e++) v->score[e] = logistic(v->score[e]);
}

static bool is_pooling(const emp_hsdag_net *n, const emp_hsdag_level *v)
{
    return v->groups < v->graph.node_count && v->groups >= n->shape.min_groups &&
           v->groups <= v[1].max_nodes;
}

/* Sums of members; sums of the scores of edges inside, 1 where there are none. */
static void gather(const emp_hsdag_net *n, emp_hsdag_level *v)
{
    const emp_hsdag_graph *g = &v->graph;
    int64_t                W = n->shape.width;

    memset(v->sum, 0, (size_t)(v->groups * W) * sizeof *v->sum);
    for (int32_t a = 0; a < v->groups; a++) v->factor[a] = 0;
    for (int32_t u = 0; u < g->node_count; u++) {
        int32_t a = v->group_of_node[u];
        add_nodes(&v->sum[a * W], &v->member[u * W], W);
        for (int32_t e = g->first[u]; e < g->first[u + 1]; e++)
            if (v->group_of_node[g->node[e]] == a) v->factor[a] += v->score[e];
    }
    for (int32_t a = 0; a < v->groups; a++)
        if (!(v->factor[a] > 0)) v->factor[a] = 1;
}

static void pool(emp_hsdag_net *n, emp_hsdag_level *v, emp_rng *rng)
{
    int32_t nodes = v->graph.node_count, W = n->shape.width;

    layer(n, v->single, v->mixed, SINGLE, nodes, rng);
    normalize_sum(n, v->q, &v->q_norm, v->h, v->single, Q_NORM, nodes);
    residual(n, v->member, &v->member_norm, v->q, MEMBER, MEMBER_NORM, nodes);
    gather(n, v);
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
        v->groups = emp_hsdag_join(v->group_of_node, n->allowed, &v->graph, v->score);
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

void emp_hsdag_net_forward(emp_hsdag_net *n, const emp_real *x, emp_rng *rng)
{
    const emp_hsdag_level *last;

    normal_layer(n, n->input[0], &n->input_norm[0], x, INPUT_1, INPUT_1_NORM,
                 n->node_count, rng);
    normal_layer(n, n->input[1], &n->input_norm[1], n->input[0], INPUT_2, INPUT_2_NORM,
                 n->node_count, rng);
    memcpy(n->level[0].h, n->input[1],
           (size_t)n->node_count * (size_t)n->shape.width * sizeof *n->input[1]);
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
