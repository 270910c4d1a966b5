// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/validate/schedule.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "sim/cost/given.h"
#include "sim/engine/sim.h"

/* The time of an op on a device beside its kernel, which the cost on that device has and a measured kernel has
 * not: the work of a group of cores that stands for a GPU. A cost on a CPU gets it from the runtime. */
static double overhead_s(const emp_machine *machine, emp_device_id device)
{
    const emp_device *d = &machine->device[device];

    return d->kind == EMP_DEVICE_GPU && d->has_core ? d->core.op_s : 0.0;
}

/* Times of ops are medians, times of devices are means: where something else took the cores now and then, each op's
 * median lacks it. So ops that are too short together for what their device was busy become longer. */
static double stretch(const emp_problem *p, const emp_device_id *device_of_op,
                      const emp_replay_result *measured, emp_device_id device)
{
    const emp_graph *g = p->graph;
    double           sum_s = 0.0;
    int32_t          at = 0;

    for (int32_t i = 0; i < g->op_count && at < measured->op_count; i++) {
        emp_op_id op = g->topo[i];
        if (g->op[op].is_folded) continue;
        double seconds = (double)measured->op_s[at++];
        if (device_of_op[op] == device && seconds > 0.0) sum_s += seconds;
    }
    return sum_s > 0.0 ? fmax(1.0, measured->device[device].busy_s / sum_s) : 1.0;
}

/* The times of ops that were timed, in the order of the plan, which is the graph's without folded ops.
 * \return their number, or -1: the result is of another step. */
static int32_t list_times(emp_given_time *time, const emp_problem *p,
                          const emp_device_id     *device_of_op,
                          const emp_replay_result *measured)
{
    const emp_graph *g = p->graph;
    int32_t          at = 0, count = 0;
    double           factor[EMP_MAX_DEVICES];

    for (emp_device_id d = 0; d < p->machine->device_count; d++)
        factor[d] = stretch(p, device_of_op, measured, d);
    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        if (g->op[op].is_folded) continue;
        if (at == measured->op_count) return -1;
        double seconds = (double)measured->op_s[at++];
        if (seconds <= 0.0) continue;
        seconds =
            seconds * factor[device_of_op[op]] + overhead_s(p->machine, device_of_op[op]);
        time[count++] = (emp_given_time){g->name[op], strlen(g->name[op]),
                                         device_of_op[op], 1e6 * seconds};
    }
    return at == measured->op_count ? count : -1;
}

static emp_status simulate(double *step_s, const emp_problem *problem,
                           const emp_device_id *device_of_op, emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_sim       *sim = NULL;
    emp_sim_result result;

    EMP_TRY(emp_sim_create(&sim, problem, err));
    EMP_TRY(emp_sim_run(sim, device_of_op, &result, err));
    if (result.is_feasible) *step_s = 1e-9 * (double)result.step_time_ns;

cleanup:
    emp_sim_destroy(sim);
    return st;
}

emp_status emp_validation_schedule(double *step_s, const emp_problem *problem,
                                   const emp_device_id     *device_of_op,
                                   const emp_replay_result *measured, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_problem    *own = NULL;
    emp_given_time *time = NULL;
    emp_given_costs given;

    *step_s = NAN;
    if (!measured->is_feasible) goto cleanup;
    EMP_TRY(EMP_ALLOC(time, (size_t)problem->graph->op_count));
    int32_t count = list_times(time, problem, device_of_op, measured);
    if (count < 0)
        EMP_FAIL(EMP_EINVAL, "a result of %d ops, which is not of this step",
                 measured->op_count);
    if (count == 0) goto cleanup;
    EMP_TRY(emp_problem_create(&own, problem->graph, problem->machine, &problem->runtime,
                               problem->workload, err));
    EMP_TRY(emp_given_times_apply(&given, own->costs, own->graph, own->machine,
                                  &own->runtime, time, count, "the measured step", err));
    EMP_TRY(simulate(step_s, own, device_of_op, err));

cleanup:
    emp_problem_destroy(own);
    emp_free(time);
    return st;
}
