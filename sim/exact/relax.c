// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/exact/relax.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 6, GRID = 6 };

/* ---- set up ---- */

static bool has_memory(const emp_relax *x, int32_t device)
{
    return x->model->memory_bytes[emp_relax_kind(x, device)] >= 0;
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
            if (emp_bound_may(o, emp_relax_kind(x, d))) x->first[c] |= 1u << d;
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

    if (op == u || g->op[op].is_folded || emp_relax_is_before(x, op, u)) return false;
    for (const emp_bound_edge *e = emp_bound_first_edge(x->model, op); e < end; e++) {
        if (e->from == u &&
            (e->tensor != g->output_offset[u] || e->is_on_host || e->is_read_on_host))
            return false;
        if (e->from != u && !emp_relax_is_before(x, e->from, u)) return false;
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

/* ---- paths ---- */

/* Takes devices through which a path is too long. \return false if a class has none left. */
static bool drop_long_paths(emp_relax *x, uint32_t *devices, emp_time_ns target_ns,
                            bool *has_changed)
{
    const emp_graph *g = x->model->problem->graph;

    emp_relax_find_paths(x, devices);
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
        if (emp_relax_devices_of(x, devices, op) != 1u << d) continue;
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
    const uint32_t mask = emp_relax_devices_of(x, devices, op);
    double         least = INFINITY;

    for (int32_t d = 0; d < x->device_count; d++) {
        double cost = 0.0;
        if (!(mask >> d & 1u)) continue;
        for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
            if (price[r] > 0.0 && emp_relax_is_gpu(x, d) == (r != EMP_BOUND_CORES))
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
            if (emp_relax_devices_of(x, devices, op) != 0)
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
        if (emp_relax_devices_of(x, devices, op) == 0) continue;
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
        if (!emp_relax_is_gpu(x, d)) continue;
        if (!can_take_turns(x, devices, d, EMP_BOUND_STREAM, target_ns)) return false;
        if (x->model->has_thread &&
            !can_take_turns(x, devices, d, EMP_BOUND_THREAD, target_ns))
            return false;
    }
    return can_share(x, devices, target_ns);
}
