// SPDX-License-Identifier: GPL-3.0-or-later
/* Scotch places, in two methods: "scotch" maps onto the CPU and the GPUs, "mincut" is the
 * same mapper with the CPU taken out of the target (Mirhoseini et al. 2017). */
#include "baselines/baselines.h"
#include "baselines/partitioners/partition_method.h"
#include "search/one_shot.h"
#include "search/partition/scotch_cut.h"

#define OPTION_LINES                                                                   \
    "arch\tmachine\tdistance of two devices: machine (time of a transfer) | complete " \
    "(1)\n"                                                                            \
    "strategy\tquality\twhat Scotch aims at: quality | default | speed | balance\n"    \
    "imbalance\t50\tload of a device over its share, in "                              \
    "thousandths\n" EMP_PARTITION_OPTION_LINES

static emp_status place(const emp_problem *problem, const emp_placer_params *params,
                        const char *method, bool with_cpu, emp_device_id *device_of_op,
                        emp_error *err)
{
    emp_partition_settings settings = {0};
    int64_t                architecture = 0, strategy = 0, imbalance = 50;
    const emp_option       options[] = {
              {"arch", 0, 0, &architecture, EMP_SCOTCH_ARCHITECTURE_WORDS},
              {"strategy", 0, 0, &strategy, EMP_SCOTCH_STRATEGY_WORDS},
              {"imbalance", 1, EMP_PARTITION_IMBALANCE_LIMIT, &imbalance, NULL},
              EMP_PARTITION_OPTIONS(settings)};

    EMP_CHECK(emp_options_parse(params->options, method, options,
                                sizeof options / sizeof *options, err));
    const emp_scotch_options    scotch = {.architecture =
                                              (emp_scotch_architecture)architecture,
                                          .strategy = (emp_scotch_strategy)strategy,
                                          .imbalance = (double)imbalance / 1000.0};
    const emp_partition_request request = {.method = method,
                                           .params = {.with_cpu = with_cpu},
                                           .partitioner = emp_scotch_map,
                                           .options = &scotch,
                                           .seed = params->seed};
    return emp_partition_method_place(problem, request, &settings, device_of_op, err);
}

static emp_status place_scotch(const emp_problem       *problem,
                               const emp_placer_params *params,
                               emp_device_id *device_of_op, emp_error *err)
{
    return place(problem, params, "scotch", true, device_of_op, err);
}

static emp_status place_mincut(const emp_problem       *problem,
                               const emp_placer_params *params,
                               emp_device_id *device_of_op, emp_error *err)
{
    return place(problem, params, "mincut", false, device_of_op, err);
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
    .options = OPTION_LINES,
    .name = "scotch",
    .description = "Scotch static mapping onto the CPU and the GPUs (Pellegrini 1994)",
    .create = create_scotch,
    .ask = emp_one_shot_ask,
    .tell = emp_one_shot_tell,
    .destroy = emp_one_shot_destroy,
};

const emp_placer_type emp_placer_mincut = {
    .options = OPTION_LINES,
    .name = "mincut",
    .description = "Scotch static mapping onto the GPUs alone (Mirhoseini et al. 2017)",
    .create = create_mincut,
    .ask = emp_one_shot_ask,
    .tell = emp_one_shot_tell,
    .destroy = emp_one_shot_destroy,
};
