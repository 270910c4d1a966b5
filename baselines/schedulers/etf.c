// SPDX-License-Identifier: GPL-3.0-or-later
/* ETF (Hwang, Chow, Anger and Lee, SIAM J. Computing 1989), with memory: the ready task and
 * the device with the earliest start of all such pairs, again and again. Ties go to the task
 * with the longest way to the end, transfers aside, then to the lower number. */
#include "base/mem.h"
#include "baselines/baselines.h"
#include "baselines/schedulers/list_schedule.h"

typedef struct {
    emp_list_schedule *schedule;
    double            *level;   /**< [task] */
    emp_time_ns       *arrival; /**< [task][device] of ready tasks */
    int32_t            device_count;
} etf;

typedef struct {
    emp_time_ns   start;
    int32_t       task;
    emp_device_id device; /**< -1: there is none */
} choice;

static void note_arrivals(etf *e, int32_t from)
{
    const emp_list_schedule *s = e->schedule;

    for (int32_t i = from; i < s->ready_count; i++) {
        size_t row = (size_t)s->ready[i] * (size_t)e->device_count;
        for (emp_device_id d = 0; d < e->device_count; d++) {
            if (emp_task_may_use(s->graph, s->ready[i], d))
                e->arrival[row + (size_t)d] = emp_list_arrival_ns(s, s->ready[i], d);
        }
    }
}

static bool is_better(const etf *e, choice a, choice b)
{
    if (b.device < 0) return true;
    if (a.start != b.start) return a.start < b.start;
    if (a.task == b.task) return a.device < b.device;
    if (e->level[a.task] != e->level[b.task]) return e->level[a.task] > e->level[b.task];
    return a.task < b.task;
}

/* Whether it fits costs most, so that it is asked last. */
static choice choose(const etf *e)
{
    const emp_list_schedule *s = e->schedule;
    choice                   best = {.device = -1};

    for (int32_t i = 0; i < s->ready_count; i++) {
        int32_t            task = s->ready[i];
        const emp_time_ns *row = e->arrival + (size_t)task * (size_t)e->device_count;
        for (emp_device_id d = 0; d < e->device_count; d++) {
            choice now = {row[d] > s->free_ns[d] ? row[d] : s->free_ns[d], task, d};
            if (is_better(e, now, best) && emp_list_may_go(s, task, d)) best = now;
        }
    }
    return best;
}

emp_status emp_schedule_etf(emp_list_schedule *s, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     tasks = (size_t)s->graph->task_count;
    etf        e = {.schedule = s, .device_count = s->graph->machine->device_count};

    EMP_TRY(EMP_ALLOC(e.level, tasks));
    EMP_TRY(EMP_ALLOC(e.arrival, tasks * (size_t)e.device_count));
    emp_list_levels(s->graph, false, e.level);
    note_arrivals(&e, 0);
    while (s->ready_count > 0) {
        int32_t known = s->ready_count - 1; /* booking takes one and appends others */
        choice  best = choose(&e);
        if (best.device < 0) EMP_TRY(emp_list_no_room(s, s->ready[0], err));
        EMP_TRY(emp_list_book(s, best.task, best.device, best.start, err));
        note_arrivals(&e, known);
    }

cleanup:
    emp_free(e.level);
    emp_free(e.arrival);
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
