// SPDX-License-Identifier: GPL-3.0-or-later
/* The scheduler that DOPPLER learns from at first (Yao et al., ICLR 2026; its repository calls
 * it the critical path): of the ready tasks one with the longest way to the end, transfers
 * counted, on a device where it ends first. It comes after all that the device has been given.
 * Ties are drawn, tasks first. The repository asks for the earliest start, which on devices as
 * alike as its own is the same.
 *
 * The released program then notes a task as if it had started when its device was free, so that
 * waits for inputs vanish from all that follows. That is waits=0. */
#include "base/mem.h"
#include "baselines/baselines.h"
#include "baselines/schedulers/list_schedule.h"

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
