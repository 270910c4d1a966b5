// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/acyclic/acyclic_cut.h"

#include "base/mem.h"
#include "base/rng.h"
#include "search/groups/class_groups.h"

static emp_flow_graph *allocate(int32_t vertex_count, int32_t arc_count)
{
    emp_flow_graph *g = EMP_NEW(emp_flow_graph);

    if (g == NULL) return NULL;
    g->vertex_count = vertex_count;
    g->load = EMP_ADD_ARRAY(&g->arrays, int64_t, (size_t)vertex_count);
    g->row = EMP_ADD_ARRAY(&g->arrays, int32_t, (size_t)vertex_count + 1);
    g->neighbor = EMP_ADD_ARRAY(&g->arrays, int32_t, (size_t)arc_count);
    g->traffic = EMP_ADD_ARRAY(&g->arrays, int64_t, (size_t)arc_count);
    g->flow = EMP_ADD_ARRAY(&g->arrays, int8_t, (size_t)arc_count);
    if (!g->arrays.is_short) return g;
    emp_flow_graph_destroy(g);
    return NULL;
}

void emp_flow_graph_destroy(emp_flow_graph *g)
{
    if (g == NULL) return;
    emp_arrays_clear(&g->arrays);
    emp_free(g);
}

/* ---- contraction ------------------------------------------------------------------- */

/* The edges of one cluster, gathered from its members' edges. */
typedef struct {
    int32_t   *met;     /* [cluster] the last cluster + 1 that met it */
    int64_t   *traffic; /* [cluster] */
    int8_t    *flow;    /* [cluster] */
    int32_t   *list;    /* clusters met */
    int32_t    count;
    emp_arrays arrays;
} gathering;

static void gather(gathering *a, const emp_flow_graph *fine,
                   const int32_t *cluster_of_vertex, const emp_members *members,
                   int32_t cluster)
{
    a->count = 0;
    for (int32_t m = members->first[cluster]; m < members->first[cluster + 1]; m++) {
        int32_t v = members->member[m];
        for (int32_t i = fine->row[v]; i < fine->row[v + 1]; i++) {
            int32_t other = cluster_of_vertex[fine->neighbor[i]];
            if (other < 0 || other == cluster) continue;
            if (a->met[other] != cluster + 1) {
                a->met[other] = cluster + 1;
                a->traffic[other] = 0;
                a->flow[other] = 0;
                a->list[a->count++] = other;
            }
            a->traffic[other] += fine->traffic[i];
            if (fine->flow[i] != 0) a->flow[other] = fine->flow[i];
        }
    }
}

/* Rows come out ascending: cluster after cluster enters itself into the rows of its
 * neighbours. */
static void fill_rows(emp_flow_graph *g, gathering *a, const emp_flow_graph *fine,
                      const int32_t *cluster_of_vertex, const emp_members *members)
{
    for (int32_t c = 0; c < g->vertex_count; c++) {
        gather(a, fine, cluster_of_vertex, members, c);
        g->row[c + 1] = g->row[c] + a->count;
    }
    for (int32_t c = 0; c < g->vertex_count; c++) a->met[c] = 0;
    for (int32_t c = 0; c < g->vertex_count; c++) {
        gather(a, fine, cluster_of_vertex, members, c);
        for (int32_t k = 0; k < a->count; k++) {
            int32_t other = a->list[k], at = g->row[other]++;
            g->neighbor[at] = c;
            g->traffic[at] = a->traffic[other];
            g->flow[at] = (int8_t)-a->flow[other];
        }
    }
    for (int32_t c = g->vertex_count; c > 0; c--) g->row[c] = g->row[c - 1];
    g->row[0] = 0;
}

emp_status emp_flow_graph_contract(emp_flow_graph **out, const emp_flow_graph *fine,
                                   const int32_t *cluster_of_vertex,
                                   int32_t cluster_count, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_members     members = {0};
    gathering       a = {0};
    emp_flow_graph *g = allocate(cluster_count, fine->row[fine->vertex_count]);

    *out = NULL;
    if (g == NULL) EMP_FAIL(EMP_ENOMEM, "graph of %d clusters", cluster_count);
    a.met = EMP_ADD_ARRAY(&a.arrays, int32_t, (size_t)cluster_count);
    a.traffic = EMP_ADD_ARRAY(&a.arrays, int64_t, (size_t)cluster_count);
    a.flow = EMP_ADD_ARRAY(&a.arrays, int8_t, (size_t)cluster_count);
    a.list = EMP_ADD_ARRAY(&a.arrays, int32_t, (size_t)cluster_count);
    if (a.arrays.is_short) EMP_FAIL(EMP_ENOMEM, "edges of %d clusters", cluster_count);
    EMP_TRY(emp_members_init(&members, cluster_of_vertex, fine->vertex_count,
                             cluster_count, err));
    for (int32_t v = 0; v < fine->vertex_count; v++)
        if (cluster_of_vertex[v] >= 0) g->load[cluster_of_vertex[v]] += fine->load[v];
    fill_rows(g, &a, fine, cluster_of_vertex, &members);
    *out = g;
    g = NULL;

cleanup:
    emp_flow_graph_destroy(g);
    emp_members_clear(&members);
    emp_arrays_clear(&a.arrays);
    return st;
}

/* ---- creation ---------------------------------------------------------------------- */

static emp_flow_graph *copy_without_flows(const emp_partition_graph *from)
{
    int32_t         arc_count = from->row[from->vertex_count];
    emp_flow_graph *g = allocate(from->vertex_count, arc_count);

    if (g == NULL) return NULL;
    for (int32_t v = 0; v < from->vertex_count; v++) {
        g->load[v] = from->load[v];
        g->row[v + 1] = from->row[v + 1];
    }
    for (int32_t i = 0; i < arc_count; i++) {
        g->neighbor[i] = from->neighbor[i];
        g->traffic[i] = from->traffic[i];
    }
    return g;
}

/* Which vertex of a flow graph an op is in, and where vertices stand. */
typedef struct {
    const emp_graph           *graph;
    const emp_partition_graph *vertices;
    const int32_t             *group_of_vertex;
    int32_t                   *position; /* [vertex of the flow graph] */
} layout;

static int32_t vertex_of_op(const layout *l, emp_op_id op)
{
    int32_t v = emp_partition_vertex_of_op(l->vertices, l->graph, op);

    return v < 0 || l->group_of_vertex == NULL ? v : l->group_of_vertex[v];
}

static void find_positions(layout *l, int32_t vertex_count)
{
    for (int32_t v = 0; v < vertex_count; v++) l->position[v] = INT32_MAX;
    for (int32_t i = l->graph->op_count - 1; i >= 0; i--) {
        int32_t v = vertex_of_op(l, l->graph->topo[i]);
        if (v >= 0) l->position[v] = i;
    }
}

static int32_t find_arc(const emp_flow_graph *g, int32_t u, int32_t v)
{
    int32_t low = g->row[u], high = g->row[u + 1];

    while (low + 1 < high) {
        int32_t middle = low + (high - low) / 2;
        if (g->neighbor[middle] <= v)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void mark_flow(emp_flow_graph *g, const layout *l, emp_op_id from, emp_op_id to)
{
    int32_t u = vertex_of_op(l, from), v = vertex_of_op(l, to);

    if (u < 0 || v < 0 || l->position[u] >= l->position[v]) return;
    g->flow[find_arc(g, u, v)] = 1;
    g->flow[find_arc(g, v, u)] = -1;
}

static void mark_flows(emp_flow_graph *g, const layout *l)
{
    const emp_graph *graph = l->graph;

    for (emp_op_id op = 0; op < graph->op_count; op++) {
        for (int32_t i = graph->input_offset[op]; i < graph->input_offset[op + 1]; i++)
            mark_flow(g, l, graph->tensor[graph->input[i]].producer, op);
        for (int32_t i = graph->control_offset[op]; i < graph->control_offset[op + 1];
             i++)
            mark_flow(g, l, graph->control[i], op);
    }
}

emp_status emp_flow_graph_create(emp_flow_graph **out, const emp_partition_graph *graph,
                                 const emp_problem *problem,
                                 const int32_t *group_of_vertex, int32_t group_count,
                                 emp_error *err)
{
    emp_status      st = EMP_OK;
    layout          l = {problem->graph, graph, group_of_vertex, NULL};
    emp_flow_graph *coarse = NULL, *g = copy_without_flows(graph);

    *out = NULL;
    if (g == NULL) EMP_FAIL(EMP_ENOMEM, "flows of %d vertices", graph->vertex_count);
    if (group_of_vertex != NULL) {
        EMP_TRY(emp_flow_graph_contract(&coarse, g, group_of_vertex, group_count, err));
        emp_flow_graph_destroy(g);
        g = coarse;
    }
    EMP_TRY(EMP_ALLOC(l.position, (size_t)g->vertex_count));
    find_positions(&l, g->vertex_count);
    mark_flows(g, &l);
    *out = g;
    g = NULL;

cleanup:
    emp_flow_graph_destroy(g);
    emp_free(l.position);
    return st;
}

/* ---- queries ----------------------------------------------------------------------- */

/* Kahn's algorithm. While an op waits, its level counts how many it waits for, below 0. */
bool emp_flow_graph_sort(const emp_flow_graph *g, int32_t *order, int32_t *level)
{
    int32_t first = 0, end = 0;

    for (int32_t v = 0; v < g->vertex_count; v++) {
        level[v] = 0;
        for (int32_t i = g->row[v]; i < g->row[v + 1]; i++) level[v] -= g->flow[i] < 0;
        if (level[v] == 0) order[end++] = v;
    }
    while (first < end) {
        int32_t v = order[first++];
        for (int32_t i = g->row[v]; i < g->row[v + 1]; i++) {
            int32_t next = g->neighbor[i];
            /* the last one that it waits for is on a longest path: vertices come by level */
            if (g->flow[i] <= 0 || ++level[next] < 0) continue;
            level[next] = level[v] + 1;
            order[end++] = next;
        }
    }
    return end == g->vertex_count;
}

int64_t emp_flow_graph_load(const emp_flow_graph *g)
{
    int64_t load = 0;

    for (int32_t v = 0; v < g->vertex_count; v++) load += g->load[v];
    return load;
}

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

/* Whether v by itself may go to u, or to the cluster that u is in. */
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

/* Numbers clusters by their lowest vertices; a single vertex is one. */
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
