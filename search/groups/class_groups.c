// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/groups/class_groups.h"

#include "base/collections.h"
#include "base/mem.h"
#include "search/groups/colocation_groups.h"
#include "search/groups/expert_groups.h"
#include "search/groups/name_clusters.h"
#include "search/partition/metis_cut.h"
#include "search/partition/scotch_cut.h"

enum { STEPS_OF_CLUSTER = 8 };

static emp_status cut_vertices(int32_t *part, const emp_partition_graph *g,
                               const emp_class_groups_params *p, emp_error *err)
{
    bool is_trivial = p->count == 1 || g->vertex_count <= p->count;

    for (int32_t v = 0; v < g->vertex_count; v++) part[v] = p->count == 1 ? 0 : v;
    if (is_trivial) return EMP_OK;
    if (p->kind == EMP_CLASS_GROUPS_METIS)
        return emp_metis_kway(g, p->count, p->imbalance, p->seed, p->stop, part, err);
    return emp_scotch_parts(g, p->count, p->imbalance - 1.0, p->seed, p->stop, part, err);
}

static emp_status cut(int32_t *group_of_class, const emp_problem *problem,
                      const emp_class_groups_params *params, emp_error *err)
{
    emp_status           st = EMP_OK;
    emp_partition_graph *g = NULL;
    int32_t             *part = NULL;

    EMP_TRY(emp_partition_graph_create(&g, problem, false, err));
    EMP_TRY(EMP_ALLOC(part, (size_t)g->vertex_count));
    EMP_TRY(cut_vertices(part, g, params, err));
    for (int32_t c = 0; c < problem->graph->class_count; c++) {
        int32_t vertex = g->vertex_of_class[c];
        group_of_class[c] = vertex < 0 ? -1 : part[vertex];
    }

cleanup:
    emp_partition_graph_destroy(g);
    emp_free(part);
    return st;
}

emp_status emp_class_groups(int32_t *group_of_class, int32_t *group_count,
                            const emp_problem             *problem,
                            const emp_class_groups_params *params, emp_error *err)
{
    const emp_name_cluster_params names = {params->count, STEPS_OF_CLUSTER};

    *group_count = params->count;
    switch (params->kind) {
    case EMP_CLASS_GROUPS_COLOCRL:
        return emp_colocation_groups(group_of_class, group_count, problem, err);
    case EMP_CLASS_GROUPS_NAMES:
        return emp_name_clusters(group_of_class, group_count, problem, &names, err);
    case EMP_CLASS_GROUPS_EXPERTS:
        return emp_expert_groups(group_of_class, group_count, problem, err);
    case EMP_CLASS_GROUPS_ALL:
    case EMP_CLASS_GROUPS_METIS:
    case EMP_CLASS_GROUPS_SCOTCH: break;
    }
    return cut(group_of_class, problem, params, err);
}

emp_status emp_class_groups_ops(emp_members *ops, uint64_t *hash,
                                const emp_problem             *problem,
                                const emp_class_groups_params *params, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    count, classes = problem->graph->class_count;
    int32_t   *group = EMP_NEW_ARRAY(int32_t, (size_t)classes);

    *ops = (emp_members){0};
    if (group == NULL) EMP_FAIL(EMP_ENOMEM, "groups of %d classes", classes);
    EMP_TRY(emp_class_groups(group, &count, problem, params, err));
    EMP_TRY(emp_members_init_ops(ops, problem->graph, group, count, err));
    *hash = emp_hash_bytes(*hash, group, (size_t)classes * sizeof *group);

cleanup:
    emp_free(group);
    return st;
}
