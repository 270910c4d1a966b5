// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/join.h"

#include <string.h>

#include "base/mem.h"

/* Where an op is, seen from the GPU of the op that joins. */
enum { SAME, OTHER_GPU, ON_CPU, PLACES };
/* What a lag leads to: the op that joins is ready, or its kernels start. */
enum { READY, START, GOALS };
enum { MAX_NEAR = 400, MAX_JOINED = 96 };

/* Least times from when an op is told, or done, to a goal; -1 = not even 0 is sure. */
typedef struct {
    emp_time_ns told_ns, done_ns;
} lag;

typedef struct {
    emp_op_id op;
    lag       lag[GOALS][PLACES];
} near_op;

/* If it is elsewhere, no goal is reached sooner; if it is here, it takes its part. */
typedef struct {
    emp_time_ns elsewhere_ns;
    emp_time_ns release_ns[2], work_ns[2], tail_ns[2]; /**< host thread, stream */
} joined;

typedef struct {
    const emp_bound_model *model;
    emp_bound_paths       *paths;
    int32_t               *rank;    /**< [op] in topological order */
    int32_t               *slot_of; /**< [op]; -1 = not near */
    near_op               *near;    /**< [MAX_NEAR] */
    int32_t                near_count;
    int32_t               *open; /**< [MAX_NEAR] slots by rank, the latest last */
    int32_t                open_count;
    joined                *joined[GOALS];
    int32_t                joined_count[GOALS];
    int32_t               *order; /**< [MAX_JOINED] */
    emp_op_id              to;
} joiner;

static emp_device_kind kind_of(int32_t place)
{
    return place == ON_CPU ? EMP_DEVICE_CPU : EMP_DEVICE_GPU;
}

static emp_time_ns plus(emp_time_ns lag_ns, emp_time_ns ns)
{
    return lag_ns < 0 ? -1 : emp_bound_add(lag_ns, ns);
}

static bool may_be(const joiner *j, emp_op_id op, int32_t place)
{
    const emp_op *all = j->model->problem->graph->op;
    const bool    is_bound = all[op].colocation_class == all[j->to].colocation_class;

    if (!emp_bound_may(&j->model->op[op], kind_of(place))) return false;
    if (place != SAME && is_bound) return false;
    return place != OTHER_GPU || j->model->count[EMP_DEVICE_GPU] > 1;
}

/* ---- lags ---- */

/* From when an op is ready there. */
static emp_time_ns from_ready(const joiner *j, const near_op *n, int32_t place, int32_t goal)
{
    const emp_bound_op *o = &j->model->op[n->op];
    const lag          *l = &n->lag[goal][place];
    const emp_time_ns   run_ns = o->run_ns[kind_of(place)];

    if (n->op == j->to) return goal == READY ? 0 : o->issue_ns;
    if (place == ON_CPU || !j->model->has_thread)
        return plus(emp_bound_later(l->told_ns, l->done_ns), run_ns);
    return emp_bound_later(plus(l->told_ns, o->issue_ns),
                           plus(l->done_ns, o->issue_ns + run_ns));
}

/* From when its kernels start. */
static emp_time_ns from_start(const joiner *j, const near_op *n, int32_t place, int32_t goal)
{
    if (n->op == j->to) return goal == READY ? -1 : 0;
    return plus(n->lag[goal][place].done_ns, j->model->op[n->op].run_ns[EMP_DEVICE_GPU]);
}

static lag lag_over(const joiner *j, const emp_bound_edge *edge, const near_op *reader,
                    int32_t from, int32_t to, int32_t goal)
{
    const bool           is_one_here = (from == SAME) != (to == SAME);
    const emp_bound_pair pair = from == SAME && to == SAME ? EMP_BOUND_SAME
                                : is_one_here              ? EMP_BOUND_APART
                                                           : EMP_BOUND_ANY_TWO;
    emp_bound_delay      d =
        emp_bound_delay_of(j->model, edge, kind_of(from), kind_of(to), pair);
    emp_time_ns ready_ns = from_ready(j, reader, to, goal);
    lag         l = {plus(ready_ns, d.after_told_ns), -1};

    if (d.after_done_ns >= 0) l.done_ns = plus(ready_ns, d.after_done_ns);
    if (d.is_in_order && j->model->has_thread && from != ON_CPU && to != ON_CPU)
        l.done_ns = emp_bound_later(l.done_ns, from_start(j, reader, to, goal));
    return l;
}

/* What the edge says of its tensor's maker. */
static void lengthen(const joiner *j, const emp_bound_edge *edge, const near_op *reader,
                     near_op *maker)
{
    for (int32_t goal = 0; goal < GOALS; goal++) {
        for (int32_t from = 0; from < PLACES; from++) {
            lag least = {EMP_COST_LIMIT_NS, EMP_COST_LIMIT_NS};
            for (int32_t to = 0; to < PLACES; to++) {
                if (reader->op == j->to ? to != SAME : !may_be(j, reader->op, to)) continue;
                if (edge->is_bound && from != to) continue;
                lag l = lag_over(j, edge, reader, from, to, goal);
                least.told_ns = emp_bound_sooner(least.told_ns, l.told_ns);
                least.done_ns = emp_bound_sooner(least.done_ns, l.done_ns);
            }
            lag *all = &maker->lag[goal][from];
            all->told_ns = emp_bound_later(all->told_ns, least.told_ns);
            all->done_ns = emp_bound_later(all->done_ns, least.done_ns);
        }
    }
}

/* The soonest that a goal is reached with the op elsewhere. */
static emp_time_ns elsewhere_ns(const joiner *j, const near_op *n, int32_t goal)
{
    emp_time_ns least_ns = EMP_COST_LIMIT_NS;

    for (int32_t place = OTHER_GPU; place < PLACES; place++) {
        const emp_bound_head *head = &j->paths->head[n->op][kind_of(place)];
        const lag            *l = &n->lag[goal][place];
        if (!may_be(j, n->op, place)) continue;
        least_ns = emp_bound_sooner(least_ns,
                                    emp_bound_later(plus(l->told_ns, head->told_ns),
                                                    plus(l->done_ns, head->done_ns)));
    }
    return least_ns;
}

/* ---- what is near ---- */

static near_op *come_near(joiner *j, emp_op_id op)
{
    if (j->slot_of[op] < 0) {
        int32_t at = j->open_count;
        if (j->near_count == MAX_NEAR) return NULL;
        near_op *n = &j->near[j->near_count];
        *n = (near_op){.op = op};
        for (int32_t i = 0; i < GOALS * PLACES; i++)
            n->lag[i / PLACES][i % PLACES] = (lag){0, -1};
        for (; at > 0 && j->rank[j->near[j->open[at - 1]].op] > j->rank[op]; at--)
            j->open[at] = j->open[at - 1];
        j->open[at] = j->near_count;
        j->open_count++;
        j->slot_of[op] = j->near_count++;
    }
    return &j->near[j->slot_of[op]];
}

static void spread(joiner *j, const near_op *reader)
{
    emp_bound_edge edge;

    for (int32_t i = 0; i < emp_bound_edge_count(j->model, reader->op); i++) {
        if (!emp_bound_edge_get(j->model, reader->op, i, &edge)) continue;
        near_op *maker = come_near(j, edge.from);
        if (maker != NULL) lengthen(j, &edge, reader, maker);
    }
}

static joined describe(const joiner *j, const near_op *n, int32_t goal,
                       emp_time_ns elsewhere)
{
    const emp_bound_op   *o = &j->model->op[n->op];
    const emp_bound_head *head = &j->paths->head[n->op][EMP_DEVICE_GPU];
    const lag            *l = &n->lag[goal][SAME];
    joined                item = {.elsewhere_ns = elsewhere};

    item.release_ns[0] = head->ready_ns;
    item.work_ns[0] = j->model->has_thread ? o->issue_ns : o->run_ns[EMP_DEVICE_GPU];
    item.tail_ns[0] = l->told_ns;
    if (!j->model->has_thread || goal == READY) return item;
    item.release_ns[1] = emp_bound_later(head->told_ns, head->queued_ns);
    item.work_ns[1] = o->run_ns[EMP_DEVICE_GPU];
    item.tail_ns[1] = emp_bound_later(l->done_ns, 0);
    return item;
}

/* Keeps what is elsewhere for longest first. */
static void add_joined(joiner *j, int32_t goal, joined item)
{
    joined *all = j->joined[goal];
    int32_t at = j->joined_count[goal];

    if (at == MAX_JOINED) {
        if (all[at - 1].elsewhere_ns >= item.elsewhere_ns) return;
        at--;
    } else {
        j->joined_count[goal]++;
    }
    for (; at > 0 && all[at - 1].elsewhere_ns < item.elsewhere_ns; at--)
        all[at] = all[at - 1];
    all[at] = item;
}

/* Visits all that is near, what is read last first, so that lags are complete. */
static void look_around(joiner *j, emp_time_ns least_ns[GOALS])
{
    near_op self = {.op = j->to};

    j->near_count = j->open_count = 0;
    j->joined_count[READY] = j->joined_count[START] = 0;
    spread(j, &self);
    while (j->open_count > 0) {
        const near_op *n = &j->near[j->open[--j->open_count]];
        bool           is_far = true;
        for (int32_t goal = 0; goal < GOALS; goal++) {
            emp_time_ns elsewhere = elsewhere_ns(j, n, goal);
            if (elsewhere <= least_ns[goal]) continue;
            is_far = false;
            if (may_be(j, n->op, SAME))
                add_joined(j, goal, describe(j, n, goal, elsewhere));
            else
                least_ns[goal] = elsewhere;
        }
        if (!is_far) spread(j, n);
    }
    for (int32_t i = 0; i < j->near_count; i++) j->slot_of[j->near[i].op] = -1;
}

/* ---- what they take ---- */

/* When a server that does the first `count` has done them all, at least. */
static emp_time_ns serve(const joiner *j, const joined *all, int32_t count, int32_t server)
{
    emp_time_ns best_ns = 0, sum_ns = 0, tail_ns = EMP_COST_LIMIT_NS;

    for (int32_t i = 0; i < count; i++) { /* by release */
        int32_t at = i;
        for (; at > 0 && all[j->order[at - 1]].release_ns[server] > all[i].release_ns[server];
             at--)
            j->order[at] = j->order[at - 1];
        j->order[at] = i;
    }
    for (int32_t i = count - 1; i >= 0; i--) {
        const joined *item = &all[j->order[i]];
        sum_ns = emp_bound_add(sum_ns, item->work_ns[server]);
        tail_ns = emp_bound_sooner(tail_ns, item->tail_ns[server]);
        best_ns = emp_bound_later(
            best_ns,
            emp_bound_add(item->release_ns[server], emp_bound_add(sum_ns, tail_ns)));
    }
    return best_ns;
}

static emp_time_ns serve_all(const joiner *j, int32_t goal, int32_t count)
{
    emp_time_ns ns = serve(j, j->joined[goal], count, 0);

    if (goal == START)
        ns = emp_bound_later(ns, serve(j, j->joined[goal], count, 1));
    return ns;
}

/* Either the first n are all here, or one of them is not: the least over n. What they take
 * grows with n, and what it takes to be elsewhere falls. */
static emp_time_ns join_ns(const joiner *j, int32_t goal)
{
    int32_t low = 0, high = j->joined_count[goal]; /* served sooner than elsewhere */

    if (high == 0) return 0;
    while (low < high) {
        int32_t middle = (low + high + 1) / 2;
        if (serve_all(j, goal, middle) < j->joined[goal][middle - 1].elsewhere_ns)
            low = middle;
        else
            high = middle - 1;
    }
    emp_time_ns served_ns = serve_all(j, goal, low);
    if (low == j->joined_count[goal]) return served_ns;
    return emp_bound_later(served_ns, j->joined[goal][low].elsewhere_ns);
}

/* ---- all ---- */

static void join_op(joiner *j, emp_op_id op)
{
    const emp_bound_head *head = &j->paths->head[op][EMP_DEVICE_GPU];
    emp_time_ns           least_ns[GOALS] = {head->ready_ns,
                                             emp_bound_later(head->told_ns, head->queued_ns)};
    emp_bound_floor      *floor = &j->paths->floor[op];

    j->to = op;
    look_around(j, least_ns);
    floor->ready_ns = emp_bound_later(least_ns[READY], join_ns(j, READY));
    if (j->model->has_thread)
        floor->queued_ns = emp_bound_later(least_ns[START], join_ns(j, START));
}

static emp_status joiner_init(joiner *j, emp_bound_paths *paths,
                              const emp_bound_model *model, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = model->problem->graph;

    *j = (joiner){.model = model, .paths = paths};
    j->rank = EMP_NEW_ARRAY(int32_t, (size_t)g->op_count);
    j->slot_of = EMP_NEW_ARRAY(int32_t, (size_t)g->op_count);
    j->near = EMP_NEW_ARRAY(near_op, MAX_NEAR);
    j->open = EMP_NEW_ARRAY(int32_t, MAX_NEAR);
    j->order = EMP_NEW_ARRAY(int32_t, MAX_JOINED);
    j->joined[READY] = EMP_NEW_ARRAY(joined, MAX_JOINED);
    j->joined[START] = EMP_NEW_ARRAY(joined, MAX_JOINED);
    if (!j->rank || !j->slot_of || !j->near || !j->open || !j->order ||
        !j->joined[READY] || !j->joined[START])
        EMP_FAIL(EMP_ENOMEM, "joins of %d ops", g->op_count);
    for (int32_t i = 0; i < g->op_count; i++) {
        j->rank[g->topo[i]] = i;
        j->slot_of[i] = -1;
    }

cleanup:
    return st;
}

static void joiner_clear(joiner *j)
{
    emp_free(j->rank);
    emp_free(j->slot_of);
    emp_free(j->near);
    emp_free(j->open);
    emp_free(j->order);
    emp_free(j->joined[READY]);
    emp_free(j->joined[START]);
}

emp_status emp_bound_join(emp_bound_paths *paths, const emp_bound_model *model,
                          emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = model->problem->graph;
    joiner           j;

    EMP_TRY(joiner_init(&j, paths, model, err));
    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id op = g->topo[i];
        for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
            if (!emp_bound_may(&model->op[op], k)) continue;
            emp_bound_paths_find_head(paths, model, op, k);
            if (k != EMP_DEVICE_GPU || model->problem->runtime.rules != EMP_RULES_EVENTS)
                continue;
            join_op(&j, op);
            emp_bound_paths_find_head(paths, model, op, k);
        }
    }

cleanup:
    joiner_clear(&j);
    return st;
}
