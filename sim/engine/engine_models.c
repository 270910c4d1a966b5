// SPDX-License-Identifier: GPL-3.0-or-later
/* What ops cost where devices of one kind are of several models. A run knows one cost on a CPU and one
 * on a GPU for each op: before it, these become those of the device that the op is on. Most runs of a
 * search move few ops. */
#include <string.h>

#include "sim/engine/engine.h"

enum { NO_DEVICE = UINT8_MAX };

static emp_sim_cost cost_on(const emp_engine *sim, const emp_cost_table *costs,
                            int32_t device, emp_op_id id)
{
    size_t              row = emp_cost_row(costs, device, id);
    const emp_gpu_cost *gpu = &costs->gpu[row];

    if (sim->device[device].kind == EMP_DEVICE_GPU)
        return (emp_sim_cost){.run_ns = gpu->compute_ns, .issue_ns = gpu->issue_ns};
    const emp_cpu_cost *cpu = &costs->cpu[row];
    if (!sim->rules.cpu_pool) return (emp_sim_cost){.run_ns = cpu->compute_ns};
    return (emp_sim_cost){.cpu = {.row = costs->cpu_offset[row], .lanes = cpu->lanes}};
}

/* CPUs' columns come first. */
static int32_t column_of(const emp_engine *sim, const emp_cost_table *costs,
                         int32_t device)
{
    const int32_t first = sim->device[device].kind == EMP_DEVICE_GPU
                              ? costs->column_count[EMP_DEVICE_CPU]
                              : 0;

    return first + costs->column_of_device[device];
}

emp_status emp_engine_set_models(emp_engine *sim, const emp_problem *problem,
                                 emp_error *err)
{
    const emp_cost_table *costs = problem->costs;
    const size_t          ops = (size_t)sim->op_count;

    if (!emp_cost_is_unlike(costs)) return EMP_OK;
    const int32_t columns =
        costs->column_count[EMP_DEVICE_CPU] + costs->column_count[EMP_DEVICE_GPU];
    emp_sim_cost *cost = EMP_ADD_ARRAY(&sim->arrays, emp_sim_cost, ops * (size_t)columns);
    sim->costs_of = EMP_ADD_ARRAY(&sim->arrays, uint8_t, ops);
    if (sim->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "costs of %d ops on %d device models", sim->op_count,
                         columns);
    memset(sim->costs_of, NO_DEVICE, ops);
    for (int32_t d = 0; d < sim->device_count; d++) {
        emp_sim_cost *column = cost + (size_t)column_of(sim, costs, d) * ops;
        for (int32_t op = 0; op < sim->op_count; op++)
            column[op] = cost_on(sim, costs, d, sim->start[op].id);
        sim->cost_of_device[d] = column;
    }
    return EMP_OK;
}

/* The one of cpu_ns and gpu_ns that is not of the device's kind is not asked. */
void emp_engine_take_costs(emp_engine *sim)
{
    for (int32_t op = 0; op < sim->op_count; op++) {
        const uint8_t device = sim->space_of_place[2 * (size_t)op];
        if (device == sim->costs_of[op]) continue;
        const emp_sim_cost *cost = &sim->cost_of_device[device][op];
        sim->op[op].cpu_ns = sim->op[op].gpu_ns = cost->run_ns;
        sim->op[op].issue_ns = cost->issue_ns;
        sim->costs_of[op] = device;
    }
}
