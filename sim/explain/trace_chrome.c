// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/explain/pictures.h"

#include <string.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "sim/engine/sim.h"
#include "sim/explain/explain_internal.h"
#include "sim/machine/tracks.h"

_Static_assert((int)EMP_CAUSE_COUNT <= 32, "a bit for each cause");
_Static_assert((int)EMP_TRACK_BETWEEN_HOSTS >= (int)EMP_MAX_CORES, "tracks of tasks");

struct copy {
    emp_trace_slice slice;
    emp_device_id   to;
    int32_t         next; /* of the same tensor, or -1 */
};

struct writer {
    emp_trace_events         *events;
    const emp_problem        *problem;
    const emp_runtime_events *runtime;
    const emp_device_id      *device_of_op;
    const emp_sim            *sim;
    emp_scopes                scopes;
    emp_explain_schedule      schedule; /* of a run before this one */
    bool                      has_path; /* the rules tell what waits for what */
    uint32_t        *op_causes;   /* [op] bit c: the path spends on it for cause c */
    uint32_t        *copy_causes; /* [copy of the schedule] */
    int64_t          peak_bytes[EMP_MAX_DEVICES];  /* reported so far */
    int32_t          batch_count[EMP_MAX_DEVICES]; /* [CPU] seen so far */
    bool             has_sent[EMP_MAX_DEVICES];    /* [CPU] to another host */
    emp_time_ns      send_ns, receive_ns;
    emp_trace_slice *slice;      /* [op] the last that it ran in, or was issued in */
    int32_t         *arrival;    /* [op] copy that made it ready, or -1 */
    int32_t         *first_copy; /* [tensor], or -1 */
    struct copy     *copy;       /* [edge] */
    int32_t          copy_count;
    int32_t          delivered; /* copy whose readers are being notified, or -1 */
};

static bool is_cpu(const struct writer *w, emp_device_id device)
{
    return w->problem->machine->device[device].kind == EMP_DEVICE_CPU;
}

static bool has_host_thread(const struct writer *w, emp_device_id device)
{
    return w->runtime->serial_issue && !is_cpu(w, device);
}

/* ---- the critical path ---- */

static int32_t find_scheduled_copy(const struct writer *w, emp_tensor_id tensor,
                                   emp_device_id to)
{
    const emp_explain_schedule *s = &w->schedule;
    int32_t                     i = s->first_copy[tensor];

    while (i >= 0 && s->copy[i].to != to) i = s->copy[i].next;
    return i;
}

static void mark_segment(struct writer *w, const emp_explain_segment *segment)
{
    uint32_t bit = UINT32_C(1) << segment->cause;

    if (segment->tensor >= 0) {
        int32_t copy = find_scheduled_copy(w, segment->tensor, segment->to);
        if (copy >= 0) w->copy_causes[copy] |= bit;
    } else if (segment->op >= 0) {
        w->op_causes[segment->op] |= bit;
    }
}

/* Rules that do not tell what waits for what have no path, and neither have steps with fused ops; their slices say
 * nothing of one. */
static emp_status mark_path(struct writer *w, emp_sim *sim, const emp_decision *decision,
                            emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_explanation why = {0};

    if (w->problem->runtime.rules != EMP_RULES_EVENTS ||
        emp_explain_find_fused(w->problem, decision) >= 0)
        return EMP_OK;
    w->schedule.problem = w->problem;
    w->schedule.device_of_op = decision->device_of_op;
    w->schedule.level_of_op = decision->level_of_op;
    EMP_TRY(emp_explain_record(&w->schedule, sim, err));
    EMP_TRY(emp_explain_find_path(&why, &w->schedule, err));
    EMP_TRY(EMP_ALLOC(w->op_causes, (size_t)w->problem->graph->op_count));
    EMP_TRY(EMP_ALLOC(w->copy_causes, (size_t)w->schedule.copy_count));
    for (int32_t i = 0; i < why.segment_count; i++) mark_segment(w, &why.segment[i]);
    w->has_path = true;

cleanup:
    emp_free(why.segment);
    return st;
}

static void tell_op_path(struct writer *w, emp_trace_slice slice, emp_op_id op,
                         uint32_t causes)
{
    if (!w->has_path) return;
    emp_trace_arg_flag(w->events, slice, "critical", (w->op_causes[op] & causes) != 0);
}

static void tell_copy_path(struct writer *w, emp_trace_slice slice, emp_tensor_id tensor,
                           emp_device_id to, emp_explain_cause cause)
{
    int32_t copy = w->has_path ? find_scheduled_copy(w, tensor, to) : -1;

    if (copy < 0) return;
    emp_trace_arg_flag(w->events, slice, "critical", w->copy_causes[copy] >> cause & 1u);
}

/* ---- what happens ---- */

static void tell_facts(struct writer *w, emp_trace_slice slice, emp_op_id op)
{
    const emp_graph *g = w->problem->graph;
    const emp_scope *scope = &w->scopes.scope[w->scopes.of_op[op]];
    const emp_op    *o = &g->op[op];
    const char      *type = g->type_name[g->type[op]];
    char             text[EMP_SHAPE_TEXT_BYTES];

    if (slice < 0) return;
    emp_trace_arg_text(w->events, slice, "type", type, strlen(type));
    if (g->output_offset[op] < g->output_offset[op + 1]) {
        const char *shape = emp_shape_format(g->tensor[g->output_offset[op]].shape, text);
        emp_trace_arg_text(w->events, slice, "shape", shape, strlen(shape));
    }
    emp_trace_arg_number(w->events, slice, "flops", (int64_t)o->cost->flops);
    emp_trace_arg_number(w->events, slice, "bytes",
                         o->cost->bytes_read + o->cost->bytes_written);
    emp_trace_arg_text(w->events, slice, "scope", scope->name, (size_t)scope->length);
}

static void write_op(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                     emp_time_ns start, emp_time_ns end)
{
    struct writer   *w = context;
    const emp_graph *g = w->problem->graph;
    int32_t          tid = is_cpu(w, device) ? lane : EMP_TRACK_COMPUTE;
    emp_trace_slice  slice =
        emp_trace_span(w->events, g->name[op], g->type_name[g->type[op]],
                       (emp_trace_track){device, tid}, start, end);

    if (lane >= w->batch_count[device]) w->batch_count[device] = lane + 1;
    w->delivered = -1;
    tell_facts(w, slice, op);
    tell_op_path(w, slice, op, 1u << EMP_CAUSE_GPU_OP | 1u << EMP_CAUSE_CPU_OP);
    if (slice >= 0) w->slice[op] = slice;
    if (w->arrival[op] >= 0)
        emp_trace_flow(w->events, w->copy[w->arrival[op]].slice, w->slice[op]);
    w->arrival[op] = -1; /* one arrow, though its tasks may come in several batches */
}

static void write_issue(void *context, emp_op_id op, emp_device_id device,
                        emp_time_ns start, emp_time_ns end)
{
    struct writer  *w = context;
    emp_trace_slice slice =
        emp_trace_span(w->events, w->problem->graph->name[op], "issue",
                       (emp_trace_track){device, EMP_TRACK_HOST}, start, end);

    tell_op_path(w, slice, op, 1u << EMP_CAUSE_ISSUE);
    if (slice >= 0) w->slice[op] = slice;
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

/* The work of host threads for a copy. */
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
    if (phase == EMP_SIM_COPY_TOLD || phase == EMP_SIM_COPY_PASSED) return;
    if (phase == EMP_SIM_COPY_DELIVERED) w->delivered = find_copy(w, tensor, to);
    if (!has_host_thread(w, device)) return;
    emp_trace_slice slice =
        emp_trace_span(w->events, g->name[producer], is_send ? "send" : "receive",
                       (emp_trace_track){device, EMP_TRACK_HOST}, start, at);
    tell_copy_path(w, slice, tensor, to, is_send ? EMP_CAUSE_SEND : EMP_CAUSE_RECEIVE);
}

static void write_transfer(void *context, emp_tensor_id tensor, emp_device_id from,
                           emp_device_id to, emp_time_ns start, emp_time_ns end)
{
    struct writer     *w = context;
    const emp_machine *m = w->problem->machine;
    const emp_graph   *g = w->problem->graph;
    const emp_tensor  *t = &g->tensor[tensor];
    emp_trace_track track = emp_track_of_copy(from, is_cpu(w, from), to, is_cpu(w, to));
    emp_trace_slice slice =
        emp_trace_copy(w->events, g->name[t->producer], track, start, end, t->copy_bytes,
                       m->device[from].name, m->device[to].name);

    if (track.tid == EMP_TRACK_BETWEEN_HOSTS) w->has_sent[from] = true;
    tell_copy_path(w, slice, tensor, to, EMP_CAUSE_TRANSFER);
    emp_trace_flow(w->events, w->slice[t->producer], slice);
    if (w->copy_count == g->edge_count) return;
    w->copy[w->copy_count] = (struct copy){slice, to, w->first_copy[tensor]};
    w->first_copy[tensor] = w->copy_count++;
}

static void write_memory(void *context, emp_device_id device, emp_time_ns at,
                         int64_t bytes)
{
    struct writer *w = context;

    int64_t peak_bytes = emp_sim_live_get(w->sim, device).peak_bytes;

    emp_track_memory(w->events, device, at, bytes);
    if (peak_bytes == w->peak_bytes[device]) return;
    w->peak_bytes[device] = peak_bytes;
    emp_trace_bytes(w->events, "peak memory", device, at, peak_bytes);
}

static void write_names(struct writer *w)
{
    const emp_machine *m = w->problem->machine;

    for (emp_device_id d = 0; d < m->device_count; d++) {
        if (!is_cpu(w, d)) {
            emp_track_name_gpu(w->events, d, m->device[d].name);
            continue;
        }
        emp_trace_name_process(w->events, d, m->device[d].name);
        for (int32_t t = 0; t < w->batch_count[d]; t++)
            emp_track_name_cpu(w->events, d, t);
        if (w->has_sent[d]) emp_track_name_cpu(w->events, d, EMP_TRACK_BETWEEN_HOSTS);
    }
}

/* The fixed cost of the step, after all else. */
static void write_step(struct writer *w, const emp_sim_result *result)
{
    int32_t     pid = w->problem->machine->device_count;
    emp_time_ns fixed = emp_ns_of_seconds(w->runtime->step_s);

    if (fixed == 0) return;
    emp_trace_name_process(w->events, pid, "step");
    emp_trace_name_track(w->events, (emp_trace_track){pid, 0}, "fixed cost");
    emp_trace_span(w->events, "fixed cost of the step", "step", (emp_trace_track){pid, 0},
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
    EMP_CHECK(emp_scopes_init(&w->scopes, g, err));
    memset(w->slice, -1, (size_t)g->op_count * sizeof *w->slice);
    memset(w->arrival, -1, (size_t)g->op_count * sizeof *w->arrival);
    memset(w->first_copy, -1, (size_t)g->tensor_count * sizeof *w->first_copy);
    return EMP_OK;
}

/* The events stay. */
static void clear_placement(struct writer *w)
{
    emp_scopes_clear(&w->scopes);
    emp_explain_schedule_clear(&w->schedule);
    emp_free(w->op_causes);
    emp_free(w->copy_causes);
    emp_free(w->slice);
    emp_free(w->arrival);
    emp_free(w->first_copy);
    emp_free(w->copy);
}

/* Runs the step of a placement and adds its events. */
static emp_status add_step(emp_trace_events *events, emp_sim *sim,
                           const emp_problem *problem, const emp_decision *decision,
                           emp_sim_result *result, emp_error *err)
{
    emp_status    st = EMP_OK;
    struct writer w = {.events = events,
                       .problem = problem,
                       .runtime = emp_runtime_events_of(&problem->runtime),
                       .device_of_op = decision->device_of_op,
                       .sim = sim};
    emp_sim_trace trace = {.context = &w,
                           .op = write_op,
                           .issue = write_issue,
                           .ready = see_ready,
                           .copy = write_copy,
                           .message = see_message,
                           .transfer = write_transfer,
                           .memory = write_memory};

    EMP_TRY(prepare(&w, err));
    EMP_TRY(mark_path(&w, sim, decision, err));
    EMP_TRY(emp_sim_trace_decision(sim, decision, &trace, result, err));
    write_names(&w);
    write_step(&w, result);

cleanup:
    clear_placement(&w);
    return st;
}

emp_status emp_trace_chrome_write(const char *path, emp_sim *sim,
                                  const emp_problem           *problem,
                                  const emp_labelled_decision *placement, int32_t count,
                                  emp_sim_result *result, emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_atomic_file  file = {0};
    emp_trace_events events = {0};

    EMP_TRY(emp_atomic_file_open(&file, path, err));
    for (int32_t i = 0; i < count; i++) {
        events.first_pid = i * (problem->machine->device_count + 1); /* and the step */
        if (count > 1) events.group = placement[i].label;
        EMP_TRY(add_step(&events, sim, problem, &placement[i].decision, &result[i], err));
    }
    EMP_TRY(emp_trace_write(&events, file.stream, err));
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    emp_trace_clear(&events);
    return st;
}
