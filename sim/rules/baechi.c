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
    emp_rules_service service;
    emp_time_ns      *transfer_ns;   /* [port] */
    int64_t           control_bytes; /* of a control port's transfer */
    arrival          *received;      /* [port of an op][device] */
    emp_time_ns       channel_ns[EMP_MAX_DEVICES];
} baechi;

static emp_status allocate(baechi *s, emp_rules_sim *p, emp_error *err)
{
    size_t most_ports = 0;

    for (int32_t op = 0; op < p->op_count; op++) {
        size_t ports = (size_t)(p->op[op + 1].port - p->op[op].port);
        if (ports > most_ports) most_ports = ports;
    }
    s->transfer_ns = EMP_ADD_ARRAY(&p->arrays, emp_time_ns, (size_t)p->port_count);
    s->received =
        EMP_ADD_ARRAY(&p->arrays, arrival, most_ports * (size_t)p->device_count);
    emp_rules_service_add(&s->service, p);
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
    emp_rules_service_count(&s->service, p);
    for (int32_t i = 0; i < p->edge_count; i++)
        total += (double)s->transfer_ns[p->out[i].port];
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
static emp_time_ns deliver(emp_rules_sim *p, int32_t op, emp_rules_edge edge)
{
    baechi *s = p->state;
    int32_t to = p->device[edge.consumer];

    if (to == p->device[op]) return p->end_ns[op];
    arrival *there = &s->received[(edge.port - p->op[op].port) * p->device_count + to];
    if (there->service != s->service.number) {
        there->service = s->service.number;
        there->at = send(p, s, edge.port, to, p->end_ns[op]);
    }
    return there->at;
}

static void run(emp_rules_sim *p)
{
    baechi *s = p->state;

    memset(s->channel_ns, 0, sizeof s->channel_ns);
    emp_rules_service_run(&s->service, p, deliver);
}

const emp_rules_type emp_rules_baechi = {sizeof(baechi), create, run};
