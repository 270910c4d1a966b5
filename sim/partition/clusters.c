// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/partition/clusters.h"

#include "base/mem.h"
#include "sim/partition/metis_cut.h"

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
                        uint64_t seed, int32_t *group_of_vertex, int32_t *used,
                        emp_error *err)
{
    emp_status st = EMP_OK;

    if (g->vertex_count <= count) {
        for (int32_t v = 0; v < g->vertex_count; v++) group_of_vertex[v] = v;
    } else if (count == 1) {
        for (int32_t v = 0; v < g->vertex_count; v++) group_of_vertex[v] = 0;
    } else {
        EMP_TRY(emp_metis_kway(g, count, imbalance, seed, group_of_vertex, err));
    }
    EMP_TRY(number_parts(group_of_vertex, g->vertex_count, count, used, err));

cleanup:
    return st;
}

/* Vertices in the order of their groups; first[group] .. first[group + 1] - 1 are those
 * of one. */
static void sort_by_group(const int32_t *group_of_vertex, int32_t vertex_count,
                          int32_t group_count, int32_t *vertex, int32_t *first)
{
    for (int32_t v = 0; v < vertex_count; v++) first[group_of_vertex[v] + 1]++;
    for (int32_t i = 0; i < group_count; i++) first[i + 1] += first[i];
    for (int32_t v = vertex_count - 1; v >= 0; v--)
        vertex[--first[group_of_vertex[v] + 1]] = v;
    /* a row's begin now stands one place too far */
    for (int32_t i = 0; i < group_count; i++) first[i] = first[i + 1];
    first[group_count] = vertex_count;
}

/* The row of one group: what its members send to those of other groups. \a place[group]
 * is where the row already has that neighbour, if not below the row's begin. */
static void add_row(emp_partition_graph *quotient, const emp_partition_graph *g,
                    const int32_t *group_of_vertex, const int32_t *member, int32_t count,
                    int32_t number, int32_t *place)
{
    int32_t begin = quotient->row[number], end = begin;

    for (int32_t m = 0; m < count; m++) {
        int32_t v = member[m];
        quotient->load[number] += g->load[v];
        for (int32_t i = g->row[v]; i < g->row[v + 1]; i++) {
            int32_t other = group_of_vertex[g->neighbor[i]];
            if (other == number) continue;
            if (place[other] < begin) {
                place[other] = end;
                quotient->neighbor[end++] = other;
            }
            quotient->traffic[place[other]] += g->traffic[i];
        }
    }
    quotient->row[number + 1] = end;
}

/* The graph of groups. */
static emp_status contract(emp_partition_graph *quotient, const emp_partition_graph *g,
                           const int32_t *group_of_vertex, int32_t group_count,
                           emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     arcs = (size_t)g->row[g->vertex_count], groups = (size_t)group_count;
    int32_t   *vertex = EMP_NEW_ARRAY(int32_t, (size_t)g->vertex_count);
    int32_t   *first = EMP_NEW_ARRAY(int32_t, groups + 1);
    int32_t   *place = EMP_NEW_ARRAY(int32_t, groups);

    quotient->vertex_count = group_count;
    quotient->row = EMP_NEW_ARRAY(int32_t, groups + 1);
    quotient->load = EMP_NEW_ARRAY(int32_t, groups);
    quotient->neighbor = EMP_NEW_ARRAY(int32_t, arcs);
    quotient->traffic = EMP_NEW_ARRAY(int32_t, arcs);
    if (!vertex || !first || !place || !quotient->row || !quotient->load ||
        !quotient->neighbor || !quotient->traffic) {
        EMP_FAIL(EMP_ENOMEM, "graph of %d groups", group_count);
    }
    sort_by_group(group_of_vertex, g->vertex_count, group_count, vertex, first);
    for (int32_t i = 0; i < group_count; i++) place[i] = -1;
    for (int32_t i = 0; i < group_count; i++) {
        add_row(quotient, g, group_of_vertex, vertex + first[i], first[i + 1] - first[i],
                i, place);
    }

cleanup:
    emp_free(vertex);
    emp_free(first);
    emp_free(place);
    return st;
}

static emp_status allocate(emp_clusters *c, int32_t class_count, int32_t vertex_count,
                           emp_error *err)
{
    emp_status st = EMP_OK;

    c->class_count = class_count;
    c->fine_of_class = EMP_NEW_ARRAY(int32_t, (size_t)class_count);
    c->coarse_of_fine = EMP_NEW_ARRAY(int32_t, (size_t)vertex_count);
    if (!c->fine_of_class || !c->coarse_of_fine)
        EMP_FAIL(EMP_ENOMEM, "groups of %d classes", class_count);

cleanup:
    return st;
}

emp_status emp_clusters_create(emp_clusters **out, const emp_problem *problem,
                               int32_t fine, int32_t coarse, double imbalance,
                               uint64_t seed, emp_error *err)
{
    emp_status           st = EMP_OK;
    emp_partition_graph *g = NULL, *quotient = EMP_NEW(emp_partition_graph);
    emp_clusters        *c = EMP_NEW(emp_clusters);
    int32_t             *fine_of_vertex = NULL;

    *out = NULL;
    if (c == NULL || quotient == NULL) EMP_FAIL(EMP_ENOMEM, "groups of a graph");
    EMP_TRY(emp_partition_graph_create(&g, problem, false, err));
    EMP_TRY(allocate(c, problem->graph->class_count, g->vertex_count, err));
    fine_of_vertex = EMP_NEW_ARRAY(int32_t, (size_t)g->vertex_count);
    if (fine_of_vertex == NULL)
        EMP_FAIL(EMP_ENOMEM, "groups of %d vertices", g->vertex_count);

    EMP_TRY(group(g, fine, imbalance, seed, fine_of_vertex, &c->fine_count, err));
    EMP_TRY(contract(quotient, g, fine_of_vertex, c->fine_count, err));
    EMP_TRY(group(quotient, coarse, imbalance, seed, c->coarse_of_fine, &c->coarse_count,
                  err));
    for (int32_t i = 0; i < c->class_count; i++) {
        int32_t v = g->vertex_of_class[i];
        c->fine_of_class[i] = v < 0 ? -1 : fine_of_vertex[v];
    }
    *out = c;
    c = NULL;

cleanup:
    emp_free(fine_of_vertex);
    emp_partition_graph_destroy(quotient);
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
