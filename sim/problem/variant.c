// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/problem/variant.h"

#include <string.h>

#include "base/mem.h"

static size_t count_task_times(const emp_cost_table *c)
{
    return (size_t)c->cpu_offset[emp_cost_row_count(c, EMP_DEVICE_CPU)];
}

emp_status emp_problem_variant_init(emp_problem_variant *v, const emp_problem *original,
                                    emp_error *err)
{
    const emp_cost_table *from = original->costs;
    size_t                gpu_rows = (size_t)emp_cost_row_count(from, EMP_DEVICE_GPU);
    size_t                cpu_rows = (size_t)emp_cost_row_count(from, EMP_DEVICE_CPU);

    v->original = original;
    v->problem = *original;
    v->costs = *from; /* cpu_offset and columns; not what a group takes beside others */
    v->costs.gpu = EMP_NEW_ARRAY(emp_gpu_cost, gpu_rows);
    v->costs.cpu = EMP_NEW_ARRAY(emp_cpu_cost, cpu_rows);
    v->costs.task_ns = EMP_NEW_ARRAY(emp_time_ns, count_task_times(from));
    v->costs.gpu_beside_ns = NULL;
    v->machine = EMP_NEW(emp_machine);
    if (!v->costs.gpu || !v->costs.cpu || !v->costs.task_ns || !v->machine)
        return EMP_ERROR(EMP_ENOMEM, "costs of %d ops", from->op_count);
    v->problem.costs = &v->costs;
    v->problem.machine = v->machine;
    emp_problem_variant_restore(v);
    return EMP_OK;
}

void emp_problem_variant_restore(emp_problem_variant *v)
{
    const emp_cost_table *from = v->original->costs;
    size_t                gpu_rows = (size_t)emp_cost_row_count(from, EMP_DEVICE_GPU);
    size_t                cpu_rows = (size_t)emp_cost_row_count(from, EMP_DEVICE_CPU);

    memcpy(v->costs.gpu, from->gpu, gpu_rows * sizeof *from->gpu);
    memcpy(v->costs.cpu, from->cpu, cpu_rows * sizeof *from->cpu);
    memcpy(v->costs.task_ns, from->task_ns,
           count_task_times(from) * sizeof *from->task_ns);
    *v->machine = *v->original->machine;
    v->machine->text = NULL; /* its constants change */
    v->problem.runtime = v->original->runtime;
}

void emp_problem_variant_clear(emp_problem_variant *v)
{
    emp_free(v->costs.gpu);
    emp_free(v->costs.cpu);
    emp_free(v->costs.task_ns);
    emp_free(v->machine);
    *v = (emp_problem_variant){0};
}
