// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/rules/rules_internal.h"

#include <string.h>

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

/* Memory follows the order of service, so it is told at ready times, which never fall. */
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
