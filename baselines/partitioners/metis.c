// SPDX-License-Identifier: GPL-3.0-or-later
/* METIS places: parts as large as their device's share of the peak FLOP/s. METIS cannot
 * pin a vertex, so by default it cuts for the GPUs alone, and ops without a GPU kernel stay
 * on the CPU; with cpu=1 the CPU is one of the parts. With memory=1 each part also has its
 * device's share of the memory: a balance, not a limit, hence repair=1. */
#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "baselines/baselines.h"
#include "baselines/partitioners/partition_method.h"
#include "search/partition/metis_cut.h"

typedef enum { STRATEGY_RECURSIVE, STRATEGY_KWAY } metis_strategy;

typedef struct {
    const emp_problem       *problem;
    const emp_method_params *params;
    bool                     with_cpu, has_memory;
    metis_strategy           strategy;
    double                   imbalance, memory_imbalance; /* 0 = METIS's own */
    int32_t                  cuts;
    emp_partition_settings   settings;
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

/* METIS calls a cut with empty parts a success: it makes them where one vertex has most of the load,
 * or all others have edges to one. */
static void warn_of_empty_parts(const emp_method_params    *params,
                                const emp_partition_target *target,
                                const int32_t *part_of_vertex, int32_t vertex_count)
{
    char     sentence[512];
    emp_text text = {sentence, sizeof sentence, 0};
    int32_t  members[EMP_MAX_DEVICES] = {0}, empty = 0;

    if (params->warn == NULL) return;
    for (int32_t v = 0; v < vertex_count; v++) members[part_of_vertex[v]]++;
    for (int32_t p = 0; p < target->count; p++)
        if (members[p] == 0)
            emp_text_add(&text, "%s%s", empty++ == 0 ? "METIS leaves " : ", ",
                         target->machine->device[target->device[p]].name);
    if (empty == 0) return;
    emp_text_add(&text,
                 " without ops: its cut has %d empty part%s of %d, as one op has most of "
                 "the load, or the others exchange data with one alone",
                 empty, emp_units_plural(empty), target->count);
    params->warn(params->warn_context, sentence);
}

static emp_status cut(const emp_partition_graph *g, const emp_partition_target *target,
                      const void *options, uint64_t seed, const atomic_int *stop,
                      int32_t *part_of_vertex, emp_error *err)
{
    emp_status           st = EMP_OK;
    const metis_options *o = options;
    double               memory_share[EMP_MAX_DEVICES];
    int32_t             *memory = NULL;
    emp_metis_cut        c = {.share = target->power,
                              .is_kway = o->strategy == STRATEGY_KWAY,
                              .imbalance = o->imbalance,
                              .memory_imbalance = o->memory_imbalance,
                              .cut_count = o->cuts,
                              .stop = stop};

    if (o->has_memory) {
        EMP_TRY(EMP_ALLOC(memory, (size_t)g->vertex_count));
        EMP_TRY(emp_partition_graph_memory(g, o->problem, memory, err));
        share_memory(target, memory_share);
        c.memory = memory;
        c.memory_share = memory_share;
    }
    EMP_TRY(emp_metis_parts(g, target->count, &c, seed, part_of_vertex, err));
    warn_of_empty_parts(o->params, target, part_of_vertex, g->vertex_count);

cleanup:
    emp_free(memory);
    return st;
}

static emp_status place(const emp_method *type, const emp_problem *problem,
                        const emp_method_params  *params,
                        const emp_owned_decision *proposal, emp_error *err)
{
    metis_options own = {.problem = problem, .params = params};

    EMP_CHECK(emp_method_options_parse(&own, type, params, err));
    if (own.memory_imbalance > 0 && !own.has_memory)
        return EMP_ERROR(EMP_EINVAL, "metis: option memory_imbalance needs memory=1");
    const emp_partition_request request = {.method = type->name,
                                           .params = {.with_cpu = own.with_cpu},
                                           .partitioner = cut,
                                           .options = &own,
                                           .seed = params->seed,
                                           .stop = params->stop};
    return emp_partition_method_place(problem, request, &own.settings,
                                      proposal->device_of_op, err);
}

static const emp_option option_list[] = {
    EMP_BOOL_OPTION("cpu", metis_options, with_cpu, "1: the CPU is one of the parts", 0),
    EMP_WORD_OPTION("strategy", metis_options, strategy, "recursive|kway",
                    "how METIS cuts", STRATEGY_RECURSIVE),
    EMP_REAL_OPTION("imbalance", metis_options, imbalance, 0, 1,
                    "load of a part over its share; 0: METIS's own", 0),
    EMP_INTEGER_OPTION("cuts", metis_options, cuts, 1, 1000,
                       "cuts that METIS makes to keep the best; its time grows likewise",
                       1),
    EMP_BOOL_OPTION("memory", metis_options, has_memory,
                    "1: parts also get their device's share of the memory", 0),
    EMP_REAL_OPTION("memory_imbalance", metis_options, memory_imbalance, 0, 1,
                    "likewise of its memory; 0: as imbalance", 0),
    EMP_PARTITION_OPTIONS(metis_options, settings),
    EMP_NO_OPTION};

const emp_method emp_method_metis = {
    .options = option_list,
    .name = "metis",
    .description =
        "METIS recursive bisection over the GPUs (Karypis and Kumar 1998); cpu=1 "
        "adds the CPU",
    .advice = "a balanced cut in a second",
    .uses_seed = true,
    .place = place,
};
