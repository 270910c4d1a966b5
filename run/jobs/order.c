// SPDX-License-Identifier: GPL-3.0-or-later
/* How long runs take, more or less, and the orders that follow from it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "run/jobs/jobs_internal.h"
#include "run/loop.h"
#include "run/methods.h"

enum { COMMON_OPS = 10000 };

/* Learners that train a network have presets; what an update of it takes is about a
 * simulation of COMMON_OPS ops, which is the unit. */
static double guess_cost(const emp_method *method, int64_t budget, int32_t op_count)
{
    double update_cost = method->presets != NULL ? 1.0 : 0.0;

    return ((double)op_count / COMMON_OPS + update_cost) *
           (double)(budget > 0 ? budget : 1);
}

emp_status emp_job_init(emp_job *job, const emp_loaded_task *loaded, const emp_task *task,
                        const emp_job_method *method, uint64_t seed, emp_error *err)
{
    *job = (emp_job){
        .row = task->title, .column = method->title, .problem = loaded->problem};
    EMP_CHECK(emp_method_find(&job->run.method, method->method, err));
    job->run.placer.seed = seed;
    job->run.placer.preset = method->preset;
    job->run.placer.options = method->options;
    job->run.budget_evaluations = method->budget;
    job->cost = guess_cost(job->run.method, method->budget, loaded->graph->op_count);
    job->effort = guess_cost(job->run.method, method->budget, COMMON_OPS);
    return EMP_OK;
}

static int compare(double a, double b) { return (a > b) - (a < b); }

/* Seeds, then columns by rising effort, then runs by falling cost. */
static int by_order(const void *a, const void *b)
{
    const emp_job *x = *(emp_job *const *)a, *y = *(emp_job *const *)b;
    uint64_t       seed_x = x->run.placer.seed, seed_y = y->run.placer.seed;

    if (seed_x != seed_y) return seed_x < seed_y ? -1 : 1;
    if (x->effort != y->effort) return compare(x->effort, y->effort);
    int column = strcmp(x->column, y->column);
    if (column != 0) return column;
    if (x->cost != y->cost) return compare(y->cost, x->cost);
    return x < y ? -1 : x > y;
}

emp_status emp_jobs_sort(struct emp_jobs_plan *plan, emp_error *err)
{
    plan->order = EMP_NEW_ARRAY(emp_job *, (size_t)plan->count);
    if (plan->order == NULL) return EMP_ERROR(EMP_ENOMEM, "%d runs", plan->count);
    for (int32_t i = 0; i < plan->count; i++) plan->order[i] = &plan->job[i];
    qsort(plan->order, (size_t)plan->count, sizeof *plan->order, by_order);
    return EMP_OK;
}

/* A hash of what the run is. */
static uint64_t identity_of(const emp_job *job)
{
    emp_record run;

    emp_run_describe(&run, job->problem, &job->run);
    return emp_record_identity(&run);
}

/* The longest first, and of equals by what the run is. */
static int by_size(const void *a, const void *b)
{
    const emp_job *x = *(emp_job *const *)a, *y = *(emp_job *const *)b;

    if (x->cost != y->cost) return compare(y->cost, x->cost);
    if (x->identity != y->identity) return x->identity < y->identity ? -1 : 1;
    return x < y ? -1 : x > y;
}

void emp_jobs_sort_by_size(struct emp_jobs_plan *plan)
{
    for (int32_t i = 0; i < plan->count; i++)
        plan->job[i].identity = identity_of(&plan->job[i]);
    qsort(plan->order, (size_t)plan->count, sizeof *plan->order, by_size);
}

void emp_jobs_choose_shard(struct emp_jobs_plan *plan)
{
    const emp_jobs_params *p = plan->params;

    emp_jobs_sort_by_size(plan);
    for (int32_t i = 0; i < plan->count; i++)
        plan->order[i]->is_elsewhere = i % p->shard_count != p->shard - 1;
    qsort(plan->order, (size_t)plan->count, sizeof *plan->order, by_order);
}
