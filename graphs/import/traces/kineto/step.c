// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/traces/kineto/step.h"

#include "base/mem.h"
#include "graphs/import/traces/kineto/step_internal.h"

/* A thread starts when the main one, or the one that it waits for, is there. */
static emp_status at_resume(emp_splitter *s, const emp_step_moment *m, emp_error *err)
{
    int32_t        main = s->step->main_lane, anchor = main;
    emp_step_lane *l = &s->lane[m->lane];

    if (s->lane[main].waits_for >= 0 && s->lane[main].waits_for != m->lane)
        anchor = s->lane[main].waits_for;
    if (s->lane[anchor].last < 0 || s->lane[anchor].at_ns < m->time_ns)
        EMP_CHECK(emp_splitter_cut(s, anchor, m->time_ns, -1, err));
    l->at_ns = m->time_ns;
    EMP_CHECK(emp_splitter_resume(s, m->lane, m->time_ns, s->lane[anchor].last, err));
    if (m->is_joined && anchor == main) s->lane[main].waits_for = m->lane;
    return EMP_OK;
}

static emp_status at_pause(emp_splitter *s, const emp_step_moment *m, emp_error *err)
{
    int32_t main = s->step->main_lane;

    EMP_CHECK(emp_splitter_cut(s, m->lane, m->time_ns, -1, err));
    if (s->lane[main].waits_for != m->lane) return EMP_OK;
    s->lane[main].waits_for = -1;
    return emp_splitter_resume(s, main, m->time_ns, s->lane[m->lane].last, err);
}

static emp_status sweep(emp_splitter *s, emp_error *err)
{
    for (int32_t i = 0; i < s->moment_count; i++) {
        const emp_step_moment *m = &s->moment[i];
        switch (m->kind) {
        case MOMENT_PAUSE: EMP_CHECK(at_pause(s, m, err)); break;
        case MOMENT_RESUME: EMP_CHECK(at_resume(s, m, err)); break;
        case MOMENT_CALL: EMP_CHECK(emp_splitter_at_call(s, m, err)); break;
        case MOMENT_OP_END:
            EMP_CHECK(emp_splitter_cut(s, m->lane, m->time_ns, m->event, err));
            break;
        }
    }
    return emp_splitter_cut(s, s->step->main_lane, s->step->end_ns, -1, err);
}

/* The operator around each event of a thread. */
static emp_status find_parents(emp_splitter *s, emp_error *err)
{
    int32_t *top = NULL; /* [lane] innermost operator that is open */

    EMP_CHECK(EMP_ALLOC(s->step->parent, (size_t)s->trace->event_count));
    EMP_CHECK(EMP_ALLOC(top, (size_t)s->trace->lane_count));
    for (int32_t i = 0; i < s->trace->lane_count; i++) top[i] = -1;
    for (int32_t i = 0; i < s->trace->event_count; i++) {
        const emp_kineto_event *e = &s->trace->event[i];
        int32_t                *t = &top[e->lane];
        while (*t >= 0 && s->trace->event[*t].end_ns <= e->begin_ns)
            *t = s->step->parent[*t];
        s->step->parent[i] = *t;
        if (e->kind == EMP_KINETO_OP) *t = i;
    }
    emp_free(top);
    return EMP_OK;
}

static emp_status prepare(emp_splitter *s, emp_error *err)
{
    EMP_CHECK(EMP_ALLOC(s->lane, (size_t)s->trace->lane_count));
    EMP_CHECK(EMP_ALLOC(s->node_of, (size_t)s->trace->event_count));
    for (int32_t i = 0; i < s->trace->lane_count; i++)
        s->lane[i] = (emp_step_lane){.last = -1, .waits_for = -1};
    for (int32_t i = 0; i < s->trace->event_count; i++) s->node_of[i] = -1;
    s->lane[s->step->main_lane].at_ns = s->step->begin_ns;
    s->first_gpu_ns = INT64_MAX;
    return find_parents(s, err);
}

static void measure(emp_splitter *s)
{
    emp_traced_step *step = s->step;

    step->measured_ns = step->end_ns - step->begin_ns;
    if (s->last_gpu_ns - s->start_ns > step->measured_ns)
        step->measured_ns = s->last_gpu_ns - s->start_ns;
    if (s->last_gpu_ns > 0) step->gpu_span_ns = s->last_gpu_ns - s->first_gpu_ns;
}

emp_status emp_step_read(emp_traced_step *step, const emp_kineto *trace, int64_t number,
                         emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_splitter s = {.step = step, .trace = trace};

    *step = (emp_traced_step){0};
    EMP_TRY(emp_activities_find(&s.activities, trace, err));
    EMP_TRY(emp_window_choose(step, trace, &s.activities, number, err));
    EMP_TRY(prepare(&s, err));
    emp_splitter_find_start(&s);
    EMP_TRY(emp_splitter_find_moments(&s, err));
    EMP_TRY(sweep(&s, err));
    EMP_TRY(emp_splitter_run_ahead(&s, err));
    measure(&s);

cleanup:
    emp_activities_clear(&s.activities);
    emp_free(s.lane);
    emp_free(s.moment);
    emp_free(s.node_of);
    return st;
}

void emp_step_clear(emp_traced_step *step)
{
    emp_free(step->node);
    emp_free(step->edge);
    emp_free(step->parent);
    *step = (emp_traced_step){0};
}

/* ---- pieces ---- */

emp_status emp_splitter_add_node(int32_t *out, emp_traced_step *step,
                                 emp_traced_node node, emp_error *err)
{
    EMP_CHECK(EMP_GROW(step->node, step->node_count + 1, step->node_capacity));
    *out = step->node_count;
    step->node[step->node_count++] = node;
    return EMP_OK;
}

/* \a from -1 is no edge. */
emp_status emp_splitter_add_edge(emp_traced_step *step, int32_t from, int32_t to,
                                 bool is_stream_order, emp_error *err)
{
    if (from < 0) return EMP_OK;
    EMP_CHECK(EMP_GROW(step->edge, step->edge_count + 1, step->edge_capacity));
    step->edge[step->edge_count++] = (emp_traced_edge){from, to, is_stream_order};
    return EMP_OK;
}

/* ---- threads ---- */

/* The piece of a thread up to a moment, which \a event ends. */
emp_status emp_splitter_cut(emp_splitter *s, int32_t lane, int64_t time_ns, int32_t event,
                            emp_error *err)
{
    emp_step_lane *l = &s->lane[lane];
    int32_t        op = event < 0 ? -1 : s->step->parent[event], node = -1;
    int64_t        end_ns = time_ns > l->at_ns ? time_ns : l->at_ns;

    EMP_CHECK(emp_splitter_add_node(
        &node, s->step,
        (emp_traced_node){EMP_TRACED_HOST, lane, event, op, end_ns - l->at_ns, end_ns},
        err));
    EMP_CHECK(emp_splitter_add_edge(s->step, l->last, node, false, err));
    for (int32_t i = 0; i < l->pending_count; i++)
        EMP_CHECK(emp_splitter_add_edge(s->step, l->pending[i], node, false, err));
    l->pending_count = 0;
    l->at_ns = end_ns;
    l->last = node;
    return EMP_OK;
}

/* The thread goes on at a moment, when \a node is done. */
emp_status emp_splitter_resume(emp_splitter *s, int32_t lane, int64_t time_ns,
                               int32_t node, emp_error *err)
{
    emp_step_lane *l = &s->lane[lane];

    if (l->pending_count == EMP_STEP_PENDING_MAX)
        EMP_CHECK(emp_splitter_cut(s, lane, l->at_ns, -1, err));
    if (time_ns > l->at_ns) l->at_ns = time_ns;
    l->pending[l->pending_count++] = node;
    return EMP_OK;
}
