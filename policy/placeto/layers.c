// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "policy/nn/linear.h"
#include "policy/placeto/layers_internal.h"

static emp_param_slice weights(const emp_placeto_net *net, int32_t layer)
{
    return net->params.slice[2 * layer];
}

void emp_placeto_map(const emp_placeto_net *net, int32_t layer, emp_real *y,
                     const emp_real *x, int32_t rows)
{
    emp_param_slice w = weights(net, layer);

    emp_linear_forward(y, x, emp_params_value(&net->params, 2 * layer),
                       emp_params_value(&net->params, 2 * layer + 1), rows, w.rows,
                       w.cols, net->shape.threads);
}

void emp_placeto_map_relu(const emp_placeto_net *net, int32_t layer, emp_real *y,
                          const emp_real *x, int32_t rows)
{
    emp_placeto_map(net, layer, y, x, rows);
    emp_activation_forward(EMP_ACTIVATION_RELU, y,
                           (int64_t)rows * weights(net, layer).cols);
}

void emp_placeto_map_backward(const emp_placeto_net *net, int32_t layer, emp_real *dx,
                              const emp_real *dy, const emp_real *x, int32_t rows)
{
    emp_param_slice w = weights(net, layer);

    emp_linear_backward(dx, emp_params_gradient(&net->params, 2 * layer),
                        emp_params_gradient(&net->params, 2 * layer + 1), dy, x,
                        emp_params_value(&net->params, 2 * layer), rows, w.rows, w.cols,
                        net->shape.threads);
}

void emp_placeto_map_relu_backward(const emp_placeto_net *net, int32_t layer,
                                   emp_real *dx, emp_real *dy, const emp_real *y,
                                   const emp_real *x, int32_t rows)
{
    emp_activation_backward(EMP_ACTIVATION_RELU, dy, y,
                            (int64_t)rows * weights(net, layer).cols);
    emp_placeto_map_backward(net, layer, dx, dy, x, rows);
}

void emp_placeto_sum_edges(const emp_placeto_net *net, const emp_node_edges *edges,
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
