// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/acyclic/acyclic_cut.h"

#include <math.h>
#include <string.h>

#include "base/arrays.h"
#include "base/mem.h"
#include "base/work/stop.h"
#include "search/acyclic/acyclic_refine.h"
#include "search/acyclic/flow_graph.h"
#include "search/partition/metis_cut.h"

static const double least_share =
    0.01; /* The first vertices of a topological \a order, until side 0 has about \a share of the
 * load. O(V).
 * that METIS is asked for */
static void acyclic_start_order(const emp_flow_graph *g, const int32_t *order,
                                double share, int8_t *side)
{
    double wanted = share * (double)emp_flow_graph_load(g), load = 0.0;

    for (int32_t i = 0; i < g->vertex_count; i++) {
        double own = (double)g->load[order[i]];
        side[order[i]] = load + 0.5 * own > wanted;
        load += own;
    }
}

/* Weights of 32 bits, at least 1, whose sums stay within METIS's. */
static void scale(const int64_t *from, int32_t count, int64_t limit, int32_t *to)
{
    int64_t total = 0;

    for (int32_t i = 0; i < count; i++) total += from[i];
    int64_t unit = total / limit + 1;
    for (int32_t i = 0; i < count; i++)
        to[i] = (int32_t)fmax(1.0, (double)(from[i] / unit));
}

emp_status emp_acyclic_start_metis(const emp_flow_graph *g, double share, uint64_t seed,
                                   const atomic_int *stop, int8_t *side, emp_error *err)
{
    emp_status          st = EMP_OK;
    int32_t             arc_count = g->row[g->vertex_count];
    double              first = fmin(fmax(share, least_share), 1.0 - least_share);
    double              shares[2] = {first, 1.0 - first};
    const emp_metis_cut halves = {.share = shares, .stop = stop};
    int32_t            *part = EMP_NEW_ARRAY(int32_t, (size_t)g->vertex_count);
    emp_partition_graph undirected = {
        .vertex_count = g->vertex_count,
        .row = g->row,
        .neighbor = g->neighbor,
        .load = EMP_NEW_ARRAY(int32_t, (size_t)g->vertex_count),
        .traffic = EMP_NEW_ARRAY(int32_t, (size_t)arc_count)};

    if (!part || !undirected.load || !undirected.traffic)
        EMP_FAIL(EMP_ENOMEM, "undirected graph of %d vertices", g->vertex_count);
    scale(g->load, g->vertex_count, EMP_PARTITION_LOAD_LIMIT, undirected.load);
    scale(g->traffic, arc_count, 2 * EMP_PARTITION_TRAFFIC_LIMIT, undirected.traffic);
    EMP_TRY(emp_metis_parts(&undirected, 2, &halves, seed, part, err));
    for (int32_t v = 0; v < g->vertex_count; v++) side[v] = (int8_t)part[v];

cleanup:
    emp_free(part);
    emp_free(undirected.load);
    emp_free(undirected.traffic);
    return st;
}

void emp_acyclic_start_mend(const emp_flow_graph *g, const int32_t *order,
                            bool joins_first, int8_t *side)
{
    int8_t which = joins_first ? 0 : 1, flow = joins_first ? -1 : 1;

    for (int32_t k = 0; k < g->vertex_count; k++) {
        int32_t v = order[joins_first ? g->vertex_count - 1 - k : k];
        for (int32_t i = g->row[v]; side[v] == which && i < g->row[v + 1]; i++)
            if (g->flow[i] == flow) side[g->neighbor[i]] = which;
    }
}

enum {
    FEW = 64,          /* vertices that are not coarsened any further */
    TRIES = 2,         /* multilevel bisections, of different clusters */
    SHARES = 32,       /* a cluster has at most one of so many of the load */
    WORTH_PERCENT = 90 /* of the vertices may be left by a step that is worth taking */
};

/* What a bisection is asked for. */
typedef struct {
    int64_t           limit[2]; /* load of each side */
    uint64_t          seed;
    uint32_t         *draws; /* clusterings drawn so far, by all bisections */
    const atomic_int *stop;
} request;

/* ---- one bisection ----------------------------------------------------------------- */

/* A division and how good it is. */
typedef struct {
    int8_t           *side;  /* [vertex] */
    int8_t           *trial; /* [vertex] */
    emp_acyclic_score score; /* of side */
    bool              is_made;
    int32_t   *order, *level, *cluster; /* [vertex] of the graph, as it becomes coarser */
    emp_arrays arrays;
} division;

/* Refines the trial, and keeps it if it is the best so far. */
static emp_status try_out(division *d, const emp_flow_graph *g, const request *r,
                          emp_error *err)
{
    emp_acyclic_score score;

    if (emp_stop_is_set(r->stop)) return EMP_ERROR(EMP_EINTERRUPTED, "interrupted");
    EMP_CHECK(emp_acyclic_refine(g, r->limit, d->trial, &score, err));
    if (d->is_made && !emp_acyclic_is_better(score, d->score)) return EMP_OK;
    memcpy(d->side, d->trial, (size_t)g->vertex_count);
    d->score = score;
    d->is_made = true;
    return EMP_OK;
}

static double share_of_first(const request *r)
{
    return (double)r->limit[0] / ((double)r->limit[0] + (double)r->limit[1]);
}

static emp_status divide_few(division *d, const emp_flow_graph *g, const request *r,
                             emp_error *err)
{
    for (int8_t side = 0; side < 2; side++) {
        memset(d->trial, side, (size_t)g->vertex_count);
        EMP_CHECK(try_out(d, g, r, err));
    }
    acyclic_start_order(g, d->order, share_of_first(r), d->trial);
    return try_out(d, g, r, err);
}

static emp_status init_division(division *d, const emp_flow_graph *g, emp_error *err)
{
    size_t count = (size_t)g->vertex_count;

    d->side = EMP_ADD_ARRAY(&d->arrays, int8_t, count);
    d->trial = EMP_ADD_ARRAY(&d->arrays, int8_t, count);
    d->order = EMP_ADD_ARRAY(&d->arrays, int32_t, count);
    d->level = EMP_ADD_ARRAY(&d->arrays, int32_t, count);
    d->cluster = EMP_ADD_ARRAY(&d->arrays, int32_t, count);
    if (d->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "sides of %d vertices", g->vertex_count);
    if (!emp_flow_graph_sort(g, d->order, d->level))
        return EMP_ERROR(EMP_ECYCLE, "flows of %d vertices form a cycle",
                         g->vertex_count);
    return EMP_OK;
}

/* Puts the best division of a graph that shrinks level by level into \a side. The depth of
 * the recursion is logarithmic, as each level is smaller by a fixed share. */
static emp_status divide(const emp_flow_graph *g, const request *r, int8_t *side,
                         emp_acyclic_score *score, emp_error *err)
{
    emp_status      st = EMP_OK;
    division        d = {0};
    emp_flow_graph *coarse = NULL;
    int32_t         count = g->vertex_count;

    EMP_TRY(init_division(&d, g, err));
    if (g->vertex_count > FEW)
        EMP_TRY(emp_flow_clusters(d.cluster, &count, g, d.level,
                                  emp_flow_graph_load(g) / SHARES, r->seed, (*r->draws)++,
                                  err));
    if (count > (int64_t)g->vertex_count * WORTH_PERCENT / 100) {
        EMP_TRY(divide_few(&d, g, r, err));
    } else {
        EMP_TRY(emp_flow_graph_contract(&coarse, g, d.cluster, count, err));
        EMP_TRY(divide(coarse, r, side, score, err));
        for (int32_t v = 0; v < g->vertex_count; v++) d.trial[v] = side[d.cluster[v]];
        EMP_TRY(try_out(&d, g, r, err));
    }
    memcpy(side, d.side, (size_t)g->vertex_count);
    *score = d.score;

cleanup:
    emp_flow_graph_destroy(coarse);
    emp_arrays_clear(&d.arrays);
    return st;
}

/* Starts that need no clusters: the middle of an order; METIS's sides, either of them first,
 * mended either way. */
static emp_status divide_all(division *d, const emp_flow_graph *g, const request *r,
                             int8_t *side, emp_error *err)
{
    acyclic_start_order(g, d->order, share_of_first(r), d->trial);
    EMP_CHECK(try_out(d, g, r, err));
    if (g->vertex_count < 2) return EMP_OK;
    EMP_CHECK(emp_acyclic_start_metis(g, share_of_first(r), r->seed, r->stop, side, err));
    for (int32_t way = 0; way < 4; way++) {
        int8_t first = (int8_t)(way / 2);
        for (int32_t v = 0; v < g->vertex_count; v++) d->trial[v] = side[v] ^ first;
        emp_acyclic_start_mend(g, d->order, way % 2 == 0, d->trial);
        EMP_CHECK(try_out(d, g, r, err));
    }
    return EMP_OK;
}

static emp_status bisect(const emp_flow_graph *g, const request *r, int8_t *side,
                         emp_error *err)
{
    emp_status        st = EMP_OK;
    division          d = {0};
    emp_acyclic_score score;

    EMP_TRY(init_division(&d, g, err));
    EMP_TRY(divide_all(&d, g, r, side, err));
    for (int32_t i = 0; i < TRIES; i++) {
        EMP_TRY(divide(g, r, side, &score, err));
        memcpy(d.trial, side, (size_t)g->vertex_count);
        EMP_TRY(try_out(&d, g, r, err));
    }
    memcpy(side, d.side, (size_t)g->vertex_count);

cleanup:
    emp_arrays_clear(&d.arrays);
    return st;
}

/* ---- many parts -------------------------------------------------------------------- */

/* Parts first .. end-1, for the vertices of a graph. */
typedef struct {
    const double *share;      /* [part] */
    double        load_limit; /* load of a part over its share, at most */
    int32_t       first, end;
} parts;

static double share_of(const parts *p)
{
    double share = 0.0;

    for (int32_t i = p->first; i < p->end; i++) share += p->share[i];
    return share;
}

/* What the parts may have beyond what is there is spread over the bisections to come, one
 * below the other, so that the last has its part of it. */
static void set_limits(request *r, const emp_flow_graph *g, const parts *p,
                       const parts half[2])
{
    double load = (double)emp_flow_graph_load(g), share = share_of(p);
    double slack = fmax(1.0, p->load_limit * share / load);
    double part_of_slack = pow(slack, 1.0 / ceil(log2(p->end - p->first)));

    for (int32_t s = 0; s < 2; s++)
        r->limit[s] =
            (int64_t)ceil(load * share_of(&half[s]) / share * part_of_slack - 1e-6);
}

static emp_status cut_parts(const emp_flow_graph *g, const parts *p, request *r,
                            int32_t *part_of_vertex, emp_error *err);

/* Cuts the vertices of one side, as a graph of their own. */
static emp_status cut_side(const emp_flow_graph *g, const int8_t *side, int8_t which,
                           const parts *p, request *r, int32_t *part_of_vertex,
                           emp_error *err)
{
    emp_status      st = EMP_OK;
    int32_t         count = 0;
    emp_flow_graph *half = NULL;
    int32_t        *number = EMP_NEW_ARRAY(int32_t, (size_t)g->vertex_count);
    int32_t        *part = EMP_NEW_ARRAY(int32_t, (size_t)g->vertex_count);

    if (number == NULL || part == NULL)
        EMP_FAIL(EMP_ENOMEM, "parts of %d vertices", g->vertex_count);
    for (int32_t v = 0; v < g->vertex_count; v++)
        number[v] = side[v] == which ? count++ : -1;
    EMP_TRY(emp_flow_graph_contract(&half, g, number, count, err));
    EMP_TRY(cut_parts(half, p, r, part, err));
    for (int32_t v = 0; v < g->vertex_count; v++)
        if (number[v] >= 0) part_of_vertex[v] = part[number[v]];

cleanup:
    emp_flow_graph_destroy(half);
    emp_free(number);
    emp_free(part);
    return st;
}

static emp_status cut_parts(const emp_flow_graph *g, const parts *p, request *r,
                            int32_t *part_of_vertex, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    middle = p->first + (p->end - p->first) / 2;
    parts      half[2] = {*p, *p};
    int8_t    *side = EMP_NEW_ARRAY(int8_t, (size_t)g->vertex_count);

    if (side == NULL) EMP_FAIL(EMP_ENOMEM, "sides of %d vertices", g->vertex_count);
    for (int32_t v = 0; v < g->vertex_count; v++) part_of_vertex[v] = p->first;
    if (p->end - p->first == 1 || g->vertex_count == 0) goto cleanup;
    half[0].end = half[1].first = middle;
    set_limits(r, g, p, half);
    EMP_TRY(bisect(g, r, side, err));
    for (int8_t s = 0; s < 2; s++)
        EMP_TRY(cut_side(g, side, s, &half[s], r, part_of_vertex, err));

cleanup:
    emp_free(side);
    return st;
}

emp_status emp_acyclic_cut(const emp_flow_graph *graph, int32_t part_count,
                           const double *share, double imbalance, uint64_t seed,
                           const atomic_int *stop, int32_t *part_of_vertex,
                           emp_error *err)
{
    uint32_t    draws = 0;
    request     r = {.seed = seed, .draws = &draws, .stop = stop};
    const parts all = {share, (1.0 + imbalance) * (double)emp_flow_graph_load(graph), 0,
                       part_count};

    return cut_parts(graph, &all, &r, part_of_vertex, err);
}
