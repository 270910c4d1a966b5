// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/paths/near.h"

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

/* ---- lags ---- */

/* From the lags of an op, which are complete, how long it takes to the goals. */
static void go_through(const emp_near *near, emp_near_op *n)
{
    const emp_bound_op *o = &near->model->op[n->op];

    for (int32_t i = 0; i < EMP_NEAR_GOALS * EMP_NEAR_PLACES; i++) {
        const int32_t       goal = i / EMP_NEAR_PLACES, place = i % EMP_NEAR_PLACES;
        const emp_near_lag *l = &n->lag[goal][place];
        const emp_time_ns   run_ns = o->run_ns[emp_near_kind(place)];
        if (!(n->places >> place & 1u)) continue;
        if (emp_near_has_stream(near, place)) {
            n->start_ns[goal][place] = emp_near_plus(l->done_ns, run_ns);
            n->ready_ns[goal][place] =
                emp_time_later(emp_near_plus(l->told_ns, o->issue_ns),
                               emp_near_plus(n->start_ns[goal][place], o->issue_ns));
        } else {
            n->start_ns[goal][place] = -1;
            n->ready_ns[goal][place] =
                emp_near_plus(emp_time_later(l->told_ns, l->done_ns), run_ns);
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

/* The lags of a maker in one place because of an edge: the least over all places of its reader. */
static void lengthen(const emp_bound_edge *edge, const emp_near_op *reader,
                     emp_near_op *maker, int32_t from)
{
    emp_near_lag least[EMP_NEAR_GOALS] = {{EMP_COST_LIMIT_NS, EMP_COST_LIMIT_NS},
                                          {EMP_COST_LIMIT_NS, EMP_COST_LIMIT_NS}};

    for (int32_t to = 0; to < EMP_NEAR_PLACES; to++) {
        if (!(reader->places >> to & 1u) || (edge->is_bound && from != to)) continue;
        emp_bound_delay d = emp_near_delay(edge, from, to);
        for (int32_t goal = 0; goal < EMP_NEAR_GOALS; goal++) {
            emp_time_ns ready_ns = reader->ready_ns[goal][to];
            emp_time_ns done_ns = d.is_in_order ? reader->start_ns[goal][to] : -1;
            if (d.after_done_ns >= 0)
                done_ns =
                    emp_time_later(done_ns, emp_near_plus(ready_ns, d.after_done_ns));
            least[goal].told_ns = emp_time_sooner(
                least[goal].told_ns, emp_near_plus(ready_ns, d.after_told_ns));
            least[goal].done_ns = emp_time_sooner(least[goal].done_ns, done_ns);
        }
    }
    for (int32_t goal = 0; goal < EMP_NEAR_GOALS; goal++) {
        emp_near_lag *all = &maker->lag[goal][from];
        all->told_ns = emp_time_later(all->told_ns, least[goal].told_ns);
        all->done_ns = emp_time_later(all->done_ns, least[goal].done_ns);
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
        *n = (emp_near_op){.op = op, .places = find_places(near, op)};
        for (int32_t i = 0; i < EMP_NEAR_GOALS * EMP_NEAR_PLACES; i++)
            n->lag[i / EMP_NEAR_PLACES][i % EMP_NEAR_PLACES] = (emp_near_lag){0, -1};
        for (; at > 0 && near->open[at - 1] > rank; at--)
            near->open[at] = near->open[at - 1];
        near->open[at] = rank;
        near->open_count++;
        near->slot_of[op] = near->count++;
    }
    return &near->near[near->slot_of[op]];
}

static void spread(emp_near *near, const emp_near_op *reader)
{
    const emp_bound_edge *end = emp_bound_first_edge(near->model, reader->op + 1);

    for (const emp_bound_edge *edge = emp_bound_first_edge(near->model, reader->op);
         edge < end; edge++) {
        emp_near_op *maker = come_near(near, edge->from);
        if (maker == NULL) continue;
        for (int32_t place = 0; place < EMP_NEAR_PLACES; place++)
            if (maker->places >> place & 1u) lengthen(edge, reader, maker, place);
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
    if (near->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "what is near each of %d ops", g->op_count);
    for (int32_t i = 0; i < g->op_count; i++) {
        near->rank[g->topo[i]] = i;
        near->slot_of[i] = -1;
    }
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
