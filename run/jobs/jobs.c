// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include "run/jobs/jobs.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/work.h"
#include "run/archive.h"
#include "run/loop.h"
#include "run/methods.h"
#include "run/ranks/deal.h"
#include "run/store/store.h"

/* The state of an emp_jobs_run(). */
struct emp_jobs_plan {
    const emp_jobs_params *params;
    emp_job               *job; /**< [count] */
    int32_t                count;
    double                 cost;      /**< of all jobs */
    int32_t                done, own; /**< of own jobs: the jobs of this shard */
    int32_t   at_once; /**< jobs that this program makes at a time, at least 1 */
    double    start_s;
    emp_job **order; /**< [count] in the order in which jobs are made; owned */
    int32_t   next;  /**< of them */
    int32_t
        awaited; /**< jobs that others are making, which take the first places of `order` */
    atomic_bool has_failed;
    emp_status  status; /**< of asking rank 0 */
    emp_error   error;
};

static emp_status emp_jobs_ask(emp_job **job, struct emp_jobs_plan *plan,
                               const emp_job *done, emp_error *err);
static emp_status emp_jobs_tell(const struct emp_jobs_plan *plan, const emp_job *done,
                                emp_error *err);
static emp_status emp_jobs_share(struct emp_jobs_plan *plan, emp_error *err);

/* How long runs take, more or less, and the orders that follow from it. */
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

/* Allocates plan->order and fills it. */
static emp_status emp_jobs_sort(struct emp_jobs_plan *plan, emp_error *err)
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

/* Puts the longest jobs first, and of equal ones goes by what they are. */
static void emp_jobs_sort_by_size(struct emp_jobs_plan *plan)
{
    for (int32_t i = 0; i < plan->count; i++)
        plan->job[i].identity = identity_of(&plan->job[i]);
    qsort(plan->order, (size_t)plan->count, sizeof *plan->order, by_size);
}

/* Deals the jobs out to the shards in turn, which share the work evenly. */
static void emp_jobs_choose_shard(struct emp_jobs_plan *plan)
{
    const emp_jobs_params *p = plan->params;

    emp_jobs_sort_by_size(plan);
    for (int32_t i = 0; i < plan->count; i++)
        plan->order[i]->is_elsewhere = i % p->shard_count != p->shard - 1;
    qsort(plan->order, (size_t)plan->count, sizeof *plan->order, by_order);
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

static bool emp_jobs_are_stopped(const emp_jobs_params *params)
{
    return emp_stop_is_set(params->stop);
}

/* Looks for its record or refusal in the folder. */
static emp_status emp_job_find(emp_job *job, bool *is_read, emp_error *err)
{
    const emp_jobs_params *p = job->plan->params;

    emp_record_clear(&job->record);
    emp_timing_clear(&job->timing);
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
static bool is_refusal(const emp_job *job, emp_status st)
{
    return job->plan->params->keeps_refusals &&
           (st == EMP_EINFEASIBLE || st == EMP_EUNSUPPORTED);
}

/* The reason stays in job->error, which is for failures if this is one. */
static emp_status put_refusal(emp_job *job, emp_error *err)
{
    const emp_error reason = job->error;

    job->error = (emp_error){0};
    EMP_CHECK(emp_archive_put_refusal(job->plan->params->folder, job->problem, &job->run,
                                      reason.msg, err));
    job->error = reason;
    job->is_refused = true;
    return EMP_OK;
}

/* A run that has ended, or that was read. A job without a placement keeps its description
 * and the reason. */
static void emp_job_conclude(emp_job *job, bool is_read)
{
    const emp_jobs_params *p = job->plan->params;

    if (job->is_refused) {
        emp_record_clear(&job->record);
        emp_run_describe(&job->record, job->problem, &job->run);
    } else if (is_half(job)) {
        return;
    } else {
        emp_archive_drop_checkpoint(p->folder, &job->record);
        if (p->is_lean) thin(&job->record);
    }
    job->was_there = is_read;
    on_job_done(job, is_read);
}

/* Locks the job for this program and looks once more for its record. Neither is the case where another
 * program is making it: the job is then left for later, and at the second time awaited, unless this
 * program is to end. */
static emp_status find_or_lock(emp_job *job, emp_file_lock *lock, bool *is_read,
                               bool *is_locked, emp_error *err)
{
    const struct timespec  pause = {.tv_nsec = 50000000};
    const emp_jobs_params *p = job->plan->params;
    const bool             may_wait = job->is_awaited || p->ranks != NULL;

    *is_locked = false;
    job->is_awaited = false;
    EMP_CHECK(emp_job_find(job, is_read, err));
    while (!*is_read && !*is_locked && !emp_jobs_are_stopped(p)) {
        EMP_CHECK(
            emp_archive_lock(lock, is_locked, p->folder, job->problem, &job->run, err));
        job->is_awaited = !*is_locked;
        if (job->is_awaited && !may_wait) return EMP_OK;
        if (job->is_awaited) nanosleep(&pause, NULL);
        EMP_CHECK(emp_job_find(job, is_read, err));
    }
    job->is_awaited = false;
    return EMP_OK;
}

/* \param[out] is_over  There is a record, if only of half a run, or the reason why there is none. */
static emp_status make_or_refuse(emp_job *job, bool *is_over, emp_error *err)
{
    const emp_status st = make(job, err);

    *is_over = true;
    if (st == EMP_EINTERRUPTED && emp_jobs_are_stopped(job->plan->params)) {
        *err = (emp_error){0}; /* the next call goes on with it, or begins it */
        *is_over = is_half(job);
        return EMP_OK;
    }
    return is_refusal(job, st) ? put_refusal(job, err) : st;
}

static emp_status run_job(emp_job *job, emp_error *err)
{
    emp_status    st = EMP_OK;
    emp_file_lock lock = {0};
    bool          is_read = false, is_locked = false, is_over;

    EMP_TRY(find_or_lock(job, &lock, &is_read, &is_locked, err));
    is_over = is_read;
    if (!is_read && is_locked) EMP_TRY(make_or_refuse(job, &is_over, err));
    if (is_over) emp_job_conclude(job, is_read);

cleanup:
    emp_file_lock_release(&lock);
    return st;
}

/* All at once: what is left of a fresh call that was stopped is then its own, and the next
 * call goes on from there. */
static emp_status forget_all(const struct emp_jobs_plan *plan, emp_error *err)
{
    for (int32_t i = 0; i < plan->count; i++) {
        const emp_job *job = &plan->job[i];
        if (job->is_elsewhere) continue;
        EMP_CHECK(emp_archive_forget(plan->params->folder, job->problem, &job->run, err));
    }
    return EMP_OK;
}

static void prepare(struct emp_jobs_plan *plan)
{
    const emp_ranks *ranks = plan->params->ranks;
    const int32_t    makers = ranks != NULL ? ranks->count - 1 : 1;
    const int32_t    threads = plan->params->threads;

    for (int32_t i = 0; i < plan->count; i++) plan->own += !plan->job[i].is_elsewhere;
    const int32_t share = (plan->own + makers - 1) / makers;
    plan->at_once = share < 1 ? 1 : share < threads ? share : threads;
    for (int32_t i = 0; i < plan->count; i++) {
        emp_job *job = &plan->job[i];
        job->plan = plan;
        job->run.stop = plan->params->stop;
        job->run.keeping = plan->params->keeping;
        job->run.placer.threads = plan->params->is_single ? 1 : threads / plan->at_once;
        if (!job->is_elsewhere) plan->cost += job->cost;
    }
    if (threads > plan->at_once) omp_set_max_active_levels(2);
    plan->start_s = emp_clock_now_s();
}

/* ---- making them ---- */

/* Reports the error of the first job that failed. */
static emp_status report_failure(const struct emp_jobs_plan *plan, emp_error *err)
{
    for (int32_t i = 0; i < plan->count; i++) {
        const emp_job *job = &plan->job[i];
        if (job->status != EMP_OK)
            return EMP_ERROR(job->status, "%s by %s: %s", job->row, job->run.method->name,
                             job->error.msg);
    }
    return EMP_OK;
}

static emp_job *take_in_order(struct emp_jobs_plan *plan, const emp_job *done)
{
    if (done != NULL && done->is_awaited)
        plan->order[plan->awaited++] = &plan->job[done - plan->job];
    while (plan->next < plan->count) {
        emp_job *job = plan->order[plan->next++];
        if (!job->is_elsewhere) return job;
    }
    return plan->awaited > 0 ? plan->order[--plan->awaited] : NULL;
}

static emp_job *take_dealt(struct emp_jobs_plan *plan, const emp_job *done, bool is_over)
{
    emp_job *job = NULL;

    if (plan->status != EMP_OK) return NULL;
    if (!is_over)
        plan->status = emp_jobs_ask(&job, plan, done, &plan->error);
    else if (done != NULL && done->is_ready)
        plan->status = emp_jobs_tell(plan, done, &plan->error);
    return job;
}

/* The next job of this program; NULL: no more. */
static emp_job *take_job(struct emp_jobs_plan *plan, const emp_job *done)
{
    const bool is_over =
        atomic_load(&plan->has_failed) || emp_jobs_are_stopped(plan->params);
    emp_job *job = NULL;

#pragma omp critical(emp_jobs_take)
    {
        if (plan->params->ranks != NULL)
            job = take_dealt(plan, done, is_over);
        else if (!is_over)
            job = take_in_order(plan, done);
    }
    return job;
}

/* Makes those jobs that this program has, or that rank 0 hands out to it. */
static emp_status emp_jobs_make(struct emp_jobs_plan *plan, emp_error *err)
{
    /* clang-format off */
#pragma omp parallel num_threads(plan->at_once)
    /* clang-format on */
    for (emp_job *job = take_job(plan, NULL); job != NULL; job = take_job(plan, job)) {
        job->status = run_job(job, &job->error);
        if (job->status != EMP_OK) atomic_store(&plan->has_failed, true);
    }
    return report_failure(plan, err);
}

/* ---- all of it ---- */

static bool are_ready(const struct emp_jobs_plan *plan)
{
    for (int32_t i = 0; i < plan->count; i++)
        if (!plan->job[i].is_ready) return false;
    return true;
}

emp_status emp_jobs_check(const emp_job *jobs, int32_t count,
                          const emp_jobs_params *params, emp_error *err)
{
    const emp_job *made = jobs, *end = jobs + count;

    while (made < end && (made->is_elsewhere ||
                          (!params->is_fresh &&
                           emp_archive_has(params->folder, made->problem, &made->run))))
        made++;
    if (made == end) return EMP_OK;
    return emp_archive_check(params->folder, made->problem, &made->run, err);
}

emp_status emp_jobs_run(emp_job *jobs, int32_t count, const emp_jobs_params *params,
                        emp_error *err)
{
    emp_status           st = EMP_OK;
    struct emp_jobs_plan plan = {.params = params, .job = jobs, .count = count};
    const bool           is_first = params->ranks == NULL || params->ranks->rank == 0;

    if (count == 0) goto cleanup;
    if (is_first) emp_runs_sweep(params->folder);
    EMP_TRY(emp_jobs_sort(&plan, err));
    if (params->shard_count > 0) emp_jobs_choose_shard(&plan);
    if (is_first) EMP_TRY(emp_jobs_check(jobs, count, params, err));
    if (params->is_fresh && is_first) EMP_TRY(forget_all(&plan, err));
    prepare(&plan);
    report_progress(&plan);
    EMP_TRY(params->ranks == NULL ? emp_jobs_make(&plan, err)
                                  : emp_jobs_share(&plan, err));
    if (!are_ready(&plan) || (!is_first && !params->is_for_all)) st = EMP_EINTERRUPTED;

cleanup:
    emp_free(plan.order);
    return st;
}

bool emp_job_has_placement(const emp_job *job)
{
    return job->is_ready && !job->is_refused;
}

void emp_jobs_clear(emp_job *jobs, int32_t count)
{
    for (int32_t i = 0; i < count && jobs != NULL; i++) {
        emp_record_clear(&jobs[i].record);
        emp_timing_clear(&jobs[i].timing);
    }
}

/* Runs that ranks share: rank 0 hands them out and reads what the others have made. */
static emp_status emp_jobs_ask(emp_job **job, struct emp_jobs_plan *plan,
                               const emp_job *done, emp_error *err)
{
    const emp_ranks *ranks = plan->params->ranks;
    emp_piece        piece;

    *job = NULL;
    EMP_CHECK(emp_deal_take(&piece, ranks, done != NULL ? done - plan->job : -1,
                            done != NULL && done->was_there, err));
    if (piece.number < 0) return EMP_OK;
    if (piece.number >= plan->count || plan->job[piece.number].identity != piece.identity)
        return EMP_ERROR(EMP_EINVAL,
                         "rank %d has another run %" PRId64
                         " than rank 0: all ranks must "
                         "read the same files",
                         ranks->rank, piece.number + 1);
    *job = &plan->job[piece.number];
    return EMP_OK;
}

/* Tells rank 0 of a job that is ready, of a thread that wants no more: it hands out nothing more. */
static emp_status emp_jobs_tell(const struct emp_jobs_plan *plan, const emp_job *done,
                                emp_error *err)
{
    return emp_deal_end(plan->params->ranks, done - plan->job, done->was_there, err);
}

/* A run that another rank has made, or found. */
static emp_status read_made(void *context, int64_t number, bool was_there, emp_error *err)
{
    struct emp_jobs_plan *plan = (struct emp_jobs_plan *)context;
    emp_job              *job = &plan->job[number];
    bool                  is_read = false;

    EMP_CHECK(emp_job_find(job, &is_read, err));
    if (!is_read)
        return EMP_ERROR(
            EMP_EIO,
            "%s by %s is made, but rank %d does not find it in %s: all ranks "
            "must have the same folder",
            job->row, job->run.method->name, plan->params->ranks->rank,
            plan->params->folder);
    emp_job_conclude(job, was_there);
    return EMP_OK;
}

/* Lists the pieces that rank 0 hands out. It has room in \a piece for all jobs. */
static int32_t list_pieces(emp_piece *piece, struct emp_jobs_plan *plan)
{
    int32_t count = 0;

    emp_jobs_sort_by_size(plan);
    for (int32_t i = 0; i < plan->count; i++) {
        const emp_job *job = plan->order[i];
        if (!job->is_elsewhere)
            piece[count++] = (emp_piece){job - plan->job, job->identity};
    }
    return count;
}

static emp_status make_dealt(void *context, emp_error *err)
{
    struct emp_jobs_plan *plan = (struct emp_jobs_plan *)context;

    EMP_CHECK(emp_jobs_make(plan, err));
    if (plan->status != EMP_OK && err != NULL) *err = plan->error;
    return plan->status;
}

static emp_status read_others(struct emp_jobs_plan *plan, emp_error *err)
{
    for (int32_t i = 0; i < plan->count; i++) {
        const emp_job *job = &plan->job[i];
        if (!job->is_ready && !job->is_elsewhere)
            EMP_CHECK(read_made(plan, i, true, err));
    }
    return EMP_OK;
}

/* A rank that ended without the others would end them, and what they have to save. */
static emp_status deal(struct emp_jobs_plan *plan, emp_piece *piece, emp_error *err)
{
    const emp_jobs_params *p = plan->params;
    const emp_deal         deal = {.piece = piece,
                                   .count = list_pieces(piece, plan),
                                   .on_done = read_made,
                                   .work = make_dealt,
                                   .context = plan,
                                   .stop = p->stop};

    if (p->keeping != NULL) atomic_fetch_add(p->keeping, 1);
    const emp_status st = emp_deal_share(p->ranks, &deal, err);
    if (p->keeping != NULL) atomic_fetch_sub(p->keeping, 1);
    return st;
}

/* Makes all jobs with the other ranks. Collective. \retval EMP_EINTERRUPTED  A rank was stopped. */
static emp_status emp_jobs_share(struct emp_jobs_plan *plan, emp_error *err)
{
    emp_piece *piece = EMP_NEW_ARRAY(emp_piece, (size_t)plan->count);

    if (piece == NULL) return EMP_ERROR(EMP_ENOMEM, "%d runs", plan->count);
    const emp_status st = deal(plan, piece, err);
    emp_free(piece);
    EMP_CHECK(st);
    return plan->params->is_for_all ? read_others(plan, err) : EMP_OK;
}
