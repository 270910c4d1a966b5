// SPDX-License-Identifier: GPL-3.0-or-later
/* The graph as docs/simulator.md sees it, a run around a rule set, and parts that rule sets share: a heap of
 * the next items, durations, memory, the calls of a traced run, and ops served by ready time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sim/rules/rules_internal.h"

static const emp_rules_type *const table[EMP_RULES_COUNT] = {
    [EMP_RULES_PLACETO] = &emp_rules_placeto,
    [EMP_RULES_BAECHI] = &emp_rules_baechi,
    [EMP_RULES_EDGES] = &emp_rules_edges,
    [EMP_RULES_MSR_LATENCY] = &emp_rules_msr_latency,
    [EMP_RULES_MSR_LOAD] = &emp_rules_msr_load,
};

/* ---- the graph ---- */

static emp_status allocate(emp_rules_sim *p, const emp_graph *g, emp_error *err)
{
    int64_t ports = 0, edges = 0;

    for (emp_op_id id = 0; id < g->op_count; id++) {
        if (g->op[id].is_folded) continue;
        p->op_count++;
        ports += g->output_offset[id + 1] - g->output_offset[id] + 1;
        edges += g->input_offset[id + 1] - g->input_offset[id];
        edges += g->control_offset[id + 1] - g->control_offset[id];
    }
    if (ports > INT32_MAX || edges > INT32_MAX) {
        return EMP_ERROR(EMP_EUNSUPPORTED, "a graph of more than %d outputs or edges",
                         INT32_MAX);
    }
    size_t ops = (size_t)p->op_count;
    size_t events = 4 * (size_t)p->device_count;
    p->op = EMP_ADD_ARRAY(&p->arrays, emp_rules_op, ops + 1);
    p->time_ns = EMP_ADD_ARRAY(&p->arrays, emp_time_ns, ops * (size_t)p->column_count);
    p->port = EMP_ADD_ARRAY(&p->arrays, emp_rules_port, (size_t)ports);
    p->in = EMP_ADD_ARRAY(&p->arrays, int32_t, (size_t)edges);
    p->out = EMP_ADD_ARRAY(&p->arrays, emp_rules_edge, (size_t)edges);
    p->heap.key = EMP_ADD_ARRAY(&p->arrays, emp_rules_key, ops > events ? ops : events);
    p->device = EMP_ADD_ARRAY(&p->arrays, uint8_t, ops);
    p->start_ns = EMP_ADD_ARRAY(&p->arrays, emp_time_ns, ops);
    p->end_ns = EMP_ADD_ARRAY(&p->arrays, emp_time_ns, ops);
    p->state = emp_arrays_add(&p->arrays, 1, p->type->state_bytes);
    return emp_rules_check_memory(p, err);
}

/* At most INT64_MAX, which check_bytes() refuses. */
static int64_t sum_of(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* CPUs' columns come first. */
static void number_columns(emp_rules_sim *p, const emp_problem *problem)
{
    const emp_cost_table *costs = problem->costs;
    const int32_t         cpu_columns = costs->column_count[EMP_DEVICE_CPU];

    p->column_count = cpu_columns + costs->column_count[EMP_DEVICE_GPU];
    for (int32_t d = 0; d < problem->machine->device_count; d++) {
        bool is_gpu = problem->machine->device[d].kind == EMP_DEVICE_GPU;
        p->column_of_device[d] =
            (uint8_t)(costs->column_of_device[d] + (is_gpu ? cpu_columns : 0));
    }
}

static void fill_times(emp_rules_sim *p, int32_t op, emp_op_id id)
{
    const emp_cost_table *costs = p->problem->costs;
    emp_time_ns          *to = &p->time_ns[(size_t)op * (size_t)p->column_count];

    for (int32_t c = 0; c < costs->column_count[EMP_DEVICE_CPU]; c++)
        *to++ = costs->cpu[c * costs->op_count + id].compute_ns;
    for (int32_t c = 0; c < costs->column_count[EMP_DEVICE_GPU]; c++)
        *to++ = costs->gpu[c * costs->op_count + id].compute_ns;
}

/* port_of[] gets the port of each output, control_of[] the port of each op's control edges,
 * or -1. */
static void number_ports(emp_rules_sim *p, int32_t *port_of, int32_t *control_of)
{
    const emp_problem *problem = p->problem;
    const emp_graph   *g = problem->graph;
    int32_t            op = 0;

    for (emp_op_id id = 0; id < g->op_count; id++) {
        const emp_op *from = &g->op[id];
        control_of[id] = -1;
        for (int32_t t = g->output_offset[id]; t < g->output_offset[id + 1]; t++) {
            port_of[t] = -1;
        }
        if (from->is_folded) continue;
        emp_rules_op *to = &p->op[op];
        *to = (emp_rules_op){.id = id,
                             .kinds = problem->kinds_of_class[from->colocation_class],
                             .persistent_bytes = from->persistent_bytes,
                             .workspace_bytes = from->cost->workspace_bytes,
                             .port = p->port_count};
        fill_times(p, op, id);
        for (int32_t t = g->output_offset[id]; t < g->output_offset[id + 1]; t++) {
            to->output_bytes = sum_of(to->output_bytes, g->tensor[t].bytes);
            port_of[t] = p->port_count;
            p->port[p->port_count++] = (emp_rules_port){g->tensor[t].copy_bytes, op, t};
        }
        control_of[id] = p->port_count;
        p->port[p->port_count++] = (emp_rules_port){0, op, -1};
        op++;
    }
    p->op[op].port = p->port_count;
}

static int compare_ports(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* Ports rise with their ops, so a sorted row is by (producer, port). */
static void connect_in(emp_rules_sim *p, const emp_graph *g, const int32_t *port_of,
                       const int32_t *control_of)
{
    for (int32_t op = 0; op < p->op_count; op++) {
        emp_op_id id = p->op[op].id;
        int32_t  *row = &p->in[p->edge_count], count = 0, distinct = 0;
        p->op[op].in = p->edge_count;
        for (int32_t i = g->input_offset[id]; i < g->input_offset[id + 1]; i++) {
            row[count] = port_of[g->input[i]];
            count += row[count] >= 0;
        }
        for (int32_t i = g->control_offset[id]; i < g->control_offset[id + 1]; i++) {
            row[count] = control_of[g->control[i]];
            count += row[count] >= 0;
        }
        qsort(row, (size_t)count, sizeof *row, compare_ports);
        for (int32_t i = 0; i < count; i++) {
            if (i == 0 || row[i] != row[i - 1]) row[distinct++] = row[i];
        }
        p->edge_count += distinct;
    }
    p->op[p->op_count].in = p->edge_count;
}

/* Consumers come in rising order, their ports too. */
static void connect_out(emp_rules_sim *p)
{
    int32_t total = 0;

    for (int32_t i = 0; i < p->edge_count; i++) p->op[p->port[p->in[i]].op].out++;
    for (int32_t op = 0; op <= p->op_count; op++) {
        int32_t count = p->op[op].out;
        p->op[op].out = total;
        total += count;
    }
    for (int32_t v = 0; v < p->op_count; v++) {
        for (int32_t i = p->op[v].in; i < p->op[v + 1].in; i++) {
            int32_t u = p->port[p->in[i]].op;
            p->out[p->op[u].out++] = (emp_rules_edge){v, p->in[i]};
        }
    }
    for (int32_t op = p->op_count; op > 0; op--) p->op[op].out = p->op[op - 1].out;
    p->op[0].out = 0;
}

/* No sum of bytes may overflow: every op could be on one device, every edge a transfer. */
static emp_status check_bytes(const emp_rules_sim *p, emp_error *err)
{
    double total = 0.0;

    for (int32_t op = 0; op < p->op_count; op++) {
        const emp_rules_op *o = &p->op[op];
        double              edges = o[1].out - o->out;
        total += (double)o->output_bytes + (double)o->persistent_bytes +
                 (double)o->workspace_bytes;
        for (int32_t port = o->port; port < o[1].port; port++) {
            total += (double)p->port[port].bytes * (edges + 1.0);
        }
    }
    return emp_sim_limit_bytes(total, err);
}

static void set_devices(emp_rules_sim *p, const emp_problem *problem)
{
    const emp_machine *m = problem->machine;

    p->problem = problem;
    p->device_count = m->device_count;
    for (int32_t d = 0; d < m->device_count; d++) {
        bool is_cpu = m->device[d].kind == EMP_DEVICE_CPU;
        p->kind_of_device[d] = is_cpu ? EMP_KIND_CPU : EMP_KIND_GPU;
        p->memory[d].limit = emp_problem_memory_bytes(problem, d);
    }
}

emp_status emp_rules_sim_create(emp_rules_sim **out, const emp_problem *problem,
                                emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = problem->graph;
    int32_t         *port_of = EMP_NEW_ARRAY(int32_t, (size_t)g->tensor_count);
    int32_t         *control_of = EMP_NEW_ARRAY(int32_t, (size_t)g->op_count);
    emp_rules_sim   *p = EMP_NEW(emp_rules_sim);

    *out = NULL;
    if (!port_of || !control_of || !p)
        EMP_FAIL(EMP_ENOMEM, "simulator of %d ops", g->op_count);
    p->type = table[problem->runtime.rules];
    if (p->type == NULL)
        EMP_FAIL(EMP_EINVAL, "the rules \"events\" are simulated by emp_sim_create()");
    set_devices(p, problem);
    number_columns(p, problem);
    EMP_TRY(allocate(p, g, err));
    number_ports(p, port_of, control_of);
    connect_in(p, g, port_of, control_of);
    connect_out(p);
    EMP_TRY(check_bytes(p, err));
    EMP_TRY(p->type->create(p, err));
    *out = p;
    p = NULL;

cleanup:
    emp_free(port_of);
    emp_free(control_of);
    emp_rules_sim_destroy(p);
    return st;
}

void emp_rules_sim_destroy(emp_rules_sim *p)
{
    if (p == NULL) return;
    emp_arrays_clear(&p->arrays);
    emp_free(p);
}

/* ---- a run ---- */

static emp_status take_placement(emp_rules_sim *p, const emp_device_id *device_of_op,
                                 emp_error *err)
{
    for (int32_t op = 0; op < p->op_count; op++) {
        emp_device_id device = device_of_op[p->op[op].id];
        if ((uint32_t)device >= (uint32_t)p->device_count ||
            !(p->op[op].kinds & p->kind_of_device[device])) {
            return emp_sim_refuse_device(p->problem, p->op[op].id, device, err);
        }
        p->device[op] = (uint8_t)device;
    }
    return EMP_OK;
}

emp_status emp_rules_sim_run(emp_rules_sim *p, const emp_device_id *device_of_op,
                             const emp_sim_watch *watch, emp_sim_result *result,
                             emp_error *err)
{
    emp_sim_result *r = &p->result;

    EMP_CHECK(take_placement(p, device_of_op, err));
    p->is_traced = watch->is_traced;
    p->trace = watch->trace;
    p->times = watch->times;
    *r =
        (emp_sim_result){.device_count = p->device_count, .oom_device = -1, .oom_op = -1};
    for (int32_t d = 0; d < p->device_count; d++)
        p->memory[d].used = p->memory[d].peak = 0;
    p->heap.count = 0;
    p->type->run(p);
    for (int32_t d = 0; d < p->device_count; d++) r->peak_bytes[d] = p->memory[d].peak;
    r->event_count = 2 * (int64_t)p->op_count + 2 * r->transfer_count;
    r->is_feasible = r->oom_device < 0;
    *result = *r;
    return EMP_OK;
}

emp_sim_live_memory emp_rules_sim_memory(const emp_rules_sim *p, emp_device_id device)
{
    const emp_rules_memory *m = &p->memory[device];

    return (emp_sim_live_memory){m->used, m->peak, p->result.oom_device >= 0};
}

emp_status emp_sim_refuse_device(const emp_problem *problem, emp_op_id op,
                                 emp_device_id device, emp_error *err)
{
    const emp_machine *m = problem->machine;
    const char        *name = problem->graph->name[op];

    if (device < 0 || device >= m->device_count) {
        return EMP_ERROR(EMP_EINVAL, "op '%s' is on device %d of 0..%d", name, device,
                         m->device_count - 1);
    }
    return EMP_ERROR(EMP_EINVAL, "op '%s' cannot run on %s", name,
                     m->device[device].name);
}

/* ---- the parts that rule sets share ---- */

__extension__ typedef unsigned __int128 wide;

static bool is_before(emp_rules_key a, emp_rules_key b)
{
    return a.at < b.at || (a.at == b.at && a.tie < b.tie);
}

void emp_rules_push(emp_rules_heap *heap, emp_time_ns at, uint64_t tie)
{
    emp_rules_key key = {at, tie};
    int32_t       i = heap->count++;

    for (; i > 0 && is_before(key, heap->key[(i - 1) / 2]); i = (i - 1) / 2) {
        heap->key[i] = heap->key[(i - 1) / 2];
    }
    heap->key[i] = key;
}

emp_rules_key emp_rules_pop(emp_rules_heap *heap)
{
    emp_rules_key least = heap->key[0], last = heap->key[--heap->count];
    int32_t       i = 0;

    for (int32_t child = 1; child < heap->count; child = 2 * i + 1) {
        if (child + 1 < heap->count && is_before(heap->key[child + 1], heap->key[child]))
            child++;
        if (!is_before(heap->key[child], last)) break;
        heap->key[i] = heap->key[child];
        i = child;
    }
    heap->key[i] = last;
    return least;
}

emp_status emp_rules_rate_of(emp_rules_rate *rate, double bytes_per_s, const char *key,
                             emp_error *err)
{
    if (!(bytes_per_s >= 1.0 && bytes_per_s < 0x1p62)) {
        return EMP_ERROR(EMP_EUNSUPPORTED, "%s is %g B/s; 1 B/s to %.3g B/s are possible",
                         key, bytes_per_s, 0x1p62);
    }
    *rate = (emp_rules_rate){1000000000, (uint64_t)llround(bytes_per_s)};
    return EMP_OK;
}

emp_time_ns emp_rules_duration(emp_rules_rate rate, int64_t bytes)
{
    wide ns = ((wide)bytes * rate.numerator + rate.denominator / 2) / rate.denominator;

    return ns < EMP_COST_LIMIT_NS ? (emp_time_ns)ns : EMP_COST_LIMIT_NS;
}

emp_status emp_rules_check_times(const emp_rules_sim *profile, double others,
                                 emp_error *err)
{
    double             total = others;
    const emp_time_ns *time_ns = profile->time_ns;

    for (int32_t op = 0; op < profile->op_count; op++) {
        emp_time_ns most_ns = 0;
        for (int32_t c = 0; c < profile->column_count; c++)
            most_ns = emp_time_later(most_ns, *time_ns++);
        total += (double)most_ns;
    }
    return emp_sim_limit_time(total, EMP_COST_LIMIT_NS, err);
}

emp_status emp_rules_check_memory(const emp_rules_sim *p, emp_error *err)
{
    if (!p->arrays.is_short) return EMP_OK;
    return EMP_ERROR(EMP_ENOMEM, "simulator of %d ops", p->op_count);
}

#define TELL(callback, ...)                                              \
    do {                                                                 \
        if (p->is_traced) EMP_SIM_TELL(p->trace, callback, __VA_ARGS__); \
    } while (0)

void emp_rules_hold(emp_rules_sim *p, int32_t device, int32_t op, int64_t bytes,
                    emp_time_ns at)
{
    emp_rules_memory *memory = &p->memory[device];
    emp_sim_result   *r = &p->result;

    if (bytes == 0) return;
    memory->used += bytes;
    if (memory->used > memory->peak) memory->peak = memory->used;
    if (memory->used > memory->limit && r->oom_device < 0) {
        r->oom_device = device;
        r->oom_op = p->op[op].id;
        r->oom_bytes = bytes;
        r->oom_at_ns = at;
    }
    TELL(memory, device, at, memory->used);
}

void emp_rules_release(emp_rules_sim *p, int32_t device, int64_t bytes, emp_time_ns at)
{
    if (bytes == 0) return;
    p->memory[device].used -= bytes;
    TELL(memory, device, at, p->memory[device].used);
}

void emp_rules_run_op(emp_rules_sim *p, int32_t op, int32_t lane, emp_time_ns start,
                      emp_time_ns end)
{
    emp_op_id id = p->op[op].id;
    int32_t   device = p->device[op];

    p->result.busy_ns[device] += end - start;
    if (p->is_traced)
        emp_sim_record(&p->result, EMP_SIM_RECORD_OP, id, device, start, end);
    if (p->times != NULL) {
        p->times->start_ns[id] = start;
        p->times->end_ns[id] = end;
    }
    TELL(op, id, device, lane, start, end);
}

void emp_rules_tell_ready(emp_rules_sim *p, int32_t op, emp_time_ns at)
{
    TELL(ready, p->op[op].id, p->device[op], at);
}

void emp_rules_tell_transfer(emp_rules_sim *p, int32_t port, int32_t from, int32_t to,
                             emp_time_ns start, emp_time_ns end)
{
    emp_tensor_id tensor = p->port[port].id;
    emp_op_id     op = p->op[p->port[port].op].id;

    if (!p->is_traced) return;
    if (tensor < 0) {
        emp_sim_record(&p->result, EMP_SIM_RECORD_MESSAGE, op, to, start, end);
        TELL(message, op, to, end);
    } else {
        emp_sim_record(&p->result, EMP_SIM_RECORD_TRANSFER, tensor, to, start, end);
        TELL(transfer, tensor, from, to, start, end);
    }
}

emp_status emp_sim_limit_bytes(double total, emp_error *err)
{
    if (!(total < (double)EMP_SIM_ENDLESS)) {
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "variables, tensors and copies of %.3g bytes in all; "
                         "at most %.3g bytes",
                         total, (double)EMP_SIM_ENDLESS);
    }
    return EMP_OK;
}

emp_status emp_sim_limit_time(double total_ns, emp_time_ns last_ns, emp_error *err)
{
    if (!(total_ns < (double)last_ns)) {
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "ops and transfers of %.3g s in all; at most %.3g s",
                         total_ns * 1e-9, (double)last_ns * 1e-9);
    }
    return EMP_OK;
}

void emp_rules_service_add(emp_rules_service *s, emp_rules_sim *p)
{
    size_t ops = (size_t)p->op_count;

    s->consumer_count = EMP_ADD_ARRAY(&p->arrays, int32_t, ops);
    s->missing = EMP_ADD_ARRAY(&p->arrays, int32_t, ops);
    s->reading = EMP_ADD_ARRAY(&p->arrays, int32_t, ops);
    s->ready_ns = EMP_ADD_ARRAY(&p->arrays, emp_time_ns, ops);
}

void emp_rules_service_count(emp_rules_service *s, const emp_rules_sim *p)
{
    for (int32_t op = 0; op < p->op_count; op++) {
        for (int32_t i = p->op[op].out; i < p->op[op + 1].out; i++) {
            bool is_first =
                i == p->op[op].out || p->out[i].consumer != p->out[i - 1].consumer;
            s->consumer_count[op] += is_first;
        }
    }
}

static void queue_op(emp_rules_sim *p, const emp_rules_service *s, int32_t op)
{
    emp_rules_tell_ready(p, op, s->ready_ns[op]);
    emp_rules_push(&p->heap, s->ready_ns[op], (uint64_t)op);
}

/* Memory follows the order of service, so it is reported at ready times, which never fall. */
static void account_memory(emp_rules_sim *p, emp_rules_service *s, int32_t op)
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

static void serve(emp_rules_sim *p, emp_rules_service *s, emp_rules_deliver *deliver,
                  int32_t op)
{
    int32_t     device = p->device[op];
    emp_time_ns start = emp_time_later(s->ready_ns[op], s->free_ns[device]);
    emp_time_ns end = start + emp_rules_cost(p, op);

    s->number++;
    p->start_ns[op] = start;
    p->end_ns[op] = s->free_ns[device] = end;
    emp_rules_run_op(p, op, 0, start, end);
    account_memory(p, s, op);
    for (int32_t i = p->op[op].out; i < p->op[op + 1].out; i++) {
        int32_t v = p->out[i].consumer;
        s->ready_ns[v] = emp_time_later(s->ready_ns[v], deliver(p, op, p->out[i]));
        if (--s->missing[v] == 0) queue_op(p, s, v);
    }
}

void emp_rules_service_run(emp_rules_service *s, emp_rules_sim *p,
                           emp_rules_deliver *deliver)
{
    memset(s->free_ns, 0, sizeof s->free_ns);
    for (int32_t op = 0; op < p->op_count; op++) {
        s->missing[op] = p->op[op + 1].in - p->op[op].in;
        s->reading[op] = s->consumer_count[op];
        s->ready_ns[op] = 0;
        if (s->missing[op] == 0) queue_op(p, s, op);
    }
    while (p->heap.count > 0) serve(p, s, deliver, (int32_t)emp_rules_pop(&p->heap).tie);
    for (int32_t d = 0; d < p->device_count; d++) {
        p->result.step_time_ns = emp_time_later(p->result.step_time_ns, s->free_ns[d]);
    }
}
