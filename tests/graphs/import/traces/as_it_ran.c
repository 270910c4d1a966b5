// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/graphs/import/traces/as_it_ran.h"

#include <criterion/criterion.h>

#include "graphs/import/traces/step_graph.h"
#include "tests/support/problems.h"

int64_t as_it_ran_ns(const emp_graph *graph, const emp_import_devices *devices)
{
    task        t = {.graph = (emp_graph *)(uintptr_t)graph};
    emp_runtime runtime;
    emp_error   err = {0};

    cr_assert_eq(emp_machine_create(&t.machine, "instance", devices->cpu_count,
                                    devices->gpu_count, devices->gpu_memory_bytes, &err),
                 EMP_OK, "%s", err.msg);
    emp_machine_set_cores(t.machine, devices->core_count);
    cr_assert_eq(emp_runtime_init(&runtime, devices->runtime, &err), EMP_OK, "%s",
                 err.msg);
    task_pose(&t, &runtime, "trace");
    cr_assert_eq(emp_trace_where(t.device_of_op, graph, true, &err), EMP_OK, "%s",
                 err.msg);
    for (emp_op_id op = 0; op < graph->op_count; op++)
        t.device_of_op[op] += 1; /* device 0 is the CPU */
    emp_sim_result result = task_run(&t);
    t.graph = NULL; /* the caller's */
    task_destroy(&t);
    return emp_sim_result_step_time_ns(&result);
}
