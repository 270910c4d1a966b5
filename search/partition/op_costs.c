// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/partition/op_costs.h"

#include <math.h>

static const double cpu_bytes_per_s = 32e9;

static double bytes_of(const emp_tensor *tensor)
{
    return (double)emp_shape_elements(tensor->shape) *
           (double)emp_dtype_bytes(tensor->dtype);
}

/* The bytes that an op reads and makes. */
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

static double time_on(const emp_problem *problem, emp_op_id op, emp_device_id device)
{
    const emp_cost_table *costs = problem->costs;
    size_t                row = emp_cost_row(costs, device, op);

    if (problem->machine->device[device].kind == EMP_DEVICE_CPU)
        return (double)costs->cpu[row].compute_ns;
    return (double)(costs->gpu[row].compute_ns + costs->gpu[row].issue_ns);
}

/* The mean over the devices of a kind. */
static double time_ns(const emp_problem *problem, emp_op_id op, emp_device_kind kind)
{
    const emp_cost_table *costs = problem->costs;
    const emp_machine    *m = problem->machine;
    double                sum = 0.0;
    int32_t               count = 0;

    if (costs->column_count[kind] == 1)
        return kind == EMP_DEVICE_CPU
                   ? (double)costs->cpu[op].compute_ns
                   : (double)(costs->gpu[op].compute_ns + costs->gpu[op].issue_ns);
    for (emp_device_id d = 0; d < m->device_count; d++) {
        if (m->device[d].kind != kind) continue;
        sum += time_on(problem, op, d);
        count++;
    }
    return sum / count;
}

static bool can_be_on_both(const emp_graph *graph, emp_op_id op)
{
    const uint32_t both = EMP_KIND_CPU | EMP_KIND_GPU;

    return !graph->op[op].is_folded && (graph->op[op].kinds & both) == both;
}

double emp_op_costs_of(const emp_problem *problem, emp_op_id op, emp_op_costs costs,
                       emp_device_kind kind)
{
    switch (costs) {
    case EMP_OP_COSTS_FLOPS: return problem->graph->op[op].cost->flops;
    case EMP_OP_COSTS_GRAPPLER:
        return emp_grappler_cost_ns(problem->graph, op,
                                    emp_machine_first(problem->machine, kind));
    default: return time_ns(problem, op, kind);
    }
}

double emp_op_costs_cpu_speed(const emp_problem *problem)
{
    const emp_graph *graph = problem->graph;
    double           sum[EMP_DEVICE_KINDS] = {0.0, 0.0};

    for (emp_op_id op = 0; op < graph->op_count; op++) {
        if (!can_be_on_both(graph, op)) continue;
        for (emp_device_kind k = EMP_DEVICE_CPU; k < EMP_DEVICE_KINDS; k++)
            sum[k] += time_ns(problem, op, k);
    }
    return sum[EMP_DEVICE_CPU] > 0.0 && sum[EMP_DEVICE_GPU] > 0.0
               ? sum[EMP_DEVICE_GPU] / sum[EMP_DEVICE_CPU]
               : 1.0;
}

double emp_op_costs_speed(const emp_problem *problem, emp_device_id device)
{
    const emp_graph *graph = problem->graph;
    double           mean = 0.0, own = 0.0;

    for (emp_op_id op = 0; op < graph->op_count; op++) {
        if (!can_be_on_both(graph, op)) continue;
        mean += time_ns(problem, op, EMP_DEVICE_GPU);
        own += time_on(problem, op, device);
    }
    return mean > 0.0 && own > 0.0 ? mean / own : 1.0;
}
