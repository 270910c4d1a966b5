// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/searches/grouped.h"

#include <string.h>

#include "base/collections.h"
#include "baselines/searches/walk.h"

/* Largest group over the mean: a layer is a better group than an equal share. */
static const double IMBALANCE = 2.0;

emp_status emp_grouped_init(emp_grouped *g, const emp_problem *problem,
                            const emp_grouped_options *options,
                            const emp_method_params *params, emp_error *err)
{
    const emp_class_groups_params groups = {.kind = options->kind,
                                            .count = options->count,
                                            .imbalance = IMBALANCE,
                                            .seed = params->seed,
                                            .stop = params->stop};

    *g = (emp_grouped){.problem = problem,
                       .device_count = problem->machine->device_count,
                       .own_hash = EMP_HASH_SEED};
    EMP_CHECK(emp_class_groups_ops(&g->ops, &g->own_hash, problem, &groups, err));
    g->groups_hash = (int64_t)g->own_hash;
    g->metric[1].name = "mean_cost_s";
    g->metric[2] = (emp_method_metric){"groups", g->ops.group_count};
    return EMP_OK;
}

void emp_grouped_clear(emp_grouped *g) { emp_members_clear(&g->ops); }

emp_status emp_grouped_check(const emp_grouped *g, const char *method, emp_error *err)
{
    if ((uint64_t)g->groups_hash != g->own_hash) {
        return EMP_ERROR(
            EMP_EFORMAT,
            "groups of ops are others here than where the saved state of %s comes "
            "from; begin anew",
            method);
    }
    return EMP_OK;
}

void emp_grouped_place(const emp_grouped *g, const int32_t *device_of_group,
                       emp_device_id *device_of_op)
{
    memset(device_of_op, 0, (size_t)g->problem->graph->op_count * sizeof *device_of_op);
    emp_members_spread(&g->ops, device_of_group, device_of_op);
}

emp_status emp_grouped_begin_tell(emp_grouped *g, const emp_score *scores, int32_t count,
                                  double *cost_s, emp_error *err)
{
    double mean_s = 0.0;

    if (count != g->sample_count)
        return EMP_ERROR(EMP_EINVAL, "told %d scores of %d candidates", count,
                         g->sample_count);
    for (int32_t k = 0; k < count; k++) {
        cost_s[k] = emp_penalized_s(&scores[k]);
        mean_s += cost_s[k] / count;
    }
    g->metric[1].value = mean_s;
    return EMP_OK;
}

const emp_method_metric *emp_grouped_metrics(const void *state, int32_t *count)
{
    *count = EMP_GROUPED_METRICS;
    return ((const emp_grouped *)state)->metric;
}
