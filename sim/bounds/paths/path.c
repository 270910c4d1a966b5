// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/paths/path.h"

#include "base/mem.h"

/* ---- heads ---- */

/* On a GPU that is told and done apart, the kernels of the op start when it is issued and
 * the stream has come to them: of each kind of the maker the later of both, so that a maker
 * elsewhere, which is no part of the stream, still holds them up by its copy. */
static void wait_for(const emp_bound_paths *paths, const emp_bound_model *model,
                     const emp_bound_edge *edge, int32_t kind, emp_bound_head *head)
{
    const emp_time_ns issue_ns = model->op[edge->to].issue_ns;
    emp_time_ns       ready_ns = EMP_COST_LIMIT_NS, start_ns = EMP_COST_LIMIT_NS;

    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        const emp_bound_head *from = &paths->head[edge->from][k];
        if (!emp_bound_may_pair(&model->op[edge->from], edge, kind, k)) continue;
        const emp_bound_delay d = emp_bound_delay_of(edge, k, kind, EMP_BOUND_ANY_TWO);
        emp_time_ns           ready = emp_bound_add(from->told_ns, d.after_told_ns);
        if (d.after_done_ns >= 0)
            ready = emp_time_later(ready, emp_bound_add(from->done_ns, d.after_done_ns));
        emp_time_ns start = emp_bound_add(ready, issue_ns);
        if (d.is_in_order) start = emp_time_later(start, from->done_ns);
        ready_ns = emp_time_sooner(ready_ns, ready);
        start_ns = emp_time_sooner(start_ns, start);
    }
    head->ready_ns = emp_time_later(head->ready_ns, ready_ns);
    if (emp_bound_has_stream(model, kind))
        head->queued_ns = emp_time_later(head->queued_ns, start_ns);
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

void emp_bound_paths_find_head(emp_bound_paths *paths, const emp_bound_model *model,
                               emp_op_id op, int32_t kind)
{
    const emp_bound_edge *end = emp_bound_first_edge(model, op + 1);
    emp_bound_head        head = {0};

    for (const emp_bound_edge *edge = emp_bound_first_edge(model, op); edge < end; edge++)
        wait_for(paths, model, edge, kind, &head);
    if (kind == EMP_DEVICE_GPU) wait_for_links(paths, model, op, &head);
    finish_head(model, op, kind, &head);
    paths->head[op][kind] = head;
}

void emp_bound_paths_raise_head(emp_bound_paths *paths, const emp_bound_model *model,
                                emp_op_id op)
{
    finish_head(model, op, EMP_DEVICE_GPU, &paths->head[op][EMP_DEVICE_GPU]);
}

/* ---- tails ---- */

/* What must come after an op on a kind because of an op that waits for it. */
static void go_on(const emp_bound_paths *paths, const emp_bound_model *model,
                  const emp_bound_edge *edge, int32_t kind, emp_bound_tail *tail)
{
    emp_time_ns told_ns = EMP_COST_LIMIT_NS, done_ns = EMP_COST_LIMIT_NS;

    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        const emp_bound_tail *to = &paths->tail[edge->to][k];
        if (!emp_bound_may_pair(&model->op[edge->to], edge, kind, k)) continue;
        const emp_bound_delay d = emp_bound_delay_of(edge, kind, k, EMP_BOUND_ANY_TWO);
        emp_time_ns           done = d.is_in_order ? to->queued_ns : 0;
        if (d.after_done_ns >= 0)
            done = emp_time_later(done, emp_bound_add(d.after_done_ns, to->ready_ns));
        told_ns = emp_time_sooner(told_ns, emp_bound_add(d.after_told_ns, to->ready_ns));
        done_ns = emp_time_sooner(done_ns, done);
    }
    tail->told_ns = emp_time_later(tail->told_ns, told_ns);
    tail->done_ns = emp_time_later(tail->done_ns, done_ns);
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

static void tell_back(const emp_bound_paths *paths, const emp_bound_model *model,
                      emp_op_id op)
{
    const emp_bound_edge *end = emp_bound_first_edge(model, op + 1);

    for (const emp_bound_edge *edge = emp_bound_first_edge(model, op); edge < end; edge++)
        for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
            if (emp_bound_may(&model->op[edge->from], k))
                go_on(paths, model, edge, k, &paths->tail[edge->from][k]);
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

void emp_bound_paths_find(emp_bound_paths *paths, const emp_bound_model *model)
{
    const emp_graph *g = model->problem->graph;

    for (int32_t i = 0; i < g->op_count; i++) {
        for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
            paths->tail[g->topo[i]][k] = (emp_bound_tail){0};
            if (emp_bound_may(&model->op[g->topo[i]], k))
                emp_bound_paths_find_head(paths, model, g->topo[i], k);
        }
    }
    for (int32_t i = g->op_count - 1; i >= 0; i--) {
        for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
            if (emp_bound_may(&model->op[g->topo[i]], k))
                find_tail(paths, model, g->topo[i], k);
        if (model->op[g->topo[i]].kinds != 0) tell_back(paths, model, g->topo[i]);
    }
}

emp_time_ns emp_bound_paths_through(const emp_bound_paths *paths, emp_op_id op,
                                    int32_t kind)
{
    const emp_bound_head *head = &paths->head[op][kind];
    const emp_bound_tail *tail = &paths->tail[op][kind];

    return emp_time_later(emp_bound_add(head->ready_ns, tail->ready_ns),
                          emp_bound_add(head->queued_ns, tail->queued_ns));
}

emp_time_ns emp_bound_paths_longest(const emp_bound_paths *paths,
                                    const emp_bound_model *model)
{
    emp_time_ns longest = 0;

    for (emp_op_id op = 0; op < model->problem->graph->op_count; op++) {
        emp_time_ns least = EMP_COST_LIMIT_NS;
        if (model->op[op].kinds == 0) continue;
        for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
            if (emp_bound_may(&model->op[op], k))
                least = emp_time_sooner(least, emp_bound_paths_through(paths, op, k));
        longest = emp_time_later(longest, least);
    }
    return longest;
}
