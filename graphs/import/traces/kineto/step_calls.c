// SPDX-License-Identifier: GPL-3.0-or-later
/* Calls of a GPU's runtime. */
#include <string.h>

#include "graphs/import/traces/kineto/step_internal.h"

enum { QUEUE_LEAST = 512, SLOW_CALL = 4 };

/* A call that copies has handed over its copy by then, if the copy waits for others. */
static const int64_t ISSUE_NS = 10000;

static bool copies(const emp_kineto_event *call)
{
    return strstr(call->name, "Memcpy") != NULL;
}

static bool may_synchronize(const emp_kineto_event *call)
{
    return strstr(call->name, "Synchronize") != NULL || copies(call) ||
           strcmp(call->name, "cudaFree") == 0 || strcmp(call->name, "hipFree") == 0;
}

int64_t emp_splitter_issue_end(const emp_splitter *s, int32_t event)
{
    int32_t                 count;
    const emp_kineto_event *call = &s->trace->event[event];
    const int32_t          *started = emp_activities_of(&s->activities, event, &count);
    int64_t                 end_ns = call->end_ns;

    for (int32_t i = 0; i < count; i++) {
        const emp_kineto_event *e = &s->trace->event[started[i]];
        int32_t                 before = s->activities.before[started[i]];
        int64_t begin_ns = e->begin_ns > call->begin_ns ? e->begin_ns : call->begin_ns;
        if (begin_ns < end_ns) end_ns = begin_ns;
        if (before < 0 || !copies(call) || e->begin_ns > call->end_ns) continue;
        if (s->trace->event[before].end_ns > call->begin_ns + ISSUE_NS &&
            end_ns > call->begin_ns + ISSUE_NS)
            end_ns = call->begin_ns + ISSUE_NS;
    }
    return end_ns;
}

/* What a call has waited for: the last that ended while it ran, of what was started before and,
 * if it copies, of its own copies. -1 = nothing. */
static int32_t find_awaited(const emp_splitter *s, int32_t call, int64_t issued_ns)
{
    const emp_kineto_event *c = &s->trace->event[call];
    const emp_activities   *a = &s->activities;
    int32_t                 low = 0, high = a->activity_count;

    if (!may_synchronize(c)) return -1;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (s->trace->event[a->by_end[middle]].end_ns <= c->end_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (int32_t i = low - 1; i >= 0 && i >= low - EMP_STEP_LOOK_BACK; i--) {
        if (s->trace->event[a->by_end[i]].end_ns <= issued_ns) break;
        if (s->node_of[a->by_end[i]] < 0) continue;
        if (!copies(c) || a->call_of[a->by_end[i]] == call) return a->by_end[i];
    }
    return -1;
}

/* A queue of launches has room for some thousand. Whether a call has waited for room: it took
 * long, and much of what was started before on the stream had not ended. */
static bool has_waited_for_room(const emp_splitter *s, const emp_kineto_event *call,
                                int32_t started)
{
    if (call->end_ns - call->begin_ns < SLOW_CALL * s->usual_call_ns) return false;
    for (int32_t i = 0; i < QUEUE_LEAST; i++) {
        started = s->activities.before[started];
        if (started < 0 || s->trace->event[started].end_ns <= call->begin_ns)
            return false;
    }
    return true;
}

/* The one whose end made room. -1 = it is not of the step. */
static int32_t find_room(const emp_splitter *s, const emp_kineto_event *call,
                         int32_t started)
{
    while (started >= 0 && s->trace->event[started].end_ns > call->end_ns)
        started = s->activities.before[started];
    return started < 0 ? -1 : s->node_of[started];
}

/* The thread goes on shortly before the end of the call. */
static emp_status wait_for_room(emp_splitter *s, const emp_step_moment *m,
                                int32_t started, emp_error *err)
{
    const emp_kineto_event *call = &s->trace->event[m->event];
    emp_step_lane          *l = &s->lane[m->lane];
    int64_t                 room_ns = call->end_ns - s->usual_call_ns;
    int32_t                 node = find_room(s, call, started);

    if (node < 0) {
        /* the step before has left the queue full: none of this step's business */
        l->at_ns += room_ns - call->begin_ns;
        return EMP_OK;
    }
    if (l->at_ns < call->begin_ns)
        EMP_CHECK(emp_splitter_cut(s, m->lane, call->begin_ns, -1, err));
    return emp_splitter_resume(s, m->lane, room_ns, node, err);
}

emp_status emp_splitter_at_call(emp_splitter *s, const emp_step_moment *m, emp_error *err)
{
    const emp_kineto_event *call = &s->trace->event[m->event];
    int32_t                 count;
    const int32_t          *started = emp_activities_of(&s->activities, m->event, &count);
    int64_t                 issued_ns = call->begin_ns;

    if (count > 0) {
        issued_ns = emp_splitter_issue_end(s, m->event);
        if (has_waited_for_room(s, call, started[0]))
            EMP_CHECK(wait_for_room(s, m, started[0], err));
        EMP_CHECK(emp_splitter_cut(s, m->lane, issued_ns, m->event, err));
        int32_t piece = s->lane[m->lane].last;
        for (int32_t i = 0; i < count; i++)
            EMP_CHECK(emp_splitter_add_activity(s, started[i], piece, issued_ns, err));
    }
    int32_t awaited = find_awaited(s, m->event, issued_ns);
    if (awaited < 0) return EMP_OK;
    if (s->lane[m->lane].at_ns < issued_ns)
        EMP_CHECK(emp_splitter_cut(s, m->lane, issued_ns, m->event, err));
    return emp_splitter_resume(s, m->lane, s->trace->event[awaited].end_ns,
                               s->node_of[awaited], err);
}
