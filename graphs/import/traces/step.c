// SPDX-License-Identifier: GPL-3.0-or-later
/* Takes a step apart: a sweep over its moments in the order of time, each thread as far as it has come. */

#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "graphs/import/traces/kineto.h"

enum { PENDING_MAX = 8, LOOK_BACK = 64 };

/* The kinds of events; simultaneous ones come in this order. */
typedef enum { MOMENT_PAUSE, MOMENT_RESUME, MOMENT_CALL, MOMENT_OP_END } step_moment_kind;

typedef struct {
    int64_t          time_ns;
    step_moment_kind kind;
    int32_t          lane;
    int32_t          event;     /* of MOMENT_CALL and MOMENT_OP_END */
    bool             is_joined; /* the main thread waits meanwhile */
} step_moment;

/* A thread, as far as it has come; or a stream. */
typedef struct {
    int64_t at_ns;
    int32_t last;                 /* node; -1 = none */
    int32_t waits_for;            /* lane; -1 = none */
    int32_t pending[PENDING_MAX]; /* nodes that its next piece waits for */
    int32_t pending_count;
    int64_t busy_until_ns;  /* of a thread: end of its operators and calls so far */
    int32_t activity_count; /* of a stream: kernels, copies and memsets of the step */
} step_lane;

typedef struct {
    emp_traced_step  *step;
    const emp_kineto *trace;
    emp_activities    activities;
    step_lane        *lane;
    step_moment      *moment;
    int32_t           moment_count;
    int32_t          *node_of; /* [event] of what runs on GPUs; -1 = none */
    int64_t           first_gpu_ns, last_gpu_ns;
    int32_t           main_stream;  /* lane with the most activities; -1 = none */
    int64_t           last_main_ns; /* the end of the last one there */
    int64_t start_ns;      /* the main stream is free, and has been given something */
    int64_t usual_call_ns; /* median of the calls that start something */
    bool    has_activities;
} splitter;

/* ---- pieces ---- */

static emp_status splitter_add_node(int32_t *out, emp_traced_step *step,
                                    emp_traced_node node, emp_error *err)
{
    EMP_CHECK(EMP_GROW(step->node, step->node_count + 1, step->node_capacity));
    *out = step->node_count;
    step->node[step->node_count++] = node;
    return EMP_OK;
}

/* from -1 is no edge. */
static emp_status splitter_add_edge(emp_traced_step *step, int32_t from, int32_t to,
                                    bool is_stream_order, emp_error *err)
{
    if (from < 0) return EMP_OK;
    EMP_CHECK(EMP_GROW(step->edge, step->edge_count + 1, step->edge_capacity));
    step->edge[step->edge_count++] = (emp_traced_edge){from, to, is_stream_order};
    return EMP_OK;
}

/* ---- threads ---- */

/* The piece of a thread up to a moment, which \a event ends. */
static emp_status splitter_cut(splitter *s, int32_t lane, int64_t time_ns, int32_t event,
                               emp_error *err)
{
    step_lane *l = &s->lane[lane];
    int32_t    op = event < 0 ? -1 : s->step->parent[event], node = -1;
    int64_t    end_ns = time_ns > l->at_ns ? time_ns : l->at_ns;

    EMP_CHECK(splitter_add_node(
        &node, s->step,
        (emp_traced_node){EMP_TRACED_HOST, lane, event, op, end_ns - l->at_ns, end_ns},
        err));
    EMP_CHECK(splitter_add_edge(s->step, l->last, node, false, err));
    for (int32_t i = 0; i < l->pending_count; i++)
        EMP_CHECK(splitter_add_edge(s->step, l->pending[i], node, false, err));
    l->pending_count = 0;
    l->at_ns = end_ns;
    l->last = node;
    return EMP_OK;
}

/* The thread goes on at a moment, when \a node is done. */
static emp_status splitter_resume(splitter *s, int32_t lane, int64_t time_ns,
                                  int32_t node, emp_error *err)
{
    step_lane *l = &s->lane[lane];

    if (l->pending_count == PENDING_MAX)
        EMP_CHECK(splitter_cut(s, lane, l->at_ns, -1, err));
    if (time_ns > l->at_ns) l->at_ns = time_ns;
    l->pending[l->pending_count++] = node;
    return EMP_OK;
}

/* When something happens: calls, and when threads work. */

/* Threads that do nothing for that long have paused. */
static const int64_t PAUSE_NS = 200000;

static bool is_work(const emp_kineto_event *e)
{
    return e->kind == EMP_KINETO_OP || e->kind == EMP_KINETO_CALL;
}

/* Whether an operator or a call of a thread begins in the step. */
static bool splitter_is_in(const splitter *s, const emp_kineto_event *e)
{
    return is_work(e) && e->begin_ns >= s->step->begin_ns &&
           e->begin_ns < s->step->end_ns;
}

static void add_moment(splitter *s, step_moment m) { s->moment[s->moment_count++] = m; }

/* A pause of the main thread. */
typedef struct {
    int64_t begin_ns, end_ns;
} pause;

static int32_t find_pauses(pause *pauses, const splitter *s)
{
    int64_t busy_ns = s->step->begin_ns;
    int32_t count = 0;

    for (int32_t i = 0; i < s->trace->event_count; i++) {
        const emp_kineto_event *e = &s->trace->event[i];
        if (e->lane != s->step->main_lane || !splitter_is_in(s, e)) continue;
        if (e->begin_ns > busy_ns + PAUSE_NS)
            pauses[count++] = (pause){busy_ns, e->begin_ns};
        if (e->end_ns > busy_ns) busy_ns = e->end_ns;
    }
    if (s->step->end_ns > busy_ns + PAUSE_NS)
        pauses[count++] = (pause){busy_ns, s->step->end_ns};
    return count;
}

/* Whether the main thread pauses while another works from \a begin_ns to \a end_ns, and for
 * little else. */
static bool is_joined(const pause *pauses, int32_t count, int64_t begin_ns,
                      int64_t end_ns)
{
    int32_t low;

    EMP_COUNT_FIRST(low, count, i, pauses[i].begin_ns <= begin_ns);
    if (low == 0) return false;
    const pause *p = &pauses[low - 1];
    return end_ns <= p->end_ns && end_ns - begin_ns >= (p->end_ns - p->begin_ns) / 2;
}

/* The work of a thread from its \a begin_ns on is over. */
static void end_work(splitter *s, int32_t lane, int64_t begin_ns, const pause *pauses,
                     int32_t pause_count)
{
    int64_t end_ns = s->lane[lane].busy_until_ns;
    bool    joins = is_joined(pauses, pause_count, begin_ns, end_ns);

    add_moment(s, (step_moment){begin_ns, MOMENT_RESUME, lane, -1, joins});
    add_moment(s, (step_moment){end_ns, MOMENT_PAUSE, lane, -1, joins});
}

/* When other threads than the main one work. */
static emp_status find_work(splitter *s, const pause *pauses, int32_t pause_count,
                            emp_error *err)
{
    int64_t *begin_ns = NULL; /* [lane] of the work so far; -1 = none */

    EMP_CHECK(EMP_ALLOC(begin_ns, (size_t)s->trace->lane_count));
    for (int32_t i = 0; i < s->trace->lane_count; i++) begin_ns[i] = -1;
    for (int32_t i = 0; i < s->trace->event_count; i++) {
        const emp_kineto_event *e = &s->trace->event[i];
        step_lane              *l = &s->lane[e->lane];
        if (e->lane == s->step->main_lane || !splitter_is_in(s, e)) continue;
        if (begin_ns[e->lane] >= 0 && e->begin_ns > l->busy_until_ns + PAUSE_NS) {
            end_work(s, e->lane, begin_ns[e->lane], pauses, pause_count);
            begin_ns[e->lane] = -1;
        }
        if (begin_ns[e->lane] < 0) begin_ns[e->lane] = e->begin_ns;
        if (e->end_ns > l->busy_until_ns) l->busy_until_ns = e->end_ns;
    }
    for (int32_t i = 0; i < s->trace->lane_count; i++)
        if (begin_ns[i] >= 0) end_work(s, i, begin_ns[i], pauses, pause_count);
    emp_free(begin_ns);
    return EMP_OK;
}

static int by_time(const void *a, const void *b)
{
    const step_moment *x = (const step_moment *)a, *y = (const step_moment *)b;

    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

/* Where nothing uses a GPU, the operators that lie in no other one are the pieces. */
static void find_outer_ops(splitter *s)
{
    for (int32_t i = 0; i < s->trace->event_count; i++) {
        const emp_kineto_event *e = &s->trace->event[i];
        if (e->kind == EMP_KINETO_OP && s->step->parent[i] < 0 && splitter_is_in(s, e))
            add_moment(s, (step_moment){e->end_ns, MOMENT_OP_END, e->lane, i, false});
    }
}

/* Work of the steps before on the streams. */

/* How long a call takes that starts something. */
static emp_status find_usual_call(splitter *s, emp_error *err)
{
    const emp_activities *a = &s->activities;
    int64_t              *length_ns = NULL;
    int32_t               count = 0;

    EMP_CHECK(EMP_ALLOC(length_ns, (size_t)a->activity_count));
    for (int32_t i = 0; i < a->activity_count; i++) {
        int32_t call = a->call_of[a->activity[i]];
        if (call < 0) continue;
        const emp_kineto_event *e = &s->trace->event[call];
        length_ns[count++] = e->end_ns - e->begin_ns;
    }
    qsort(length_ns, (size_t)count, sizeof *length_ns, emp_trace_by_value);
    if (count > 0) s->usual_call_ns = length_ns[count / 2];
    emp_free(length_ns);
    return EMP_OK;
}

/* Fills in the moments, by time. */
static emp_status splitter_find_moments(splitter *s, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     count = 0, lanes = (size_t)s->trace->lane_count;
    pause     *pauses = NULL;
    int32_t    calls;

    for (int32_t i = 0; i < s->trace->event_count; i++)
        count += splitter_is_in(s, &s->trace->event[i]);
    EMP_TRY(find_usual_call(s, err));
    EMP_TRY(EMP_ALLOC(s->moment, 3 * count + 2 * lanes + 1));
    EMP_TRY(EMP_ALLOC(pauses, count + 1));
    EMP_TRY(find_work(s, pauses, find_pauses(pauses, s), err));
    for (int32_t i = 0; i < s->trace->event_count; i++) {
        const emp_kineto_event *e = &s->trace->event[i];
        if (e->kind != EMP_KINETO_CALL || !splitter_is_in(s, e)) continue;
        add_moment(s, (step_moment){e->begin_ns, MOMENT_CALL, e->lane, i, false});
        (void)emp_activities_of(&s->activities, i, &calls);
        s->has_activities = s->has_activities || calls > 0;
    }
    if (!s->has_activities) find_outer_ops(s);
    qsort(s->moment, (size_t)s->moment_count, sizeof *s->moment, by_time);

cleanup:
    emp_free(pauses);
    return st;
}

/* Work on GPUs, and its causes. */

/* Work that ends at most this long before a kernel begins may be its cause. */
static const int64_t CAUSE_NS = 20000;

/* The work that ended on another stream just before \a event began. */
static int32_t find_cause(const splitter *s, int32_t event)
{
    const emp_kineto_event *e = &s->trace->event[event];
    const emp_activities   *a = &s->activities;
    int32_t                 low;

    EMP_COUNT_FIRST(low, a->activity_count, i,
                    s->trace->event[a->by_end[i]].end_ns <= e->begin_ns);
    for (int32_t i = low - 1; i >= 0 && i >= low - LOOK_BACK; i--) {
        const emp_kineto_event *other = &s->trace->event[a->by_end[i]];
        if (other->end_ns < e->begin_ns - CAUSE_NS) break;
        if (other->lane != e->lane && s->node_of[a->by_end[i]] >= 0) return a->by_end[i];
    }
    return -1;
}

/* An edge from what runs on a GPU, if it is of the step. */
static emp_status wait_for(splitter *s, int32_t event, int32_t node, bool is_stream_order,
                           emp_error *err)
{
    return splitter_add_edge(s->step, event < 0 ? -1 : s->node_of[event], node,
                             is_stream_order, err);
}

static void note_span(splitter *s, const emp_kineto_event *e)
{
    if (e->begin_ns < s->first_gpu_ns) s->first_gpu_ns = e->begin_ns;
    if (e->end_ns > s->last_gpu_ns) s->last_gpu_ns = e->end_ns;
    if (e->lane == s->main_stream && e->end_ns > s->last_main_ns)
        s->last_main_ns = e->end_ns;
    s->step->copy_count += e->kind == EMP_KINETO_COPY;
    s->step->set_count += e->kind == EMP_KINETO_SET;
    s->step->kernel_count += e->kind == EMP_KINETO_KERNEL;
}

/* When nothing that is known holds it up any more: it was issued, the step has started, and its
 * predecessor of the step is done. The work of the step before on its stream is not known. */
static int64_t ready_at(const splitter *s, int32_t before, int64_t issued_ns)
{
    int64_t ready_ns = issued_ns > s->start_ns ? issued_ns : s->start_ns;

    if (before >= 0 && s->node_of[before] >= 0 &&
        s->trace->event[before].end_ns > ready_ns)
        ready_ns = s->trace->event[before].end_ns;
    return ready_ns;
}

/* \a piece has started it, and was done with that at \a issued_ns. */
static emp_status splitter_add_activity(splitter *s, int32_t event, int32_t piece,
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
        EMP_CHECK(splitter_add_node(&gate, s->step, wait, err));
        EMP_CHECK(splitter_add_edge(s->step, piece, gate, false, err));
        EMP_CHECK(wait_for(s, before, gate, false, err));
    }
    EMP_CHECK(splitter_add_node(
        &node, s->step,
        (emp_traced_node){EMP_TRACED_GPU, e->lane, event, op,
                          e->end_ns - e->begin_ns + (is_wait ? 0 : lead_ns), e->end_ns},
        err));
    EMP_CHECK(splitter_add_edge(s->step, gate, node, false, err));
    EMP_CHECK(wait_for(s, before, node, true, err));
    EMP_CHECK(wait_for(s, cause, node, false, err));
    s->node_of[event] = node;
    return EMP_OK;
}

/* Calls of a GPU's runtime. */

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

/* When a call has handed over what it starts. */
static int64_t splitter_issue_end(const splitter *s, int32_t event)
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

/* The work that a call has waited for: the last to end while it ran among the work started
 * before and, if it copies, its own copies. -1 = nothing. */
static int32_t find_awaited(const splitter *s, int32_t call, int64_t issued_ns)
{
    const emp_kineto_event *c = &s->trace->event[call];
    const emp_activities   *a = &s->activities;
    int32_t                 low;

    if (!may_synchronize(c)) return -1;
    EMP_COUNT_FIRST(low, a->activity_count, i,
                    s->trace->event[a->by_end[i]].end_ns <= c->end_ns);
    for (int32_t i = low - 1; i >= 0 && i >= low - LOOK_BACK; i--) {
        if (s->trace->event[a->by_end[i]].end_ns <= issued_ns) break;
        if (s->node_of[a->by_end[i]] < 0) continue;
        if (!copies(c) || a->call_of[a->by_end[i]] == call) return a->by_end[i];
    }
    return -1;
}

/* A queue of launches has room for some thousand. Whether a call has waited for room: it took
 * long, and much of what was started before on the stream had not ended. */
static bool has_waited_for_room(const splitter *s, const emp_kineto_event *call,
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
static int32_t find_room(const splitter *s, const emp_kineto_event *call, int32_t started)
{
    while (started >= 0 && s->trace->event[started].end_ns > call->end_ns)
        started = s->activities.before[started];
    return started < 0 ? -1 : s->node_of[started];
}

/* The thread goes on shortly before the end of the call. */
static emp_status wait_for_room(splitter *s, const step_moment *m, int32_t started,
                                emp_error *err)
{
    const emp_kineto_event *call = &s->trace->event[m->event];
    step_lane              *l = &s->lane[m->lane];
    int64_t                 room_ns = call->end_ns - s->usual_call_ns;
    int32_t                 node = find_room(s, call, started);

    if (node < 0) {
        /* the step before has left the queue full: none of this step's business */
        l->at_ns += room_ns - call->begin_ns;
        return EMP_OK;
    }
    if (l->at_ns < call->begin_ns)
        EMP_CHECK(splitter_cut(s, m->lane, call->begin_ns, -1, err));
    return splitter_resume(s, m->lane, room_ns, node, err);
}

/* A call: what it starts, and what it waits for. */
static emp_status splitter_at_call(splitter *s, const step_moment *m, emp_error *err)
{
    const emp_kineto_event *call = &s->trace->event[m->event];
    int32_t                 count;
    const int32_t          *started = emp_activities_of(&s->activities, m->event, &count);
    int64_t                 issued_ns = call->begin_ns;

    if (count > 0) {
        issued_ns = splitter_issue_end(s, m->event);
        if (has_waited_for_room(s, call, started[0]))
            EMP_CHECK(wait_for_room(s, m, started[0], err));
        EMP_CHECK(splitter_cut(s, m->lane, issued_ns, m->event, err));
        int32_t piece = s->lane[m->lane].last;
        for (int32_t i = 0; i < count; i++)
            EMP_CHECK(splitter_add_activity(s, started[i], piece, issued_ns, err));
    }
    int32_t awaited = find_awaited(s, m->event, issued_ns);
    if (awaited < 0) return EMP_OK;
    if (s->lane[m->lane].at_ns < issued_ns)
        EMP_CHECK(splitter_cut(s, m->lane, issued_ns, m->event, err));
    return splitter_resume(s, m->lane, s->trace->event[awaited].end_ns,
                           s->node_of[awaited], err);
}

/* When a step starts, and what the host and other streams have done before. */

static bool starts_in_step(const splitter *s, int32_t activity)
{
    int32_t call = s->activities.call_of[activity];

    return call >= 0 && splitter_is_in(s, &s->trace->event[call]);
}

/* Streams of copies ahead and of collectives have few activities, if long ones. */
static void find_main_stream(splitter *s)
{
    s->main_stream = -1;
    for (int32_t i = 0; i < s->activities.activity_count; i++) {
        int32_t activity = s->activities.activity[i];
        if (starts_in_step(s, activity))
            s->lane[s->trace->event[activity].lane].activity_count++;
    }
    for (int32_t i = 0, most = 0; i < s->trace->lane_count; i++) {
        if (s->lane[i].activity_count <= most) continue;
        most = s->lane[i].activity_count;
        s->main_stream = i;
    }
}

/* Finds when the step starts. */
static void splitter_find_start(splitter *s)
{
    find_main_stream(s);
    s->start_ns = s->main_stream < 0 ? s->step->begin_ns : INT64_MAX;
    for (int32_t i = 0; i < s->activities.activity_count; i++) {
        int32_t activity = s->activities.activity[i];
        int32_t before = s->activities.before[activity];
        if (s->trace->event[activity].lane != s->main_stream ||
            !starts_in_step(s, activity))
            continue;
        int64_t free_ns = splitter_issue_end(s, s->activities.call_of[activity]);
        if (before >= 0 && s->trace->event[before].end_ns > free_ns)
            free_ns = s->trace->event[before].end_ns;
        if (free_ns < s->start_ns) s->start_ns = free_ns;
    }
}

/* ---- the nodes before the start, at the end ---- */

static bool is_ahead(const splitter *s, const emp_traced_node *node)
{
    return node->lane != s->main_stream && node->end_ns <= s->start_ns;
}

/* [node] its new number: those that stay come first. Returns how many these are. */
static int32_t renumber(int32_t *number, const splitter *s)
{
    const emp_traced_step *step = s->step;
    int32_t                stay = 0, ahead = 0;

    for (int32_t i = 0; i < step->node_count; i++) stay += !is_ahead(s, &step->node[i]);
    for (int32_t i = 0, next = 0; i < step->node_count; i++)
        number[i] = is_ahead(s, &step->node[i]) ? stay + ahead++ : next++;
    return stay;
}

/* Work done ahead binds nothing: it was done when the step started. */
static void move_edges(emp_traced_step *step, const int32_t *number, int32_t stay)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < step->edge_count; i++) {
        emp_traced_edge e = step->edge[i];
        e.from = number[e.from];
        e.to = number[e.to];
        if (e.from < e.to && (e.from >= stay) == (e.to >= stay)) step->edge[kept++] = e;
    }
    step->edge_count = kept;
}

/* Work done ahead, for the step after, begins after the main thread's last piece of this one. */
static emp_status follow(splitter *s, const bool *has_cause, int32_t stay, emp_error *err)
{
    emp_traced_step *step = s->step;
    int32_t          last = stay - 1;

    while (last >= 0 && (step->node[last].kind != EMP_TRACED_HOST ||
                         step->node[last].lane != step->main_lane))
        last--;
    for (int32_t i = stay; i < step->node_count; i++)
        if (!has_cause[i]) EMP_CHECK(splitter_add_edge(step, last, i, false, err));
    return EMP_OK;
}

/* Moves what the host and other streams did before that to the end. */
static emp_status splitter_run_ahead(splitter *s, emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_traced_step *step = s->step;
    size_t           count = (size_t)step->node_count;
    int32_t         *number = NULL;
    emp_traced_node *node = NULL;
    bool            *has_cause = NULL;

    EMP_TRY(EMP_ALLOC(number, count));
    EMP_TRY(EMP_ALLOC(node, count));
    EMP_TRY(EMP_ALLOC(has_cause, count));
    int32_t stay = renumber(number, s);
    for (size_t i = 0; i < count; i++) node[number[i]] = step->node[i];
    for (size_t i = 0; i < count; i++) step->node[i] = node[i];
    move_edges(step, number, stay);
    for (int32_t i = 0; i < step->edge_count; i++) has_cause[step->edge[i].to] = true;
    EMP_TRY(follow(s, has_cause, stay, err));

cleanup:
    emp_free(number);
    emp_free(node);
    emp_free(has_cause);
    return st;
}

/* A thread starts when the main one, or the one that it waits for, is there. */
static emp_status at_resume(splitter *s, const step_moment *m, emp_error *err)
{
    int32_t    main = s->step->main_lane, anchor = main;
    step_lane *l = &s->lane[m->lane];

    if (s->lane[main].waits_for >= 0 && s->lane[main].waits_for != m->lane)
        anchor = s->lane[main].waits_for;
    if (s->lane[anchor].last < 0 || s->lane[anchor].at_ns < m->time_ns)
        EMP_CHECK(splitter_cut(s, anchor, m->time_ns, -1, err));
    l->at_ns = m->time_ns;
    EMP_CHECK(splitter_resume(s, m->lane, m->time_ns, s->lane[anchor].last, err));
    if (m->is_joined && anchor == main) s->lane[main].waits_for = m->lane;
    return EMP_OK;
}

static emp_status at_pause(splitter *s, const step_moment *m, emp_error *err)
{
    int32_t main = s->step->main_lane;

    EMP_CHECK(splitter_cut(s, m->lane, m->time_ns, -1, err));
    if (s->lane[main].waits_for != m->lane) return EMP_OK;
    s->lane[main].waits_for = -1;
    return splitter_resume(s, main, m->time_ns, s->lane[m->lane].last, err);
}

static emp_status sweep(splitter *s, emp_error *err)
{
    for (int32_t i = 0; i < s->moment_count; i++) {
        const step_moment *m = &s->moment[i];
        switch (m->kind) {
        case MOMENT_PAUSE: EMP_CHECK(at_pause(s, m, err)); break;
        case MOMENT_RESUME: EMP_CHECK(at_resume(s, m, err)); break;
        case MOMENT_CALL: EMP_CHECK(splitter_at_call(s, m, err)); break;
        case MOMENT_OP_END:
            EMP_CHECK(splitter_cut(s, m->lane, m->time_ns, m->event, err));
            break;
        }
    }
    return splitter_cut(s, s->step->main_lane, s->step->end_ns, -1, err);
}

/* The operator around each event of a thread. */
static emp_status find_parents(splitter *s, emp_error *err)
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

static emp_status prepare(splitter *s, emp_error *err)
{
    EMP_CHECK(EMP_ALLOC(s->lane, (size_t)s->trace->lane_count));
    EMP_CHECK(EMP_ALLOC(s->node_of, (size_t)s->trace->event_count));
    for (int32_t i = 0; i < s->trace->lane_count; i++)
        s->lane[i] = (step_lane){.last = -1, .waits_for = -1};
    for (int32_t i = 0; i < s->trace->event_count; i++) s->node_of[i] = -1;
    s->lane[s->step->main_lane].at_ns = s->step->begin_ns;
    s->first_gpu_ns = INT64_MAX;
    return find_parents(s, err);
}

static void measure(splitter *s)
{
    emp_traced_step *step = s->step;

    step->measured_ns = step->end_ns - step->begin_ns;
    if (s->last_main_ns - s->start_ns > step->measured_ns)
        step->measured_ns = s->last_main_ns - s->start_ns;
    if (s->last_gpu_ns > 0) step->gpu_span_ns = s->last_gpu_ns - s->first_gpu_ns;
}

emp_status emp_step_read(emp_traced_step *step, const emp_kineto *trace, int64_t number,
                         emp_error *err)
{
    emp_status st = EMP_OK;
    splitter   s = {.step = step, .trace = trace};

    *step = (emp_traced_step){0};
    EMP_TRY(emp_activities_find(&s.activities, trace, err));
    EMP_TRY(emp_window_choose(step, trace, &s.activities, number, err));
    EMP_TRY(prepare(&s, err));
    splitter_find_start(&s);
    EMP_TRY(splitter_find_moments(&s, err));
    EMP_TRY(sweep(&s, err));
    EMP_TRY(splitter_run_ahead(&s, err));
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
