// SPDX-License-Identifier: GPL-3.0-or-later
/* Walks a schedule backwards: from something that happens to what had to happen just
 * before. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sim/explain/explain_internal.h"

/* The event at the walk's moment. */
enum happens {
    NOTHING,  /* the step begins */
    RUN_ENDS, /* id: run */
    RUN_BEGINS,
    ISSUED,    /* id: op */
    READY,     /* id: op */
    TOLD,      /* id: op; the waiting ops are notified */
    DELIVERED, /* id: copy */
    PASSED,    /* id: copy; it has left its links, and the host knows */
    STARTED,   /* id: copy; it takes its links */
    REQUESTED  /* id: copy */
};

struct walk;
typedef void take_segment(struct walk *w, const emp_explain_segment *segment);

struct walk {
    const emp_explain_schedule *s;
    enum happens                what;
    int32_t                     id;
    emp_time_ns                 at;
    emp_time_ns                 floor; /* earlier is of no interest */
    bool                        is_strange, is_out_of_memory;
    take_segment               *take;
    void                       *context;
};

/* The time from \a start to the walk's moment went into \a segment; \a start is the
 * moment now. */
static void spend(struct walk *w, emp_time_ns start, emp_explain_segment segment)
{
    if (start < 0 || start > w->at) {
        w->is_strange = true;
        return;
    }
    segment.start_ns = emp_time_later(start, w->floor);
    segment.end_ns = w->at;
    if (segment.start_ns < segment.end_ns) w->take(w, &segment);
    w->at = start;
}

static void spend_on_op(struct walk *w, emp_time_ns start, emp_explain_cause cause,
                        emp_op_id op)
{
    emp_device_id device = w->s->op[op].device;
    bool          is_wait = cause == EMP_CAUSE_GPU_WAIT || cause == EMP_CAUSE_CPU_WAIT;

    spend(w, start,
          (emp_explain_segment){.cause = cause,
                                .op = op,
                                .tensor = -1,
                                .device = device,
                                .to = -1,
                                .busy = is_wait ? device : -1});
}

static void spend_on_copy(struct walk *w, emp_time_ns start, emp_explain_cause cause,
                          const emp_explain_copy *c)
{
    spend(w, start,
          (emp_explain_segment){
              .cause = cause,
              .op = w->s->problem->graph->tensor[c->tensor].producer,
              .tensor = c->tensor,
              .device = c->from,
              .to = c->to,
              .busy = cause == EMP_CAUSE_COPY_COMPUTE_WAIT ? c->computed_on : -1});
}

static void go(struct walk *w, enum happens what, int32_t id)
{
    w->what = what;
    w->id = id;
}

static bool is_cpu(const struct walk *w, emp_device_id device)
{
    return w->s->problem->machine->device[device].kind == EMP_DEVICE_CPU;
}

static void leave_run(struct walk *w, const emp_explain_run *run)
{
    if (run->end_ns != w->at) w->is_strange = true;
    spend_on_op(w, run->start_ns,
                is_cpu(w, run->device) ? EMP_CAUSE_CPU_OP : EMP_CAUSE_GPU_OP, run->op);
    go(w, RUN_BEGINS, w->id);
}

/* The input of \a op, in the memory of its GPU, that is computed last. */
static const emp_explain_op *last_input(const struct walk *w, emp_op_id op)
{
    const emp_graph      *g = w->s->problem->graph;
    const emp_explain_op *last = NULL;

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        const emp_tensor     *t = &g->tensor[g->input[i]];
        const emp_explain_op *from = &w->s->op[t->producer];
        if (t->on_host || from->device != w->s->op[op].device || from->data_op < 0)
            continue;
        if (last == NULL || from->data_ns > last->data_ns) last = from;
    }
    return last;
}

/* A kernel begins: the stream was busy, its inputs were being computed, it was issued. */
static void leave_stream(struct walk *w, emp_op_id op)
{
    emp_time_ns           issued = w->s->op[op].issued_ns;
    const emp_explain_op *data = w->at > issued ? last_input(w, op) : NULL;

    if (data != NULL && data->data_ns > issued) {
        spend_on_op(w, data->data_ns, EMP_CAUSE_GPU_WAIT, op);
        go(w, RUN_ENDS, w->s->op[data->data_op].last_run);
    } else {
        spend_on_op(w, issued, EMP_CAUSE_GPU_WAIT, op);
        go(w, ISSUED, op);
    }
}

static void leave_run_begin(struct walk *w, const emp_explain_run *run)
{
    const emp_explain_op *o = &w->s->op[run->op];
    emp_explain_cause     wait =
        is_cpu(w, run->device) ? EMP_CAUSE_CPU_WAIT : EMP_CAUSE_GPU_WAIT;

    if (run->previous >= 0) {
        spend_on_op(w, w->s->run[run->previous].end_ns, wait, run->op);
        go(w, RUN_ENDS, run->previous);
    } else if (emp_explain_has_host_thread(w->s->problem, run->device)) {
        leave_stream(w, run->op);
    } else {
        spend_on_op(w, o->ready_ns, wait, run->op);
        go(w, READY, run->op);
    }
}

static void leave_issue(struct walk *w, emp_op_id op)
{
    spend_on_op(w, w->s->op[op].issue_start_ns, EMP_CAUSE_ISSUE, op);
    spend_on_op(w, w->s->op[op].ready_ns, EMP_CAUSE_HOST_WAIT, op);
    go(w, READY, op);
}

static void leave_ready(struct walk *w, emp_op_id op)
{
    const emp_explain_op *o = &w->s->op[op];

    switch (o->trigger) {
    case EMP_EXPLAIN_BY_NOTHING: go(w, NOTHING, -1); break;
    case EMP_EXPLAIN_BY_OP: go(w, TOLD, o->ready_by); break;
    case EMP_EXPLAIN_BY_COPY: go(w, DELIVERED, o->ready_by); break;
    case EMP_EXPLAIN_BY_CLIENT: go(w, PASSED, o->ready_by); break;
    case EMP_EXPLAIN_BY_MESSAGE:
        spend(w, emp_explain_told_ns(w->s, o->ready_by),
              (emp_explain_segment){.cause = EMP_CAUSE_MESSAGE,
                                    .op = o->ready_by,
                                    .tensor = -1,
                                    .device = w->s->op[o->ready_by].device,
                                    .to = o->device,
                                    .busy = -1});
        go(w, TOLD, o->ready_by);
        break;
    }
}

static void leave_told(struct walk *w, emp_op_id op)
{
    const emp_explain_op *o = &w->s->op[op];

    if (emp_explain_told_ns(w->s, op) != w->at) w->is_strange = true;
    if (emp_explain_has_host_thread(w->s->problem, o->device)) {
        go(w, ISSUED, op);
    } else {
        go(w, RUN_ENDS, o->last_run);
    }
}

static void leave_passing(struct walk *w, const emp_explain_copy *c)
{
    spend_on_copy(w, c->end_ns, EMP_CAUSE_POLL, c);
    spend_on_copy(w, c->start_ns, EMP_CAUSE_TRANSFER, c);
    go(w, STARTED, w->id);
}

/* The time to receive a copy to another host; with host threads that is part of the transfer. */
static emp_time_ns hop_of(const struct walk *w, const emp_explain_copy *c)
{
    const emp_runtime_events *rt = &w->s->problem->runtime.events;

    if (rt->serial_issue) return 0;
    return emp_ns_of_seconds(emp_problem_hop_s(w->s->problem, c->from, c->to));
}

static void leave_delivery(struct walk *w, const emp_explain_copy *c)
{
    spend_on_copy(w, w->at - w->s->receive_ns - hop_of(w, c), EMP_CAUSE_RECEIVE, c);
    spend_on_copy(w, c->end_ns + w->s->poll_ns, EMP_CAUSE_HOST_WAIT, c);
    go(w, PASSED, w->id);
}

/* The wait of a copy is cut, from its beginning: compute that is queued, the stream,
 * links. It begins when the copy is requested or, if that is later, when what it moves
 * is computed. */
static void leave_start(struct walk *w, const emp_explain_copy *c)
{
    const emp_explain_op *producer =
        &w->s->op[w->s->problem->graph->tensor[c->tensor].producer];
    bool        is_on_gpu = c->from == producer->device && producer->data_op >= 0;
    bool        is_computed_later = is_on_gpu && producer->data_ns > c->requested_ns;
    emp_time_ns begin = is_computed_later ? producer->data_ns : c->requested_ns;
    emp_time_ns computed = emp_time_later(begin, emp_time_sooner(w->at, c->computed_ns));

    spend_on_copy(w, emp_time_later(computed, emp_time_sooner(w->at, c->stream_ns)),
                  EMP_CAUSE_LINK_WAIT, c);
    spend_on_copy(w, computed, EMP_CAUSE_COPY_STREAM_WAIT, c);
    spend_on_copy(w, begin, EMP_CAUSE_COPY_COMPUTE_WAIT, c);
    if (is_computed_later) {
        go(w, RUN_ENDS, w->s->op[producer->data_op].last_run);
    } else {
        go(w, REQUESTED, w->id);
    }
}

static void leave_request(struct walk *w, const emp_explain_copy *c)
{
    spend_on_copy(w, w->at - w->s->send_ns, EMP_CAUSE_SEND, c);
    spend_on_copy(w, c->told_ns, EMP_CAUSE_HOST_WAIT, c);
    go(w, TOLD, w->s->problem->graph->tensor[c->tensor].producer);
}

/* One step back in causes, over none to four stretches of time. */
static void step_back(struct walk *w)
{
    const emp_explain_schedule *s = w->s;

    if (w->what != NOTHING && w->id < 0) {
        w->is_strange = true;
        return;
    }
    switch (w->what) {
    case NOTHING: w->is_strange = true; break; /* and yet it is not the beginning */
    case RUN_ENDS: leave_run(w, &s->run[w->id]); break;
    case RUN_BEGINS: leave_run_begin(w, &s->run[w->id]); break;
    case ISSUED: leave_issue(w, w->id); break;
    case READY: leave_ready(w, w->id); break;
    case TOLD: leave_told(w, w->id); break;
    case DELIVERED: leave_delivery(w, &s->copy[w->id]); break;
    case PASSED: leave_passing(w, &s->copy[w->id]); break;
    case STARTED: leave_start(w, &s->copy[w->id]); break;
    case REQUESTED: leave_request(w, &s->copy[w->id]); break;
    }
}

static emp_status walk_back(struct walk *w, emp_error *err)
{
    while (w->at > w->floor && !w->is_strange && !w->is_out_of_memory) step_back(w);
    if (w->is_out_of_memory) return EMP_ERROR(EMP_ENOMEM, "critical path");
    if (w->is_strange) EMP_CHECK(emp_explain_refuse(w->s->problem, err));
    return EMP_OK;
}

/* ---- the critical path ---- */

struct segments {
    emp_explanation *why;
    int32_t          limit;
};

static void keep_segment(struct walk *w, const emp_explain_segment *segment)
{
    struct segments *kept = w->context;
    emp_explanation *why = kept->why;
    emp_error       *err = NULL;

    if (EMP_GROW(why->segment, why->segment_count + 1, kept->limit) != EMP_OK) {
        w->is_out_of_memory = true;
        return;
    }
    why->segment[why->segment_count++] = *segment;
    why->cause_ns[segment->cause] += segment->end_ns - segment->start_ns;
    why->cause_count[segment->cause]++;
}

/* The run that ends last; among several the one reported last. */
static int32_t last_run(const emp_explain_schedule *s)
{
    int32_t last = -1;

    for (int32_t i = 0; i < s->run_count; i++) {
        if (last < 0 || s->run[i].end_ns >= s->run[last].end_ns) last = i;
    }
    return last;
}

static void reverse(emp_explain_segment *segment, int32_t count)
{
    for (int32_t i = 0, j = count - 1; i < j; i++, j--) {
        emp_explain_segment kept = segment[i];
        segment[i] = segment[j];
        segment[j] = kept;
    }
}

emp_status emp_explain_find_path(emp_explanation *why, const emp_explain_schedule *s,
                                 emp_error *err)
{
    struct segments kept = {.why = why};
    struct walk     w = {.s = s,
                         .what = RUN_ENDS,
                         .id = last_run(s),
                         .at = s->result.step_time_ns,
                         .take = keep_segment,
                         .context = &kept};

    spend(&w, w.at - s->step_ns,
          (emp_explain_segment){.cause = EMP_CAUSE_STEP,
                                .op = -1,
                                .tensor = -1,
                                .device = -1,
                                .to = -1,
                                .busy = -1});
    EMP_CHECK(walk_back(&w, err));
    reverse(why->segment, why->segment_count);
    return EMP_OK;
}

/* ---- idle time ---- */

static void add_idle(struct walk *w, const emp_explain_segment *segment)
{
    emp_explain_device *device = w->context;

    device->idle_ns[emp_explain_cause_idle(segment->cause)] +=
        segment->end_ns - segment->start_ns;
}

/* Runs by device and start; ties stay in the order in which they were reported. */
struct start {
    emp_device_id device;
    emp_time_ns   start_ns;
    int32_t       run;
};

static int compare_starts(const void *a, const void *b)
{
    const struct start *x = a, *y = b;

    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return x->run < y->run ? -1 : x->run > y->run;
}

/* Busy and idle time of one device, whose \a count runs begin with \a start; runs of no
 * length end no gap. */
static emp_status divide_time(emp_explain_device *device, const emp_explain_schedule *s,
                              const struct start *start, int32_t count, emp_error *err)
{
    emp_time_ns done = 0, last = s->result.step_time_ns - s->step_ns;

    for (int32_t i = 0; i < count; i++) {
        const emp_explain_run *run = &s->run[start[i].run];
        if (run->end_ns <= done || run->end_ns == run->start_ns) continue;
        struct walk w = {.s = s,
                         .what = RUN_BEGINS,
                         .id = start[i].run,
                         .at = run->start_ns,
                         .floor = done,
                         .take = add_idle,
                         .context = device};
        EMP_CHECK(walk_back(&w, err));
        device->busy_ns += run->end_ns - emp_time_later(done, run->start_ns);
        done = run->end_ns;
    }
    device->idle_ns[EMP_IDLE_NOTHING_LEFT] = last - done;
    device->idle_ns[EMP_IDLE_STEP] = s->step_ns;
    return EMP_OK;
}

emp_status emp_explain_find_idle(emp_explanation *why, const emp_explain_schedule *s,
                                 emp_error *err)
{
    emp_status    st = EMP_OK;
    int32_t       first = 0;
    struct start *start = EMP_NEW_ARRAY(struct start, (size_t)s->run_count);

    if (start == NULL) EMP_FAIL(EMP_ENOMEM, "%d runs", s->run_count);
    for (int32_t i = 0; i < s->run_count; i++) {
        start[i] = (struct start){s->run[i].device, s->run[i].start_ns, i};
    }
    qsort(start, (size_t)s->run_count, sizeof *start, compare_starts);
    for (emp_device_id d = 0; d < s->result.device_count; d++) {
        int32_t end = first;
        while (end < s->run_count && start[end].device == d) end++;
        EMP_TRY(divide_time(&why->device[d], s, start + first, end - first, err));
        first = end;
    }
cleanup:
    emp_free(start);
    return st;
}

/* The longest segments of the critical path, and what those that wait for a device wait
 * behind. */
static emp_time_ns length_of(const emp_explanation *why, int32_t segment)
{
    return why->segment[segment].end_ns - why->segment[segment].start_ns;
}

static void list_worst(emp_explanation *why)
{
    for (int32_t i = 0; i < why->segment_count; i++) {
        int32_t at = why->worst_count;
        while (at > 0 && length_of(why, why->worst[at - 1].segment) < length_of(why, i))
            at--;
        if (at == EMP_EXPLAIN_WORST) continue;
        if (why->worst_count < EMP_EXPLAIN_WORST) why->worst_count++;
        memmove(&why->worst[at + 1], &why->worst[at],
                (size_t)(why->worst_count - 1 - at) * sizeof *why->worst);
        why->worst[at] = (emp_explain_item){.segment = i};
    }
}

/* The work of the device that \a segment waits for; type_ns[type] is all zeros. */
static void find_work(emp_explain_work *work, const emp_explain_schedule *s,
                      const emp_explain_segment *segment, emp_time_ns *type_ns)
{
    const emp_graph *g = s->problem->graph;

    for (int32_t i = 0; i < s->run_count; i++) {
        const emp_explain_run *run = &s->run[i];
        emp_time_ns            start = run->start_ns, end = run->end_ns;
        if (start < segment->start_ns) start = segment->start_ns;
        if (end > segment->end_ns) end = segment->end_ns;
        if (run->device != segment->busy || end <= start) continue;
        type_ns[g->type[run->op]] += end - start;
        work->time_ns += end - start;
        work->op_count++;
    }
    for (int32_t t = 0; t < g->type_count; t++) {
        if (type_ns[t] <= work->type_ns) continue;
        work->type = t;
        work->type_ns = type_ns[t];
    }
}

emp_status emp_explain_find_worst(emp_explanation *why, const emp_explain_schedule *s,
                                  emp_error *err)
{
    emp_status   st = EMP_OK;
    size_t       types = (size_t)s->problem->graph->type_count;
    emp_time_ns *type_ns = EMP_NEW_ARRAY(emp_time_ns, types);

    if (type_ns == NULL) EMP_FAIL(EMP_ENOMEM, "%zu op types", types);
    list_worst(why);
    for (int32_t i = 0; i < why->worst_count; i++) {
        const emp_explain_segment *segment = &why->segment[why->worst[i].segment];
        if (segment->busy < 0) continue;
        memset(type_ns, 0, types * sizeof *type_ns);
        find_work(&why->worst[i].behind, s, segment, type_ns);
    }
cleanup:
    emp_free(type_ns);
    return st;
}

emp_explain_idle emp_explain_cause_idle(emp_explain_cause cause)
{
    static const emp_explain_idle idle_of_cause[] = {
#define X(name, key, words, idle) EMP_IDLE_##idle,
        EMP_EXPLAIN_CAUSE_LIST(X)
#undef X
    };
    return idle_of_cause[cause];
}
