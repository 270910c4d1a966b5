// SPDX-License-Identifier: GPL-3.0-or-later
/* Parts that rule sets share: a heap of the next items, durations, memory, the calls of a traced run, limits of a step,
 * and ops served by ready time. */
#include <math.h>
#include <string.h>

#include "sim/rules/rules_internal.h"

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
