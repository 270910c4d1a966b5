// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/paths/join.h"

#include "base/mem.h"

/* Ops that are all on one GPU, where they take turns, or of which one is elsewhere, which
 * takes its time to get there: the sooner of the two. docs/bounds.md, lemma 6. */

/* What takes turns: a host thread and a stream; without host threads only the first. */
enum { CROWD_THREAD, CROWD_STREAM, CROWD_SERVERS };

typedef struct {
    emp_time_ns elsewhere_ns;              /* if it is elsewhere, no less than that */
    emp_time_ns release_ns[CROWD_SERVERS]; /* its turn begins no sooner */
    emp_time_ns work_ns[CROWD_SERVERS];
    emp_time_ns tail_ns[CROWD_SERVERS]; /* what comes after its turn at least */
} crowd_member;

typedef struct {
    crowd_member *member; /* who is elsewhere for longest first */
    int32_t      *order;  /* room to sort in */
    int32_t       count, limit;
} emp_crowd;

/* \retval EMP_ENOMEM */
static emp_status crowd_init(emp_crowd *crowd, int32_t limit, emp_error *err)
{
    *crowd = (emp_crowd){.limit = limit};
    EMP_CHECK(EMP_ALLOC(crowd->member, (size_t)limit));
    EMP_CHECK(EMP_ALLOC(crowd->order, (size_t)limit));
    return EMP_OK;
}

static void crowd_clear(emp_crowd *crowd)
{
    emp_free(crowd->member);
    emp_free(crowd->order);
    *crowd = (emp_crowd){0};
}

/* Beyond the limit those stay that are elsewhere for longest. O(limit). */
static void crowd_add(emp_crowd *crowd, crowd_member member)
{
    crowd_member *all = crowd->member;
    int32_t       at = crowd->count;

    if (at == crowd->limit) {
        if (all[at - 1].elsewhere_ns >= member.elsewhere_ns) return;
        at--;
    } else {
        crowd->count++;
    }
    for (; at > 0 && all[at - 1].elsewhere_ns < member.elsewhere_ns; at--)
        all[at] = all[at - 1];
    all[at] = member;
}

static void sort_by_release(const emp_crowd *crowd, int32_t count, int32_t server)
{
    const crowd_member *all = crowd->member;
    int32_t            *order = crowd->order;

    for (int32_t i = 0; i < count; i++) {
        const emp_time_ns release_ns = all[i].release_ns[server];
        int32_t           at = i;
        for (; at > 0 && all[order[at - 1]].release_ns[server] > release_ns; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* If the first `count` are all here: those released no sooner than one of them take turns
 * after that, and one is last. */
static emp_time_ns serve(const emp_crowd *crowd, int32_t count, int32_t server)
{
    emp_time_ns best_ns = 0, work_ns = 0, tail_ns = EMP_COST_LIMIT_NS;

    sort_by_release(crowd, count, server);
    for (int32_t i = count - 1; i >= 0; i--) {
        const crowd_member *m = &crowd->member[crowd->order[i]];
        work_ns = emp_bound_add(work_ns, m->work_ns[server]);
        tail_ns = emp_time_sooner(tail_ns, m->tail_ns[server]);
        emp_time_ns end_ns =
            emp_bound_add(m->release_ns[server], emp_bound_add(work_ns, tail_ns));
        best_ns = emp_time_later(best_ns, end_ns);
    }
    return best_ns;
}

static emp_time_ns serve_all(const emp_crowd *crowd, int32_t count)
{
    return emp_time_later(serve(crowd, count, CROWD_THREAD),
                          serve(crowd, count, CROWD_STREAM));
}

/* Either the first n members are all here or one of them is elsewhere, for at least as long
 * as the n-th: for every n the sooner of the two. The other falls with n. Where the search
 * ends, all before are served sooner than the last of them is elsewhere, and with one more it
 * is not: either time is a bound by itself. */
static emp_time_ns crowd_least(const emp_crowd *crowd)
{
    int32_t here = 0, most = crowd->count; /* served sooner than elsewhere */

    while (here < most) {
        int32_t middle = (here + most + 1) / 2;
        if (serve_all(crowd, middle) < crowd->member[middle - 1].elsewhere_ns)
            here = middle;
        else
            most = middle - 1;
    }
    emp_time_ns served_ns = serve_all(crowd, here);
    if (here == crowd->count) return served_ns;
    return emp_time_later(served_ns, crowd->member[here].elsewhere_ns);
}

/* Where an op is, seen from the GPU of the op that waits. */
enum { HERE, OTHER_GPU, ON_CPU, PLACES };
/* What happens last: the op that waits is ready, or its kernels start. */
enum { READY, START, GOALS };
/* Of so many that are near one is in the crowd. */
enum { NEAR_PER_MEMBER = 3 };

/* Least times to a goal; -1: it may come first. */
typedef struct {
    emp_time_ns told_ns, done_ns; /**< from when the op is told, or done */
} lag;

/* An op that the op which waits depends on; lags by goal and by where it is. */
typedef struct {
    emp_op_id   op;
    uint32_t    places; /**< mask of where it may be */
    lag         lag[GOALS][PLACES];
    emp_time_ns ready_ns[GOALS][PLACES]; /**< from when it is ready */
    emp_time_ns start_ns[GOALS][PLACES]; /**< from when its kernels start */
} near_op;

typedef struct {
    const emp_bound_model *model;
    emp_bound_paths       *paths;
    int32_t               *rank;    /**< [op] in topological order */
    int32_t               *slot_of; /**< [op] in near; -1 = not near */
    near_op               *near;
    int32_t                near_count, near_limit;
    int32_t   *open; /**< ranks of those not visited, the last in order last */
    int32_t    open_count;
    emp_crowd  crowd[GOALS];
    emp_op_id  to;           /**< the op that waits */
    bool      *is_as_joined; /**< [op] no drain is at it or before it */
    emp_arrays arrays;
} joiner;

static int32_t kind_of(int32_t place)
{
    return place == ON_CPU ? EMP_DEVICE_CPU : EMP_DEVICE_GPU;
}

static bool has_stream(const joiner *j, int32_t place)
{
    return j->model->has_thread && place != ON_CPU;
}

static emp_time_ns plus(emp_time_ns lag_ns, emp_time_ns ns)
{
    return lag_ns < 0 ? -1 : emp_bound_add(lag_ns, ns);
}

static uint32_t find_places(const joiner *j, emp_op_id op)
{
    const emp_op *all = j->model->problem->graph->op;
    const bool    is_bound = all[op].colocation_class == all[j->to].colocation_class;
    uint32_t      places = 0;

    if (emp_bound_may(&j->model->op[op], EMP_DEVICE_GPU)) {
        places |= 1u << HERE;
        if (j->model->count[EMP_DEVICE_GPU] > 1) places |= 1u << OTHER_GPU;
    }
    if (emp_bound_may(&j->model->op[op], EMP_DEVICE_CPU)) places |= 1u << ON_CPU;
    return is_bound ? places & 1u << HERE : places;
}

/* ---- lags ---- */

/* From the lags of an op, which are complete, how long it takes to the goals. */
static void go_through(const joiner *j, near_op *n)
{
    const emp_bound_op *o = &j->model->op[n->op];

    for (int32_t i = 0; i < GOALS * PLACES; i++) {
        const int32_t     goal = i / PLACES, place = i % PLACES;
        const lag        *l = &n->lag[goal][place];
        const emp_time_ns run_ns = o->run_ns[kind_of(place)];
        if (!(n->places >> place & 1u)) continue;
        if (has_stream(j, place)) {
            n->start_ns[goal][place] = plus(l->done_ns, run_ns);
            n->ready_ns[goal][place] =
                emp_time_later(plus(l->told_ns, o->issue_ns),
                               plus(n->start_ns[goal][place], o->issue_ns));
        } else {
            n->start_ns[goal][place] = -1;
            n->ready_ns[goal][place] =
                plus(emp_time_later(l->told_ns, l->done_ns), run_ns);
        }
    }
}

/* The op that waits, seen by those before it. */
static near_op goal_itself(const joiner *j)
{
    near_op self = {.op = j->to, .places = 1u << HERE};

    self.start_ns[READY][HERE] = -1;
    self.ready_ns[START][HERE] = j->model->op[j->to].issue_ns;
    if (!j->model->has_thread) self.start_ns[START][HERE] = -1;
    return self;
}

static emp_bound_delay delay_between(const emp_bound_edge *edge, int32_t from, int32_t to)
{
    emp_bound_pair pair = EMP_BOUND_ANY_TWO;

    if (from == HERE && to == HERE) pair = EMP_BOUND_SAME;
    if ((from == HERE) != (to == HERE)) pair = EMP_BOUND_APART;
    return emp_bound_delay_of(edge, kind_of(from), kind_of(to), pair);
}

/* What the edge says of its maker in one place: the least over all places of its reader. */
static void lengthen(const emp_bound_edge *edge, const near_op *reader, near_op *maker,
                     int32_t from)
{
    lag least[GOALS] = {{EMP_COST_LIMIT_NS, EMP_COST_LIMIT_NS},
                        {EMP_COST_LIMIT_NS, EMP_COST_LIMIT_NS}};

    for (int32_t to = 0; to < PLACES; to++) {
        if (!(reader->places >> to & 1u) || (edge->is_bound && from != to)) continue;
        emp_bound_delay d = delay_between(edge, from, to);
        for (int32_t goal = 0; goal < GOALS; goal++) {
            emp_time_ns ready_ns = reader->ready_ns[goal][to];
            emp_time_ns done_ns = d.is_in_order ? reader->start_ns[goal][to] : -1;
            if (d.after_done_ns >= 0)
                done_ns = emp_time_later(done_ns, plus(ready_ns, d.after_done_ns));
            least[goal].told_ns =
                emp_time_sooner(least[goal].told_ns, plus(ready_ns, d.after_told_ns));
            least[goal].done_ns = emp_time_sooner(least[goal].done_ns, done_ns);
        }
    }
    for (int32_t goal = 0; goal < GOALS; goal++) {
        lag *all = &maker->lag[goal][from];
        all->told_ns = emp_time_later(all->told_ns, least[goal].told_ns);
        all->done_ns = emp_time_later(all->done_ns, least[goal].done_ns);
    }
}

/* ---- what is near ---- */

/* \return NULL: there is no more room. */
static near_op *come_near(joiner *j, emp_op_id op)
{
    if (j->slot_of[op] < 0) {
        const int32_t rank = j->rank[op];
        int32_t       at = j->open_count;
        if (j->near_count == j->near_limit) return NULL;
        near_op *n = &j->near[j->near_count];
        *n = (near_op){.op = op, .places = find_places(j, op)};
        for (int32_t i = 0; i < GOALS * PLACES; i++)
            n->lag[i / PLACES][i % PLACES] = (lag){0, -1};
        for (; at > 0 && j->open[at - 1] > rank; at--) j->open[at] = j->open[at - 1];
        j->open[at] = rank;
        j->open_count++;
        j->slot_of[op] = j->near_count++;
    }
    return &j->near[j->slot_of[op]];
}

static void spread(joiner *j, const near_op *reader)
{
    const emp_bound_edge *end = emp_bound_first_edge(j->model, reader->op + 1);

    for (const emp_bound_edge *edge = emp_bound_first_edge(j->model, reader->op);
         edge < end; edge++) {
        near_op *maker = come_near(j, edge->from);
        if (maker == NULL) continue;
        for (int32_t place = 0; place < PLACES; place++)
            if (maker->places >> place & 1u) lengthen(edge, reader, maker, place);
    }
}

/* When the goal is reached, at least, with the op elsewhere. */
static emp_time_ns least_elsewhere(const joiner *j, const near_op *n, int32_t goal)
{
    emp_time_ns least_ns = EMP_COST_LIMIT_NS;

    for (int32_t place = OTHER_GPU; place < PLACES; place++) {
        const emp_bound_head *head = &j->paths->head[n->op][kind_of(place)];
        const lag            *l = &n->lag[goal][place];
        if (!(n->places >> place & 1u)) continue;
        least_ns =
            emp_time_sooner(least_ns, emp_time_later(plus(l->told_ns, head->told_ns),
                                                     plus(l->done_ns, head->done_ns)));
    }
    return least_ns;
}

static crowd_member describe(const joiner *j, const near_op *n, int32_t goal,
                             emp_time_ns elsewhere_ns)
{
    const emp_bound_op   *o = &j->model->op[n->op];
    const emp_bound_head *head = &j->paths->head[n->op][EMP_DEVICE_GPU];
    const lag            *l = &n->lag[goal][HERE];
    const emp_time_ns     run_ns = o->run_ns[EMP_DEVICE_GPU];
    crowd_member          m = {.elsewhere_ns = elsewhere_ns};

    m.release_ns[CROWD_THREAD] = head->ready_ns;
    m.work_ns[CROWD_THREAD] = j->model->has_thread ? o->issue_ns : run_ns;
    m.tail_ns[CROWD_THREAD] = l->told_ns;
    if (!j->model->has_thread || goal == READY) return m;
    m.release_ns[CROWD_STREAM] = emp_time_later(head->told_ns, head->queued_ns);
    m.work_ns[CROWD_STREAM] = run_ns;
    m.tail_ns[CROWD_STREAM] = emp_time_later(l->done_ns, 0);
    return m;
}

/* Adds an op to the crowds that it may hold up. \return whether there is one. */
static bool join_crowds(joiner *j, const near_op *n, emp_time_ns least_ns[GOALS])
{
    bool is_late = false;

    for (int32_t goal = 0; goal < GOALS; goal++) {
        emp_time_ns elsewhere_ns = least_elsewhere(j, n, goal);
        if (elsewhere_ns <= least_ns[goal]) continue;
        is_late = true;
        if (n->places >> HERE & 1u)
            crowd_add(&j->crowd[goal], describe(j, n, goal, elsewhere_ns));
        else
            least_ns[goal] = elsewhere_ns;
    }
    return is_late;
}

/* Visits what is near, what is last in order first: then its readers, and so its lags, are
 * complete, or as complete as they get. */
static void look_around(joiner *j, emp_time_ns least_ns[GOALS])
{
    near_op self = goal_itself(j);

    j->near_count = j->open_count = 0;
    j->crowd[READY].count = j->crowd[START].count = 0;
    spread(j, &self);
    while (j->open_count > 0) {
        const int32_t rank = j->open[--j->open_count];
        near_op      *n = &j->near[j->slot_of[j->model->problem->graph->topo[rank]]];
        if (!join_crowds(j, n, least_ns)) continue;
        go_through(j, n);
        spread(j, n);
    }
    for (int32_t i = 0; i < j->near_count; i++) j->slot_of[j->near[i].op] = -1;
}

static void join_op(joiner *j, emp_op_id op, emp_bound_floor *floor)
{
    const emp_bound_head *head = &j->paths->head[op][EMP_DEVICE_GPU];
    emp_time_ns           least_ns[GOALS] = {head->ready_ns,
                                             emp_time_later(head->told_ns, head->queued_ns)};

    j->to = op;
    look_around(j, least_ns);
    floor->ready_ns = emp_time_later(least_ns[READY], crowd_least(&j->crowd[READY]));
    if (j->model->has_thread)
        floor->queued_ns = emp_time_later(least_ns[START], crowd_least(&j->crowd[START]));
}

/* ---- all ---- */

static emp_status joiner_init(joiner *j, const emp_bound_model *model,
                              emp_bound_paths *paths, int32_t near, emp_error *err)
{
    const emp_graph *g = model->problem->graph;

    *j = (joiner){.model = model, .paths = paths, .near_limit = near};
    j->rank = EMP_ADD_ARRAY(&j->arrays, int32_t, (size_t)g->op_count);
    j->slot_of = EMP_ADD_ARRAY(&j->arrays, int32_t, (size_t)g->op_count);
    j->near = EMP_ADD_ARRAY(&j->arrays, near_op, (size_t)near);
    j->open = EMP_ADD_ARRAY(&j->arrays, int32_t, (size_t)near);
    j->is_as_joined = EMP_ADD_ARRAY(&j->arrays, bool, (size_t)g->op_count);
    if (j->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "joins of %d ops", g->op_count);
    for (int32_t goal = 0; goal < GOALS; goal++)
        EMP_CHECK(crowd_init(&j->crowd[goal], 1 + near / NEAR_PER_MEMBER, err));
    for (int32_t i = 0; i < g->op_count; i++) {
        j->rank[g->topo[i]] = i;
        j->slot_of[i] = -1;
    }
    return EMP_OK;
}

static void joiner_clear(joiner *j)
{
    emp_arrays_clear(&j->arrays);
    for (int32_t goal = 0; goal < GOALS; goal++) crowd_clear(&j->crowd[goal]);
}

/* Whether what holds up an op is as it would be without drains. */
static bool is_as_joined(const joiner *j, const emp_bound_drains *drains, emp_op_id op)
{
    const emp_bound_edge *end = emp_bound_first_edge(j->model, op + 1);

    if (drains == NULL) return false;
    if (j->model->floor[op].queued_ns > 0) return false;
    for (const emp_bound_edge *edge = emp_bound_first_edge(j->model, op); edge < end;
         edge++)
        if (!j->is_as_joined[edge->from]) return false;
    return true;
}

static void join_on_gpu(joiner *j, emp_bound_model *model, emp_op_id op,
                        const emp_bound_floor *joined)
{
    if (j->is_as_joined[op])
        model->floor[op] = joined[op];
    else
        join_op(j, op, &model->floor[op]);
    emp_bound_paths_raise_head(j->paths, model, op);
}

emp_status emp_bound_join(emp_bound_model *model, emp_bound_paths *paths,
                          const emp_bound_drains *drains, const emp_bound_floor *joined,
                          int32_t near, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = model->problem->graph;
    const bool       has_joins = model->problem->runtime.rules == EMP_RULES_EVENTS;
    const int32_t    gpu = EMP_DEVICE_GPU;
    joiner           j;

    EMP_TRY(joiner_init(&j, model, paths, near, err));
    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id     op = g->topo[i];
        const emp_bound_op *o = &model->op[op];
        if (drains != NULL && emp_bound_may(o, gpu))
            model->floor[op].queued_ns = emp_bound_drains_start(drains, model, paths, op);
        j.is_as_joined[op] = is_as_joined(&j, drains, op);
        for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
            if (emp_bound_may(o, k)) emp_bound_paths_find_head(paths, model, op, k);
        if (has_joins && emp_bound_may(o, gpu)) join_on_gpu(&j, model, op, joined);
    }

cleanup:
    joiner_clear(&j);
    return st;
}
