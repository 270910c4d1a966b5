// SPDX-License-Identifier: GPL-3.0-or-later
/* Runs that ranks share: rank 0 hands them out and reads what the others have made. */
#include <inttypes.h>

#include "base/mem.h"
#include "run/jobs/jobs_internal.h"
#include "run/ranks/deal.h"

emp_status emp_jobs_ask(emp_job **job, struct emp_jobs_plan *plan, const emp_job *done,
                        emp_error *err)
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

emp_status emp_jobs_tell(const struct emp_jobs_plan *plan, const emp_job *done,
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

/* What rank 0 hands out. It has room in \a piece for all jobs. */
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

emp_status emp_jobs_share(struct emp_jobs_plan *plan, emp_error *err)
{
    emp_piece *piece = EMP_NEW_ARRAY(emp_piece, (size_t)plan->count);

    if (piece == NULL) return EMP_ERROR(EMP_ENOMEM, "%d runs", plan->count);
    const emp_status st = deal(plan, piece, err);
    emp_free(piece);
    EMP_CHECK(st);
    return plan->params->is_for_all ? read_others(plan, err) : EMP_OK;
}
