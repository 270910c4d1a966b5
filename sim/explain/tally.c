// SPDX-License-Identifier: GPL-3.0-or-later
/* What the time of each device goes into: types, name scopes and single ops. */
#include <string.h>

#include "base/mem.h"
#include "sim/explain/explain_internal.h"

/* A scope with more than 1 / OPENED of a device's time is told by its parts. */
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

static emp_status allocate(struct tally *t, emp_error *err)
{
    size_t scopes = (size_t)t->scopes->count;

    EMP_CHECK(EMP_ALLOC(t->of_op, (size_t)t->s->problem->graph->op_count));
    EMP_CHECK(EMP_ALLOC(t->of_type, (size_t)t->s->problem->graph->type_count));
    EMP_CHECK(EMP_ALLOC(t->in, scopes));
    EMP_CHECK(EMP_ALLOC(t->below, scopes));
    return EMP_ALLOC(t->is_opened, scopes);
}

emp_status emp_explain_find_tallies(emp_explain *why, const emp_explain_schedule *s,
                                    emp_error *err)
{
    emp_status   st = EMP_OK;
    struct tally t = {.s = s, .scopes = &why->scopes};

    EMP_TRY(emp_scopes_init(&why->scopes, s->problem->graph, err));
    EMP_TRY(allocate(&t, err));
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
