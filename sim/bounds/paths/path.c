// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/paths/path.h"

#include <string.h>

#include "base/clones.h"
#include "base/mem.h"

/* Later than any sum of EMP_BOUND_FAR and a time: what is nowhere never comes. */
static const emp_time_ns NOWHERE_NS = 2 * EMP_BOUND_FAR;

/* ---- heads ---- */

/* The least over the kinds of the other end, which is far if it may not be there. */
static inline emp_time_ns least_of(emp_time_ns a, emp_time_ns b)
{
    return emp_time_sooner(EMP_COST_LIMIT_NS, emp_time_sooner(a, b));
}

/* When an op is ready, and its kernels may start, by its kind of device. */
typedef struct {
    emp_time_ns ready_ns[EMP_DEVICE_KINDS], start_ns[EMP_DEVICE_KINDS];
} arrival;

/* On a GPU that is told and done apart, the kernels of the op start when it is issued and
 * the stream has come to them: of each kind of the maker the later of both, so that a maker
 * elsewhere, which is no part of the stream, still holds them up by its copy. */
static inline void wait_for(const emp_bound_head *from, const emp_bound_delays *d,
                            emp_time_ns issue_ns, arrival *all)
{
    emp_time_ns ready_ns[EMP_BOUND_PAIRS], start_ns[EMP_BOUND_PAIRS];

#pragma omp simd
    for (int32_t i = 0; i < EMP_BOUND_PAIRS; i++) {
        const emp_time_ns told_ns = from[i / EMP_DEVICE_KINDS].told_ns;
        const emp_time_ns done_ns = from[i / EMP_DEVICE_KINDS].done_ns;
        ready_ns[i] = emp_time_later(told_ns + d->told_ns[i], done_ns + d->done_ns[i]);
        start_ns[i] = emp_time_later(ready_ns[i] + issue_ns, done_ns + d->order_ns[i]);
    }
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        const int32_t other = EMP_DEVICE_KINDS + k;
        all->ready_ns[k] =
            emp_time_later(all->ready_ns[k], least_of(ready_ns[k], ready_ns[other]));
        all->start_ns[k] =
            emp_time_later(all->start_ns[k], least_of(start_ns[k], start_ns[other]));
    }
}

/* On a GPU. */
static void wait_for_links(const emp_bound_paths *paths, const emp_bound_model *model,
                           emp_op_id op, emp_bound_head *head)
{
    const emp_bound_links *links = model->links;
    const int32_t          gpu = EMP_DEVICE_GPU;
    emp_time_ns *start_ns = model->has_thread ? &head->queued_ns : &head->ready_ns;

    for (int32_t i = links->to[op]; i >= 0; i = links->link[i].next_to)
        *start_ns = emp_time_later(
            *start_ns, emp_bound_add(paths->head[links->link[i].from][gpu].done_ns,
                                     links->link[i].after_ns));
}

/* From the edges' ready and queued times, with the floor, to all four. */
static void finish_head(const emp_bound_model *model, emp_op_id op, int32_t kind,
                        emp_bound_head *head)
{
    const emp_bound_op    *o = &model->op[op];
    const emp_bound_floor *floor = &model->floor[op];

    if (kind == EMP_DEVICE_GPU) {
        head->ready_ns = emp_time_later(head->ready_ns, floor->ready_ns);
        head->queued_ns = emp_time_later(head->queued_ns, floor->queued_ns);
    }
    if (emp_bound_has_stream(model, kind)) {
        head->told_ns = emp_bound_add(head->ready_ns, o->issue_ns);
        head->done_ns = emp_bound_add(emp_time_later(head->told_ns, head->queued_ns),
                                      o->run_ns[kind]);
    } else {
        head->told_ns = head->done_ns = emp_bound_add(head->ready_ns, o->run_ns[kind]);
    }
}

/* O(its edges). */
static inline void find_heads(const emp_bound_paths *paths, const emp_bound_model *model,
                              emp_op_id op)
{
    const emp_bound_edge *end = emp_bound_first_edge(model, op + 1);
    const emp_time_ns     issue_ns = model->op[op].issue_ns;
    arrival               all = {0};

    for (const emp_bound_edge *edge = emp_bound_first_edge(model, op); edge < end; edge++)
        wait_for(paths->head[edge->from], edge->delays, issue_ns, &all);
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        emp_bound_head *head = &paths->head[op][k];
        head->ready_ns = all.ready_ns[k];
        head->queued_ns = emp_bound_has_stream(model, k) ? all.start_ns[k] : 0;
        if (k == EMP_DEVICE_GPU && emp_bound_may(&model->op[op], k))
            wait_for_links(paths, model, op, head);
        if (emp_bound_may(&model->op[op], k))
            finish_head(model, op, k, head);
        else
            head->told_ns = head->done_ns = NOWHERE_NS;
    }
}

EMP_CLONES static void find_heads_of_one(const emp_bound_paths *paths,
                                         const emp_bound_model *model, emp_op_id op)
{
    find_heads(paths, model, op);
}

void emp_bound_paths_find_heads(emp_bound_paths *paths, const emp_bound_model *model,
                                emp_op_id op)
{
    find_heads_of_one(paths, model, op);
}

void emp_bound_paths_raise_head(emp_bound_paths *paths, const emp_bound_model *model,
                                emp_op_id op)
{
    finish_head(model, op, EMP_DEVICE_GPU, &paths->head[op][EMP_DEVICE_GPU]);
}

/* ---- tails ---- */

/* What must come after an op on each kind because of an op that waits for it. */
static inline void go_on(const emp_bound_tail *to, const emp_bound_delays *d,
                         emp_bound_tail *tail)
{
    emp_time_ns told_ns[EMP_BOUND_PAIRS], done_ns[EMP_BOUND_PAIRS];

#pragma omp simd
    for (int32_t i = 0; i < EMP_BOUND_PAIRS; i++) {
        const emp_time_ns ready_ns = to[i % EMP_DEVICE_KINDS].ready_ns;
        const emp_time_ns queued_ns = to[i % EMP_DEVICE_KINDS].queued_ns;
        told_ns[i] = d->told_ns[i] + ready_ns;
        done_ns[i] = emp_time_later(d->order_ns[i] + queued_ns, d->done_ns[i] + ready_ns);
    }
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        const int32_t at = EMP_DEVICE_KINDS * k;
        tail[k].told_ns =
            emp_time_later(tail[k].told_ns, least_of(told_ns[at], told_ns[at + 1]));
        tail[k].done_ns =
            emp_time_later(tail[k].done_ns, least_of(done_ns[at], done_ns[at + 1]));
    }
}

/* On a GPU. */
static void go_on_by_links(const emp_bound_paths *paths, const emp_bound_model *model,
                           emp_op_id op, emp_bound_tail *tail)
{
    const emp_bound_links *links = model->links;

    for (int32_t i = links->from[op]; i >= 0; i = links->link[i].next_from) {
        const emp_bound_tail *to = &paths->tail[links->link[i].to][EMP_DEVICE_GPU];
        const emp_time_ns     start_ns = model->has_thread ? to->queued_ns : to->ready_ns;
        tail->done_ns = emp_time_later(tail->done_ns,
                                       emp_bound_add(links->link[i].after_ns, start_ns));
    }
}

/* All that waits for the op has added to told and done. Then those before it are told. */
static void find_tail(const emp_bound_paths *paths, const emp_bound_model *model,
                      emp_op_id op, int32_t kind)
{
    const emp_bound_op *o = &model->op[op];
    emp_bound_tail     *tail = &paths->tail[op][kind];

    tail->told_ns = emp_time_later(tail->told_ns, o->gap_ns[kind]);
    if (kind == EMP_DEVICE_GPU) go_on_by_links(paths, model, op, tail);
    tail->queued_ns = emp_bound_add(o->run_ns[kind], tail->done_ns);
    if (emp_bound_has_stream(model, kind)) {
        tail->ready_ns =
            emp_bound_add(o->issue_ns, emp_time_later(tail->told_ns, tail->queued_ns));
    } else {
        tail->told_ns = tail->done_ns = emp_time_later(tail->told_ns, tail->done_ns);
        tail->ready_ns = emp_bound_add(o->run_ns[kind], tail->told_ns);
    }
}

static inline void tell_back(const emp_bound_paths *paths, const emp_bound_model *model,
                             emp_op_id op)
{
    const emp_bound_edge *end = emp_bound_first_edge(model, op + 1);

    for (const emp_bound_edge *edge = emp_bound_first_edge(model, op); edge < end; edge++)
        go_on(paths->tail[op], edge->delays, paths->tail[edge->from]);
}

/* ---- all ---- */

emp_status emp_bound_paths_init(emp_bound_paths *paths, const emp_bound_model *model,
                                emp_error *err)
{
    size_t ops = (size_t)model->problem->graph->op_count;

    paths->head = emp_calloc(ops, sizeof *paths->head);
    paths->tail = emp_calloc(ops, sizeof *paths->tail);
    if (!paths->head || !paths->tail)
        return EMP_ERROR(EMP_ENOMEM, "paths of %d ops", model->problem->graph->op_count);
    return EMP_OK;
}

void emp_bound_paths_clear(emp_bound_paths *paths)
{
    emp_free(paths->head);
    emp_free(paths->tail);
    *paths = (emp_bound_paths){0};
}

EMP_CLONES static void find_all_heads(const emp_bound_paths *paths,
                                      const emp_bound_model *model)
{
    const emp_graph *g = model->problem->graph;

    for (int32_t i = 0; i < g->op_count; i++)
        if (model->op[g->topo[i]].kinds != 0) find_heads(paths, model, g->topo[i]);
}

EMP_CLONES static void find_all_tails(const emp_bound_paths *paths,
                                      const emp_bound_model *model)
{
    const emp_graph *g = model->problem->graph;

    memset(paths->tail, 0, (size_t)g->op_count * sizeof *paths->tail);
    for (int32_t i = g->op_count - 1; i >= 0; i--) {
        const emp_op_id op = g->topo[i];
        if (model->op[op].kinds == 0) continue;
        for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
            emp_bound_tail *tail = &paths->tail[op][k];
            if (emp_bound_may(&model->op[op], k))
                find_tail(paths, model, op, k);
            else
                tail->ready_ns = tail->queued_ns = NOWHERE_NS;
        }
        tell_back(paths, model, op);
    }
}

void emp_bound_paths_find_all_heads(emp_bound_paths *paths, const emp_bound_model *model)
{
    find_all_heads(paths, model);
}

void emp_bound_paths_find(emp_bound_paths *paths, const emp_bound_model *model)
{
    find_all_heads(paths, model);
    find_all_tails(paths, model);
}

emp_time_ns emp_bound_paths_longest(const emp_bound_paths *paths,
                                    const emp_bound_model *model)
{
    emp_time_ns longest = 0;

    for (emp_op_id op = 0; op < model->problem->graph->op_count; op++)
        longest =
            emp_time_later(longest, emp_bound_paths_through_at_least(paths, model, op));
    return longest;
}
