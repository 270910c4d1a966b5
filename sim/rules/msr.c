// SPDX-License-Identifier: GPL-3.0-or-later
/* The formulas of Tarnawski et al., docs/simulator.md. Both profiles cut the ops into runs
 * and charge a GPU's runs for what crosses their borders: `msr-load` has one run a device,
 * `msr-latency` divides a GPU's ops so that no runs wait for each other in a circle. */
#include <string.h>

#include "sim/rules/rules_internal.h"

typedef struct {
    int32_t     device;
    int32_t     number;            /* among the runs of its GPU */
    int32_t     first_op, last_op; /* members, in the order in which they were taken */
    int32_t     next;              /* run of the same GPU, or -1 */
    int32_t     waits_for;         /* edges and runs not yet done */
    int32_t     last_outside;      /* op outside that was charged last, or -1 */
    bool        is_queued;
    emp_time_ns start_ns, compute_ns, in_ns, out_ns;
} run;

typedef struct {
    emp_time_ns *cross_ns;    /* [op] c_u */
    int64_t     *cross_bytes; /* [op] B_u */
    bool        *is_read;     /* [port] */
    int32_t     *shown;       /* [op] port that stands for the result in traces, or -1 */
    int32_t     *order;       /* [op] topological, ties by lower id */

    run     *run; /* [op or device] */
    int32_t  run_count;
    int32_t *run_of_op; /* [op]; -1: not yet taken */
    int32_t *next_op;   /* [op] member of the same run, or -1 */
    int32_t *run_of_number, first_run[EMP_MAX_DEVICES + 1], gpu_runs[EMP_MAX_DEVICES];
    /* [run][device] greatest number of a run of that GPU that comes before, or -1; only
     * msr-latency */
    int32_t *before;
    int32_t *changed; /* [run] to tell those that come after */
    int32_t  changed_count;
    /* of traced runs */
    int32_t    *told_run; /* [op] run that last brought the result in, or -1 */
    emp_time_ns lane_free_ns[EMP_MAX_CORES];
} msr;

/* ---- creation ---- */

static bool is_gpu(const emp_rules_sim *p, int32_t device)
{
    return p->kind_of_device[device] == EMP_KIND_GPU;
}

static emp_status allocate(msr *s, emp_rules_sim *p, bool has_before, emp_error *err)
{
    size_t ops = (size_t)p->op_count, devices = (size_t)p->device_count;
    size_t runs = ops > devices ? ops : devices;

    s->cross_ns = EMP_ADD_ARRAY(&p->arrays, emp_time_ns, ops);
    s->cross_bytes = EMP_ADD_ARRAY(&p->arrays, int64_t, ops);
    s->is_read = EMP_ADD_ARRAY(&p->arrays, bool, (size_t)p->port_count);
    s->shown = EMP_ADD_ARRAY(&p->arrays, int32_t, ops);
    s->told_run = EMP_ADD_ARRAY(&p->arrays, int32_t, ops);
    s->order = EMP_ADD_ARRAY(&p->arrays, int32_t, ops);
    s->run = EMP_ADD_ARRAY(&p->arrays, run, runs);
    s->run_of_op = EMP_ADD_ARRAY(&p->arrays, int32_t, ops);
    s->next_op = EMP_ADD_ARRAY(&p->arrays, int32_t, ops);
    s->run_of_number = EMP_ADD_ARRAY(&p->arrays, int32_t, ops);
    s->before = EMP_ADD_ARRAY(&p->arrays, int32_t, has_before ? ops * devices : 0);
    s->changed = EMP_ADD_ARRAY(&p->arrays, int32_t, runs);
    return emp_rules_check_memory(p, err);
}

/* run_of_op serves as the counts of what is missing. */
static void sort_topologically(emp_rules_sim *p, msr *s)
{
    int32_t *missing = s->run_of_op, count = 0;

    for (int32_t op = 0; op < p->op_count; op++) {
        missing[op] = p->op[op + 1].in - p->op[op].in;
        if (missing[op] == 0) emp_rules_push(&p->heap, 0, (uint64_t)op);
    }
    while (p->heap.count > 0) {
        int32_t op = (int32_t)emp_rules_pop(&p->heap).tie;
        s->order[count++] = op;
        for (int32_t i = p->op[op].out; i < p->op[op + 1].out; i++) {
            int32_t v = p->out[i].consumer;
            if (--missing[v] == 0) emp_rules_push(&p->heap, 0, (uint64_t)v);
        }
    }
}

/* B_u: of the outputs that have a reader. */
static void sum_results(const emp_rules_sim *p, msr *s)
{
    for (int32_t i = 0; i < p->edge_count; i++) s->is_read[p->in[i]] = true;
    for (int32_t op = 0; op < p->op_count; op++) s->shown[op] = -1;
    for (int32_t port = 0; port < p->port_count; port++) {
        int32_t u = p->port[port].op;
        if (!s->is_read[port] || emp_rules_is_control(p, port)) continue;
        s->cross_bytes[u] += p->port[port].bytes;
        if (s->shown[u] < 0) s->shown[u] = port;
    }
}

static emp_status create(emp_rules_sim *p, bool is_latency, emp_error *err)
{
    const emp_runtime *r = &p->problem->runtime;
    emp_rules_rate     rate;
    msr               *s = p->state;
    double             total = 0.0;

    EMP_CHECK(emp_rules_rate_of(&rate, r->msr.host_bytes_per_s, "host_rate", err));
    EMP_CHECK(allocate(s, p, is_latency, err));
    sort_topologically(p, s);
    sum_results(p, s);
    for (int32_t op = 0; op < p->op_count; op++) {
        s->cross_ns[op] = emp_graph_stated_copy_ns(p->problem->graph, p->op[op].id);
        if (s->cross_ns[op] < 0)
            s->cross_ns[op] = emp_rules_duration(rate, s->cross_bytes[op]);
        total += (double)s->cross_ns[op] * (p->op[op + 1].out - p->op[op].out + 1);
    }
    EMP_CHECK(emp_rules_check_times(p, total, err));
    for (int32_t d = 0; d < p->device_count; d++) {
        if (!is_gpu(p, d)) p->memory[d].limit = INT64_MAX;
    }
    return EMP_OK;
}

static emp_status create_latency(emp_rules_sim *p, emp_error *err)
{
    return create(p, true, err);
}

static emp_status create_load(emp_rules_sim *p, emp_error *err)
{
    return create(p, false, err);
}

/* ---- runs ---- */

static int32_t add_run(msr *s, int32_t device)
{
    s->run[s->run_count] = (run){
        .device = device, .first_op = -1, .last_op = -1, .next = -1, .last_outside = -1};
    return s->run_count++;
}

static void join(msr *s, int32_t op, int32_t r)
{
    run *to = &s->run[r];

    s->run_of_op[op] = r;
    s->next_op[op] = -1;
    if (to->first_op < 0) {
        to->first_op = op;
    } else {
        s->next_op[to->last_op] = op;
    }
    to->last_op = op;
}

/* Now that run \a a comes before \a b, so does all that comes before a. Whether that is
 * news. */
static bool come_before(emp_rules_sim *p, msr *s, int32_t a, int32_t b)
{
    int32_t   *row = &s->before[(size_t)b * (size_t)p->device_count];
    int32_t   *from = &s->before[(size_t)a * (size_t)p->device_count];
    const run *first = &s->run[a];
    bool       is_new = false;

    for (int32_t d = 0; d < p->device_count; d++) {
        if (from[d] <= row[d]) continue;
        row[d] = from[d];
        is_new = true;
    }
    if (is_gpu(p, first->device) && row[first->device] < first->number) {
        row[first->device] = first->number;
        is_new = true;
    }
    return is_new;
}

static void note_change(msr *s, int32_t r)
{
    if (s->run[r].is_queued) return;
    s->run[r].is_queued = true;
    s->changed[s->changed_count++] = r;
}

/* Tells all runs after those that changed. */
static void pass_on(emp_rules_sim *p, msr *s)
{
    while (s->changed_count > 0) {
        int32_t    r = s->changed[--s->changed_count];
        const run *from = &s->run[r];
        s->run[r].is_queued = false;
        if (from->next >= 0 && come_before(p, s, r, from->next))
            note_change(s, from->next);
        for (int32_t op = from->first_op; op >= 0; op = s->next_op[op]) {
            for (int32_t i = p->op[op].out; i < p->op[op + 1].out; i++) {
                int32_t to = s->run_of_op[p->out[i].consumer];
                if (to >= 0 && to != r && come_before(p, s, r, to)) note_change(s, to);
            }
        }
    }
}

/* The runs of a GPU that come before a predecessor's run are the first ones, up to a
 * number: so the first run that an op can join follows the greatest such number. */
static int32_t first_joinable(const emp_rules_sim *p, const msr *s, int32_t op)
{
    int32_t device = p->device[op], number = 0;

    for (int32_t i = p->op[op].in; i < p->op[op + 1].in; i++) {
        int32_t r = s->run_of_op[p->port[p->in[i]].op];
        int32_t last = s->before[(size_t)r * (size_t)p->device_count + (size_t)device];
        if (last + 1 > number) number = last + 1;
    }
    return number;
}

static int32_t start_run(emp_rules_sim *p, msr *s, int32_t device)
{
    int32_t r = add_run(s, device);

    for (int32_t d = 0; d < p->device_count; d++) {
        s->before[(size_t)r * (size_t)p->device_count + (size_t)d] = -1;
    }
    if (!is_gpu(p, device)) return r;
    int32_t *runs = &s->run_of_number[s->first_run[device]];
    int32_t  number = s->gpu_runs[device]++;
    s->run[r].number = number;
    runs[number] = r;
    if (number > 0) {
        s->run[runs[number - 1]].next = r;
        come_before(p, s, runs[number - 1], r);
    }
    return r;
}

static void take(emp_rules_sim *p, msr *s, int32_t op)
{
    int32_t device = p->device[op], r = -1;
    bool    is_new = false;

    if (is_gpu(p, device)) {
        int32_t number = first_joinable(p, s, op);
        if (number < s->gpu_runs[device])
            r = s->run_of_number[s->first_run[device] + number];
    }
    if (r < 0) r = start_run(p, s, device);
    join(s, op, r);
    for (int32_t i = p->op[op].in; i < p->op[op + 1].in; i++) {
        int32_t from = s->run_of_op[p->port[p->in[i]].op];
        if (from != r && come_before(p, s, from, r)) is_new = true;
    }
    if (is_new && s->run[r].first_op != op) {
        note_change(s, r);
        pass_on(p, s);
    }
}

/* Cuts the ops of each GPU into runs. */
static void divide(emp_rules_sim *p, msr *s)
{
    memset(s->first_run, 0, sizeof s->first_run);
    memset(s->gpu_runs, 0, sizeof s->gpu_runs);
    for (int32_t op = 0; op < p->op_count; op++) {
        s->first_run[p->device[op] + 1]++;
        s->run_of_op[op] = -1;
    }
    for (int32_t d = 0; d < p->device_count; d++) {
        s->first_run[d + 1] += s->first_run[d];
    }
    for (int32_t i = 0; i < p->op_count; i++) take(p, s, s->order[i]);
}

/* ---- charges ---- */

static void charge(emp_rules_sim *p, const msr *s, int32_t op, emp_time_ns *to)
{
    *to += s->cross_ns[op];
    emp_rules_book(p, s->cross_bytes[op]);
}

/* A result that leaves its run is paid once there and once by each run that reads it; the
 * CPU pays nothing. */
static void charge_results(emp_rules_sim *p, msr *s)
{
    for (int32_t u = 0; u < p->op_count; u++) {
        run *home = &s->run[s->run_of_op[u]];
        bool leaves = false;
        for (int32_t i = p->op[u].out; i < p->op[u + 1].out; i++) {
            run *reader = &s->run[s->run_of_op[p->out[i].consumer]];
            if (reader == home || emp_rules_is_control(p, p->out[i].port)) continue;
            leaves = true;
            if (!is_gpu(p, reader->device) || reader->last_outside == u) continue;
            reader->last_outside = u;
            charge(p, s, u, &reader->in_ns);
        }
        if (leaves && is_gpu(p, home->device)) charge(p, s, u, &home->out_ns);
        home->compute_ns += emp_rules_cost(p, u);
    }
}

static void account_memory(emp_rules_sim *p, const msr *s)
{
    for (int32_t i = 0; i < p->op_count; i++) {
        const emp_rules_op *o = &p->op[s->order[i]];
        emp_rules_hold(p, p->device[s->order[i]], s->order[i],
                       o->persistent_bytes + o->output_bytes, 0);
    }
}

/* ---- time ---- */

static emp_time_ns length_of(const run *r)
{
    return r->in_ns + r->compute_ns + r->out_ns;
}

/* A lane of the CPU that is free; the last one takes what is left over. */
static int32_t take_lane(msr *s, emp_time_ns start, emp_time_ns end)
{
    int32_t lane = 0;

    while (lane < EMP_MAX_CORES - 1 && s->lane_free_ns[lane] > start) lane++;
    s->lane_free_ns[lane] = end;
    return lane;
}

static emp_time_ns tell_in(emp_rules_sim *p, msr *s, int32_t r, emp_time_ns now)
{
    int32_t device = s->run[r].device;

    for (int32_t v = s->run[r].first_op; v >= 0; v = s->next_op[v]) {
        for (int32_t i = p->op[v].in; i < p->op[v + 1].in; i++) {
            int32_t u = p->port[p->in[i]].op;
            if (s->run_of_op[u] == r || s->told_run[u] == r) continue;
            if (emp_rules_is_control(p, p->in[i])) continue;
            s->told_run[u] = r;
            emp_rules_tell_transfer(p, s->shown[u],
                                    p->problem->machine->device[device].host, device, now,
                                    now + s->cross_ns[u]);
            now += s->cross_ns[u];
        }
    }
    return now;
}

static void tell_out(emp_rules_sim *p, const msr *s, int32_t r, emp_time_ns now)
{
    int32_t device = s->run[r].device;

    for (int32_t u = s->run[r].first_op; u >= 0; u = s->next_op[u]) {
        bool leaves = false;
        for (int32_t i = p->op[u].out; i < p->op[u + 1].out && !leaves; i++) {
            leaves = !emp_rules_is_control(p, p->out[i].port) &&
                     s->run_of_op[p->out[i].consumer] != r;
        }
        if (!leaves) continue;
        emp_rules_tell_transfer(p, s->shown[u], device,
                                p->problem->machine->device[device].host, now,
                                now + s->cross_ns[u]);
        now += s->cross_ns[u];
    }
}

/* Books the ops of a run. A trace shows all that comes in, then the ops, then all that
 * goes out, each after the other. */
static void play(emp_rules_sim *p, msr *s, int32_t r, bool in_lanes)
{
    emp_time_ns now = s->run[r].start_ns;
    bool        is_told = p->is_traced || p->times != NULL;
    bool        on_gpu = is_gpu(p, s->run[r].device);
    int32_t     lane = 0;

    if (is_told && in_lanes && !on_gpu)
        lane = take_lane(s, now, now + length_of(&s->run[r]));
    if (is_told && on_gpu) now = tell_in(p, s, r, now);
    for (int32_t v = s->run[r].first_op; v >= 0; v = s->next_op[v]) {
        emp_time_ns end = now + emp_rules_cost(p, v);
        emp_rules_run_op(p, v, lane, now, end);
        now = end;
    }
    if (is_told && on_gpu) tell_out(p, s, r, now);
}

static void queue_run(emp_rules_sim *p, const msr *s, int32_t r)
{
    emp_rules_push(&p->heap, s->run[r].start_ns, (uint64_t)r);
}

static void wait_no_more(emp_rules_sim *p, msr *s, int32_t r, emp_time_ns now)
{
    s->run[r].start_ns = emp_time_later(s->run[r].start_ns, now);
    if (--s->run[r].waits_for == 0) queue_run(p, s, r);
}

static void finish_run(emp_rules_sim *p, msr *s, int32_t r)
{
    emp_time_ns end = s->run[r].start_ns + length_of(&s->run[r]);

    p->result.step_time_ns = emp_time_later(p->result.step_time_ns, end);
    for (int32_t u = s->run[r].first_op; u >= 0; u = s->next_op[u]) {
        for (int32_t i = p->op[u].out; i < p->op[u + 1].out; i++) {
            int32_t to = s->run_of_op[p->out[i].consumer];
            if (to != r) wait_no_more(p, s, to, end);
        }
    }
    if (s->run[r].next >= 0) wait_no_more(p, s, s->run[r].next, end);
}

/* Runs by their starts: none can start before one that it waits for. */
static void schedule(emp_rules_sim *p, msr *s)
{
    for (int32_t v = 0; v < p->op_count; v++) {
        int32_t r = s->run_of_op[v];
        for (int32_t i = p->op[v].in; i < p->op[v + 1].in; i++) {
            s->run[r].waits_for += s->run_of_op[p->port[p->in[i]].op] != r;
        }
    }
    for (int32_t r = 0; r < s->run_count; r++) {
        if (s->run[r].next >= 0) s->run[s->run[r].next].waits_for++;
    }
    for (int32_t r = 0; r < s->run_count; r++) {
        if (s->run[r].waits_for == 0) queue_run(p, s, r);
    }
    while (p->heap.count > 0) {
        int32_t r = (int32_t)emp_rules_pop(&p->heap).tie;
        play(p, s, r, true);
        finish_run(p, s, r);
    }
}

static void start(emp_rules_sim *p, msr *s)
{
    s->run_count = s->changed_count = 0;
    memset(s->told_run, -1, (size_t)p->op_count * sizeof *s->told_run);
    memset(s->lane_free_ns, 0, sizeof s->lane_free_ns);
    account_memory(p, s);
}

static void run_latency(emp_rules_sim *p)
{
    msr *s = p->state;

    start(p, s);
    divide(p, s);
    charge_results(p, s);
    schedule(p, s);
}

static void run_load(emp_rules_sim *p)
{
    msr *s = p->state;

    start(p, s);
    for (int32_t d = 0; d < p->device_count; d++) add_run(s, d);
    for (int32_t i = 0; i < p->op_count; i++) {
        join(s, s->order[i], p->device[s->order[i]]);
    }
    charge_results(p, s);
    for (int32_t d = 0; d < p->device_count; d++) {
        play(p, s, d, false);
        emp_time_ns load = length_of(&s->run[d]);
        p->result.busy_ns[d] = load; /* not its ops alone */
        p->result.step_time_ns = emp_time_later(p->result.step_time_ns, load);
    }
}

const emp_rules_type emp_rules_msr_latency = {sizeof(msr), create_latency, run_latency};
const emp_rules_type emp_rules_msr_load = {sizeof(msr), create_load, run_load};
