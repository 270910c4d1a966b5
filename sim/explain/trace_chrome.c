// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/explain/trace_chrome.h"

#include <stdio.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "sim/machine/tracks.h"

_Static_assert((int)EMP_TRACK_BETWEEN_HOSTS >= (int)EMP_MAX_CORES, "tracks of tasks");

struct copy {
    emp_trace_slice slice;
    emp_device_id   to;
    int32_t         next; /* of the same tensor, or -1 */
};

struct writer {
    emp_trace_events          events;
    const emp_problem        *problem;
    const emp_runtime_events *runtime;
    const emp_device_id      *device_of_op;
    int32_t                   batch_count[EMP_MAX_DEVICES]; /* [CPU] seen so far */
    bool                      has_sent[EMP_MAX_DEVICES];    /* [CPU] to another host */
    emp_time_ns               send_ns, receive_ns;
    emp_trace_slice          *slice; /* [op] the last that it ran in, or was issued in */
    int32_t                  *arrival;    /* [op] copy that made it ready, or -1 */
    int32_t                  *first_copy; /* [tensor], or -1 */
    struct copy              *copy;       /* [edge] */
    int32_t                   copy_count;
    int32_t                   delivered; /* copy whose readers are being told, or -1 */
};

static bool is_cpu(const struct writer *w, emp_device_id device)
{
    return w->problem->machine->device[device].kind == EMP_DEVICE_CPU;
}

static bool has_host_thread(const struct writer *w, emp_device_id device)
{
    return w->runtime->serial_issue && !is_cpu(w, device);
}

static void write_op(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                     emp_time_ns start, emp_time_ns end)
{
    struct writer   *w = context;
    const emp_graph *g = w->problem->graph;
    int32_t          track = is_cpu(w, device) ? lane : EMP_TRACK_COMPUTE;
    emp_trace_slice *slice = &w->slice[op];

    if (lane >= w->batch_count[device]) w->batch_count[device] = lane + 1;
    emp_trace_span(&w->events, g->name[op], g->type_name[g->type[op]], device, track,
                   start, end);
    w->delivered = -1;
    if (end > start) *slice = (emp_trace_slice){start, device, track};
    if (w->arrival[op] >= 0)
        emp_trace_flow(&w->events, &w->copy[w->arrival[op]].slice, slice);
    w->arrival[op] = -1; /* one arrow, though its tasks may come in several batches */
}

static void write_issue(void *context, emp_op_id op, emp_device_id device,
                        emp_time_ns start, emp_time_ns end)
{
    struct writer *w = context;

    emp_trace_span(&w->events, w->problem->graph->name[op], "issue", device,
                   EMP_TRACK_HOST, start, end);
    if (end > start) w->slice[op] = (emp_trace_slice){start, device, EMP_TRACK_HOST};
}

static void see_ready(void *context, emp_op_id op, emp_device_id device, emp_time_ns at)
{
    struct writer *w = context;

    (void)device;
    (void)at;
    w->arrival[op] = w->delivered;
}

static void see_message(void *context, emp_op_id op, emp_device_id to, emp_time_ns at)
{
    struct writer *w = context;

    (void)op;
    (void)to;
    (void)at;
    w->delivered = -1;
}

static int32_t find_copy(const struct writer *w, emp_tensor_id tensor, emp_device_id to)
{
    int32_t i = w->first_copy[tensor];

    while (i >= 0 && w->copy[i].to != to) i = w->copy[i].next;
    return i;
}

/* What host threads do for a copy. */
static void write_copy(void *context, emp_tensor_id tensor, emp_device_id from,
                       emp_device_id to, emp_sim_copy_phase phase, emp_time_ns at)
{
    struct writer   *w = context;
    const emp_graph *g = w->problem->graph;
    emp_op_id        producer = g->tensor[tensor].producer;
    bool             is_send = phase == EMP_SIM_COPY_REQUESTED;
    emp_device_id    device = is_send ? w->device_of_op[producer] : to;
    emp_time_ns      start = at - (is_send ? w->send_ns : w->receive_ns);

    (void)from;
    if (phase == EMP_SIM_COPY_TOLD) return;
    if (phase == EMP_SIM_COPY_DELIVERED) w->delivered = find_copy(w, tensor, to);
    if (!has_host_thread(w, device)) return;
    emp_trace_span(&w->events, g->name[producer], is_send ? "send" : "receive", device,
                   EMP_TRACK_HOST, start, at);
}

static void write_transfer(void *context, emp_tensor_id tensor, emp_device_id from,
                           emp_device_id to, emp_time_ns start, emp_time_ns end)
{
    struct writer    *w = context;
    const emp_graph  *g = w->problem->graph;
    const emp_tensor *t = &g->tensor[tensor];
    struct copy       copy = {.slice =
                                  emp_track_of_copy(from, is_cpu(w, from), to, is_cpu(w, to),
                                              end > start ? start : -1),
                              .to = to,
                              .next = w->first_copy[tensor]};

    if (copy.slice.tid == EMP_TRACK_BETWEEN_HOSTS) w->has_sent[from] = true;
    emp_trace_copy(&w->events, g->name[t->producer], copy.slice.pid, copy.slice.tid,
                   start, end, t->copy_bytes, w->problem->machine->device[from].name,
                   w->problem->machine->device[to].name);
    emp_trace_flow(&w->events, &w->slice[t->producer], &copy.slice);
    if (w->copy_count == g->edge_count) return;
    w->first_copy[tensor] = w->copy_count;
    w->copy[w->copy_count++] = copy;
}

static void write_memory(void *context, emp_device_id device, emp_time_ns at,
                         int64_t bytes)
{
    struct writer *w = context;

    emp_track_memory(&w->events, device, at, bytes);
}

static void write_names(struct writer *w)
{
    const emp_machine *m = w->problem->machine;

    for (emp_device_id d = 0; d < m->device_count; d++) {
        if (!is_cpu(w, d)) {
            emp_track_name_gpu(&w->events, d, m->device[d].name);
            continue;
        }
        emp_trace_name_process(&w->events, d, m->device[d].name);
        for (int32_t t = 0; t < w->batch_count[d]; t++)
            emp_track_name_cpu(&w->events, d, t);
        if (w->has_sent[d]) emp_track_name_cpu(&w->events, d, EMP_TRACK_BETWEEN_HOSTS);
    }
}

/* The fixed cost of the step, after all else. */
static void write_step(struct writer *w, const emp_sim_result *result)
{
    int32_t     pid = w->problem->machine->device_count;
    emp_time_ns fixed = emp_ns_of_seconds(w->runtime->step_s);

    if (fixed == 0) return;
    emp_trace_name_process(&w->events, pid, "step");
    emp_trace_name_track(&w->events, pid, 0, "fixed cost");
    emp_trace_span(&w->events, "fixed cost of the step", "step", pid, 0,
                   result->step_time_ns - fixed, result->step_time_ns);
}

static emp_status prepare(struct writer *w, emp_error *err)
{
    const emp_graph *g = w->problem->graph;

    w->send_ns = emp_ns_of_seconds(w->runtime->send_s);
    w->receive_ns = emp_ns_of_seconds(w->runtime->receive_s);
    w->delivered = -1;
    EMP_CHECK(EMP_ALLOC(w->slice, (size_t)g->op_count));
    EMP_CHECK(EMP_ALLOC(w->arrival, (size_t)g->op_count));
    EMP_CHECK(EMP_ALLOC(w->first_copy, (size_t)g->tensor_count));
    EMP_CHECK(EMP_ALLOC(w->copy, (size_t)g->edge_count));
    for (emp_op_id op = 0; op < g->op_count; op++) w->slice[op].at_ns = -1;
    memset(w->arrival, -1, (size_t)g->op_count * sizeof *w->arrival);
    memset(w->first_copy, -1, (size_t)g->tensor_count * sizeof *w->first_copy);
    return EMP_OK;
}

static void clear(struct writer *w)
{
    emp_free(w->slice);
    emp_free(w->arrival);
    emp_free(w->first_copy);
    emp_free(w->copy);
}

emp_status emp_trace_chrome_write(const char *path, emp_sim *sim,
                                  const emp_problem   *problem,
                                  const emp_device_id *device_of_op,
                                  emp_sim_result *result, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_atomic_file file = {0};
    struct writer   w = {.problem = problem,
                         .runtime = emp_runtime_events_of(&problem->runtime),
                         .device_of_op = device_of_op};
    emp_sim_trace   trace = {.context = &w,
                             .op = write_op,
                             .issue = write_issue,
                             .ready = see_ready,
                             .copy = write_copy,
                             .message = see_message,
                             .transfer = write_transfer,
                             .memory = write_memory};

    EMP_TRY(prepare(&w, err));
    EMP_TRY(emp_atomic_file_open(&file, path, err));
    emp_trace_begin(&w.events, file.stream);
    EMP_TRY(emp_sim_run_traced(sim, device_of_op, &trace, result, err));
    write_names(&w);
    write_step(&w, result);
    emp_trace_end(&w.events);
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    clear(&w);
    return st;
}
