// SPDX-License-Identifier: GPL-3.0-or-later
/* Lists the content of memory at some moments of a run, which is played again: persistent bytes are
 * known, buffers are asked of the simulator, and what is missing then are workspaces, of
 * ops in an order that is known, too. */
#include <string.h>

#include "base/mem.h"
#include "sim/engine/sim.h"
#include "sim/explain/explain_internal.h"
#include "sim/rules/rules.h"

struct observer {
    emp_explanation           *why;
    const emp_explain_moments *moments;
    const emp_problem         *problem;
    const emp_device_id       *device_of_op;
    const emp_sim             *sim;
    emp_explain_memory        *memory; /* that is being filled */
    int64_t                    change_count;
    bool                       is_strange;
    /* Ops with a workspace per device: in the order in which they get it; of a GPU with
     * a host thread newest first, of others oldest first. */
    int32_t  first[EMP_MAX_DEVICES], last[EMP_MAX_DEVICES];
    int32_t *next;  /* [op] */
    int32_t *parts; /* [op] that are still to run; 0 = it has ended */
};

/* ---- the first run ---- */

emp_status emp_explain_moments_init(emp_explain_moments *m, const emp_problem *problem,
                                    const emp_sim *sim, emp_error *err)
{
    const size_t ops = (size_t)problem->graph->op_count;

    *m = (emp_explain_moments){.problem = problem, .sim = sim, .oom_change = -1};
    memset(m->peak_change, -1, sizeof m->peak_change);
    EMP_CHECK(EMP_ALLOC(m->workspace_change, ops));
    return EMP_ALLOC(m->part_count, ops);
}

void emp_explain_moments_clear(emp_explain_moments *m)
{
    emp_free(m->workspace_change);
    emp_free(m->part_count);
    *m = (emp_explain_moments){0};
}

/* A workspace is the last thing that a kernel creates. */
void emp_explain_note_part(emp_explain_moments *m, emp_op_id op, emp_device_id device)
{
    m->part_count[op]++;
    if (emp_explain_has_host_thread(m->problem, device))
        m->workspace_change[op] = m->change_count - 1;
}

void emp_explain_note_change(emp_explain_moments *m, emp_device_id device)
{
    const emp_sim_live_memory now = emp_sim_live_get(m->sim, device);

    if (now.peak_bytes > m->peak_bytes[device]) {
        m->peak_bytes[device] = now.peak_bytes;
        m->peak_change[device] = m->change_count;
    }
    if (m->oom_change < 0 && now.is_out) m->oom_change = m->change_count;
    m->change_count++;
}

/* ---- the second run ---- */

static void add_buffer(emp_explain_memory *m, const emp_explain_buffer *buffer)
{
    int32_t at = m->largest_count;

    m->count++;
    m->held_bytes += buffer->bytes;
    m->kind_bytes[buffer->kind] += buffer->bytes;
    m->kind_count[buffer->kind]++;
    while (at > 0 && m->largest[at - 1].bytes < buffer->bytes) at--;
    if (at == EMP_EXPLAIN_LARGEST) {
        m->rest_bytes += buffer->bytes;
        return;
    }
    if (m->largest_count == EMP_EXPLAIN_LARGEST) {
        m->rest_bytes += m->largest[--m->largest_count].bytes;
    }
    memmove(&m->largest[at + 1], &m->largest[at],
            (size_t)(m->largest_count - at) * sizeof *m->largest);
    m->largest[at] = *buffer;
    m->largest_count++;
}

/* Variables are allocated first, in topological order; the moment may be among them. */
static void add_persistent(struct observer *o, emp_explain_memory *m, int64_t bytes)
{
    const emp_graph *g = o->problem->graph;

    for (int32_t i = 0; i < g->op_count && m->held_bytes < bytes; i++) {
        emp_op_id     id = g->topo[i];
        const emp_op *op = &g->op[id];
        if (op->is_folded || op->persistent_bytes == 0 ||
            o->device_of_op[id] != m->device)
            continue;
        add_buffer(m, &(emp_explain_buffer){emp_sim_round_up(op->persistent_bytes), id,
                                            -1, EMP_HELD_PERSISTENT});
    }
}

/* All activations of a step, if they are planned: in the buffer of the op that made it largest. */
static void add_planned(const struct observer *o, emp_explain_memory *m, int64_t bytes)
{
    const emp_plan_buffer *buffer = emp_sim_planned(o->sim, m->device);

    if (buffer == NULL || buffer->end == 0 || m->held_bytes >= bytes) return;
    add_buffer(
        m, &(emp_explain_buffer){buffer->end, buffer->peak_op, -1, EMP_HELD_ACTIVATION});
}

static void add_live(void *context, emp_tensor_id tensor, bool is_copy, int64_t bytes)
{
    struct observer *o = context;

    add_buffer(o->memory, &(emp_explain_buffer){
                              bytes, o->problem->graph->tensor[tensor].producer, tensor,
                              is_copy ? EMP_HELD_COPY : EMP_HELD_ACTIVATION});
}

static void add_workspaces(struct observer *o, emp_explain_memory *m, int64_t bytes)
{
    const emp_graph *g = o->problem->graph;

    for (int32_t op = o->first[m->device]; op >= 0 && m->held_bytes < bytes;
         op = o->next[op]) {
        if (o->parts[op] == 0 || o->moments->workspace_change[op] > o->change_count)
            continue;
        add_buffer(
            m, &(emp_explain_buffer){emp_sim_round_up(g->op[op].cost->workspace_bytes),
                                     op, -1, EMP_HELD_WORKSPACE});
    }
}

static void observe(struct observer *o, emp_explain_memory *m, emp_device_id device,
                    emp_time_ns at, int64_t bytes, int64_t counted_bytes)
{
    m->device = device;
    m->at_ns = at;
    m->bytes = counted_bytes;
    o->memory = m;
    add_persistent(o, m, bytes);
    add_planned(o, m, bytes);
    emp_sim_live_each(o->sim, device, add_live, o);
    add_workspaces(o, m, bytes);
    if (m->held_bytes != bytes) o->is_strange = true;
}

static void on_memory(void *context, emp_device_id device, emp_time_ns at, int64_t bytes)
{
    struct observer *o = context;

    if (o->change_count == o->moments->peak_change[device]) {
        observe(o, &o->why->device[device].peak, device, at, bytes,
                emp_sim_live_get(o->sim, device).peak_bytes);
    }
    if (o->change_count == o->moments->oom_change)
        observe(o, &o->why->oom, device, at, bytes, bytes);
    o->change_count++;
}

/* The op gets a workspace from now on, or when those before it have theirs. */
static void expect_workspace(struct observer *o, emp_op_id op, emp_device_id device)
{
    const emp_problem *p = o->problem;

    if (!p->runtime.events.workspace || p->graph->op[op].cost->workspace_bytes == 0)
        return;
    if (emp_explain_has_host_thread(p, device)) {
        o->next[op] = o->first[device];
        o->first[device] = op;
        return;
    }
    o->next[op] = -1;
    if (o->first[device] < 0) {
        o->first[device] = op;
    } else {
        o->next[o->last[device]] = op;
    }
    o->last[device] = op;
}

static void on_ready(void *context, emp_op_id op, emp_device_id device, emp_time_ns at)
{
    struct observer *o = context;

    (void)at;
    if (!emp_explain_has_host_thread(o->problem, device)) expect_workspace(o, op, device);
}

static void on_issue(void *context, emp_op_id op, emp_device_id device, emp_time_ns start,
                     emp_time_ns end)
{
    (void)start;
    (void)end;
    expect_workspace(context, op, device);
}

/* A part of the op has run. A kernel that is only queued keeps its workspace until its
 * end, and the newest of them have theirs. */
static void on_op(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                  emp_time_ns start, emp_time_ns end)
{
    struct observer   *o = context;
    const emp_problem *p = o->problem;
    bool               is_queued = emp_explain_has_host_thread(p, device) &&
                     !p->runtime.events.release_at_issue &&
                     p->graph->op[op].cost->kernels > 0;

    (void)lane;
    (void)start;
    (void)end;
    if (!is_queued) o->parts[op]--;
}

emp_status emp_explain_find_memory(emp_explanation *why, const emp_explain_moments *m,
                                   const emp_decision *decision, emp_sim *sim,
                                   emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_sim_result  result;
    size_t          ops = (size_t)m->problem->graph->op_count;
    struct observer o = {.why = why,
                         .moments = m,
                         .problem = m->problem,
                         .device_of_op = decision->device_of_op,
                         .sim = sim};
    emp_sim_trace   trace = {.context = &o,
                             .op = on_op,
                             .issue = on_issue,
                             .ready = on_ready,
                             .memory = on_memory};

    memset(o.first, -1, sizeof o.first);
    why->oom.device = -1;
    for (emp_device_id d = 0; d < EMP_MAX_DEVICES; d++) why->device[d].peak.device = -1;
    EMP_TRY(EMP_ALLOC(o.next, ops));
    EMP_TRY(EMP_ALLOC(o.parts, ops));
    memcpy(o.parts, m->part_count, ops * sizeof *o.parts);
    emp_sim_live_reset(sim);
    EMP_TRY(emp_sim_trace_decision(sim, decision, &trace, &result, err));
    if (o.is_strange) EMP_TRY(emp_explain_refuse(m->problem, err));

cleanup:
    emp_free(o.next);
    emp_free(o.parts);
    return st;
}
