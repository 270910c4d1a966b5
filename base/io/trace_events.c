// SPDX-License-Identifier: GPL-3.0-or-later
/* Complete events (X), flows (s, f), counters (C), metadata (M). */
#include "base/io/trace_events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { FIRST_EVENTS = 1024, FIRST_TEXT = 4096 };

/* ---- collecting ---- */

static emp_trace_event *add_event(emp_trace_events *e, const emp_trace_event *event)
{
    if (e->count == e->limit) {
        int32_t          limit = e->limit > 0 ? 2 * e->limit : FIRST_EVENTS;
        bool             is_too_many = e->limit > INT32_MAX / 2;
        emp_trace_event *grown =
            is_too_many ? NULL : emp_realloc(e->event, (size_t)limit, sizeof *grown);
        if (grown == NULL) {
            e->is_out_of_memory = true;
            return NULL;
        }
        e->event = grown;
        e->limit = limit;
    }
    e->event[e->count] = *event;
    e->event[e->count].facts = e->text_used;
    e->event[e->count].track.pid += e->first_pid;
    return &e->event[e->count++];
}

static void add_text(emp_trace_events *e, const char *text, size_t length)
{
    if (e->text_limit - e->text_used < length) {
        size_t limit = e->text_limit > 0 ? e->text_limit : FIRST_TEXT;
        while (limit - e->text_used < length) limit *= 2;
        char *grown = emp_realloc(e->text, limit, 1);
        if (grown == NULL) {
            e->is_out_of_memory = true;
            return;
        }
        e->text = grown;
        e->text_limit = limit;
    }
    memcpy(e->text + e->text_used, text, length);
    e->text_used += length;
}

/* In quotes. */
static void add_string(emp_trace_events *e, const char *text, size_t length)
{
    char escape[8];

    add_text(e, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') {
            add_text(e, "\\", 1);
            add_text(e, &text[i], 1);
        } else if (c < 0x20) {
            add_text(e, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", c));
        } else {
            add_text(e, &text[i], 1);
        }
    }
    add_text(e, "\"", 1);
}

/* The text since the event is its facts. */
static void close_facts(emp_trace_events *e)
{
    emp_trace_event *last = &e->event[e->count - 1];

    last->facts_length = e->text_used - last->facts;
}

static void add_key(emp_trace_events *e, const char *key)
{
    if (e->event[e->count - 1].facts_length > 0) add_text(e, ",", 1);
    add_string(e, key, strlen(key));
    add_text(e, ":", 1);
}

emp_trace_slice emp_trace_span(emp_trace_events *e, const char *name,
                               const char *category, emp_trace_track track,
                               int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns) return -1;
    if (add_event(e, &(emp_trace_event){.phase = 'X',
                                        .track = track,
                                        .at_ns = start_ns,
                                        .number = end_ns - start_ns,
                                        .name = name,
                                        .category = category}) == NULL)
        return -1;
    return e->count - 1;
}

void emp_trace_arg_text(emp_trace_events *e, emp_trace_slice slice, const char *key,
                        const char *text, size_t length)
{
    if (slice < 0) return;
    add_key(e, key);
    add_string(e, text, length);
    close_facts(e);
}

void emp_trace_arg_number(emp_trace_events *e, emp_trace_slice slice, const char *key,
                          int64_t number)
{
    char text[24];
    int  length = snprintf(text, sizeof text, "%" PRId64, number);

    if (slice < 0) return;
    add_key(e, key);
    add_text(e, text, (size_t)length);
    close_facts(e);
}

void emp_trace_arg_flag(emp_trace_events *e, emp_trace_slice slice, const char *key,
                        bool flag)
{
    const char *text = flag ? "true" : "false";

    if (slice < 0) return;
    add_key(e, key);
    add_text(e, text, strlen(text));
    close_facts(e);
}

emp_trace_slice emp_trace_copy(emp_trace_events *e, const char *name,
                               emp_trace_track track, int64_t start_ns, int64_t end_ns,
                               int64_t bytes, const char *from, const char *to)
{
    emp_trace_slice slice = emp_trace_span(e, name, "copy", track, start_ns, end_ns);

    emp_trace_arg_number(e, slice, "bytes", bytes);
    emp_trace_arg_text(e, slice, "from", from, strlen(from));
    emp_trace_arg_text(e, slice, "to", to, strlen(to));
    return slice;
}

void emp_trace_flow(emp_trace_events *e, emp_trace_slice from, emp_trace_slice to)
{
    if (from < 0 || to < 0) return;
    for (int end = 0; end < 2; end++) {
        emp_trace_slice slice = end == 0 ? from : to;
        add_event(e, &(emp_trace_event){.phase = end == 0 ? 's' : 'f',
                                        .slice = slice,
                                        .at_ns = e->event[slice].at_ns,
                                        .number = e->arrow_count,
                                        .name = "tensor",
                                        .category = "tensor"});
    }
    e->arrow_count++;
}

void emp_trace_bytes(emp_trace_events *e, const char *name, int32_t pid, int64_t at_ns,
                     int64_t bytes)
{
    add_event(e, &(emp_trace_event){.phase = 'C',
                                    .track = {pid, 0},
                                    .at_ns = at_ns,
                                    .number = bytes,
                                    .name = name});
}

static void add_name(emp_trace_events *e, const char *what, emp_trace_track track,
                     const char *name)
{
    if (add_event(e,
                  &(emp_trace_event){
                      .phase = 'M', .track = track, .at_ns = -1, .name = what}) == NULL)
        return;
    add_key(e, "name");
    add_string(e, name, strlen(name));
    close_facts(e);
}

void emp_trace_name_process(emp_trace_events *e, int32_t pid, const char *name)
{
    char whole[256];

    if (e->group != NULL) snprintf(whole, sizeof whole, "%s: %s", e->group, name);
    add_name(e, "process_name", (emp_trace_track){pid, 0},
             e->group != NULL ? whole : name);
}

void emp_trace_name_track(emp_trace_events *e, emp_trace_track track, const char *name)
{
    add_name(e, "thread_name", track, name);
}

void emp_trace_clear(emp_trace_events *e)
{
    emp_free(e->event);
    emp_free(e->text);
    *e = (emp_trace_events){0};
}

/* ---- tracks ---- */

/* The sort key of events; ties are in the order in which they were added. */
struct key {
    emp_trace_track track; /* of slices while they are given tracks; else zeros */
    int64_t         at_ns;
    int32_t         rank, event;
};

static int compare(int64_t a, int64_t b) { return a < b ? -1 : a > b; }

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    int               order = compare(x->track.pid, y->track.pid);

    if (order == 0) order = compare(x->track.tid, y->track.tid);
    if (order == 0) order = compare(x->at_ns, y->at_ns);
    if (order == 0) order = compare(x->rank, y->rank);
    return order != 0 ? order : compare(x->event, y->event);
}

/* A track, or a further one beside it. */
struct lane {
    int32_t tid;
    int64_t end_ns;
};

struct lanes {
    struct lane *lane;
    int32_t      count, limit;
    int32_t      next_tid;
};

/* A further track has the name of its first one. */
static void name_lane(emp_trace_events *e, emp_trace_track first, int32_t tid)
{
    for (int32_t i = 0; i < e->count; i++) {
        const emp_trace_event *named = &e->event[i];
        if (named->phase != 'M' || strcmp(named->name, "thread_name") != 0 ||
            named->track.pid != first.pid || named->track.tid != first.tid)
            continue;
        emp_trace_event name = *named;
        name.track.tid = tid;
        emp_trace_event *added = add_event(e, &name);
        if (added != NULL) added->facts = name.facts;
        return;
    }
}

static emp_status add_lane(struct lanes *l, emp_trace_events *e, emp_trace_track first,
                           emp_error *err)
{
    EMP_CHECK(EMP_GROW(l->lane, l->count + 1, l->limit));
    int32_t tid = l->count == 0 ? first.tid : l->next_tid++;
    if (l->count > 0) name_lane(e, first, tid);
    l->lane[l->count++] = (struct lane){tid, INT64_MIN};
    return EMP_OK;
}

/* Gives the slice, which begins after all before it on its track, the first lane that is
 * free. */
static emp_status take_lane(struct lanes *l, emp_trace_events *e, const struct key *key,
                            emp_error *err)
{
    int32_t at = 0;

    while (at < l->count && l->lane[at].end_ns > key->at_ns) at++;
    if (at == l->count) EMP_CHECK(add_lane(l, e, key->track, err));
    e->event[key->event].track.tid = l->lane[at].tid;
    l->lane[at].end_ns = key->at_ns + e->event[key->event].number;
    return EMP_OK;
}

static emp_status spread_slices(emp_trace_events *e, struct key *key, emp_error *err)
{
    emp_status   st = EMP_OK;
    struct lanes lanes = {.next_tid = EMP_TRACE_FURTHER};
    int32_t      count = 0;

    for (int32_t i = 0; i < e->count; i++) {
        const emp_trace_event *event = &e->event[i];
        if (event->phase == 'X')
            key[count++] =
                (struct key){.track = event->track, .at_ns = event->at_ns, .event = i};
    }
    qsort(key, (size_t)count, sizeof *key, compare_keys);
    for (int32_t i = 0; i < count; i++) {
        bool is_first = i == 0 || key[i].track.pid != key[i - 1].track.pid ||
                        key[i].track.tid != key[i - 1].track.tid;
        if (is_first) lanes.count = 0;
        EMP_TRY(take_lane(&lanes, e, &key[i], err));
    }

cleanup:
    emp_free(lanes.lane);
    return st;
}

/* ---- writing ---- */

static void write_time(FILE *file, const char *key, int64_t t_ns)
{
    fprintf(file, ",\"%s\":%" PRId64 ".%03d", key, t_ns / 1000, (int)(t_ns % 1000));
}

static void write_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            fprintf(file, "\\%c", c);
        } else if (c < 0x20) {
            fprintf(file, "\\u%04x", c);
        } else {
            fputc(c, file);
        }
    }
    fputc('"', file);
}

static void write_event(const emp_trace_events *e, const emp_trace_event *event,
                        FILE *file)
{
    bool            is_arrow = event->phase == 's' || event->phase == 'f';
    emp_trace_track track = is_arrow ? e->event[event->slice].track : event->track;

    fprintf(file, "{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d,\"name\":", event->phase,
            track.pid, track.tid);
    write_string(file, event->name);
    if (event->phase != 'M') write_time(file, "ts", event->at_ns);
    if (event->phase == 'X') write_time(file, "dur", event->number);
    if (event->category != NULL) {
        fputs(",\"cat\":", file);
        write_string(file, event->category);
    }
    if (is_arrow) fprintf(file, ",\"id\":%" PRId64 ",\"bp\":\"e\"", event->number);
    if (event->phase == 'C') {
        fprintf(file, ",\"args\":{\"bytes\":%" PRId64 "}", event->number);
    } else if (event->facts_length > 0) {
        fputs(",\"args\":{", file);
        fwrite(e->text + event->facts, 1, event->facts_length, file);
        fputc('}', file);
    }
    fputc('}', file);
}

/* The order of simultaneous events: names, slices, counters, and arrows, which bind to slices that stand
 * before them. */
static int32_t rank_of(char phase) { return (int32_t)(strchr("MXCsf", phase) - "MXCsf"); }

/* In the order in which they are written; behind spread_slices(), which may add names. */
static emp_status sort_all(const emp_trace_events *e, struct key **key, emp_error *err)
{
    EMP_CHECK(EMP_ALLOC(*key, (size_t)e->count));
    for (int32_t i = 0; i < e->count; i++)
        (*key)[i] = (struct key){
            .at_ns = e->event[i].at_ns, .rank = rank_of(e->event[i].phase), .event = i};
    qsort(*key, (size_t)e->count, sizeof **key, compare_keys);
    return EMP_OK;
}

emp_status emp_trace_write(emp_trace_events *e, FILE *file, emp_error *err)
{
    emp_status  st = EMP_OK;
    struct key *slices = NULL, *all = NULL;

    EMP_TRY(EMP_ALLOC(slices, (size_t)e->count));
    EMP_TRY(spread_slices(e, slices, err));
    if (e->is_out_of_memory) EMP_FAIL(EMP_ENOMEM, "%d events of a timeline", e->count);
    EMP_TRY(sort_all(e, &all, err));
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", file);
    for (int32_t i = 0; i < e->count; i++) {
        if (i > 0) fputs(",\n", file);
        write_event(e, &e->event[all[i].event], file);
    }
    fputs("\n]}\n", file);

cleanup:
    emp_free(slices);
    emp_free(all);
    return st;
}
