// SPDX-License-Identifier: GPL-3.0-or-later
/* What ops cost where devices of one kind are of several models. */
#include "sim/engine/engine.h"

/* CPUs' columns come first. */
static void number_columns(emp_engine *sim, const emp_cost_table *costs)
{
    const int32_t cpu_columns = costs->column_count[EMP_DEVICE_CPU];

    sim->column_count = cpu_columns + costs->column_count[EMP_DEVICE_GPU];
    for (int32_t d = 0; d < sim->device_count; d++)
        sim->device[d].column = costs->column_of_device[d] +
                                (sim->device[d].kind == EMP_DEVICE_GPU ? cpu_columns : 0);
}

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

emp_status emp_engine_set_models(emp_engine *sim, const emp_problem *problem,
                                 emp_error *err)
{
    const emp_cost_table *costs = problem->costs;

    if (!sim->rules.has_models) return EMP_OK;
    number_columns(sim, costs);
    size_t columns = (size_t)sim->column_count;
    sim->cost =
        EMP_ADD_ARRAY(&sim->arrays, emp_sim_cost, (size_t)sim->op_count * columns);
    if (sim->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "costs of %d ops on %d device models", sim->op_count,
                         sim->column_count);
    for (int32_t d = 0; d < sim->device_count; d++) {
        for (int32_t op = 0; op < sim->op_count; op++)
            sim->cost[(size_t)op * columns + (size_t)sim->device[d].column] =
                cost_on(sim, costs, d, sim->start[op].id);
    }
    return EMP_OK;
}
