// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/acyclic/acyclic_refine.h"

#include "base/arrays.h"
#include "base/mem.h"

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

bool emp_acyclic_is_better(emp_acyclic_score score, emp_acyclic_score than)
{
    return score.excess != than.excess ? score.excess < than.excess
                                       : score.cut < than.cut;
}

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
