// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/trace_devices.h"

#include <string.h>

#include "base/text/units.h"
#include "cli/options/inputs.h"
#include "graphs/import/traces/step_graph.h"

emp_status cli_trace_devices_load(emp_device_id *device_of_op, const emp_problem *problem,
                                  emp_error *err)
{
    const emp_graph   *g = problem->graph;
    const emp_machine *m = problem->machine;
    bool               is_own = strcmp(m->name, EMP_OWN_MACHINE) == 0;
    emp_device_id      gpus[EMP_MAX_DEVICES];
    int32_t            gpu_count = 0;

    for (emp_device_id d = 0; d < m->device_count; d++)
        if (m->device[d].kind == EMP_DEVICE_GPU) gpus[gpu_count++] = d;
    EMP_CHECK(emp_trace_where(device_of_op, g, is_own, err));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t gpu = device_of_op[op];
        if (gpu >= gpu_count)
            return EMP_ERROR(
                EMP_EINVAL, "op '%s' ran on GPU %d, and machine '%s' has %d GPU%s",
                g->name[op], gpu, m->name, gpu_count, emp_units_plural(gpu_count));
        device_of_op[op] = gpu < 0 ? 0 : gpus[gpu];
    }
    return EMP_OK;
}
