// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/partitioners/partition_method.h"

#include "baselines/partitioners/memory_repair.h"

emp_status emp_partition_method_place(const emp_problem            *problem,
                                      emp_partition_request         request,
                                      const emp_partition_settings *settings,
                                      emp_device_id *device_of_op, emp_error *err)
{
    if (problem->graph->stated != NULL && settings->costs != EMP_OP_COSTS_TIME)
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "ops of %s state how long they take, and nothing of FLOPs; use costs=time",
            problem->workload);
    request.params.costs = settings->costs;
    request.params.power = settings->power;
    EMP_CHECK(emp_partition_place(problem, &request, device_of_op, err));
    if (settings->repair)
        EMP_CHECK(emp_memory_repair(problem, request.method, request.seed, request.stop,
                                    device_of_op, err));
    return EMP_OK;
}
