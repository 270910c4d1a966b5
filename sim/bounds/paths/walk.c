// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/paths/walk.h"

#include "base/mem.h"

/* The moments of an op on a kind of device: members of emp_bound_head, of emp_bound_tail. */
typedef enum { READY, QUEUED, TOLD, DONE } moment;

typedef struct {
    emp_op_id   op;
    int32_t     kind;
    moment      at;
    emp_time_ns ns; /* of the path so far, to choose among several */
} place;

typedef struct {
    const emp_bound_model *model;
    const emp_bound_paths *paths;
    emp_bound_shares      *shares;
} walker;

emp_status emp_bound_shares_add(emp_bound_shares *shares, emp_bound_share share,
                                emp_error *err)
{
    if (share.ns == 0.0) return EMP_OK;
    EMP_CHECK(EMP_GROW(shares->share, shares->count + 1, shares->capacity));
    shares->share[shares->count++] = share;
    return EMP_OK;
}

static emp_status add(const walker *w, emp_op_id op, emp_bound_part part, emp_time_ns ns,
                      emp_error *err)
{
    return emp_bound_shares_add(w->shares, (emp_bound_share){op, part, (double)ns}, err);
}

static emp_status add_run(const walker *w, const place *p, emp_error *err)
{
    return add(w, p->op,
               p->kind == EMP_DEVICE_GPU ? EMP_BOUND_PART_KERNELS : EMP_BOUND_PART_CPU,
               w->model->op[p->op].run_ns[p->kind], err);
}

static emp_status add_issue(const walker *w, emp_op_id op, emp_error *err)
{
    return add(w, op, EMP_BOUND_PART_ISSUE, w->model->op[op].issue_ns, err);
}

/* ---- back ---- */

/* The time that an edge forces, and the moment of its maker that it comes from. */
typedef struct {
    place       maker;
    emp_time_ns after_ns;
    bool        is_behind; /* the reader's kernels are queued behind the maker's */
} cause;

/* The time that an edge from a maker on a kind forces on an op that is ready, or whose kernels start. */
static cause cause_on(const walker *w, const emp_bound_edge *edge, const place *to,
                      int32_t kind)
{
    const emp_bound_head *from = &w->paths->head[edge->from][kind];
    const emp_bound_delay d = emp_bound_delay_of(edge, kind, to->kind, EMP_BOUND_ANY_TWO);
    cause c = {{edge->from, kind, TOLD, emp_bound_add(from->told_ns, d.after_told_ns)},
               d.after_told_ns,
               false};

    if (d.after_done_ns >= 0 &&
        emp_bound_add(from->done_ns, d.after_done_ns) > c.maker.ns)
        c = (cause){{edge->from, kind, DONE, from->done_ns + d.after_done_ns},
                    d.after_done_ns,
                    false};
    if (to->at == READY) return c;
    c.maker.ns = emp_bound_add(c.maker.ns, w->model->op[to->op].issue_ns);
    if (d.is_in_order && from->done_ns > c.maker.ns)
        c = (cause){{edge->from, kind, DONE, from->done_ns}, 0, true};
    return c;
}

static emp_bound_part part_of(const emp_bound_link *link)
{
    if (link == NULL) return EMP_BOUND_PART_COPY;
    return link->is_drain ? EMP_BOUND_PART_TURNS : EMP_BOUND_PART_SEGMENT;
}

/* The least over the kinds of the maker. */
static cause cause_of(const walker *w, const emp_bound_edge *edge, const place *to)
{
    cause least = {.maker = {.op = -1, .ns = EMP_COST_LIMIT_NS}};

    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        if (!emp_bound_may_pair(&w->model->op[edge->from], edge, to->kind, k)) continue;
        const cause c = cause_on(w, edge, to, k);
        if (least.maker.op < 0 || c.maker.ns < least.maker.ns) least = c;
    }
    return least;
}

/* The segment whose end forces most, if that is more than \a least_ns; NULL: none. */
static const emp_bound_link *link_to(const walker *w, const place *to,
                                     emp_time_ns least_ns)
{
    const emp_bound_links *links = w->model->links;
    const emp_bound_link  *most = NULL;
    const moment           starts = w->model->has_thread ? QUEUED : READY;

    if (to->kind != EMP_DEVICE_GPU || to->at != starts) return NULL;
    for (int32_t i = links->to[to->op]; i >= 0; i = links->link[i].next_to) {
        const emp_bound_link *link = &links->link[i];
        const emp_time_ns     ns = emp_bound_add(
                w->paths->head[link->from][EMP_DEVICE_GPU].done_ns, link->after_ns);
        if (ns > least_ns) most = link, least_ns = ns;
    }
    return most;
}

/* From an op that is ready, or whose kernels start, to what it waited for. op = -1: nothing. */
static emp_status go_back_by_edge(const walker *w, place *p, emp_error *err)
{
    const emp_bound_edge  *end = emp_bound_first_edge(w->model, p->op + 1);
    const emp_bound_floor *floor = &w->model->floor[p->op];
    const bool             is_ready = p->at == READY;
    const emp_time_ns      floor_ns = is_ready ? floor->ready_ns : floor->queued_ns;
    cause                  most = {.maker = {.op = -1}};

    for (const emp_bound_edge *e = emp_bound_first_edge(w->model, p->op); e < end; e++) {
        const cause c = cause_of(w, e, p);
        if (most.maker.op < 0 || c.maker.ns > most.maker.ns) most = c;
    }
    const emp_bound_link *link = link_to(w, p, most.maker.ns);
    if (link != NULL) {
        const emp_time_ns done_ns = w->paths->head[link->from][EMP_DEVICE_GPU].done_ns;
        most = (cause){{link->from, EMP_DEVICE_GPU, DONE, done_ns + link->after_ns},
                       link->after_ns,
                       true};
    }
    if (p->kind == EMP_DEVICE_GPU && floor_ns > most.maker.ns)
        EMP_CHECK(add(w, p->op, EMP_BOUND_PART_TURNS, floor_ns - most.maker.ns, err));
    if (!is_ready && !most.is_behind && most.maker.op >= 0)
        EMP_CHECK(add_issue(w, p->op, err));
    EMP_CHECK(add(w, p->op, part_of(link), most.after_ns, err));
    *p = most.maker;
    return EMP_OK;
}

static emp_status go_back(const walker *w, place *p, emp_error *err)
{
    const emp_bound_head *head = &w->paths->head[p->op][p->kind];

    if (p->at == READY || p->at == QUEUED) return go_back_by_edge(w, p, err);
    if (!emp_bound_has_stream(w->model, p->kind)) {
        p->at = READY;
        return add_run(w, p, err);
    }
    if (p->at == TOLD) {
        p->at = READY;
        return add_issue(w, p->op, err);
    }
    p->at = head->told_ns >= head->queued_ns ? TOLD : QUEUED;
    return add_run(w, p, err);
}

static void reverse(emp_bound_share *share, int32_t count)
{
    for (int32_t i = 0; i < count / 2; i++) {
        const emp_bound_share first = share[i];
        share[i] = share[count - 1 - i];
        share[count - 1 - i] = first;
    }
}

/* ---- on ---- */

/* The time that must follow an op on a kind because of an op that waits for it, and the moment of the reader that it
 * begins with. */
static cause effect_on(const walker *w, const emp_bound_edge *edge, const place *from,
                       int32_t kind)
{
    const emp_bound_tail *to = &w->paths->tail[edge->to][kind];
    const emp_bound_delay d =
        emp_bound_delay_of(edge, from->kind, kind, EMP_BOUND_ANY_TWO);
    cause told = {{edge->to, kind, READY, emp_bound_add(d.after_told_ns, to->ready_ns)},
                  d.after_told_ns,
                  false};
    cause done = {{edge->to, kind, QUEUED, d.is_in_order ? to->queued_ns : 0}, 0, true};

    if (d.after_done_ns >= 0 &&
        emp_bound_add(d.after_done_ns, to->ready_ns) > done.maker.ns)
        done = (cause){{edge->to, kind, READY, d.after_done_ns + to->ready_ns},
                       d.after_done_ns,
                       false};
    if (!emp_bound_has_stream(w->model, from->kind))
        return told.maker.ns >= done.maker.ns ? told : done;
    return from->at == TOLD ? told : done;
}

static cause effect_of(const walker *w, const emp_bound_edge *edge, const place *from)
{
    cause least = {.maker = {.op = -1, .ns = EMP_COST_LIMIT_NS}};

    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++) {
        if (!emp_bound_may_pair(&w->model->op[edge->to], edge, from->kind, k)) continue;
        const cause c = effect_on(w, edge, from, k);
        if (least.maker.op < 0 || c.maker.ns < least.maker.ns) least = c;
    }
    return least;
}

/* Looks for the reader of most among the ops behind the first \a rank of the topological order. */
static cause most_after(const walker *w, const place *p, int32_t rank)
{
    const emp_graph *g = w->model->problem->graph;
    cause            most = {.maker = {.op = -1}};

    for (int32_t i = rank; i < g->op_count; i++) {
        const emp_bound_edge *end = emp_bound_first_edge(w->model, g->topo[i] + 1);
        const emp_bound_edge *e = emp_bound_first_edge(w->model, g->topo[i]);
        for (; e < end; e++) {
            if (e->from != p->op) continue;
            const cause c = effect_of(w, e, p);
            if (c.maker.ns > most.maker.ns) most = c;
        }
        if (most.maker.op == g->topo[i] && emp_bound_add(0, most.maker.ns) >= p->ns)
            break; /* all of the tail */
    }
    return most;
}

/* From an op that is told or done to the op that waits for it. op = -1: the step ends. */
static emp_status go_on_by_edge(const walker *w, place *p, int32_t rank, emp_error *err)
{
    const emp_bound_tail  *tail = &w->paths->tail[p->op][p->kind];
    const emp_bound_links *links = w->model->links;
    const emp_time_ns      gap_ns = w->model->op[p->op].gap_ns[p->kind];
    const moment           starts = w->model->has_thread ? QUEUED : READY;

    p->ns = p->at == TOLD ? tail->told_ns : tail->done_ns;
    cause          most = most_after(w, p, rank);
    emp_bound_part part = EMP_BOUND_PART_COPY;
    const bool     may_link = p->kind == EMP_DEVICE_GPU &&
                          (p->at == DONE || !emp_bound_has_stream(w->model, p->kind));
    for (int32_t i = may_link ? links->from[p->op] : -1; i >= 0;
         i = links->link[i].next_from) {
        const emp_bound_link *link = &links->link[i];
        const emp_bound_tail *to = &w->paths->tail[link->to][EMP_DEVICE_GPU];
        const emp_time_ns     ns = emp_bound_add(
                link->after_ns, starts == QUEUED ? to->queued_ns : to->ready_ns);
        if (ns <= most.maker.ns) continue;
        most = (cause){{link->to, EMP_DEVICE_GPU, starts, ns}, link->after_ns, true};
        part = part_of(link);
    }
    if (most.maker.op < 0 || gap_ns > most.maker.ns) {
        EMP_CHECK(add(w, p->op, EMP_BOUND_PART_GAP, gap_ns, err));
        p->op = -1;
        return EMP_OK;
    }
    EMP_CHECK(add(w, most.maker.op, part, most.after_ns, err));
    *p = most.maker;
    return EMP_OK;
}

static emp_status go_on(const walker *w, place *p, int32_t *rank, emp_error *err)
{
    const emp_graph      *g = w->model->problem->graph;
    const emp_bound_tail *tail = &w->paths->tail[p->op][p->kind];

    if (p->at == TOLD || p->at == DONE) {
        while (g->topo[*rank] != p->op) ++*rank;
        return go_on_by_edge(w, p, *rank + 1, err);
    }
    if (!emp_bound_has_stream(w->model, p->kind)) {
        p->at = TOLD;
        return add_run(w, p, err);
    }
    if (p->at == READY) {
        p->at = tail->told_ns >= tail->queued_ns ? TOLD : QUEUED;
        return add_issue(w, p->op, err);
    }
    p->at = DONE;
    return add_run(w, p, err);
}

/* ---- all ---- */

emp_status emp_bound_paths_walk(emp_bound_shares *shares, const emp_bound_model *model,
                                const emp_bound_paths *paths, emp_op_id op, int32_t kind,
                                emp_error *err)
{
    const walker          w = {model, paths, shares};
    const emp_bound_head *head = &paths->head[op][kind];
    const emp_bound_tail *tail = &paths->tail[op][kind];
    const bool            is_ready = emp_bound_add(head->ready_ns, tail->ready_ns) >=
                          emp_bound_add(head->queued_ns, tail->queued_ns);
    const place   middle = {op, kind, is_ready ? READY : QUEUED, 0};
    const int32_t first = shares->count;
    int32_t       rank = 0;

    for (place p = middle; p.op >= 0;) EMP_CHECK(go_back(&w, &p, err));
    if (shares->count > first) reverse(shares->share + first, shares->count - first);
    for (place p = middle; p.op >= 0;) EMP_CHECK(go_on(&w, &p, &rank, err));
    return EMP_OK;
}
