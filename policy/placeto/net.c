// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/placeto/net.h"

#include <string.h>

#include "policy/placeto/layers_internal.h"

/* ---- creation ---- */

static emp_status init_params(emp_placeto_net *net, emp_error *err)
{
    int32_t         d = net->shape.inputs, count = 0;
    emp_param_slice slices[2 * EMP_PLACETO_LAYERS];
    const int32_t   head[] = {8 * d, 16 * d, 8 * d, net->shape.devices};

    for (int32_t layer = 0; layer < EMP_PLACETO_LAYERS; layer++) {
        int32_t in = layer < EMP_PLACETO_POOL ? d : 2 * d, out = in;
        if (layer >= EMP_PLACETO_HEAD) {
            in = head[layer - EMP_PLACETO_HEAD];
            out = head[layer - EMP_PLACETO_HEAD + 1];
        }
        slices[count++] = (emp_param_slice){"weights", in, out, 0};
        slices[count++] = (emp_param_slice){"bias", 1, out, 0};
    }
    EMP_CHECK(emp_params_init(&net->params, slices, count, err));
    net->params.threads = net->shape.threads;
    return EMP_OK;
}

static emp_placeto_messages add_messages(emp_arrays *arrays, size_t rows, size_t results,
                                         size_t width)
{
    return (emp_placeto_messages){
        .inner = EMP_ADD_ARRAY(arrays, emp_real, rows * width),
        .message = EMP_ADD_ARRAY(arrays, emp_real, rows * width),
        .sum = EMP_ADD_ARRAY(arrays, emp_real, results * width),
        .outer = EMP_ADD_ARRAY(arrays, emp_real, results * width),
        .out = EMP_ADD_ARRAY(arrays, emp_real, results * width)};
}

static void add_forward_arrays(emp_placeto_net *net)
{
    emp_arrays *a = &net->arrays;
    size_t      d = (size_t)net->shape.inputs, rollouts = (size_t)net->shape.max_rollouts;
    size_t      rows = rollouts * (size_t)net->graph->node_count;
    size_t      passes = (size_t)net->shape.passes;

    net->relation = EMP_ADD_ARRAY(a, uint8_t, (size_t)net->graph->node_count);
    net->z1 = EMP_ADD_ARRAY(a, emp_real, rows * d);
    net->z2 = EMP_ADD_ARRAY(a, emp_real, rows * d);
    net->z = EMP_ADD_ARRAY(a, emp_real, rows * d);
    net->e = EMP_ADD_ARRAY(a, emp_real, rows * 2 * d);
    net->u = EMP_ADD_ARRAY(a, emp_real, rollouts * 8 * d);
    net->c1 = EMP_ADD_ARRAY(a, emp_real, rollouts * 16 * d);
    net->c2 = EMP_ADD_ARRAY(a, emp_real, rollouts * 8 * d);
    net->logits = EMP_ADD_ARRAY(a, emp_real, rollouts * (size_t)net->shape.devices);
    for (int32_t k = 0; k < EMP_PLACETO_DIRECTIONS; k++) {
        net->y[k] = EMP_ADD_ARRAY(a, emp_real, (passes + 1) * rows * d);
        net->pass[k] = EMP_ADD_ARRAY(a, emp_placeto_messages, passes);
        for (size_t i = 0; i < passes && net->pass[k] != NULL; i++)
            net->pass[k][i] = add_messages(a, rows, rows, d);
    }
    for (int32_t k = 0; k < EMP_PLACETO_RELATIONS; k++)
        net->pool[k] = add_messages(a, rows, rollouts, 2 * d);
}

static void add_backward_arrays(emp_placeto_net *net)
{
    emp_arrays *a = &net->arrays;
    size_t      d = (size_t)net->shape.inputs, rollouts = (size_t)net->shape.max_rollouts;
    size_t      rows = rollouts * (size_t)net->graph->node_count;

    for (int32_t i = 0; i < 4; i++)
        net->d_wide[i] = EMP_ADD_ARRAY(a, emp_real, rows * 2 * d);
    net->d_e = EMP_ADD_ARRAY(a, emp_real, rows * 2 * d);
    net->d_z = EMP_ADD_ARRAY(a, emp_real, rows * d);
    net->d_y = EMP_ADD_ARRAY(a, emp_real, rows * d);
    net->d_u = EMP_ADD_ARRAY(a, emp_real, rollouts * 8 * d);
    net->d_c1 = EMP_ADD_ARRAY(a, emp_real, rollouts * 16 * d);
    net->d_c2 = EMP_ADD_ARRAY(a, emp_real, rollouts * 8 * d);
    net->d_pool = EMP_ADD_ARRAY(a, emp_real, rollouts * 2 * d);
}

/* In a topological order, all that comes before a predecessor comes before the node. */
static void find_ancestors(emp_placeto_net *net)
{
    const emp_node_graph *g = net->graph;
    const emp_node_edges *edges = &g->predecessors;

    for (int32_t i = 0; i < g->node_count; i++) {
        int64_t   v = g->order[i];
        uint64_t *own = &net->ancestors[v * net->words];
        for (int32_t k = edges->first[v]; k < edges->first[v + 1]; k++) {
            int64_t         u = edges->node[k];
            const uint64_t *other = &net->ancestors[u * net->words];
            for (int32_t w = 0; w < net->words; w++) own[w] |= other[w];
            own[u / 64] |= UINT64_C(1) << u % 64;
        }
    }
}

emp_status emp_placeto_net_init(emp_placeto_net *net, const emp_node_graph *graph,
                                const emp_placeto_shape *shape, emp_error *err)
{
    emp_status st = EMP_OK;

    *net = (emp_placeto_net){
        .shape = *shape, .graph = graph, .words = (graph->node_count + 63) / 64};
    EMP_TRY(init_params(net, err));
    net->ancestors = EMP_ADD_ARRAY(&net->arrays, uint64_t,
                                   (size_t)graph->node_count * (size_t)net->words);
    add_forward_arrays(net);
    add_backward_arrays(net);
    if (net->arrays.is_short)
        EMP_FAIL(EMP_ENOMEM, "a network over %d nodes", graph->node_count);
    find_ancestors(net);

cleanup:
    if (st != EMP_OK) emp_placeto_net_clear(net);
    return st;
}

void emp_placeto_net_clear(emp_placeto_net *net)
{
    emp_params_clear(&net->params);
    emp_arrays_clear(&net->arrays);
    *net = (emp_placeto_net){0};
}

void emp_placeto_net_randomize(emp_placeto_net *net, emp_rng *rng)
{
    for (int32_t layer = 0; layer < EMP_PLACETO_LAYERS; layer++)
        emp_params_glorot(&net->params, 2 * layer, 1.0, rng);
}

int64_t emp_placeto_net_parameters(const emp_placeto_net *net)
{
    int64_t count = 0;

    for (int32_t i = 0; i < net->params.slice_count; i++)
        count += (int64_t)net->params.slice[i].rows * net->params.slice[i].cols;
    return count;
}

/* ---- forward ---- */

static bool is_ancestor(const emp_placeto_net *net, int32_t u, int32_t of)
{
    return net->ancestors[(int64_t)of * net->words + u / 64] >> u % 64 & 1;
}

static void relate(emp_placeto_net *net, int32_t node)
{
    for (int32_t u = 0; u < net->graph->node_count; u++) {
        net->relation[u] = EMP_PLACETO_OTHER;
        if (is_ancestor(net, u, node)) net->relation[u] = EMP_PLACETO_ANCESTOR;
        if (is_ancestor(net, node, u)) net->relation[u] = EMP_PLACETO_DESCENDANT;
    }
    net->relation[node] = EMP_PLACETO_SELF;
}

static int32_t row_count(const emp_placeto_net *net)
{
    return net->rollouts * net->graph->node_count;
}

/* One pass of messages: y' = z + AGG(y), where AGG is 0 for nodes that hear nobody. */
static void pass_messages(emp_placeto_net *net, int32_t direction, int32_t pass)
{
    const emp_node_edges *edges = emp_placeto_sources(net, direction);
    emp_placeto_messages *m = &net->pass[direction][pass];
    int32_t               layer = EMP_PLACETO_PASS + 4 * direction, rows = row_count(net);
    int64_t               d = net->shape.inputs, size = rows * d;
    emp_real             *y = net->y[direction] + pass * size, *next = y + size;

    emp_placeto_map_relu(net, layer, m->inner, y, rows);
    emp_placeto_map_relu(net, layer + 1, m->message, m->inner, rows);
    emp_placeto_sum_edges(net, edges, m->sum, m->message, (int32_t)d);
    emp_placeto_map_relu(net, layer + 2, m->outer, m->sum, rows);
    emp_placeto_map_relu(net, layer + 3, m->out, m->outer, rows);
    memcpy(next, net->z, (size_t)size * sizeof *next);
    for (int32_t row = 0; row < rows; row++) {
        int32_t v = row % net->graph->node_count;
        if (edges->first[v] == edges->first[v + 1]) continue;
        for (int64_t c = row * d; c < (row + 1) * d; c++) next[c] += m->out[c];
    }
}

static void embed(emp_placeto_net *net)
{
    int32_t rows = row_count(net);
    int64_t d = net->shape.inputs, size = rows * d;
    size_t  width = (size_t)d * sizeof(emp_real);

    emp_placeto_map_relu(net, EMP_PLACETO_INPUT, net->z1, net->x, rows);
    emp_placeto_map_relu(net, EMP_PLACETO_INPUT + 1, net->z2, net->z1, rows);
    emp_placeto_map(net, EMP_PLACETO_INPUT + 2, net->z, net->z2, rows);
    for (int32_t k = 0; k < EMP_PLACETO_DIRECTIONS; k++) {
        memcpy(net->y[k], net->z, (size_t)size * sizeof *net->z);
        for (int32_t i = 0; i < net->shape.passes; i++) pass_messages(net, k, i);
        const emp_real *last = net->y[k] + net->shape.passes * size;
        for (int64_t row = 0; row < rows; row++)
            memcpy(&net->e[row * 2 * d + k * d], &last[row * d], width);
    }
}

/* What the nodes of one relation say to the node, into its part of u. */
static void pool(emp_placeto_net *net, int32_t relation)
{
    emp_placeto_messages *m = &net->pool[relation];
    int32_t               layer = EMP_PLACETO_POOL + 4 * relation;
    int64_t               w = 2 * net->shape.inputs, nodes = net->graph->node_count;

    emp_placeto_map_relu(net, layer, m->inner, net->e, row_count(net));
    emp_placeto_map_relu(net, layer + 1, m->message, m->inner, row_count(net));
    memset(m->sum, 0, (size_t)(net->rollouts * w) * sizeof *m->sum);
    for (int64_t r = 0; r < net->rollouts; r++)
        for (int64_t u = 0; u < nodes; u++)
            for (int64_t c = 0; c < w && net->relation[u] == relation; c++)
                m->sum[r * w + c] += m->message[(r * nodes + u) * w + c];
    emp_placeto_map_relu(net, layer + 2, m->outer, m->sum, net->rollouts);
    emp_placeto_map_relu(net, layer + 3, m->out, m->outer, net->rollouts);
    for (int64_t r = 0; r < net->rollouts; r++)
        memcpy(&net->u[r * 4 * w + relation * w], &m->out[r * w],
               (size_t)w * sizeof *m->out);
}

void emp_placeto_net_forward(emp_placeto_net *net, const emp_real *x, int32_t node,
                             int32_t rollouts)
{
    int64_t w = 2 * net->shape.inputs, nodes = net->graph->node_count;

    net->x = x;
    net->node = node;
    net->rollouts = rollouts;
    relate(net, node);
    embed(net);
    for (int32_t k = 0; k < EMP_PLACETO_RELATIONS; k++) pool(net, k);
    for (int64_t r = 0; r < rollouts; r++)
        memcpy(&net->u[(4 * r + EMP_PLACETO_SELF) * w], &net->e[(r * nodes + node) * w],
               (size_t)w * sizeof *net->u);
    emp_placeto_map_relu(net, EMP_PLACETO_HEAD, net->c1, net->u, rollouts);
    emp_placeto_map_relu(net, EMP_PLACETO_HEAD + 1, net->c2, net->c1, rollouts);
    emp_placeto_map(net, EMP_PLACETO_HEAD + 2, net->logits, net->c2, rollouts);
}
