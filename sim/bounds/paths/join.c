// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/paths/join.h"

#include <string.h>

#include "base/mem.h"
#include "sim/bounds/paths/crowd.h"
#include "sim/bounds/paths/near.h"

/* So many ops are near for each one in the crowd. */
enum { NEAR_PER_MEMBER = 3 };

typedef struct {
    emp_near         near;
    emp_bound_paths *paths;
    emp_crowd        crowd[EMP_NEAR_GOALS];
    bool            *is_as_joined; /**< [op] no drain is at it or before it */
    /** [op] when all of its crowd is served, before its kernels start */
    emp_time_ns (*here)[EMP_CROWD_SERVERS];
} joiner;

/* When the goal is reached, at least, with the op in a place where it has that head. */
static emp_time_ns least_from(const emp_near_op *n, int32_t goal, int32_t place,
                              const emp_bound_head *head)
{
    return emp_time_later(emp_near_plus(n->told_ns[goal][place], head->told_ns),
                          emp_near_plus(n->done_ns[goal][place], head->done_ns));
}

/* When the goal is reached, at least, with the op elsewhere. */
static emp_time_ns least_elsewhere(const joiner *j, const emp_near_op *n, int32_t goal)
{
    emp_time_ns least_ns = EMP_COST_LIMIT_NS;

    for (int32_t place = EMP_NEAR_OTHER_GPU; place < EMP_NEAR_PLACES; place++) {
        const emp_bound_head *head = &j->paths->head[n->op][emp_near_kind(place)];
        if (!emp_near_may(n, place)) continue;
        least_ns = emp_time_sooner(least_ns, least_from(n, goal, place, head));
    }
    return least_ns;
}

static emp_crowd_member describe(const joiner *j, const emp_near_op *n, int32_t goal,
                                 emp_time_ns elsewhere_ns)
{
    const emp_bound_op   *o = &j->near.model->op[n->op];
    const emp_bound_head *head = &j->paths->head[n->op][EMP_DEVICE_GPU];
    const emp_time_ns     run_ns = o->run_ns[EMP_DEVICE_GPU];
    emp_crowd_member      m = {.elsewhere_ns = elsewhere_ns};

    m.release_ns[EMP_CROWD_THREAD] = head->ready_ns;
    m.work_ns[EMP_CROWD_THREAD] = j->near.model->has_thread ? o->issue_ns : run_ns;
    m.tail_ns[EMP_CROWD_THREAD] = n->told_ns[goal][EMP_NEAR_HERE];
    if (!j->near.model->has_thread || goal == EMP_NEAR_READY) return m;
    m.release_ns[EMP_CROWD_STREAM] = emp_time_later(head->told_ns, head->queued_ns);
    m.work_ns[EMP_CROWD_STREAM] = run_ns;
    m.tail_ns[EMP_CROWD_STREAM] = emp_time_later(n->done_ns[goal][EMP_NEAR_HERE], 0);
    return m;
}

/* Adds an op to the crowds. One that holds up only one goal is no later than known for the other, and changes
 * nothing there but what is served if all are here. \return whether it may hold up a goal. */
static bool join_crowds(joiner *j, const emp_near_op *n,
                        emp_time_ns least_ns[EMP_NEAR_GOALS])
{
    emp_time_ns elsewhere_ns[EMP_NEAR_GOALS];
    bool        is_any_late = false;

    for (int32_t goal = 0; goal < EMP_NEAR_GOALS; goal++) {
        elsewhere_ns[goal] = least_elsewhere(j, n, goal);
        is_any_late |= elsewhere_ns[goal] > least_ns[goal];
    }
    for (int32_t goal = 0; is_any_late && goal < EMP_NEAR_GOALS; goal++) {
        if (emp_near_may(n, EMP_NEAR_HERE))
            emp_crowd_add(&j->crowd[goal], describe(j, n, goal, elsewhere_ns[goal]));
        else
            least_ns[goal] = emp_time_later(least_ns[goal], elsewhere_ns[goal]);
    }
    return is_any_late;
}

static bool is_late(const joiner *j, const emp_near_op *n,
                    const emp_time_ns least_ns[EMP_NEAR_GOALS])
{
    for (int32_t goal = 0; goal < EMP_NEAR_GOALS; goal++)
        if (least_elsewhere(j, n, goal) > least_ns[goal]) return true;
    return false;
}

/* Whether the op waits for one maker only, as far as is known, and no longer with that maker here. Then all that may hold
 * it up has held up its maker, so that a look around finds nothing more. Only makers have come near. */
static bool follows_one(joiner *j, const emp_time_ns least_ns[EMP_NEAR_GOALS])
{
    const emp_near    *near = &j->near;
    const int32_t      goals = near->model->has_thread ? EMP_NEAR_GOALS : 1;
    const emp_near_op *only = NULL;

    for (int32_t i = 0; i < near->count; i++) {
        if (!is_late(j, &near->near[i], least_ns)) continue;
        if (only != NULL) return false;
        only = &near->near[i];
    }
    if (only == NULL) {
        memset(j->here[near->to], 0, sizeof j->here[near->to]);
        return true;
    }
    if (!emp_near_may(only, EMP_NEAR_HERE)) return false;
    const emp_bound_head *head = &j->paths->head[only->op][EMP_DEVICE_GPU];
    for (int32_t goal = 0; goal < goals; goal++)
        if (least_from(only, goal, EMP_NEAR_HERE, head) > least_ns[goal]) return false;
    if (!near->model->has_thread) return true;
    if (only->done_ns[EMP_NEAR_START][EMP_NEAR_HERE] < 0) return false;
    /* What is elsewhere may hold up the issue of the maker and the kernels of the op, or the other way round; unless it is
     * no later even if it is here. */
    emp_time_ns *here_ns = j->here[near->to];
    here_ns[EMP_CROWD_THREAD] = emp_bound_add(j->here[only->op][EMP_CROWD_THREAD],
                                              near->model->op[near->to].issue_ns);
    here_ns[EMP_CROWD_STREAM] =
        emp_bound_add(j->here[only->op][EMP_CROWD_STREAM],
                      near->model->op[only->op].run_ns[EMP_DEVICE_GPU]);
    return emp_time_later(here_ns[0], here_ns[1]) <= least_ns[EMP_NEAR_START];
}

/* \return  Whether what is near may hold up the op for longer than is known. */
static bool look_around(joiner *j, emp_op_id op, emp_time_ns least_ns[EMP_NEAR_GOALS])
{
    emp_near_op *n;

    for (int32_t goal = 0; goal < EMP_NEAR_GOALS; goal++) j->crowd[goal].count = 0;
    emp_near_begin(&j->near, op);
    const bool is_known = follows_one(j, least_ns);
    while (!is_known && (n = emp_near_next(&j->near)) != NULL)
        if (join_crowds(j, n, least_ns)) emp_near_go_on(&j->near, n);
    emp_near_end(&j->near);
    return !is_known;
}

static void join_op(joiner *j, emp_op_id op, emp_bound_floor *floor)
{
    const emp_bound_head *head = &j->paths->head[op][EMP_DEVICE_GPU];
    emp_time_ns           least_ns[EMP_NEAR_GOALS] = {
                  head->ready_ns, emp_time_later(head->told_ns, head->queued_ns)};

    if (!look_around(j, op, least_ns)) {
        *floor = (emp_bound_floor){least_ns[EMP_NEAR_READY], 0};
        if (j->near.model->has_thread) floor->queued_ns = least_ns[EMP_NEAR_START];
        return;
    }
    floor->ready_ns =
        emp_crowd_least(&j->crowd[EMP_NEAR_READY], least_ns[EMP_NEAR_READY], NULL);
    if (j->near.model->has_thread)
        floor->queued_ns = emp_crowd_least(&j->crowd[EMP_NEAR_START],
                                           least_ns[EMP_NEAR_START], j->here[op]);
}

/* ---- all ---- */

static emp_status joiner_init(joiner *j, const emp_bound_model *model,
                              emp_bound_paths *paths, int32_t near, emp_error *err)
{
    *j = (joiner){.paths = paths};
    EMP_CHECK(emp_near_init(&j->near, model, near, err));
    EMP_CHECK(EMP_ALLOC(j->is_as_joined, (size_t)model->problem->graph->op_count));
    EMP_CHECK(EMP_ALLOC(j->here, (size_t)model->problem->graph->op_count));
    for (int32_t goal = 0; goal < EMP_NEAR_GOALS; goal++)
        EMP_CHECK(emp_crowd_init(&j->crowd[goal], 1 + near / NEAR_PER_MEMBER, err));
    return EMP_OK;
}

static void joiner_clear(joiner *j)
{
    emp_near_clear(&j->near);
    emp_free(j->is_as_joined);
    emp_free(j->here);
    for (int32_t goal = 0; goal < EMP_NEAR_GOALS; goal++)
        emp_crowd_clear(&j->crowd[goal]);
}

/* Whether what holds up an op is as it is for sure. */
static bool is_as_joined(const joiner *j, const emp_bound_drains *drains, emp_op_id op)
{
    const emp_bound_edge *end = emp_bound_first_edge(j->near.model, op + 1);

    if (emp_bound_drains_may_fail(drains, op)) return false;
    for (const emp_bound_edge *edge = emp_bound_first_edge(j->near.model, op); edge < end;
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
        emp_time_ns        *queued_ns = &model->floor[op].queued_ns;
        if (emp_bound_may(o, gpu))
            *queued_ns =
                emp_time_later(*queued_ns, emp_bound_drains_start(drains, model, paths,
                                                                  op, joined == NULL));
        j.is_as_joined[op] = joined != NULL && is_as_joined(&j, drains, op);
        if (o->kinds != 0) emp_bound_paths_find_heads(paths, model, op);
        if (has_joins && emp_bound_may(o, gpu)) join_on_gpu(&j, model, op, joined);
    }

cleanup:
    joiner_clear(&j);
    return st;
}
