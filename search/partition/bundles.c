// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/partition/partition_graph.h"

#include <string.h>

/* A round that saves less than a part in so many is the last. */
enum { LEAST_SAVING = 20 };

typedef struct {
    const emp_partition_graph *graph;
    int64_t                    most_load; /* of a pair */
    int32_t                   *mate; /* [vertex] -1: none yet; itself: stays single */
    int32_t
        *lone; /* [vertex] a leaf that waits for another leaf of this hub; -1 = none */
    int32_t *pair;  /* [vertex] its number in the next graph */
    int32_t *place; /* [pair] where it is in the row that is filled; -1 = not yet */
} matcher;

static bool may_join(const matcher *m, int32_t u, int32_t v)
{
    const emp_partition_graph *g = m->graph;

    return u != v && m->mate[v] < 0 && g->is_cpu_only[u] == g->is_cpu_only[v] &&
           (int64_t)g->load[u] + g->load[v] <= m->most_load;
}

/* The free neighbour that exchanges most with a vertex, of equals the lightest; -1 = none. */
static int32_t find_mate(const matcher *m, int32_t u)
{
    const emp_partition_graph *g = m->graph;
    int32_t                    best = -1, most = 0;

    for (int32_t i = g->row[u]; i < g->row[u + 1]; i++) {
        const int32_t v = g->neighbor[i];
        if (!may_join(m, u, v) || g->traffic[i] < most) continue;
        if (best >= 0 && g->traffic[i] == most && g->load[v] >= g->load[best]) continue;
        best = v;
        most = g->traffic[i];
    }
    return best;
}

/* The hub that a vertex exchanges most with. */
static int32_t find_hub(const emp_partition_graph *g, int32_t u)
{
    int32_t at = g->row[u];

    for (int32_t i = g->row[u]; i < g->row[u + 1]; i++)
        if (g->traffic[i] > g->traffic[at]) at = i;
    return g->neighbor[at];
}

static void join(matcher *m, int32_t u, int32_t v)
{
    m->mate[u] = v;
    m->mate[v] = u;
}

/* All of what a vertex exchanges with is taken: it joins another such vertex. */
static void join_lone(matcher *m, int32_t u)
{
    if (m->graph->row[u] == m->graph->row[u + 1]) return;
    int32_t *lone = &m->lone[find_hub(m->graph, u)];
    if (*lone >= 0 && may_join(m, u, *lone)) {
        join(m, u, *lone);
        *lone = -1;
    } else {
        *lone = u;
    }
}

/* \return the number of pairs and single vertices. */
static int32_t match(matcher *m)
{
    const int32_t count = m->graph->vertex_count;
    int32_t       pairs = 0;

    for (int32_t v = 0; v < count; v++) m->mate[v] = m->lone[v] = -1;
    for (int32_t u = 0; u < count; u++) {
        const int32_t v = m->mate[u] < 0 ? find_mate(m, u) : -1;
        if (v >= 0) join(m, u, v);
    }
    for (int32_t u = 0; u < count; u++)
        if (m->mate[u] < 0) join_lone(m, u);
    for (int32_t u = 0; u < count; u++) {
        const bool is_second = m->mate[u] >= 0 && m->mate[u] < u;
        m->pair[u] = is_second ? m->pair[m->mate[u]] : pairs++;
    }
    return pairs;
}

/* ---- the graph of pairs ---- */

static void add_row(matcher *m, emp_partition_graph *pairs, int32_t p, int32_t v,
                    int32_t *count)
{
    const emp_partition_graph *g = m->graph;

    for (int32_t i = g->row[v]; i < g->row[v + 1]; i++) {
        const int32_t q = m->pair[g->neighbor[i]];
        if (q == p) continue;
        if (m->place[q] < pairs->row[p]) {
            m->place[q] = *count;
            pairs->neighbor[*count] = q;
            pairs->traffic[(*count)++] = 0;
        }
        pairs->traffic[m->place[q]] += g->traffic[i];
    }
}

/* Rows are short. */
static void sort_row(emp_partition_graph *g, int32_t first, int32_t end)
{
    for (int32_t i = first + 1; i < end; i++) {
        const int32_t neighbor = g->neighbor[i], traffic = g->traffic[i];
        int32_t       at = i;
        for (; at > first && g->neighbor[at - 1] > neighbor; at--) {
            g->neighbor[at] = g->neighbor[at - 1];
            g->traffic[at] = g->traffic[at - 1];
        }
        g->neighbor[at] = neighbor;
        g->traffic[at] = traffic;
    }
}

static void fill(matcher *m, emp_partition_graph *pairs)
{
    const emp_partition_graph *g = m->graph;
    int32_t                    count = 0;

    for (int32_t p = 0; p < pairs->vertex_count; p++) m->place[p] = -1;
    for (int32_t u = 0; u < g->vertex_count; u++) {
        const int32_t p = m->pair[u], v = m->mate[u];
        if (v >= 0 && v < u) continue;
        pairs->row[p] = count;
        pairs->is_cpu_only[p] = g->is_cpu_only[u];
        pairs->load[p] = g->load[u] + (v >= 0 ? g->load[v] : 0);
        add_row(m, pairs, p, u, &count);
        if (v >= 0) add_row(m, pairs, p, v, &count);
        sort_row(pairs, pairs->row[p], count);
    }
    pairs->row[pairs->vertex_count] = count;
}

static emp_status create_pairs(emp_partition_graph **out, matcher *m, int32_t count,
                               emp_error *err)
{
    const size_t         arcs = (size_t)m->graph->row[m->graph->vertex_count];
    emp_partition_graph *g = EMP_NEW(emp_partition_graph);

    *out = g;
    if (g == NULL) return EMP_ERROR(EMP_ENOMEM, "bundles of a graph");
    g->vertex_count = count;
    g->load = EMP_ADD_ARRAY(&g->arrays, int32_t, (size_t)count);
    g->is_cpu_only = EMP_ADD_ARRAY(&g->arrays, bool, (size_t)count);
    g->row = EMP_ADD_ARRAY(&g->arrays, int32_t, (size_t)count + 1);
    g->neighbor = EMP_ADD_ARRAY(&g->arrays, int32_t, arcs);
    g->traffic = EMP_ADD_ARRAY(&g->arrays, int32_t, arcs);
    if (g->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "bundles of %d vertices", count);
    fill(m, g);
    return EMP_OK;
}

/* ---- all rounds ---- */

/* Replaces \a *graph, unless it saves little; the first one is borrowed. */
static emp_status bundle_once(emp_partition_graph **graph, matcher *m, int32_t *bundle,
                              int32_t vertices, bool *is_last, emp_error *err)
{
    const int32_t        before = m->graph->vertex_count, count = match(m);
    emp_partition_graph *pairs = NULL;

    *is_last = before - count < before / LEAST_SAVING;
    const emp_status st = create_pairs(&pairs, m, count, err);
    emp_partition_graph_destroy(*graph);
    *graph = pairs;
    m->graph = pairs;
    if (st != EMP_OK) return st;
    for (int32_t v = 0; v < vertices; v++) bundle[v] = m->pair[bundle[v]];
    return EMP_OK;
}

static int64_t sum_load(const emp_partition_graph *g)
{
    int64_t sum = 0;

    for (int32_t v = 0; v < g->vertex_count; v++) sum += g->load[v];
    return sum;
}

emp_status emp_partition_graph_bundle(emp_partition_graph      **out,
                                      const emp_partition_graph *graph, int32_t most,
                                      int32_t *bundle_of_vertex, emp_error *err)
{
    emp_status   st = EMP_OK;
    const size_t room = (size_t)graph->vertex_count;
    emp_arrays   arrays = {0};
    matcher      m = {.graph = graph,
                      .most_load = 2 * (sum_load(graph) / most + 1),
                      .mate = EMP_ADD_ARRAY(&arrays, int32_t, room),
                      .lone = EMP_ADD_ARRAY(&arrays, int32_t, room),
                      .pair = EMP_ADD_ARRAY(&arrays, int32_t, room),
                      .place = EMP_ADD_ARRAY(&arrays, int32_t, room)};
    bool         is_last = false;

    *out = NULL;
    if (arrays.is_short)
        EMP_FAIL(EMP_ENOMEM, "bundles of %d vertices", graph->vertex_count);
    for (int32_t v = 0; v < graph->vertex_count; v++) bundle_of_vertex[v] = v;
    do {
        EMP_TRY(
            bundle_once(out, &m, bundle_of_vertex, graph->vertex_count, &is_last, err));
    } while (!is_last && m.graph->vertex_count > most);

cleanup:
    emp_arrays_clear(&arrays);
    if (st != EMP_OK) {
        emp_partition_graph_destroy(*out);
        *out = NULL;
    }
    return st;
}
