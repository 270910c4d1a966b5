// SPDX-License-Identifier: GPL-3.0-or-later
/* The whole model on one device, the first of its kind. Ops without a kernel there are moved to the CPU by
 * emp_problem_legalize(), as TensorFlow's soft placement does. */
#include <stddef.h>

#include "baselines/baselines.h"

static emp_status place(const emp_method *type, const emp_problem *problem,
                        const emp_method_params *params, const emp_proposal *proposal,
                        emp_error *err)
{
    emp_device_kind kind = type == &emp_method_gpu ? EMP_DEVICE_GPU : EMP_DEVICE_CPU;
    emp_device_id   device[EMP_MAX_DEVICES];

    EMP_CHECK(emp_method_options_parse(NULL, type, params, err));
    if (emp_machine_list(problem->machine, kind, device) == 0) {
        return EMP_ERROR(EMP_EUNSUPPORTED, "method %s: machine %s has no %s", type->name,
                         problem->machine->name, kind == EMP_DEVICE_GPU ? "GPU" : "CPU");
    }
    for (emp_op_id op = 0; op < problem->graph->op_count; op++)
        proposal->device_of_op[op] = device[0];
    return EMP_OK;
}

const emp_method emp_method_cpu = {
    .name = "cpu",
    .description = "the whole model on the CPU",
    .advice = "a floor, and models that no GPU has room for",
    .place = place,
};

const emp_method emp_method_gpu = {
    .name = "gpu",
    .description =
        "the whole model on the first GPU; ops without a GPU kernel on the CPU",
    .advice = "models that fit on one GPU",
    .place = place,
};
