/** \file base/io/trace_events.h
 * Timelines for Perfetto (ui.perfetto.dev) and chrome://tracing: "Trace Event Format", Google
 * 2016. Processes and tracks are numbers (pid, tid) that are given names; on tracks there are
 * slices, with arrows between them; processes have counters. Times are nanoseconds, written as
 * microseconds with three decimals, so that nothing is lost.
 *
 *     emp_trace_events events = {0};
 *     emp_trace_slice slice = emp_trace_span(&events, "MatMul", "op", track, 0, 10);
 *     emp_trace_arg_number(&events, slice, "flops", 512);
 *     EMP_TRY(emp_trace_write(&events, file, err));
 *     emp_trace_clear(&events);
 *
 * Events are added in any order and written in the order of time. Slices of one track never
 * overlap: those that would are written on further tracks of the same name. Events without duration
 * have no slice.
 */
#ifndef EMP_BASE_IO_TRACE_EVENTS_H
#define EMP_BASE_IO_TRACE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

typedef struct {
    int32_t pid, tid; /**< tid: below EMP_TRACE_FURTHER */
} emp_trace_track;

enum { EMP_TRACE_FURTHER = 1000 }; /**< further tracks are numbered from here on */

/** The number of a slice, for arrows and facts; -1 = none. */
typedef int32_t emp_trace_slice;

/** Private. */
typedef struct {
    char            phase; /* X, s, f, C, M */
    emp_trace_track track;
    emp_trace_slice slice; /* that an arrow begins or ends at */
    int64_t         at_ns;
    int64_t         number; /* duration, bytes, or the arrow's id */
    const char     *name, *category;
    size_t          facts, facts_length; /* of text: members of "args" */
} emp_trace_event;

/** Zero-initialise. emp_trace_write() reports failed allocations. */
typedef struct {
    emp_trace_event *event;
    int32_t          count, limit;
    char            *text;
    size_t           text_used, text_limit;
    int64_t          arrow_count;
    bool             is_out_of_memory;
    int32_t
        first_pid; /**< may be set between events: added to the pid of those that follow */
    const char *group; /**< likewise, or NULL: stands before the names of processes */
} emp_trace_events;

/** A slice; \a category is a word to filter by. Both texts are borrowed. \return -1 if it has no
 * length. */
emp_trace_slice emp_trace_span(emp_trace_events *e, const char *name,
                               const char *category, emp_trace_track track,
                               int64_t start_ns, int64_t end_ns);

/** Facts about the last slice that was added, or about none if \a slice is -1. */
void emp_trace_arg_text(emp_trace_events *e, emp_trace_slice slice, const char *key,
                        const char *text, size_t length);
void emp_trace_arg_number(emp_trace_events *e, emp_trace_slice slice, const char *key,
                          int64_t number);
void emp_trace_arg_flag(emp_trace_events *e, emp_trace_slice slice, const char *key,
                        bool flag);

/** The slice of a copy, with its size and its ends. */
emp_trace_slice emp_trace_copy(emp_trace_events *e, const char *name,
                               emp_trace_track track, int64_t start_ns, int64_t end_ns,
                               int64_t bytes, const char *from, const char *to);
/** An arrow between two slices; none where one of them is none. */
void emp_trace_flow(emp_trace_events *e, emp_trace_slice from, emp_trace_slice to);
/** A process's counter of bytes has this value from \a at_ns on. */
void emp_trace_bytes(emp_trace_events *e, const char *name, int32_t pid, int64_t at_ns,
                     int64_t bytes);

/** Names are copied. */
void emp_trace_name_process(emp_trace_events *e, int32_t pid, const char *name);
void emp_trace_name_track(emp_trace_events *e, emp_trace_track track, const char *name);

/** Writes all events. O(n log n). \retval EMP_ENOMEM  Now, or when an event was added. */
emp_status emp_trace_write(emp_trace_events *e, FILE *file, emp_error *err);
void       emp_trace_clear(emp_trace_events *e);

#endif /* EMP_BASE_IO_TRACE_EVENTS_H */
