// SPDX-License-Identifier: GPL-3.0-or-later
/* Kahn's algorithm (CACM 5(11), 1962) with a binary heap instead of a queue. */
#include "base/mem.h"
#include "sim/surrogate/surrogate_internal.h"

/* An op that can be next; its keys stand beside it, where they are compared. */
typedef struct {
    double    time;
    int32_t   rank; /* in topological order */
    emp_op_id op;
} ready_op;

typedef struct {
    const double *time_of_op;
    int32_t      *rank;    /* [op] */
    int32_t      *missing; /* [op] inputs that are still to come */
    ready_op     *heap;
    int32_t       count;
} ready_ops;

static bool is_before(const ready_op *a, const ready_op *b)
{
    return a->time < b->time || (!(b->time < a->time) && a->rank < b->rank);
}

static void push(ready_ops *r, emp_op_id op)
{
    const ready_op added = {r->time_of_op[op], r->rank[op], op};
    int32_t        i = r->count++;

    for (; i > 0 && is_before(&added, &r->heap[(i - 1) / 2]); i = (i - 1) / 2)
        r->heap[i] = r->heap[(i - 1) / 2];
    r->heap[i] = added;
}

static emp_op_id pop(ready_ops *r)
{
    const emp_op_id first = r->heap[0].op;
    const ready_op  last = r->heap[--r->count];
    int32_t         i = 0;

    for (int32_t child = 1; child < r->count; child = 2 * i + 1) {
        if (child + 1 < r->count && is_before(&r->heap[child + 1], &r->heap[child]))
            child++;
        if (!is_before(&r->heap[child], &last)) break;
        r->heap[i] = r->heap[child];
        i = child;
    }
    r->heap[i] = last;
    return first;
}

/* The input of \a op has come. */
static void arrive(ready_ops *r, const emp_graph *g, emp_op_id op)
{
    if (!g->op[op].is_folded && --r->missing[op] == 0) push(r, op);
}

static void push_sources(ready_ops *r, const emp_graph *g)
{
    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        r->rank[op] = i;
        if (g->op[op].is_folded) continue;
        for (int32_t e = g->input_offset[op]; e < g->input_offset[op + 1]; e++)
            r->missing[op] += !g->op[g->tensor[g->input[e]].producer].is_folded;
        for (int32_t e = g->control_offset[op]; e < g->control_offset[op + 1]; e++)
            r->missing[op] += !g->op[g->control[e]].is_folded;
        if (r->missing[op] == 0) push(r, op);
    }
}

static void sort_by_time(ready_ops *r, const emp_graph *g, emp_op_id *order)
{
    push_sources(r, g);
    for (int32_t i = 0; r->count > 0; i++) {
        emp_op_id op = pop(r);
        order[i] = op;
        for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++) {
            for (int32_t c = g->consumer_offset[t]; c < g->consumer_offset[t + 1]; c++)
                arrive(r, g, g->consumer[c]);
        }
        for (int32_t c = g->control_out_offset[op]; c < g->control_out_offset[op + 1];
             c++)
            arrive(r, g, g->control_out[c]);
    }
}

emp_status emp_surrogate_sort(const emp_surrogate *s, const double *time_of_op,
                              emp_op_id *order, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = s->problem->graph;
    ready_ops        r = {.time_of_op = time_of_op};

    if (time_of_op == NULL) {
        int32_t count = 0;
        for (int32_t i = 0; i < g->op_count; i++) {
            if (!g->op[g->topo[i]].is_folded) order[count++] = g->topo[i];
        }
        goto cleanup;
    }
    EMP_TRY(EMP_ALLOC(r.rank, (size_t)g->op_count));
    EMP_TRY(EMP_ALLOC(r.missing, (size_t)g->op_count));
    EMP_TRY(EMP_ALLOC(r.heap, (size_t)s->op_count));
    sort_by_time(&r, g, order);

cleanup:
    emp_free(r.rank);
    emp_free(r.missing);
    emp_free(r.heap);
    return st;
}
