// SPDX-License-Identifier: GPL-3.0-or-later
/* METIS places: parts as large as their device's share of the peak FLOP/s. METIS cannot
 * pin a vertex, so by default it cuts for the GPUs alone, and ops without a GPU kernel stay
 * on the CPU; with cpu=1 the CPU is one of the parts. */
#include "baselines/baselines.h"
#include "baselines/one_shot.h"
#include "baselines/options.h"
#include "sim/partition/metis_cut.h"

static emp_status cut(const emp_partition_graph *g, const emp_partition_target *target,
                      uint64_t seed, int32_t *part_of_vertex, emp_error *err)
{
    return emp_metis_recursive(g, target->count, target->power, seed, part_of_vertex,
                               err);
}

static emp_status place(const emp_problem *problem, const emp_placer_params *params,
                        emp_device_id *device_of_op, emp_error *err)
{
    emp_status       st = EMP_OK;
    int64_t          with_cpu = 0;
    const emp_option options[] = {{"cpu", 0, 1, &with_cpu, NULL}};

    EMP_TRY(emp_options_parse(params->options, "metis", options, 1, err));
    EMP_TRY(emp_partition_place(problem, with_cpu != 0, "metis", cut, params->seed,
                                device_of_op, err));

cleanup:
    return st;
}

static emp_status create(void **state, const emp_problem *problem,
                         const emp_placer_params *params, emp_error *err)
{
    return emp_one_shot_create(state, problem, params, place, err);
}

const emp_placer_type emp_placer_metis = {
    .options = "cpu\t0\t1: the CPU is one of the parts\n",
    .name = "metis",
    .description =
        "METIS recursive bisection over the GPUs (Karypis and Kumar 1998); cpu=1 "
        "adds the CPU",
    .create = create,
    .ask = emp_one_shot_ask,
    .tell = emp_one_shot_tell,
    .destroy = emp_one_shot_destroy,
};
