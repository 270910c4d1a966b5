// SPDX-License-Identifier: GPL-3.0-or-later
/* PEFT (Arabnejad and Barbosa, IEEE TPDS 2014), with memory: HEFT with a look ahead.
 *
 *     OCT(v, d) = max over readers s of min over devices e of
 *                 OCT(s, e) + time(s, e) + (d != e) mean transfer(v, s)
 *
 * is what must follow v at least when v runs on d. Of the ready tasks the one with the
 * largest mean OCT goes first, into the gap of the device with the least end + OCT. Ties go
 * to the lower number. */
#include "baselines/baselines.h"
#include "baselines/schedulers/list_schedule.h"

typedef struct {
    emp_list_schedule *schedule;
    int32_t            device_count;
    double            *oct; /**< [task][device]; of devices that a task may not use too */
    double            *rank; /**< [task] */
    int32_t           *heap; /**< ready tasks, the first in order at 0 */
    int32_t            heap_count;
    emp_arrays         arrays;
} peft;

static double *oct_of(const peft *p, int32_t task)
{
    return p->oct + (size_t)task * (size_t)p->device_count;
}

/* Lets the producers of a task know what follows through it. */
static void tell_producer(peft *p, int32_t task, int32_t producer, double transfer_ns)
{
    const emp_task_graph *t = p->schedule->graph;

    for (emp_device_id d = 0; d < p->device_count; d++) {
        double least = -1.0;
        for (emp_device_id e = 0; e < p->device_count; e++) {
            if (!emp_task_may_use(t, task, e)) continue;
            double after = oct_of(p, task)[e] +
                           (double)emp_list_time_ns(p->schedule, task, e) +
                           (d != e ? transfer_ns : 0.0);
            if (least < 0.0 || after < least) least = after;
        }
        if (least > oct_of(p, producer)[d]) oct_of(p, producer)[d] = least;
    }
}

static double mean_oct(const peft *p, int32_t task)
{
    double  sum = 0.0;
    int32_t count = 0;

    for (emp_device_id d = 0; d < p->device_count; d++) {
        if (!emp_task_may_use(p->schedule->graph, task, d)) continue;
        sum += oct_of(p, task)[d];
        count++;
    }
    return sum / count;
}

static void look_ahead(peft *p)
{
    const emp_task_graph *t = p->schedule->graph;
    uint64_t              devices = 0;

    for (int32_t pin = 0; pin < t->pin_count; pin++) devices |= t->devices_of_pin[pin];
    emp_mean_transfer mean = emp_task_mean_transfer(t, devices);
    for (int32_t task = t->task_count - 1; task >= 0; task--) {
        int32_t row_end = t->input_offset[task + 1];
        p->rank[task] = mean_oct(p, task); /* all its readers have told */
        for (int32_t i = t->input_offset[task]; i < row_end;) {
            emp_task_edge edge = emp_task_edge_at(t, i, row_end);
            tell_producer(p, task, edge.producer, emp_mean_transfer_ns(mean, edge));
            i = edge.end;
        }
    }
}

static bool goes_first(const peft *p, int32_t a, int32_t b)
{
    return p->rank[a] != p->rank[b] ? p->rank[a] > p->rank[b] : a < b;
}

static void push(peft *p, int32_t task)
{
    int32_t at = p->heap_count++;

    for (; at > 0 && goes_first(p, task, p->heap[(at - 1) / 2]); at = (at - 1) / 2)
        p->heap[at] = p->heap[(at - 1) / 2];
    p->heap[at] = task;
}

static int32_t pop(peft *p)
{
    int32_t first = p->heap[0], moved = p->heap[--p->heap_count], at = 0;

    while (2 * at + 1 < p->heap_count) {
        int32_t child = 2 * at + 1;
        if (child + 1 < p->heap_count &&
            goes_first(p, p->heap[child + 1], p->heap[child]))
            child++;
        if (!goes_first(p, p->heap[child], moved)) break;
        p->heap[at] = p->heap[child];
        at = child;
    }
    p->heap[at] = moved;
    return first;
}

emp_status emp_schedule_peft(emp_list_schedule *s, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     tasks = (size_t)s->graph->task_count;
    peft       p = {.schedule = s, .device_count = s->graph->machine->device_count};

    p.oct = EMP_ADD_ARRAY(&p.arrays, double, tasks *(size_t)p.device_count);
    p.rank = EMP_ADD_ARRAY(&p.arrays, double, tasks);
    p.heap = EMP_ADD_ARRAY(&p.arrays, int32_t, tasks);
    if (p.arrays.is_short)
        EMP_FAIL(EMP_ENOMEM, "cost table of %d tasks", s->graph->task_count);
    look_ahead(&p);
    for (int32_t i = 0; i < s->ready_count; i++) push(&p, s->ready[i]);
    while (p.heap_count > 0) {
        int32_t known = s->ready_count - 1; /* booking takes one and appends others */
        int32_t task = pop(&p);
        EMP_TRY(emp_list_book_first_end(s, task, oct_of(&p, task), err));
        for (int32_t i = known; i < s->ready_count; i++) push(&p, s->ready[i]);
    }

cleanup:
    emp_arrays_clear(&p.arrays);
    return st;
}

const emp_method emp_method_peft = {
    .name = "peft",
    .description = "PEFT, HEFT with a look ahead (Arabnejad and Barbosa 2014)",
    .advice = "heft with a look ahead, where memory is plenty",
    .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER,
    .place = emp_list_place,
    .own = &(const emp_list_method){EMP_TASKS_OPS, emp_schedule_peft},
};
