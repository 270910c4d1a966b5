// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/studies/measure.h"

#include <inttypes.h>
#include <math.h>

enum { SEEDS = 5, FIRST_SEEDS = 1 };

static emp_measured describe(const emp_measure *measure, const emp_measure_params *params)
{
    const bool is_full = params->is_full;

    return (emp_measured){.budget = params->budget > 0 ? params->budget
                                    : is_full          ? measure->budget
                                                       : measure->first_budget,
                          .seed_count = params->seed_count > 0 ? params->seed_count
                                        : is_full              ? SEEDS
                                                               : FIRST_SEEDS,
                          .on_progress = params->on_progress,
                          .context = params->context};
}

static void add_notes(emp_sheet *sheet, const emp_measure *measure,
                      const emp_measured *made, const char *title)
{
    if (title != NULL) emp_sheet_note(sheet, "%s", title);
    for (const char *const *note = measure->note; *note != NULL; note++)
        emp_sheet_note(sheet, "%s", *note);
    if (made->seed_count < SEEDS || made->budget < measure->budget)
        emp_sheet_note(sheet,
                       "This is a first study: %" PRId64 " of %" PRId64
                       " placements, %d of %d seeds. With --full it has all.",
                       made->budget, measure->budget, made->seed_count, SEEDS);
}

emp_status emp_measure_make(emp_sheet *sheet, const emp_measure *measure,
                            const emp_measure_params *params, const char *title,
                            emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_measured     at = describe(measure, params);
    emp_trials_tasks tasks = {0};

    emp_sheet_init(sheet, measure->column, measure->column_count);
    EMP_TRY(emp_trials_choose(&tasks, measure->row, measure->row_count, params->rows,
                              NULL, "the study has no row", err));
    if (params->seed_count < 0 || params->seed_count > EMP_MEASURE_SEEDS)
        EMP_FAIL(EMP_EINVAL, "%d seeds; the study takes 1 to %d", params->seed_count,
                 EMP_MEASURE_SEEDS);
    EMP_TRY(emp_trials_load(&tasks, params->runtime, params->threads, err));
    at.runtime = tasks.runtime;
    at.frac = 1.0 / tasks.count;
    for (int32_t r = 0; r < tasks.count; r++) {
        at.task = &tasks.task[r];
        at.problem = tasks.loaded[r].problem;
        at.first_frac = r * at.frac;
        EMP_TRY(measure->measure(sheet, &at, err));
    }
    add_notes(sheet, measure, &at, title);

cleanup:
    emp_trials_tasks_clear(&tasks);
    return st;
}

emp_value emp_measured_median(double *values, int32_t count)
{
    return EMP_V(emp_summary_of(values, (size_t)count).median);
}

emp_value emp_measured_range(double *values, int32_t count)
{
    int32_t known = 0;

    for (int32_t i = 0; i < count; i++)
        if (!isnan(values[i])) values[known++] = values[i];
    const emp_summary s = emp_summary_of(values, (size_t)known);
    return emp_value_range(s.median, s.min, s.max);
}

void emp_measured_report(const emp_measured *task, double done_frac)
{
    if (task->on_progress != NULL)
        task->on_progress(task->context, task->first_frac + task->frac * done_frac);
}
