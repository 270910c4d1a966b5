// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/graphs/import/traces/as_it_ran.h"

#include <criterion/criterion.h>

#include "base/mem.h"
#include "graphs/import/traces/step_graph.h"
#include "sim/engine/sim.h"

int64_t as_it_ran_ns(const emp_graph *graph, const emp_import_devices *devices)
{
    emp_machine   *machine = NULL;
    emp_problem   *problem = NULL;
    emp_sim       *sim = NULL;
    emp_runtime    runtime;
    emp_sim_result result;
    emp_error      err = {0};
    emp_device_id *device_of_op = EMP_NEW_ARRAY(emp_device_id, (size_t)graph->op_count);

    cr_assert_eq(emp_machine_create(&machine, "instance", devices->cpu_count,
                                    devices->gpu_count, devices->gpu_memory_bytes, &err),
                 EMP_OK, "%s", err.msg);
    emp_machine_set_cores(machine, devices->core_count);
    cr_assert_eq(emp_runtime_init(&runtime, devices->runtime, &err), EMP_OK, "%s",
                 err.msg);
    cr_assert_eq(emp_problem_create(&problem, graph, machine, &runtime, "trace", &err),
                 EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_trace_where(device_of_op, graph, true, &err), EMP_OK, "%s", err.msg);
    for (emp_op_id op = 0; op < graph->op_count; op++)
        device_of_op[op] += 1; /* device 0 is the CPU */
    cr_assert_eq(emp_sim_create(&sim, problem, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_sim_run(sim, device_of_op, &result, &err), EMP_OK, "%s", err.msg);
    emp_sim_destroy(sim);
    emp_problem_destroy(problem);
    emp_machine_destroy(machine);
    emp_free(device_of_op);
    return emp_sim_result_step_time_ns(&result);
}
