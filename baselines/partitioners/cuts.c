// SPDX-License-Identifier: GPL-3.0-or-later
/* Cut methods: each cuts the graph into a part per device, by Scotch, METIS or acyclic bisection.
 */
#include <math.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "baselines/baselines.h"
#include "baselines/partitioners/memory_repair.h"
#include "search/acyclic/acyclic_cut.h"
#include "search/groups/colocation_groups.h"
#include "search/method.h"
#include "search/partition/metis_cut.h"
#include "search/partition/partition_graph.h"
#include "search/partition/scotch_cut.h"

/* Settings that all methods which cut a graph share: the weights of ops, the weights of devices, and
 * whether a placement that does not fit is repaired. */

/** Values of the shared options. */
typedef struct {
    emp_op_costs     costs;
    emp_device_power power;
    bool             repair;
} emp_partition_settings;

/** Rows of a method's options; \a at is the emp_partition_settings in its struct \a type. */
#define EMP_PARTITION_OPTIONS(type, at)                                              \
    EMP_WORD_OPTION("costs", type, at.costs, EMP_OP_COSTS_WORDS,                     \
                    "weight of an op; grappler: TensorFlow's estimate",              \
                    EMP_OP_COSTS_TIME),                                              \
        EMP_WORD_OPTION("power", type, at.power, EMP_DEVICE_POWER_WORDS,             \
                        "share of a device: peak FLOP/s, or measured on the ops of " \
                        "the graph",                                                 \
                        EMP_POWER_PEAK),                                             \
        EMP_BOOL_OPTION("repair", type, at.repair,                                   \
                        "1: groups of ops leave devices that lack memory", 0)

/* Cuts as \a request says, with the costs and powers of \a settings put into it, and repairs
 * if they say so (memory_repair.h). */
static emp_status place_parts(const emp_problem *problem, emp_partition_request request,
                              const emp_partition_settings *settings,
                              emp_device_id *device_of_op, emp_error *err)
{
    if (problem->graph->stated != NULL && settings->costs != EMP_OP_COSTS_TIME)
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "ops of %s state how long they take, and nothing of FLOPs; use costs=time",
            problem->workload);
    request.params.costs = settings->costs;
    request.params.power = settings->power;
    EMP_CHECK(emp_partition_place(problem, &request, device_of_op, err));
    if (settings->repair)
        EMP_CHECK(emp_memory_repair(problem, request.method, request.seed, request.stop,
                                    device_of_op, err));
    return EMP_OK;
}

/* Scotch places, in two methods: "scotch" maps onto the CPU and the GPUs, "mincut" is the
 * same mapper with the CPU taken out of the target (Mirhoseini et al. 2017). */

typedef struct {
    emp_scotch_options     scotch;
    emp_partition_settings settings;
} mapping_options;

static const emp_option mapping_option_list[] = {
    EMP_WORD_OPTION("arch", mapping_options, scotch.architecture,
                    EMP_SCOTCH_ARCHITECTURE_WORDS,
                    "distance of two devices: time of a transfer on the machine, or 1",
                    EMP_SCOTCH_MACHINE),
    EMP_WORD_OPTION("strategy", mapping_options, scotch.strategy,
                    EMP_SCOTCH_STRATEGY_WORDS, "what Scotch aims at", EMP_SCOTCH_QUALITY),
    EMP_REAL_OPTION("imbalance", mapping_options, scotch.imbalance, 0.001, 1,
                    "load of a device over its share", 0.05),
    EMP_PARTITION_OPTIONS(mapping_options, settings), EMP_NO_OPTION};

static emp_status place_mapped(const emp_method *type, const emp_problem *problem,
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
    return place_parts(problem, request, &own.settings, proposal->device_of_op, err);
}

const emp_method emp_method_scotch = {
    .options = mapping_option_list,
    .uses_seed = true,
    .name = "scotch",
    .description = "Scotch static mapping onto the CPU and the GPUs (Pellegrini 1994)",
    .advice = "the papers' baseline, with a part for the CPU",
    .place = place_mapped,
};

const emp_method emp_method_mincut = {
    .options = mapping_option_list,
    .uses_seed = true,
    .name = "mincut",
    .description = "Scotch static mapping onto the GPUs alone (Mirhoseini et al. 2017)",
    .advice = "the papers' baseline, with parts only for GPUs",
    .place = place_mapped,
};

/* METIS places: parts as large as their device's share of the peak FLOP/s. METIS cannot
 * pin a vertex, so by default it cuts only for the GPUs, and ops without a GPU kernel stay
 * on the CPU; with cpu=1 the CPU is one of the parts. With memory=1 each part also has its
 * device's share of the memory: a balance, not a limit, hence repair=1. */

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

/* METIS calls a cut with empty parts a success: it makes them where vertices are few, where one vertex has most of the
 * load, or where all others have edges to one. */
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
    emp_text_add(&text, " without ops: its cut has %d empty part%s of %d, as ", empty,
                 emp_units_plural(empty), target->count);
    if (vertex_count < target->count)
        emp_text_add(&text, "there %s only %d op%s or set%s of colocated ops to cut",
                     vertex_count == 1 ? "is" : "are", vertex_count,
                     emp_units_plural(vertex_count), emp_units_plural(vertex_count));
    else
        emp_text_add(&text, "one op has most of the load, or the others exchange data "
                            "with one alone");
    params->warn(params->warn_context, sentence);
}

static emp_status metis_cut(const emp_partition_graph  *g,
                            const emp_partition_target *target, const void *options,
                            uint64_t seed, const atomic_int *stop,
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

static emp_status place_metis(const emp_method *type, const emp_problem *problem,
                              const emp_method_params  *params,
                              const emp_owned_decision *proposal, emp_error *err)
{
    metis_options own = {.problem = problem, .params = params};

    EMP_CHECK(emp_method_options_parse(&own, type, params, err));
    if (own.memory_imbalance > 0 && !own.has_memory)
        return EMP_ERROR(EMP_EINVAL, "metis: option memory_imbalance needs memory=1");
    const emp_partition_request request = {.method = type->name,
                                           .params = {.with_cpu = own.with_cpu},
                                           .partitioner = metis_cut,
                                           .options = &own,
                                           .seed = params->seed,
                                           .stop = params->stop};
    return place_parts(problem, request, &own.settings, proposal->device_of_op, err);
}

static const emp_option metis_option_list[] = {
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
    .options = metis_option_list,
    .name = "metis",
    .description =
        "METIS recursive bisection over the GPUs (Karypis and Kumar 1998); cpu=1 "
        "adds the CPU",
    .advice = "a balanced cut in a second",
    .uses_seed = true,
    .place = place_metis,
};

/* An acyclic partition places: the GPUs follow each other as stages of a pipeline, and data
 * flow from one to those after it. The steps of a training graph come back on their way: what
 * flows is then the forward pass, and by default each gradient op is where its forward op is,
 * unless a group of such ops would be too large for any device. Ops without a GPU kernel stay on the CPU, whatever passes through them. */

typedef enum { UNITS_GROUPS, UNITS_CLASSES } acyclic_units;

typedef struct {
    const emp_problem     *problem;
    acyclic_units          units; /* what vertices are */
    double                 imbalance;
    emp_partition_settings settings;
} acyclic_options;

/* The group of each vertex by ColocRL's rules: gradients with their forward ops. */
static emp_status group_vertices(const emp_partition_graph *g, const emp_problem *problem,
                                 int32_t *group_of_vertex, int32_t *group_count,
                                 emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    classes = problem->graph->class_count;
    int32_t   *group_of_class = EMP_NEW_ARRAY(int32_t, (size_t)classes);

    if (group_of_class == NULL) EMP_FAIL(EMP_ENOMEM, "groups of %d classes", classes);
    EMP_TRY(emp_colocation_groups(group_of_class, group_count, problem, err));
    for (int32_t v = 0; v < g->vertex_count; v++)
        group_of_vertex[v] = group_of_class[g->class_of_vertex[v]];

cleanup:
    emp_free(group_of_class);
    return st;
}

/* Whether every vertex is within what some device may have. */
static bool fits(const emp_flow_graph *flows, const emp_partition_target *target,
                 double imbalance)
{
    double total = 0.0, largest = 0.0, share = 0.0;

    for (int32_t v = 0; v < flows->vertex_count; v++) {
        total += (double)flows->load[v];
        largest = fmax(largest, (double)flows->load[v]);
    }
    for (int32_t p = 0; p < target->count; p++) share = fmax(share, target->power[p]);
    return largest <= (1.0 + imbalance) * share * total;
}

/* Groups, or classes where those are asked for or a group is too large. */
static emp_status make_flows(emp_flow_graph **flows, int32_t *group_of_vertex,
                             const emp_partition_graph  *g,
                             const emp_partition_target *target, const acyclic_options *o,
                             emp_error *err)
{
    int32_t group_count = 0;

    if (o->units == UNITS_GROUPS) {
        EMP_CHECK(group_vertices(g, o->problem, group_of_vertex, &group_count, err));
        EMP_CHECK(emp_flow_graph_create(flows, g, o->problem, group_of_vertex,
                                        group_count, err));
        if (fits(*flows, target, o->imbalance)) return EMP_OK;
        emp_flow_graph_destroy(*flows);
    }
    for (int32_t v = 0; v < g->vertex_count; v++) group_of_vertex[v] = v;
    return emp_flow_graph_create(flows, g, o->problem, NULL, 0, err);
}

static emp_status acyclic_cut(const emp_partition_graph  *g,
                              const emp_partition_target *target, const void *options,
                              uint64_t seed, const atomic_int *stop,
                              int32_t *part_of_vertex, emp_error *err)
{
    emp_status             st = EMP_OK;
    const acyclic_options *o = options;
    size_t                 count = (size_t)g->vertex_count;
    emp_flow_graph        *flows = NULL;
    int32_t               *group_of_vertex = EMP_NEW_ARRAY(int32_t, count);
    int32_t               *part_of_group = EMP_NEW_ARRAY(int32_t, count);

    if (group_of_vertex == NULL || part_of_group == NULL)
        EMP_FAIL(EMP_ENOMEM, "parts of %d vertices", g->vertex_count);
    EMP_TRY(make_flows(&flows, group_of_vertex, g, target, o, err));
    EMP_TRY(emp_acyclic_cut(flows, target->count, target->power, o->imbalance, seed, stop,
                            part_of_group, err));
    for (int32_t v = 0; v < g->vertex_count; v++)
        part_of_vertex[v] = part_of_group[group_of_vertex[v]];

cleanup:
    emp_flow_graph_destroy(flows);
    emp_free(group_of_vertex);
    emp_free(part_of_group);
    return st;
}

static emp_status place_acyclic(const emp_method *type, const emp_problem *problem,
                                const emp_method_params  *params,
                                const emp_owned_decision *proposal, emp_error *err)
{
    acyclic_options own = {.problem = problem};

    EMP_CHECK(emp_method_options_parse(&own, type, params, err));
    const emp_partition_request request = {.method = type->name,
                                           .partitioner = acyclic_cut,
                                           .options = &own,
                                           .seed = params->seed,
                                           .stop = params->stop};
    return place_parts(problem, request, &own.settings, proposal->device_of_op, err);
}

static const emp_option acyclic_option_list[] = {
    EMP_WORD_OPTION("units", acyclic_options, units, "groups|classes",
                    "what stays together: gradients with forward ops, or classes",
                    UNITS_GROUPS),
    EMP_REAL_OPTION("imbalance", acyclic_options, imbalance, 0, 1,
                    "load of a device over its share", 0.05),
    EMP_PARTITION_OPTIONS(acyclic_options, settings), EMP_NO_OPTION};

const emp_method emp_method_acyclic = {
    .options = acyclic_option_list,
    .name = "acyclic",
    .description =
        "acyclic multilevel bisection over the GPUs (dagP, Herrmann et al. 2019)",
    .advice = "a cut that data cross in one direction only",
    .uses_seed = true,
    .place = place_acyclic,
};
