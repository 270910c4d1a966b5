// SPDX-License-Identifier: GPL-3.0-or-later
/* When something happens: calls, and when threads work. */
#include <stdlib.h>

#include "base/mem.h"
#include "graphs/import/traces/kineto/step_internal.h"

/* Threads that do nothing for that long have paused. */
static const int64_t PAUSE_NS = 200000;

static bool is_work(const emp_kineto_event *e)
{
    return e->kind == EMP_KINETO_OP || e->kind == EMP_KINETO_CALL;
}

bool emp_splitter_is_in(const emp_splitter *s, const emp_kineto_event *e)
{
    return is_work(e) && e->begin_ns >= s->step->begin_ns &&
           e->begin_ns < s->step->end_ns;
}

static void add_moment(emp_splitter *s, emp_step_moment m)
{
    s->moment[s->moment_count++] = m;
}

/* A pause of the main thread. */
typedef struct {
    int64_t begin_ns, end_ns;
} pause;

static int32_t find_pauses(pause *pauses, const emp_splitter *s)
{
    int64_t busy_ns = s->step->begin_ns;
    int32_t count = 0;

    for (int32_t i = 0; i < s->trace->event_count; i++) {
        const emp_kineto_event *e = &s->trace->event[i];
        if (e->lane != s->step->main_lane || !emp_splitter_is_in(s, e)) continue;
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
    int32_t low = 0, high = count;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (pauses[middle].begin_ns <= begin_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) return false;
    const pause *p = &pauses[low - 1];
    return end_ns <= p->end_ns && end_ns - begin_ns >= (p->end_ns - p->begin_ns) / 2;
}

/* The work of a thread from its \a begin_ns on is over. */
static void end_work(emp_splitter *s, int32_t lane, int64_t begin_ns, const pause *pauses,
                     int32_t pause_count)
{
    int64_t end_ns = s->lane[lane].busy_until_ns;
    bool    joins = is_joined(pauses, pause_count, begin_ns, end_ns);

    add_moment(s, (emp_step_moment){begin_ns, MOMENT_RESUME, lane, -1, joins});
    add_moment(s, (emp_step_moment){end_ns, MOMENT_PAUSE, lane, -1, joins});
}

/* When other threads than the main one work. */
static emp_status find_work(emp_splitter *s, const pause *pauses, int32_t pause_count,
                            emp_error *err)
{
    int64_t *begin_ns = NULL; /* [lane] of the work so far; -1 = none */

    EMP_CHECK(EMP_ALLOC(begin_ns, (size_t)s->trace->lane_count));
    for (int32_t i = 0; i < s->trace->lane_count; i++) begin_ns[i] = -1;
    for (int32_t i = 0; i < s->trace->event_count; i++) {
        const emp_kineto_event *e = &s->trace->event[i];
        emp_step_lane          *l = &s->lane[e->lane];
        if (e->lane == s->step->main_lane || !emp_splitter_is_in(s, e)) continue;
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
    const emp_step_moment *x = (const emp_step_moment *)a,
                          *y = (const emp_step_moment *)b;

    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

/* Where nothing uses a GPU, the operators that lie in no other one are the pieces. */
static void find_outer_ops(emp_splitter *s)
{
    for (int32_t i = 0; i < s->trace->event_count; i++) {
        const emp_kineto_event *e = &s->trace->event[i];
        if (e->kind == EMP_KINETO_OP && s->step->parent[i] < 0 &&
            emp_splitter_is_in(s, e))
            add_moment(s, (emp_step_moment){e->end_ns, MOMENT_OP_END, e->lane, i, false});
    }
}

/* What the steps before have left on the streams. */

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* How long a call takes that starts something. */
static emp_status find_usual_call(emp_splitter *s, emp_error *err)
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
    qsort(length_ns, (size_t)count, sizeof *length_ns, by_value);
    if (count > 0) s->usual_call_ns = length_ns[count / 2];
    emp_free(length_ns);
    return EMP_OK;
}

emp_status emp_splitter_find_moments(emp_splitter *s, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     count = (size_t)s->trace->event_count;
    pause     *pauses = NULL;
    int32_t    calls;

    EMP_TRY(find_usual_call(s, err));
    EMP_TRY(EMP_ALLOC(s->moment, 3 * count + 1));
    EMP_TRY(EMP_ALLOC(pauses, count + 1));
    EMP_TRY(find_work(s, pauses, find_pauses(pauses, s), err));
    for (int32_t i = 0; i < s->trace->event_count; i++) {
        const emp_kineto_event *e = &s->trace->event[i];
        if (e->kind != EMP_KINETO_CALL || !emp_splitter_is_in(s, e)) continue;
        add_moment(s, (emp_step_moment){e->begin_ns, MOMENT_CALL, e->lane, i, false});
        (void)emp_activities_of(&s->activities, i, &calls);
        s->has_activities = s->has_activities || calls > 0;
    }
    if (!s->has_activities) find_outer_ops(s);
    qsort(s->moment, (size_t)s->moment_count, sizeof *s->moment, by_time);

cleanup:
    emp_free(pauses);
    return st;
}
