// SPDX-License-Identifier: GPL-3.0-or-later
/* The simulator of Placeto, docs/simulator.md: compute servers and buses that look at their
 * queues one event at a time.
 *
 * Requests reach a queue in the order in which they are ready (a compute server's are
 * ready at once; outputs come to a bus in the order in which the ops of its device end),
 * so both queues are plain lists. Releases of one producer at one time are one event, for
 * its consumers in rising order: nothing that a release sets off comes between two of
 * them. So a device has at most four events pending: one of its compute server, one of its
 * bus, the end of its op, and the arrival of its transfer. */
#include <math.h>
#include <string.h>

#include "sim/rules/rules_internal.h"

enum event_kind { RELEASE, BUS, DEVICE };

typedef struct {
    int32_t head, tail; /**< of its list; head -1 = empty */
    bool    is_idle;
} placeto_server;

typedef struct {
    emp_time_ns  op_gap_ns, bus_gap_ns, early_ns;
    emp_time_ns *transfer_ns; /* [port] */
    /* Ports that an op waits for when their producers are elsewhere; by (producer, port).
     * A control edge is one of the first port. */
    int32_t *wanted;       /* [edge] */
    int32_t *first_wanted; /* [op + 1] */
    int32_t *reader;       /* [edge] who wants a port, rising */
    int32_t *first_reader; /* [port + 1] */

    int32_t       *missing; /* [op] dependencies still to be met */
    int32_t       *next_op, *next_port;
    int32_t       *started; /* [op] in the order of their starts */
    int32_t        started_count;
    placeto_server compute[EMP_MAX_DEVICES], bus[EMP_MAX_DEVICES];
} placeto;

/* ---- creation ---- */

static emp_status allocate_placeto(placeto *s, emp_rules_sim *p, emp_error *err)
{
    size_t ops = (size_t)p->op_count, ports = (size_t)p->port_count;
    size_t edges = (size_t)p->edge_count;

    s->transfer_ns = EMP_ADD_ARRAY(&p->arrays, emp_time_ns, ports);
    s->wanted = EMP_ADD_ARRAY(&p->arrays, int32_t, edges);
    s->first_wanted = EMP_ADD_ARRAY(&p->arrays, int32_t, ops + 1);
    s->reader = EMP_ADD_ARRAY(&p->arrays, int32_t, edges);
    s->first_reader = EMP_ADD_ARRAY(&p->arrays, int32_t, ports + 1);
    s->missing = EMP_ADD_ARRAY(&p->arrays, int32_t, ops);
    s->next_op = EMP_ADD_ARRAY(&p->arrays, int32_t, ops);
    s->next_port = EMP_ADD_ARRAY(&p->arrays, int32_t, ports);
    s->started = EMP_ADD_ARRAY(&p->arrays, int32_t, ops);
    return emp_rules_check_memory(p, err);
}

/* An op's control port comes last in a row, its output 0 first: so an edge of control is
 * there already if the producer's entries begin with output 0. */
static void list_wanted(placeto *s, const emp_rules_sim *p)
{
    int32_t count = 0;

    for (int32_t v = 0; v < p->op_count; v++) {
        int32_t first_of_producer = -1;
        s->first_wanted[v] = count;
        for (int32_t i = p->op[v].in; i < p->op[v + 1].in; i++) {
            int32_t port = p->in[i], u = p->port[port].op;
            bool    is_first = i == p->op[v].in || p->port[p->in[i - 1]].op != u;
            if (emp_rules_is_control(p, port)) port = p->op[u].port;
            if (is_first) {
                first_of_producer = port;
            } else if (port == first_of_producer) {
                continue;
            }
            s->wanted[count++] = port;
        }
    }
    s->first_wanted[p->op_count] = count;
}

static void list_readers(placeto *s, const emp_rules_sim *p)
{
    int32_t count = s->first_wanted[p->op_count], total = 0;

    for (int32_t i = 0; i < count; i++) s->first_reader[s->wanted[i]]++;
    for (int32_t port = 0; port <= p->port_count; port++) {
        int32_t readers = s->first_reader[port];
        s->first_reader[port] = total;
        total += readers;
    }
    for (int32_t v = 0; v < p->op_count; v++) {
        for (int32_t i = s->first_wanted[v]; i < s->first_wanted[v + 1]; i++) {
            s->reader[s->first_reader[s->wanted[i]]++] = v;
        }
    }
    for (int32_t port = p->port_count; port > 0; port--) {
        s->first_reader[port] = s->first_reader[port - 1];
    }
    s->first_reader[0] = 0;
}

static emp_status create_placeto(emp_rules_sim *p, emp_error *err)
{
    const emp_runtime *r = &p->problem->runtime;
    emp_rules_rate     rate;
    placeto           *s = p->state;

    EMP_CHECK(emp_rules_rate_of(&rate, r->placeto.bus_bytes_per_s, "bus_rate", err));
    EMP_CHECK(allocate_placeto(s, p, err));
    list_wanted(s, p);
    list_readers(s, p);
    s->op_gap_ns = emp_ns_of_seconds(r->placeto.op_gap_s);
    s->bus_gap_ns = emp_ns_of_seconds(r->placeto.bus_gap_s);
    s->early_ns = emp_ns_of_seconds(r->placeto.early_release_s);
    double total = (double)s->op_gap_ns * p->op_count;
    for (int32_t port = 0; port < p->port_count; port++) {
        s->transfer_ns[port] = emp_rules_duration(rate, p->port[port].bytes);
        total += (double)s->transfer_ns[port] + (double)s->bus_gap_ns;
    }
    return emp_rules_check_times(p, total, err);
}

/* ---- events ---- */

/* Ordered by (time, kind, a); a transfer's arrival also says of which port, counted from
 * 1. */
static void expect(emp_rules_sim *p, emp_time_ns at, enum event_kind kind, int32_t a,
                   int32_t port)
{
    emp_rules_push(&p->heap, at,
                   (uint64_t)kind << 62 | (uint64_t)a << 31 | (uint32_t)port);
}

/* At the end of the list; an idle server looks at it when the item is ready. */
static void enqueue(emp_rules_sim *p, placeto_server *server, int32_t *next, int32_t item,
                    emp_time_ns ready, enum event_kind kind, int32_t device)
{
    next[item] = -1;
    if (server->head < 0) {
        server->head = item;
    } else {
        next[server->tail] = item;
    }
    server->tail = item;
    if (!server->is_idle) return;
    server->is_idle = false;
    expect(p, ready, kind, device, 0);
}

static void queue_op(emp_rules_sim *p, placeto *s, int32_t op, emp_time_ns now)
{
    int32_t device = p->device[op];

    emp_rules_tell_ready(p, op, now);
    enqueue(p, &s->compute[device], s->next_op, op, now, DEVICE, device);
}

static void meet(emp_rules_sim *p, placeto *s, int32_t consumer, emp_time_ns now)
{
    if (--s->missing[consumer] == 0) queue_op(p, s, consumer, now);
}

/* To consumers on the producer's device, each once. */
static void release_here(emp_rules_sim *p, placeto *s, int32_t producer, emp_time_ns now)
{
    int32_t last = -1;

    for (int32_t i = p->op[producer].out; i < p->op[producer + 1].out; i++) {
        int32_t v = p->out[i].consumer;
        if (v == last || p->device[v] != p->device[producer]) continue;
        last = v;
        meet(p, s, v, now);
    }
}

/* To consumers of a transfer, wherever they are. */
static void release_elsewhere(emp_rules_sim *p, placeto *s, int32_t port, emp_time_ns now)
{
    int32_t device = p->device[p->port[port].op];

    for (int32_t i = s->first_reader[port]; i < s->first_reader[port + 1]; i++) {
        if (p->device[s->reader[i]] != device) meet(p, s, s->reader[i], now);
    }
}

static bool is_read_elsewhere(const emp_rules_sim *p, const placeto *s, int32_t port,
                              int32_t device)
{
    for (int32_t i = s->first_reader[port]; i < s->first_reader[port + 1]; i++) {
        if (p->device[s->reader[i]] != device) return true;
    }
    return false;
}

static void look_device(emp_rules_sim *p, placeto *s, int32_t device, emp_time_ns now)
{
    placeto_server *server = &s->compute[device];
    int32_t         op = server->head;

    if (op < 0) {
        server->is_idle = true;
        return;
    }
    server->head = s->next_op[op];
    emp_time_ns cost = emp_rules_cost(p, op), end = now + cost;
    p->start_ns[op] = now;
    p->end_ns[op] = end;
    s->started[s->started_count++] = op;
    emp_rules_run_op(p, op, 0, now, end);
    expect(p, cost > 0 ? end + s->op_gap_ns : end, DEVICE, device, 0);
    expect(p, end, RELEASE, op, 0);
    for (int32_t port = p->op[op].port; port < p->op[op + 1].port; port++) {
        if (is_read_elsewhere(p, s, port, device))
            enqueue(p, &s->bus[device], s->next_port, port, end, BUS, device);
    }
}

/* Tells a transfer once for every device that it serves. */
static void tell_transfer(emp_rules_sim *p, const placeto *s, int32_t port, int32_t from,
                          emp_time_ns start, emp_time_ns end)
{
    uint64_t told = UINT64_C(1) << from;

    if (!p->is_traced) return;
    for (int32_t i = s->first_reader[port]; i < s->first_reader[port + 1]; i++) {
        int32_t to = p->device[s->reader[i]];
        if (told >> to & 1u) continue;
        told |= UINT64_C(1) << to;
        emp_rules_tell_transfer(p, port, from, to, start, end);
    }
}

static void look_bus(emp_rules_sim *p, placeto *s, int32_t device, emp_time_ns now)
{
    placeto_server *bus = &s->bus[device];
    int32_t         port = bus->head;

    if (port < 0) {
        bus->is_idle = true;
        return;
    }
    int32_t     producer = p->port[port].op;
    emp_time_ns ready = p->end_ns[producer];
    if (ready > now) {
        expect(p, ready, BUS, device, 0);
        return;
    }
    bus->head = s->next_port[port];
    emp_time_ns arrival = now + s->transfer_ns[port];
    emp_rules_book(p, p->port[port].bytes);
    tell_transfer(p, s, port, device, now, arrival);
    expect(p, arrival, RELEASE, producer, port - p->op[producer].port + 1);
    expect(p, arrival + s->bus_gap_ns, BUS, device, 0);
}

/* A producer here is one dependency, one elsewhere as many as its ports that are read. */
static void start(emp_rules_sim *p, placeto *s)
{
    for (int32_t d = 0; d < p->device_count; d++) {
        s->compute[d] = s->bus[d] = (placeto_server){.head = -1, .is_idle = true};
    }
    s->started_count = 0;
    for (int32_t v = 0; v < p->op_count; v++) {
        int32_t last = -1;
        s->missing[v] = 0;
        for (int32_t i = s->first_wanted[v]; i < s->first_wanted[v + 1]; i++) {
            int32_t u = p->port[s->wanted[i]].op;
            s->missing[v] += u != last || p->device[u] != p->device[v];
            last = u;
        }
        if (s->missing[v] == 0) queue_op(p, s, v, 0);
    }
}

/* ---- memory, when all times are known ---- */

static emp_time_ns held_until(const emp_rules_sim *p, const placeto *s, int32_t op)
{
    emp_time_ns until = p->start_ns[op];

    for (int32_t i = p->op[op].out; i < p->op[op + 1].out; i++) {
        emp_time_ns end = p->end_ns[p->out[i].consumer] - s->early_ns;
        if (end > until) until = end;
    }
    return until;
}

/* Releases that come before an allocation at \a now. */
static void let_go(emp_rules_sim *p, emp_time_ns now)
{
    while (p->heap.count > 0 && p->heap.key[0].at < now) {
        emp_rules_key key = emp_rules_pop(&p->heap);
        int32_t       op = (int32_t)key.tie;
        emp_rules_release(p, p->device[op], p->op[op].output_bytes, key.at);
    }
}

static void account_memory(emp_rules_sim *p, const placeto *s)
{
    for (int32_t i = 0; i < s->started_count; i++) {
        int32_t     op = s->started[i];
        emp_time_ns at = p->start_ns[op];
        if (p->op[op].output_bytes == 0) continue;
        let_go(p, at);
        emp_rules_hold(p, p->device[op], op, p->op[op].output_bytes, at);
        emp_rules_push(&p->heap, held_until(p, s, op), (uint64_t)op);
    }
    let_go(p, INT64_MAX);
}

static void run_placeto(emp_rules_sim *p)
{
    placeto    *s = p->state;
    emp_time_ns now = 0;

    start(p, s);
    while (p->heap.count > 0) {
        emp_rules_key event = emp_rules_pop(&p->heap);
        int32_t       a = (int32_t)(event.tie >> 31 & INT32_MAX);
        int32_t       port = (int32_t)(event.tie & INT32_MAX);
        now = event.at;
        switch ((enum event_kind)(event.tie >> 62)) {
        case RELEASE:
            if (port == 0) {
                release_here(p, s, a, now);
            } else {
                release_elsewhere(p, s, p->op[a].port + port - 1, now);
            }
            break;
        case BUS: look_bus(p, s, a, now); break;
        case DEVICE: look_device(p, s, a, now); break;
        }
    }
    p->result.step_time_ns = now;
    account_memory(p, s);
}

const emp_rules_type emp_rules_placeto = {sizeof(placeto), create_placeto, run_placeto};

/* The simulator of Baechi, docs/simulator.md: ops are served by ready time, and all that an
 * op causes is booked when it is served. */

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

static emp_status allocate_baechi(baechi *s, emp_rules_sim *p, emp_error *err)
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

static emp_status create_baechi(emp_rules_sim *p, emp_error *err)
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
    EMP_CHECK(allocate_baechi(s, p, err));
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
static emp_time_ns deliver_baechi(emp_rules_sim *p, int32_t op, emp_rules_edge edge)
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

static void run_baechi(emp_rules_sim *p)
{
    baechi *s = p->state;

    memset(s->channel_ns, 0, sizeof s->channel_ns);
    emp_rules_service_run(&s->service, p, deliver_baechi);
}

const emp_rules_type emp_rules_baechi = {sizeof(baechi), create_baechi, run_baechi};

/* The simulators of GiPH and DOPPLER, docs/simulator.md: every edge between two devices is a
 * message of its own, which waits for nothing. */

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

static emp_status create_edges(emp_rules_sim *p, emp_error *err)
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

static emp_time_ns deliver_edges(emp_rules_sim *p, int32_t op, emp_rules_edge edge)
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

static void run_edges(emp_rules_sim *p)
{
    edges *s = p->state;

    emp_rules_service_run(&s->service, p, deliver_edges);
}

const emp_rules_type emp_rules_edges = {sizeof(edges), create_edges, run_edges};
