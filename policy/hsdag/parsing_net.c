// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hsdag/hsdag.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "policy/nn/categorical.h"
#include "policy/nn/layers.h"
#include "policy/nn/products.h"

/* Affine maps: a matrix, and the bias in the slice behind it. */
enum {
    INPUT_1 = 0,
    INPUT_2 = 2,
    CONVOLVE_1 = 4,
    CONVOLVE_2 = 6,
    SINGLE = 8,
    EDGE = 10,
    SCORE = 12,
    MEMBER = 14,
    POOL = 16,
    CODE_1 = 18,
    CODE_2 = 20,
    DEVICE_1 = 22,
    DEVICE_2 = 24
};
/* Layer norms: a gain, and the shift in the slice behind it. */
enum {
    INPUT_1_NORM = 26,
    INPUT_2_NORM = 28,
    G_NORM = 30,
    Q_NORM = 32,
    EDGE_NORM = 34,
    MEMBER_NORM = 36,
    POOL_NORM = 38,
    SLICES = 40
};

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

/* Columns of the matrix of a map; its rows. */
static int32_t outputs_of(const emp_hsdag_net *n, int32_t map)
{
    return n->params.slice[map].cols;
}

static int32_t inputs_of(const emp_hsdag_net *n, int32_t map)
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

static bool has_masks(const emp_hsdag_net *n) { return n->shape.dropout > 0; }

/* Rows of so many edges from both ends. */
static size_t rows_of_edges(const emp_hsdag_net *n, size_t edges)
{
    return has_masks(n) ? edges : edges / 2;
}

/* A level whose nodes are put into groups; the last one is not. */
static void allocate_pooled(emp_hsdag_net *n, emp_hsdag_level *v, size_t edges)
{
    size_t rows = rows_of_edges(n, edges);
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
    v->row_of_edge = EMP_ADD_ARRAY(&n->arrays, int32_t, edges);
    v->end = EMP_ADD_ARRAY(&n->arrays, int32_t, 2 * rows);
    v->edge = add_rows(n, rows, W);
    add_norm(n, &v->edge_norm, rows);
    v->score = add_rows(n, rows, 1);
    v->score_of_edge = add_rows(n, edges, 1);
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
           X = (size_t)n->shape.inputs, widest = W > X ? W : X,
           rows = rows_of_edges(n, edges);

    for (int i = 0; i < 2; i++) add_norm(n, &n->input_norm[i], nodes);
    n->input = add_rows(n, nodes, W);
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
    n->d_score = add_rows(n, rows, 1);
    n->product = add_rows(n, rows, W);
    n->d_product = add_rows(n, rows, W);
    n->d_edge = add_rows(n, rows, W);
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

static void convolve(const emp_hsdag_net *n, emp_real *y, const emp_real *x,
                     const emp_hsdag_graph *g)
{
    emp_graph_conv(y, x, g->first, g->node, g->node_count, n->shape.width, n->threads);
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
            if (!has_masks(n) && w < u) {
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

static void score_edges(emp_hsdag_net *n, emp_hsdag_level *v, emp_rng *rng)
{
    const emp_hsdag_graph *g = &v->graph;
    int32_t                nodes = g->node_count;

    convolve(n, v->mixed, v->h, g);
    layer(n, v->hidden, v->mixed, CONVOLVE_1, nodes, rng);
    convolve(n, v->hidden_mixed, v->hidden, g);
    if (emp_stop_is_set(n->stop)) return;
    layer(n, v->convolved, v->hidden_mixed, CONVOLVE_2, nodes, rng);
    normalize(n, v->g, &v->g_norm, v->h, v->convolved, G_NORM, nodes);
    if (emp_stop_is_set(n->stop)) return;
    list_edges(n, v);
    multiply_ends(n->product, v->g, v->end, v->row_count, n->shape.width);
    normal_layer(n, v->edge, &v->edge_norm, n->product, EDGE, EDGE_NORM, v->row_count,
                 rng);
    affine(n, v->score, v->edge, SCORE, v->row_count);
    for (int32_t r = 0; r < v->row_count; r++) v->score[r] = logistic(v->score[r]);
    for (int32_t e = 0; e < g->edge_count; e++)
        v->score_of_edge[e] = v->score[v->row_of_edge[e]];
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
        emp_vector_add(&v->sum[a * W], &v->member[u * W], W);
        for (int32_t e = g->first[u]; e < g->first[u + 1]; e++)
            if (v->group_of_node[g->node[e]] == a) v->factor[a] += v->score_of_edge[e];
    }
    for (int32_t a = 0; a < v->groups; a++)
        if (!(v->factor[a] > 0)) v->factor[a] = 1;
}

static void pool(emp_hsdag_net *n, emp_hsdag_level *v, emp_rng *rng)
{
    int32_t nodes = v->graph.node_count, W = n->shape.width;

    layer(n, v->single, v->mixed, SINGLE, nodes, rng);
    normalize(n, v->q, &v->q_norm, v->h, v->single, Q_NORM, nodes);
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

void emp_hsdag_net_forward(emp_hsdag_net *n, const emp_real *x, emp_rng *rng)
{
    const emp_hsdag_level *last;

    normal_layer(n, n->input, &n->input_norm[0], x, INPUT_1, INPUT_1_NORM, n->node_count,
                 rng);
    normal_layer(n, n->level[0].h, &n->input_norm[1], n->input, INPUT_2, INPUT_2_NORM,
                 n->node_count, rng);
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

/* The gradient of y = affine x: dx = beta dx + dy w', unless dx is NULL. */
static void affine_back(emp_hsdag_net *n, emp_real *dx, emp_real beta, const emp_real *dy,
                        const emp_real *x, int32_t map, int32_t rows)
{
    const int32_t C = inputs_of(n, map), K = outputs_of(n, map);

    emp_linear_backward(NULL, emp_params_gradient(&n->params, map),
                        emp_params_gradient(&n->params, map + 1), dy, x, NULL, rows, C, K,
                        n->threads);
    if (dx != NULL)
        emp_blas_gemm_shared(false, true, rows, C, K, dy, K,
                             emp_params_value(&n->params, map), K, beta, dx, C,
                             n->threads);
}

/* The gradient of y = D(affine x); dy is overwritten. */
static void layer_back(emp_hsdag_net *n, emp_real *dx, emp_real beta, emp_real *dy,
                       const emp_real *y, const emp_real *x, int32_t map, int32_t rows)
{
    emp_relu_dropout_backward(dy, y, (int64_t)rows * outputs_of(n, map),
                              n->shape.dropout);
    affine_back(n, dx, beta, dy, x, map, rows);
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
    memcpy(dx, dy, (size_t)rows * (size_t)n->shape.width * sizeof *dx);
    affine_back(n, dx, 1, dy, x, map, rows);
}

/* The gradient of y = D(LN(affine x)); dy is overwritten. */
static void normal_layer_back(emp_hsdag_net *n, emp_real *dx, emp_real *dy,
                              const emp_real *y, const emp_hsdag_norm *from,
                              const emp_real *x, int32_t map, int32_t norm, int32_t rows)
{
    emp_relu_dropout_backward(dy, y, (int64_t)rows * n->shape.width, n->shape.dropout);
    normalize_back(n, dy, from, norm, rows);
    affine_back(n, dx, 0, dy, x, map, rows);
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
    affine_back(n, n->dy, 0, n->d_logits, n->before_logits, DEVICE_2, groups);
    emp_activation_backward(EMP_ACTIVATION_RELU, n->dy, n->before_logits,
                            (int64_t)groups * n->shape.width);
    affine_back(n, n->dx, 0, n->dy, n->code, DEVICE_1, groups);
    layer_back(n, n->dy, 0, n->dx, n->code, n->before_code, CODE_2, groups);
    layer_back(n, n->dh, 0, n->dy, n->before_code, n->level[n->depth].h, CODE_1, groups);
}

/* ---- one level ---- */

EMP_KERNEL static emp_real dot(const emp_real *x, const emp_real *y, int64_t count)
{
    emp_real sum = 0;

#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; i++) sum += x[i] * y[i];
    return sum;
}

/* From dh by groups to dh by nodes, the gradient of q; sets the gradient of the factors. */
static void from_groups(emp_hsdag_net *n, const emp_hsdag_level *v)
{
    int64_t W = n->shape.width;

    for (int64_t a = 0; a < v->groups; a++) {
        n->d_factor[a] = dot(&n->dh[a * W], &v->pooled[a * W], W);
        for (int64_t i = 0; i < W; i++)
            n->dy[a * W + i] = v->factor[a] * n->dh[a * W + i];
    }
    residual_back(n, n->dx, n->dy, &v->pooled_norm, v->sum, POOL, POOL_NORM, v->groups);
    for (int64_t u = 0; u < v->graph.node_count; u++)
        memcpy(&n->dy[u * W], &n->dx[v->group_of_node[u] * W], (size_t)W * sizeof *n->dy);
    residual_back(n, n->dh, n->dy, &v->member_norm, v->q, MEMBER, MEMBER_NORM,
                  v->graph.node_count);
}

EMP_KERNEL static void add_product(emp_real *y, const emp_real *a, const emp_real *b,
                                   int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++) y[i] += a[i] * b[i];
}

/* Scores of edges inside of groups are in the factors, and others have no gradient: rows inside move to the front,
 * and their number is returned. */
static int32_t keep_inside(emp_hsdag_net *n, emp_hsdag_level *v)
{
    const int64_t  W = n->shape.width;
    const emp_real ends = has_masks(n) ? 1 : 2; /* that a row has in the factor */
    const size_t   bytes = (size_t)W * sizeof *v->edge;
    int64_t        count = 0;

    for (int64_t r = 0; r < v->row_count; r++) {
        const int32_t *end = &v->end[2 * r], a = v->group_of_node[end[0]];
        if (v->group_of_node[end[1]] != a) continue;
        n->d_score[count] = ends * n->d_factor[a] * v->score[r] * (1 - v->score[r]);
        memmove(&v->end[2 * count], end, 2 * sizeof *end);
        memmove(&v->edge[count * W], &v->edge[r * W], bytes);
        memmove(&v->edge_norm.normal[count * W], &v->edge_norm.normal[r * W], bytes);
        v->edge_norm.inverse[count] = v->edge_norm.inverse[r];
        count++;
    }
    return (int32_t)count;
}

/* The gradient of g, into dg. */
static void from_scores(emp_hsdag_net *n, emp_hsdag_level *v)
{
    const int64_t W = n->shape.width;
    const int32_t rows = keep_inside(n, v);

    memset(n->dg, 0, (size_t)(v->graph.node_count * W) * sizeof *n->dg);
    if (rows == 0) return;
    affine_back(n, n->d_edge, 0, n->d_score, v->edge, SCORE, rows);
    multiply_ends(n->product, v->g, v->end, rows, W);
    normal_layer_back(n, n->d_product, n->d_edge, v->edge, &v->edge_norm, n->product,
                      EDGE, EDGE_NORM, rows);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t u = v->end[2 * r], w = v->end[2 * r + 1];
        add_product(&n->dg[u * W], &n->d_product[r * W], &v->g[w * W], W);
        add_product(&n->dg[w * W], &n->d_product[r * W], &v->g[u * W], W);
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
    normalize_back(n, n->dh, &v->q_norm, Q_NORM, nodes);
    memcpy(n->dy, n->dh, bytes);
    layer_back(n, v->q, 0, n->dy, v->single, v->mixed, SINGLE, nodes); /* q: of mixed */
    from_scores(n, v);
    if (emp_stop_is_set(n->stop)) return;
    normalize_back(n, n->dg, &v->g_norm, G_NORM, nodes);
    emp_vector_add(n->dh, n->dg, count);
    layer_back(n, n->dx, 0, n->dg, v->convolved, v->hidden_mixed, CONVOLVE_2, nodes);
    convolve(n, n->dy, n->dx, g);
    layer_back(n, v->q, 1, n->dy, v->hidden, v->mixed, CONVOLVE_1, nodes);
    convolve(n, n->dy, v->q, g);
    emp_vector_add(n->dh, n->dy, count);
}

void emp_hsdag_net_backward(emp_hsdag_net *n, const emp_real *x,
                            const int32_t *device_of_group, double weight, double entropy)
{
    from_devices(n, device_of_group, weight, entropy);
    for (int32_t l = n->depth - 1; l >= 0 && !emp_stop_is_set(n->stop); l--)
        level_backward(n, &n->level[l]);
    normal_layer_back(n, n->dx, n->dh, n->level[0].h, &n->input_norm[1], n->input,
                      INPUT_2, INPUT_2_NORM, n->node_count);
    normal_layer_back(n, NULL, n->dx, n->input, &n->input_norm[0], x, INPUT_1,
                      INPUT_1_NORM, n->node_count);
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
