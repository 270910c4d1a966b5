// SPDX-License-Identifier: GPL-3.0-or-later
/* HEFT (Topcuoglu, Hariri and Wu, IEEE TPDS 2002), with memory: tasks by decreasing upward
 * rank, each into the first gap of the device on which it ends first, of those on which it
 * fits. Ties go to the lower number. */
#include <stdlib.h>

#include "base/mem.h"
#include "baselines/baselines.h"
#include "baselines/schedulers/list_schedule.h"

emp_status emp_schedule_heft(emp_list_schedule *s, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t   *order = NULL;

    EMP_TRY(EMP_ALLOC(order, (size_t)s->graph->task_count));
    EMP_TRY(emp_list_order(s->graph, true, order, err));
    for (int32_t i = 0; i < s->graph->task_count; i++)
        EMP_TRY(emp_list_book_first_end(s, order[i], NULL, err));

cleanup:
    emp_free(order);
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
 * is the least time that must follow v when v runs on d. The ready task with the largest mean OCT
 * goes first, into the gap of the device with the least end + OCT. Ties go to the lower number. */

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

static void push_task(peft *p, int32_t task)
{
    int32_t at = p->heap_count++;

    for (; at > 0 && goes_first(p, task, p->heap[(at - 1) / 2]); at = (at - 1) / 2)
        p->heap[at] = p->heap[(at - 1) / 2];
    p->heap[at] = task;
}

static int32_t pop_task(peft *p)
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
    for (int32_t i = 0; i < s->ready_count; i++) push_task(&p, s->ready[i]);
    while (p.heap_count > 0) {
        int32_t known = s->ready_count - 1; /* booking takes one and appends others */
        int32_t task = pop_task(&p);
        EMP_TRY(emp_list_book_first_end(s, task, oct_of(&p, task), err));
        for (int32_t i = known; i < s->ready_count; i++) push_task(&p, s->ready[i]);
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

/* ETF (Hwang, Chow, Anger and Lee, SIAM J. Computing 1989), with memory: the ready task and
 * the device with the earliest start of all such pairs, again and again. Ties go to the task
 * with the longest way to the end, transfers aside, then to the lower number.
 *
 * A device never gets free earlier. So each device has its ready tasks in two heaps: those whose
 * inputs come after it gets free, by arrival, and the others, which could all start then. The best
 * of a device is on top, and a booking costs O(devices log tasks) while memory lasts. Tasks that
 * do not fit are set aside until the device has more memory or more of their inputs. */

/* A ready task as a device sees it. */
typedef struct {
    emp_time_ns arrival; /* 0 of those that have arrived */
    int32_t     rank;
} entry;

typedef struct {
    entry  *at;
    int32_t count;
} entries;

typedef struct {
    entries waiting, arrived; /* heaps */
    entries aside;            /* do not fit; with the arrival that they had */
    int64_t free_bytes;       /* when tasks were last set aside */
} queue;

typedef struct {
    emp_list_schedule *schedule;
    int32_t           *rank_of_task; /* by length of the way to the end, then by number */
    int32_t           *task_of_rank;
    queue              queue[EMP_MAX_DEVICES];
    int32_t            device_count;
    emp_arrays         arrays;
} etf;

typedef struct {
    emp_time_ns   start;
    int32_t       rank;
    emp_device_id device; /* -1: there is none */
} choice;

/* ---- heaps ---- */

static bool is_earlier(entry a, entry b)
{
    return a.arrival != b.arrival ? a.arrival < b.arrival : a.rank < b.rank;
}

static void push(entries *heap, entry e)
{
    int32_t i = heap->count++;

    for (int32_t up; i > 0 && is_earlier(e, heap->at[up = (i - 1) / 2]); i = up)
        heap->at[i] = heap->at[up];
    heap->at[i] = e;
}

static entry pop(entries *heap)
{
    entry   top = heap->at[0], last = heap->at[--heap->count];
    int32_t i = 0;

    for (int32_t down; (down = 2 * i + 1) < heap->count; i = down) {
        if (down + 1 < heap->count && is_earlier(heap->at[down + 1], heap->at[down]))
            down++;
        if (!is_earlier(heap->at[down], last)) break;
        heap->at[i] = heap->at[down];
    }
    heap->at[i] = last;
    return top;
}

/* ---- ready tasks ---- */

static emp_status rank_tasks(etf *e, emp_error *err)
{
    const emp_task_graph *t = e->schedule->graph;

    EMP_CHECK(emp_list_order(t, false, e->task_of_rank, err));
    for (int32_t rank = 0; rank < t->task_count; rank++)
        e->rank_of_task[e->task_of_rank[rank]] = rank;
    return EMP_OK;
}

/* Queues those that have become ready since there were so many. */
static void queue_ready(etf *e, int32_t from)
{
    const emp_list_schedule *s = e->schedule;

    for (int32_t i = from; i < s->ready_count; i++) {
        int32_t task = s->ready[i];
        for (emp_device_id d = 0; d < e->device_count; d++) {
            if (!emp_task_may_use(s->graph, task, d)) continue;
            push(&e->queue[d].waiting,
                 (entry){emp_list_arrival_ns(s, task, d), e->rank_of_task[task]});
        }
    }
}

/* Whether a task is booked, or is to go to another device whatever comes. */
static bool is_lost(const emp_list_schedule *s, int32_t task, emp_device_id device)
{
    emp_device_id pinned = s->device_of_pin[s->graph->pin_of_task[task]];

    return s->device_of_task[task] >= 0 || (pinned >= 0 && pinned != device);
}

/* The best of a device, which stays in its heap. */
static choice best_of(etf *e, emp_device_id d)
{
    const emp_list_schedule *s = e->schedule;
    queue                   *q = &e->queue[d];

    while (q->waiting.count > 0 && q->waiting.at[0].arrival <= s->free_ns[d])
        push(&q->arrived, (entry){.rank = pop(&q->waiting).rank});
    for (;;) {
        entries *heap = q->arrived.count > 0 ? &q->arrived : &q->waiting;
        if (heap->count == 0) return (choice){.device = -1};
        entry   top = heap->at[0];
        int32_t task = e->task_of_rank[top.rank];
        if (!is_lost(s, task, d)) {
            if (emp_list_may_go(s, task, d)) {
                emp_time_ns start = emp_time_later(top.arrival, s->free_ns[d]);
                return (choice){start, top.rank, d};
            }
            q->aside.at[q->aside.count++] = top;
        }
        (void)pop(heap);
    }
}

static bool is_better(choice a, choice b)
{
    if (a.device < 0 || b.device < 0) return b.device < 0;
    if (a.start != b.start) return a.start < b.start;
    return a.rank != b.rank ? a.rank < b.rank : a.device < b.device;
}

/* Tries again what did not fit, where a booking may have made room or brought inputs. */
static void take_back(etf *e, emp_device_id booked)
{
    for (emp_device_id d = 0; d < e->device_count; d++) {
        queue  *q = &e->queue[d];
        int64_t free_bytes = e->schedule->free_bytes[d];
        if (d == booked || free_bytes > q->free_bytes) {
            while (q->aside.count > 0) push(&q->waiting, q->aside.at[--q->aside.count]);
        }
        q->free_bytes = free_bytes;
    }
}

static emp_status init(etf *e, emp_list_schedule *s, emp_error *err)
{
    size_t tasks = (size_t)s->graph->task_count;

    *e = (etf){.schedule = s, .device_count = s->graph->machine->device_count};
    e->rank_of_task = EMP_ADD_ARRAY(&e->arrays, int32_t, tasks);
    e->task_of_rank = EMP_ADD_ARRAY(&e->arrays, int32_t, tasks);
    for (emp_device_id d = 0; d < e->device_count; d++) {
        queue *q = &e->queue[d];
        q->waiting.at = EMP_ADD_ARRAY(&e->arrays, entry, tasks);
        q->arrived.at = EMP_ADD_ARRAY(&e->arrays, entry, tasks);
        q->aside.at = EMP_ADD_ARRAY(&e->arrays, entry, tasks);
        q->free_bytes = s->free_bytes[d];
    }
    if (e->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "queues of %zu tasks", tasks);
    return rank_tasks(e, err);
}

/* No ready task fits anywhere. */
static emp_status fall_back(const etf *e, choice *c, emp_error *err)
{
    const emp_list_schedule *s = e->schedule;
    const int32_t            task = s->ready[0];

    EMP_CHECK(emp_list_fall_back(s, task, &c->device, err));
    c->rank = e->rank_of_task[task];
    c->start =
        emp_time_later(s->free_ns[c->device], emp_list_arrival_ns(s, task, c->device));
    return EMP_OK;
}

emp_status emp_schedule_etf(emp_list_schedule *s, emp_error *err)
{
    emp_status st = EMP_OK;
    etf        e;

    EMP_TRY(init(&e, s, err));
    queue_ready(&e, 0);
    while (s->ready_count > 0) {
        int32_t known = s->ready_count - 1; /* booking takes one and appends others */
        choice  best = {.device = -1};
        for (emp_device_id d = 0; d < e.device_count; d++) {
            choice now = best_of(&e, d);
            if (is_better(now, best)) best = now;
        }
        if (best.device < 0) EMP_TRY(fall_back(&e, &best, err));
        EMP_TRY(
            emp_list_book(s, e.task_of_rank[best.rank], best.device, best.start, err));
        take_back(&e, best.device);
        queue_ready(&e, known);
    }

cleanup:
    emp_arrays_clear(&e.arrays);
    return st;
}

const emp_method emp_method_etf = {
    .name = "etf",
    .description = "ETF, earliest task first (Hwang et al. 1989)",
    .advice = "a quick schedule by earliest start, where memory is plenty",
    .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER,
    .place = emp_list_place,
    .own = &(const emp_list_method){EMP_TASKS_GPU_OPS, emp_schedule_etf},
};
