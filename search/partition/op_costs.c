// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/partition/op_costs.h"

#include "search/partition/grappler_cost.h"

static double time_ns(const emp_problem *problem, emp_op_id op, emp_device_kind kind)
{
    const emp_gpu_cost *gpu = &problem->costs->gpu[op];

    return kind == EMP_DEVICE_GPU ? (double)(gpu->compute_ns + gpu->issue_ns)
                                  : (double)problem->costs->cpu[op].compute_ns;
}

double emp_op_costs_of(const emp_problem *problem, emp_op_id op, emp_op_costs costs,
                       emp_device_kind kind)
{
    switch (costs) {
    case EMP_OP_COSTS_FLOPS: return problem->graph->op[op].cost.flops;
    case EMP_OP_COSTS_GRAPPLER:
        return emp_grappler_cost_ns(problem->graph, op,
                                    emp_machine_first(problem->machine, kind));
    default: return time_ns(problem, op, kind);
    }
}

double emp_op_costs_cpu_speed(const emp_problem *problem)
{
    const emp_graph *graph = problem->graph;
    const uint32_t   both = EMP_KIND_CPU | EMP_KIND_GPU;
    double           sum[EMP_DEVICE_KINDS] = {0.0, 0.0};

    for (emp_op_id op = 0; op < graph->op_count; op++) {
        if (graph->op[op].is_folded || (graph->op[op].kinds & both) != both) continue;
        for (emp_device_kind k = EMP_DEVICE_CPU; k < EMP_DEVICE_KINDS; k++)
            sum[k] += time_ns(problem, op, k);
    }
    return sum[EMP_DEVICE_CPU] > 0.0 && sum[EMP_DEVICE_GPU] > 0.0
               ? sum[EMP_DEVICE_GPU] / sum[EMP_DEVICE_CPU]
               : 1.0;
}
