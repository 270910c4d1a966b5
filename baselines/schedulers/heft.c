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

static emp_status sort_by_rank(const emp_task_graph *t, ranked *order, emp_error *err)
{
    emp_status st = EMP_OK;
    double    *rank = EMP_NEW_ARRAY(double, (size_t)t->task_count);

    if (rank == NULL) EMP_FAIL(EMP_ENOMEM, "ranks of %d tasks", t->task_count);
    emp_list_levels(t, true, rank);
    for (int32_t task = 0; task < t->task_count; task++)
        order[task] = (ranked){rank[task], task};
    qsort(order, (size_t)t->task_count, sizeof *order, by_rank);

cleanup:
    emp_free(rank);
    return st;
}

static emp_status book_first_end(emp_list_schedule *s, int32_t task, emp_error *err)
{
    emp_device_id best = -1;
    emp_time_ns   best_start = 0, best_end = 0;

    for (emp_device_id d = 0; d < s->graph->machine->device_count; d++) {
        if (!emp_list_may_go(s, task, d)) continue;
        emp_time_ns time = emp_list_time_ns(s, task, d);
        emp_time_ns start =
            emp_list_first_gap(s, d, emp_list_arrival_ns(s, task, d), time);
        if (best >= 0 && start + time >= best_end) continue;
        best = d;
        best_start = start;
        best_end = start + time;
    }
    if (best < 0) EMP_CHECK(emp_list_no_room(s, task, err));
    return emp_list_book(s, task, best, best_start, err);
}

emp_status emp_schedule_heft(emp_list_schedule *s, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    count = s->graph->task_count;
    ranked    *order = EMP_NEW_ARRAY(ranked, (size_t)count);

    if (order == NULL) EMP_FAIL(EMP_ENOMEM, "order of %d tasks", count);
    EMP_TRY(sort_by_rank(s->graph, order, err));
    for (int32_t i = 0; i < count; i++) EMP_TRY(book_first_end(s, order[i].task, err));

cleanup:
    emp_free(order);
    return st;
}

const emp_placer_type emp_placer_heft = {
    .name = "heft",
    .description = "HEFT, heterogeneous earliest finish time (Topcuoglu et al. 2002)",
    .place = emp_list_place,
    .own = &(const emp_list_method){EMP_TASKS_OPS, emp_schedule_heft},
};
