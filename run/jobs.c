// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/jobs.h"

#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "run/archive.h"
#include "run/methods.h"

struct emp_jobs_plan {
    const emp_jobs_params *params;
    emp_job               *job;
    int32_t                count;
    double                 cost;      /* of all jobs */
    int32_t                done, own; /* of own jobs: those of this shard */
    double                 start_s;
};

/* ---- jobs ---- */

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

static void report_progress(struct emp_jobs_plan *plan)
{
    double done = 0, worked = 0, elapsed_s = emp_clock_now_s() - plan->start_s;

    if (plan->params->on_progress == NULL) return;
    for (int32_t i = 0; i < plan->count; i++) {
        const emp_job *job = &plan->job[i];
        if (job->is_elsewhere) continue;
        done += job->cost * job->done_frac;
        worked += job->cost * (job->done_frac - job->earlier_frac);
    }
    double remaining_s = worked > 0 ? elapsed_s * (plan->cost - done) / worked : INFINITY;
    const emp_jobs_progress progress = {plan->job, plan->count, done / plan->cost,
                                        remaining_s};
    plan->params->on_progress(plan->params->context, &progress);
}

static void on_batch(void *context, const emp_progress *progress)
{
    emp_job *job = (emp_job *)context;
    double   budget = (double)progress->budget_evaluations;
    bool     is_counted = budget > 0;

    emp_timing_note(&job->timing, progress->evaluations, progress->elapsed_s,
                    progress->cpu_s, progress->best_s);
    if (!is_counted && !(progress->budget_s > 0) && !(progress->budget_cpu_s > 0)) return;
#pragma omp critical(emp_jobs)
    {
        job->done_frac = is_counted ? (double)progress->evaluations / budget
                         : progress->budget_s > 0
                             ? fmin(1.0, progress->elapsed_s / progress->budget_s)
                             : fmin(1.0, progress->cpu_s / progress->budget_cpu_s);
        if (is_counted) job->earlier_frac = (double)progress->resumed / budget;
        report_progress(job->plan);
    }
}

static void on_job_done(emp_job *job, bool is_read)
{
    struct emp_jobs_plan *plan = job->plan;

#pragma omp critical(emp_jobs)
    {
        job->is_ready = true;
        job->done_frac = 1.0;
        if (is_read) job->earlier_frac = 1.0;
        plan->done++;
        if (plan->params->on_run != NULL) {
            emp_job_event event = {job->row,
                                   job->column,
                                   job->record.seed,
                                   job->record.is_feasible ? job->record.best_step_time_s
                                                           : INFINITY,
                                   is_read ? 0.0 : job->timing.elapsed_s,
                                   is_read,
                                   plan->done,
                                   plan->own};
            plan->params->on_run(plan->params->context, &event);
        }
        report_progress(plan);
    }
}

static bool was_stopped(const emp_jobs_params *params)
{
    return params->stop != NULL && *params->stop != 0;
}

static emp_status find_record(emp_job *job, bool *is_read, emp_error *err)
{
    const emp_jobs_params *p = job->plan->params;

    EMP_CHECK(
        emp_archive_find(&job->record, is_read, p->folder, job->problem, &job->run, err));
    if (*is_read && emp_archive_timing(&job->timing, p->folder, &job->record) != EMP_OK)
        return EMP_ERROR(EMP_ENOMEM, "timing of a run");
    /* Without its timing a run by the clock says nothing of shorter clocks. */
    if (job->run.budget_cpu_s > 0 && job->timing.point_count == 0) *is_read = false;
    if (*is_read || !p->keeps_refusals) return EMP_OK;
    emp_archive_find_refusal(job->error.msg, &job->is_refused, p->folder, job->problem,
                             &job->run);
    *is_read = job->is_refused;
    return EMP_OK;
}

/* What is left of a run without a placement is its description and the reason. */
static emp_status refuse(emp_job *job, bool is_read, emp_error *err)
{
    emp_error reason = job->error;

    job->error = (emp_error){0}; /* which is for failures, until all went well */
    emp_record_clear(&job->record);
    emp_run_describe(&job->record, job->problem, &job->run);
    if (!is_read)
        EMP_CHECK(emp_archive_put_refusal(job->plan->params->folder, job->problem,
                                          &job->run, reason.msg, err));
    job->error = reason;
    job->is_refused = true;
    on_job_done(job, is_read);
    return EMP_OK;
}

/* The best so far at any number of evaluations stays the same. */
static void thin(emp_record *r)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < r->point_count; i++) {
        const emp_curve_point *before = kept > 0 ? &r->curve[kept - 1] : NULL;
        bool                   has_best = !isnan(r->curve[i].best_s);
        if (before != NULL && (!has_best || before->best_s <= r->curve[i].best_s))
            continue;
        r->curve[kept++] = r->curve[i];
    }
    if (kept > 0 && kept < r->point_count) {
        void *shrunk = emp_realloc(r->curve, (size_t)kept, sizeof *r->curve);
        if (shrunk != NULL) r->curve = (emp_curve_point *)shrunk;
        r->point_count = kept;
    }
    emp_free(r->metric);
    r->metric = NULL;
    r->metric_count = 0;
}

/* Half a run would stand in for a whole one. */
static bool is_half(const emp_job *job)
{
    return strcmp(job->record.stopped_by, "interrupt") == 0;
}

static emp_status put(const emp_job *job, emp_error *err)
{
    if (is_half(job)) return EMP_OK;
    EMP_CHECK(emp_timing_check(&job->timing, err));
    return emp_archive_put(job->plan->params->folder, &job->record, &job->timing, err);
}

/* Runs it and puts a whole run into the folder. */
static emp_status make(emp_job *job, emp_error *err)
{
    const emp_jobs_params *p = job->plan->params;

    emp_record_clear(&job->record);
    emp_timing_clear(&job->timing);
    job->timing.threads = job->run.placer.threads;
    job->run.progress = on_batch;
    job->run.context = job;
    EMP_CHECK(emp_archive_run(&job->record, p->folder, job->problem, &job->run, err));
    emp_status st = put(job, err);
    if (p->keeping != NULL) atomic_fetch_sub(p->keeping, 1);
    return st;
}

/* It finds no placement, or does not take such a problem. */
static bool is_refusal(emp_status st)
{
    return st == EMP_EINFEASIBLE || st == EMP_EUNSUPPORTED;
}

static emp_status run_job(emp_job *job, emp_error *err)
{
    const emp_jobs_params *p = job->plan->params;
    emp_status             st = EMP_OK;
    bool                   is_read = false;

    EMP_CHECK(find_record(job, &is_read, err));
    if (!is_read) {
        st = make(job, err);
        job->is_refused = p->keeps_refusals && is_refusal(st);
        if (!job->is_refused) EMP_CHECK(st);
    }
    if (job->is_refused) return refuse(job, is_read, err);
    if (is_half(job)) return EMP_OK;
    emp_archive_drop_checkpoint(p->folder, &job->record);
    if (p->is_lean) thin(&job->record);
    on_job_done(job, is_read);
    return EMP_OK;
}

/* Jobs in the order in which they are made; the caller frees the array. */
static emp_status sort_jobs(emp_job ***out, emp_job *jobs, int32_t count, emp_error *err)
{
    *out = EMP_NEW_ARRAY(emp_job *, (size_t)count);
    if (*out == NULL) return EMP_ERROR(EMP_ENOMEM, "%d runs", count);
    for (int32_t i = 0; i < count; i++) (*out)[i] = &jobs[i];
    qsort(*out, (size_t)count, sizeof **out, by_order);
    return EMP_OK;
}

/* The longest first, and of equals by what the run is. */
static int by_size(const void *a, const void *b)
{
    const emp_job *x = *(emp_job *const *)a, *y = *(emp_job *const *)b;

    if (x->cost != y->cost) return compare(y->cost, x->cost);
    if (x->identity != y->identity) return x->identity < y->identity ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Deals the jobs out to the shards in turn, which share the work evenly. */
static void deal(emp_job **order, int32_t count, const emp_jobs_params *params)
{
    emp_record run;

    for (int32_t i = 0; i < count; i++) {
        emp_run_describe(&run, order[i]->problem, &order[i]->run);
        order[i]->identity = emp_record_identity(&run);
    }
    qsort(order, (size_t)count, sizeof *order, by_size);
    for (int32_t i = 0; i < count; i++)
        order[i]->is_elsewhere = i % params->shard_count != params->shard - 1;
    qsort(order, (size_t)count, sizeof *order, by_order);
}

/* All at once: what is left of a fresh call that was stopped is then its own, and the next
 * call goes on from there. */
static emp_status forget_all(const emp_job *jobs, int32_t count, const char *folder,
                             emp_error *err)
{
    for (int32_t i = 0; i < count; i++) {
        if (jobs[i].is_elsewhere) continue;
        EMP_CHECK(emp_archive_forget(folder, jobs[i].problem, &jobs[i].run, err));
    }
    return EMP_OK;
}

static void prepare(struct emp_jobs_plan *plan)
{
    int32_t threads;

    for (int32_t i = 0; i < plan->count; i++) plan->own += !plan->job[i].is_elsewhere;
    threads = plan->params->threads / (plan->own > 0 ? plan->own : 1); /* for each run */
    for (int32_t i = 0; i < plan->count; i++) {
        emp_job *job = &plan->job[i];
        job->plan = plan;
        job->run.stop = plan->params->stop;
        job->run.keeping = plan->params->keeping;
        job->run.placer.threads = threads < 1 || plan->params->is_single ? 1 : threads;
        if (!job->is_elsewhere) plan->cost += job->cost;
    }
    if (plan->params->threads > plan->own) omp_set_max_active_levels(2);
    plan->start_s = emp_clock_now_s();
}

emp_status emp_jobs_run(emp_job *jobs, int32_t count, const emp_jobs_params *params,
                        emp_error *err)
{
    emp_status           st = EMP_OK;
    struct emp_jobs_plan plan = {.params = params, .job = jobs, .count = count};
    emp_job            **order = NULL;
    atomic_bool          has_failed = false;

    if (count == 0) goto cleanup;
    EMP_TRY(sort_jobs(&order, jobs, count, err));
    if (params->shard_count > 0) deal(order, count, params);
    if (params->is_fresh) EMP_TRY(forget_all(jobs, count, params->folder, err));
    prepare(&plan);
    report_progress(&plan);
    /* clang-format off */
#pragma omp parallel for schedule(dynamic, 1) num_threads(params->threads)
    /* clang-format on */
    for (int32_t i = 0; i < count; i++) {
        emp_job *job = order[i];
        if (job->is_elsewhere) continue;
        if (atomic_load(&has_failed) || was_stopped(params)) continue;
        job->status = run_job(job, &job->error);
        if (job->status != EMP_OK) atomic_store(&has_failed, true);
    }
    for (int32_t i = 0; i < count; i++) {
        const emp_job *job = &jobs[i];
        if (job->status != EMP_OK) {
            EMP_FAIL(job->status, "%s by %s: %s", job->row, job->run.method->name,
                     job->error.msg);
        }
        if (!job->is_ready) st = EMP_EINTERRUPTED;
    }

cleanup:
    emp_free(order);
    return st;
}

void emp_jobs_clear(emp_job *jobs, int32_t count)
{
    for (int32_t i = 0; i < count && jobs != NULL; i++) {
        emp_record_clear(&jobs[i].record);
        emp_timing_clear(&jobs[i].timing);
    }
}
