// SPDX-License-Identifier: GPL-3.0-or-later
/* Scotch places, in two methods: "scotch" maps onto the CPU and the GPUs, "mincut" is the
 * same mapper with the CPU taken out of the target (Mirhoseini et al. 2017). */
#include "baselines/baselines.h"
#include "baselines/one_shot.h"
#include "baselines/options.h"
#include "sim/partition/scotch_cut.h"

static emp_status place_scotch(const emp_problem       *problem,
                               const emp_placer_params *params,
                               emp_device_id *device_of_op, emp_error *err)
{
    emp_status st = EMP_OK;

    EMP_TRY(emp_options_parse(params->options, "scotch", NULL, 0, err));
    EMP_TRY(emp_partition_place(problem, true, "scotch", emp_scotch_map, params->seed,
                                device_of_op, err));

cleanup:
    return st;
}

static emp_status place_mincut(const emp_problem       *problem,
                               const emp_placer_params *params,
                               emp_device_id *device_of_op, emp_error *err)
{
    emp_status st = EMP_OK;

    EMP_TRY(emp_options_parse(params->options, "mincut", NULL, 0, err));
    EMP_TRY(emp_partition_place(problem, false, "mincut", emp_scotch_map, params->seed,
                                device_of_op, err));

cleanup:
    return st;
}

static emp_status create_scotch(void **state, const emp_problem *problem,
                                const emp_placer_params *params, emp_error *err)
{
    return emp_one_shot_create(state, problem, params, place_scotch, err);
}

static emp_status create_mincut(void **state, const emp_problem *problem,
                                const emp_placer_params *params, emp_error *err)
{
    return emp_one_shot_create(state, problem, params, place_mincut, err);
}

const emp_placer_type emp_placer_scotch = {
    .name = "scotch",
    .description = "Scotch static mapping onto the CPU and the GPUs (Pellegrini 1994)",
    .create = create_scotch,
    .ask = emp_one_shot_ask,
    .tell = emp_one_shot_tell,
    .destroy = emp_one_shot_destroy,
};

const emp_placer_type emp_placer_mincut = {
    .name = "mincut",
    .description = "Scotch static mapping onto the GPUs alone (Mirhoseini et al. 2017)",
    .create = create_mincut,
    .ask = emp_one_shot_ask,
    .tell = emp_one_shot_tell,
    .destroy = emp_one_shot_destroy,
};
