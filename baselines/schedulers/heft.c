// SPDX-License-Identifier: GPL-3.0-or-later
/* HEFT (Topcuoglu, Hariri and Wu, IEEE TPDS 2002), with memory: tasks by decreasing upward
 * rank, each into the first gap of the device on which it ends first, of those on which it
 * fits. Ties go to the lower number. */
#include <stdlib.h>

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
