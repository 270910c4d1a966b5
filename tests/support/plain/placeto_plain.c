// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plain/placeto_plain.h"

#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* In the order of simultaneous events. */
typedef enum { RELEASE, BUS, DEVICE } event_kind;

typedef struct {
    int64_t    at_ns;
    event_kind kind;
    int32_t    a, b; /* RELEASE: producer, consumer; else the device, 0 */
} event;

/* Something that waits for a device (an op) or for its bus (an output of an op). */
typedef struct {
    int64_t ready_ns;
    int64_t number; /* in the order of queueing */
    int32_t server; /* device, or device_count + device for its bus */
    int32_t op, output;
} request;

/* A consumer waits for an output. Output 0 stands for all outputs on the same device. */
typedef struct {
    int32_t producer, output, consumer;
} dependency;

typedef struct {
    const plain_step *step;
    plain_result     *result;
    int32_t          *output_row;
    dependency       *dependency;
    int32_t          *dependency_row; /* [op + 1] by producer */
    int32_t          *waiting_for;    /* [op] dependencies not yet released */
    int64_t          *start_ns;       /* [op] */
    event            *events;
    int32_t           event_count;
    request          *requests;
    int32_t           request_count;
    int64_t           queued_count;
    bool is_scheduled[2 * PLAIN_MAX_DEVICES]; /* [server] an event will come */
} simulation;

int64_t placeto_transfer_ns(int64_t bytes) { return plain_scale(bytes, 5, 38); }

static bool is_earlier(const event *x, const event *y)
{
    if (x->at_ns != y->at_ns) return x->at_ns < y->at_ns;
    if (x->kind != y->kind) return x->kind < y->kind;
    if (x->a != y->a) return x->a < y->a;
    return x->b < y->b;
}

static void post(simulation *sim, event e) { sim->events[sim->event_count++] = e; }

static event take_event(simulation *sim)
{
    int32_t least = 0;

    for (int32_t i = 1; i < sim->event_count; i++) {
        if (is_earlier(&sim->events[i], &sim->events[least])) least = i;
    }
    event e = sim->events[least];
    sim->events[least] = sim->events[--sim->event_count];
    return e;
}

static void post_server(simulation *sim, int32_t server, int64_t at_ns)
{
    int32_t devices = sim->step->device_count;
    bool    is_bus = server >= devices;

    sim->is_scheduled[server] = true;
    post(sim,
         (event){at_ns, is_bus ? BUS : DEVICE, is_bus ? server - devices : server, 0});
}

static void queue(simulation *sim, int32_t server, int64_t ready_ns, int32_t op,
                  int32_t output)
{
    sim->requests[sim->request_count++] =
        (request){ready_ns, sim->queued_count++, server, op, output};
    if (!sim->is_scheduled[server]) post_server(sim, server, ready_ns);
}

/* The index of the server's first request, or -1. */
static int32_t first_request(const simulation *sim, int32_t server)
{
    int32_t first = -1;

    for (int32_t i = 0; i < sim->request_count; i++) {
        const request *r = &sim->requests[i], *f = &sim->requests[first < 0 ? i : first];
        if (r->server != server) continue;
        if (first < 0 || r->ready_ns < f->ready_ns ||
            (r->ready_ns == f->ready_ns && r->number < f->number)) {
            first = i;
        }
    }
    return first;
}

static request take_request(simulation *sim, int32_t index)
{
    request r = sim->requests[index];

    sim->requests[index] = sim->requests[--sim->request_count];
    return r;
}

static bool is_local(const simulation *sim, const dependency *d)
{
    const int32_t *device_of_op = sim->step->device_of_op;

    return device_of_op[d->producer] == device_of_op[d->consumer];
}

/* The step's edges as dependencies, each once. */
static void fill_dependencies(simulation *sim)
{
    const plain_step *s = sim->step;
    int32_t           count = 0;

    for (int32_t e = 0; e < s->edge_count; e++) {
        const plain_edge *edge = &s->edge[e];
        dependency        d = {edge->producer, 0, edge->consumer};
        if (!is_local(sim, &d) && edge->tensor != PLAIN_CONTROL)
            d.output = edge->tensor - sim->output_row[edge->producer];
        bool is_known = false;
        for (int32_t i = count - 1; i >= 0; i--) {
            const dependency *other = &sim->dependency[i];
            if (other->producer != d.producer || other->consumer != d.consumer) break;
            is_known |= other->output == d.output;
        }
        if (is_known) continue;
        sim->dependency[count++] = d;
        sim->dependency_row[d.producer + 1]++;
        sim->waiting_for[d.consumer]++;
    }
    for (int32_t op = 0; op < s->op_count; op++)
        sim->dependency_row[op + 1] += sim->dependency_row[op];
}

static void run_device(simulation *sim, int32_t device, int64_t now_ns)
{
    const plain_step *s = sim->step;
    int32_t           first = first_request(sim, device);

    sim->is_scheduled[device] = false;
    if (first < 0) return;
    int32_t op = take_request(sim, first).op;
    int64_t cost_ns = plain_step_cost_ns(s, op), end_ns = now_ns + cost_ns;
    sim->start_ns[op] = now_ns;
    sim->result->busy_ns[device] += cost_ns;
    post_server(sim, device, end_ns + (cost_ns > 0 ? PLACETO_GAP_NS : 0));

    int32_t outputs = sim->output_row[op + 1] - sim->output_row[op];
    for (int32_t output = 0; output == 0 || output < outputs; output++) {
        bool is_remote = false;
        for (int32_t i = sim->dependency_row[op]; i < sim->dependency_row[op + 1]; i++) {
            const dependency *d = &sim->dependency[i];
            if (d->output != output) continue;
            if (is_local(sim, d)) {
                post(sim, (event){end_ns, RELEASE, op, d->consumer});
            } else {
                is_remote = true;
            }
        }
        if (is_remote) queue(sim, s->device_count + device, end_ns, op, output);
    }
}

static void run_bus(simulation *sim, int32_t device, int64_t now_ns)
{
    const plain_step *s = sim->step;
    int32_t server = s->device_count + device, first = first_request(sim, server);

    sim->is_scheduled[server] = false;
    if (first < 0) return;
    if (sim->requests[first].ready_ns > now_ns) {
        post_server(sim, server, sim->requests[first].ready_ns);
        return;
    }
    request r = take_request(sim, first);
    int32_t tensor = sim->output_row[r.op] + r.output;
    int64_t bytes =
        tensor < sim->output_row[r.op + 1] ? s->tensor[tensor].transfer_bytes : 0;
    int64_t arrival_ns = now_ns + placeto_transfer_ns(bytes);
    for (int32_t i = sim->dependency_row[r.op]; i < sim->dependency_row[r.op + 1]; i++) {
        const dependency *d = &sim->dependency[i];
        if (d->output == r.output && !is_local(sim, d))
            post(sim, (event){arrival_ns, RELEASE, r.op, d->consumer});
    }
    post_server(sim, server, arrival_ns + PLACETO_BUS_GAP_NS);
    sim->result->transfer_count++;
    sim->result->traffic_bytes += bytes;
}

static void release(simulation *sim, int32_t consumer, int64_t now_ns)
{
    if (--sim->waiting_for[consumer] > 0) return;
    queue(sim, sim->step->device_of_op[consumer], now_ns, consumer, 0);
}

/* A change of a device's memory. */
typedef struct {
    int64_t at_ns;
    int64_t bytes; /* < 0: freed */
    int32_t device;
} change;

static int compare_changes(const void *left, const void *right)
{
    const change *x = left, *y = right;

    if (x->at_ns != y->at_ns) return x->at_ns < y->at_ns ? -1 : 1;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes); /* the largest first */
}

static void measure_memory(const simulation *sim)
{
    const plain_step *s = sim->step;
    change           *changes = EMP_NEW_ARRAY(change, 2 * (size_t)s->op_count);
    int32_t           count = 0;
    int64_t           used_bytes[PLAIN_MAX_DEVICES] = {0};

    assert(changes != NULL);
    for (int32_t op = 0; op < s->op_count; op++) {
        int64_t bytes = 0, free_ns = sim->start_ns[op];
        for (int32_t t = sim->output_row[op]; t < sim->output_row[op + 1]; t++)
            bytes += s->tensor[t].memory_bytes;
        for (int32_t i = sim->dependency_row[op]; i < sim->dependency_row[op + 1]; i++) {
            int32_t reader = sim->dependency[i].consumer;
            int64_t ns = sim->start_ns[reader] + plain_step_cost_ns(s, reader) -
                         PLACETO_FREE_EARLY_NS;
            if (ns > free_ns) free_ns = ns;
        }
        if (bytes == 0) continue;
        changes[count++] = (change){sim->start_ns[op], bytes, s->device_of_op[op]};
        changes[count++] = (change){free_ns, -bytes, s->device_of_op[op]};
    }
    qsort(changes, (size_t)count, sizeof *changes, compare_changes);
    for (int32_t i = 0; i < count; i++) {
        int32_t  d = changes[i].device;
        int64_t *peak_bytes = &sim->result->peak_bytes[d];
        used_bytes[d] += changes[i].bytes;
        if (used_bytes[d] > *peak_bytes) *peak_bytes = used_bytes[d];
    }
    emp_free(changes);
}

void placeto_plain_run(const plain_step *s, int64_t *start_ns, plain_result *result)
{
    const size_t ops = (size_t)s->op_count, edges = (size_t)s->edge_count;
    const size_t servers = 2 * (size_t)s->device_count;
    simulation   sim = {.step = s,
                        .result = result,
                        .output_row = plain_step_output_rows(s),
                        .dependency = EMP_NEW_ARRAY(dependency, edges),
                        .dependency_row = EMP_NEW_ARRAY(int32_t, ops + 1),
                        .waiting_for = EMP_NEW_ARRAY(int32_t, ops),
                        .start_ns = EMP_NEW_ARRAY(int64_t, ops),
                        .events = EMP_NEW_ARRAY(event, edges + servers),
                        .requests = EMP_NEW_ARRAY(request, ops + edges)};

    assert(sim.dependency && sim.dependency_row && sim.waiting_for && sim.start_ns);
    assert(sim.events && sim.requests);
    *result = (plain_result){0};
    for (int32_t op = 0; op < s->op_count; op++) sim.start_ns[op] = -1;
    fill_dependencies(&sim);
    for (int32_t op = 0; op < s->op_count; op++) {
        if (sim.waiting_for[op] == 0) queue(&sim, s->device_of_op[op], 0, op, 0);
    }
    while (sim.event_count > 0) {
        event e = take_event(&sim);
        if (e.at_ns > result->step_time_ns) result->step_time_ns = e.at_ns;
        if (e.kind == RELEASE) release(&sim, e.b, e.at_ns);
        if (e.kind == BUS) run_bus(&sim, e.a, e.at_ns);
        if (e.kind == DEVICE) run_device(&sim, e.a, e.at_ns);
    }
    for (int32_t op = 0; op < s->op_count; op++) assert(sim.start_ns[op] >= 0);
    measure_memory(&sim);
    if (start_ns != NULL) memcpy(start_ns, sim.start_ns, ops * sizeof *start_ns);
    emp_free(sim.output_row);
    emp_free(sim.dependency);
    emp_free(sim.dependency_row);
    emp_free(sim.waiting_for);
    emp_free(sim.start_ns);
    emp_free(sim.events);
    emp_free(sim.requests);
}
