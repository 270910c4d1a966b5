// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/exact/relax.h"

/* ---- turns of those before an op, and of those after it ---- */

static void clear_turns(emp_relax *x)
{
    for (int32_t d = 0; d < x->device_count; d++)
        x->turns[d][EMP_BOUND_THREAD].count = x->turns[d][EMP_BOUND_STREAM].count = 0;
}

/* Also moves an op that is there already and has a later time now. */
static void insert_turn(emp_turns *t, emp_op_id op, emp_time_ns from_ns,
                        emp_time_ns work_ns)
{
    int32_t at = 0;

    if (work_ns == 0) return;
    while (at < t->count && t->op[at] != op) at++;
    if (at == t->count) t->count++;
    for (; at + 1 < t->count && t->from_ns[at + 1] < from_ns; at++) {
        t->op[at] = t->op[at + 1];
        t->from_ns[at] = t->from_ns[at + 1];
        t->work_ns[at] = t->work_ns[at + 1];
    }
    for (; at > 0 && t->from_ns[at - 1] > from_ns; at--) {
        t->op[at] = t->op[at - 1];
        t->from_ns[at] = t->from_ns[at - 1];
        t->work_ns[at] = t->work_ns[at - 1];
    }
    t->op[at] = op;
    t->from_ns[at] = from_ns;
    t->work_ns[at] = work_ns;
}

/* When those of the turns that the op depends on have had theirs. */
static emp_time_ns end_before(const emp_relax *x, const emp_turns *t, emp_op_id op)
{
    emp_time_ns now_ns = 0;

    for (int32_t i = 0; i < t->count; i++)
        if (emp_relax_is_before(x, t->op[i], op))
            now_ns = emp_time_later(now_ns, t->from_ns[i]) + t->work_ns[i];
    return now_ns;
}

/* From the end, when those that depend on the op begin theirs. */
static emp_time_ns begin_after(const emp_relax *x, const emp_turns *t, emp_op_id op)
{
    emp_time_ns now_ns = 0;

    for (int32_t i = 0; i < t->count; i++)
        if (emp_relax_is_before(x, op, t->op[i]))
            now_ns = emp_time_later(now_ns, t->from_ns[i]) + t->work_ns[i];
    return now_ns;
}

/* ---- copies that wait for kernels ---- */

static bool is_beside_now(const emp_relax *x, emp_op_id u, emp_op_id op)
{
    return x->is_local[op] &&
           (x->beside[(size_t)u * (size_t)x->words + (size_t)op / 64] >>
                ((uint32_t)op % 64u) &
            1u);
}

/* When the op has had its turn, and all that it depends on and that is beside it. */
static emp_time_ns end_beside(const emp_relax *x, const emp_turns *t, emp_op_id op)
{
    emp_time_ns now_ns = 0;

    for (int32_t i = 0; i < t->count; i++)
        if (t->op[i] == op || emp_relax_is_before(x, t->op[i], op) ||
            is_beside_now(x, op, t->op[i]))
            now_ns = emp_time_later(now_ns, t->from_ns[i]) + t->work_ns[i];
    return now_ns;
}

/* The time of a copy from when the kernels that it waits for are done; -1: there is no copy from the memory of a GPU for
 * sure. */
static emp_time_ns copying_ns(const emp_relax *x, const emp_bound_edge *edge,
                              int32_t from, int32_t to)
{
    if (emp_bound_is_control(edge) || edge->is_on_host || !emp_relax_is_gpu(x, from))
        return -1;
    if (from == to && !edge->is_read_on_host) return -1;
    return emp_bound_delay_of(edge, emp_relax_kind(x, from), emp_relax_kind(x, to),
                              from == to ? EMP_BOUND_SAME : EMP_BOUND_APART)
        .after_done_ns;
}

/* ---- paths ---- */

static emp_bound_delay delay(const emp_relax *x, const emp_bound_edge *edge, int32_t from,
                             int32_t to)
{
    return emp_bound_delay_of(edge, emp_relax_kind(x, from), emp_relax_kind(x, to),
                              from == to ? EMP_BOUND_SAME : EMP_BOUND_APART);
}

static void wait_for(const emp_relax *x, const emp_bound_edge *edge, uint32_t makers,
                     int32_t to, emp_bound_head *head)
{
    const emp_time_ns issue_ns = x->model->op[edge->to].issue_ns;
    emp_time_ns       ready_ns = EMP_COST_LIMIT_NS, start_ns = EMP_COST_LIMIT_NS;

    for (int32_t d = 0; d < x->device_count; d++) {
        const emp_bound_head *from = &x->head[edge->from][d];
        if (!(makers >> d & 1u) || (edge->is_bound && d != to)) continue;
        const emp_bound_delay w = delay(x, edge, d, to);
        emp_time_ns           ready = emp_bound_add(from->told_ns, w.after_told_ns);
        const emp_time_ns     copy_ns = copying_ns(x, edge, d, to);
        if (w.after_done_ns >= 0)
            ready = emp_time_later(ready, emp_bound_add(from->done_ns, w.after_done_ns));
        if (copy_ns >= 0 && makers == 1u << d) {
            ready =
                emp_time_later(ready, emp_bound_add(x->drained_ns[edge->from], copy_ns));
            ready = emp_time_later(
                ready, emp_bound_add(x->sent_ns[edge->from], w.after_told_ns));
        }
        emp_time_ns start = emp_bound_add(ready, issue_ns);
        if (w.is_in_order) start = emp_time_later(start, from->done_ns);
        ready_ns = emp_time_sooner(ready_ns, ready);
        start_ns = emp_time_sooner(start_ns, start);
    }
    head->ready_ns = emp_time_later(head->ready_ns, ready_ns);
    head->queued_ns = emp_time_later(head->queued_ns, start_ns);
}

static void find_head(emp_relax *x, const uint32_t *devices, emp_op_id op, int32_t d)
{
    const emp_bound_edge *end = emp_bound_first_edge(x->model, op + 1);
    const emp_bound_op   *o = &x->model->op[op];
    const int32_t         kind = emp_relax_kind(x, d);
    emp_bound_head        head = {0};

    for (const emp_bound_edge *e = emp_bound_first_edge(x->model, op); e < end; e++)
        wait_for(x, e, emp_relax_devices_of(x, devices, e->from), d, &head);
    if (kind == EMP_DEVICE_GPU)
        head.ready_ns =
            emp_time_later(emp_time_later(head.ready_ns, x->model->floor[op].ready_ns),
                           end_before(x, &x->turns[d][EMP_BOUND_THREAD], op));
    if (emp_bound_has_stream(x->model, kind)) {
        head.queued_ns =
            emp_time_later(emp_time_later(head.queued_ns, x->model->floor[op].queued_ns),
                           end_before(x, &x->turns[d][EMP_BOUND_STREAM], op));
        head.told_ns = emp_bound_add(head.ready_ns, o->issue_ns);
        head.done_ns =
            emp_bound_add(emp_time_later(head.told_ns, head.queued_ns), o->run_ns[kind]);
    } else {
        head.queued_ns = 0;
        head.told_ns = head.done_ns = emp_bound_add(head.ready_ns, o->run_ns[kind]);
    }
    x->head[op][d] = head;
    if (kind != EMP_DEVICE_GPU || emp_relax_devices_of(x, devices, op) != 1u << d) return;
    insert_turn(&x->turns[d][EMP_BOUND_THREAD], op, head.ready_ns,
                x->model->has_thread ? o->issue_ns : o->run_ns[kind]);
    if (x->model->has_thread)
        insert_turn(&x->turns[d][EMP_BOUND_STREAM], op,
                    emp_time_later(head.told_ns, head.queued_ns), o->run_ns[kind]);
}

static void finish_tail(emp_relax *x, emp_op_id op, int32_t d, bool is_fixed)
{
    const emp_bound_op *o = &x->model->op[op];
    const int32_t       kind = emp_relax_kind(x, d);
    emp_turns          *turns = x->turns[d];
    emp_bound_tail     *tail = &x->tail[op][d];

    tail->told_ns = emp_time_later(tail->told_ns, o->gap_ns[kind]);
    if (kind == EMP_DEVICE_GPU)
        tail->told_ns =
            emp_time_later(tail->told_ns, begin_after(x, &turns[EMP_BOUND_THREAD], op));
    if (emp_bound_has_stream(x->model, kind)) {
        tail->done_ns =
            emp_time_later(tail->done_ns, begin_after(x, &turns[EMP_BOUND_STREAM], op));
        tail->queued_ns = emp_bound_add(o->run_ns[kind], tail->done_ns);
        tail->ready_ns =
            emp_bound_add(o->issue_ns, emp_time_later(tail->told_ns, tail->queued_ns));
    } else {
        tail->told_ns = tail->done_ns = emp_time_later(tail->told_ns, tail->done_ns);
        tail->ready_ns = emp_bound_add(o->run_ns[kind], tail->told_ns);
        tail->queued_ns = 0;
    }
    if (kind != EMP_DEVICE_GPU || !is_fixed) return;
    if (x->model->has_thread) {
        insert_turn(&turns[EMP_BOUND_THREAD], op,
                    emp_time_later(tail->told_ns, tail->queued_ns), o->issue_ns);
        insert_turn(&turns[EMP_BOUND_STREAM], op, tail->done_ns, o->run_ns[kind]);
    } else {
        insert_turn(&turns[EMP_BOUND_THREAD], op, tail->told_ns, o->run_ns[kind]);
    }
}

static void go_on(emp_relax *x, const emp_bound_edge *edge, uint32_t readers,
                  int32_t from)
{
    emp_bound_tail *tail = &x->tail[edge->from][from];
    emp_time_ns     told_ns = EMP_COST_LIMIT_NS, done_ns = EMP_COST_LIMIT_NS;

    for (int32_t d = 0; d < x->device_count; d++) {
        const emp_bound_tail *to = &x->tail[edge->to][d];
        if (!(readers >> d & 1u) || (edge->is_bound && d != from)) continue;
        const emp_bound_delay w = delay(x, edge, from, d);
        emp_time_ns           done = w.is_in_order ? to->queued_ns : 0;
        if (w.after_done_ns >= 0)
            done = emp_time_later(done, emp_bound_add(w.after_done_ns, to->ready_ns));
        told_ns = emp_time_sooner(told_ns, emp_bound_add(w.after_told_ns, to->ready_ns));
        done_ns = emp_time_sooner(done_ns, done);
    }
    tail->told_ns = emp_time_later(tail->told_ns, told_ns);
    tail->done_ns = emp_time_later(tail->done_ns, done_ns);
}

/* Whether the op is on one GPU with all that it waits for, which it reads without a copy. */
static bool is_local(const emp_relax *x, const uint32_t *devices, emp_op_id op)
{
    const uint32_t        mask = emp_relax_devices_of(x, devices, op);
    const emp_bound_edge *end = emp_bound_first_edge(x->model, op + 1);

    if (mask == 0 || (mask & (mask - 1u)) != 0) return false;
    for (const emp_bound_edge *e = emp_bound_first_edge(x->model, op); e < end; e++)
        if (emp_relax_devices_of(x, devices, e->from) != mask ||
            e->is_on_host != e->is_read_on_host)
            return false;
    return true;
}

/* The end, in by_depth, of those as deep as the op at \a first. */
static int32_t end_of_depth(const emp_relax *x, int32_t first)
{
    const int32_t depth = x->depth[x->by_depth[first]];

    while (first < x->run_count && x->depth[x->by_depth[first]] == depth) first++;
    return first;
}

static void find_heads_from(emp_relax *x, const uint32_t *devices, int32_t first,
                            int32_t end)
{
    for (int32_t i = first; i < end; i++)
        for (int32_t d = 0; d < x->device_count; d++)
            if (emp_relax_devices_of(x, devices, x->by_depth[i]) >> d & 1u)
                find_head(x, devices, x->by_depth[i], d);
}

/* The kernels before the copies of those that are fixed to a GPU. */
static void find_drains(emp_relax *x, const uint32_t *devices, int32_t first, int32_t end)
{
    for (int32_t i = first; i < end; i++) {
        const emp_op_id op = x->by_depth[i];
        const uint32_t  mask = emp_relax_devices_of(x, devices, op);
        for (int32_t d = 0; d < x->device_count && x->model->has_thread; d++) {
            if (mask != 1u << d || !emp_relax_is_gpu(x, d)) continue;
            x->drained_ns[op] = end_beside(x, &x->turns[d][EMP_BOUND_STREAM], op);
            x->sent_ns[op] = end_beside(x, &x->turns[d][EMP_BOUND_THREAD], op);
        }
    }
}

/* Depth by depth: what is beside an op is at most one deeper, as are the first readers of its copies, so heads of a depth are
 * found again once the kernels before these copies are known. */
static void find_heads(emp_relax *x, const uint32_t *devices)
{
    clear_turns(x);
    for (int32_t i = 0; i < x->run_count; i++) {
        const emp_op_id op = x->by_depth[i];
        x->is_local[op] = is_local(x, devices, op);
        x->drained_ns[op] = x->sent_ns[op] = 0;
    }
    for (int32_t first = 0, last = 0, end; first < x->run_count;
         last = first, first = end) {
        end = end_of_depth(x, first);
        find_heads_from(x, devices, first, end);
        if (last == first) continue;
        find_drains(x, devices, last, first);
        find_heads_from(x, devices, first, end);
    }
}

/* When copies to fixed readers begin, from the end, that wait for kernels of what is beside their makers. */
static void find_afters(emp_relax *x, const uint32_t *devices, const emp_bound_edge *edge,
                        int32_t first, int32_t end)
{
    const uint32_t maker = emp_relax_devices_of(x, devices, edge->from);
    const uint32_t reader = emp_relax_devices_of(x, devices, edge->to);

    for (int32_t d = 0; d < x->device_count; d++) {
        for (int32_t to = 0; maker == 1u << d && to < x->device_count; to++) {
            const emp_time_ns copy_ns = copying_ns(x, edge, d, to);
            if (reader != 1u << to || copy_ns < 0) continue;
            const emp_time_ns after_ns =
                emp_bound_add(copy_ns, x->tail[edge->to][to].ready_ns);
            for (int32_t i = first; i < end; i++) {
                const emp_op_id op = x->by_depth[i];
                if (emp_relax_devices_of(x, devices, op) == maker &&
                    is_beside_now(x, edge->from, op))
                    x->after_ns[op] = emp_time_later(x->after_ns[op], after_ns);
            }
        }
    }
}

static void finish_tails(emp_relax *x, const uint32_t *devices, int32_t first,
                         int32_t end)
{
    for (int32_t i = end - 1; i >= first; i--) {
        const emp_op_id op = x->by_depth[i];
        const uint32_t  mask = emp_relax_devices_of(x, devices, op);
        for (int32_t d = 0; d < x->device_count; d++) {
            if (!(mask >> d & 1u)) continue;
            if (mask == 1u << d && emp_relax_is_gpu(x, d))
                x->tail[op][d].done_ns =
                    emp_time_later(x->tail[op][d].done_ns, x->after_ns[op]);
            finish_tail(x, op, d, mask == 1u << d);
        }
    }
}

/* All edges to the ops of one depth. */
static void tell_back(emp_relax *x, const uint32_t *devices, int32_t first, int32_t end)
{
    for (int32_t i = first; i < end; i++) {
        const emp_op_id       op = x->by_depth[i];
        const uint32_t        mask = emp_relax_devices_of(x, devices, op);
        const emp_bound_edge *last = emp_bound_first_edge(x->model, op + 1);
        for (const emp_bound_edge *e = emp_bound_first_edge(x->model, op); e < last; e++)
            for (int32_t d = 0; d < x->device_count; d++)
                if (emp_relax_devices_of(x, devices, e->from) >> d & 1u)
                    go_on(x, e, mask, d);
    }
}

static void find_tails(emp_relax *x, const uint32_t *devices)
{
    clear_turns(x);
    for (int32_t i = 0; i < x->run_count; i++) {
        x->after_ns[x->by_depth[i]] = 0;
        for (int32_t d = 0; d < x->device_count; d++)
            x->tail[x->by_depth[i]][d] = (emp_bound_tail){0};
    }
    for (int32_t end = x->run_count, first; end > 0; end = first) {
        const int32_t depth = x->depth[x->by_depth[end - 1]];
        for (first = end; first > 0 && x->depth[x->by_depth[first - 1]] == depth;)
            first--;
        finish_tails(x, devices, first, end);
        for (int32_t i = first; i < end && x->model->has_thread; i++)
            for (const emp_bound_edge *e = emp_bound_first_edge(x->model, x->by_depth[i]);
                 e < emp_bound_first_edge(x->model, x->by_depth[i] + 1); e++)
                find_afters(x, devices, e, 0, end);
        finish_tails(x, devices, first, end);
        tell_back(x, devices, first, end);
    }
}

void emp_relax_find_paths(emp_relax *x, const uint32_t *devices)
{
    find_heads(x, devices);
    find_tails(x, devices);
}
