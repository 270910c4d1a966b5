// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/paths/drain.h"

#include <string.h>

#include "base/clones.h"
#include "base/mem.h"
#include "sim/bounds/paths/crowd.h"
#include "sim/bounds/paths/near.h"

/* So many ops are near for each one in the crowd. */
enum { NEAR_PER_MEMBER = 3 };

/* The last op with the same first input that was joined, and when it reached each goal before and after that. */
typedef struct {
    emp_op_id   op; /**< -1 = none */
    emp_time_ns known_ns[EMP_NEAR_GOALS], least_ns[EMP_NEAR_GOALS];
} sibling;

typedef struct {
    emp_near         near;
    emp_bound_paths *paths;
    emp_crowd        crowd[EMP_NEAR_GOALS];
    bool            *is_as_joined; /**< [op] no drain is at it or before it */
    sibling         *sibling; /**< [op] of its readers; not used where there is a proof */
    int32_t         *class_size; /**< [class] */
} joiner;

/* When each goal is reached, at least, with the op elsewhere. Places where it may not be mean nothing before the last
 * step. */
static inline void find_elsewhere(const joiner *j, const emp_near_op *n,
                                  emp_time_ns elsewhere_ns[EMP_NEAR_GOALS])
{
    const emp_bound_head on_cpu = j->paths->head[n->op][EMP_DEVICE_CPU];
    const emp_bound_head on_gpu = j->paths->head[n->op][EMP_DEVICE_GPU];
    emp_near_times       least_ns;

#pragma omp simd
    for (int32_t i = 0; i < EMP_NEAR_ALL; i++) {
        const emp_time_ns is_cpu = emp_near_on_cpu[i];
        const emp_time_ns told_ns =
            (on_cpu.told_ns & is_cpu) | (on_gpu.told_ns & ~is_cpu);
        const emp_time_ns done_ns =
            (on_cpu.done_ns & is_cpu) | (on_gpu.done_ns & ~is_cpu);
        const emp_time_ns after_told_ns = emp_bound_add(n->told_ns[i], told_ns);
        const emp_time_ns after_done_ns = emp_bound_add(n->done_ns[i], done_ns);
        least_ns[i] = emp_time_later(after_told_ns | n->told_ns[i] >> 63,
                                     after_done_ns | n->done_ns[i] >> 63);
    }
    for (int32_t goal = 0; goal < EMP_NEAR_GOALS; goal++) {
        elsewhere_ns[goal] = EMP_COST_LIMIT_NS;
        for (int32_t place = EMP_NEAR_OTHER_GPU; place < EMP_NEAR_PLACES; place++)
            if (emp_near_may(n, place))
                elsewhere_ns[goal] = emp_time_sooner(elsewhere_ns[goal],
                                                     least_ns[emp_near_at(goal, place)]);
    }
}

static void describe(const joiner *j, const emp_near_op *n, int32_t goal,
                     emp_crowd_member *m)
{
    const emp_bound_op   *o = &j->near.model->op[n->op];
    const emp_bound_head *head = &j->paths->head[n->op][EMP_DEVICE_GPU];
    const emp_time_ns     run_ns = o->run_ns[EMP_DEVICE_GPU];
    const int32_t         here = emp_near_at(goal, EMP_NEAR_HERE);
    const bool            has_thread = j->near.model->has_thread;

    m->release_ns[EMP_CROWD_THREAD] = head->ready_ns;
    m->work_ns[EMP_CROWD_THREAD] = has_thread ? o->issue_ns : run_ns;
    m->tail_ns[EMP_CROWD_THREAD] = n->told_ns[here];
    if (j->crowd[goal].end_server <= EMP_CROWD_STREAM) return;
    m->release_ns[EMP_CROWD_STREAM] = emp_time_later(head->told_ns, head->queued_ns);
    m->work_ns[EMP_CROWD_STREAM] = run_ns;
    m->tail_ns[EMP_CROWD_STREAM] = emp_time_later(n->done_ns[here], 0);
}

/* Adds an op to the crowds of the goals that it may hold up. In any other it would change nothing: the goal is no later
 * than known if that op is elsewhere. \return whether it may hold up a goal. */
EMP_CLONES static bool join_crowds(joiner *j, const emp_near_op *n,
                                   emp_time_ns least_ns[EMP_NEAR_GOALS])
{
    emp_time_ns elsewhere_ns[EMP_NEAR_GOALS];
    bool        is_any_late = false;

    find_elsewhere(j, n, elsewhere_ns);
    for (int32_t goal = 0; goal < EMP_NEAR_GOALS; goal++) {
        if (elsewhere_ns[goal] <= least_ns[goal]) continue;
        is_any_late = true;
        if (!emp_near_may(n, EMP_NEAR_HERE)) {
            least_ns[goal] = elsewhere_ns[goal];
            continue;
        }
        emp_crowd_member *m = emp_crowd_add(&j->crowd[goal], elsewhere_ns[goal]);
        if (m != NULL) describe(j, n, goal, m);
    }
    return is_any_late;
}

/* Fills the crowds with what is near the op. */
static void look_around(joiner *j, emp_op_id op, emp_time_ns least_ns[EMP_NEAR_GOALS])
{
    emp_proof   *proof = j->near.model->proof;
    emp_near_op *n;

    for (int32_t goal = 0; goal < EMP_NEAR_GOALS; goal++) j->crowd[goal].count = 0;
    emp_near_begin(&j->near, op);
    while ((n = emp_near_next(&j->near)) != NULL) {
        if (!join_crowds(j, n, least_ns)) continue;
        if (proof != NULL) emp_proof_add_near(proof, n->op);
        emp_near_go_on(&j->near, n);
    }
    emp_near_end(&j->near);
}

/* Notes what of a floor is above the head without it. */
static void note(const joiner *j, emp_op_id op, const emp_bound_floor *floor,
                 const emp_time_ns *known_ns, emp_proof_mark before)
{
    emp_proof     *proof = j->near.model->proof;
    emp_proof_step step = {.rule = EMP_PROOF_JOIN, .op = op, .near = before.near_count};

    if (floor->ready_ns <= known_ns[EMP_NEAR_READY] &&
        floor->queued_ns <= known_ns[EMP_NEAR_START]) {
        emp_proof_take_back(proof, before);
        return;
    }
    step.is_ready = true;
    step.ns = floor->ready_ns;
    if (step.ns > known_ns[EMP_NEAR_READY]) emp_proof_add(proof, step);
    step.is_ready = false;
    step.ns = floor->queued_ns;
    if (step.ns > known_ns[EMP_NEAR_START]) emp_proof_add(proof, step);
}

/* Whether what is near an op, and how long it takes from there, is the same as of another op. */
static bool are_alike(const joiner *j, emp_op_id a, emp_op_id b)
{
    const emp_bound_model *model = j->near.model;
    const emp_near_edge   *of_a = emp_near_first_edge(&j->near, a);
    const emp_near_edge   *of_b = emp_near_first_edge(&j->near, b);
    const ptrdiff_t        count = emp_near_first_edge(&j->near, a + 1) - of_a;

    return count == emp_near_first_edge(&j->near, b + 1) - of_b &&
           memcmp(of_a, of_b, (size_t)count * sizeof *of_a) == 0 &&
           model->op[a].issue_ns == model->op[b].issue_ns &&
           j->class_size[j->near.node[a].colocation_class] == 1 &&
           j->class_size[j->near.node[b].colocation_class] == 1;
}

/* The record for the readers of an op's first input; NULL: it has no input, or each op needs a proof. */
static sibling *find_sibling(const joiner *j, emp_op_id op)
{
    const emp_near_edge *first = emp_near_first_edge(&j->near, op);

    if (j->near.model->proof != NULL || first == emp_near_first_edge(&j->near, op + 1))
        return NULL;
    return &j->sibling[first->from];
}

/* Raises when an op reaches each goal, at least. */
static void raise_goals(joiner *j, emp_op_id op, emp_time_ns least_ns[EMP_NEAR_GOALS])
{
    sibling      *s = find_sibling(j, op);
    const sibling now = {.op = op, .known_ns = {least_ns[0], least_ns[1]}};

    if (s != NULL && s->op >= 0 &&
        memcmp(s->known_ns, now.known_ns, sizeof now.known_ns) == 0 &&
        are_alike(j, s->op, op)) {
        memcpy(least_ns, s->least_ns, sizeof s->least_ns);
        return;
    }
    look_around(j, op, least_ns);
    for (int32_t goal = 0; goal < EMP_NEAR_GOALS; goal++)
        if (goal == EMP_NEAR_READY || j->near.model->has_thread)
            least_ns[goal] = emp_crowd_least(&j->crowd[goal], least_ns[goal]);
    if (s == NULL) return;
    *s = now;
    memcpy(s->least_ns, least_ns, sizeof s->least_ns);
}

static void join_op(joiner *j, emp_op_id op, emp_bound_floor *floor)
{
    const emp_bound_head *head = &j->paths->head[op][EMP_DEVICE_GPU];
    emp_time_ns           least_ns[EMP_NEAR_GOALS] = {
                  head->ready_ns, emp_time_later(head->told_ns, head->queued_ns)};
    const emp_time_ns    known_ns[EMP_NEAR_GOALS] = {least_ns[0], least_ns[1]};
    const emp_proof_mark before = emp_proof_now(j->near.model->proof);

    raise_goals(j, op, least_ns);
    floor->ready_ns = least_ns[EMP_NEAR_READY];
    if (j->near.model->has_thread) floor->queued_ns = least_ns[EMP_NEAR_START];
    note(j, op, floor, known_ns, before);
}

/* ---- all ---- */

static emp_status joiner_init(joiner *j, const emp_bound_model *model,
                              emp_bound_paths *paths, int32_t near, emp_error *err)
{
    const emp_graph *g = model->problem->graph;

    *j = (joiner){.paths = paths};
    EMP_CHECK(emp_near_init(&j->near, model, near, err));
    EMP_CHECK(EMP_ALLOC(j->is_as_joined, (size_t)g->op_count));
    EMP_CHECK(EMP_ALLOC(j->sibling, (size_t)g->op_count));
    EMP_CHECK(EMP_ALLOC(j->class_size, (size_t)g->class_count));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        j->sibling[op].op = -1;
        j->class_size[g->op[op].colocation_class]++;
    }
    for (int32_t goal = 0; goal < EMP_NEAR_GOALS; goal++)
        EMP_CHECK(emp_crowd_init(&j->crowd[goal], 1 + near / NEAR_PER_MEMBER, err));
    j->crowd[EMP_NEAR_READY].end_server = EMP_CROWD_STREAM;
    if (!model->has_thread) j->crowd[EMP_NEAR_START].end_server = EMP_CROWD_STREAM;
    return EMP_OK;
}

static void joiner_clear(joiner *j)
{
    emp_near_clear(&j->near);
    emp_free(j->is_as_joined);
    emp_free(j->sibling);
    emp_free(j->class_size);
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
        if (emp_bound_may(o, gpu)) {
            const emp_time_ns start_ns =
                emp_bound_drains_start(drains, model, paths, op, joined == NULL);
            if (start_ns > *queued_ns)
                emp_bound_drains_note(drains, model, op, start_ns, false);
            *queued_ns = emp_time_later(*queued_ns, start_ns);
        }
        j.is_as_joined[op] = joined != NULL && is_as_joined(&j, drains, op);
        if (o->kinds != 0) emp_bound_paths_find_heads(paths, model, op);
        if (has_joins && emp_bound_may(o, gpu)) join_on_gpu(&j, model, op, joined);
    }

cleanup:
    joiner_clear(&j);
    return st;
}
