// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/traces/kineto/step_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char step_word[] = "ProfilerStep#";

/* An event and what it is sorted by. */
typedef struct {
    int64_t first, second;
    int32_t event;
} key;

static int by_keys(const void *a, const void *b)
{
    const key *x = (const key *)a, *y = (const key *)b;

    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    if (x->second != y->second) return x->second < y->second ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

static bool is_activity(const emp_kineto_event *e)
{
    return e->kind >= EMP_KINETO_KERNEL;
}

/* ---- what belongs together ---- */

/* Calls by their correlation id; of several with one id the first counts. */
static int32_t sort_calls(key *calls, const emp_kineto *trace)
{
    int32_t count = 0;

    for (int32_t i = 0; i < trace->event_count; i++) {
        const emp_kineto_event *e = &trace->event[i];
        if (e->kind == EMP_KINETO_CALL && e->correlation >= 0)
            calls[count++] = (key){e->correlation, 0, i};
    }
    qsort(calls, (size_t)count, sizeof *calls, by_keys);
    return count;
}

/* The first place in keys[count] whose first word is not less. */
static int32_t lower_bound(const key *keys, int32_t count, int64_t first)
{
    int32_t low = 0, high = count;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (keys[middle].first < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void find_calls(emp_activities *a, key *keys, const emp_kineto *trace)
{
    int32_t count = sort_calls(keys, trace);

    for (int32_t i = 0; i < trace->event_count; i++) {
        const emp_kineto_event *e = &trace->event[i];
        a->call_of[i] = -1;
        if (!is_activity(e) || e->correlation < 0) continue;
        int32_t at = lower_bound(keys, count, e->correlation);
        if (at < count && keys[at].first == e->correlation)
            a->call_of[i] = keys[at].event;
    }
}

/* Fills \a order with the activities, sorted by the keys that \a key_of makes. */
static void sort_activities(int32_t *order, key *keys, const emp_kineto *trace,
                            const emp_activities *a,
                            key (*key_of)(const emp_kineto *, const emp_activities *,
                                          int32_t))
{
    int32_t count = 0;

    for (int32_t i = 0; i < trace->event_count; i++)
        if (is_activity(&trace->event[i])) keys[count++] = key_of(trace, a, i);
    qsort(keys, (size_t)count, sizeof *keys, by_keys);
    for (int32_t i = 0; i < count; i++) order[i] = keys[i].event;
}

static key by_call(const emp_kineto *trace, const emp_activities *a, int32_t event)
{
    return (key){a->call_of[event], trace->event[event].begin_ns, event};
}

static key by_end(const emp_kineto *trace, const emp_activities *a, int32_t event)
{
    (void)a;
    return (key){trace->event[event].end_ns, trace->event[event].begin_ns, event};
}

static emp_status find_predecessors(emp_activities *a, const emp_kineto *trace,
                                    emp_error *err)
{
    int32_t *last = NULL; /* [lane] */

    EMP_CHECK(EMP_ALLOC(last, (size_t)trace->lane_count));
    for (int32_t i = 0; i < trace->lane_count; i++) last[i] = -1;
    for (int32_t i = 0; i < trace->event_count; i++) {
        a->before[i] = -1;
        if (!is_activity(&trace->event[i])) continue;
        a->before[i] = last[trace->event[i].lane];
        last[trace->event[i].lane] = i;
    }
    emp_free(last);
    return EMP_OK;
}

emp_status emp_activities_find(emp_activities *out, const emp_kineto *trace,
                               emp_error *err)
{
    emp_status st = EMP_OK;
    key       *keys = NULL;
    size_t     count = (size_t)trace->event_count;

    *out = (emp_activities){0};
    for (int32_t i = 0; i < trace->event_count; i++)
        out->activity_count += is_activity(&trace->event[i]);
    EMP_TRY(EMP_ALLOC(keys, count));
    EMP_TRY(EMP_ALLOC(out->activity, (size_t)out->activity_count));
    EMP_TRY(EMP_ALLOC(out->by_end, (size_t)out->activity_count));
    EMP_TRY(EMP_ALLOC(out->call_of, count));
    EMP_TRY(EMP_ALLOC(out->before, count));
    find_calls(out, keys, trace);
    sort_activities(out->activity, keys, trace, out, by_call);
    sort_activities(out->by_end, keys, trace, out, by_end);
    EMP_TRY(find_predecessors(out, trace, err));

cleanup:
    emp_free(keys);
    return st;
}

void emp_activities_clear(emp_activities *activities)
{
    emp_free(activities->activity);
    emp_free(activities->by_end);
    emp_free(activities->call_of);
    emp_free(activities->before);
    *activities = (emp_activities){0};
}

const int32_t *emp_activities_of(const emp_activities *a, int32_t call, int32_t *count)
{
    int32_t low = 0, high = a->activity_count;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (a->call_of[a->activity[middle]] < call)
            low = middle + 1;
        else
            high = middle;
    }
    *count = 0;
    while (low + *count < a->activity_count &&
           a->call_of[a->activity[low + *count]] == call)
        ++*count;
    return a->activity + low;
}

/* ---- which step ---- */

static bool is_step(const emp_kineto_event *e)
{
    return e->kind == EMP_KINETO_RANGE &&
           strncmp(e->name, step_word, sizeof step_word - 1) == 0;
}

/* The number of a step's name; -1 = it has none. */
static int64_t number_of(const emp_kineto_event *step)
{
    char       *end;
    const char *digits = step->name + sizeof step_word - 1;
    long long   number = strtoll(digits, &end, 10);

    return end > digits ? number : -1;
}

/* Whether a call that the step makes starts something. */
static bool uses_gpu(const emp_kineto *trace, const emp_activities *a,
                     const emp_kineto_event *step)
{
    for (int32_t i = 0; i < a->activity_count; i++) {
        int32_t call = a->call_of[a->activity[i]];
        if (call >= 0 && trace->event[call].begin_ns >= step->begin_ns &&
            trace->event[call].begin_ns < step->end_ns)
            return true;
    }
    return false;
}

static void take_step(emp_traced_step *step, const emp_kineto_event *event)
{
    step->name = event->name;
    step->begin_ns = event->begin_ns;
    step->end_ns = event->end_ns;
    step->main_lane = event->lane;
}

/* The thread with most events. */
static emp_status take_whole(emp_traced_step *step, const emp_kineto *trace,
                             emp_error *err)
{
    int32_t *count = NULL;

    EMP_CHECK(EMP_ALLOC(count, (size_t)trace->lane_count));
    step->name = "the whole trace";
    step->begin_ns = trace->event[0].begin_ns;
    for (int32_t i = 0; i < trace->event_count; i++) {
        const emp_kineto_event *e = &trace->event[i];
        if (e->end_ns > step->end_ns) step->end_ns = e->end_ns;
        if (!is_activity(e) && ++count[e->lane] > count[step->main_lane])
            step->main_lane = e->lane;
    }
    step->end_ns++; /* what begins with the last end belongs to it */
    emp_free(count);
    return EMP_OK;
}

static emp_status refuse_number(const emp_kineto *trace, int64_t number, emp_error *err)
{
    char   list[160] = "";
    size_t used = 0;

    for (int32_t i = 0; i < trace->event_count && used < sizeof list - 1; i++) {
        if (!is_step(&trace->event[i])) continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.24s",
                                 used > 0 ? ", " : "",
                                 trace->event[i].name + sizeof step_word - 1);
    }
    return EMP_ERROR(EMP_EINVAL, "the trace has no step %" PRId64 "; its steps: %s",
                     number, used > 0 ? list : "none");
}

enum { STEPS_MAX = 1 << 10 };

/* Of steps[count] the one of median duration; those without a GPU only if there is no other. */
static const emp_kineto_event *find_usual(const key *steps, int32_t count,
                                          const emp_kineto     *trace,
                                          const emp_activities *a)
{
    key     usual[STEPS_MAX];
    int32_t usual_count = 0;

    for (int32_t i = 0; i < count; i++)
        if (uses_gpu(trace, a, &trace->event[steps[i].event]))
            usual[usual_count++] = steps[i];
    if (usual_count == 0) {
        memcpy(usual, steps, (size_t)count * sizeof *steps);
        usual_count = count;
    }
    qsort(usual, (size_t)usual_count, sizeof *usual, by_keys);
    return &trace->event[usual[(usual_count - 1) / 2].event];
}

emp_status emp_window_choose(emp_traced_step *step, const emp_kineto *trace,
                             const emp_activities *activities, int64_t number,
                             emp_error *err)
{
    key                     steps[STEPS_MAX];
    const emp_kineto_event *named = NULL;

    if (trace->event_count == 0)
        return EMP_ERROR(EMP_EFORMAT, "a profiler's trace without any event of a host or "
                                      "a GPU");
    for (int32_t i = 0; i < trace->event_count; i++) {
        const emp_kineto_event *e = &trace->event[i];
        if (!is_step(e)) continue;
        if (number >= 0 && named == NULL && number_of(e) == number) named = e;
        if (step->step_count == STEPS_MAX) continue;
        steps[step->step_count++] = (key){e->end_ns - e->begin_ns, e->begin_ns, i};
    }
    if (number >= 0 && named == NULL) return refuse_number(trace, number, err);
    if (step->step_count == 0) return take_whole(step, trace, err);
    if (named == NULL) named = find_usual(steps, step->step_count, trace, activities);
    take_step(step, named);
    return EMP_OK;
}
