// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/studies/measure.h"

#include <inttypes.h>
#include <math.h>

#include "base/mem.h"
#include "base/text/options.h"

static const char *row_key(const void *context, int32_t i)
{
    const emp_measure *m = (const emp_measure *)context;

    return i < m->row_count ? m->row[i].key : NULL;
}

static emp_status choose(emp_task *chosen, int32_t *count, const emp_measure *measure,
                         const emp_measure_params *params, emp_error *err)
{
    const char *list = params->rows != NULL ? params->rows : measure->rows;

    EMP_CHECK(
        emp_word_list_check(params->rows, "the study has no row", row_key, measure, err));
    if (params->seed_count < 0 || params->seed_count > EMP_MEASURE_SEEDS)
        return EMP_ERROR(EMP_EINVAL, "%d seeds; the study takes 1 to %d",
                         params->seed_count, EMP_MEASURE_SEEDS);
    for (int32_t r = 0; r < measure->row_count; r++)
        if (emp_word_list_has(list, measure->row[r].key))
            chosen[(*count)++] = measure->row[r];
    return EMP_OK;
}

static emp_measured describe(const emp_measure *measure, const emp_measure_params *params)
{
    const bool is_full = params->is_full;

    return (emp_measured){.budget = params->budget > 0 ? params->budget
                                    : is_full          ? measure->budget
                                                       : measure->first_budget,
                          .seed_count = params->seed_count > 0 ? params->seed_count
                                        : is_full              ? measure->seed_count
                                                  : measure->first_seed_count,
                          .on_progress = params->on_progress,
                          .context = params->context};
}

static void add_notes(emp_sheet *sheet, const emp_measure *measure,
                      const emp_measured *made, const char *title)
{
    if (title != NULL) emp_sheet_note(sheet, "%s", title);
    for (const char *const *note = measure->note; *note != NULL; note++)
        emp_sheet_note(sheet, "%s", *note);
    if (made->seed_count < measure->seed_count || made->budget < measure->budget)
        emp_sheet_note(sheet,
                       "This is a first study: %" PRId64 " of %" PRId64
                       " placements, %d of %d seeds. With --full it has all.",
                       made->budget, measure->budget, made->seed_count,
                       measure->seed_count);
}

emp_status emp_measure_make(emp_sheet *sheet, const emp_measure *measure,
                            const emp_measure_params *params, const char *title,
                            emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_measured     at = describe(measure, params);
    emp_runtime      runtime;
    int32_t          count = 0;
    emp_task        *task = EMP_NEW_ARRAY(emp_task, (size_t)measure->row_count);
    emp_loaded_task *loaded = EMP_NEW_ARRAY(emp_loaded_task, (size_t)measure->row_count);

    emp_sheet_init(sheet, measure->column, measure->column_count);
    if (task == NULL || loaded == NULL)
        EMP_FAIL(EMP_ENOMEM, "%d tasks", measure->row_count);
    EMP_TRY(choose(task, &count, measure, params, err));
    EMP_TRY(emp_runtime_init(&runtime, params->runtime, err));
    EMP_TRY(emp_tasks_load(loaded, task, count, &runtime, params->threads, err));
    at.runtime = runtime.name;
    at.frac = 1.0 / count;
    for (int32_t r = 0; r < count; r++) {
        at.task = &task[r];
        at.problem = loaded[r].problem;
        at.first_frac = r * at.frac;
        EMP_TRY(measure->measure(sheet, &at, err));
    }
    add_notes(sheet, measure, &at, title);

cleanup:
    emp_tasks_clear(loaded, count);
    emp_free(loaded);
    emp_free(task);
    return st;
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
