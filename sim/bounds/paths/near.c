// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/paths/near.h"

#include "base/clones.h"

/* An array of so many is large enough to be aligned to vectors, see emp_calloc(). */
enum { ALIGNED = 16 };
_Static_assert(ALIGNED * sizeof(emp_near_op) >= 4096, "aligned ops");
_Static_assert(EMP_NEAR_ON_CPU == EMP_NEAR_PLACES - 1, "the CPU is the last place");

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

const emp_near_times emp_near_on_cpu = {[EMP_NEAR_ON_CPU] = -1,
                                        [EMP_NEAR_LANES + EMP_NEAR_ON_CPU] = -1};

/* From the lags of an op, which are complete, how long it takes to the goals. On a stream its kernels come before it is
 * done, and its issue before them; elsewhere it runs from when it is ready. */
static inline void go_through(const emp_near *near, emp_near_op *n)
{
    const emp_bound_op *o = &near->model->op[n->op];
    const bool          has_thread = near->model->has_thread;
    const emp_time_ns   cpu_ns = o->run_ns[EMP_DEVICE_CPU];
    const emp_time_ns   gpu_ns = o->run_ns[EMP_DEVICE_GPU];
    const emp_time_ns   kernels_ns = has_thread ? gpu_ns : 0;
    const emp_time_ns   issue_ns = has_thread ? o->issue_ns : gpu_ns;
    const emp_time_ns   no_thread_ns = has_thread ? 0 : -EMP_BOUND_FAR;

#pragma omp simd
    for (int32_t i = 0; i < EMP_NEAR_ALL; i++) {
        const emp_time_ns is_cpu = emp_near_on_cpu[i], is_known = ~(n->done_ns[i] >> 63);
        const emp_time_ns last_ns = kernels_ns & ~is_cpu & is_known;
        const emp_time_ns first_ns = (cpu_ns & is_cpu) | (issue_ns & ~is_cpu);
        const emp_time_ns start_ns = emp_bound_add(n->done_ns[i], last_ns);
        n->start_ns[i] =
            start_ns + ((-EMP_BOUND_FAR & is_cpu) | (no_thread_ns & ~is_cpu));
        n->ready_ns[i] = emp_bound_add(emp_time_later(n->told_ns[i], start_ns), first_ns);
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

/* Times of a reader in one place, for each lane of its maker; where it may not be, later than all others. */
typedef struct {
    emp_near_times ready_ns, start_ns;
} reading;

static inline void read_in(const emp_near_op *reader, int32_t place, reading *all)
{
    const bool        may = emp_near_may(reader, place);
    const int32_t     later = EMP_NEAR_LANES + place;
    const emp_time_ns ready_ns[] = {may ? reader->ready_ns[place] : 2 * EMP_BOUND_FAR,
                                    may ? reader->ready_ns[later] : 2 * EMP_BOUND_FAR};
    const emp_time_ns start_ns[] = {may ? reader->start_ns[place] : 2 * EMP_BOUND_FAR,
                                    may ? reader->start_ns[later] : 2 * EMP_BOUND_FAR};

    for (int32_t i = 0; i < EMP_NEAR_ALL; i++) {
        all->ready_ns[i] = ready_ns[i / EMP_NEAR_LANES];
        all->start_ns[i] = start_ns[i / EMP_NEAR_LANES];
    }
}

/* The lags of a maker in each place because of an edge: the least over the first places of its reader. */
static inline void lengthen(const emp_near_way *way, const reading *reader,
                            int32_t places, emp_near_op *maker)
{
#pragma omp simd
    for (int32_t i = 0; i < EMP_NEAR_ALL; i++) {
        emp_time_ns told_ns = EMP_COST_LIMIT_NS, done_ns = EMP_COST_LIMIT_NS;
        for (int32_t to = 0; to < places; to++) {
            const emp_near_delays *d = &way->to[to];
            const emp_time_ns      ready_ns = reader[to].ready_ns[i];
            const emp_time_ns      later_ns = emp_time_later(
                     ready_ns + d->done_ns[i], reader[to].start_ns[i] + d->order_ns[i]);
            told_ns = emp_time_sooner(told_ns, ready_ns + d->told_ns[i]);
            done_ns = emp_time_sooner(done_ns, later_ns);
        }
        maker->told_ns[i] = emp_time_later(maker->told_ns[i], told_ns);
        maker->done_ns[i] = emp_time_later(maker->done_ns[i], done_ns);
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

/* The ops before one whose lags are complete come near. */
EMP_CLONES static void spread(emp_near *near, emp_near_op *reader)
{
    const emp_near_edge *end = emp_near_first_edge(near, reader->op + 1);
    const bool           may_be_on_cpu = emp_near_may(reader, EMP_NEAR_ON_CPU);
    reading              all[EMP_NEAR_PLACES];

    if (reader->op != near->to) go_through(near, reader);
    for (int32_t place = 0; place < EMP_NEAR_PLACES; place++)
        read_in(reader, place, &all[place]);
    for (const emp_near_edge *edge = emp_near_first_edge(near, reader->op); edge < end;
         edge++) {
        emp_near_op *maker = come_near(near, edge->from);
        if (maker == NULL) continue;
        if (may_be_on_cpu)
            lengthen(&near->way[edge->way], all, EMP_NEAR_PLACES, maker);
        else
            lengthen(&near->way[edge->way], all, EMP_NEAR_ON_CPU, maker);
    }
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
    near->near = EMP_ADD_ARRAY(&near->arrays, emp_near_op,
                               (size_t)(limit > ALIGNED ? limit : ALIGNED));
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
    emp_near_op self = goal_itself(near);
    spread(near, &self);
}

emp_near_op *emp_near_next(emp_near *near)
{
    if (near->open_count == 0) return NULL;
    return &near->near[near->open[--near->open_count].slot];
}

void emp_near_go_on(emp_near *near, emp_near_op *n) { spread(near, n); }

void emp_near_end(emp_near *near)
{
    for (int32_t i = 0; i < near->count; i++) near->node[near->near[i].op].slot = -1;
}
