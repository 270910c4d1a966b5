// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/exact/relax.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 6, GRID = 6 };

/* ---- set up ---- */

static bool is_gpu(const emp_relax *x, int32_t device)
{
    return x->model->problem->machine->device[device].kind == EMP_DEVICE_GPU;
}

static int32_t kind_of(const emp_relax *x, int32_t device)
{
    return (int32_t)x->model->problem->machine->device[device].kind;
}

static bool has_memory(const emp_relax *x, int32_t device)
{
    return x->model->memory_bytes[kind_of(x, device)] >= 0;
}

/* The variables of a class, its weight, and the devices that it may be on. */
static void describe_classes(emp_relax *x)
{
    const emp_graph *g = x->model->problem->graph;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        const emp_bound_op *o = &x->model->op[op];
        const int32_t       c = g->op[op].colocation_class;
        emp_time_ns         least = EMP_COST_LIMIT_NS;
        if (g->op[op].is_folded) continue;
        x->class_bytes[c] += o->bytes[EMP_DEVICE_CPU];
        for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
            if (emp_bound_may(o, k)) least = emp_time_sooner(least, o->run_ns[k]);
        x->class_weight[c] = emp_bound_add(x->class_weight[c], least + o->issue_ns);
        for (const emp_bound_edge *e = emp_bound_first_edge(x->model, op);
             e < emp_bound_first_edge(x->model, op + 1); e++)
            x->class_weight[c] = emp_bound_add(
                x->class_weight[c],
                emp_bound_delay_of(e, EMP_DEVICE_GPU, EMP_DEVICE_CPU, EMP_BOUND_ANY_TWO)
                        .after_told_ns /
                    4);
        for (int32_t d = 0; d < x->device_count; d++)
            if (emp_bound_may(o, kind_of(x, d))) x->first[c] |= 1u << d;
    }
}

static void drop_too_small(emp_relax *x)
{
    const emp_machine *m = x->model->problem->machine;

    for (int32_t c = 0; c < x->class_count; c++)
        for (int32_t d = 0; d < x->device_count; d++)
            if (has_memory(x, d) && x->class_bytes[c] > m->device[d].memory_bytes)
                x->first[c] &= ~(1u << d);
}

static bool is_before(const emp_relax *x, emp_op_id first, emp_op_id second)
{
    return x->before[(size_t)second * (size_t)x->words + (size_t)first / 64] >>
               ((uint32_t)first % 64u) &
           1u;
}

static void find_before(emp_relax *x)
{
    const emp_graph *g = x->model->problem->graph;
    const size_t     words = (size_t)x->words;

    for (int32_t i = 0; i < g->op_count; i++) {
        uint64_t             *row = x->before + (size_t)g->topo[i] * words;
        const emp_bound_edge *end = emp_bound_first_edge(x->model, g->topo[i] + 1);
        const emp_bound_edge *e = emp_bound_first_edge(x->model, g->topo[i]);
        for (; e < end; e++) {
            const uint64_t *from = x->before + (size_t)e->from * words;
            for (size_t w = 0; w < words; w++) row[w] |= from[w];
            row[(size_t)e->from / 64] |= UINT64_C(1) << ((uint32_t)e->from % 64u);
        }
    }
}

/* Whether an op is issued before what \a u makes is sent, both on one GPU: all that it waits for is told before u is,
 * or is the first output of u, whose readers there are told before any copy is sent. */
static bool is_beside(const emp_relax *x, emp_op_id u, emp_op_id op)
{
    const emp_graph      *g = x->model->problem->graph;
    const emp_bound_edge *end = emp_bound_first_edge(x->model, op + 1);

    if (op == u || g->op[op].is_folded || is_before(x, op, u)) return false;
    for (const emp_bound_edge *e = emp_bound_first_edge(x->model, op); e < end; e++) {
        if (e->from == u &&
            (e->tensor != g->output_offset[u] || e->is_on_host || e->is_read_on_host))
            return false;
        if (e->from != u && !is_before(x, e->from, u)) return false;
    }
    return true;
}

static void find_beside(emp_relax *x)
{
    const emp_graph   *g = x->model->problem->graph;
    const emp_runtime *rt = &x->model->problem->runtime;
    const size_t       words = (size_t)x->words;

    if (!x->model->has_thread || !rt->events.drain_copies || x->model->any_order) return;
    for (emp_op_id u = 0; u < g->op_count; u++) {
        if (g->op[u].is_folded || x->model->op[u].issue_ns == 0) continue;
        for (emp_op_id op = 0; op < g->op_count; op++)
            if (is_beside(x, u, op))
                x->beside[(size_t)u * words + (size_t)op / 64] |= UINT64_C(1)
                                                                  << ((uint32_t)op % 64u);
    }
}

/* Sorts the ops that run by depth, and there as in topological order. */
static emp_status order_by_depth(emp_relax *x, emp_error *err)
{
    const emp_graph *g = x->model->problem->graph;
    int32_t          most = 0, *start = NULL;

    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id       op = g->topo[i];
        const emp_bound_edge *end = emp_bound_first_edge(x->model, op + 1);
        for (const emp_bound_edge *e = emp_bound_first_edge(x->model, op); e < end; e++)
            if (x->depth[e->from] >= x->depth[op]) x->depth[op] = x->depth[e->from] + 1;
        if (x->depth[op] > most) most = x->depth[op];
        x->run_count += !g->op[op].is_folded;
    }
    EMP_CHECK(EMP_ALLOC(start, (size_t)most + 2));
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (!g->op[op].is_folded) start[x->depth[op] + 1]++;
    for (int32_t i = 0; i <= most; i++) start[i + 1] += start[i];
    for (int32_t i = 0; i < g->op_count; i++)
        if (!g->op[g->topo[i]].is_folded)
            x->by_depth[start[x->depth[g->topo[i]]]++] = g->topo[i];
    emp_free(start);
    return EMP_OK;
}

emp_status emp_relax_init(emp_relax *x, const emp_bound_model *model, emp_error *err)
{
    const emp_graph       *g = model->problem->graph;
    const size_t           ops = (size_t)g->op_count, classes = (size_t)g->class_count;
    typedef emp_bound_head heads[EMP_EXACT_DEVICES];
    typedef emp_bound_tail tails[EMP_EXACT_DEVICES];

    *x = (emp_relax){.model = model,
                     .device_count = model->problem->machine->device_count,
                     .class_count = g->class_count};
    x->head = EMP_ADD_ARRAY(&x->arrays, heads, ops);
    x->tail = EMP_ADD_ARRAY(&x->arrays, tails, ops);
    x->turn = EMP_ADD_ARRAY(&x->arrays, emp_turn, ops);
    x->heap = EMP_ADD_ARRAY(&x->arrays, int32_t, ops);
    x->first = EMP_ADD_ARRAY(&x->arrays, uint32_t, classes);
    x->class_bytes = EMP_ADD_ARRAY(&x->arrays, int64_t, classes);
    x->class_weight = EMP_ADD_ARRAY(&x->arrays, emp_time_ns, classes);
    x->words = (g->op_count + 63) / 64;
    x->before = EMP_ADD_ARRAY(&x->arrays, uint64_t, ops * (size_t)x->words);
    x->beside = EMP_ADD_ARRAY(&x->arrays, uint64_t, ops * (size_t)x->words);
    x->depth = EMP_ADD_ARRAY(&x->arrays, int32_t, ops);
    x->by_depth = EMP_ADD_ARRAY(&x->arrays, emp_op_id, ops);
    x->is_local = EMP_ADD_ARRAY(&x->arrays, bool, ops);
    x->drained_ns = EMP_ADD_ARRAY(&x->arrays, emp_time_ns, ops);
    x->sent_ns = EMP_ADD_ARRAY(&x->arrays, emp_time_ns, ops);
    x->after_ns = EMP_ADD_ARRAY(&x->arrays, emp_time_ns, ops);
    for (int32_t d = 0; d < x->device_count; d++) {
        for (int32_t r = EMP_BOUND_THREAD; r <= EMP_BOUND_STREAM; r++) {
            x->turns[d][r].op = EMP_ADD_ARRAY(&x->arrays, emp_op_id, ops);
            x->turns[d][r].from_ns = EMP_ADD_ARRAY(&x->arrays, emp_time_ns, ops);
            x->turns[d][r].work_ns = EMP_ADD_ARRAY(&x->arrays, emp_time_ns, ops);
        }
    }
    if (x->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "paths of %zu ops", ops);
    describe_classes(x);
    drop_too_small(x);
    find_before(x);
    find_beside(x);
    return order_by_depth(x, err);
}

void emp_relax_clear(emp_relax *x) { emp_arrays_clear(&x->arrays); }

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
        if (is_before(x, t->op[i], op))
            now_ns = emp_time_later(now_ns, t->from_ns[i]) + t->work_ns[i];
    return now_ns;
}

/* From the end, when those that depend on the op begin theirs. */
static emp_time_ns begin_after(const emp_relax *x, const emp_turns *t, emp_op_id op)
{
    emp_time_ns now_ns = 0;

    for (int32_t i = 0; i < t->count; i++)
        if (is_before(x, op, t->op[i]))
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
        if (t->op[i] == op || is_before(x, t->op[i], op) ||
            is_beside_now(x, op, t->op[i]))
            now_ns = emp_time_later(now_ns, t->from_ns[i]) + t->work_ns[i];
    return now_ns;
}

/* The time of a copy from when the kernels that it waits for are done; -1: there is no copy from the memory of a GPU for
 * sure. */
static emp_time_ns copying_ns(const emp_relax *x, const emp_bound_edge *edge,
                              int32_t from, int32_t to)
{
    if (emp_bound_is_control(edge) || edge->is_on_host || !is_gpu(x, from)) return -1;
    if (from == to && !edge->is_read_on_host) return -1;
    return emp_bound_delay_of(edge, kind_of(x, from), kind_of(x, to),
                              from == to ? EMP_BOUND_SAME : EMP_BOUND_APART)
        .after_done_ns;
}

/* ---- paths ---- */

static uint32_t devices_of(const emp_relax *x, const uint32_t *devices, emp_op_id op)
{
    const emp_op *o = &x->model->problem->graph->op[op];

    return o->is_folded ? 0 : devices[o->colocation_class];
}

static emp_bound_delay delay(const emp_relax *x, const emp_bound_edge *edge, int32_t from,
                             int32_t to)
{
    return emp_bound_delay_of(edge, kind_of(x, from), kind_of(x, to),
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
    const int32_t         kind = kind_of(x, d);
    emp_bound_head        head = {0};

    for (const emp_bound_edge *e = emp_bound_first_edge(x->model, op); e < end; e++)
        wait_for(x, e, devices_of(x, devices, e->from), d, &head);
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
    if (kind != EMP_DEVICE_GPU || devices_of(x, devices, op) != 1u << d) return;
    insert_turn(&x->turns[d][EMP_BOUND_THREAD], op, head.ready_ns,
                x->model->has_thread ? o->issue_ns : o->run_ns[kind]);
    if (x->model->has_thread)
        insert_turn(&x->turns[d][EMP_BOUND_STREAM], op,
                    emp_time_later(head.told_ns, head.queued_ns), o->run_ns[kind]);
}

static void finish_tail(emp_relax *x, emp_op_id op, int32_t d, bool is_fixed)
{
    const emp_bound_op *o = &x->model->op[op];
    const int32_t       kind = kind_of(x, d);
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
    const uint32_t        mask = devices_of(x, devices, op);
    const emp_bound_edge *end = emp_bound_first_edge(x->model, op + 1);

    if (mask == 0 || (mask & (mask - 1u)) != 0) return false;
    for (const emp_bound_edge *e = emp_bound_first_edge(x->model, op); e < end; e++)
        if (devices_of(x, devices, e->from) != mask ||
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
            if (devices_of(x, devices, x->by_depth[i]) >> d & 1u)
                find_head(x, devices, x->by_depth[i], d);
}

/* The kernels before the copies of those that are fixed to a GPU. */
static void find_drains(emp_relax *x, const uint32_t *devices, int32_t first, int32_t end)
{
    for (int32_t i = first; i < end; i++) {
        const emp_op_id op = x->by_depth[i];
        const uint32_t  mask = devices_of(x, devices, op);
        for (int32_t d = 0; d < x->device_count && x->model->has_thread; d++) {
            if (mask != 1u << d || !is_gpu(x, d)) continue;
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
    const uint32_t maker = devices_of(x, devices, edge->from);
    const uint32_t reader = devices_of(x, devices, edge->to);

    for (int32_t d = 0; d < x->device_count; d++) {
        for (int32_t to = 0; maker == 1u << d && to < x->device_count; to++) {
            const emp_time_ns copy_ns = copying_ns(x, edge, d, to);
            if (reader != 1u << to || copy_ns < 0) continue;
            const emp_time_ns after_ns =
                emp_bound_add(copy_ns, x->tail[edge->to][to].ready_ns);
            for (int32_t i = first; i < end; i++) {
                const emp_op_id op = x->by_depth[i];
                if (devices_of(x, devices, op) == maker &&
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
        const uint32_t  mask = devices_of(x, devices, op);
        for (int32_t d = 0; d < x->device_count; d++) {
            if (!(mask >> d & 1u)) continue;
            if (mask == 1u << d && is_gpu(x, d))
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
        const uint32_t        mask = devices_of(x, devices, op);
        const emp_bound_edge *last = emp_bound_first_edge(x->model, op + 1);
        for (const emp_bound_edge *e = emp_bound_first_edge(x->model, op); e < last; e++)
            for (int32_t d = 0; d < x->device_count; d++)
                if (devices_of(x, devices, e->from) >> d & 1u) go_on(x, e, mask, d);
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

/* Takes devices through which a path is too long. \return false if a class has none left. */
static bool drop_long_paths(emp_relax *x, uint32_t *devices, emp_time_ns target_ns,
                            bool *has_changed)
{
    const emp_graph *g = x->model->problem->graph;

    find_heads(x, devices);
    find_tails(x, devices);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        uint32_t *mask = &devices[g->op[op].colocation_class];
        if (g->op[op].is_folded) continue;
        for (int32_t d = 0; d < x->device_count; d++) {
            const emp_bound_head *head = &x->head[op][d];
            const emp_bound_tail *tail = &x->tail[op][d];
            if (!(*mask >> d & 1u)) continue;
            if (emp_bound_add(head->ready_ns, tail->ready_ns) <= target_ns &&
                emp_bound_add(head->queued_ns, tail->queued_ns) <= target_ns)
                continue;
            *mask &= ~(1u << d);
            *has_changed = true;
        }
        if (*mask == 0) return false;
    }
    return true;
}

/* ---- turns ---- */

static int compare_heads(const void *a, const void *b)
{
    const emp_turn *x = a, *y = b;

    if (x->head_ns != y->head_ns) return x->head_ns < y->head_ns ? -1 : 1;
    return 0;
}

static void sift_down(const emp_turn *turn, int32_t *heap, int32_t count)
{
    for (int32_t at = 0;;) {
        int32_t most = at;
        for (int32_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (turn[heap[child]].tail_ns > turn[heap[most]].tail_ns) most = child;
        if (most == at) return;
        const int32_t swap = heap[at];
        heap[at] = heap[most];
        heap[most] = swap;
        at = most;
    }
}

static void push(const emp_turn *turn, int32_t *heap, int32_t *count, int32_t one)
{
    int32_t at = (*count)++;

    for (; at > 0 && turn[heap[(at - 1) / 2]].tail_ns < turn[one].tail_ns;
         at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = one;
}

/* Jackson's preemptive schedule: of all who are there, the one with the longest tail goes on. */
static emp_time_ns shortest_schedule(emp_turn *turn, int32_t count, int32_t *heap)
{
    emp_time_ns now_ns = 0, longest_ns = 0;
    int32_t     next = 0, waiting = 0;

    qsort(turn, (size_t)count, sizeof *turn, compare_heads);
    while (next < count || waiting > 0) {
        if (waiting == 0) now_ns = emp_time_later(now_ns, turn[next].head_ns);
        while (next < count && turn[next].head_ns <= now_ns)
            push(turn, heap, &waiting, next++);
        emp_turn   *best = &turn[heap[0]];
        emp_time_ns end_ns = now_ns + best->work_ns;
        if (next < count) end_ns = emp_time_sooner(end_ns, turn[next].head_ns);
        best->work_ns -= end_ns - now_ns;
        now_ns = end_ns;
        if (best->work_ns > 0) continue;
        longest_ns = emp_time_later(longest_ns, now_ns + best->tail_ns);
        heap[0] = heap[--waiting];
        sift_down(turn, heap, waiting);
    }
    return longest_ns;
}

static emp_turn turn_of(const emp_relax *x, emp_op_id op, int32_t d, int32_t resource)
{
    const emp_bound_op   *o = &x->model->op[op];
    const emp_bound_head *head = &x->head[op][d];
    const emp_bound_tail *tail = &x->tail[op][d];

    if (resource == EMP_BOUND_CORES)
        return (emp_turn){head->ready_ns, o->core_ns, tail->told_ns};
    if (resource == EMP_BOUND_THREAD)
        return (emp_turn){head->ready_ns, o->issue_ns,
                          emp_time_later(tail->told_ns, tail->queued_ns)};
    return (emp_turn){x->model->has_thread
                          ? emp_time_later(head->told_ns, head->queued_ns)
                          : head->ready_ns,
                      o->run_ns[EMP_DEVICE_GPU], tail->done_ns};
}

/* Whether those who are on the device for sure can take turns there. */
static bool can_take_turns(const emp_relax *x, const uint32_t *devices, int32_t d,
                           int32_t resource, emp_time_ns target_ns)
{
    const emp_graph *g = x->model->problem->graph;
    int32_t          count = 0;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (devices_of(x, devices, op) != 1u << d) continue;
        const emp_turn turn = turn_of(x, op, d, resource);
        if (turn.work_ns > 0) x->turn[count++] = turn;
    }
    return shortest_schedule(x->turn, count, x->heap) <= target_ns;
}

/* ---- work ---- */

/* The share of an op's work that is in a window for sure. */
static double inside(emp_turn turn, double before, double after, bool is_whole)
{
    const double early = before - (double)turn.head_ns,
                 late = after - (double)turn.tail_ns;

    if (is_whole) return early <= 0.0 && late <= 0.0 ? (double)turn.work_ns : 0.0;
    return fmax(0.0, (double)turn.work_ns - fmax(0.0, early) - fmax(0.0, late));
}

/* Prices of GPUs' threads, their streams and cores, so that the capacity costs 1 a nanosecond. */
static double least_cost(const emp_relax *x, const uint32_t *devices, emp_op_id op,
                         const double *price, double before, double after)
{
    const uint32_t mask = devices_of(x, devices, op);
    double         least = INFINITY;

    for (int32_t d = 0; d < x->device_count; d++) {
        double cost = 0.0;
        if (!(mask >> d & 1u)) continue;
        for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
            if (price[r] > 0.0 && is_gpu(x, d) == (r != EMP_BOUND_CORES))
                cost += price[r] *
                        inside(turn_of(x, op, d, r), before, after, r == EMP_BOUND_CORES);
        least = fmin(least, cost);
    }
    return least < INFINITY ? least : 0.0;
}

static bool has_room(const emp_relax *x, const uint32_t *devices, const double *price,
                     emp_time_ns target_ns)
{
    const double target = (double)target_ns;

    for (int32_t i = 0; i < GRID * GRID; i++) {
        const double before = target * (i / GRID) / (2 * GRID);
        const double after = target * (i % GRID) / (2 * GRID);
        double       sum = 0.0;
        for (emp_op_id op = 0; op < x->model->problem->graph->op_count; op++)
            if (devices_of(x, devices, op) != 0)
                sum += least_cost(x, devices, op, price, before, after);
        if (before + after + sum * (1.0 - 1e-9) > target) return false;
    }
    return true;
}

/* Streams only, and streams with cores at the rate at which they do the same work. */
static bool can_share(const emp_relax *x, const uint32_t *devices, emp_time_ns target_ns)
{
    const double    *capacity = x->model->capacity;
    double           price[EMP_BOUND_RESOURCES] = {0}, gpu_ns = 0.0, core_ns = 0.0;
    const emp_graph *g = x->model->problem->graph;

    if (x->model->count[EMP_DEVICE_GPU] == 0) return true;
    price[EMP_BOUND_STREAM] = 1.0 / capacity[EMP_BOUND_STREAM];
    if (!has_room(x, devices, price, target_ns)) return false;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (devices_of(x, devices, op) == 0) continue;
        gpu_ns += (double)x->model->op[op].run_ns[EMP_DEVICE_GPU];
        core_ns += (double)x->model->op[op].core_ns;
    }
    const double rate = core_ns > 0.0 ? gpu_ns / core_ns : 0.0;
    const double sum = capacity[EMP_BOUND_STREAM] + rate * capacity[EMP_BOUND_CORES];
    price[EMP_BOUND_STREAM] = 1.0 / sum;
    price[EMP_BOUND_CORES] = rate / sum;
    return has_room(x, devices, price, target_ns);
}

static bool can_fit(const emp_relax *x, const uint32_t *devices)
{
    const emp_machine *m = x->model->problem->machine;
    int64_t            bytes[EMP_EXACT_DEVICES] = {0};

    for (int32_t c = 0; c < x->class_count; c++)
        for (int32_t d = 0; d < x->device_count; d++)
            if (devices[c] == 1u << d) bytes[d] += x->class_bytes[c];
    for (int32_t d = 0; d < x->device_count; d++)
        if (has_memory(x, d) && bytes[d] > m->device[d].memory_bytes) return false;
    return true;
}

bool emp_relax_propagate(emp_relax *x, uint32_t *devices, emp_time_ns target_ns)
{
    bool has_changed = true;

    if (!can_fit(x, devices)) return false;
    for (int32_t i = 0; i < ROUNDS && has_changed; i++) {
        has_changed = false;
        if (!drop_long_paths(x, devices, target_ns, &has_changed)) return false;
    }
    for (int32_t d = 0; d < x->device_count; d++) {
        if (!is_gpu(x, d)) continue;
        if (!can_take_turns(x, devices, d, EMP_BOUND_STREAM, target_ns)) return false;
        if (x->model->has_thread &&
            !can_take_turns(x, devices, d, EMP_BOUND_THREAD, target_ns))
            return false;
    }
    return can_share(x, devices, target_ns);
}
