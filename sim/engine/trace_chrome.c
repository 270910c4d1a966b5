// SPDX-License-Identifier: GPL-3.0-or-later
/* "Trace Event Format", Google 2016: complete events (X), counters (C), metadata (M).
 * Times are microseconds with three decimals, so nothing is lost. */
#include "sim/engine/trace_chrome.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/atomic_file.h"

/* Tracks of a GPU; those of the CPU are its batches. */
enum {
    TRACK_COMPUTE,
    TRACK_HOST,
    TRACK_TO_DEVICE,
    TRACK_TO_HOST,
    TRACK_TO_PEER,
    GPU_TRACKS
};

static const char *const track_names[GPU_TRACKS] = {"compute stream", "host thread",
                                                    "copies from host", "copies to host",
                                                    "copies to peers"};

struct writer {
    FILE              *file;
    const emp_problem *problem;
    const char        *separator;
    int32_t            batch_count; /* of the CPU, seen so far */
};

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
static void begin(struct writer *w, const char *phase, const char *name,
                  emp_device_id pid, int32_t tid)
{
    fprintf(w->file, "%s{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"name\":", w->separator,
            phase, pid, tid);
    write_string(w->file, name);
    w->separator = ",\n";
}

static void write_time(struct writer *w, const char *key, emp_time_ns t)
{
    fprintf(w->file, ",\"%s\":%" PRId64 ".%03d", key, t / 1000, (int)(t % 1000));
}

static void write_span(struct writer *w, const char *name, emp_device_id pid, int32_t tid,
                       emp_time_ns start, emp_time_ns end)
{
    begin(w, "X", name, pid, tid);
    write_time(w, "ts", start);
    write_time(w, "dur", end - start);
}

static void write_op(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                     emp_time_ns start, emp_time_ns end)
{
    struct writer   *w = context;
    const emp_graph *g = w->problem->graph;

    if (device == 0 && lane >= w->batch_count) w->batch_count = lane + 1;
    write_span(w, g->name[op], device, device == 0 ? lane : TRACK_COMPUTE, start, end);
    fputs(",\"cat\":", w->file);
    write_string(w->file, g->type_name[g->type[op]]);
    fputc('}', w->file);
}

static void write_issue(void *context, emp_op_id op, emp_device_id device,
                        emp_time_ns start, emp_time_ns end)
{
    struct writer *w = context;

    write_span(w, w->problem->graph->name[op], device, TRACK_HOST, start, end);
    fputc('}', w->file);
}

static void write_transfer(void *context, emp_tensor_id tensor, emp_device_id from,
                           emp_device_id to, emp_time_ns start, emp_time_ns end)
{
    struct writer    *w = context;
    const emp_graph  *g = w->problem->graph;
    const emp_tensor *t = &g->tensor[tensor];
    int32_t track = to == 0 ? TRACK_TO_HOST : from == 0 ? TRACK_TO_DEVICE : TRACK_TO_PEER;

    write_span(w, g->name[t->producer], from == 0 ? to : from, track, start, end);
    fprintf(w->file, ",\"args\":{\"bytes\":%" PRId64 ",\"from\":\"%s\",\"to\":\"%s\"}}",
            t->copy_bytes, w->problem->machine->device[from].name,
            w->problem->machine->device[to].name);
}

static void write_memory(void *context, emp_device_id device, emp_time_ns at,
                         int64_t bytes)
{
    struct writer *w = context;

    begin(w, "C", "memory", device, 0);
    write_time(w, "ts", at);
    fprintf(w->file, ",\"args\":{\"bytes\":%" PRId64 "}}", bytes);
}

static void write_name(struct writer *w, const char *what, emp_device_id pid, int32_t tid,
                       const char *name)
{
    begin(w, "M", what, pid, tid);
    fputs(",\"args\":{\"name\":", w->file);
    write_string(w->file, name);
    fputs("}}", w->file);
}

static void write_names(struct writer *w)
{
    const emp_machine *m = w->problem->machine;

    for (emp_device_id d = 0; d < m->device_count; d++) {
        int32_t tracks = d == 0 ? w->batch_count : GPU_TRACKS;
        write_name(w, "process_name", d, 0, m->device[d].name);
        for (int32_t t = 0; t < tracks; t++) {
            char track_name[32];
            snprintf(track_name, sizeof track_name, "tasks %d", t);
            write_name(w, "thread_name", d, t, d == 0 ? track_name : track_names[t]);
        }
    }
}

emp_status emp_trace_chrome_write(const char *path, emp_sim *sim,
                                  const emp_problem   *problem,
                                  const emp_device_id *device_of_op,
                                  emp_sim_result *result, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_atomic_file file = {0};
    struct writer   w = {.problem = problem, .separator = ""};
    emp_sim_trace   trace = {.context = &w,
                             .op = write_op,
                             .issue = write_issue,
                             .transfer = write_transfer,
                             .memory = write_memory};

    EMP_TRY(emp_atomic_file_open(&file, path, err));
    w.file = file.stream;
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", w.file);
    EMP_TRY(emp_sim_run_traced(sim, device_of_op, &trace, result, err));
    write_names(&w);
    fputs("\n]}\n", w.file);
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    return st;
}
