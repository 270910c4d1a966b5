// SPDX-License-Identifier: GPL-3.0-or-later
/* What runs on GPUs, and what it waits for. */
#include "graphs/import/traces/kineto/step_internal.h"

/* What ends this long before a kernel begins may be what the kernel waited for. */
static const int64_t CAUSE_NS = 20000;

/* What the steps before have left on the streams. */
void emp_splitter_find_backlogs(emp_splitter *s)
{
    s->backlog_ns = INT64_MAX;
    for (int32_t i = 0; i < s->trace->event_count; i++) {
        const emp_kineto_event *e = &s->trace->event[i];
        int32_t                 call = s->activities.call_of[i];
        emp_step_lane          *l = &s->lane[e->lane];
        if (call < 0 || l->backlog_ns >= 0 ||
            !emp_splitter_is_in(s, &s->trace->event[call]))
            continue;
        int64_t call_ns = s->trace->event[call].end_ns;
        int32_t before = s->activities.before[i];
        l->backlog_ns = before < 0 ? 0 : s->trace->event[before].end_ns - call_ns;
        if (l->backlog_ns < 0) l->backlog_ns = 0;
        if (l->backlog_ns < s->backlog_ns) s->backlog_ns = l->backlog_ns;
    }
    if (s->backlog_ns == INT64_MAX) s->backlog_ns = 0;
}

/* What ended just before \a event began, on another stream. */
static int32_t find_cause(const emp_splitter *s, int32_t event)
{
    const emp_kineto_event *e = &s->trace->event[event];
    const emp_activities   *a = &s->activities;
    int32_t                 low = 0, high = a->activity_count;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (s->trace->event[a->by_end[middle]].end_ns <= e->begin_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (int32_t i = low - 1; i >= 0 && i >= low - EMP_STEP_LOOK_BACK; i--) {
        const emp_kineto_event *other = &s->trace->event[a->by_end[i]];
        if (other->end_ns < e->begin_ns - CAUSE_NS) break;
        if (other->lane != e->lane && s->node_of[a->by_end[i]] >= 0) return a->by_end[i];
    }
    return -1;
}

/* An edge from what runs on a GPU, if it is of the step. */
static emp_status wait_for(emp_splitter *s, int32_t event, int32_t node,
                           bool is_stream_order, emp_error *err)
{
    return emp_splitter_add_edge(s->step, event < 0 ? -1 : s->node_of[event], node,
                                 is_stream_order, err);
}

static void note_span(emp_splitter *s, const emp_kineto_event *e)
{
    if (e->begin_ns < s->first_gpu_ns) s->first_gpu_ns = e->begin_ns;
    if (e->end_ns > s->last_gpu_ns) s->last_gpu_ns = e->end_ns;
    s->step->copy_count += e->kind != EMP_KINETO_KERNEL;
    s->step->kernel_count += e->kind == EMP_KINETO_KERNEL;
}

/* When the predecessor on its stream is done. The steps before are done when the first stream
 * is free for this one, and what they have left on others remains. */
static int64_t predecessor_end(const emp_splitter *s, int32_t event)
{
    int32_t before = s->activities.before[event];

    if (before < 0) return 0;
    if (s->node_of[before] >= 0) return s->trace->event[before].end_ns;
    return s->trace->event[before].end_ns -
           (s->lane[s->trace->event[event].lane].backlog_ns - s->backlog_ns);
}

/* \a piece has started it, and was done with that at \a issued_ns. */
emp_status emp_splitter_add_activity(emp_splitter *s, int32_t event, int32_t piece,
                                     int64_t issued_ns, emp_error *err)
{
    const emp_kineto_event *e = &s->trace->event[event];
    int32_t before = s->activities.before[event], cause = -1, gate = piece, node = -1;
    int32_t op = s->step->parent[s->activities.call_of[event]];
    int64_t ready_ns = issued_ns;
    emp_traced_node wait = {EMP_TRACED_WAIT, e->lane, event, op, 0};

    note_span(s, e);
    if (predecessor_end(s, event) > ready_ns) ready_ns = predecessor_end(s, event);
    if (e->begin_ns - ready_ns > EMP_STEP_LEAD_NS) cause = find_cause(s, event);
    if (cause >= 0) ready_ns = s->trace->event[cause].end_ns;
    int64_t lead_ns = e->begin_ns > ready_ns ? e->begin_ns - ready_ns : 0;
    bool    is_wait = lead_ns > EMP_STEP_LEAD_NS;

    if (is_wait) {
        wait.cost_ns = lead_ns;
        s->step->unexplained_ns += lead_ns;
        EMP_CHECK(emp_splitter_add_node(&gate, s->step, wait, err));
        EMP_CHECK(emp_splitter_add_edge(s->step, piece, gate, false, err));
        EMP_CHECK(wait_for(s, before, gate, false, err));
    }
    EMP_CHECK(emp_splitter_add_node(
        &node, s->step,
        (emp_traced_node){EMP_TRACED_GPU, e->lane, event, op,
                          e->end_ns - e->begin_ns + (is_wait ? 0 : lead_ns)},
        err));
    EMP_CHECK(emp_splitter_add_edge(s->step, gate, node, false, err));
    EMP_CHECK(wait_for(s, before, node, true, err));
    EMP_CHECK(wait_for(s, cause, node, false, err));
    s->node_of[event] = node;
    return EMP_OK;
}
