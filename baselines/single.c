// SPDX-License-Identifier: GPL-3.0-or-later
/* The whole model on one device, the first of its kind. Ops without a kernel there are moved to the CPU by
 * emp_problem_legalize(), as TensorFlow's soft placement does. */
#include <stddef.h>

#include "baselines/baselines.h"
#include "search/one_shot.h"

static emp_status place_on(const emp_problem *problem, const emp_placer_params *params,
                           emp_device_kind kind, const emp_placer_type *method,
                           emp_device_id *device_of_op, emp_error *err)
{
    emp_device_id device[EMP_MAX_DEVICES];

    EMP_CHECK(emp_placer_options_parse(NULL, method, params, err));
    if (emp_machine_list(problem->machine, kind, device) == 0) {
        return EMP_ERROR(EMP_EUNSUPPORTED, "method %s: machine %s has no %s",
                         method->name, problem->machine->name,
                         kind == EMP_DEVICE_GPU ? "GPU" : "CPU");
    }
    for (emp_op_id op = 0; op < problem->graph->op_count; op++)
        device_of_op[op] = device[0];
    return EMP_OK;
}

static emp_status place_on_cpu(const emp_problem       *problem,
                               const emp_placer_params *params,
                               emp_device_id *device_of_op, emp_error *err)
{
    return place_on(problem, params, EMP_DEVICE_CPU, &emp_placer_cpu, device_of_op, err);
}

static emp_status place_on_gpu(const emp_problem       *problem,
                               const emp_placer_params *params,
                               emp_device_id *device_of_op, emp_error *err)
{
    return place_on(problem, params, EMP_DEVICE_GPU, &emp_placer_gpu, device_of_op, err);
}

static emp_status create_cpu(void **state, const emp_problem *problem,
                             const emp_placer_params *params, emp_error *err)
{
    return emp_one_shot_create(state, problem, params, place_on_cpu, err);
}

static emp_status create_gpu(void **state, const emp_problem *problem,
                             const emp_placer_params *params, emp_error *err)
{
    return emp_one_shot_create(state, problem, params, place_on_gpu, err);
}

const emp_placer_type emp_placer_cpu = {
    .name = "cpu",
    .description = "the whole model on the CPU",
    .create = create_cpu,
    .ask = emp_one_shot_ask,
    .tell = emp_one_shot_tell,
    .destroy = emp_one_shot_destroy,
};

const emp_placer_type emp_placer_gpu = {
    .name = "gpu",
    .description =
        "the whole model on the first GPU; ops without a GPU kernel on the CPU",
    .create = create_gpu,
    .ask = emp_one_shot_ask,
    .tell = emp_one_shot_tell,
    .destroy = emp_one_shot_destroy,
};
