// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/traces/kineto.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "graphs/import/notes/readers.h"

enum { LANES_MAX = 1 << 12 };

/* Ten years since the trace's first event; sums of such stay within 64 bits. */
static const double SPAN_US_MAX = 3.2e14;

/* Words that begin the names of categories. */
static const struct {
    const char     *word;
    emp_kineto_kind kind;
} categories[] = {
    {"cpu_op", EMP_KINETO_OP},
    {"Operator", EMP_KINETO_OP},
    {"user_annotation", EMP_KINETO_RANGE},
    {"cuda_runtime", EMP_KINETO_CALL},
    {"cuda_driver", EMP_KINETO_CALL},
    {"hip_runtime", EMP_KINETO_CALL},
    {"xpu_runtime", EMP_KINETO_CALL},
    {"xpu_driver", EMP_KINETO_CALL},
    {"privateuse1_runtime", EMP_KINETO_CALL},
    {"privateuse1_driver", EMP_KINETO_CALL},
    {"Runtime", EMP_KINETO_CALL},
    {"runtime", EMP_KINETO_CALL},
    {"kernel", EMP_KINETO_KERNEL},
    {"Kernel", EMP_KINETO_KERNEL},
    {"gpu_memcpy", EMP_KINETO_COPY},
    {"Memcpy", EMP_KINETO_COPY},
    {"gpu_memset", EMP_KINETO_SET},
    {"Memset", EMP_KINETO_SET},
};

/* A member of an event that may be a number or a text with one. */
typedef struct {
    const emp_json *category, *name, *phase, *process, *thread, *begin, *length, *args;
} members;

static const char events_key[] = "traceEvents";

static const emp_json *events_of(const emp_json *root)
{
    if (emp_json_is(root, EMP_JSON_ARRAY)) return root;
    return emp_json_get(root, events_key);
}

bool emp_kineto_is(const emp_json *root)
{
    const emp_json *first = emp_json_first(events_of(root));

    return emp_json_is(events_of(root), EMP_JSON_ARRAY) &&
           (first == NULL || emp_json_get(first, "ph") != NULL);
}

static members members_of(const emp_json *event)
{
    members m = {0};
    const struct {
        const char      *key;
        const emp_json **value;
    } known[] = {{"ph", &m.phase},    {"cat", &m.category}, {"name", &m.name},
                 {"pid", &m.process}, {"tid", &m.thread},   {"ts", &m.begin},
                 {"dur", &m.length},  {"args", &m.args}};

    if (!emp_json_is(event, EMP_JSON_OBJECT)) return m;
    for (const emp_json *v = emp_json_first(event); v != NULL; v = emp_json_next(v)) {
        const char *key = emp_json_key(v);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (key[0] == known[i].key[0] && strcmp(key, known[i].key) == 0)
                *known[i].value = v;
    }
    return m;
}

static bool find_kind(emp_kineto_kind *kind, const members *m)
{
    const char *phase = emp_json_string(m->phase), *word = emp_json_string(m->category);

    if (phase == NULL || strcmp(phase, "X") != 0 || word == NULL) return false;
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        if (strcmp(word, categories[i].word) != 0) continue;
        *kind = categories[i].kind;
        return true;
    }
    return false;
}

/* Events of accelerators whose kernels are not read (ActivityType.h: mtia_ccp_events, hpu_op, ...). */
static bool is_of_other(const members *m)
{
    const char *word = emp_json_string(m->category);

    return word != NULL &&
           (strncmp(word, "mtia_", 5) == 0 || strncmp(word, "hpu_", 4) == 0);
}

static bool is_on_gpu(emp_kineto_kind kind) { return kind >= EMP_KINETO_KERNEL; }

static bool is_number(const emp_json *value)
{
    return emp_json_is(value, EMP_JSON_INTEGER) || emp_json_is(value, EMP_JSON_REAL);
}

/* Traces write some numbers as texts. */
static int64_t whole_number(const emp_json *value, int64_t otherwise)
{
    const char *text = emp_json_string(value);
    char       *end;

    if (emp_json_is(value, EMP_JSON_INTEGER)) return emp_json_integer(value);
    if (text == NULL || *text == '\0') return otherwise;
    long long number = strtoll(text, &end, 0);
    return *end == '\0' ? number : otherwise;
}

/* One of an event's arguments. */
static int64_t argument(const members *m, const char *key, const char *old_key)
{
    const emp_json *value = emp_json_get(m->args, key);

    if (value == NULL && old_key != NULL) value = emp_json_get(m->args, old_key);
    return whole_number(value, -1);
}

static emp_status find_lane(int32_t *lane, emp_kineto *trace, emp_kineto_lane wanted,
                            emp_error *err)
{
    for (int32_t i = trace->lane_count - 1; i >= 0; i--) {
        const emp_kineto_lane *l = &trace->lane[i];
        wanted.index += l->is_stream == wanted.is_stream;
        if (l->process != wanted.process || l->number != wanted.number ||
            l->is_stream != wanted.is_stream)
            continue;
        *lane = i;
        return EMP_OK;
    }
    if (trace->lane_count == LANES_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "more than %d threads and streams", LANES_MAX);
    *lane = trace->lane_count;
    trace->lane[trace->lane_count++] = wanted;
    return EMP_OK;
}

static emp_status read_lane(emp_kineto_event *event, emp_kineto *trace, const members *m,
                            emp_error *err)
{
    emp_kineto_lane lane = {whole_number(m->process, -1), whole_number(m->thread, -1),
                            is_on_gpu(event->kind), 0};

    if (lane.is_stream && emp_json_get(m->args, "stream") != NULL) {
        lane.number = argument(m, "stream", NULL);
        if (emp_json_get(m->args, "device") != NULL)
            lane.process = argument(m, "device", NULL);
    }
    return find_lane(&event->lane, trace, lane, err);
}

static emp_status refuse_times(const emp_kineto_event *event, emp_error *err)
{
    return EMP_ERROR(EMP_EFORMAT,
                     "event %lld, \"%.80s\": ts and dur must be microseconds",
                     (long long)event->index, event->name);
}

static emp_status read_event(emp_kineto *trace, const members *m, emp_kineto_kind kind,
                             emp_error *err)
{
    EMP_CHECK(EMP_GROW(trace->event, trace->event_count + 1, trace->event_capacity));
    if (trace->lane == NULL) EMP_CHECK(EMP_ALLOC(trace->lane, LANES_MAX));
    emp_kineto_event *event = &trace->event[trace->event_count];
    *event = (emp_kineto_event){
        .kind = kind, .name = emp_json_string(m->name), .index = trace->read_count};
    if (event->name == NULL)
        return EMP_ERROR(EMP_EFORMAT, "event %lld has no name", (long long)event->index);
    if (!is_number(m->begin) || (m->length != NULL && !is_number(m->length)))
        return refuse_times(event, err);
    event->begin_us = emp_json_number(m->begin);
    event->length_us = m->length == NULL ? 0.0 : emp_json_number(m->length);
    EMP_CHECK(read_lane(event, trace, m, err));
    event->correlation = argument(m, "correlation", "External id");
    event->args = m->args != NULL ? emp_json_source(m->args) : NULL;
    event->record = argument(m, "Record function id", "External id");
    trace->event_count++;
    return EMP_OK;
}

static void visit_event(void *context, const emp_json_document *document,
                        const emp_json *event)
{
    emp_kineto     *trace = (emp_kineto *)context;
    const members   m = members_of(event);
    emp_kineto_kind kind;

    (void)document;
    if (trace->fault.status == EMP_OK && find_kind(&kind, &m))
        (void)read_event(trace, &m, kind, &trace->fault);
    trace->other_count += is_of_other(&m);
    trace->read_count++;
}

emp_status emp_kineto_parse(emp_kineto *trace, char **bytes, size_t size, emp_error *err)
{
    return emp_json_parse_visiting(&trace->document, bytes, size, events_key, visit_event,
                                   trace, err);
}

/* Makes times nanoseconds since the first event. */
static emp_status shift_times(emp_kineto *trace, emp_error *err)
{
    double first_us = INFINITY;

    for (int32_t i = 0; i < trace->event_count; i++)
        first_us = fmin(first_us, trace->event[i].begin_us);
    for (int32_t i = 0; i < trace->event_count; i++) {
        emp_kineto_event *event = &trace->event[i];
        const double      begin = event->begin_us - first_us, length = event->length_us;
        if (!(begin >= 0.0 && begin <= SPAN_US_MAX && length <= SPAN_US_MAX))
            return refuse_times(event, err);
        event->begin_ns = llround(begin * 1e3);
        event->end_ns = event->begin_ns + llround(fmax(length, 0.0) * 1e3);
    }
    return EMP_OK;
}

static const char *find_gpu(const emp_json *root)
{
    const emp_json *first = emp_json_first(emp_json_get(root, "deviceProperties"));

    return emp_json_string(emp_json_get(first, "name"));
}

static int by_begin(const void *a, const void *b)
{
    const emp_kineto_event *x = (const emp_kineto_event *)a;
    const emp_kineto_event *y = (const emp_kineto_event *)b;

    if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
    if (x->end_ns != y->end_ns) return x->end_ns > y->end_ns ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    if (x->correlation != y->correlation) return x->correlation < y->correlation ? -1 : 1;
    return strcmp(x->name, y->name);
}

emp_status emp_kineto_finish(emp_kineto *trace, emp_error *err)
{
    const emp_error *fault = &trace->fault;

    trace->gpu_name = find_gpu(trace->document.root);
    EMP_CHECK(shift_times(trace, err));
    if (fault->status != EMP_OK)
        return emp_error_set(err, fault->status, fault->file, fault->line, "%s",
                             fault->msg);
    if (trace->lane == NULL) EMP_CHECK(EMP_ALLOC(trace->lane, LANES_MAX));
    if (trace->event_count > 0)
        qsort(trace->event, (size_t)trace->event_count, sizeof *trace->event, by_begin);
    return EMP_OK;
}

void emp_kineto_clear(emp_kineto *trace)
{
    emp_json_clear(&trace->document);
    emp_free(trace->event);
    emp_free(trace->lane);
    *trace = (emp_kineto){0};
}

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
    int32_t low;

    EMP_COUNT_FIRST(low, count, i, keys[i].first < first);
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
    int32_t low;

    EMP_COUNT_FIRST(low, a->activity_count, i, a->call_of[a->activity[i]] < call);
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

/* The step of median duration among steps[count]; those without a GPU only if there is no other. */
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

int emp_trace_by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}
