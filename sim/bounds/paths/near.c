// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/paths/near.h"

#include "base/clones.h"

/* Where an op may be, unless it is bound to another. */
static uint32_t find_places(const emp_bound_model *model, emp_op_id op)
{
    uint32_t places = 0;

    if (emp_bound_may(&model->op[op], EMP_DEVICE_GPU)) {
        places |= 1u << EMP_NEAR_HERE;
        if (model->count[EMP_DEVICE_GPU] > 1) places |= 1u << EMP_NEAR_OTHER_GPU;
    }
    if (emp_bound_may(&model->op[op], EMP_DEVICE_CPU)) places |= 1u << EMP_NEAR_ON_CPU;
    return places;
}

/* ---- delays ---- */

static bool may_pair(const emp_bound_delays *d, int32_t from, int32_t to)
{
    return from < EMP_NEAR_PLACES && to < EMP_NEAR_PLACES && (!d->is_bound || from == to);
}

static void set_delay(const emp_bound_delays *d, int32_t from, int32_t to,
                      emp_near_delays *all, int32_t lane)
{
    emp_bound_pair pair = EMP_BOUND_ANY_TWO;

    if (!may_pair(d, from, to)) {
        all->told_ns[lane] = all->done_ns[lane] = EMP_BOUND_FAR;
        return;
    }
    if (from == EMP_NEAR_HERE && to == EMP_NEAR_HERE) pair = EMP_BOUND_SAME;
    if ((from == EMP_NEAR_HERE) != (to == EMP_NEAR_HERE)) pair = EMP_BOUND_APART;
    const int32_t way = emp_bound_way(emp_near_kind(from), emp_near_kind(to), pair);
    all->told_ns[lane] = d->after_told_ns[way];
    all->done_ns[lane] =
        d->after_done_ns[way] < 0 ? -EMP_BOUND_FAR : d->after_done_ns[way];
    all->order_ns[lane] = d->is_in_order[way] ? 0 : -EMP_BOUND_FAR;
}

static emp_near_way way_of(const emp_bound_delays *d)
{
    emp_near_way way = {0};

    for (int32_t i = 0; i < EMP_NEAR_PLACES * EMP_NEAR_ALL; i++) {
        const int32_t place = i / EMP_NEAR_ALL, lane = i % EMP_NEAR_ALL;
        set_delay(d, lane % EMP_NEAR_LANES, place, &way.to[place], lane);
        set_delay(d, place, lane % EMP_NEAR_LANES, &way.from[place], lane);
    }
    return way;
}

/* ---- lags ---- */

/* From the lags of an op, which are complete, how long it takes to the goals. */
static inline void go_through(const emp_near *near, emp_near_op *n)
{
    const emp_bound_op *o = &near->model->op[n->op];
    const emp_time_ns   issue_ns = o->issue_ns, run_ns[EMP_DEVICE_KINDS] = {
                                                  o->run_ns[0], o->run_ns[1]};
    const bool          has_thread = near->model->has_thread;

#pragma omp simd
    for (int32_t i = 0; i < EMP_NEAR_ALL; i++) {
        const bool        is_on_cpu = i % EMP_NEAR_LANES == EMP_NEAR_ON_CPU;
        const bool        has_stream = has_thread && !is_on_cpu;
        const emp_time_ns told_ns = n->told_ns[i], done_ns = n->done_ns[i];
        const emp_time_ns time_ns = is_on_cpu ? run_ns[EMP_DEVICE_CPU]
                                              : run_ns[EMP_DEVICE_GPU];
        const emp_time_ns start_ns =
            has_stream && done_ns >= 0 ? emp_bound_add(done_ns, time_ns) : -1;
        const emp_time_ns last_ns = emp_time_later(told_ns, has_stream ? start_ns : done_ns);
        n->start_ns[i] = start_ns;
        n->ready_ns[i] = emp_bound_add(last_ns, has_stream ? issue_ns : time_ns);
    }
}

/* The op that waits, seen by those before it. */
static emp_near_op goal_itself(const emp_near *near)
{
    emp_near_op   self = {.op = near->to, .places = 1u << EMP_NEAR_HERE};
    const int32_t start = emp_near_at(EMP_NEAR_START, EMP_NEAR_HERE);

    self.start_ns[emp_near_at(EMP_NEAR_READY, EMP_NEAR_HERE)] = -1;
    self.ready_ns[start] = near->model->op[near->to].issue_ns;
    if (!near->model->has_thread) self.start_ns[start] = -1;
    return self;
}

/* The lags of a maker in each place because of an edge: the least over all places of its reader. */
static inline void lengthen(const emp_near_way *way, const emp_near_op *reader,
                            emp_near_op *maker)
{
    emp_near_times told, done;

    for (int32_t i = 0; i < EMP_NEAR_ALL; i++) told[i] = done[i] = EMP_COST_LIMIT_NS;
    for (int32_t to = 0; to < EMP_NEAR_PLACES; to++) {
        const emp_near_delays *d = &way->to[to];
        const emp_time_ns      ready_ns[] = {reader->ready_ns[to],
                                             reader->ready_ns[EMP_NEAR_LANES + to]};
        const emp_time_ns      start_ns[] = {reader->start_ns[to],
                                             reader->start_ns[EMP_NEAR_LANES + to]};
        if (!emp_near_may(reader, to)) continue;
#pragma omp simd
        for (int32_t i = 0; i < EMP_NEAR_ALL; i++) {
            const emp_time_ns goal_ready_ns =
                i < EMP_NEAR_LANES ? ready_ns[0] : ready_ns[1];
            const emp_time_ns goal_start_ns =
                i < EMP_NEAR_LANES ? start_ns[0] : start_ns[1];
            const emp_time_ns later_ns = emp_time_later(goal_ready_ns + d->done_ns[i],
                                                        goal_start_ns + d->order_ns[i]);
            told[i] = emp_time_sooner(told[i], goal_ready_ns + d->told_ns[i]);
            done[i] = emp_time_sooner(done[i], later_ns);
        }
    }
#pragma omp simd
    for (int32_t i = 0; i < EMP_NEAR_ALL; i++) {
        maker->told_ns[i] = emp_time_later(maker->told_ns[i], told[i]);
        maker->done_ns[i] = emp_time_later(maker->done_ns[i], done[i]);
    }
}

/* ---- what is near ---- */

static inline void wait_in_order(emp_near *near, emp_near_open open)
{
    int32_t at = near->open_count++;

    for (; at > 0 && near->open[at - 1].rank > open.rank; at--)
        near->open[at] = near->open[at - 1];
    near->open[at] = open;
}

/* \return NULL: there is no more room. */
static inline emp_near_op *come_near(emp_near *near, emp_op_id op)
{
    emp_near_node *node = &near->node[op];

    if (node->slot < 0) {
        if (near->count == near->limit) return NULL;
        emp_near_op *n = &near->near[near->count];
        n->op = op;
        n->places = node->places;
        if (node->colocation_class == near->node[near->to].colocation_class)
            n->places &= 1u << EMP_NEAR_HERE;
#pragma omp simd
        for (int32_t i = 0; i < EMP_NEAR_ALL; i++) {
            n->told_ns[i] = 0;
            n->done_ns[i] = -1;
        }
        wait_in_order(near, (emp_near_open){node->rank, near->count});
        node->slot = near->count++;
    }
    return &near->near[node->slot];
}

static inline void spread(emp_near *near, const emp_near_op *reader)
{
    const emp_near_edge *end = emp_near_first_edge(near, reader->op + 1);

    for (const emp_near_edge *edge = emp_near_first_edge(near, reader->op); edge < end;
         edge++) {
        emp_near_op *maker = come_near(near, edge->from);
        if (maker != NULL) lengthen(&near->way[edge->way], reader, maker);
    }
}

EMP_CLONES static void spread_from_goal(emp_near *near)
{
    const emp_near_op self = goal_itself(near);

    spread(near, &self);
}

EMP_CLONES static void spread_on(emp_near *near, emp_near_op *n)
{
    go_through(near, n);
    spread(near, n);
}

/* ---- all ---- */

emp_status emp_near_init(emp_near *near, const emp_bound_model *model, int32_t limit,
                         emp_error *err)
{
    const emp_graph *g = model->problem->graph;
    const int64_t    edges = model->edge_offset[g->op_count];

    *near = (emp_near){.model = model, .limit = limit};
    near->node = EMP_ADD_ARRAY(&near->arrays, emp_near_node, (size_t)g->op_count);
    near->edge = EMP_ADD_ARRAY(&near->arrays, emp_near_edge, (size_t)edges);
    near->near = EMP_ADD_ARRAY(&near->arrays, emp_near_op, (size_t)limit);
    near->open = EMP_ADD_ARRAY(&near->arrays, emp_near_open, (size_t)limit);
    near->way = EMP_ADD_ARRAY(&near->arrays, emp_near_way, (size_t)model->delays_count);
    if (near->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "what is near each of %d ops", g->op_count);
    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id op = g->topo[i];
        near->node[op] = (emp_near_node){.rank = i,
                                         .colocation_class = g->op[op].colocation_class,
                                         .places = find_places(model, op),
                                         .slot = -1};
    }
    for (int64_t i = 0; i < edges; i++)
        near->edge[i] =
            (emp_near_edge){model->edge[i].from, model->edge[i].delays->number};
    for (int32_t i = 0; i < model->delays_count; i++)
        near->way[i] = way_of(model->delays[i]);
    return EMP_OK;
}

void emp_near_clear(emp_near *near) { emp_arrays_clear(&near->arrays); }

void emp_near_begin(emp_near *near, emp_op_id to)
{
    near->to = to;
    near->count = near->open_count = 0;
    spread_from_goal(near);
}

emp_near_op *emp_near_next(emp_near *near)
{
    if (near->open_count == 0) return NULL;
    return &near->near[near->open[--near->open_count].slot];
}

void emp_near_go_on(emp_near *near, emp_near_op *n) { spread_on(near, n); }

void emp_near_end(emp_near *near)
{
    for (int32_t i = 0; i < near->count; i++) near->node[near->near[i].op].slot = -1;
}
