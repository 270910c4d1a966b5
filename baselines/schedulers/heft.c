// SPDX-License-Identifier: GPL-3.0-or-later
/* HEFT (Topcuoglu, Hariri and Wu, IEEE TPDS 2002), with memory: tasks by decreasing upward
 * rank, each into the first gap of the device on which it ends first, of those on which it
 * fits. Ties go to the lower number. */
#include <stdlib.h>

#include "base/mem.h"
#include "baselines/baselines.h"
#include "baselines/schedulers/list_schedule.h"

typedef struct {
    double  rank;
    int32_t task;
} ranked;

static int by_rank(const void *left, const void *right)
{
    const ranked *l = left, *r = right;

    if (l->rank != r->rank) return l->rank > r->rank ? -1 : 1;
    return (l->task > r->task) - (l->task < r->task);
}

emp_status emp_schedule_heft(emp_list_schedule *s, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    count = s->graph->task_count;
    emp_arrays arrays = {0};
    double    *rank = EMP_ADD_ARRAY(&arrays, double, (size_t)count);
    ranked    *order = EMP_ADD_ARRAY(&arrays, ranked, (size_t)count);

    if (arrays.is_short) EMP_FAIL(EMP_ENOMEM, "order of %d tasks", count);
    emp_list_levels(s->graph, true, rank);
    for (int32_t task = 0; task < count; task++) order[task] = (ranked){rank[task], task};
    qsort(order, (size_t)count, sizeof *order, by_rank);
    for (int32_t i = 0; i < count; i++)
        EMP_TRY(emp_list_book_first_end(s, order[i].task, NULL, err));

cleanup:
    emp_arrays_clear(&arrays);
    return st;
}

const emp_method emp_method_heft = {
    .name = "heft",
    .description = "HEFT, heterogeneous earliest finish time (Topcuoglu et al. 2002)",
    .advice = "a quick schedule where memory is plenty",
    .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER,
    .place = emp_list_place,
    .own = &(const emp_list_method){EMP_TASKS_OPS, emp_schedule_heft},
};

/* PEFT (Arabnejad and Barbosa, IEEE TPDS 2014), with memory: HEFT with a look ahead.
 *
 *     OCT(v, d) = max over readers s of min over devices e of
 *                 OCT(s, e) + time(s, e) + (d != e) mean transfer(v, s)
 *
 * is what must follow v at least when v runs on d. Of the ready tasks the one with the
 * largest mean OCT goes first, into the gap of the device with the least end + OCT. Ties go
 * to the lower number. */

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

/* The scheduler that DOPPLER learns from at first (Yao et al., ICLR 2026; its repository calls
 * it the critical path): of the ready tasks one with the longest way to the end, transfers
 * counted, on a device where it ends first. It comes after all that the device has been given.
 * Ties are drawn, tasks first. The repository asks for the earliest start, which on devices as
 * alike as its own is the same.
 *
 * The released program then notes a task as if it had started when its device was free, so that
 * waits for inputs vanish from all that follows. That is waits=0. */

/* The best of what is looked at, each of equals with the same probability. */
typedef struct {
    double  least;
    int32_t equals; /* 0: nothing has been looked at */
    int32_t best;
} draw;

static void look_at(draw *d, int32_t item, double value, emp_rng *rng)
{
    if (d->equals > 0 && value > d->least) return;
    if (d->equals == 0 || value < d->least) *d = (draw){.least = value};
    if (emp_rng_below(rng, (uint32_t)++d->equals) == 0) d->best = item;
}

static int32_t draw_task(emp_list_schedule *s, const double *level)
{
    draw d = {0};

    for (int32_t i = 0; i < s->ready_count; i++)
        look_at(&d, s->ready[i], -level[s->ready[i]], &s->rng);
    return d.best;
}

static emp_time_ns start_on(const emp_list_schedule *s, int32_t task,
                            emp_device_id device)
{
    return emp_time_later(s->free_ns[device], emp_list_arrival_ns(s, task, device));
}

static emp_status book(emp_list_schedule *s, int32_t task, emp_error *err)
{
    draw d = {0};

    for (emp_device_id device = 0; device < s->graph->machine->device_count; device++) {
        emp_time_ns end = start_on(s, task, device) + emp_list_time_ns(s, task, device);
        if (emp_list_may_go(s, task, device)) look_at(&d, device, (double)end, &s->rng);
    }
    if (d.equals == 0) EMP_CHECK(emp_list_fall_back(s, task, &d.best, err));
    emp_time_ns start = s->options.waits ? start_on(s, task, d.best) : s->free_ns[d.best];
    return emp_list_book(s, task, d.best, start, err);
}

emp_status emp_schedule_critical_path(emp_list_schedule *s, emp_error *err)
{
    emp_status st = EMP_OK;
    double    *level = NULL;

    EMP_TRY(EMP_ALLOC(level, (size_t)s->graph->task_count));
    emp_list_levels(s->graph, true, level);
    while (s->ready_count > 0) EMP_TRY(book(s, draw_task(s, level), err));

cleanup:
    emp_free(level);
    return st;
}

static const emp_option option_list[] = {
    EMP_BOOL_OPTION(
        "waits", emp_list_options, waits,
        "1: a task starts when its inputs are there; 0: as soon as its device "
        "is free, as DOPPLER's released program notes it",
        1),
    EMP_NO_OPTION};

const emp_method emp_method_critical_path = {
    .name = "critical-path",
    .description = "longest way to the end first, where it ends first (Yao et al. 2026)",
    .advice = "a quick schedule whose ties are drawn, DOPPLER's teacher",
    .uses_seed = true,
    .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER,
    .options = option_list,
    .place = emp_list_place,
    .own = &(const emp_list_method){EMP_TASKS_OPS, emp_schedule_critical_path},
};
