// SPDX-License-Identifier: GPL-3.0-or-later
/* Results of <emplace/sim.h>, and runs that tell when ops ran. */
#include "sim/engine/sim.h"
#include "base/mem.h"

emp_status emp_sim_result_create(emp_sim_result **out, emp_error *err)
{
    EMP_NEED(out);
    EMP_CHECK(EMP_ALLOC(*out, 1));
    (*out)->oom_device = -1;
    return EMP_OK;
}

void emp_sim_result_destroy(emp_sim_result *result) { emp_free(result); }

static bool has_device(const emp_sim_result *result, emp_device_id device)
{
    return result != NULL && device >= 0 && device < result->device_count;
}

emp_time_ns emp_sim_result_step_time_ns(const emp_sim_result *result)
{
    return result != NULL ? result->step_time_ns : 0;
}

bool emp_sim_result_is_feasible(const emp_sim_result *result)
{
    return result != NULL && result->is_feasible;
}

bool emp_sim_result_oom(const emp_sim_result *result, emp_oom *oom)
{
    if (result == NULL || result->oom_device < 0) return false;
    if (oom != NULL)
        *oom = (emp_oom){result->oom_device, result->oom_op, result->oom_bytes,
                         result->oom_at_ns};
    return true;
}

int64_t emp_sim_result_peak_bytes(const emp_sim_result *result, emp_device_id device)
{
    return has_device(result, device) ? result->peak_bytes[device] : 0;
}

emp_time_ns emp_sim_result_busy_ns(const emp_sim_result *result, emp_device_id device)
{
    return has_device(result, device) ? result->busy_ns[device] : 0;
}

int64_t emp_sim_result_traffic_bytes(const emp_sim_result *result)
{
    return result != NULL ? result->traffic_bytes : 0;
}

emp_status emp_sim_run_times(emp_sim *sim, const emp_decision *decision,
                             emp_time_ns *start_ns, emp_time_ns *end_ns,
                             emp_sim_result *result, emp_error *err)
{
    EMP_NEED(sim);
    EMP_NEED(decision);
    EMP_NEED(decision->device_of_op);
    EMP_NEED(start_ns);
    EMP_NEED(end_ns);
    EMP_NEED(result);
    return emp_sim_run_timed(sim, decision, &(emp_sim_times){start_ns, end_ns}, result,
                             err);
}
