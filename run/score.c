// SPDX-License-Identifier: GPL-3.0-or-later
/* Scores a batch of candidates in parallel, one simulator a thread. */
#include <math.h>
#include <omp.h>

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
#pragma omp parallel for schedule(dynamic, 1) num_threads(run->threads)
    for (int32_t i = 0; i < count; i++) {
        run->error[i] = (emp_error){0};
        emp_problem_legalize(run->problem, run->candidate[i]);
        run->status[i] = emp_sim_run(run->sim[omp_get_thread_num()], run->candidate[i],
                                     &run->result[i], &run->error[i]);
    }
    for (int32_t i = 0; i < count; i++) {
        if (run->status[i] != EMP_OK) {
            return EMP_ERROR(run->status[i], "method %s: %s", run->params->method->name,
                             run->error[i].msg);
        }
        run->score[i] = (emp_score){(double)run->result[i].step_time_ns * 1e-9,
                                    run->result[i].is_feasible,
                                    overflow_of(run->problem->machine, &run->result[i])};
    }
    return EMP_OK;
}
