// SPDX-License-Identifier: GPL-3.0-or-later
/* METIS places: parts as large as their device's share of the peak FLOP/s. METIS cannot
 * pin a vertex, so by default it cuts for the GPUs alone, and ops without a GPU kernel stay
 * on the CPU; with cpu=1 the CPU is one of the parts. With memory=1 each part also has its
 * device's share of the memory: a balance, not a limit, hence repair=1. */
#include "base/mem.h"
#include "baselines/baselines.h"
#include "baselines/partitioners/partition_method.h"
#include "search/one_shot.h"
#include "search/partition/metis_cut.h"

typedef struct {
    const emp_problem *problem;
    int64_t            with_cpu, has_memory, is_kway;
    int64_t            imbalance, memory_imbalance; /* thousandths; 0 = METIS's own */
} metis_options;

static void share_memory(const emp_partition_target *target, double *share)
{
    double total = 0.0;

    for (int32_t p = 0; p < target->count; p++) {
        share[p] = (double)target->machine->device[target->device[p]].memory_bytes;
        total += share[p];
    }
    for (int32_t p = 0; p < target->count; p++)
        share[p] = total > 0.0 ? share[p] / total : 1.0 / target->count;
}

static emp_status cut(const emp_partition_graph *g, const emp_partition_target *target,
                      const void *options, uint64_t seed, int32_t *part_of_vertex,
                      emp_error *err)
{
    emp_status           st = EMP_OK;
    const metis_options *o = options;
    double               memory_share[EMP_MAX_DEVICES];
    int32_t             *memory = NULL;
    emp_metis_cut        c = {.share = target->power,
                              .is_kway = o->is_kway != 0,
                              .imbalance = (double)o->imbalance / 1000.0,
                              .memory_imbalance = (double)o->memory_imbalance / 1000.0};

    if (o->has_memory != 0) {
        memory = EMP_NEW_ARRAY(int32_t, (size_t)g->vertex_count);
        if (memory == NULL)
            EMP_FAIL(EMP_ENOMEM, "memory of %d vertices", g->vertex_count);
        EMP_TRY(emp_partition_graph_memory(g, o->problem, memory, err));
        share_memory(target, memory_share);
        c.memory = memory;
        c.memory_share = memory_share;
    }
    EMP_TRY(emp_metis_parts(g, target->count, &c, seed, part_of_vertex, err));

cleanup:
    emp_free(memory);
    return st;
}

static emp_status place(const emp_problem *problem, const emp_placer_params *params,
                        emp_device_id *device_of_op, emp_error *err)
{
    emp_partition_settings settings = {0};
    metis_options          own = {.problem = problem};
    const int64_t          limit = EMP_PARTITION_IMBALANCE_LIMIT;
    const emp_option       options[] = {
              {"cpu", 0, 1, &own.with_cpu, NULL},
              {"strategy", 0, 0, &own.is_kway, "recursive|kway"},
              {"imbalance", 0, limit, &own.imbalance, NULL},
              {"memory", 0, 1, &own.has_memory, NULL},
              {"memory_imbalance", 0, limit, &own.memory_imbalance, NULL},
              EMP_PARTITION_OPTIONS(settings)};

    EMP_CHECK(emp_options_parse(params->options, "metis", options,
                                sizeof options / sizeof *options, err));
    if (own.memory_imbalance > 0 && own.has_memory == 0)
        return EMP_ERROR(EMP_EINVAL,
                         "option \"memory_imbalance\" of method metis needs memory=1");
    const emp_partition_request request = {.method = "metis",
                                           .params = {.with_cpu = own.with_cpu != 0},
                                           .partitioner = cut,
                                           .options = &own,
                                           .seed = params->seed};
    return emp_partition_method_place(problem, request, &settings, device_of_op, err);
}

static emp_status create(void **state, const emp_problem *problem,
                         const emp_placer_params *params, emp_error *err)
{
    return emp_one_shot_create(state, problem, params, place, err);
}

const emp_placer_type emp_placer_metis = {
    .options =
        "cpu\t0\t1: the CPU is one of the parts\n"
        "strategy\trecursive\thow METIS cuts: recursive | kway\n"
        "imbalance\t0\tload of a part over its share, in thousandths; 0: METIS's own\n"
        "memory\t0\t1: parts also get their device's share of the memory\n"
        "memory_imbalance\t0\tlikewise of its memory; 0: as "
        "imbalance\n" EMP_PARTITION_OPTION_LINES,
    .name = "metis",
    .description =
        "METIS recursive bisection over the GPUs (Karypis and Kumar 1998); cpu=1 "
        "adds the CPU",
    .create = create,
    .ask = emp_one_shot_ask,
    .tell = emp_one_shot_tell,
    .destroy = emp_one_shot_destroy,
};
