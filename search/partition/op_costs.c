// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/partition/op_costs.h"

#include "search/partition/grappler_cost.h"

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
