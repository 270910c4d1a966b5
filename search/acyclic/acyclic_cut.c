// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/acyclic/acyclic_cut.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/work.h"
#include "search/partition/metis_cut.h"

/* The least share of a side that METIS is asked for. */
static const double least_share = 0.01;

/* Gives side 0 the first vertices of a topological \a order, until it has about \a share of the load. O(V). */
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

/* The parameters of a bisection. */
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

/* Less excess before less traffic; false for equals. */
static bool emp_acyclic_is_better(emp_acyclic_score score, emp_acyclic_score than)
{
    return score.excess != than.excess ? score.excess < than.excess
                                       : score.cut < than.cut;
}

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

/* The slack of the parts is spread over the bisections to come, one below the
 * other, so that the last has its part of it. */
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

emp_status emp_gain_queue_init(emp_gain_queue *q, const int64_t *gain,
                               int32_t vertex_count, emp_error *err)
{
    *q = (emp_gain_queue){.gain = gain,
                          .heap = EMP_NEW_ARRAY(int32_t, (size_t)vertex_count),
                          .where = EMP_NEW_ARRAY(int32_t, (size_t)vertex_count)};
    if (q->heap == NULL || q->where == NULL)
        return EMP_ERROR(EMP_ENOMEM, "queue of %d vertices", vertex_count);
    return EMP_OK;
}

void emp_gain_queue_clear(emp_gain_queue *q)
{
    emp_free(q->heap);
    emp_free(q->where);
    *q = (emp_gain_queue){0};
}

void emp_gain_queue_empty(emp_gain_queue *q)
{
    while (q->count > 0) q->where[q->heap[--q->count]] = 0;
}

static bool comes_before(const emp_gain_queue *q, int32_t u, int32_t v)
{
    return q->gain[u] != q->gain[v] ? q->gain[u] > q->gain[v] : u < v;
}

static void put(emp_gain_queue *q, int32_t index, int32_t vertex)
{
    q->heap[index] = vertex;
    q->where[vertex] = index + 1;
}

static void rise(emp_gain_queue *q, int32_t index, int32_t vertex)
{
    while (index > 0 && comes_before(q, vertex, q->heap[(index - 1) / 2])) {
        put(q, index, q->heap[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(q, index, vertex);
}

static void sink(emp_gain_queue *q, int32_t index, int32_t vertex)
{
    for (int32_t child; (child = 2 * index + 1) < q->count; index = child) {
        if (child + 1 < q->count && comes_before(q, q->heap[child + 1], q->heap[child]))
            child++;
        if (!comes_before(q, q->heap[child], vertex)) break;
        put(q, index, q->heap[child]);
    }
    put(q, index, vertex);
}

void emp_gain_queue_push(emp_gain_queue *q, int32_t vertex)
{
    if (q->where[vertex] == 0) rise(q, q->count++, vertex);
}

void emp_gain_queue_fix(emp_gain_queue *q, int32_t vertex)
{
    if (q->where[vertex] == 0) return;
    rise(q, q->where[vertex] - 1, vertex);
    sink(q, q->where[vertex] - 1, vertex);
}

void emp_gain_queue_remove(emp_gain_queue *q, int32_t vertex)
{
    int32_t index = q->where[vertex] - 1;

    if (index < 0) return;
    int32_t last = q->heap[--q->count];
    q->where[vertex] = 0;
    if (last == vertex) return;
    put(q, index, last);
    emp_gain_queue_fix(q, last);
}

enum { MOST_PASSES = 10, PATIENCE = 64 /* moves without gain; and a quarter of all */ };

typedef struct {
    const emp_flow_graph *graph;
    const int64_t        *limit;
    int8_t               *side;
    int64_t               load[2];
    int64_t               cut;
    int64_t              *gain; /* [vertex] traffic that is cut no more when it moves */
    int32_t *blockers; /* [vertex] flows to its own side (side 0), or from it (side 1) */
    bool    *has_moved;
    emp_gain_queue queue[2]; /* of each side: who may move and has not yet */
    int32_t       *moved;    /* vertices in the order of their moves */
    int32_t        moved_count;
    emp_arrays     arrays;
} refinement;

static int64_t over(int64_t load, int64_t limit)
{
    return load > limit ? load - limit : 0;
}

static emp_acyclic_score score_of(const refinement *r)
{
    return (emp_acyclic_score){
        over(r->load[0], r->limit[0]) + over(r->load[1], r->limit[1]), r->cut};
}

/* The direction of the flows that hold a vertex on its side. */
static int8_t holding_flow(int8_t side) { return side == 0 ? 1 : -1; }

static void count_all(refinement *r)
{
    const emp_flow_graph *g = r->graph;

    for (int32_t v = 0; v < g->vertex_count; v++) {
        r->load[r->side[v]] += g->load[v];
        for (int32_t i = g->row[v]; i < g->row[v + 1]; i++) {
            bool is_cut = r->side[v] != r->side[g->neighbor[i]];
            r->gain[v] += is_cut ? g->traffic[i] : -g->traffic[i];
            r->blockers[v] += !is_cut && g->flow[i] == holding_flow(r->side[v]);
            if (is_cut && g->neighbor[i] < v) r->cut += g->traffic[i];
        }
    }
}

/* Puts a vertex into the queue of its side, or takes it out, as it may move or not. */
static void enqueue(refinement *r, int32_t v)
{
    emp_gain_queue *q = &r->queue[r->side[v]];

    if (r->has_moved[v]) return;
    if (r->blockers[v] > 0)
        emp_gain_queue_remove(q, v);
    else
        emp_gain_queue_push(q, v);
}

static void move(refinement *r, int32_t v)
{
    const emp_flow_graph *g = r->graph;
    int8_t                from = r->side[v], to = (int8_t)(1 - from);

    r->side[v] = to;
    r->load[from] -= g->load[v];
    r->load[to] += g->load[v];
    r->cut -= r->gain[v];
    r->gain[v] = -r->gain[v];
    for (int32_t i = g->row[v]; i < g->row[v + 1]; i++) {
        int32_t other = g->neighbor[i];
        bool    is_left = r->side[other] == from;
        r->gain[other] += is_left ? 2 * g->traffic[i] : -2 * g->traffic[i];
        /* who stays behind was held by v, who is met there will be */
        if (g->flow[i] != 0) r->blockers[other] += is_left ? -1 : 1;
        emp_gain_queue_fix(&r->queue[r->side[other]], other);
        enqueue(r, other);
    }
}

/* Whether the side that the vertex goes to has room, or what is too much becomes less. */
static bool fits(const refinement *r, int32_t v)
{
    int8_t  from = r->side[v], to = (int8_t)(1 - from);
    int64_t load = r->graph->load[v];
    int64_t before =
        over(r->load[from], r->limit[from]) + over(r->load[to], r->limit[to]);
    int64_t after = over(r->load[from] - load, r->limit[from]) +
                    over(r->load[to] + load, r->limit[to]);

    return after == 0 || after < before;
}

/* The best vertex of a side that fits, or -1; those that do not are out of this pass. */
static int32_t next_of_side(refinement *r, int8_t side)
{
    int32_t v;

    while ((v = emp_gain_queue_top(&r->queue[side])) >= 0 && !fits(r, v))
        emp_gain_queue_remove(&r->queue[side], v);
    return v;
}

static int32_t next_move(refinement *r)
{
    if (r->load[0] > r->limit[0]) return next_of_side(r, 0);
    if (r->load[1] > r->limit[1]) return next_of_side(r, 1);
    int32_t u = next_of_side(r, 0), v = next_of_side(r, 1);
    if (u < 0 || v < 0) return u < 0 ? v : u;
    return r->gain[u] >= r->gain[v] ? u : v;
}

/* \return whether it made the sides better. */
static bool make_pass(refinement *r)
{
    int32_t           count = r->graph->vertex_count, best_at = 0, v;
    emp_acyclic_score best = score_of(r);

    r->moved_count = 0;
    for (v = 0; v < count; v++) {
        r->has_moved[v] = false;
        enqueue(r, v);
    }
    while (r->moved_count - best_at <= PATIENCE + count / 4 && (v = next_move(r)) >= 0) {
        emp_gain_queue_remove(&r->queue[r->side[v]], v);
        r->has_moved[v] = true;
        r->moved[r->moved_count++] = v;
        move(r, v);
        if (!emp_acyclic_is_better(score_of(r), best)) continue;
        best = score_of(r);
        best_at = r->moved_count;
    }
    emp_gain_queue_empty(&r->queue[0]);
    emp_gain_queue_empty(&r->queue[1]);
    for (v = 0; v < count; v++) r->has_moved[v] = true; /* none is to be queued */
    while (r->moved_count > best_at) move(r, r->moved[--r->moved_count]);
    return best_at > 0;
}

static emp_status init(refinement *r, const emp_flow_graph *graph, const int64_t limit[2],
                       int8_t *side, emp_error *err)
{
    size_t count = (size_t)graph->vertex_count;

    *r = (refinement){.graph = graph, .limit = limit, .side = side};
    r->gain = EMP_ADD_ARRAY(&r->arrays, int64_t, count);
    r->blockers = EMP_ADD_ARRAY(&r->arrays, int32_t, count);
    r->has_moved = EMP_ADD_ARRAY(&r->arrays, bool, count);
    r->moved = EMP_ADD_ARRAY(&r->arrays, int32_t, count);
    if (r->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "sides of %d vertices", graph->vertex_count);
    for (int32_t s = 0; s < 2; s++)
        EMP_CHECK(emp_gain_queue_init(&r->queue[s], r->gain, graph->vertex_count, err));
    count_all(r);
    return EMP_OK;
}

static void clear(refinement *r)
{
    emp_arrays_clear(&r->arrays);
    for (int32_t s = 0; s < 2; s++) emp_gain_queue_clear(&r->queue[s]);
}

emp_status emp_acyclic_refine(const emp_flow_graph *graph, const int64_t limit[2],
                              int8_t *side, emp_acyclic_score *score, emp_error *err)
{
    emp_status st = EMP_OK;
    refinement r;

    EMP_TRY(init(&r, graph, limit, side, err));
    for (int32_t pass = 0; pass < MOST_PASSES && make_pass(&r); pass++) continue;
    *score = score_of(&r);

cleanup:
    clear(&r);
    return st;
}
