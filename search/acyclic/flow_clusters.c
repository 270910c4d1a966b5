// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/acyclic/flow_clusters.h"

#include "base/mem.h"
#include "base/rng.h"

enum { NONE = -1, SEVERAL = -2, STREAM = 0x666c6f77 /* "flow" */ };

typedef struct {
    const emp_flow_graph *graph;
    const int32_t        *level;
    int64_t               load_limit;
    int32_t              *cluster; /* [vertex] named by its first member; NONE = alone */
    int32_t *beside; /* [vertex] the one cluster of several that an edge of one
                                     level leads to or from; NONE; SEVERAL */
    int64_t *load;   /* [cluster] */
    int32_t *low;    /* [cluster] its lower level */
} clustering;

static bool is_one_level(const clustering *c, int32_t u, int32_t v)
{
    int32_t difference = c->level[u] - c->level[v];

    return difference == 1 || difference == -1;
}

static void join(clustering *c, int32_t vertex, int32_t cluster)
{
    const emp_flow_graph *g = c->graph;

    c->cluster[vertex] = cluster;
    c->load[cluster] += g->load[vertex];
    if (c->level[vertex] < c->low[cluster]) c->low[cluster] = c->level[vertex];
    for (int32_t i = g->row[vertex]; i < g->row[vertex + 1]; i++) {
        int32_t other = g->neighbor[i];
        if (g->flow[i] == 0 || !is_one_level(c, vertex, other)) continue;
        c->beside[other] =
            c->beside[other] == NONE || c->beside[other] == cluster ? cluster : SEVERAL;
    }
}

/* Whether v, alone, may go to u, or to the cluster that u is in. */
static bool may_join(const clustering *c, int32_t v, int32_t u)
{
    int32_t cluster = c->cluster[u];

    if (cluster == NONE)
        return c->beside[v] == NONE && c->beside[u] == NONE &&
               c->graph->load[v] + c->graph->load[u] <= c->load_limit;
    return c->beside[v] == cluster &&
           (c->level[v] == c->low[cluster] || c->level[v] == c->low[cluster] + 1) &&
           c->graph->load[v] + c->load[cluster] <= c->load_limit;
}

static void place(clustering *c, int32_t v)
{
    const emp_flow_graph *g = c->graph;
    int32_t               best = NONE;
    int64_t               most = -1;

    if (c->cluster[v] != NONE || c->beside[v] == SEVERAL) return;
    for (int32_t i = g->row[v]; i < g->row[v + 1]; i++) {
        if (g->flow[i] == 0 || g->traffic[i] <= most ||
            !is_one_level(c, v, g->neighbor[i]) || !may_join(c, v, g->neighbor[i]))
            continue;
        most = g->traffic[i];
        best = g->neighbor[i];
    }
    if (best == NONE) return;
    if (c->cluster[best] == NONE) {
        c->load[best] = 0;
        c->low[best] = c->level[best];
        join(c, best, best);
    }
    join(c, v, c->cluster[best]);
}

static void shuffle(int32_t *item, int32_t count, uint64_t seed, uint32_t substream)
{
    emp_rng rng;

    emp_rng_init(&rng, seed, STREAM, substream);
    for (int32_t i = 0; i < count; i++) item[i] = i;
    for (int32_t i = count - 1; i > 0; i--) {
        int32_t other = (int32_t)emp_rng_below(&rng, (uint32_t)i + 1);
        int32_t kept = item[i];
        item[i] = item[other];
        item[other] = kept;
    }
}

/* Numbers clusters by their lowest vertices; who is alone is one. */
static int32_t number_clusters(const clustering *c, int32_t *number,
                               int32_t *cluster_of_vertex)
{
    int32_t count = 0;

    for (int32_t v = 0; v < c->graph->vertex_count; v++) number[v] = NONE;
    for (int32_t v = 0; v < c->graph->vertex_count; v++) {
        int32_t name = c->cluster[v] == NONE ? v : c->cluster[v];
        if (number[name] == NONE) number[name] = count++;
        cluster_of_vertex[v] = number[name];
    }
    return count;
}

emp_status emp_flow_clusters(int32_t *cluster_of_vertex, int32_t *cluster_count,
                             const emp_flow_graph *graph, const int32_t *level,
                             int64_t load_limit, uint64_t seed, uint32_t substream,
                             emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     count = (size_t)graph->vertex_count;
    emp_arrays arrays = {0};
    int32_t   *scratch = EMP_ADD_ARRAY(&arrays, int32_t, count);
    clustering c = {.graph = graph,
                    .level = level,
                    .load_limit = load_limit,
                    .cluster = EMP_ADD_ARRAY(&arrays, int32_t, count),
                    .beside = EMP_ADD_ARRAY(&arrays, int32_t, count),
                    .load = EMP_ADD_ARRAY(&arrays, int64_t, count),
                    .low = EMP_ADD_ARRAY(&arrays, int32_t, count)};

    if (arrays.is_short)
        EMP_FAIL(EMP_ENOMEM, "clusters of %d vertices", graph->vertex_count);
    for (size_t v = 0; v < count; v++) c.cluster[v] = c.beside[v] = NONE;
    shuffle(scratch, graph->vertex_count, seed, substream);
    for (size_t i = 0; i < count; i++) place(&c, scratch[i]);
    *cluster_count = number_clusters(&c, scratch, cluster_of_vertex);

cleanup:
    emp_arrays_clear(&arrays);
    return st;
}
