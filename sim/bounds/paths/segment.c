// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/paths/path.h"

#include "base/clones.h"
#include "base/mem.h"
#include "sim/bounds/paths/crowd.h"
#include "sim/bounds/paths/near.h"

/* Not known: it may be long before. */
#define UNKNOWN_NS (-EMP_COST_LIMIT_NS)

enum { HERE = EMP_NEAR_HERE, OTHER_GPU = EMP_NEAR_OTHER_GPU, PLACES = EMP_NEAR_PLACES };

static const int32_t gpu = EMP_DEVICE_GPU;

/* Heads of one op, from when the first op of a segment is done, in each place at lane_of(). */
typedef struct {
    emp_near_times queued_ns, told_ns, done_ns;
} heads;

typedef struct {
    emp_bound_model *model;
    emp_bound_paths *paths;
    emp_near         near;
    emp_crowd        crowd;
    int32_t         *visit; /**< slots of what is near, the last in order first */
    int32_t          count;
    /* Ops where a segment may begin, each before the last one; the segment begins at walk[step]. */
    emp_op_id *walk;
    int32_t    walk_count, step;
    /* [slot] the first op of the walk on which the op depends, and the first on which its readers do; walk_count =
     * none. */
    int32_t *since, *leads;
    int32_t *
        work_since; /**< [step] ops that take a GPU's time, by what they depend on first */
    heads  *after;  /**< [slot] */
    int32_t goal, server; /**< what the segment ends with, and what takes turns */
} walker;

/* Where the first op of a segment is, and from when heads are counted. */
typedef struct {
    int32_t place;
    bool    is_absolute; /**< from the start of the step, else from when the op is done */
    emp_time_ns begin_ns;
} outset;

/* Work that several GPUs may share; here, and elsewhere. */
typedef struct {
    emp_time_ns work_ns, release_ns[2], tail_ns[2];
} shared_work;

/* ---- what is between ---- */

static void look_behind(walker *w, emp_op_id to)
{
    emp_near_op *n;

    w->count = 0;
    emp_near_begin(&w->near, to);
    while ((n = emp_near_next(&w->near)) != NULL) {
        w->visit[w->count++] = (int32_t)(n - w->near.near);
        emp_near_go_on(&w->near, n);
    }
}

/* The input that is done last, among those that are near and on GPUs for sure; -1 = none. */
static emp_op_id last_before(const walker *w, emp_op_id op)
{
    const emp_bound_edge *end = emp_bound_first_edge(w->model, op + 1);
    emp_op_id             last = -1;

    for (const emp_bound_edge *edge = emp_bound_first_edge(w->model, op); edge < end;
         edge++) {
        if (emp_near_slot(&w->near, edge->from) < 0) continue;
        if (!emp_bound_is_on_gpu(w->model, edge->from)) continue;
        if (last < 0 ||
            w->paths->head[edge->from][gpu].done_ns > w->paths->head[last][gpu].done_ns)
            last = edge->from;
    }
    return last;
}

/* Walks back along what is done last, and finds where what is near branches off. */
static void walk_back(walker *w, emp_op_id to)
{
    w->walk_count = 0;
    for (emp_op_id from = last_before(w, to); from >= 0; from = last_before(w, from)) {
        w->work_since[w->walk_count] = 0;
        w->walk[w->walk_count++] = from;
    }
    for (int32_t i = w->count - 1, at = w->walk_count; i >= 0; i--) {
        const int32_t         slot = w->visit[i];
        const emp_op_id       op = w->near.near[slot].op;
        const emp_bound_edge *end = emp_bound_first_edge(w->model, op + 1);
        w->since[slot] = w->walk_count;
        for (const emp_bound_edge *edge = emp_bound_first_edge(w->model, op); edge < end;
             edge++) {
            const int32_t from = emp_near_slot(&w->near, edge->from);
            if (from >= 0 && w->leads[from] < w->since[slot])
                w->since[slot] = w->leads[from];
        }
        if (w->since[slot] < w->walk_count && w->model->op[op].run_ns[gpu] > 0)
            w->work_since[w->since[slot]]++;
        w->leads[slot] = w->since[slot];
        if (at > 0 && op == w->walk[at - 1]) w->leads[slot] = --at;
    }
}

static bool is_between(const walker *w, int32_t slot)
{
    return w->since[slot] <= w->step;
}

/* Whether an op is where the segment begins or between. */
static bool is_within(const walker *w, emp_op_id op)
{
    const int32_t slot = emp_near_slot(&w->near, op);

    return op == w->walk[w->step] || (slot >= 0 && is_between(w, slot));
}

/* ---- heads from where the segment begins ---- */

/* Where the first op of a segment may be, which leaves lanes of vectors for two places. */
enum { FIRST_PLACES = 2 };
_Static_assert((int)EMP_NEAR_ALL == FIRST_PLACES * EMP_NEAR_LANES, "lanes of heads");

/* The lane of an op in a place, with the first op in another. */
static inline int32_t lane_of(int32_t first_place, int32_t place)
{
    return EMP_NEAR_LANES * first_place + place;
}

/* The least times of an edge, over the places of its maker, for each place of the first op and of the reader. */
typedef struct {
    emp_near_times ready_ns, start_ns;
} arrival;

/* Times of a maker in one place, for each lane of its reader; where it may not be, later than all others. */
typedef struct {
    emp_near_times told_ns, done_ns;
} making;

static inline void make_in(const walker *w, int32_t slot, int32_t place, making *all)
{
    const heads      *h = &w->after[slot];
    const bool        may = emp_near_may(&w->near.near[slot], place);
    const emp_time_ns far_ns = 2 * EMP_BOUND_FAR;

    for (int32_t i = 0; i < EMP_NEAR_ALL; i++) {
        const int32_t from = lane_of(i / EMP_NEAR_LANES, place);
        all->told_ns[i] = may ? h->told_ns[from] : far_ns;
        all->done_ns[i] = may ? h->done_ns[from] : far_ns;
    }
}

/* The first op, which is done at 0, is in another place for each half of the lanes. */
static inline void make_first(const walker *w, int32_t place, making *all)
{
    const emp_time_ns told_ns = w->model->has_thread ? UNKNOWN_NS : 0;
    const emp_time_ns far_ns = 2 * EMP_BOUND_FAR;

    for (int32_t i = 0; i < EMP_NEAR_ALL; i++) {
        const bool is_there = i / EMP_NEAR_LANES == place;
        all->told_ns[i] = is_there ? told_ns : far_ns;
        all->done_ns[i] = is_there ? 0 : far_ns;
    }
}

static inline void wait_for(const walker *w, const emp_near_edge *edge,
                            emp_time_ns issue_ns, arrival *all)
{
    const emp_near_delays *d = w->near.way[edge->way].from;
    const bool             is_first = edge->from == w->walk[w->step];
    const int32_t          slot = emp_near_slot(&w->near, edge->from);
    making                 maker[PLACES];

    for (int32_t place = 0; place < PLACES; place++)
        is_first ? make_first(w, place, &maker[place])
                 : make_in(w, slot, place, &maker[place]);
#pragma omp simd
    for (int32_t i = 0; i < EMP_NEAR_ALL; i++) {
        emp_time_ns least_ready_ns = EMP_COST_LIMIT_NS;
        emp_time_ns least_start_ns = EMP_COST_LIMIT_NS;
        for (int32_t place = 0; place < PLACES; place++) {
            const emp_time_ns told_ns = maker[place].told_ns[i];
            const emp_time_ns done_ns = maker[place].done_ns[i];
            const emp_time_ns ready_ns = emp_time_later(told_ns + d[place].told_ns[i],
                                                        done_ns + d[place].done_ns[i]);
            const emp_time_ns start_ns =
                emp_time_later(ready_ns + issue_ns, done_ns + d[place].order_ns[i]);
            least_ready_ns = emp_time_sooner(least_ready_ns, ready_ns);
            least_start_ns = emp_time_sooner(least_start_ns, start_ns);
        }
        all->ready_ns[i] = emp_time_later(all->ready_ns[i], least_ready_ns);
        all->start_ns[i] = emp_time_later(all->start_ns[i], least_start_ns);
    }
}

/* The times of an op on the GPU of the first op. */
static const emp_near_times behind_first_ns = {0,          UNKNOWN_NS, UNKNOWN_NS,
                                               UNKNOWN_NS, UNKNOWN_NS, UNKNOWN_NS,
                                               UNKNOWN_NS, UNKNOWN_NS};
_Static_assert(HERE == 0, "the first lane");

/* From when an op is ready, and its kernels may start, to its heads in each place. A dependent op is issued later, so
 * on one stream its kernels come later. */
static inline void finish_heads(const walker *w, const emp_bound_op *op,
                                const arrival *all, heads *h)
{
    const emp_time_ns cpu_ns = op->run_ns[EMP_DEVICE_CPU];
    const emp_time_ns gpu_ns = op->run_ns[EMP_DEVICE_GPU];
    const emp_time_ns issue_ns = w->model->has_thread ? op->issue_ns : gpu_ns;
    const emp_time_ns has_thread = w->model->has_thread ? -1 : 0;

#pragma omp simd
    for (int32_t i = 0; i < EMP_NEAR_ALL; i++) {
        const emp_time_ns is_cpu = emp_near_on_cpu[i];
        const emp_time_ns run_ns = (cpu_ns & is_cpu) | (gpu_ns & ~is_cpu);
        const emp_time_ns first_ns = (cpu_ns & is_cpu) | (issue_ns & ~is_cpu);
        const emp_time_ns ready_ns = all->ready_ns[i];
        const emp_time_ns told_ns = emp_bound_add(ready_ns, first_ns);
        const emp_time_ns stream_ns =
            emp_time_later(emp_time_later(all->start_ns[i], behind_first_ns[i]), told_ns);
        const emp_time_ns is_stream = has_thread & ~is_cpu;
        const emp_time_ns queued_ns = (stream_ns & is_stream) | (ready_ns & ~is_stream);
        h->told_ns[i] = told_ns;
        h->queued_ns[i] = queued_ns;
        h->done_ns[i] = emp_bound_add(queued_ns, run_ns);
    }
}

/* The heads of an op of the segment; those before it have theirs. Places where it may not be get heads that mean
 * nothing. */
EMP_CLONES static void find_heads_of(walker *w, int32_t slot)
{
    const emp_op_id      op = w->near.near[slot].op;
    const emp_near_edge *end = emp_near_first_edge(&w->near, op + 1);
    arrival              all;

    for (int32_t i = 0; i < EMP_NEAR_ALL; i++)
        all.ready_ns[i] = all.start_ns[i] = UNKNOWN_NS;
    for (const emp_near_edge *edge = emp_near_first_edge(&w->near, op); edge < end;
         edge++)
        if (is_within(w, edge->from)) wait_for(w, edge, w->model->op[op].issue_ns, &all);
    finish_heads(w, &w->model->op[op], &all, &w->after[slot]);
}

static void find_heads(walker *w)
{
    for (int32_t i = w->count - 1; i >= 0; i--)
        if (is_between(w, w->visit[i])) find_heads_of(w, w->visit[i]);
}

/* ---- how long it takes ---- */

/* When an op of the segment is queued at least, in each place, and when the segment ends with the op there. */
typedef struct {
    emp_time_ns queued_ns[EMP_NEAR_LANES], end_ns[EMP_NEAR_LANES];
} passage;

/* The heads from the start of the step where they count, else what is sooner than all. */
static inline emp_bound_head known_head(const walker *w, emp_op_id op, int32_t kind,
                                        const outset *o)
{
    const emp_bound_head *known = &w->paths->head[op][kind];

    if (!o->is_absolute) return (emp_bound_head){0, UNKNOWN_NS, UNKNOWN_NS, UNKNOWN_NS};
    return (emp_bound_head){.queued_ns =
                                emp_bound_has_stream(w->model, kind)
                                    ? emp_time_later(known->told_ns, known->queued_ns)
                                    : known->ready_ns,
                            .told_ns = known->told_ns,
                            .done_ns = known->done_ns};
}

/* Places where the op may not be mean nothing. */
static inline void pass(const walker *w, int32_t slot, const outset *o, passage *all)
{
    const emp_near_op   *n = &w->near.near[slot];
    const heads         *h = &w->after[slot];
    const emp_bound_head on_cpu = known_head(w, n->op, EMP_DEVICE_CPU, o);
    const emp_bound_head on_gpu = known_head(w, n->op, gpu, o);
    const int32_t        first = lane_of(o->place, 0), goal = emp_near_at(w->goal, 0);

#pragma omp simd
    for (int32_t i = 0; i < EMP_NEAR_LANES; i++) {
        const emp_time_ns is_cpu = emp_near_on_cpu[i];
        const emp_time_ns queued_ns =
            (on_cpu.queued_ns & is_cpu) | (on_gpu.queued_ns & ~is_cpu);
        const emp_time_ns told_ns =
            emp_time_later(emp_bound_add(o->begin_ns, h->told_ns[first + i]),
                           (on_cpu.told_ns & is_cpu) | (on_gpu.told_ns & ~is_cpu));
        const emp_time_ns done_ns =
            emp_time_later(emp_bound_add(o->begin_ns, h->done_ns[first + i]),
                           (on_cpu.done_ns & is_cpu) | (on_gpu.done_ns & ~is_cpu));
        const emp_time_ns told_lag_ns = n->told_ns[goal + i];
        const emp_time_ns done_lag_ns = n->done_ns[goal + i];
        all->queued_ns[i] = emp_time_later(
            emp_bound_add(o->begin_ns, h->queued_ns[first + i]), queued_ns);
        all->end_ns[i] =
            emp_time_later(emp_bound_add(told_lag_ns, told_ns) | told_lag_ns >> 63,
                           emp_bound_add(done_lag_ns, done_ns) | done_lag_ns >> 63);
    }
}

/* When the segment ends at least, with an op on another GPU or on the CPU. */
static inline emp_time_ns least_elsewhere(const emp_near_op *n, const passage *all)
{
    emp_time_ns least_ns = EMP_COST_LIMIT_NS;

    for (int32_t place = OTHER_GPU; place < PLACES; place++)
        if (emp_near_may(n, place))
            least_ns = emp_time_sooner(least_ns, all->end_ns[place]);
    return least_ns;
}

/* An op that is between on every GPU, for certain, is work that GPUs share. */
static void share(const walker *w, const emp_near_op *n, const outset *o,
                  const passage *passing, shared_work *all)
{
    const emp_time_ns here_ns = passing->queued_ns[HERE];
    const emp_time_ns away_ns = passing->queued_ns[OTHER_GPU];
    const emp_time_ns away_tail_ns = n->done_ns[emp_near_at(w->goal, OTHER_GPU)];

    if (n->places != (1u << HERE | 1u << OTHER_GPU) || away_tail_ns < 0) return;
    if (here_ns < o->begin_ns || away_ns < o->begin_ns) return;
    all->work_ns = emp_bound_add(all->work_ns, w->model->op[n->op].run_ns[gpu]);
    all->release_ns[0] = emp_time_sooner(all->release_ns[0], here_ns);
    all->release_ns[1] = emp_time_sooner(all->release_ns[1], away_ns);
    all->tail_ns[0] = emp_time_sooner(
        all->tail_ns[0], emp_time_later(n->done_ns[emp_near_at(w->goal, HERE)], 0));
    all->tail_ns[1] = emp_time_sooner(all->tail_ns[1], away_tail_ns);
}

/* The least time in which all GPUs can do it together; those that cannot be there and back sooner do nothing. */
static emp_time_ns least_shared(const walker *w, const shared_work *all)
{
    const int64_t     others = w->model->count[gpu] - 1;
    const emp_time_ns here_ns = all->release_ns[0] + all->tail_ns[0];
    const emp_time_ns away_ns = all->release_ns[1] + all->tail_ns[1];
    const emp_time_ns alone_ns = emp_bound_add(here_ns, all->work_ns);

    if (all->work_ns == 0) return 0;
    if (others == 0 || alone_ns <= away_ns) return alone_ns;
    if (away_ns + all->work_ns / others <= here_ns)
        return away_ns + all->work_ns / others;
    return (alone_ns + others * away_ns) / (others + 1);
}

/* With the op on the GPU of the op that waits. */
static void take_turn(const walker *w, const emp_near_op *n, emp_time_ns here_ns,
                      emp_crowd_member *m)
{
    m->release_ns[w->server] = here_ns;
    m->work_ns[w->server] = w->model->op[n->op].run_ns[gpu];
    m->tail_ns[w->server] = emp_time_later(n->done_ns[emp_near_at(w->goal, HERE)], 0);
}

/* When the op that waits starts, at least, or \a known_ns if that is later. */
EMP_CLONES static emp_time_ns least_end(walker *w, const outset *o, emp_time_ns known_ns)
{
    shared_work all = {.release_ns = {EMP_COST_LIMIT_NS, EMP_COST_LIMIT_NS},
                       .tail_ns = {EMP_COST_LIMIT_NS, EMP_COST_LIMIT_NS}};

    w->crowd.count = 0;
    for (int32_t i = 0; i < w->count; i++) {
        const int32_t      slot = w->visit[i];
        const emp_near_op *n = &w->near.near[slot];
        const emp_time_ns  run_ns = w->model->op[n->op].run_ns[gpu];
        if (!is_between(w, slot) || run_ns == 0 || !emp_near_may(n, HERE)) continue;
        passage passing;
        pass(w, slot, o, &passing);
        emp_crowd_member *m = emp_crowd_add(&w->crowd, least_elsewhere(n, &passing));
        if (m != NULL) take_turn(w, n, passing.queued_ns[HERE], m);
        share(w, n, o, &passing, &all);
    }
    known_ns = emp_time_later(known_ns, least_shared(w, &all));
    return emp_crowd_least(&w->crowd, known_ns);
}

/* Over where the first op is. \a absolute_ns: from the start of the step. \return from when it is done. */
static emp_time_ns measure(walker *w, emp_op_id from, emp_time_ns *absolute_ns)
{
    const emp_time_ns begin_ns = w->paths->head[from][gpu].done_ns;
    const int32_t     places = w->model->count[gpu] > 1 ? 2 : 1;
    emp_time_ns       least_ns = EMP_COST_LIMIT_NS, least_absolute_ns = EMP_COST_LIMIT_NS;

    find_heads(w);
    for (int32_t place = HERE; place < places; place++) {
        outset o = {.place = place};
        least_ns = emp_time_sooner(least_ns, least_end(w, &o, 0));
        if (least_absolute_ns <= *absolute_ns) continue;
        o.is_absolute = true;
        o.begin_ns = begin_ns;
        least_absolute_ns =
            emp_time_sooner(least_absolute_ns, least_end(w, &o, *absolute_ns));
    }
    *absolute_ns = emp_time_later(*absolute_ns, least_absolute_ns);
    return least_ns;
}

/* ---- all ---- */

static void note(const walker *w, const emp_bound_link *link, emp_time_ns ns,
                 bool is_link, emp_proof_mark before)
{
    emp_proof_add(w->model->proof, (emp_proof_step){.rule = EMP_PROOF_SEGMENT,
                                                    .op = link->to,
                                                    .from = link->from,
                                                    .is_link = is_link,
                                                    .ns = ns,
                                                    .near = before.near_count});
}

/* A segment begins where work in parallel does. */
static emp_status end_at(walker *w, emp_op_id to, int32_t tries, emp_error *err)
{
    emp_bound_floor *floor = &w->model->floor[to];
    emp_time_ns *floor_ns = w->model->has_thread ? &floor->queued_ns : &floor->ready_ns;
    emp_status   st = EMP_OK;
    const emp_proof_mark before = emp_proof_now(w->model->proof);

    look_behind(w, to);
    for (int32_t i = 0; w->model->proof != NULL && i < w->count; i++)
        emp_proof_add_near(w->model->proof, w->near.near[w->visit[i]].op);
    walk_back(w, to);
    for (w->step = 0; w->step < w->walk_count && tries > 0; w->step++) {
        if (w->work_since[w->step] < 2) continue;
        emp_bound_link    link = {.from = w->walk[w->step], .to = to};
        const emp_time_ns before_ns = *floor_ns;
        link.after_ns = measure(w, link.from, floor_ns);
        if (link.after_ns > 0) EMP_TRY(emp_bound_link_ops(w->model->links, link, err));
        if (link.after_ns > 0) note(w, &link, link.after_ns, true, before);
        if (*floor_ns > before_ns) note(w, &link, *floor_ns, false, before);
        tries--;
    }
    if (emp_proof_now(w->model->proof).count == before.count)
        emp_proof_take_back(w->model->proof, before);

cleanup:
    emp_near_end(&w->near);
    return st;
}

static emp_status walker_init(walker *w, emp_bound_model *model, emp_bound_paths *paths,
                              int32_t near, emp_error *err)
{
    *w = (walker){.model = model, .paths = paths};
    w->goal = model->has_thread ? EMP_NEAR_START : EMP_NEAR_READY;
    w->server = model->has_thread ? EMP_CROWD_STREAM : EMP_CROWD_THREAD;
    EMP_CHECK(emp_near_init(&w->near, model, near, err));
    EMP_CHECK(emp_crowd_init(&w->crowd, near, err));
    w->crowd.first_server = w->server;
    w->crowd.end_server = w->server + 1;
    EMP_CHECK(EMP_ALLOC(w->visit, (size_t)near));
    EMP_CHECK(EMP_ALLOC(w->walk, (size_t)near));
    EMP_CHECK(EMP_ALLOC(w->since, (size_t)near));
    EMP_CHECK(EMP_ALLOC(w->leads, (size_t)near));
    EMP_CHECK(EMP_ALLOC(w->work_since, (size_t)near));
    return EMP_ALLOC(w->after, (size_t)near);
}

static void walker_clear(walker *w)
{
    emp_near_clear(&w->near);
    emp_crowd_clear(&w->crowd);
    emp_free(w->visit);
    emp_free(w->walk);
    emp_free(w->since);
    emp_free(w->leads);
    emp_free(w->work_since);
    emp_free(w->after);
}

emp_status emp_bound_segments(emp_bound_model *model, emp_bound_paths *paths,
                              int32_t near, int32_t tries, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = model->problem->graph;
    walker           w;

    EMP_TRY(walker_init(&w, model, paths, near, err));
    if (model->problem->runtime.rules != EMP_RULES_EVENTS) goto cleanup;
    emp_proof_add(model->proof, (emp_proof_step){.rule = EMP_PROOF_SWEEP});
    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id op = g->topo[i];
        if (model->op[op].kinds != 0) emp_bound_paths_find_heads(paths, model, op);
        if (!emp_bound_is_on_gpu(model, op) ||
            model->edge_offset[op + 1] - model->edge_offset[op] < 2)
            continue;
        EMP_TRY(end_at(&w, op, tries, err));
        emp_bound_paths_find_heads(paths, model, op);
    }

cleanup:
    walker_clear(&w);
    return st;
}
