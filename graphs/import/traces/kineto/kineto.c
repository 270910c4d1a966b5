// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/traces/kineto/kineto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

typedef struct {
    emp_kineto *trace;
    double      first_us;
    int64_t     index; /* of the event, for messages */
} reader;

static const emp_json *events_of(const emp_json *root)
{
    if (emp_json_is(root, EMP_JSON_ARRAY)) return root;
    return emp_json_get(root, "traceEvents");
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

    for (const emp_json *v = emp_json_first(event); v != NULL; v = emp_json_next(v)) {
        const char *key = emp_json_key(v);
        if (strcmp(key, "ph") == 0) m.phase = v;
        if (strcmp(key, "cat") == 0) m.category = v;
        if (strcmp(key, "name") == 0) m.name = v;
        if (strcmp(key, "pid") == 0) m.process = v;
        if (strcmp(key, "tid") == 0) m.thread = v;
        if (strcmp(key, "ts") == 0) m.begin = v;
        if (strcmp(key, "dur") == 0) m.length = v;
        if (strcmp(key, "args") == 0) m.args = v;
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

static emp_status read_lane(emp_kineto_event *event, reader *r, const members *m,
                            emp_error *err)
{
    emp_kineto_lane lane = {whole_number(m->process, -1), whole_number(m->thread, -1),
                            is_on_gpu(event->kind), 0};

    if (lane.is_stream && emp_json_get(m->args, "stream") != NULL) {
        lane.number = argument(m, "stream", NULL);
        if (emp_json_get(m->args, "device") != NULL)
            lane.process = argument(m, "device", NULL);
    }
    return find_lane(&event->lane, r->trace, lane, err);
}

static emp_status read_times(emp_kineto_event *event, const reader *r, const members *m,
                             emp_error *err)
{
    double begin = emp_json_number(m->begin) - r->first_us;
    double length = m->length == NULL ? 0.0 : emp_json_number(m->length);

    if (!is_number(m->begin) || (m->length != NULL && !is_number(m->length)) ||
        !(begin >= 0.0 && begin <= SPAN_US_MAX && length <= SPAN_US_MAX))
        return EMP_ERROR(EMP_EFORMAT,
                         "event %lld, \"%.80s\": ts and dur must be microseconds",
                         (long long)r->index, event->name);
    event->begin_ns = llround(begin * 1e3);
    event->end_ns = event->begin_ns + llround(fmax(length, 0.0) * 1e3);
    return EMP_OK;
}

static emp_status read_event(reader *r, const members *m, emp_kineto_kind kind,
                             emp_error *err)
{
    emp_kineto_event *event = &r->trace->event[r->trace->event_count];

    *event = (emp_kineto_event){.kind = kind, .name = emp_json_string(m->name)};
    if (event->name == NULL)
        return EMP_ERROR(EMP_EFORMAT, "event %lld has no name", (long long)r->index);
    EMP_CHECK(read_times(event, r, m, err));
    EMP_CHECK(read_lane(event, r, m, err));
    event->correlation = argument(m, "correlation", "External id");
    event->record = argument(m, "Record function id", "External id");
    r->trace->event_count++;
    return EMP_OK;
}

/* Counts what will be read, and finds when the trace begins. */
static int32_t survey(reader *r, const emp_json *events)
{
    int32_t count = 0;

    r->first_us = INFINITY;
    for (const emp_json *v = emp_json_first(events); v != NULL; v = emp_json_next(v)) {
        members         m = members_of(v);
        emp_kineto_kind kind;
        if (!find_kind(&kind, &m)) continue;
        count++;
        if (is_number(m.begin)) r->first_us = fmin(r->first_us, emp_json_number(m.begin));
    }
    if (!isfinite(r->first_us)) r->first_us = 0.0;
    return count;
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

emp_status emp_kineto_read(emp_kineto *out, const emp_json *root, emp_error *err)
{
    reader          r = {.trace = out};
    const emp_json *events = events_of(root);

    *out = (emp_kineto){.gpu_name = find_gpu(root)};
    EMP_CHECK(EMP_ALLOC(out->event, (size_t)survey(&r, events)));
    EMP_CHECK(EMP_ALLOC(out->lane, LANES_MAX));
    for (const emp_json *v = emp_json_first(events); v != NULL; v = emp_json_next(v)) {
        members         m = members_of(v);
        emp_kineto_kind kind;
        if (find_kind(&kind, &m)) EMP_CHECK(read_event(&r, &m, kind, err));
        r.index++;
    }
    qsort(out->event, (size_t)out->event_count, sizeof *out->event, by_begin);
    return EMP_OK;
}

void emp_kineto_clear(emp_kineto *trace)
{
    emp_free(trace->event);
    emp_free(trace->lane);
    *trace = (emp_kineto){0};
}
