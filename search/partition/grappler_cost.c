// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/partition/grappler_cost.h"

#include <math.h>

static const double cpu_bytes_per_s = 32e9;

static double bytes_of(const emp_tensor *tensor)
{
    return (double)emp_shape_elements(tensor->shape) *
           (double)emp_dtype_bytes(tensor->dtype);
}

/* What an op reads and makes. */
typedef struct {
    double bytes;
    double most_elements; /* of an input or of output 0 */
} operands;

static operands operands_of(const emp_graph *graph, emp_op_id op)
{
    operands all = {0.0, 0.0};
    int32_t  first_output = graph->output_offset[op];

    for (int32_t i = graph->input_offset[op]; i < graph->input_offset[op + 1]; i++) {
        const emp_tensor *input = &graph->tensor[graph->input[i]];
        all.bytes += bytes_of(input);
        all.most_elements =
            fmax(all.most_elements, (double)emp_shape_elements(input->shape));
    }
    for (int32_t t = first_output; t < graph->output_offset[op + 1]; t++)
        all.bytes += bytes_of(&graph->tensor[t]);
    return all;
}

static double operations_of(const emp_graph *graph, emp_op_id op, const operands *all)
{
    const emp_op_type *type = emp_graph_type(graph, op);
    const emp_op_cost *cost = graph->op[op].cost;
    int32_t            output = graph->output_offset[op];
    double             elements = all->most_elements;

    if (type->grappler == EMP_GRAPPLER_FLOPS) return cost->flops;
    if (output < graph->output_offset[op + 1] && cost->op_class == EMP_OP_ELEMENTWISE)
        elements =
            fmax(elements, (double)emp_shape_elements(graph->tensor[output].shape));
    return type->grappler == EMP_GRAPPLER_CYCLES ? elements * type->rates.cycles
                                                 : elements;
}

double emp_grappler_cost_ns(const emp_graph *graph, emp_op_id op,
                            const emp_device *device)
{
    emp_op_grappler rule = emp_graph_type(graph, op)->grappler;
    bool            is_gpu = device->kind == EMP_DEVICE_GPU;
    double rate = is_gpu ? device->peak_flops_per_s : device->cores * device->clock_hz;
    double bandwidth = is_gpu ? device->memory_bytes_per_s : cpu_bytes_per_s;

    if (rule == EMP_GRAPPLER_FREE) return 0.0;
    if (rule == EMP_GRAPPLER_SHAPE) return 1.0;
    operands all = operands_of(graph, op);
    return ceil(operations_of(graph, op, &all) * 1e9 / rate) +
           ceil(all.bytes * 1e9 / bandwidth);
}
