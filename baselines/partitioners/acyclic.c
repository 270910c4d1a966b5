// SPDX-License-Identifier: GPL-3.0-or-later
/* An acyclic partition places: the GPUs follow each other as stages of a pipeline, and data
 * flow from one to those after it. The steps of a training graph come back on their way: what
 * flows is then the forward pass, and by default each gradient op is where its forward op is,
 * unless a group of such ops would be too large for any device. Ops without a GPU kernel stay on the CPU, whatever passes through them. */
#include <math.h>

#include "base/mem.h"
#include "baselines/baselines.h"
#include "baselines/partitioners/partition_method.h"
#include "search/acyclic/acyclic_cut.h"
#include "search/groups/colocation_groups.h"

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

static emp_status cut(const emp_partition_graph *g, const emp_partition_target *target,
                      const void *options, uint64_t seed, const atomic_int *stop,
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

static emp_status place(const emp_method *type, const emp_problem *problem,
                        const emp_method_params  *params,
                        const emp_owned_decision *proposal, emp_error *err)
{
    acyclic_options own = {.problem = problem};

    EMP_CHECK(emp_method_options_parse(&own, type, params, err));
    const emp_partition_request request = {.method = type->name,
                                           .partitioner = cut,
                                           .options = &own,
                                           .seed = params->seed,
                                           .stop = params->stop};
    return emp_partition_method_place(problem, request, &own.settings,
                                      proposal->device_of_op, err);
}

static const emp_option option_list[] = {
    EMP_WORD_OPTION("units", acyclic_options, units, "groups|classes",
                    "what stays together: gradients with forward ops, or classes",
                    UNITS_GROUPS),
    EMP_REAL_OPTION("imbalance", acyclic_options, imbalance, 0, 1,
                    "load of a device over its share", 0.05),
    EMP_PARTITION_OPTIONS(acyclic_options, settings), EMP_NO_OPTION};

const emp_method emp_method_acyclic = {
    .options = option_list,
    .name = "acyclic",
    .description =
        "acyclic multilevel bisection over the GPUs (dagP, Herrmann et al. 2019)",
    .advice = "a cut that data cross in one direction only",
    .uses_seed = true,
    .place = place,
};
