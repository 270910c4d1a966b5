// SPDX-License-Identifier: GPL-3.0-or-later
/* The simulator of Baechi, docs/profiles.md: ops are served by ready time, and all that an
 * op causes is booked when it is served. */
#include <math.h>
#include <string.h>

#include "sim/rules/rules_internal.h"

/* When what leaves a port of the op in service is there on a device. */
typedef struct {
    int64_t     service; /* number of the op's service over all runs; else stale */
    emp_time_ns at;
} arrival;

typedef struct {
    emp_time_ns *transfer_ns;    /* [port] */
    int64_t      control_bytes;  /* of a control port's transfer */
    int32_t     *consumer_count; /* [op] distinct */
    arrival     *received;       /* [port of an op][device] */
    int64_t      service;        /* ops served so far, over all runs */

    int32_t     *missing;  /* [op] edges from ops that are not served */
    int32_t     *reading;  /* [op] consumers that are not served */
    emp_time_ns *ready_ns; /* [op] */
    emp_time_ns  free_ns[EMP_MAX_DEVICES], channel_ns[EMP_MAX_DEVICES];
} baechi;

static emp_status allocate(baechi *s, emp_rules_sim *p, emp_error *err)
{
    size_t ops = (size_t)p->op_count, most_ports = 0;

    for (int32_t op = 0; op < p->op_count; op++) {
        size_t ports = (size_t)(p->op[op + 1].port - p->op[op].port);
        if (ports > most_ports) most_ports = ports;
    }
    s->transfer_ns = EMP_ADD_ARRAY(&p->arrays, emp_time_ns, (size_t)p->port_count);
    s->consumer_count = EMP_ADD_ARRAY(&p->arrays, int32_t, ops);
    s->received =
        EMP_ADD_ARRAY(&p->arrays, arrival, most_ports * (size_t)p->device_count);
    s->missing = EMP_ADD_ARRAY(&p->arrays, int32_t, ops);
    s->reading = EMP_ADD_ARRAY(&p->arrays, int32_t, ops);
    s->ready_ns = EMP_ADD_ARRAY(&p->arrays, emp_time_ns, ops);
    return emp_rules_check_memory(p, err);
}

static int64_t bytes_of(const emp_rules_sim *p, const baechi *s, int32_t port)
{
    return emp_rules_is_control(p, port) ? s->control_bytes : p->port[port].bytes;
}

static emp_status create(emp_rules_sim *p, emp_error *err)
{
    const emp_runtime *r = &p->problem->runtime;
    baechi            *s = p->state;
    double             per_byte = r->baechi.byte_s * 1e18, total = 0.0;

    if (!(per_byte < 0x1p62)) {
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "per_byte is %g s; at most %.3g s are possible",
                         r->baechi.byte_s, 0x1p62 * 1e-18);
    }
    if (!((double)r->baechi.control_bytes * p->edge_count < 0x1p62)) {
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "control_size is %.3g B, too much for %d edges",
                         (double)r->baechi.control_bytes, p->edge_count);
    }
    EMP_CHECK(allocate(s, p, err));
    emp_rules_rate rate = {(uint64_t)llround(per_byte), 1000000000};
    emp_time_ns    fixed_ns = emp_ns_of_seconds(r->baechi.transfer_s);
    s->control_bytes = r->baechi.control_bytes;
    for (int32_t port = 0; port < p->port_count; port++) {
        s->transfer_ns[port] = emp_rules_duration(rate, bytes_of(p, s, port)) + fixed_ns;
    }
    for (int32_t op = 0; op < p->op_count; op++) {
        for (int32_t i = p->op[op].out; i < p->op[op + 1].out; i++) {
            bool is_first =
                i == p->op[op].out || p->out[i].consumer != p->out[i - 1].consumer;
            s->consumer_count[op] += is_first;
            total += (double)s->transfer_ns[p->out[i].port];
        }
    }
    return emp_rules_check_times(p, total, err);
}

/* Sends what leaves \a port at \a end to device \a to; when it is there. */
static emp_time_ns send(emp_rules_sim *p, baechi *s, int32_t port, int32_t to,
                        emp_time_ns end)
{
    int32_t     from = p->device[p->port[port].op];
    emp_time_ns lasts = s->transfer_ns[port];
    emp_time_ns sent = emp_time_later(end, s->channel_ns[from]);

    s->channel_ns[from] = sent + lasts;
    emp_time_ns received = emp_time_later(sent, s->channel_ns[to]);
    s->channel_ns[to] = received + lasts;
    emp_rules_book(p, bytes_of(p, s, port));
    emp_rules_tell_transfer(p, port, from, to, received, received + lasts);
    return received + lasts;
}

/* When what an edge of \a op carries is on its consumer's device. */
static emp_time_ns deliver(emp_rules_sim *p, baechi *s, int32_t op, emp_rules_edge edge)
{
    int32_t to = p->device[edge.consumer];

    if (to == p->device[op]) return p->end_ns[op];
    arrival *there = &s->received[(edge.port - p->op[op].port) * p->device_count + to];
    if (there->service != s->service) {
        there->service = s->service;
        there->at = send(p, s, edge.port, to, p->end_ns[op]);
    }
    return there->at;
}

static void queue_op(emp_rules_sim *p, const baechi *s, int32_t op)
{
    emp_rules_tell_ready(p, op, s->ready_ns[op]);
    emp_rules_push(&p->heap, s->ready_ns[op], (uint64_t)op);
}

/* Memory follows the order of service, so it is told at ready times, which never fall. */
static void account_memory(emp_rules_sim *p, baechi *s, int32_t op)
{
    const emp_rules_op *o = &p->op[op];
    emp_time_ns         now = s->ready_ns[op];
    int32_t             device = p->device[op], last = -1;

    emp_rules_hold(p, device, op, o->output_bytes + o->persistent_bytes, now);
    emp_rules_hold(p, device, op, o->workspace_bytes, now);
    emp_rules_release(p, device, o->workspace_bytes, now);
    for (int32_t i = o->in; i < o[1].in; i++) {
        int32_t u = p->port[p->in[i]].op;
        if (u == last) continue;
        last = u;
        if (--s->reading[u] == 0)
            emp_rules_release(p, p->device[u], p->op[u].output_bytes, now);
    }
}

static void serve(emp_rules_sim *p, baechi *s, int32_t op)
{
    int32_t     device = p->device[op];
    emp_time_ns start = emp_time_later(s->ready_ns[op], s->free_ns[device]);
    emp_time_ns end = start + emp_rules_cost(p, op);

    s->service++;
    p->start_ns[op] = start;
    p->end_ns[op] = s->free_ns[device] = end;
    emp_rules_run_op(p, op, 0, start, end);
    account_memory(p, s, op);
    for (int32_t i = p->op[op].out; i < p->op[op + 1].out; i++) {
        int32_t v = p->out[i].consumer;
        s->ready_ns[v] = emp_time_later(s->ready_ns[v], deliver(p, s, op, p->out[i]));
        if (--s->missing[v] == 0) queue_op(p, s, v);
    }
}

static void run(emp_rules_sim *p)
{
    baechi *s = p->state;

    memset(s->free_ns, 0, sizeof s->free_ns);
    memset(s->channel_ns, 0, sizeof s->channel_ns);
    for (int32_t op = 0; op < p->op_count; op++) {
        s->missing[op] = p->op[op + 1].in - p->op[op].in;
        s->reading[op] = s->consumer_count[op];
        s->ready_ns[op] = 0;
        if (s->missing[op] == 0) queue_op(p, s, op);
    }
    while (p->heap.count > 0) serve(p, s, (int32_t)emp_rules_pop(&p->heap).tie);
    for (int32_t d = 0; d < p->device_count; d++) {
        p->result.step_time_ns = emp_time_later(p->result.step_time_ns, s->free_ns[d]);
    }
}

const emp_rules_type emp_rules_baechi = {sizeof(baechi), create, run};
