// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/branch_bound.h"

#undef NDEBUG
#include <assert.h>

#include "base/mem.h"

enum { GRANULE = 256, NOWHERE = -1 };

typedef struct {
    emp_time_ns told_ns, done_ns;
} ends;

typedef struct {
    const emp_problem  *problem;
    emp_sim            *sim;
    emp_device_id      *device_of_class; /**< NOWHERE = not yet placed */
    emp_device_id      *device_of_op;
    int32_t            *order; /**< classes with ops that run, by their work */
    int32_t             depth_count;
    ends               *end; /**< [op] */
    int64_t             limit;
    branch_bound_result result;
} tree;

/* ---- what ops take ---- */

static bool is_gpu(const tree *t, emp_device_id d)
{
    return t->problem->machine->device[d].kind == EMP_DEVICE_GPU;
}

static bool may_be_on(const tree *t, int32_t class, emp_device_id d)
{
    return t->problem->kinds_of_class[class] >> t->problem->machine->device[d].kind & 1u;
}

static emp_time_ns kernels_ns(const tree *t, emp_op_id op, emp_device_id d)
{
    const emp_cost_table *c = t->problem->costs;
    bool                  is_kernelless = t->problem->runtime.events.serial_issue &&
                         t->problem->graph->op[op].cost->kernels == 0;

    return is_kernelless ? 0 : c->gpu[emp_cost_row(c, d, op)].compute_ns;
}

/* On a pool an op ends no sooner than its shortest task; without, it has all its lanes. */
static emp_time_ns cpu_ns(const tree *t, emp_op_id op, emp_device_id d)
{
    const emp_cost_table *c = t->problem->costs;
    size_t                row = emp_cost_row(c, d, op);
    emp_time_ns           least_ns = c->cpu[row].compute_ns;

    if (!t->problem->runtime.events.cpu_pool) return least_ns;
    for (int32_t i = c->cpu_offset[row]; i < c->cpu_offset[row] + c->cpu[row].lanes; i++)
        if (c->task_ns[i] < least_ns) least_ns = c->task_ns[i];
    return least_ns;
}

/* From ready to told, and to done. */
static ends duration(const tree *t, emp_op_id op, emp_device_id d)
{
    const emp_cost_table *c = t->problem->costs;
    emp_time_ns           run_ns = is_gpu(t, d) ? kernels_ns(t, op, d) : cpu_ns(t, op, d);

    if (!is_gpu(t, d) || !t->problem->runtime.events.serial_issue)
        return (ends){run_ns, run_ns};
    emp_time_ns issue_ns = c->gpu[emp_cost_row(c, d, op)].issue_ns;
    return (ends){issue_ns, issue_ns + run_ns};
}

/* ---- what edges take ---- */

static emp_device_id memory_of(const tree *t, emp_device_id d, bool is_on_host)
{
    return is_gpu(t, d) && is_on_host ? t->problem->machine->device[d].host : d;
}

/* From told, and from done, until the tensor is where it is read. The rate is rounded in
 * the copy's favour. */
static ends copy_ns(const tree *t, const emp_tensor *tensor, emp_device_id home,
                    emp_device_id reads_in)
{
    const emp_runtime *rt = &t->problem->runtime;
    const emp_route   *route = &t->problem->machine->route[home][reads_in];
    double             bytes_ns = (double)tensor->copy_bytes * 1e9 / route->bytes_per_s;
    emp_time_ns        ns = emp_ns_of_seconds(route->latency_s) +
                     emp_ns_of_seconds(rt->events.poll_s) +
                     emp_ns_of_seconds(rt->events.receive_s);

    if (bytes_ns > 1.0) ns += (emp_time_ns)(bytes_ns - 1.0);
    return (ends){emp_ns_of_seconds(rt->events.send_s) + ns, is_gpu(t, home) ? ns : -1};
}

/* When input number i lets an op on device d, or NOWHERE, be ready. */
static emp_time_ns arrival_ns(const tree *t, emp_op_id op, int32_t i, emp_device_id d)
{
    const emp_graph  *g = t->problem->graph;
    const emp_tensor *tensor = &g->tensor[g->input[g->input_offset[op] + i]];
    const ends       *end = &t->end[tensor->producer];
    emp_device_id     from = t->device_of_class[g->op[tensor->producer].colocation_class];
    emp_time_ns       arrival = end->told_ns;

    if (from == NOWHERE || d == NOWHERE) return arrival;
    bool          is_read_on_host = g->op[op].host_input_mask >> (i < 31 ? i : 31) & 1u;
    emp_device_id home = memory_of(t, from, tensor->on_host);
    emp_device_id reads_in = memory_of(t, d, is_read_on_host);
    if (home == reads_in) return arrival;
    ends copy = copy_ns(t, tensor, home, reads_in);
    arrival += copy.told_ns;
    if (copy.done_ns >= 0 && end->done_ns + copy.done_ns > arrival)
        arrival = end->done_ns + copy.done_ns;
    return arrival;
}

/* ---- the bound ---- */

static void find_end(tree *t, emp_op_id op)
{
    const emp_graph *g = t->problem->graph;
    const int32_t class = g->op[op].colocation_class;
    emp_device_id d = t->device_of_class[class];
    emp_time_ns   ready_ns = 0;
    ends          least = {EMP_COST_LIMIT_NS, EMP_COST_LIMIT_NS};

    for (int32_t i = 0; i < g->input_offset[op + 1] - g->input_offset[op]; i++) {
        emp_op_id from = g->tensor[g->input[g->input_offset[op] + i]].producer;
        if (g->op[from].is_folded) continue;
        emp_time_ns arrival = arrival_ns(t, op, i, d);
        if (arrival > ready_ns) ready_ns = arrival;
    }
    for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++)
        if (!g->op[g->control[i]].is_folded && t->end[g->control[i]].told_ns > ready_ns)
            ready_ns = t->end[g->control[i]].told_ns;
    for (emp_device_id on = 0; on < t->problem->machine->device_count; on++) {
        if (d == NOWHERE ? !may_be_on(t, class, on) : d != on) continue;
        ends o = duration(t, op, on);
        if (o.told_ns < least.told_ns) least.told_ns = o.told_ns;
        if (o.done_ns < least.done_ns) least.done_ns = o.done_ns;
    }
    t->end[op] = (ends){ready_ns + least.told_ns, ready_ns + least.done_ns};
}

/* Kernels of one GPU, or tasks of one host thread, come one after the other. */
static emp_time_ns busiest_ns(const tree *t)
{
    const emp_graph      *g = t->problem->graph;
    const emp_cost_table *c = t->problem->costs;
    emp_time_ns thread_ns[EMP_MAX_DEVICES] = {0}, stream_ns[EMP_MAX_DEVICES] = {0},
                most = 0;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        emp_device_id d = t->device_of_class[g->op[op].colocation_class];
        if (g->op[op].is_folded || d == NOWHERE || !is_gpu(t, d)) continue;
        stream_ns[d] += kernels_ns(t, op, d);
        if (t->problem->runtime.events.serial_issue)
            thread_ns[d] += c->gpu[emp_cost_row(c, d, op)].issue_ns;
        if (stream_ns[d] > most) most = stream_ns[d];
        if (thread_ns[d] > most) most = thread_ns[d];
    }
    return most;
}

static emp_time_ns bound_ns(tree *t)
{
    const emp_graph *g = t->problem->graph;
    emp_time_ns      most = busiest_ns(t);

    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id op = g->topo[i];
        if (g->op[op].is_folded) continue;
        find_end(t, op);
        if (t->end[op].told_ns > most) most = t->end[op].told_ns;
        if (t->end[op].done_ns > most) most = t->end[op].done_ns;
    }
    return most + emp_ns_of_seconds(t->problem->runtime.events.step_s);
}

/* Variables are there from the start. */
static bool may_fit(const tree *t)
{
    const emp_graph *g = t->problem->graph;
    int64_t          bytes[EMP_MAX_DEVICES] = {0};

    if (!t->problem->runtime.check_memory) return true;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        emp_device_id d = t->device_of_class[g->op[op].colocation_class];
        if (g->op[op].is_folded || d == NOWHERE) continue;
        bytes[d] += (g->op[op].persistent_bytes + GRANULE - 1) / GRANULE * GRANULE;
        if (bytes[d] > t->problem->machine->device[d].memory_bytes) return false;
    }
    return true;
}

/* ---- the tree ---- */

static void score(tree *t)
{
    const emp_graph *g = t->problem->graph;
    emp_sim_result   r;

    if (t->result.steps == t->limit) {
        t->result.is_exact = false;
        return;
    }
    t->result.steps++;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        emp_device_id d = t->device_of_class[g->op[op].colocation_class];
        t->device_of_op[op] = d == NOWHERE ? 0 : d;
    }
    emp_status st = emp_sim_run(t->sim, t->device_of_op, &r, NULL);
    assert(st == EMP_OK);
    if (r.is_feasible && (t->result.best_ns < 0 || r.step_time_ns < t->result.best_ns))
        t->result.best_ns = r.step_time_ns;
}

static bool is_hopeless(const tree *t, emp_time_ns least_ns)
{
    return !t->result.is_exact ||
           (t->result.best_ns >= 0 && least_ns >= t->result.best_ns);
}

/* The most promising device first. */
static void branch(tree *t, int32_t depth)
{
    emp_time_ns least_ns[EMP_MAX_DEVICES];
    int32_t     choice[EMP_MAX_DEVICES], count = 0;

    if (depth == t->depth_count) {
        score(t);
        return;
    }
    const int32_t class = t->order[depth];
    for (emp_device_id d = 0; d < t->problem->machine->device_count; d++) {
        int32_t at = count;
        if (!may_be_on(t, class, d)) continue;
        t->device_of_class[class] = d;
        if (!may_fit(t)) continue;
        least_ns[d] = bound_ns(t);
        for (; at > 0 && least_ns[choice[at - 1]] > least_ns[d]; at--)
            choice[at] = choice[at - 1];
        choice[at] = d;
        count++;
    }
    for (int32_t i = 0; i < count && !is_hopeless(t, least_ns[choice[i]]); i++) {
        t->device_of_class[class] = choice[i];
        branch(t, depth + 1);
    }
    t->device_of_class[class] = NOWHERE;
}

/* The most important classes are placed first. */
static void order_classes(tree *t)
{
    const emp_graph *g = t->problem->graph;
    emp_time_ns     *work_ns = EMP_NEW_ARRAY(emp_time_ns, (size_t)g->class_count);
    bool            *runs = EMP_NEW_ARRAY(bool, (size_t)g->class_count);

    assert(work_ns != NULL && runs != NULL);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const int32_t class = g->op[op].colocation_class;
        if (g->op[op].is_folded) continue;
        runs[class] = true;
        for (emp_device_id d = 0; d < t->problem->machine->device_count; d++)
            work_ns[class] += duration(t, op, d).done_ns;
    }
    for (int32_t c = 0; c < g->class_count; c++) {
        int32_t at = t->depth_count;
        if (!runs[c]) continue;
        for (; at > 0 && work_ns[t->order[at - 1]] < work_ns[c]; at--)
            t->order[at] = t->order[at - 1];
        t->order[at] = c;
        t->depth_count++;
    }
    emp_free(work_ns);
    emp_free(runs);
}

branch_bound_result branch_bound_solve(const emp_problem *problem, int64_t limit)
{
    const size_t ops = (size_t)problem->graph->op_count;
    const size_t classes = (size_t)problem->graph->class_count;
    tree         t = {.problem = problem,
                      .device_of_class = EMP_NEW_ARRAY(emp_device_id, classes),
                      .device_of_op = EMP_NEW_ARRAY(emp_device_id, ops),
                      .order = EMP_NEW_ARRAY(int32_t, classes),
                      .end = EMP_NEW_ARRAY(ends, ops),
                      .limit = limit,
                      .result = {.best_ns = -1, .is_exact = true}};

    assert(problem->runtime.rules == EMP_RULES_EVENTS);
    assert(t.device_of_class && t.device_of_op && t.order && t.end);
    emp_status st = emp_sim_create(&t.sim, problem, NULL);
    assert(st == EMP_OK);
    for (size_t c = 0; c < classes; c++) t.device_of_class[c] = NOWHERE;
    order_classes(&t);
    branch(&t, 0);
    emp_sim_destroy(t.sim);
    emp_free(t.device_of_class);
    emp_free(t.device_of_op);
    emp_free(t.order);
    emp_free(t.end);
    return t.result;
}
