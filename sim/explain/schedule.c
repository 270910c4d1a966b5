// SPDX-License-Identifier: GPL-3.0-or-later
/* Notes what a traced run tells. It relies on two things that sim/engine/sim.h promises:
 * the event that makes an op ready is reported just before the op, and callbacks of each
 * device, stream and memory come in the order of their events. */
#include <string.h>

#include "base/mem.h"
#include "sim/engine/sim.h"
#include "sim/explain/explain_internal.h"

emp_status emp_explain_refuse(const emp_problem *problem, emp_error *err)
{
    return EMP_ERROR(
        EMP_EUNSUPPORTED,
        "the rules of runtime profile \"%s\" do not tell what waits for what; use "
        "--runtime tf-r1.3, whose event rules do",
        problem->runtime.name);
}

enum { STREAMS = 3 };

struct stream {
    emp_time_ns ready_ns;  /* when its last copy may take links */
    emp_time_ns copied_ns; /* when its last copy ends */
};

struct recorder {
    emp_explain_schedule *s;
    bool                  is_out_of_memory, is_strange;
    emp_explain_trigger   trigger; /* the last reported event that can make ops ready */
    int32_t               trigger_by;
    emp_device_id         trigger_to; /* of a message */
    emp_time_ns           queued_ns[EMP_MAX_DEVICES];
    struct stream         stream[EMP_MAX_DEVICES][STREAMS];
};

bool emp_explain_has_host_thread(const emp_problem *problem, emp_device_id device)
{
    return problem->runtime.events.serial_issue &&
           problem->machine->device[device].kind == EMP_DEVICE_GPU;
}

emp_time_ns emp_explain_told_ns(const emp_explain_schedule *s, emp_op_id op)
{
    const emp_explain_op *o = &s->op[op];

    if (emp_explain_has_host_thread(s->problem, o->device)) return o->issued_ns;
    return o->last_run < 0 ? -1 : s->run[o->last_run].end_ns;
}

static void on_ready(void *context, emp_op_id op, emp_device_id device, emp_time_ns at)
{
    struct recorder   *r = context;
    const emp_problem *p = r->s->problem;
    emp_explain_op    *o = &r->s->op[op];

    o->device = device;
    o->ready_ns = at;
    o->trigger = r->trigger;
    o->ready_by = r->trigger_by;
    if (r->trigger == EMP_EXPLAIN_BY_MESSAGE && r->trigger_to != device)
        o->trigger = EMP_EXPLAIN_BY_OP; /* that tells the rest, after a message at once */
    if (p->runtime.events.drain_copies && !p->runtime.events.serial_issue &&
        p->machine->device[device].kind == EMP_DEVICE_GPU) {
        emp_time_ns *queued = &r->queued_ns[device];
        *queued = (*queued > at ? *queued : at) + emp_problem_op_time_ns(p, op, device);
    }
}

static void on_issue(void *context, emp_op_id op, emp_device_id device, emp_time_ns start,
                     emp_time_ns end)
{
    struct recorder *r = context;
    emp_explain_op  *o = &r->s->op[op];

    (void)device;
    o->issue_start_ns = start;
    o->issued_ns = end;
}

/* When what the op makes in GPU memory is computed, and by whose kernel: its own, or the
 * last of those whose outputs it passes on. */
static void find_data(struct recorder *r, emp_op_id op, emp_time_ns end)
{
    emp_explain_schedule *s = r->s;
    const emp_graph      *g = s->problem->graph;
    emp_explain_op       *o = &s->op[op];

    o->data_ns = end;
    o->data_op = op;
    if (g->op[op].cost->kernels > 0) return;
    o->data_op = -1;
    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        const emp_tensor     *t = &g->tensor[g->input[i]];
        const emp_explain_op *from = &s->op[t->producer];
        if (t->on_host || from->device != o->device || from->data_ns <= o->data_ns)
            continue;
        o->data_ns = from->data_ns;
        o->data_op = from->data_op;
    }
}

static int32_t add_run(struct recorder *r, const emp_explain_run *run)
{
    emp_explain_schedule *s = r->s;
    emp_error            *err = NULL;

    if (EMP_GROW(s->run, s->run_count + 1, s->run_limit) != EMP_OK) {
        r->is_out_of_memory = true;
        return -1;
    }
    s->run[s->run_count] = *run;
    return s->run_count++;
}

/* Batches of an op that started earlier end no later, but the first reported of several that end together may
 * have started last. */
static void extend_run(emp_explain_schedule *s, emp_explain_run *run, emp_time_ns start,
                       emp_time_ns end)
{
    if (run->previous >= 0) start = emp_time_later(start, s->run[run->previous].end_ns);
    if (start < run->start_ns) run->start_ns = start;
    if (end > run->end_ns) run->end_ns = end;
}

static void on_op(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                  emp_time_ns start, emp_time_ns end)
{
    struct recorder *r = context;
    emp_explain_op  *o = &r->s->op[op];
    emp_explain_run *last = o->last_run < 0 ? NULL : &r->s->run[o->last_run];

    (void)lane;
    r->trigger = EMP_EXPLAIN_BY_OP;
    r->trigger_by = op;
    if (r->s->moments != NULL) emp_explain_note_part(r->s->moments, op, device);
    if (emp_explain_has_host_thread(r->s->problem, device)) {
        emp_time_ns *queued = &r->queued_ns[device];
        if (end > *queued) *queued = end;
        o->queued_ns = *queued;
        find_data(r, op, end);
    }
    if (last != NULL && start <= last->end_ns) { /* tasks that overlap or follow */
        extend_run(r->s, last, start, end);
        return;
    }
    o->last_run = add_run(r, &(emp_explain_run){op, device, start, end, o->last_run});
}

static emp_explain_copy *find_copy(struct recorder *r, emp_tensor_id tensor,
                                   emp_device_id to)
{
    int32_t i = r->s->first_copy[tensor];

    while (i >= 0 && r->s->copy[i].to != to) i = r->s->copy[i].next;
    if (i < 0) r->is_strange = true;
    return i < 0 ? NULL : &r->s->copy[i];
}

/* The stream that moves it, as docs/simulator.md says. */
static struct stream *stream_of(struct recorder *r, const emp_explain_copy *c)
{
    const emp_machine *m = r->s->problem->machine;
    bool               from_cpu = m->device[c->from].kind == EMP_DEVICE_CPU;
    bool               to_cpu = m->device[c->to].kind == EMP_DEVICE_CPU;

    if (from_cpu && !to_cpu) return &r->stream[c->to][0];
    return &r->stream[c->from][to_cpu && !from_cpu ? 1 : 2];
}

static void request_copy(struct recorder *r, emp_explain_copy *c, emp_time_ns at)
{
    const emp_runtime_events *rt = &r->s->problem->runtime.events;
    emp_time_ns               computed = 0, ready = at;

    if (rt->drain_copies) {
        emp_time_ns from = r->queued_ns[c->from], to = r->queued_ns[c->to];
        computed = from > to ? from : to;
        c->computed_on = from > to ? c->from : c->to;
    } else if (emp_explain_has_host_thread(r->s->problem, c->from)) {
        computed = r->s->op[r->s->problem->graph->tensor[c->tensor].producer].queued_ns;
    }
    c->requested_ns = at;
    c->computed_ns = computed;
    if (!rt->copy_streams) return;
    struct stream *stream = stream_of(r, c);
    c->stream_ns = stream->ready_ns;
    if (computed > ready) ready = computed;
    if (ready > stream->ready_ns) stream->ready_ns = ready;
}

static void tell_copy(struct recorder *r, emp_tensor_id tensor, emp_device_id from,
                      emp_device_id to, emp_time_ns at)
{
    emp_explain_schedule *s = r->s;

    if (s->copy_count == s->copy_limit) {
        r->is_strange = true;
        return;
    }
    s->copy[s->copy_count] = (emp_explain_copy){.tensor = tensor,
                                                .from = from,
                                                .to = to,
                                                .computed_on = from,
                                                .next = s->first_copy[tensor],
                                                .told_ns = at,
                                                .requested_ns = -1,
                                                .start_ns = -1,
                                                .end_ns = -1};
    s->first_copy[tensor] = s->copy_count++;
}

static void on_copy(void *context, emp_tensor_id tensor, emp_device_id from,
                    emp_device_id to, emp_sim_copy_phase phase, emp_time_ns at)
{
    struct recorder *r = context;

    if (phase == EMP_SIM_COPY_TOLD) {
        tell_copy(r, tensor, from, to, at);
        return;
    }
    emp_explain_copy *c = find_copy(r, tensor, to);
    if (c == NULL) return;
    if (phase == EMP_SIM_COPY_REQUESTED) {
        request_copy(r, c, at);
        return;
    }
    r->trigger =
        phase == EMP_SIM_COPY_DELIVERED ? EMP_EXPLAIN_BY_COPY : EMP_EXPLAIN_BY_CLIENT;
    r->trigger_by = (int32_t)(c - r->s->copy);
}

static void on_transfer(void *context, emp_tensor_id tensor, emp_device_id from,
                        emp_device_id to, emp_time_ns start, emp_time_ns end)
{
    struct recorder  *r = context;
    emp_explain_copy *c = find_copy(r, tensor, to);

    (void)from;
    if (c == NULL) return;
    c->start_ns = start;
    c->end_ns = end;
    if (!r->s->problem->runtime.events.copy_streams) return;
    struct stream *stream = stream_of(r, c);
    if (stream->copied_ns > c->stream_ns) c->stream_ns = stream->copied_ns;
    stream->copied_ns = end;
}

static void on_message(void *context, emp_op_id op, emp_device_id to, emp_time_ns at)
{
    struct recorder *r = context;

    (void)at;
    r->trigger = EMP_EXPLAIN_BY_MESSAGE;
    r->trigger_by = op;
    r->trigger_to = to;
}

static void on_memory(void *context, emp_device_id device, emp_time_ns at, int64_t bytes)
{
    const struct recorder *r = context;

    (void)at;
    (void)bytes;
    emp_explain_note_change(r->s->moments, device);
}

/* Once; what a run before has left is forgotten. */
static emp_status allocate(emp_explain_schedule *s, emp_error *err)
{
    const emp_graph *g = s->problem->graph;

    s->copy_limit = g->edge_count;
    s->copy_count = s->run_count = 0;
    if (s->op == NULL) EMP_CHECK(EMP_ALLOC(s->op, (size_t)g->op_count));
    if (s->first_copy == NULL)
        EMP_CHECK(EMP_ALLOC(s->first_copy, (size_t)g->tensor_count));
    if (s->copy == NULL) EMP_CHECK(EMP_ALLOC(s->copy, (size_t)s->copy_limit));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        s->op[op] = (emp_explain_op){.device = -1,
                                     .ready_by = -1,
                                     .ready_ns = -1,
                                     .issued_ns = -1,
                                     .issue_start_ns = -1,
                                     .data_ns = -1,
                                     .data_op = -1,
                                     .last_run = -1};
    }
    memset(s->first_copy, -1, (size_t)g->tensor_count * sizeof *s->first_copy);
    return EMP_OK;
}

emp_status emp_explain_record(emp_explain_schedule *s, emp_sim *sim, emp_error *err)
{
    const emp_runtime_events *rt = &s->problem->runtime.events;
    struct recorder           r = {.s = s, .trigger_by = -1};
    emp_sim_trace             trace = {.context = &r,
                                       .op = on_op,
                                       .issue = on_issue,
                                       .ready = on_ready,
                                       .copy = on_copy,
                                       .message = on_message,
                                       .transfer = on_transfer,
                                       .memory = s->moments != NULL ? on_memory : NULL};

    s->send_ns = emp_ns_of_seconds(rt->send_s);
    s->receive_ns = emp_ns_of_seconds(rt->receive_s);
    s->poll_ns = emp_ns_of_seconds(rt->poll_s);
    s->step_ns = emp_ns_of_seconds(rt->step_s);
    EMP_CHECK(allocate(s, err));
    EMP_CHECK(emp_sim_trace_decision(
        sim,
        &(emp_decision){.device_of_op = s->device_of_op, .level_of_op = s->level_of_op},
        &trace, &s->result, err));
    if (r.is_out_of_memory)
        return EMP_ERROR(EMP_ENOMEM, "explanation of %d runs", s->run_count);
    if (r.is_strange) EMP_CHECK(emp_explain_refuse(s->problem, err));
    return EMP_OK;
}

void emp_explain_schedule_clear(emp_explain_schedule *s)
{
    emp_free(s->op);
    emp_free(s->first_copy);
    emp_free(s->copy);
    emp_free(s->run);
    memset(s, 0, sizeof *s);
}

/* The use of each device's time: types, name scopes and single ops. */

/* A scope with more than 1 / OPENED of a device's time is divided into its parts. */
enum { OPENED = 5 };

struct tally {
    const emp_explain_schedule *s;
    const emp_scopes           *scopes;
    emp_explain_share          *of_op;   /* [op] */
    emp_explain_share          *of_type; /* [type] on the device at hand */
    emp_explain_share          *in;      /* [scope] of its own ops */
    emp_explain_share          *below;   /* [scope] of these and of all scopes below */
    bool                       *is_opened;
};

static void add(emp_explain_share *to, const emp_explain_share *part)
{
    to->time_ns += part->time_ns;
    to->op_count += part->op_count;
    to->flops += part->flops;
    to->at_peak_s += part->at_peak_s;
    to->bytes += part->bytes;
}

/* Falling times; of equal ones the first that comes stays first. */
static void rank(emp_explain_top *top, const emp_explain_share *share)
{
    int32_t at = top->count;

    if (share->time_ns == 0) return;
    while (at > 0 && top->share[at - 1].time_ns < share->time_ns) at--;
    if (at == EMP_EXPLAIN_TOP) return;
    if (top->count < EMP_EXPLAIN_TOP) top->count++;
    memmove(&top->share[at + 1], &top->share[at],
            (size_t)(top->count - 1 - at) * sizeof *top->share);
    top->share[at] = *share;
}

static double at_peak_s(const emp_problem *p, emp_op_id op, emp_device_id d)
{
    const double peak =
        emp_cost_peak_flops_per_s(p->graph, op, &p->machine->device[d], &p->runtime);

    return peak > 0.0 ? p->graph->op[op].cost->flops / peak : 0.0;
}

static void share_out(struct tally *t)
{
    const emp_graph *g = t->s->problem->graph;

    for (int32_t i = 0; i < t->s->run_count; i++) {
        const emp_explain_run *run = &t->s->run[i];
        t->of_op[run->op].time_ns += run->end_ns - run->start_ns;
    }
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const emp_op_cost *cost = g->op[op].cost;
        t->of_op[op].id = op;
        t->of_op[op].op_count = 1;
        t->of_op[op].flops = cost->flops;
        if (!g->op[op].is_folded)
            t->of_op[op].at_peak_s = at_peak_s(t->s->problem, op, t->s->op[op].device);
        t->of_op[op].bytes = cost->bytes_read + cost->bytes_written;
    }
}

static void clear(struct tally *t)
{
    for (int32_t i = 0; i < t->s->problem->graph->type_count; i++)
        t->of_type[i] = (emp_explain_share){.id = i};
    for (int32_t i = 0; i < t->scopes->count; i++)
        t->in[i] = t->below[i] = (emp_explain_share){.id = i};
}

/* An op that the host thread issues for longer than the GPU runs it. */
static void count_issue(emp_explain_device *device, const emp_explain_op *op,
                        const emp_explain_share *share)
{
    emp_time_ns issue = op->issued_ns - op->issue_start_ns;

    device->issue_ns += issue;
    if (share->time_ns == 0 || issue <= share->time_ns) return;
    device->launch_bound.op_count++;
    device->launch_bound.time_ns += share->time_ns;
}

static void count_ops(emp_explain_device *device, struct tally *t, emp_device_id d)
{
    const emp_problem *p = t->s->problem;
    bool               is_issued = emp_explain_has_host_thread(p, d);

    for (emp_op_id op = 0; op < p->graph->op_count; op++) {
        const emp_explain_share *share = &t->of_op[op];
        if (p->graph->op[op].is_folded || t->s->op[op].device != d) continue;
        if (is_issued) count_issue(device, &t->s->op[op], share);
        if (share->time_ns == 0) continue;
        add(&device->ops, share);
        add(&t->of_type[p->graph->type[op]], share);
        add(&t->in[t->scopes->of_op[op]], share);
        rank(&device->longest, share);
    }
}

static void add_up_scopes(struct tally *t)
{
    for (int32_t i = t->scopes->count - 1; i >= 0; i--) {
        add(&t->below[i], &t->in[i]);
        if (i > 0) add(&t->below[t->scopes->scope[i].parent], &t->below[i]);
    }
}

/* By the outermost scope that has the same time. */
static void rank_scope(emp_explain_top *top, const struct tally *t, int32_t scope)
{
    emp_explain_share share = t->below[scope];
    int32_t           parent = t->scopes->scope[scope].parent;

    while (parent > 0 && t->below[parent].time_ns == share.time_ns) {
        share.id = parent;
        parent = t->scopes->scope[parent].parent;
    }
    rank(top, &share);
}

/* Scopes that hold much are opened: their parts take their place, and their own ops. */
static void rank_scopes(emp_explain_top *top, struct tally *t)
{
    const emp_scope *scope = t->scopes->scope;

    add_up_scopes(t);
    for (int32_t i = 0; i < t->scopes->count; i++) {
        bool is_leaf = t->below[i].time_ns == t->in[i].time_ns;
        bool is_big = t->below[i].time_ns > t->below[0].time_ns / OPENED;
        bool is_told = i > 0 && t->is_opened[scope[i].parent];
        t->is_opened[i] = i == 0 || (is_told && is_big && !is_leaf);
        if (t->is_opened[i]) {
            rank(top, &t->in[i]);
        } else if (is_told) {
            rank_scope(top, t, i);
        }
    }
}

static emp_status allocate_tally(struct tally *t, emp_error *err)
{
    size_t scopes = (size_t)t->scopes->count;

    EMP_CHECK(EMP_ALLOC(t->of_op, (size_t)t->s->problem->graph->op_count));
    EMP_CHECK(EMP_ALLOC(t->of_type, (size_t)t->s->problem->graph->type_count));
    EMP_CHECK(EMP_ALLOC(t->in, scopes));
    EMP_CHECK(EMP_ALLOC(t->below, scopes));
    return EMP_ALLOC(t->is_opened, scopes);
}

emp_status emp_explain_find_tallies(emp_explanation *why, const emp_explain_schedule *s,
                                    emp_error *err)
{
    emp_status   st = EMP_OK;
    struct tally t = {.s = s, .scopes = &why->scopes};

    EMP_TRY(emp_scopes_init(&why->scopes, s->problem->graph, err));
    EMP_TRY(allocate_tally(&t, err));
    share_out(&t);
    for (emp_device_id d = 0; d < s->result.device_count; d++) {
        emp_explain_device *device = &why->device[d];
        clear(&t);
        count_ops(device, &t, d);
        for (int32_t i = 0; i < s->problem->graph->type_count; i++)
            rank(&device->types, &t.of_type[i]);
        rank_scopes(&device->scopes, &t);
    }

cleanup:
    emp_free(t.of_op);
    emp_free(t.of_type);
    emp_free(t.in);
    emp_free(t.below);
    emp_free(t.is_opened);
    return st;
}
