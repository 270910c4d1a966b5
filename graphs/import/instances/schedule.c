// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/instances/schedule.h"

static void list_gpipe(emp_task *task, int32_t micro_batches)
{
    for (int32_t i = 0; i < micro_batches; i++) {
        task[i] = (emp_task){EMP_TASK_FORWARD, i};
        task[micro_batches + i] = (emp_task){EMP_TASK_BACKWARD, micro_batches - 1 - i};
    }
}

static void list_1f1b(emp_task *task, int32_t ahead, int32_t micro_batches)
{
    int32_t forward = 0, backward = 0;

    if (ahead > micro_batches) ahead = micro_batches;
    while (backward < micro_batches) {
        bool is_forward = forward < micro_batches && forward - backward < ahead;
        if (is_forward)
            *task++ = (emp_task){EMP_TASK_FORWARD, forward++};
        else
            *task++ = (emp_task){EMP_TASK_BACKWARD, backward++};
    }
}

void emp_schedule_list_passes(emp_task *task, emp_schedule schedule, int32_t stage,
                              int32_t stages, int32_t micro_batches)
{
    if (schedule == EMP_SCHEDULE_GPIPE)
        list_gpipe(task, micro_batches);
    else
        list_1f1b(task, stages - stage, micro_batches);
}

/* ---- exchanges ---- */

typedef struct {
    emp_task *task;
    int32_t   count, stage, stages, micro_batches;
} list;

/* A task of a micro-batch that there is, with a neighbour that there is. */
static void add(list *l, emp_task_kind kind, int32_t micro_batch, bool has_neighbour)
{
    if (micro_batch >= 0 && micro_batch < l->micro_batches && has_neighbour)
        l->task[l->count++] = (emp_task){kind, micro_batch};
}

/* Even stages go forward in even steps, odd ones in odd steps. */
static bool is_forward_step(const list *l, int32_t step)
{
    return (step - l->stage) % 2 == 0;
}

/* May be none of those that there are. */
static int32_t micro_batch_of(const list *l, int32_t step)
{
    if (is_forward_step(l, step)) return (step - l->stage) / 2;
    return (step - 2 * l->stages + l->stage + 1) / 2;
}

int32_t emp_schedule_list_tasks(emp_task *task, int32_t stage, int32_t stages,
                                int32_t micro_batches)
{
    list    l = {task, 0, stage, stages, micro_batches};
    bool    has_before = stage > 0, has_next = stage + 1 < stages;
    int32_t before = -1; /* the micro-batch of the step before */

    for (int32_t step = 0; step < 2 * (micro_batches + stages); step++) {
        bool is_early =
            step < (is_forward_step(&l, step) ? stage : 2 * stages - stage - 1);
        int32_t now = is_early ? -1 : micro_batch_of(&l, step);
        if (is_forward_step(&l, step)) {
            add(&l, EMP_TASK_SEND_GRADIENT, before, has_before);
            add(&l, EMP_TASK_RECEIVE_OUTPUT, now, has_before);
            add(&l, EMP_TASK_FORWARD, now, true);
        } else {
            add(&l, EMP_TASK_RECEIVE_GRADIENT, now, has_next);
            add(&l, EMP_TASK_SEND_OUTPUT, before, has_next);
            add(&l, EMP_TASK_BACKWARD, now, true);
        }
        before = now;
    }
    return l.count;
}
