// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/trials/trials.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/options.h"
#include "run/methods.h"
#include "run/ranks/deal.h"

/* ---- tasks ---- */

/* All tasks of a definition. */
struct axis {
    const emp_task *task;
    int32_t         count;
};

/* The name of one task only: its key, or its spec where several have that key. */
static const char *own_name(const struct axis *all, int32_t i)
{
    for (int32_t k = 0; k < all->count; k++)
        if (k != i && strcmp(all->task[k].key, all->task[i].key) == 0)
            return all->task[i].spec;
    return all->task[i].key;
}

/* The keys, and then the names of one task each. */
static const char *name_of(const void *context, int32_t i)
{
    const struct axis *all = (const struct axis *)context;

    if (i < all->count) return all->task[i].key;
    return i < 2 * all->count ? own_name(all, i - all->count) : NULL;
}

emp_status emp_trials_choose(emp_trials_tasks *tasks, const emp_task *task, int32_t count,
                             const char *rows, const char *fallback, const char *what,
                             emp_error *err)
{
    const struct axis all = {task, count};

    EMP_CHECK(emp_word_list_check(rows, what, name_of, &all, err));
    EMP_CHECK(EMP_ALLOC(tasks->task, (size_t)count));
    if (rows == NULL) rows = fallback;
    for (int32_t i = 0; i < count; i++)
        if (emp_word_list_has(rows, task[i].key) ||
            emp_word_list_has(rows, own_name(&all, i)))
            tasks->task[tasks->count++] = task[i];
    return EMP_OK;
}

emp_status emp_trials_load(emp_trials_tasks *tasks, const char *runtime, int32_t threads,
                           emp_error *err)
{
    emp_runtime profile;
    int32_t     first = 0; /* task that is not frozen */

    if (runtime != NULL) EMP_CHECK(emp_runtime_init(&profile, runtime, err));
    EMP_CHECK(EMP_ALLOC(tasks->loaded, (size_t)tasks->count));
    EMP_CHECK(emp_tasks_load(tasks->loaded, tasks->task, tasks->count,
                             runtime != NULL ? &profile : NULL, threads, err));
    while (first < tasks->count - 1 && tasks->task[first].frozen != NULL) first++;
    if (tasks->count > 0)
        snprintf(tasks->runtime, sizeof tasks->runtime, "%s",
                 tasks->loaded[first].problem->runtime.name);
    return EMP_OK;
}

void emp_trials_tasks_clear(emp_trials_tasks *tasks)
{
    emp_tasks_clear(tasks->loaded, tasks->loaded != NULL ? tasks->count : 0);
    emp_free(tasks->loaded);
    emp_free(tasks->task);
    *tasks = (emp_trials_tasks){0};
}

/* ---- cells ---- */

emp_status emp_trials_reserve(emp_trials *trials, int32_t cells, int32_t jobs,
                              emp_error *err)
{
    EMP_CHECK(EMP_ALLOC(trials->job, (size_t)jobs));
    return EMP_ALLOC(trials->first, (size_t)cells + 1);
}

emp_status emp_trials_add(emp_trials *trials, const emp_trials_tasks *tasks, int32_t row,
                          const emp_job_method *method, int32_t seeds, emp_error *err)
{
    for (int32_t s = 0; s < seeds; s++)
        EMP_CHECK(emp_job_init(&trials->job[trials->job_count++], &tasks->loaded[row],
                               &tasks->task[row], method, (uint64_t)s + 1, err));
    trials->first[++trials->cell_count] = trials->job_count;
    return EMP_OK;
}

emp_job *emp_trials_cell(const emp_trials *trials, int32_t cell, int32_t *count)
{
    *count = trials->first[cell + 1] - trials->first[cell];
    return &trials->job[trials->first[cell]];
}

emp_status emp_trials_run(emp_trials *trials, const emp_jobs_params *jobs, emp_error *err)
{
    return emp_jobs_run(trials->job, trials->job_count, jobs, err);
}

int32_t emp_trials_ready(const emp_trials *trials)
{
    int32_t ready = 0;

    for (int32_t i = 0; i < trials->job_count; i++) ready += trials->job[i].is_ready;
    return ready;
}

int32_t emp_trials_steps(const emp_trials *trials, int32_t cell,
                         double step_s[EMP_TRIALS_SEEDS])
{
    int32_t        count, ready = 0;
    const emp_job *job = emp_trials_cell(trials, cell, &count);

    for (int32_t i = 0; i < count; i++)
        if (job[i].is_ready)
            step_s[ready++] =
                job[i].record.is_feasible ? job[i].record.best_step_time_s : INFINITY;
    return ready;
}

emp_summary emp_trials_summary(const emp_trials *trials, int32_t cell)
{
    double        step_s[EMP_TRIALS_SEEDS];
    const int32_t count = emp_trials_steps(trials, cell, step_s);

    return emp_summary_of(step_s, (size_t)count);
}

void emp_trials_clear(emp_trials *trials)
{
    emp_jobs_clear(trials->job, trials->job_count);
    emp_free(trials->job);
    emp_free(trials->first);
    *trials = (emp_trials){0};
}

/* ---- several programs and threads ---- */

bool emp_trials_is_printed(const emp_jobs_params *jobs)
{
    return jobs->shard_count == 0 && (jobs->ranks == NULL || jobs->ranks->rank == 0);
}

emp_status emp_trials_go_on(const emp_jobs_params *jobs, emp_status made, emp_error *err)
{
    if (made != EMP_EINTERRUPTED || jobs->shard_count == 0) return made;
    return emp_ranks_go_on(jobs->ranks, jobs->stop, EMP_OK, err);
}

emp_status emp_trials_each(int32_t count, int32_t threads,
                           emp_status (*work)(void *context, int32_t item,
                                              emp_error *err),
                           void *context, emp_error *err)
{
    emp_status  st = EMP_OK;
    emp_status *status = EMP_NEW_ARRAY(emp_status, (size_t)count);
    emp_error  *error = EMP_NEW_ARRAY(emp_error, (size_t)count);

    if (status == NULL || error == NULL) EMP_FAIL(EMP_ENOMEM, "%d items", count);
        /* clang-format off */
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    /* clang-format on */
    for (int32_t i = count - 1; i >= 0; i--) status[i] = work(context, i, &error[i]);
    for (int32_t i = 0; i < count; i++)
        if (status[i] != EMP_OK) EMP_FAIL(status[i], "%s", error[i].msg);

cleanup:
    emp_free(status);
    emp_free(error);
    return st;
}

/* ---- placements ---- */

emp_status emp_trials_propose(const emp_problem *problem, const char *method,
                              const char *options, uint64_t seed,
                              emp_device_id *device_of_op, emp_error *err)
{
    emp_status               st = EMP_OK;
    void                    *state = NULL;
    const emp_method        *type = NULL;
    int32_t                  count = 0;
    const emp_owned_decision decision = {.device_of_op = device_of_op};
    const emp_method_params  params = {.seed = seed, .threads = 1, .options = options};

    EMP_TRY(emp_method_find(&type, method, err));
    EMP_TRY(emp_method_create(&state, type, problem, &params, err));
    EMP_TRY(emp_method_ask(type, state, &decision, 1, &count, err));
    emp_problem_legalize(problem, device_of_op);

cleanup:
    emp_method_destroy(type, state);
    return st;
}

bool emp_trials_keeps_gpu_kernels(const emp_problem *problem, const emp_record *record)
{
    return record->is_feasible && !record->has_fusion &&
           record->decision.device_of_op != NULL &&
           emp_problem_keeps_gpu_kernels(problem, record->decision.device_of_op);
}

emp_status emp_trials_simulate(double *step_s, emp_sim *sim, const emp_decision *decision,
                               emp_error *err)
{
    emp_sim_result result;

    EMP_CHECK(emp_sim_run_decision(sim, decision, &result, err));
    *step_s = result.is_feasible ? (double)result.step_time_ns * 1e-9 : INFINITY;
    return EMP_OK;
}
