// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "policy/nn/linear.h"
#include "policy/placeto/layers_internal.h"
#include "policy/placeto/net.h"

/* Through the head, into d_u. */
static void leave_head(emp_placeto_net *net, const emp_real *d_logits)
{
    int32_t rows = net->rollouts;

    emp_placeto_map_backward(net, EMP_PLACETO_HEAD + 2, net->d_c2, d_logits, net->c2,
                             rows);
    emp_placeto_map_relu_backward(net, EMP_PLACETO_HEAD + 1, net->d_c1, net->d_c2,
                                  net->c2, net->c1, rows);
    emp_placeto_map_relu_backward(net, EMP_PLACETO_HEAD, net->d_u, net->d_c1, net->c1,
                                  net->u, rows);
}

/* Through what the nodes of one relation say, from its part of d_u; adds to d_e. */
static void leave_pool(emp_placeto_net *net, int32_t relation)
{
    emp_placeto_messages *m = &net->pool[relation];
    int32_t               layer = EMP_PLACETO_POOL + 4 * relation;
    int64_t               w = 2 * net->shape.inputs, nodes = net->graph->node_count;
    int32_t               rows = net->rollouts * net->graph->node_count;
    emp_real             *d_outer = net->d_wide[0], *d_sum = net->d_wide[1];
    emp_real             *d_message = net->d_wide[2], *d_inner = net->d_wide[3];

    for (int64_t r = 0; r < net->rollouts; r++)
        memcpy(&net->d_pool[r * w], &net->d_u[(4 * r + relation) * w],
               (size_t)w * sizeof *net->d_pool);
    emp_placeto_map_relu_backward(net, layer + 3, d_outer, net->d_pool, m->out, m->outer,
                                  net->rollouts);
    emp_placeto_map_relu_backward(net, layer + 2, d_sum, d_outer, m->outer, m->sum,
                                  net->rollouts);
    memset(d_message, 0, (size_t)(rows * w) * sizeof *d_message);
    for (int64_t r = 0; r < net->rollouts; r++)
        for (int64_t u = 0; u < nodes; u++)
            if (net->relation[u] == relation)
                memcpy(&d_message[(r * nodes + u) * w], &d_sum[r * w],
                       (size_t)w * sizeof *d_sum);
    emp_placeto_map_relu_backward(net, layer + 1, d_inner, d_message, m->message,
                                  m->inner, rows);
    emp_placeto_map_relu_backward(net, layer, d_message, d_inner, m->inner, net->e, rows);
    emp_vector_add(net->d_e, d_message, rows * w);
}

/* Back through one pass: d_y holds the gradient of y', then that of y; adds to d_z. */
static void leave_pass(emp_placeto_net *net, int32_t direction, int32_t pass)
{
    const emp_node_edges *sources = emp_placeto_sources(net, direction);
    const emp_node_edges *readers = emp_placeto_sources(net, 1 - direction);
    emp_placeto_messages *m = &net->pass[direction][pass];
    int32_t               nodes = net->graph->node_count, rows = net->rollouts * nodes;
    int32_t               layer = EMP_PLACETO_PASS + 4 * direction;
    int64_t               d = net->shape.inputs, size = rows * d;
    const emp_real       *y = net->y[direction] + pass * size;
    emp_real             *one = net->d_wide[0], *two = net->d_wide[1];

    emp_vector_add(net->d_z, net->d_y, size);
    for (int32_t row = 0; row < rows; row++) {
        int32_t v = row % nodes;
        if (sources->first[v] == sources->first[v + 1])
            memset(&net->d_y[row * d], 0, (size_t)d * sizeof *net->d_y);
    }
    emp_placeto_map_relu_backward(net, layer + 3, one, net->d_y, m->out, m->outer, rows);
    emp_placeto_map_relu_backward(net, layer + 2, two, one, m->outer, m->sum, rows);
    emp_placeto_sum_edges(net, readers, one, two, (int32_t)d);
    emp_placeto_map_relu_backward(net, layer + 1, two, one, m->message, m->inner, rows);
    emp_placeto_map_relu_backward(net, layer, net->d_y, two, m->inner, y, rows);
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
                       &net->d_u[(4 * r + EMP_PLACETO_SELF) * w], w);
    for (int32_t k = 0; k < EMP_PLACETO_DIRECTIONS; k++) leave_direction(net, k);
    emp_placeto_map_backward(net, EMP_PLACETO_INPUT + 2, net->d_wide[0], net->d_z,
                             net->z2, rows);
    emp_placeto_map_relu_backward(net, EMP_PLACETO_INPUT + 1, net->d_wide[1],
                                  net->d_wide[0], net->z2, net->z1, rows);
    emp_placeto_map_relu_backward(net, EMP_PLACETO_INPUT, NULL, net->d_wide[1], net->z1,
                                  net->x, rows);
}
