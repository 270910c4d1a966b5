// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/baselines.h"

#include <math.h>
#include <stddef.h>

#include "base/mem.h"
#include "sim/engine/sim.h"

/* The whole model on one device. Ops without a kernel there are moved to the CPU by
 * emp_problem_legalize(), as TensorFlow's soft placement does. */

typedef enum { ON_FIRST, ON_FASTEST } choice;

typedef struct {
    choice on;
} options;

static void place_all(const emp_problem *problem, emp_device_id device,
                      emp_device_id *device_of_op)
{
    for (emp_op_id op = 0; op < problem->graph->op_count; op++) device_of_op[op] = device;
}

emp_status emp_fastest_gpu(emp_device_id *gpu, double *step_s, const emp_problem *problem,
                           emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_sim       *sim = NULL;
    emp_device_id *device_of_op = NULL;
    emp_device_id  all[EMP_MAX_DEVICES];
    const int32_t  count = emp_machine_list(problem->machine, EMP_DEVICE_GPU, all);
    emp_sim_result result;

    *gpu = count > 0 ? all[0] : -1;
    *step_s = INFINITY;
    EMP_TRY(EMP_ALLOC(device_of_op, (size_t)problem->graph->op_count));
    EMP_TRY(emp_sim_create(&sim, problem, err));
    for (int32_t i = 0; i < count; i++) {
        place_all(problem, all[i], device_of_op);
        emp_problem_legalize(problem, device_of_op);
        EMP_TRY(emp_sim_run(sim, device_of_op, &result, err));
        const double own_s = (double)result.step_time_ns * 1e-9;
        if (!result.is_feasible || own_s >= *step_s) continue;
        *step_s = own_s;
        *gpu = all[i];
    }

cleanup:
    emp_sim_destroy(sim);
    emp_free(device_of_op);
    return st;
}

static emp_status place(const emp_method *type, const emp_problem *problem,
                        const emp_method_params  *params,
                        const emp_owned_decision *proposal, emp_error *err)
{
    emp_device_kind kind = type == &emp_method_gpu ? EMP_DEVICE_GPU : EMP_DEVICE_CPU;
    emp_device_id   device[EMP_MAX_DEVICES];
    options         o = {ON_FIRST};
    double          step_s;

    EMP_CHECK(emp_method_options_parse(&o, type, params, err));
    if (emp_machine_list(problem->machine, kind, device) == 0) {
        return EMP_ERROR(EMP_EUNSUPPORTED, "method %s: machine %s has no %s", type->name,
                         problem->machine->name, kind == EMP_DEVICE_GPU ? "GPU" : "CPU");
    }
    if (o.on == ON_FASTEST) EMP_CHECK(emp_fastest_gpu(&device[0], &step_s, problem, err));
    place_all(problem, device[0], proposal->device_of_op);
    return EMP_OK;
}

static const emp_option gpu_options[] = {
    EMP_WORD_OPTION(
        "on", options, on, "first|fastest",
        "which GPU: the first one, or the one whose step is the shortest; the "
        "steps it is tried by are no evaluations",
        ON_FIRST),
    EMP_NO_OPTION};

const emp_method emp_method_cpu = {
    .name = "cpu",
    .description = "the whole model on the CPU",
    .advice = "a floor, and models that no GPU has room for",
    .place = place,
};

const emp_method emp_method_gpu = {
    .options = gpu_options,
    .name = "gpu",
    .description = "the whole model on one GPU; ops without a GPU kernel on the CPU",
    .advice = "models that fit on one GPU",
    .place = place,
};
