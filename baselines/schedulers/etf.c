// SPDX-License-Identifier: GPL-3.0-or-later
/* ETF (Hwang, Chow, Anger and Lee, SIAM J. Computing 1989), with memory: the ready task and
 * the device with the earliest start of all such pairs, again and again. Ties go to the task
 * with the longest way to the end, transfers aside, then to the lower number.
 *
 * A device never gets free earlier. So each device has its ready tasks in two heaps: those whose
 * inputs come after it gets free, by arrival, and the others, which could all start then. The best
 * of a device is on top, and a booking costs O(devices log tasks) while memory lasts. Tasks that
 * do not fit are set aside until the device has more memory or more of their inputs. */
#include <stdlib.h>

#include "base/mem.h"
#include "baselines/baselines.h"
#include "baselines/schedulers/list_schedule.h"

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

typedef struct {
    double  level;
    int32_t task;
} levelled;

static int by_level(const void *a, const void *b)
{
    const levelled *x = a, *y = b;

    if (x->level != y->level) return x->level > y->level ? -1 : 1;
    return (x->task > y->task) - (x->task < y->task);
}

static emp_status rank_tasks(etf *e, emp_error *err)
{
    emp_status            st = EMP_OK;
    const emp_task_graph *t = e->schedule->graph;
    levelled             *sorted = NULL;
    double               *level = NULL;

    EMP_TRY(EMP_ALLOC(sorted, (size_t)t->task_count));
    EMP_TRY(EMP_ALLOC(level, (size_t)t->task_count));
    emp_list_levels(t, false, level);
    for (int32_t task = 0; task < t->task_count; task++)
        sorted[task] = (levelled){level[task], task};
    qsort(sorted, (size_t)t->task_count, sizeof *sorted, by_level);
    for (int32_t rank = 0; rank < t->task_count; rank++) {
        e->task_of_rank[rank] = sorted[rank].task;
        e->rank_of_task[sorted[rank].task] = rank;
    }

cleanup:
    emp_free(level);
    emp_free(sorted);
    return st;
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
