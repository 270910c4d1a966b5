// SPDX-License-Identifier: GPL-3.0-or-later
/* The simulators of GiPH and DOPPLER, docs/profiles.md: every edge between two devices is a
 * message of its own, which waits for nothing. */
#include <math.h>

#include "sim/rules/rules_internal.h"

typedef struct {
    emp_time_ns latency_ns;
    double      ns_per_byte;
} pair;

typedef struct {
    emp_rules_service service;
    pair             *pair; /* [from * devices + to] */
    emp_time_ns *stated_ns; /* [op] of a message with the op's result; -1 = by bytes */
} edges;

static emp_time_ns message_ns(const edges *s, const emp_rules_sim *p, int32_t op,
                              int32_t port, pair between)
{
    bool is_stated = s->stated_ns[op] >= 0;

    if (is_stated) return emp_rules_is_control(p, port) ? 0 : s->stated_ns[op];
    double ns = (double)p->port[port].bytes * between.ns_per_byte;
    return between.latency_ns +
           (ns < (double)EMP_COST_LIMIT_NS ? (emp_time_ns)(ns + 0.5) : EMP_COST_LIMIT_NS);
}

/* The worst of all pairs in one. */
static pair read_pairs(edges *s, const emp_rules_sim *p)
{
    const emp_machine *m = p->problem->machine;
    pair               worst = {0};

    for (int32_t i = 0; i < p->device_count * p->device_count; i++) {
        int32_t from = i / p->device_count, to = i % p->device_count;
        if (from == to) continue;
        const emp_route *route = &m->route[from][to];
        s->pair[i] =
            (pair){emp_ns_of_seconds(route->latency_s), 1e9 / route->bytes_per_s};
        worst.latency_ns = emp_time_later(worst.latency_ns, s->pair[i].latency_ns);
        worst.ns_per_byte = fmax(worst.ns_per_byte, s->pair[i].ns_per_byte);
    }
    return worst;
}

static emp_status create(emp_rules_sim *p, emp_error *err)
{
    edges *s = p->state;
    size_t devices = (size_t)p->device_count;
    double total = 0.0;

    emp_rules_service_add(&s->service, p);
    s->pair = EMP_ADD_ARRAY(&p->arrays, pair, devices * devices);
    s->stated_ns = EMP_ADD_ARRAY(&p->arrays, emp_time_ns, (size_t)p->op_count);
    EMP_CHECK(emp_rules_check_memory(p, err));
    emp_rules_service_count(&s->service, p);
    pair worst = read_pairs(s, p);
    for (int32_t op = 0; op < p->op_count; op++) {
        s->stated_ns[op] = emp_graph_stated_copy_ns(p->problem->graph, p->op[op].id);
        for (int32_t i = p->op[op].out; i < p->op[op + 1].out; i++)
            total += (double)message_ns(s, p, op, p->out[i].port, worst);
    }
    return emp_rules_check_times(p, total, err);
}

static emp_time_ns deliver(emp_rules_sim *p, int32_t op, emp_rules_edge edge)
{
    const edges *s = p->state;
    int32_t      from = p->device[op], to = p->device[edge.consumer];
    emp_time_ns  end = p->end_ns[op];

    if (from == to) return end;
    emp_time_ns there =
        end + message_ns(s, p, op, edge.port, s->pair[from * p->device_count + to]);
    emp_rules_book(p, p->port[edge.port].bytes);
    emp_rules_tell_transfer(p, edge.port, from, to, end, there);
    return there;
}

static void run(emp_rules_sim *p)
{
    edges *s = p->state;

    emp_rules_service_run(&s->service, p, deliver);
}

const emp_rules_type emp_rules_edges = {sizeof(edges), create, run};
