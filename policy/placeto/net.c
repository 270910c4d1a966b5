// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/placeto/placeto.h"

#include <string.h>

#include "policy/nn/layers.h"

/* The first affine maps of parts, in the order of their parameters: 3 of the input, 4 of each AGG,
 * 3 of the head. */
enum {
    INPUT = 0,
    PASS = 3,
    POOL = PASS + 4 * EMP_PLACETO_DIRECTIONS,
    HEAD = POOL + 4 * EMP_PLACETO_RELATIONS
};

/* Relations of a node to the one that gets a device; the first three have an AGG each. */
enum { ANCESTOR, DESCENDANT, OTHER, SELF };

/* Edges that messages of a direction come over, and those that they leave by. */
static const emp_node_edges *sources_of(const emp_placeto_net *net, int32_t direction)
{
    return direction == 0 ? &net->graph->predecessors : &net->graph->successors;
}

static emp_param_slice weights(const emp_placeto_net *net, int32_t layer)
{
    return net->params.slice[2 * layer];
}

/* y = x w + b of map layer on rows rows. */
static void map(const emp_placeto_net *net, int32_t layer, emp_real *y, const emp_real *x,
                int32_t rows)
{
    emp_param_slice w = weights(net, layer);

    emp_linear_forward(y, x, emp_params_value(&net->params, 2 * layer),
                       emp_params_value(&net->params, 2 * layer + 1), rows, w.rows,
                       w.cols, net->shape.threads);
}

/* The same, and a ReLU. */
static void map_relu(const emp_placeto_net *net, int32_t layer, emp_real *y,
                     const emp_real *x, int32_t rows)
{
    map(net, layer, y, x, rows);
    emp_activation_forward(EMP_ACTIVATION_RELU, y,
                           (int64_t)rows * weights(net, layer).cols);
}

/* Adds to the map's gradient; dx may be NULL. */
static void map_backward(const emp_placeto_net *net, int32_t layer, emp_real *dx,
                         const emp_real *dy, const emp_real *x, int32_t rows)
{
    emp_param_slice w = weights(net, layer);

    emp_linear_backward(dx, emp_params_gradient(&net->params, 2 * layer),
                        emp_params_gradient(&net->params, 2 * layer + 1), dy, x,
                        emp_params_value(&net->params, 2 * layer), rows, w.rows, w.cols,
                        net->shape.threads);
}

/* The same through a ReLU, from its output y; dy changes. */
static void map_relu_backward(const emp_placeto_net *net, int32_t layer, emp_real *dx,
                              emp_real *dy, const emp_real *y, const emp_real *x,
                              int32_t rows)
{
    emp_activation_backward(EMP_ACTIVATION_RELU, dy, y,
                            (int64_t)rows * weights(net, layer).cols);
    map_backward(net, layer, dx, dy, x, rows);
}

/* y[r][v] = sum of x[r][u] over the edges of v; (rollouts x nodes, width) both. */
static void sum_edges(const emp_placeto_net *net, const emp_node_edges *edges,
                      emp_real *y, const emp_real *x, int32_t width)
{
    int64_t nodes = net->graph->node_count;

    memset(y, 0, (size_t)(net->rollouts * nodes * width) * sizeof *y);
    for (int64_t r = 0; r < net->rollouts; r++) {
        for (int64_t v = 0; v < nodes; v++) {
            emp_real *to = &y[(r * nodes + v) * width];
            for (int32_t i = edges->first[v]; i < edges->first[v + 1]; i++) {
                const emp_real *from = &x[(r * nodes + edges->node[i]) * width];
                for (int32_t c = 0; c < width; c++) to[c] += from[c];
            }
        }
    }
}

/* ---- creation ---- */

static emp_status init_params(emp_placeto_net *net, emp_error *err)
{
    int32_t         d = net->shape.inputs, count = 0;
    emp_param_slice slices[2 * EMP_PLACETO_LAYERS];
    const int32_t   head[] = {8 * d, 16 * d, 8 * d, net->shape.devices};

    for (int32_t layer = 0; layer < EMP_PLACETO_LAYERS; layer++) {
        int32_t in = layer < POOL ? d : 2 * d, out = in;
        if (layer >= HEAD) {
            in = head[layer - HEAD];
            out = head[layer - HEAD + 1];
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

/* ---- forward ---- */

static bool is_ancestor(const emp_placeto_net *net, int32_t u, int32_t of)
{
    return net->ancestors[(int64_t)of * net->words + u / 64] >> u % 64 & 1;
}

static void relate(emp_placeto_net *net, int32_t node)
{
    for (int32_t u = 0; u < net->graph->node_count; u++) {
        net->relation[u] = OTHER;
        if (is_ancestor(net, u, node)) net->relation[u] = ANCESTOR;
        if (is_ancestor(net, node, u)) net->relation[u] = DESCENDANT;
    }
    net->relation[node] = SELF;
}

static int32_t row_count(const emp_placeto_net *net)
{
    return net->rollouts * net->graph->node_count;
}

/* One pass of messages: y' = z + AGG(y), where AGG is 0 for nodes without neighbours. */
static void pass_messages(emp_placeto_net *net, int32_t direction, int32_t pass)
{
    const emp_node_edges *edges = sources_of(net, direction);
    emp_placeto_messages *m = &net->pass[direction][pass];
    int32_t               layer = PASS + 4 * direction, rows = row_count(net);
    int64_t               d = net->shape.inputs, size = rows * d;
    emp_real             *y = net->y[direction] + pass * size, *next = y + size;

    map_relu(net, layer, m->inner, y, rows);
    map_relu(net, layer + 1, m->message, m->inner, rows);
    sum_edges(net, edges, m->sum, m->message, (int32_t)d);
    map_relu(net, layer + 2, m->outer, m->sum, rows);
    map_relu(net, layer + 3, m->out, m->outer, rows);
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

    map_relu(net, INPUT, net->z1, net->x, rows);
    map_relu(net, INPUT + 1, net->z2, net->z1, rows);
    map(net, INPUT + 2, net->z, net->z2, rows);
    for (int32_t k = 0; k < EMP_PLACETO_DIRECTIONS; k++) {
        memcpy(net->y[k], net->z, (size_t)size * sizeof *net->z);
        for (int32_t i = 0; i < net->shape.passes; i++) pass_messages(net, k, i);
        const emp_real *last = net->y[k] + net->shape.passes * size;
        for (int64_t row = 0; row < rows; row++)
            memcpy(&net->e[row * 2 * d + k * d], &last[row * d], width);
    }
}

/* Pools the nodes of one relation into the node's part of u. */
static void pool(emp_placeto_net *net, int32_t relation)
{
    emp_placeto_messages *m = &net->pool[relation];
    int32_t               layer = POOL + 4 * relation;
    int64_t               w = 2 * net->shape.inputs, nodes = net->graph->node_count;

    map_relu(net, layer, m->inner, net->e, row_count(net));
    map_relu(net, layer + 1, m->message, m->inner, row_count(net));
    memset(m->sum, 0, (size_t)(net->rollouts * w) * sizeof *m->sum);
    for (int64_t r = 0; r < net->rollouts; r++)
        for (int64_t u = 0; u < nodes; u++)
            for (int64_t c = 0; c < w && net->relation[u] == relation; c++)
                m->sum[r * w + c] += m->message[(r * nodes + u) * w + c];
    map_relu(net, layer + 2, m->outer, m->sum, net->rollouts);
    map_relu(net, layer + 3, m->out, m->outer, net->rollouts);
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
        memcpy(&net->u[(4 * r + SELF) * w], &net->e[(r * nodes + node) * w],
               (size_t)w * sizeof *net->u);
    map_relu(net, HEAD, net->c1, net->u, rollouts);
    map_relu(net, HEAD + 1, net->c2, net->c1, rollouts);
    map(net, HEAD + 2, net->logits, net->c2, rollouts);
}

/* Through the head, into d_u. */
static void leave_head(emp_placeto_net *net, const emp_real *d_logits)
{
    int32_t rows = net->rollouts;

    map_backward(net, HEAD + 2, net->d_c2, d_logits, net->c2, rows);
    map_relu_backward(net, HEAD + 1, net->d_c1, net->d_c2, net->c2, net->c1, rows);
    map_relu_backward(net, HEAD, net->d_u, net->d_c1, net->c1, net->u, rows);
}

/* Through what the nodes of one relation say, from its part of d_u; adds to d_e. */
static void leave_pool(emp_placeto_net *net, int32_t relation)
{
    emp_placeto_messages *m = &net->pool[relation];
    int32_t               layer = POOL + 4 * relation;
    int64_t               w = 2 * net->shape.inputs, nodes = net->graph->node_count;
    int32_t               rows = net->rollouts * net->graph->node_count;
    emp_real             *d_outer = net->d_wide[0], *d_sum = net->d_wide[1];
    emp_real             *d_message = net->d_wide[2], *d_inner = net->d_wide[3];

    for (int64_t r = 0; r < net->rollouts; r++)
        memcpy(&net->d_pool[r * w], &net->d_u[(4 * r + relation) * w],
               (size_t)w * sizeof *net->d_pool);
    map_relu_backward(net, layer + 3, d_outer, net->d_pool, m->out, m->outer,
                      net->rollouts);
    map_relu_backward(net, layer + 2, d_sum, d_outer, m->outer, m->sum, net->rollouts);
    memset(d_message, 0, (size_t)(rows * w) * sizeof *d_message);
    for (int64_t r = 0; r < net->rollouts; r++)
        for (int64_t u = 0; u < nodes; u++)
            if (net->relation[u] == relation)
                memcpy(&d_message[(r * nodes + u) * w], &d_sum[r * w],
                       (size_t)w * sizeof *d_sum);
    map_relu_backward(net, layer + 1, d_inner, d_message, m->message, m->inner, rows);
    map_relu_backward(net, layer, d_message, d_inner, m->inner, net->e, rows);
    emp_vector_add(net->d_e, d_message, rows * w);
}

/* Back through one pass: d_y holds the gradient of y', then of y; adds to d_z. */
static void leave_pass(emp_placeto_net *net, int32_t direction, int32_t pass)
{
    const emp_node_edges *sources = sources_of(net, direction);
    const emp_node_edges *readers = sources_of(net, 1 - direction);
    emp_placeto_messages *m = &net->pass[direction][pass];
    int32_t               nodes = net->graph->node_count, rows = net->rollouts * nodes;
    int32_t               layer = PASS + 4 * direction;
    int64_t               d = net->shape.inputs, size = rows * d;
    const emp_real       *y = net->y[direction] + pass * size;
    emp_real             *one = net->d_wide[0], *two = net->d_wide[1];

    emp_vector_add(net->d_z, net->d_y, size);
    for (int32_t row = 0; row < rows; row++) {
        int32_t v = row % nodes;
        if (sources->first[v] == sources->first[v + 1])
            memset(&net->d_y[row * d], 0, (size_t)d * sizeof *net->d_y);
    }
    map_relu_backward(net, layer + 3, one, net->d_y, m->out, m->outer, rows);
    map_relu_backward(net, layer + 2, two, one, m->outer, m->sum, rows);
    sum_edges(net, readers, one, two, (int32_t)d);
    map_relu_backward(net, layer + 1, two, one, m->message, m->inner, rows);
    map_relu_backward(net, layer, net->d_y, two, m->inner, y, rows);
}

static void leave_direction(emp_placeto_net *net, int32_t direction)
{
    int32_t rows = net->rollouts * net->graph->node_count;
    int64_t d = net->shape.inputs;

    for (int64_t row = 0; row < rows; row++)
        memcpy(&net->d_y[row * d], &net->d_e[row * 2 * d + direction * d],
               (size_t)d * sizeof *net->d_y);
    for (int32_t i = net->shape.passes - 1; i >= 0; i--) leave_pass(net, direction, i);
    emp_vector_add(net->d_z, net->d_y, rows * d);
}

void emp_placeto_net_backward(emp_placeto_net *net, const emp_real *d_logits)
{
    int64_t w = 2 * net->shape.inputs, nodes = net->graph->node_count;
    int32_t rows = net->rollouts * net->graph->node_count;
    size_t  size = (size_t)(rows * w) * sizeof(emp_real);

    leave_head(net, d_logits);
    memset(net->d_e, 0, size);
    memset(net->d_z, 0, size / 2);
    for (int32_t k = 0; k < EMP_PLACETO_RELATIONS; k++) leave_pool(net, k);
    for (int64_t r = 0; r < net->rollouts; r++)
        emp_vector_add(&net->d_e[(r * nodes + net->node) * w],
                       &net->d_u[(4 * r + SELF) * w], w);
    for (int32_t k = 0; k < EMP_PLACETO_DIRECTIONS; k++) leave_direction(net, k);
    map_backward(net, INPUT + 2, net->d_wide[0], net->d_z, net->z2, rows);
    map_relu_backward(net, INPUT + 1, net->d_wide[1], net->d_wide[0], net->z2, net->z1,
                      rows);
    map_relu_backward(net, INPUT, NULL, net->d_wide[1], net->z1, net->x, rows);
}
