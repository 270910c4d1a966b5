// SPDX-License-Identifier: GPL-3.0-or-later
/* Parameters of the network and its arrays. */
#include <string.h>

#include "base/mem.h"
#include "policy/hsdag/hsdag.h"

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

/* Rows of so many edges from both ends. */
static size_t rows_of_edges(const emp_hsdag_net *n, size_t edges)
{
    return emp_hsdag_has_masks(n) ? edges : edges / 2;
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
    add_norm(n, &v->g_norm, nodes);
    add_norm(n, &v->q_norm, nodes);
    add_norm(n, &v->member_norm, nodes);
    v->row_of_edge = EMP_ADD_ARRAY(&n->arrays, int32_t, edges);
    v->end = EMP_ADD_ARRAY(&n->arrays, int32_t, 2 * rows);
    if (emp_hsdag_has_masks(n)) v->edge = add_rows(n, rows, W);
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

static void allocate_rest(emp_hsdag_net *n)
{
    size_t nodes = (size_t)n->node_count, W = (size_t)n->shape.width,
           X = (size_t)n->shape.inputs, widest = W > X ? W : X;

    for (int i = 0; i < 2; i++) add_norm(n, &n->input_norm[i], nodes);
    if (emp_hsdag_has_masks(n)) n->input = add_rows(n, nodes, W);
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
    n->d_score = add_rows(n, EMP_HSDAG_BLOCK, 1);
    n->d_mixed = add_rows(n, nodes, W);
    n->in = add_rows(n, EMP_HSDAG_BLOCK, W);
    n->out = add_rows(n, EMP_HSDAG_BLOCK, W);
    n->d_out = add_rows(n, EMP_HSDAG_BLOCK, W);
    n->normal = add_rows(n, EMP_HSDAG_BLOCK, W);
    n->inverse = add_rows(n, EMP_HSDAG_BLOCK, 1);
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
    allocate_rest(n);
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
