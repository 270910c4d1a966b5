// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/paths/near.h"

#include "base/clones.h"

static uint32_t find_places(const emp_near *near, emp_op_id op)
{
    const emp_op *all = near->model->problem->graph->op;
    const bool    is_bound = all[op].colocation_class == all[near->to].colocation_class;
    uint32_t      places = 0;

    if (emp_bound_may(&near->model->op[op], EMP_DEVICE_GPU)) {
        places |= 1u << EMP_NEAR_HERE;
        if (near->model->count[EMP_DEVICE_GPU] > 1) places |= 1u << EMP_NEAR_OTHER_GPU;
    }
    if (emp_bound_may(&near->model->op[op], EMP_DEVICE_CPU))
        places |= 1u << EMP_NEAR_ON_CPU;
    return is_bound ? places & 1u << EMP_NEAR_HERE : places;
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

    for (int32_t i = 0; i < EMP_NEAR_PLACES * EMP_NEAR_LANES; i++) {
        const int32_t place = i / EMP_NEAR_LANES, other = i % EMP_NEAR_LANES;
        set_delay(d, other, place, &way.to[place], other);
        set_delay(d, place, other, &way.from[place], other);
    }
    return way;
}

/* ---- lags ---- */

/* From the lags of an op, which are complete, how long it takes to the goals. */
static inline void go_through(const emp_near *near, emp_near_op *n)
{
    const emp_bound_op *o = &near->model->op[n->op];

    for (int32_t goal = 0; goal < EMP_NEAR_GOALS; goal++) {
        for (int32_t place = 0; place < EMP_NEAR_PLACES; place++) {
            const emp_time_ns told_ns = n->told_ns[goal][place];
            const emp_time_ns done_ns = n->done_ns[goal][place];
            const emp_time_ns run_ns = o->run_ns[emp_near_kind(place)];
            emp_time_ns      *ready_ns = &n->ready_ns[goal][place];
            emp_time_ns      *start_ns = &n->start_ns[goal][place];
            if (emp_near_has_stream(near, place)) {
                *start_ns = emp_near_plus(done_ns, run_ns);
                *ready_ns =
                    emp_bound_add(emp_time_later(told_ns, *start_ns), o->issue_ns);
            } else {
                *start_ns = -1;
                *ready_ns = emp_bound_add(emp_time_later(told_ns, done_ns), run_ns);
            }
        }
    }
}

/* The op that waits, seen by those before it. */
static emp_near_op goal_itself(const emp_near *near)
{
    emp_near_op self = {.op = near->to, .places = 1u << EMP_NEAR_HERE};

    self.start_ns[EMP_NEAR_READY][EMP_NEAR_HERE] = -1;
    self.ready_ns[EMP_NEAR_START][EMP_NEAR_HERE] = near->model->op[near->to].issue_ns;
    if (!near->model->has_thread) self.start_ns[EMP_NEAR_START][EMP_NEAR_HERE] = -1;
    return self;
}

/* The lags of a maker in each place because of an edge: the least over all places of its reader. */
static inline void lengthen(const emp_near_way *way, const emp_near_op *reader,
                            emp_near_op *maker)
{
    for (int32_t goal = 0; goal < EMP_NEAR_GOALS; goal++) {
        emp_near_times told = {EMP_COST_LIMIT_NS, EMP_COST_LIMIT_NS, EMP_COST_LIMIT_NS,
                               EMP_COST_LIMIT_NS};
        emp_near_times done = {EMP_COST_LIMIT_NS, EMP_COST_LIMIT_NS, EMP_COST_LIMIT_NS,
                               EMP_COST_LIMIT_NS};
        for (int32_t to = 0; to < EMP_NEAR_PLACES; to++) {
            const emp_near_delays *d = &way->to[to];
            const emp_time_ns      ready_ns = reader->ready_ns[goal][to];
            const emp_time_ns      start_ns = reader->start_ns[goal][to];
            if (!emp_near_may(reader, to)) continue;
#pragma omp simd
            for (int32_t i = 0; i < EMP_NEAR_LANES; i++) {
                const emp_time_ns copied_ns = ready_ns + d->done_ns[i];
                const emp_time_ns queued_ns = start_ns + d->order_ns[i];
                const emp_time_ns later_ns = emp_time_later(copied_ns, queued_ns);
                told[i] = emp_time_sooner(told[i], ready_ns + d->told_ns[i]);
                done[i] = emp_time_sooner(done[i], later_ns);
            }
        }
#pragma omp simd
        for (int32_t i = 0; i < EMP_NEAR_LANES; i++) {
            maker->told_ns[goal][i] = emp_time_later(maker->told_ns[goal][i], told[i]);
            maker->done_ns[goal][i] = emp_time_later(maker->done_ns[goal][i], done[i]);
        }
    }
}

/* ---- what is near ---- */

/* \return NULL: there is no more room. */
static emp_near_op *come_near(emp_near *near, emp_op_id op)
{
    if (near->slot_of[op] < 0) {
        const int32_t rank = near->rank[op];
        int32_t       at = near->open_count;
        if (near->count == near->limit) return NULL;
        emp_near_op *n = &near->near[near->count];
        n->op = op;
        n->places = find_places(near, op);
        for (int32_t i = 0; i < EMP_NEAR_GOALS * EMP_NEAR_LANES; i++) {
            n->told_ns[i / EMP_NEAR_LANES][i % EMP_NEAR_LANES] = 0;
            n->done_ns[i / EMP_NEAR_LANES][i % EMP_NEAR_LANES] = -1;
        }
        for (; at > 0 && near->open[at - 1] > rank; at--)
            near->open[at] = near->open[at - 1];
        near->open[at] = rank;
        near->open_count++;
        near->slot_of[op] = near->count++;
    }
    return &near->near[near->slot_of[op]];
}

EMP_CLONES static void spread(emp_near *near, const emp_near_op *reader)
{
    const emp_bound_edge *end = emp_bound_first_edge(near->model, reader->op + 1);

    for (const emp_bound_edge *edge = emp_bound_first_edge(near->model, reader->op);
         edge < end; edge++) {
        emp_near_op *maker = come_near(near, edge->from);
        if (maker != NULL) lengthen(&near->way[edge->delays->number], reader, maker);
    }
}

/* ---- all ---- */

emp_status emp_near_init(emp_near *near, const emp_bound_model *model, int32_t limit,
                         emp_error *err)
{
    const emp_graph *g = model->problem->graph;

    *near = (emp_near){.model = model, .limit = limit};
    near->rank = EMP_ADD_ARRAY(&near->arrays, int32_t, (size_t)g->op_count);
    near->slot_of = EMP_ADD_ARRAY(&near->arrays, int32_t, (size_t)g->op_count);
    near->near = EMP_ADD_ARRAY(&near->arrays, emp_near_op, (size_t)limit);
    near->open = EMP_ADD_ARRAY(&near->arrays, int32_t, (size_t)limit);
    near->way = EMP_ADD_ARRAY(&near->arrays, emp_near_way, (size_t)model->delays_count);
    if (near->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "what is near each of %d ops", g->op_count);
    for (int32_t i = 0; i < g->op_count; i++) {
        near->rank[g->topo[i]] = i;
        near->slot_of[i] = -1;
    }
    for (int32_t i = 0; i < model->delays_count; i++)
        near->way[i] = way_of(model->delays[i]);
    return EMP_OK;
}

void emp_near_clear(emp_near *near) { emp_arrays_clear(&near->arrays); }

void emp_near_begin(emp_near *near, emp_op_id to)
{
    near->to = to;
    near->count = near->open_count = 0;
    const emp_near_op self = goal_itself(near);
    spread(near, &self);
}

emp_near_op *emp_near_next(emp_near *near)
{
    if (near->open_count == 0) return NULL;
    const emp_op_id op =
        near->model->problem->graph->topo[near->open[--near->open_count]];
    return &near->near[near->slot_of[op]];
}

void emp_near_go_on(emp_near *near, emp_near_op *n)
{
    go_through(near, n);
    spread(near, n);
}

void emp_near_end(emp_near *near)
{
    for (int32_t i = 0; i < near->count; i++) near->slot_of[near->near[i].op] = -1;
}
