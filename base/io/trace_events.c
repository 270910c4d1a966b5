// SPDX-License-Identifier: GPL-3.0-or-later
/* Complete events (X), flows (s, f), counters (C), metadata (M). */
#include "base/io/trace_events.h"

#include <inttypes.h>

void emp_trace_begin(emp_trace_events *e, FILE *file)
{
    *e = (emp_trace_events){file, "", 0};
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", file);
}

void emp_trace_end(emp_trace_events *e) { fputs("\n]}\n", e->file); }

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

/* The members that all events share; the caller adds its own and the closing brace. */
static void begin(emp_trace_events *e, const char *phase, const char *name, int32_t pid,
                  int32_t tid)
{
    fprintf(e->file, "%s{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"name\":", e->separator,
            phase, pid, tid);
    write_string(e->file, name);
    e->separator = ",\n";
}

static void write_time(emp_trace_events *e, const char *key, int64_t t_ns)
{
    fprintf(e->file, ",\"%s\":%" PRId64 ".%03d", key, t_ns / 1000, (int)(t_ns % 1000));
}

static void begin_span(emp_trace_events *e, const char *name, const char *category,
                       int32_t pid, int32_t tid, int64_t start_ns, int64_t end_ns)
{
    begin(e, "X", name, pid, tid);
    write_time(e, "ts", start_ns);
    write_time(e, "dur", end_ns - start_ns);
    fputs(",\"cat\":", e->file);
    write_string(e->file, category);
}

void emp_trace_span(emp_trace_events *e, const char *name, const char *category,
                    int32_t pid, int32_t tid, int64_t start_ns, int64_t end_ns)
{
    begin_span(e, name, category, pid, tid, start_ns, end_ns);
    fputc('}', e->file);
}

void emp_trace_copy(emp_trace_events *e, const char *name, int32_t pid, int32_t tid,
                    int64_t start_ns, int64_t end_ns, int64_t bytes, const char *from,
                    const char *to)
{
    begin_span(e, name, "copy", pid, tid, start_ns, end_ns);
    fprintf(e->file, ",\"args\":{\"bytes\":%" PRId64 ",\"from\":\"%s\",\"to\":\"%s\"}}",
            bytes, from, to);
}

void emp_trace_flow(emp_trace_events *e, const emp_trace_slice *from,
                    const emp_trace_slice *to)
{
    if (from->at_ns < 0 || to->at_ns < 0) return;
    for (int end = 0; end < 2; end++) {
        const emp_trace_slice *at = end == 0 ? from : to;
        begin(e, end == 0 ? "s" : "f", "tensor", at->pid, at->tid);
        write_time(e, "ts", at->at_ns);
        fprintf(e->file, ",\"cat\":\"tensor\",\"id\":%" PRId64 ",\"bp\":\"e\"}",
                e->flow_count);
    }
    e->flow_count++;
}

void emp_trace_bytes(emp_trace_events *e, const char *name, int32_t pid, int64_t at_ns,
                     int64_t bytes)
{
    begin(e, "C", name, pid, 0);
    write_time(e, "ts", at_ns);
    fprintf(e->file, ",\"args\":{\"bytes\":%" PRId64 "}}", bytes);
}

static void write_name(emp_trace_events *e, const char *what, int32_t pid, int32_t tid,
                       const char *name)
{
    begin(e, "M", what, pid, tid);
    fputs(",\"args\":{\"name\":", e->file);
    write_string(e->file, name);
    fputs("}}", e->file);
}

void emp_trace_name_process(emp_trace_events *e, int32_t pid, const char *name)
{
    write_name(e, "process_name", pid, 0, name);
}

void emp_trace_name_track(emp_trace_events *e, int32_t pid, int32_t tid, const char *name)
{
    write_name(e, "thread_name", pid, tid, name);
}
