// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/groups/clusters.h"

#include "base/mem.h"
#include "search/partition/metis_cut.h"

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
