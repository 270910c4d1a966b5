/** \file base/io/trace_events.h
 * Writes timelines for Perfetto (ui.perfetto.dev) and chrome://tracing: "Trace Event
 * Format", Google 2016. Processes and tracks are numbers (pid, tid) that are given names;
 * on tracks there are slices, with arrows between them; processes have counters. Times are
 * nanoseconds, written as microseconds with three decimals, so that nothing is lost.
 */
#ifndef EMP_BASE_IO_TRACE_EVENTS_H
#define EMP_BASE_IO_TRACE_EVENTS_H

#include <stdint.h>
#include <stdio.h>

/** A stream that gets events; begin with emp_trace_begin(). */
typedef struct {
    FILE       *file;
    const char *separator;
    int64_t     flow_count;
} emp_trace_events;

/** A slice that arrows begin or end at. An arrow binds to the slice that is open on its
 * track at its time and stands before it in the file. */
typedef struct {
    int64_t at_ns; /**< below 0 = there is none, or none that is long enough to see */
    int32_t pid, tid;
} emp_trace_slice;

void emp_trace_begin(emp_trace_events *e, FILE *file);
void emp_trace_end(emp_trace_events *e);

/** A slice; \a category is a word to filter by. */
void emp_trace_span(emp_trace_events *e, const char *name, const char *category,
                    int32_t pid, int32_t tid, int64_t start_ns, int64_t end_ns);
/** The slice of a copy, with its size and its ends. */
void emp_trace_copy(emp_trace_events *e, const char *name, int32_t pid, int32_t tid,
                    int64_t start_ns, int64_t end_ns, int64_t bytes, const char *from,
                    const char *to);
/** An arrow between two slices; none where one of them is none. */
void emp_trace_flow(emp_trace_events *e, const emp_trace_slice *from,
                    const emp_trace_slice *to);
/** A process's counter of bytes has this value from \a at_ns on. */
void emp_trace_bytes(emp_trace_events *e, const char *name, int32_t pid, int64_t at_ns,
                     int64_t bytes);

void emp_trace_name_process(emp_trace_events *e, int32_t pid, const char *name);
void emp_trace_name_track(emp_trace_events *e, int32_t pid, int32_t tid,
                          const char *name);

#endif /* EMP_BASE_IO_TRACE_EVENTS_H */
