// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/groups/class_groups.h"

#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "search/groups/colocation_groups.h"
#include "search/partition/metis_cut.h"
#include "search/partition/scotch_cut.h"

/* Sorts by counting: next[g] walks from the first member of g to the first of g + 1. */
static void fill(emp_members *m, const int32_t *group_of_item, int32_t count)
{
    int32_t *next = m->first + 1;

    for (int32_t i = 0; i < count; i++)
        if (group_of_item[i] >= 0) next[group_of_item[i] + 1]++;
    for (int32_t g = 0; g < m->group_count; g++) next[g + 1] += next[g];
    for (int32_t i = 0; i < count; i++)
        if (group_of_item[i] >= 0) m->member[next[group_of_item[i]]++] = i;
}

static void drop_empty_groups(emp_members *m)
{
    int32_t used = 0;

    for (int32_t g = 0; g < m->group_count; g++)
        if (m->first[g + 1] > m->first[g]) m->first[++used] = m->first[g + 1];
    m->group_count = used;
}

emp_status emp_members_init(emp_members *members, const int32_t *group_of_item,
                            int32_t count, int32_t group_count, emp_error *err)
{
    emp_status st = EMP_OK;

    *members = (emp_members){.group_count = group_count};
    EMP_TRY(EMP_ALLOC(members->first, (size_t)group_count + 2));
    EMP_TRY(EMP_ALLOC(members->member, (size_t)count));
    fill(members, group_of_item, count);
    drop_empty_groups(members);

cleanup:
    if (st != EMP_OK) emp_members_clear(members);
    return st;
}

emp_status emp_members_init_ops(emp_members *members, const emp_graph *graph,
                                const int32_t *group_of_class, int32_t group_count,
                                emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t   *group_of_op = EMP_NEW_ARRAY(int32_t, (size_t)graph->op_count);

    *members = (emp_members){0};
    if (group_of_op == NULL) EMP_FAIL(EMP_ENOMEM, "groups of %d ops", graph->op_count);
    for (emp_op_id op = 0; op < graph->op_count; op++)
        group_of_op[op] = group_of_class[graph->op[op].colocation_class];
    EMP_TRY(emp_members_init(members, group_of_op, graph->op_count, group_count, err));

cleanup:
    emp_free(group_of_op);
    return st;
}

void emp_members_spread(const emp_members *members, const int32_t *value_of_group,
                        int32_t *value_of_item)
{
    for (int32_t g = 0; g < members->group_count; g++)
        for (int32_t i = members->first[g]; i < members->first[g + 1]; i++)
            value_of_item[members->member[i]] = value_of_group[g];
}

void emp_members_clear(emp_members *members)
{
    emp_free(members->first);
    emp_free(members->member);
    *members = (emp_members){0};
}

size_t emp_expert_layer_length(const char *op_name)
{
    static const char module[] = ".experts", tensor[] = "_exps";
    const size_t      length = strcspn(op_name, "/");
    const char       *at = strstr(op_name, module);

    if (at != NULL && (size_t)(at - op_name) < length) {
        const char behind = at[sizeof module - 1];
        return behind == '.' || behind == '/' || behind == '\0' ? (size_t)(at - op_name)
                                                                : 0;
    }
    at = strstr(op_name, tensor);
    if (at == NULL || (size_t)(at - op_name) >= length) return 0;
    while (at > op_name && *at != '.') at--;
    return (size_t)(at - op_name);
}

bool emp_has_experts(const emp_graph *g)
{
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (!g->op[op].is_folded && emp_expert_layer_length(g->name[op]) > 0) return true;
    return false;
}

emp_status emp_expert_groups(int32_t *group_of_class, int32_t *group_count,
                             const emp_problem *problem, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = problem->graph;
    emp_strmap       layers = {0};

    *group_count = 0;
    for (int32_t c = 0; c < g->class_count; c++) group_of_class[c] = -1;
    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id op = g->topo[i];
        const int32_t   c = problem->class_of_op[op];
        const size_t    length = emp_expert_layer_length(g->name[op]);
        if (c < 0 || length == 0 || (problem->kinds_of_class[c] & EMP_KIND_GPU) == 0)
            continue;
        int32_t layer = emp_strmap_get(&layers, g->name[op], length);
        if (layer < 0) {
            layer = (*group_count)++;
            EMP_TRY(emp_strmap_set(&layers, g->name[op], length, layer, err));
        }
        if (group_of_class[c] < 0) group_of_class[c] = layer;
    }

cleanup:
    emp_strmap_clear(&layers);
    return st;
}

/* Numbers the parts that have members from 0; returns how many. */
static emp_status number_parts(int32_t *part_of_vertex, int32_t vertex_count,
                               int32_t part_count, int32_t *used, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t   *number = EMP_NEW_ARRAY(int32_t, (size_t)part_count);

    *used = 0;
    if (number == NULL) EMP_FAIL(EMP_ENOMEM, "%d groups", part_count);
    for (int32_t v = 0; v < vertex_count; v++) {
        int32_t part = part_of_vertex[v];
        if (number[part] == 0) number[part] = ++*used;
        part_of_vertex[v] = number[part] - 1;
    }

cleanup:
    emp_free(number);
    return st;
}

/* Groups of vertices; each vertex is one if there are no more than groups. */
static emp_status group(const emp_partition_graph *g, int32_t count, double imbalance,
                        uint64_t seed, const atomic_int *stop, int32_t *group_of_vertex,
                        int32_t *used, emp_error *err)
{
    if (g->vertex_count <= count) {
        for (int32_t v = 0; v < g->vertex_count; v++) group_of_vertex[v] = v;
    } else if (count == 1) {
        for (int32_t v = 0; v < g->vertex_count; v++) group_of_vertex[v] = 0;
    } else {
        EMP_CHECK(emp_metis_kway(g, count, imbalance, seed, stop, group_of_vertex, err));
    }
    return number_parts(group_of_vertex, g->vertex_count, count, used, err);
}

/* Fine groups end where coarse ones do: a group for each pair that has members. */
static emp_status cut_at_borders(emp_clusters *c, int32_t *fine_of_vertex,
                                 const int32_t *coarse_of_vertex, int32_t vertex_count,
                                 emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    pairs = 0;
    int32_t   *pair =
        EMP_NEW_ARRAY(int32_t, (size_t)c->fine_count * (size_t)c->coarse_count);

    if (pair == NULL) EMP_FAIL(EMP_ENOMEM, "groups of %d vertices", vertex_count);
    for (int32_t v = 0; v < vertex_count; v++) {
        int64_t at = (int64_t)fine_of_vertex[v] * c->coarse_count + coarse_of_vertex[v];
        if (pair[at] == 0) {
            c->coarse_of_fine[pairs] = coarse_of_vertex[v];
            pair[at] = ++pairs;
        }
        fine_of_vertex[v] = pair[at] - 1;
    }
    c->fine_count = pairs;

cleanup:
    emp_free(pair);
    return st;
}

static emp_status allocate(emp_clusters *c, int32_t class_count, int32_t vertex_count,
                           emp_error *err)
{
    c->class_count = class_count;
    EMP_CHECK(EMP_ALLOC(c->fine_of_class, (size_t)class_count));
    EMP_CHECK(EMP_ALLOC(c->coarse_of_fine, (size_t)vertex_count));
    return EMP_OK;
}

emp_status emp_clusters_create(emp_clusters **out, const emp_problem *problem,
                               int32_t fine, int32_t coarse, double imbalance,
                               uint64_t seed, const atomic_int *stop, emp_error *err)
{
    emp_status           st = EMP_OK;
    emp_partition_graph *g = NULL;
    emp_clusters        *c = EMP_NEW(emp_clusters);
    int32_t             *fine_of_vertex = NULL, *coarse_of_vertex = NULL;

    *out = NULL;
    if (c == NULL) EMP_FAIL(EMP_ENOMEM, "groups of a graph");
    EMP_TRY(emp_partition_graph_create(&g, problem, false, err));
    EMP_TRY(allocate(c, problem->graph->class_count, g->vertex_count, err));
    EMP_TRY(EMP_ALLOC(fine_of_vertex, (size_t)g->vertex_count));
    EMP_TRY(EMP_ALLOC(coarse_of_vertex, (size_t)g->vertex_count));

    EMP_TRY(group(g, fine, imbalance, seed, stop, fine_of_vertex, &c->fine_count, err));
    EMP_TRY(
        group(g, coarse, imbalance, seed, stop, coarse_of_vertex, &c->coarse_count, err));
    EMP_TRY(cut_at_borders(c, fine_of_vertex, coarse_of_vertex, g->vertex_count, err));
    for (int32_t i = 0; i < c->class_count; i++) {
        int32_t v = g->vertex_of_class[i];
        c->fine_of_class[i] = v < 0 ? -1 : fine_of_vertex[v];
    }
    *out = c;
    c = NULL;

cleanup:
    emp_free(fine_of_vertex);
    emp_free(coarse_of_vertex);
    emp_partition_graph_destroy(g);
    emp_clusters_destroy(c);
    return st;
}

void emp_clusters_destroy(emp_clusters *clusters)
{
    if (clusters == NULL) return;
    emp_free(clusters->fine_of_class);
    emp_free(clusters->coarse_of_fine);
    emp_free(clusters);
}

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

/* So many vertices a group are left to choose from when bundles are cut. */
enum { BUNDLES_A_GROUP = 4 };

static emp_status cut(int32_t *group_of_class, const emp_problem *problem,
                      const emp_class_vertices      *vertices,
                      const emp_class_groups_params *params, emp_error *err)
{
    emp_status                 st = EMP_OK;
    const emp_partition_graph *g = vertices->graph, *cut_graph = g;
    const bool                 has_bundles =
        vertices->bundles != NULL &&
        vertices->bundles->vertex_count >= BUNDLES_A_GROUP * params->count;
    int32_t *part = NULL;

    if (has_bundles) cut_graph = vertices->bundles;
    EMP_TRY(EMP_ALLOC(part, (size_t)cut_graph->vertex_count));
    EMP_TRY(cut_vertices(part, cut_graph, params, err));
    for (int32_t c = 0; c < problem->graph->class_count; c++) {
        int32_t vertex = g->vertex_of_class[c];
        group_of_class[c] = -1;
        if (vertex < 0) continue;
        group_of_class[c] =
            part[has_bundles ? vertices->bundle_of_vertex[vertex] : vertex];
    }

cleanup:
    emp_free(part);
    return st;
}

static emp_status cut_once(int32_t *group_of_class, const emp_problem *problem,
                           const emp_class_groups_params *params, emp_error *err)
{
    emp_partition_graph *g = NULL;

    EMP_CHECK(emp_partition_graph_create(&g, problem, false, err));
    const emp_class_vertices vertices = {.graph = g};
    const emp_status         st = cut(group_of_class, problem, &vertices, params, err);
    emp_partition_graph_destroy(g);
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
    return params->vertices == NULL
               ? cut_once(group_of_class, problem, params, err)
               : cut(group_of_class, problem, params->vertices, params, err);
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
