// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/graphs/import/traces/as_it_ran.h"

#include <criterion/criterion.h>

#include "graphs/import/traces/step_graph.h"
#include "tests/support/problems.h"
#include "tests/test.h"

int64_t as_it_ran_ns(const emp_graph *graph, const emp_import_devices *devices)
{
    OWN_TASK    t = {.graph = (emp_graph *)(uintptr_t)graph};
    emp_runtime runtime;

    ASSERT_OK(emp_machine_create(&t.machine, "instance", devices->cpu_count,
                                 devices->gpu_count, devices->gpu_memory_bytes, &err));
    emp_machine_set_cores(t.machine, devices->core_count);
    ASSERT_OK(emp_runtime_init(&runtime, devices->runtime, &err));
    task_pose(&t, &runtime, "trace");
    ASSERT_OK(emp_trace_where(t.device_of_op, graph, true, &err));
    for (emp_op_id op = 0; op < graph->op_count; op++)
        t.device_of_op[op] += 1; /* device 0 is the CPU */
    emp_sim_result result = task_run(&t);
    t.graph = NULL; /* the caller's */
    return emp_sim_result_step_time_ns(&result);
}
