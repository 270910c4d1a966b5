// SPDX-License-Identifier: GPL-3.0-or-later
/* What runs on GPUs, and what it waits for. */
#include "graphs/import/traces/kineto/step_internal.h"

/* What ends this long before a kernel begins may be what the kernel waited for. */
static const int64_t CAUSE_NS = 20000;

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

/* When nothing that is known holds it up any more: it was issued, the step has started, and its
 * predecessor of the step is done. What the step before has left on its stream is not known. */
static int64_t ready_at(const emp_splitter *s, int32_t before, int64_t issued_ns)
{
    int64_t ready_ns = issued_ns > s->start_ns ? issued_ns : s->start_ns;

    if (before >= 0 && s->node_of[before] >= 0 &&
        s->trace->event[before].end_ns > ready_ns)
        ready_ns = s->trace->event[before].end_ns;
    return ready_ns;
}

/* \a piece has started it, and was done with that at \a issued_ns. */
emp_status emp_splitter_add_activity(emp_splitter *s, int32_t event, int32_t piece,
                                     int64_t issued_ns, emp_error *err)
{
    const emp_kineto_event *e = &s->trace->event[event];
    int32_t before = s->activities.before[event], cause = -1, gate = piece, node = -1;
    int32_t op = s->step->parent[s->activities.call_of[event]];
    int64_t ready_ns = ready_at(s, before, issued_ns);
    emp_traced_node wait = {EMP_TRACED_WAIT, e->lane, event, op, 0, e->begin_ns};

    note_span(s, e);
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
                          e->end_ns - e->begin_ns + (is_wait ? 0 : lead_ns), e->end_ns},
        err));
    EMP_CHECK(emp_splitter_add_edge(s->step, gate, node, false, err));
    EMP_CHECK(wait_for(s, before, node, true, err));
    EMP_CHECK(wait_for(s, cause, node, false, err));
    s->node_of[event] = node;
    return EMP_OK;
}
