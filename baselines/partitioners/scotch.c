// SPDX-License-Identifier: GPL-3.0-or-later
/* Scotch places, in two methods: "scotch" maps onto the CPU and the GPUs, "mincut" is the
 * same mapper with the CPU taken out of the target (Mirhoseini et al. 2017). */
#include "baselines/baselines.h"
#include "baselines/partitioners/partition_method.h"
#include "search/partition/scotch_cut.h"

typedef struct {
    emp_scotch_options     scotch;
    emp_partition_settings settings;
} mapping_options;

static const emp_option option_list[] = {
    EMP_WORD_OPTION("arch", mapping_options, scotch.architecture,
                    EMP_SCOTCH_ARCHITECTURE_WORDS,
                    "distance of two devices: time of a transfer on the machine, or 1",
                    EMP_SCOTCH_MACHINE),
    EMP_WORD_OPTION("strategy", mapping_options, scotch.strategy,
                    EMP_SCOTCH_STRATEGY_WORDS, "what Scotch aims at", EMP_SCOTCH_QUALITY),
    EMP_REAL_OPTION("imbalance", mapping_options, scotch.imbalance, 0.001, 1,
                    "load of a device over its share", 0.05),
    EMP_PARTITION_OPTIONS(mapping_options, settings), EMP_NO_OPTION};

static emp_status place(const emp_method *type, const emp_problem *problem,
                        const emp_method_params  *params,
                        const emp_owned_decision *proposal, emp_error *err)
{
    mapping_options own;

    EMP_CHECK(emp_method_options_parse(&own, type, params, err));
    const emp_partition_request request = {
        .method = type->name,
        .params = {.with_cpu = type == &emp_method_scotch},
        .partitioner = emp_scotch_map,
        .options = &own.scotch,
        .seed = params->seed,
        .stop = params->stop};
    return emp_partition_method_place(problem, request, &own.settings,
                                      proposal->device_of_op, err);
}

const emp_method emp_method_scotch = {
    .options = option_list,
    .uses_seed = true,
    .name = "scotch",
    .description = "Scotch static mapping onto the CPU and the GPUs (Pellegrini 1994)",
    .advice = "the papers' baseline, with a part for the CPU",
    .place = place,
};

const emp_method emp_method_mincut = {
    .options = option_list,
    .uses_seed = true,
    .name = "mincut",
    .description = "Scotch static mapping onto the GPUs alone (Mirhoseini et al. 2017)",
    .advice = "the papers' baseline, with parts for GPUs alone",
    .place = place,
};
