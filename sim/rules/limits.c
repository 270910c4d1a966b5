// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/rules/limits.h"

emp_status emp_sim_limit_bytes(double total, emp_error *err)
{
    if (!(total < (double)EMP_SIM_ENDLESS)) {
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "variables, tensors and copies of %.3g bytes in all; "
                         "at most %.3g bytes",
                         total, (double)EMP_SIM_ENDLESS);
    }
    return EMP_OK;
}

emp_status emp_sim_limit_time(double total_ns, emp_time_ns last_ns, emp_error *err)
{
    if (!(total_ns < (double)last_ns)) {
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "ops and transfers of %.3g s in all; at most %.3g s",
                         total_ns * 1e-9, (double)last_ns * 1e-9);
    }
    return EMP_OK;
}

emp_status emp_sim_refuse_device(const emp_problem *problem, emp_op_id op,
                                 emp_device_id device, emp_error *err)
{
    const emp_machine *m = problem->machine;
    const char        *name = problem->graph->name[op];

    if (device < 0 || device >= m->device_count) {
        return EMP_ERROR(EMP_EINVAL, "op '%s' is on device %d of 0..%d", name, device,
                         m->device_count - 1);
    }
    return EMP_ERROR(EMP_EINVAL, "op '%s' cannot run on %s", name,
                     m->device[device].name);
}
