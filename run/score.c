// SPDX-License-Identifier: GPL-3.0-or-later
/* Scores a batch of candidates in parallel, one simulator a thread. */
#include <math.h>

#include "run/loop_internal.h"

static double overflow_of(const emp_machine *machine, const emp_sim_result *result)
{
    double sum = 0.0;

    for (int32_t d = 0; !result->is_feasible && d < result->device_count; d++) {
        double memory = (double)machine->device[d].memory_bytes;
        sum += fmax(0.0, (double)result->peak_bytes[d] / memory - 1.0);
    }
    return sum;
}

emp_status emp_run_score(emp_run_state *run, int32_t count, emp_error *err)
{
    emp_sim_result *results[EMP_MAX_BATCH] = {NULL};
    emp_error       why = {0};

    for (int32_t i = 0; i < count; i++) results[i] = &run->result[i];
    emp_status st = emp_sim_team_run(run->sims, run->candidate, count, results, &why);
    if (st != EMP_OK)
        return EMP_ERROR(st, "method %s: %s", run->params->method->name, why.msg);
    for (int32_t i = 0; i < count; i++) {
        run->score[i] = (emp_score){(double)run->result[i].step_time_ns * 1e-9,
                                    run->result[i].is_feasible,
                                    overflow_of(run->problem->machine, &run->result[i])};
    }
    return EMP_OK;
}
